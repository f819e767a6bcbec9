"""A table of predictions and answers to scores, without any input or output.

Public: the steps from a table to scores, one at a time, for programs that check or
study a metric; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.base.ids import RESPONSES_KEY as RESPONSES_KEY
    from evalkit.scoring.finalization import finalize as finalize
    from evalkit.scoring.finalization import finalize_counts as finalize_counts
    from evalkit.scoring.grouping import Groups as Groups
    from evalkit.scoring.grouping import group_by_tag as group_by_tag
    from evalkit.scoring.measurement import merge_statistics as merge_statistics
    from evalkit.scoring.measurement import score_metric as score_metric
    from evalkit.scoring.measurement import score_statistics as score_statistics
    from evalkit.scoring.passes import metric_outcomes as metric_outcomes
    from evalkit.scoring.passes import metric_statistics as metric_statistics
    from evalkit.scoring.records import GroupScore as GroupScore
    from evalkit.scoring.records import MetricScores as MetricScores
    from evalkit.scoring.records import Outcomes as Outcomes
    from evalkit.scoring.records import ScoringSettings as ScoringSettings
    from evalkit.scoring.records import why_not as why_not
    from evalkit.scoring.table import ScoringTable as ScoringTable
    from evalkit.scoring.table import make_table as make_table
    from evalkit.statistics.intervals import Interval as Interval
    from evalkit.statistics.intervals import mean_of_intervals as mean_of_intervals
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
