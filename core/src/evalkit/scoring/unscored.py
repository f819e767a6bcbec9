"""Says to which examples a metric itself gave no score.

They were handed to the metric, so neither the predictions nor a policy are the reason.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from evalkit.base.wording import count_of
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.table import ScoringTable

NOTHING_SCORED = "no example was scored"

_NOTICE = re.compile(r"(returned None|gave no row) for \d+ of \d+ (example|answer)s?;")


def unscored_notices(
    metric: BoundMetric, statistics: pl.DataFrame, table: ScoringTable
) -> list[str]:
    """Say how many examples of a table a metric gave no score.

    Args:
        metric: The metric.
        statistics: What it returned, with the column `position`.
        table: What it was given.

    Returns:
        A notice that names the metric; nothing where each example has a score, or none
        has, which is the reason of a score without a value.
    """
    given = table.frame.height
    scored = statistics.height
    if not metric.has("score_example"):
        scored = statistics["position"].n_unique()
    if scored in (0, given):
        return []
    word = "answer" if table.repeats > 1 else "example"
    return [
        f"{metric.component.origin}: {_what_it_did(metric)} for {given - scored} of "
        f"{count_of(given, word)}; they are not part of its n and value"
    ]


def is_unscored_notice(text: str) -> bool:
    """Tell whether a notice is one of `unscored_notices`."""
    return _NOTICE.search(text) is not None


def why_no_value(evidence: Evidence, group: int) -> str:
    """Say why `finalize` gave a group no value.

    Args:
        evidence: What the metric's scores are computed from.
        group: The group.

    Returns:
        The reason, which names the metric where it is the metric's.
    """
    origin = evidence.metric.component.origin
    if evidence.n[group]:
        return f"{origin}: finalize gave no value"
    is_counted = np.zeros(len(evidence.table.ids), dtype=bool)
    is_counted[evidence.table.frame["position"].to_numpy()] = True
    given = int(is_counted[evidence.groups.positions_of(group)].sum())
    if not given:
        return NOTHING_SCORED
    word = "answer" if evidence.table.repeats > 1 else "example"
    whom = f"all {given} {word}s" if given > 1 else f"the only {word}"
    return f"{origin}: {_what_it_did(evidence.metric)} for {whom}"


def _what_it_did(metric: BoundMetric) -> str:
    if metric.has("score_example"):
        return "score_example returned None"
    return "statistics gave no row"
