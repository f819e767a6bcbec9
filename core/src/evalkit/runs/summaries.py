"""What a list of runs says about one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit.runs.score_columns import Score


class RunSummary(NamedTuple):
    """What a list of runs says about one of them, from its `run.json` alone."""

    path: Path
    """The run folder."""
    run_id: str
    """The 8 hex digits with which the folder's name ends."""
    fingerprint: str = ""
    """The hash of all inputs; "" where the run cannot be read."""
    started: str | None = None
    """When the evaluation began, in ISO 8601; None where it was not recorded."""
    dataset: str | None = None
    task: str | None = None
    split: str | None = None
    model: str | None = None
    status: str | None = None
    """`complete`, `partial` or `refused`."""
    headline: Score | None = None
    """The main score; None where there is none."""
    problem: str | None = None
    """Why the run cannot be read; None where it can. Then only `path` and `run_id`
    are known."""
    bounds: Mapping[str, Sequence[float | None]] = {}
    """The least and the greatest value of each metric that has bounds."""
    parent: str | None = None
    """Fingerprint of the run that this one was rescored from; None where it was
    evaluated."""
    confidence: float | None = None
    """Probability of the run's intervals."""
    perturbation: str | None = None
    """What made the examples; None for a run that is not of perturbed examples."""
    original: str | None = None
    """Fingerprint of the run of their originals."""
    is_named: bool = False
    """Whether the name of its model may mean it: it is complete, or partial for nothing
    but responses that a metric had a reason not to score, such as a judge's."""
