"""Says in a line which group of a facet is the worst, and how far groups differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit.reporting import count_of
from evalkit_cli.printing.printed_results import PrintedResult, labelled
from evalkit_cli.printing.score_cells import show_number
from evalkit_cli.printing.tag_tables import crossing_of

if TYPE_CHECKING:
    from evalkit import Score

MOST_FACETS = 5
"""Facets and crossings that a report on a screen is about."""

_LEAST_P = 0.001
"""p-values below it are not told from each other."""


def facet_lines(
    results: Sequence[PrintedResult], metric: str, *, verbose: bool
) -> list[str]:
    """Return the worst group and the gap of each facet and crossing."""
    facets = _facets(results, metric)
    lone = _lone_groups(results, metric, facets)
    tested = [
        facet
        for facet in facets
        if facet in results[0].crossings
        or any(_is_tested(each, metric, facet) for each in results)
        or (verbose and any(_scores_of(each, metric, facet) for each in results))
    ]
    untested = len(facets) - len(tested) + (0 if verbose else len(lone))
    shown = tested if verbose else tested[:MOST_FACETS]
    lines = [
        f"{labelled(results, place)}{facet}: {_line(result, metric, facet)}"
        for facet in shown
        for place, result in enumerate(results)
        if facet in _facets([result], metric)
    ]
    if verbose:
        lines += [f"{facet}: {said}" for facet, said in lone.items()]
    heading = _heading(results) if lines else "Worst group and gap:"
    hidden = _not_shown(len(tested) - len(shown), untested, verbose=verbose)
    if not lines:
        return [f"{heading} {said}" for said in hidden]
    return [heading, "", *lines, *hidden]


def _heading(results: Sequence[PrintedResult]) -> str:
    heading = "Worst group and gap"
    scores = (score for result in results for score in result.result.scores)
    if any(score.p_adjusted not in (None, score.p_value) for score in scores):
        heading += "; p is adjusted for all facets"
    return f"{heading}:"


def _not_shown(more: int, untested: int, *, verbose: bool) -> list[str]:
    """Say how many facets are not shown."""
    parts = [f"{count_of(more, 'more facet')}"] if more else []
    if untested:
        parts.append(f"{count_of(untested, 'facet')} that could not be tested")
    how = "" if verbose else "; -v shows all"
    return [f"not shown: {', '.join(parts)}{how}"] if parts else []


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
    """Say which facets have one group in all results, and whom that leaves out."""
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
    rest = f"{others} examples, which belong to no group"
    if others == 1:
        rest = "example, which belongs to no group"
    return f"only one group, {group}; not tested against the other {rest}"


def _scores_of(result: PrintedResult, metric: str, facet: str) -> dict[str, Score]:
    """Return the score of the worst group and the gap, as far as there are any."""
    kinds = {f"{kind}:{facet}": kind for kind in ("worst", "gap")}
    return {
        kinds[score.aggregate]: score
        for score in result.result.scores
        if score.metric == metric and score.aggregate in kinds
    }


def _line(result: PrintedResult, metric: str, facet: str) -> str:
    scores = _scores_of(result, metric, facet)
    if not scores:
        least = result.min_n
        return f"fewer than two groups of at least {least} examples (--min-n)"
    worst, gap = scores.get("worst"), scores.get("gap")
    parts = [] if worst is None else [_worst(facet, worst)]
    parts += [] if gap is None else [_gap(result, facet, gap)]
    return "; ".join(parts)


def _is_tested(result: PrintedResult, metric: str, facet: str) -> bool:
    gap = _scores_of(result, metric, facet).get("gap")
    return gap is not None and gap.p_value is not None


def _worst(facet: str, score: Score) -> str:
    group = _without_facet(score.tag or "", facet)
    return f"worst {group} {show_number(score, score.value)}, n = {score.n}"


def _gap(result: PrintedResult, facet: str, score: Score) -> str:
    unit = "points" if score.unit == "%" else score.unit
    shown = show_number(score._replace(unit=unit), score.value)
    between = f", {_without_facet(score.flag, facet)}" if score.flag else ""
    return f"gap {shown}{between}; {_test(result, score)}"


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
    level = 1 - result.record.confidence
    if decisive < level:
        return f"the groups differ (p {p_value})"
    shown = f"{level:.4g}".lstrip("0")
    return f"no difference shown at {shown} (p {p_value})"
