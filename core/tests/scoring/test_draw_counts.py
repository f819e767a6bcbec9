"""What is told of the draws of intervals is what is drawn."""

from evalkit.scoring.group_intervals import REPLICATES
from evalkit.scoring.lists import LIST_REPLICATES
from evalkit.statistics.resampling import DRAWS_BY_METHOD
from evalkit_analysis_compare.paired_sums import SUM_REPLICATES


def test_every_interval_has_at_least_the_draws_that_are_told() -> None:
    assert {
        "multinomial": min(REPLICATES, SUM_REPLICATES),
        "bootstrap": min(REPLICATES, SUM_REPLICATES, LIST_REPLICATES),
    } == DRAWS_BY_METHOD
