"""A table of predictions and answers to scores, without any input or output.

Public: the steps from a table to scores, one at a time, for programs that check or
study a metric; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_attributes

if TYPE_CHECKING:
    from evalkit.base.ids import RESPONSES_KEY
    from evalkit.inference.intervals import Interval
    from evalkit.scoring.evidence import merge_statistics
    from evalkit.scoring.finalization import finalize
    from evalkit.scoring.grouping import Groups, group_by_tag
    from evalkit.scoring.metric import (
        metric_statistics,
        score_metric,
        score_statistics,
        why_not,
    )
    from evalkit.scoring.records import GroupScore, MetricScores, ScoringSettings
    from evalkit.scoring.table import ScoringTable, make_table

__all__ = [
    "RESPONSES_KEY",
    "GroupScore",
    "Groups",
    "Interval",
    "MetricScores",
    "ScoringSettings",
    "ScoringTable",
    "finalize",
    "group_by_tag",
    "make_table",
    "merge_statistics",
    "metric_statistics",
    "score_metric",
    "score_statistics",
    "why_not",
]

__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "GroupScore": "scoring.records",
        "Groups": "scoring.grouping",
        "Interval": "inference.intervals",
        "MetricScores": "scoring.records",
        "RESPONSES_KEY": "base.ids",
        "ScoringSettings": "scoring.records",
        "ScoringTable": "scoring.table",
        "finalize": "scoring.finalization",
        "group_by_tag": "scoring.grouping",
        "make_table": "scoring.table",
        "merge_statistics": "scoring.evidence",
        "metric_statistics": "scoring.metric",
        "score_metric": "scoring.metric",
        "score_statistics": "scoring.metric",
        "why_not": "scoring.metric",
    },
)
