"""What reports need to know of a result, beside its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from evalkit_cli.printing.score_cells import Bounds

if TYPE_CHECKING:
    from evalkit import Result, Score
    from evalkit.runs import RunRecord
    from evalkit_analysis_robustness import Effects


@dataclass(frozen=True)
class PrintedResult:
    """A result that is printed."""

    result: Result

    @property
    def record(self) -> RunRecord:
        """What `run.json` holds but the scores."""
        return self.result.record

    @property
    def bounds(self) -> Bounds:
        """Least and greatest value of each metric that has them."""
        return self.record.bounds

    @property
    def headline(self) -> Score | None:
        """The main score."""
        return self.result.headline

    @cached_property
    def whole(self) -> list[Score]:
        """The scores of the whole set."""
        return [score for score in self.result.scores if score.is_whole]

    @cached_property
    def summary(self) -> list[Score]:
        """The scores of the whole set, and means over facets.

        Those are the main score, which comes first, and what the user grouped by.
        """
        headline = self.headline
        first = [headline] if headline is not None and headline.aggregate else []
        asked = {f"macro:{crossing}" for crossing in self.crossings}
        means = [score for score in self.result.scores if score.aggregate in asked]
        return [*first, *self.whole, *(score for score in means if score not in first)]

    @cached_property
    def groups(self) -> dict[tuple[str, str | None], Score]:
        """The scores of all groups, by metric and tag."""
        return {
            (score.metric, score.tag): score
            for score in self.result.scores
            if score.aggregate is None
        }

    @cached_property
    def effects(self) -> Effects:
        """The effects of perturbations."""
        from evalkit_analysis_robustness import find_effects

        return find_effects(self.result)

    @property
    def confidence(self) -> str:
        """Probability of the intervals, for example `95 %`."""
        return f"{100 * self.record.confidence:g} %"

    @property
    def level(self) -> float:
        """Level of the tests."""
        return 1 - self.record.confidence

    @property
    def min_n(self) -> int:
        """Examples below which a tag is not shown."""
        return self.record.min_n

    @property
    def crossings(self) -> Sequence[str]:
        """What the examples were grouped by beside their tags."""
        return self.record.by

    @property
    def counted_as_wrong(self) -> str:
        """How many examples, or of several answers to each how many, count as wrong.

        They have no valid prediction; "" for none.
        """
        counts = self.record.counts
        statuses = self.record.policies.counted
        counted = counts.missing * ("missing" in statuses)
        counted += counts.invalid * ("invalid" in statuses)
        if counted and counts.replications:
            return "1 answer" if counted == 1 else f"{counted} answers"
        return str(counted) if counted else ""


def labelled(results: Sequence[PrintedResult], place: int) -> str:
    """Return what comes before a line about one of several results."""
    return f"{results[place].result.model}: " if len(results) > 1 else ""
