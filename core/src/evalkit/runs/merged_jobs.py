"""What a run records of the jobs of several runs that it was merged of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from evalkit.plugins.provenance import rows_hash
from evalkit.runs.jobs import Job
from evalkit.runs.recorded import Predictions

_SUMS = ("examples", "seconds", "input_tokens", "output_tokens", "cost")


def merged_job(parts: Sequence[Predictions]) -> Job | None:
    """Add up what the jobs of several runs took; memory is the greatest.

    A figure that one of them does not have, and costs in several currencies, are not
    known of all. Parts of one file of predictions have one job, which counts once.

    Args:
        parts: What the runs record of their predictions.

    Returns:
        What all jobs took together; None where a part tells of none.
    """
    jobs = _different(parts)
    if len(jobs) <= 1:
        return jobs[0] if jobs else None
    found: dict[str, Any] = {name: _sum(jobs, name) for name in _SUMS}
    found["peak_memory_gib"] = _greatest(jobs)
    if len(currencies := {job.currency for job in jobs}) == 1:
        found["currency"] = currencies.pop()
    else:
        found["cost"] = None
    return Job(
        sha256=rows_hash([{"jobs": sorted(job.sha256 for job in jobs)}]), **found
    )


def merged_job_notices(parts: Sequence[Predictions]) -> Iterator[str]:
    """Say how what the jobs of several runs took was put together.

    Args:
        parts: What the runs record of their predictions.

    Yields:
        At most two sentences.
    """
    if not any(part.job for part in parts):
        return
    jobs = _different(parts)
    if not jobs:
        yield "what the parts' jobs took is not added up, as it is not known of all"
    elif len(jobs) > 1:
        yield (
            f"what {len(jobs)} jobs of the parts took is added up, as if one had run "
            "after the other; memory is the greatest"
        )
    currencies = sorted({str(job.currency) for job in jobs if job.cost is not None})
    if len(currencies) > 1:
        yield f"the parts' costs are in {' and '.join(currencies)}, and not added up"


def _different(parts: Sequence[Predictions]) -> list[Job]:
    """Return each job once; none where a part has none.

    A part that was merged of others names no file of predictions, and may be of any.
    """
    found: dict[tuple[str, str | None], Job] = {}
    for part in parts:
        if part.job is None:
            return []
        found[part.job.sha256, part.sha256] = part.job
    named = {sha256 for sha256, file in found if file is not None}
    return [
        job
        for (sha256, file), job in sorted(found.items(), key=lambda item: str(item[0]))
        if file is not None or sha256 not in named
    ]


def _sum(jobs: Sequence[Job], name: str) -> float | None:
    values = [getattr(job, name) for job in jobs]
    if None in values:
        return None
    are_whole = all(isinstance(value, int) for value in values)
    return sum(values) if are_whole else math.fsum(values)


def _greatest(jobs: Sequence[Job]) -> float | None:
    values = [job.peak_memory_gib for job in jobs]
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None
