"""Finds among the scores of a result those under perturbation that are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evalkit_cli.printing.printed_results import PrintedResult
from evalkit_cli.printing.score_cells import show_n

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
