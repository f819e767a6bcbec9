"""What reports need to know of a result, beside its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.score_cells import Bounds

if TYPE_CHECKING:
    from evalkit import Result, Score


@dataclass(frozen=True)
class PrintedResult:
    """A result that is printed."""

    result: Result

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """What `run.json` holds."""
        return self.result.to_dict()

    @cached_property
    def bounds(self) -> Bounds:
        """Least and greatest value of each metric that has them."""
        found: Bounds = self.record.get("bounds", {})
        return found

    @property
    def headline(self) -> Score | None:
        """The main score."""
        return self.result.headline

    @cached_property
    def whole(self) -> list[Score]:
        """The scores of the whole set."""
        return [score for score in self.result.scores if score.is_whole]

    @cached_property
    def groups(self) -> dict[tuple[str, str | None], Score]:
        """The scores of all groups, by metric and tag."""
        return {
            (score.metric, score.tag): score
            for score in self.result.scores
            if score.aggregate is None and score.perturbation is None
        }

    @property
    def confidence(self) -> str:
        """Probability of the intervals, for example `95 %`."""
        return f"{100 * float(self.record['confidence']):g} %"

    @property
    def level(self) -> float:
        """Level of the tests."""
        return 1 - float(self.record["confidence"])

    @property
    def min_n(self) -> int:
        """Examples below which a tag is not shown."""
        return int(self.record.get("min_n", 1))

    @property
    def crossings(self) -> Sequence[str]:
        """What the examples were grouped by beside their tags."""
        return tuple(self.record.get("by", ()))

    @property
    def counted_as_wrong(self) -> str:
        """How many examples, or of several answers to each how many, count as wrong.

        They have no valid prediction; "" for none.
        """
        policies, counts = self.record["policies"], self.record["counts"]
        counted = sum(
            counts[status]
            for status in ("missing", "invalid")
            if policies[f"on_{status}"] == "wrong"
        )
        if counted and "replications" in counts:
            return "1 answer" if counted == 1 else f"{counted} answers"
        return str(counted) if counted else ""


def labelled(results: Sequence[PrintedResult], place: int) -> str:
    """Give what comes before a line about one of several results."""
    return f"{results[place].result.model}: " if len(results) > 1 else ""
