"""Gathers what a report shows: runs by data set, and their comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from evalkit.runs import find_differences

if TYPE_CHECKING:
    from evalkit import Result, Score
    from evalkit_analysis_compare import Comparison
    from evalkit_analysis_robustness import Effects


Bounds = tuple[float | None, float | None]

_FEWEST_COMPARED = 2
FEWEST_EXAMPLES = 10
"""Examples of a tag from which runs are compared on it."""

MOST_COMPARED_TAGS = 500
"""Tags that runs are compared on unless it is asked for: more may take minutes."""


@dataclass(frozen=True)
class Shown:
    """A run that is shown.

    Attributes:
        result: The run.
        label: What it is called: its model, with the id where two have the same name.
        place: Its place among the runs of the data set, which gives colour and mark.
    """

    result: Result
    label: str
    place: int

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The least and the greatest value of each metric that has them."""
        return dict(self.result.record.bounds)

    @cached_property
    def effects(self) -> Effects:
        """The effects of perturbations."""
        from evalkit_analysis_robustness import find_effects

        return find_effects(self.result)

    @cached_property
    def whole(self) -> dict[str, Score]:
        """The scores of the whole set, by metric."""
        return {score.metric: score for score in self.result.scores if score.is_whole}

    @cached_property
    def tags(self) -> dict[str, dict[str, Score]]:
        """The scores of tags and crossings, by metric and tag."""
        found: dict[str, dict[str, Score]] = {}
        for score in self.result.scores:
            if score.tag is not None and score.aggregate is None:
                found.setdefault(score.metric, {})[score.tag] = score
        return found


@dataclass(frozen=True)
class Gathered:
    """Runs of one data set whose scores can stand side by side.

    Attributes:
        dataset: Name of the data set.
        runs: The runs, in the order that they were named.
        comparison: Their comparison; None for one run.
        not_compared: Why there is no comparison; "" where there is one.
        apart: Why other runs of the data set are not beside these; "" for the first.
    """

    dataset: str
    runs: Sequence[Shown]
    comparison: Comparison | None = None
    not_compared: str = ""
    apart: str = ""

    @property
    def scored(self) -> list[Shown]:
        """The runs that have scores."""
        return [run for run in self.runs if run.result.status != "refused"]

    @cached_property
    def metrics(self) -> list[str]:
        """Every metric of any run, the headline metric of the first first."""
        names: dict[str, None] = {}
        for run in self.scored:
            headline = run.result.headline
            if headline is not None and not names:
                names[headline.metric] = None
            names |= dict.fromkeys(run.whole)
        return list(names)


def gather(
    results: Sequence[Result], compare: Callable[[Sequence[Result]], Comparison] | None
) -> list[Gathered]:
    """Put runs of the same data set together whose scores are comparable."""
    groups: list[tuple[list[Result], str]] = []
    for result in results:
        apart = ""
        for runs, _ in groups:
            if runs[0].dataset == result.dataset:
                found = [why for run in runs if (why := _differences(run, result))]
                if not found:
                    runs.append(result)
                    break
                apart = apart or found[0]
        else:
            groups.append(([result], apart))
    return [_gathered(str(runs[0].dataset), runs, compare, why) for runs, why in groups]


def _differences(first: Result, second: Result) -> str:
    """Say why scores of two runs cannot stand side by side; "" if they can.

    A metric that differs is left out of the comparison alone. A refused run has no
    scores.
    """
    if "refused" in (first.status, second.status):
        return ""
    found = [
        str(each)
        for each in find_differences(first.record, second.record)
        if not each.is_minor and each.field != "metric"
    ]
    names = " and ".join(f"{run.model} ({run.run_id})" for run in (first, second))
    return f"{names} are not comparable: {'; '.join(found)}" if found else ""


def comparable_tags(results: Iterable[Result]) -> int:
    """Return how many tags there are to compare runs on."""
    found = {
        score.tag
        for result in results
        for score in result.scores
        if score.tag is not None
        and score.aggregate is None
        and score.n >= FEWEST_EXAMPLES
    }
    return len(found)


def _gathered(
    dataset: str,
    results: Sequence[Result],
    compare: Callable[[Sequence[Result]], Comparison] | None,
    apart: str,
) -> Gathered:
    from evalkit import EvalkitError

    runs = [
        Shown(*each)
        for each in zip(results, _labels(results), range(len(results)), strict=True)
    ]
    group = Gathered(dataset, runs, apart=apart)
    scored = [run.result for run in group.scored]
    if len(runs) < _FEWEST_COMPARED or compare is None:
        return group
    if len(scored) < _FEWEST_COMPARED:
        return replace(group, not_compared="fewer than two runs have scores")
    try:
        return replace(group, comparison=compare(scored))
    except EvalkitError as error:
        return replace(group, not_compared=str(error))


def _labels(results: Iterable[Result]) -> list[str]:
    names = [str(result.model) for result in results]
    return [
        name if names.count(name) == 1 else f"{name} ({result.run_id[:8]})"
        for name, result in zip(names, results, strict=True)
    ]


def only_metrics(results: Sequence[Result], metrics: Sequence[str]) -> list[Result]:
    """Leave out the scores of other metrics."""
    from evalkit import DataError

    if not metrics:
        return list(results)
    known = dict.fromkeys(name for result in results for name in result.metrics)
    for name in metrics:
        if name not in known:
            raise DataError(
                f"no run has a score {name!r}; there are: {', '.join(known) or 'none'}"
            )
    for result in results:
        # a run that was read here is of nobody else
        result.scores = tuple(
            score for score in result.scores if score.metric in metrics
        )
    return list(results)
