"""The effects of all perturbations in one table, with a sentence for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evalkit_cli.printing.drop_lines import drop_sentence
from evalkit_cli.printing.perturbed_scores import (
    FLIPS,
    OfGroup,
    drop_header,
    families_of_one,
    find_scores,
    interval_and_p,
    largest_family,
    metrics_of,
    place_of,
    show_coverage_of,
    show_sizes,
    uncertain_of,
    with_drop_adjusted,
)
from evalkit_cli.printing.printed_results import PrintedResult
from evalkit_cli.printing.score_cells import show_number, show_value
from evalkit_cli.printing.tables import Rows, without_empty_columns

if TYPE_CHECKING:
    from evalkit import Score

_FAMILY = "family:"

_OF_PAIRS = ("agreement", "expected", "consistency", "worst", *FLIPS)
"""What only metrics with a score for each example have."""

LEGEND = {
    "agreement": "agreement: the score of the copies with the model's answer for the "
    "original as the right one",
    "expected": "expected: share of the pairs that are as the perturbation wants them",
    "consistent": "consistent: share of the originals that are right with all of their "
    "copies",
    "worst": "worst: the least favourable score of an original and its copies; the "
    "more copies, the lower",
    "flips": f"flips: {' / '.join(FLIPS.values())}",
}
"""What columns mean, by their header."""


class PerturbationTable(NamedTuple):
    """Scores under perturbation."""

    heading: str
    rows: Rows
    notes: list[str]


class _Effect(NamedTuple):
    """What one perturbation or family does to the scores of all copies."""

    name: str
    scores: OfGroup
    """Of the main metric; of pairs those of the one that tells right from wrong."""
    is_uncertain: bool

    @property
    def drop(self) -> Score | None:
        return self.scores.get("drop")


def effect_table(result: PrintedResult, *, talk: bool) -> PerturbationTable | None:
    """Make the table of the effects, the largest drop first, families last."""
    metrics = metrics_of(result)
    if not metrics:
        return None
    effects = _effects(result, metrics)
    family = largest_family(effect.drop for effect in effects)
    rows = [_header(result, metrics[0], family, talk)]
    rows += [_row(effect, result, family > 0, talk) for effect in effects]
    rows = without_empty_columns(rows)
    unit = next((score.unit for score in effects[0].scores.values()), "")
    shown = f", in {unit}" if unit and talk else ""
    heading = f"{metrics[0]} under perturbation, largest drop first{shown}:"
    notes = [*_sentences(effects, result), *_legend(rows, metrics[0], effects)]
    return PerturbationTable(heading, rows, notes)


def _effects(result: PrintedResult, metrics: Sequence[str]) -> list[_Effect]:
    found = find_scores(result)
    uncertain = uncertain_of(result)
    alone = families_of_one(result)
    effects = []
    for name in dict.fromkeys(name for name, _ in found):
        scores = dict(found.get((name, metrics[0]), {}).get(None, {}))
        if name in alone or not scores:
            continue
        for other in metrics[1:2]:
            of_pairs = found.get((name, other), {}).get(None, {})
            for part in _OF_PAIRS:
                lacks = part not in scores or scores[part].value is None
                if lacks and part in of_pairs:
                    scores[part] = of_pairs[part]
        effects.append(_Effect(name, scores, name in uncertain))
    return sorted(effects, key=_place)


def _place(effect: _Effect) -> tuple[bool, bool, float, str]:
    key = place_of(effect.drop) or 0.0
    return effect.name.startswith(_FAMILY), effect.is_uncertain, key, effect.name


def _header(result: PrintedResult, metric: str, family: int, talk: bool) -> list[str]:
    return [
        "perturbation" if talk else f"{metric} under",
        "n",
        *drop_header(result.confidence, family),
        *("agreement", "expected", "consistent", "worst", "flips", "coverage"),
    ]


def _row(
    effect: _Effect, result: PrintedResult, is_tested: bool, talk: bool
) -> list[str]:
    scores = with_drop_adjusted(effect.scores) if is_tested else effect.scores

    def cell(computed_on: str) -> str:
        score = scores.get(computed_on)
        if score is None or (computed_on in _OF_PAIRS and score.value is None):
            return ""
        return show_value(score._replace(flag=None), with_unit=not talk)

    flips = [cell(part) for part in FLIPS]
    drop = scores.get("drop")
    return [
        effect.name + (" (uncertain)" if effect.is_uncertain else ""),
        show_sizes(scores),
        *map(cell, ("original", "perturbed", "drop")),
        *interval_and_p(drop, result.bounds),
        *map(cell, ("agreement", "expected", "consistency", "worst")),
        " / ".join(flips) if all(flips) else "",
        show_coverage_of(drop),
    ]


def _sentences(effects: Sequence[_Effect], result: PrintedResult) -> list[str]:
    """Say of each perturbation what was shown, and what that is adjusted for."""
    lines = []
    for effect in effects:
        said = drop_sentence(effect.drop, result.bounds, result.level)
        if said:
            lines.append(f"{effect.name}: {said}{_doubt(effect)}")
    if not lines and len(effects) > 1:
        return [
            f"each {result.confidence} CI holds by itself, not all at once: of many, "
            "some exclude 0 by chance"
        ]
    told = []
    for is_family, noun in ((False, "perturbations"), (True, "families")):
        drops = [e.drop for e in effects if e.name.startswith(_FAMILY) == is_family]
        sizes = [drop.family_size for drop in drops if drop and drop.family_size]
        told += [f"{max(sizes)} {noun}"] if sizes and max(sizes) > 1 else []
    if told:
        lines.append(f"p and CI adjusted for {' and, apart, for '.join(told)}")
    worst = [
        f"{effect.name}: worst over all examples, also those that were not copied: "
        f"{show_number(score, score.value)} (n = {score.n})"
        for effect in effects
        if (score := effect.scores.get("worst-of-all")) and score.value is not None
    ]
    return [*lines, *worst]


def _doubt(effect: _Effect) -> str:
    if not effect.is_uncertain:
        return ""
    return "; the answers may not hold for its copies (uncertain)"


def _legend(rows: Rows, metric: str, effects: Sequence[_Effect]) -> list[str]:
    lines = []
    if any(" / " in row[1] for row in rows[1:]):
        lines.append(
            "n: originals in the columns original / perturbed / drop, which is over "
            "those that count in both"
        )
    shown = [name for name in LEGEND if name in rows[0]]
    lines += [LEGEND[name] for name in shown]
    of_pairs = [
        score
        for effect in effects
        for part, score in effect.scores.items()
        if part in _OF_PAIRS and score.value is not None
    ]
    others = {score.metric for score in of_pairs} - {metric}
    if shown and others:
        columns = ", ".join(shown)
        lines.append(f"{columns}: by {', '.join(others)}, where {metric} has none")
    reversed_ones = {
        score.metric
        for score in of_pairs
        if score.computed_on == "agreement" and score.higher_is_better is False
    }
    if reversed_ones:
        lines.append(f"agreement by {', '.join(reversed_ones)}: lower is better")
    return lines
