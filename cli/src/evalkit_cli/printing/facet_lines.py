"""Says in a line which group of a facet is the worst, and how far groups differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.printed_results import PrintedResult, labelled
from evalkit_cli.printing.score_cells import show_interval, show_number, show_shrunken
from evalkit_cli.printing.tag_tables import MEANINGS, crossing_of

if TYPE_CHECKING:
    from evalkit import Score

MOST_FACETS = 5
"""Facets and crossings that a report on a screen is about."""

_KINDS = ("worst", "gap")

_LEAST_P = 0.001
"""p-values below it are not told from each other."""


def facet_lines(
    results: Sequence[PrintedResult], metric: str, most_facets: int | None
) -> list[str]:
    """Return the worst group and the gap of each facet and crossing.

    Args:
        results: The results.
        metric: The metric they are about.
        most_facets: How many facets; None for all. What the user asked for comes first.

    Returns:
        A heading and two lines for each facet and result, or one of a facet with one
        group; nothing without facets.
    """
    facets = _facets(results, metric)
    lone = _lone_groups(results, metric, facets)
    shown = [*facets, *lone][:most_facets]
    lines = [
        f"{labelled(results, place)}{facet}: {line}"
        for facet in shown
        for place, result in enumerate(results)
        for line in _lines(result, metric, facet)
    ]
    if not lines and not lone:
        return []
    level = results[0].confidence
    heading = f"Worst group and gap; each {level} CI holds for all groups at once:"
    if not lines:
        heading = "Worst group and gap:"
    lines += [f"{facet}: {lone[facet]}" for facet in shown if facet in lone]
    if any(_is_adjusted(score) for result in results for score in result.result.scores):
        heading = (
            f"Worst group and gap; each {level} CI holds for all groups at once; p is "
            "adjusted for all facets:"
        )
    if len(results) > 1:
        # beside one result the table of tags has both columns and says what they mean
        said = "\n".join(lines)
        lines += [text for name, text in MEANINGS.items() if f"{name} " in said]
    more = len(facets) + len(lone) - len(shown)
    if more:
        what = "facet" if more == 1 else "facets"
        lines.append(f"{more} more {what}: -v or --format csv shows all")
    return [heading, "", *lines]


def _facets(results: Sequence[PrintedResult], metric: str) -> list[str]:
    found = [
        str(score.aggregate).partition(":")[2]
        for result in results
        for score in result.result.scores
        if score.aggregate and score.metric == metric
    ]
    asked = [name for name in results[0].crossings if name in found]
    return list(dict.fromkeys([*asked, *found]))


def _lone_groups(
    results: Sequence[PrintedResult], metric: str, compared: Sequence[str]
) -> dict[str, str]:
    """Say which facets have one group in all results, and whom that leaves out.

    Args:
        results: The results.
        metric: The metric.
        compared: The facets that are compared.

    Returns:
        A sentence by facet.
    """
    groups: dict[str, dict[str, str]] = {}
    for result in results:
        for (name, tag), score in result.groups.items():
            facet = _facet_of(result, tag) if tag and name == metric else None
            if tag and facet and facet not in compared:
                said = _lone(result, score, tag, facet)
                groups.setdefault(facet, {}).setdefault(tag, said)
    return {
        facet: said
        for facet, found in groups.items()
        if len(found) == 1
        for said in found.values()
    }


def _facet_of(result: PrintedResult, tag: str) -> str | None:
    from evalkit.catalog import facet_of

    crossing = crossing_of(tag, result.crossings)
    if crossing is not None:
        return crossing
    faceted = facet_of(tag)
    return None if faceted is None else faceted[0]


def _lone(result: PrintedResult, score: Score, tag: str, facet: str) -> str:
    group = f"{_without_facet(tag, facet)} (n = {score.n})"
    others = result.groups[score.metric, None].n - score.n
    if not others:
        return f"only one group, {group}; not tested"
    rest = "example, which is" if others == 1 else f"{others} examples, which are"
    return f"only one group, {group}; not tested against the other {rest} in none"


def _scores_of(result: PrintedResult, metric: str, facet: str) -> list[Score]:
    kinds = [f"{kind}:{facet}" for kind in _KINDS]
    return [
        score
        for score in result.result.scores
        if score.metric == metric and score.aggregate in kinds
    ]


def _is_adjusted(score: Score) -> bool:
    return score.p_adjusted is not None and score.p_adjusted != score.p_value


def _lines(result: PrintedResult, metric: str, facet: str) -> list[str]:
    scores = _scores_of(result, metric, facet)
    if not scores and _has_mean(result, metric, facet):
        least = result.min_n
        return [f"fewer than two groups of at least {least} examples (--min-n)"]
    return [
        _worst(result, facet, score)
        if str(score.aggregate).startswith("worst:")
        else _gap(result, facet, score)
        for score in scores
    ]


def _has_mean(result: PrintedResult, metric: str, facet: str) -> bool:
    return any(
        score.metric == metric and score.aggregate == f"macro:{facet}"
        for score in result.result.scores
    )


def _worst(result: PrintedResult, facet: str, score: Score) -> str:
    group = _without_facet(score.tag or "", facet)
    flag = f"; {score.flag}" if score.flag else ""
    without = "" if score.ci else f" (no interval: {score.reason})"
    shown, ranks = show_shrunken(score)
    shrunk = f"; shrunk {shown} {score.unit}".rstrip() if shown else ""
    rank = f", rank {ranks}" if ranks else ""
    return (
        f"worst {group} {_value(result, score)}{without}, n = {score.n}{shrunk}{rank}"
        f"{flag}"
    )


def _gap(result: PrintedResult, facet: str, score: Score) -> str:
    unit = "points" if score.unit == "%" else score.unit
    shown = _value(result, score._replace(unit=unit))
    between = f", {_without_facet(score.flag, facet)}" if score.flag else ""
    return f"gap {shown}{between}; {_test(result, score)}"


def _value(result: PrintedResult, score: Score) -> str:
    interval = f" {show_interval(score, result.bounds)}" if score.ci else ""
    return f"{show_number(score, score.value)}{interval}"


def _without_facet(text: str, facet: str) -> str:
    """Leave out the facet's name, with which the line begins."""
    return text.replace(f"{facet}:", "")


def _test(result: PrintedResult, score: Score) -> str:
    from evalkit.reporting import show_p

    if score.p_value is None:
        return f"not tested: {score.reason}"
    decisive = score.p_value if score.p_adjusted is None else score.p_adjusted
    p_value = show_p(decisive, sign=True)
    if decisive < _LEAST_P:
        p_value = f"< {f'{_LEAST_P:g}'.lstrip('0')}"
    if decisive < 1 - result.record.confidence:
        return f"the groups differ (p {p_value})"
    return f"no evidence that the groups differ (p {p_value})"
