"""Finds among the scores of a result those under perturbation that are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from evalkit_cli.printing.drop_lines import adjusted
from evalkit_cli.printing.printed_results import PrintedResult
from evalkit_cli.printing.score_cells import (
    Bounds,
    show_coverage,
    show_interval,
    show_n,
)

if TYPE_CHECKING:
    from evalkit import Score

OfGroup = Mapping[str, "Score"]
"""The scores of one group of examples, by what they are computed on."""

FLIPS = {
    "right-to-wrong": "right to wrong",
    "wrong-to-right": "wrong to right",
    "wrong-to-other-wrong": "wrong to another wrong answer",
}
"""The kinds of flips, in words."""


def find_scores(
    result: PrintedResult,
) -> dict[tuple[str, str], dict[str | None, dict[str, Score]]]:
    """Return the scores by perturbation and metric, tag, and what they are of."""
    found: dict[tuple[str, str], dict[str | None, dict[str, Score]]] = {}
    for score in result.effects.scores:
        assert score.perturbation is not None
        by_tag = found.setdefault((score.perturbation, score.metric), {})
        by_tag.setdefault(score.tag, {})[score.computed_on] = score
    return found


def metrics_of(result: PrintedResult) -> list[str]:
    """Name the metrics that there are scores of, the main one first.

    The second is one that tells right from wrong, where the main one does not.
    """
    scores = result.effects.scores
    known = list(dict.fromkeys(score.metric for score in scores))
    headline = result.headline
    first = [name for name in known if headline and name == headline.metric]
    first = first or known[:1]
    of_examples = [
        score.metric
        for score in scores
        if score.computed_on == "worst" and score.value is not None
    ]
    if of_examples and first[0] not in of_examples:
        first.append(of_examples[0])
    return list(dict.fromkeys([*first, *known]))


def uncertain_of(result: PrintedResult) -> set[str]:
    """Name the perturbations after which answers may not hold."""
    return {
        found.name
        for found in result.effects.perturbations
        if found.label_effect == "uncertain"
    }


def families_of_one(result: PrintedResult) -> set[str]:
    """Name the families whose scores are those of their only perturbation."""
    members = Counter(
        f"family:{family}"
        for found in result.effects.perturbations
        if found.label_effect != "uncertain"
        for family in found.families
    )
    return {family for family, count in members.items() if count == 1}


def show_sizes(scores: OfGroup) -> str:
    """Return how many originals the scores before, after and the drop are of."""
    names = ("original", "perturbed", "drop")
    sizes = [show_n(scores[name]) for name in names if name in scores]
    return " / ".join(sizes if len(set(sizes)) > 1 else sizes[:1])


def place_of(drop: Score | None) -> float | None:
    """Return what sorts drops, the worst first; None for a drop without a value."""
    if drop is None or drop.value is None:
        return None
    # a positive drop is good where lower scores are better
    return drop.value if drop.higher_is_better else -drop.value


def largest_family(drops: Iterable[Score | None]) -> int:
    """Return for how many drops one is adjusted at most; 0 where none is tested."""
    return max((drop.family_size or 0 for drop in drops if drop), default=0)


def with_drop_adjusted(scores: OfGroup) -> OfGroup:
    """Return scores of which the drop has the interval that holds for its family."""
    drop = scores.get("drop")
    return scores if drop is None else {**scores, "drop": adjusted(drop)}


def drop_header(confidence: str, family: int) -> list[str]:
    """Name the columns of a drop and what it is between."""
    mark = "adjusted " if family > 1 else ""
    return ["original", "perturbed", "drop", f"{mark}{confidence} CI", f"{mark}p"]


def interval_and_p(drop: Score | None, bounds: Bounds) -> tuple[str, str]:
    """Return the interval and the p-value of a drop as cells."""
    from evalkit.reporting import show_p

    if drop is None:
        return "", ""
    p_value = show_p(drop.p_adjusted, at_most=bool(drop.p_at_most))
    return show_interval(drop, bounds), p_value


def show_coverage_of(drop: Score | None) -> str:
    """Return which share was scored where that is not all."""
    return "" if drop is None else show_coverage(drop)[0]
