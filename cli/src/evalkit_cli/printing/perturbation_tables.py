"""Tables of the scores under perturbation, and a line on what flipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evalkit_cli.printing.drop_lines import adjusted, overview_lines, table_lines
from evalkit_cli.printing.printed_results import PrintedResult
from evalkit_cli.printing.score_cells import (
    Bounds,
    show_interval,
    show_n,
    show_number,
    show_share,
    show_value,
)
from evalkit_cli.printing.tables import Rows, without_empty_columns
from evalkit_cli.printing.tag_tables import MOST_ROWS

if TYPE_CHECKING:
    from evalkit import Score

ALL = "(all)"
"""Names the row of all copies."""

_MOST_TABLES = 4
"""Perturbations and families beyond which each is one row of one table."""

_FLIPS = {
    "right-to-wrong": "right to wrong",
    "wrong-to-right": "wrong to right",
    "wrong-to-other-wrong": "wrong to another wrong answer",
}


class PerturbationTable(NamedTuple):
    """The scores of one metric under one perturbation."""

    heading: str
    rows: Rows
    notes: list[str]
    """What was shown, what changed from right to wrong, and what is left out."""
    is_tested: bool
    """Whether drops are tested, and adjusted for all that are read together; those in
    runs by older versions are not."""


def perturbation_tables(
    result: PrintedResult, every_metric: bool, talk: bool
) -> list[PerturbationTable]:
    """Make a table for each perturbation and each family.

    Args:
        result: A result.
        every_metric: Whether all metrics are shown; else the main one.
        talk: Whether headings say unit and metric, and long tables are cut.

    Returns:
        The tables, those of uncertain perturbations last; none without perturbed
        copies.
    """
    found: dict[tuple[str, str], dict[str | None, dict[str, Score]]] = {}
    for score in result.result.under_perturbation:
        assert score.perturbation is not None
        by_tag = found.setdefault((score.perturbation, score.metric), {})
        by_tag.setdefault(score.tag, {})[score.computed_on] = score
    shown = _metrics(result, every_metric)
    uncertain = _uncertain(result)
    alone = _families_of_one(result)
    names = dict.fromkeys(
        name for name, _ in found if every_metric or name not in alone
    )
    ordered = sorted(names, key=uncertain.__contains__)
    if len(ordered) > _MOST_TABLES and not every_metric:
        overviews = [
            _overview(result, ordered, metric, found, uncertain, talk)
            for metric in shown
        ]
        return _with_legend(_with_warning(overviews, result))
    tables = [
        _table(
            result,
            name,
            metric,
            found[name, metric],
            name in uncertain,
            talk,
            every_metric,
        )
        for name in ordered
        for metric in shown
        if (name, metric) in found
    ]
    return _with_legend(_with_warning(tables, result))


_Found = Mapping[tuple[str, str], Mapping[str | None, Mapping[str, "Score"]]]
"""Scores by perturbation and metric, tag, and what they are computed on."""


def _overview(
    result: PrintedResult,
    names: Sequence[str],
    metric: str,
    found: _Found,
    uncertain: Collection[str],
    talk: bool,
) -> PerturbationTable:
    """Make one table of many perturbations, a row for each."""

    def place(name: str) -> tuple[bool, bool, float, str]:
        drop = found[name, metric].get(None, {}).get("drop")
        is_family = name.startswith("family:")
        if drop is None or drop.value is None:
            return is_family, name in uncertain, 0.0, name
        worse = drop.value if drop.higher_is_better else -drop.value
        return is_family, name in uncertain, worse, name

    known = [name for name in names if (name, metric) in found]
    drops = [found[name, metric].get(None, {}).get("drop") for name in known]
    family = _largest_family(drops)
    rows = [_header(result, metric, family)]
    for name in sorted(known, key=place):
        label = name + (" (uncertain)" if name in uncertain else "")
        scores = found[name, metric].get(None, {})
        rows.append(_row(label, scores, result.bounds, family > 0, not talk))
    first = next(iter(found[known[0], metric].get(None, {}).values()), None)
    unit = f", in {first.unit}" if first is not None and first.unit else ""
    return PerturbationTable(
        f"Under perturbation, largest drop first{unit}:",
        without_empty_columns(rows),
        [
            *overview_lines(metric, drops, result.level),
            "tags and flips of each: -v, or fewer --perturbed files",
        ],
        family > 0,
    )


def _with_warning(
    tables: list[PerturbationTable], result: PrintedResult
) -> list[PerturbationTable]:
    """Say below the last table where intervals are not adjusted for their number."""
    if (
        any(table.is_tested for table in tables)
        or sum(len(table.rows) - 1 for table in tables) < 2
    ):
        return tables
    last = tables[-1]
    note = (
        f"each {result.confidence} CI holds by itself, not all at once: of many, some "
        "exclude 0 by chance"
    )
    return [*tables[:-1], last._replace(notes=[*last.notes, note])]


def _with_legend(tables: list[PerturbationTable]) -> list[PerturbationTable]:
    """Explain below the last table what some columns are."""
    if not tables:
        return tables
    columns = {column for table in tables for column in table.rows[0]}
    cells = {cell for table in tables for row in table.rows[1:] for cell in row}
    legend = []
    if any(" / " in cell for cell in cells):
        legend.append(
            "n: originals in the columns original / perturbed / drop, which is over "
            "those that count in both"
        )
    if "agreement" in columns:
        legend.append(
            "agreement: the score of the copies with the model's answer for the "
            "original as the right one"
        )
    if "worst" in columns:
        legend.append(
            "worst: the least favourable score of an original and its copies; the more "
            "copies, the lower"
        )
    last = tables[-1]
    return [*tables[:-1], last._replace(notes=[*last.notes, *legend])]


def _largest_family(drops: Iterable[Score | None]) -> int:
    """Give for how many drops one is adjusted at most; 0 where none is tested."""
    sizes = [drop.family_size or 0 for drop in drops if drop is not None]
    return max(sizes, default=0)


def _header(result: PrintedResult, name: str, family: int) -> list[str]:
    adjusted = "adjusted " if family > 1 else ""
    return [
        name,
        "original",
        "perturbed",
        "drop",
        f"{adjusted}{result.confidence} CI",
        f"{adjusted}p",
        "agreement",
        "expected",
        "worst",
        "n",
        "coverage",
    ]


def _metrics(result: PrintedResult, every_metric: bool) -> list[str]:
    """Name the metrics to show: the main one, and one that single examples have."""
    scores = result.result.under_perturbation
    known = list(dict.fromkeys(score.metric for score in scores))
    if every_metric:
        return known
    headline = result.headline
    main = [name for name in known if headline and name == headline.metric]
    shown = main or known[:1]
    of_examples = [
        score.metric
        for score in scores
        if score.computed_on == "worst" and score.value is not None
    ]
    if of_examples and shown[0] not in of_examples:
        shown.append(of_examples[0])
    return shown


def _uncertain(result: PrintedResult) -> set[str]:
    return {
        found.perturbation
        for found in result.record.perturbations
        if found.label_effect == "uncertain"
    }


def _families_of_one(result: PrintedResult) -> set[str]:
    """Name the families whose table would be that of their only perturbation."""
    members = Counter(
        f"family:{family}"
        for found in result.record.perturbations
        if found.label_effect != "uncertain"
        for family in found.families
    )
    return {family for family, count in members.items() if count == 1}


def _table(
    result: PrintedResult,
    name: str,
    metric: str,
    scores: Mapping[str | None, Mapping[str, Score]],
    is_uncertain: bool,
    talk: bool,
    every_metric: bool,
) -> PerturbationTable:
    # a family's worst of all is also of tags that no copy has
    tags = [
        tag
        for tag in _worst_first(scores)
        if tag is not None and "perturbed" in scores[tag]
    ]
    large = [tag for tag in tags if _n(scores[tag]) >= result.min_n]
    shown = large if every_metric or not talk else large[:MOST_ROWS]
    drops = {tag: scores.get(tag, {}).get("drop") for tag in (None, *tags)}
    family = _largest_family(drops.values())
    rows = [_header(result, f"{name}: {metric}", family)]
    for tag in (None, *shown):
        label = ALL if tag is None else tag
        of_tag = scores.get(tag, {})
        rows.append(_row(label, of_tag, result.bounds, family > 0, not talk))
    notes = list(table_lines(name, drops, result.level))
    notes += _notes(name, scores.get(None, {}), _size(result, metric))
    if len(shown) < len(large):
        more = len(large) - len(shown)
        notes.append(f"{more} tags with a smaller drop not shown; -v shows all")
    if len(large) < len(tags):
        small = len(tags) - len(large)
        notes.append(f"tags of fewer than {result.min_n} not shown (--min-n): {small}")
    heading = _heading(name, scores, is_uncertain)
    return PerturbationTable(heading, without_empty_columns(rows), notes, family > 0)


def _heading(
    name: str,
    scores: Mapping[str | None, Mapping[str, Score]],
    is_uncertain: bool,
) -> str:
    family = name.removeprefix("family:")
    heading = f"Under {name}"
    if family != name:
        heading = f"Under the {family} perturbations that were evaluated"
    if is_uncertain:
        heading += ", after which the answers may not hold (uncertain)"
    first = next(iter(scores[None].values())) if scores.get(None) else None
    unit = f", in {first.unit}" if first is not None and first.unit else ""
    return f"{heading}, largest drop first{unit}:"


def _worst_first(
    scores: Mapping[str | None, Mapping[str, Score]],
) -> list[str | None]:
    from evalkit.reporting import UNTAGGED

    def place(tag: str | None) -> tuple[bool, bool, float, str]:
        drop = scores[tag].get("drop")
        if drop is None or drop.value is None:
            return tag == UNTAGGED, True, 0.0, tag or ""
        # a positive drop is good where lower scores are better
        worse = drop.value if drop.higher_is_better else -drop.value
        return tag == UNTAGGED, False, worse, tag or ""

    return sorted(scores, key=place)


def _sizes(scores: Mapping[str, Score]) -> str:
    """Return how many originals each of the first three columns is about."""
    names = ("original", "perturbed", "drop")
    sizes = [show_n(scores[name]) for name in names if name in scores]
    return " / ".join(sizes if len(set(sizes)) > 1 else sizes[:1])


def _n(scores: Mapping[str, Score]) -> int:
    return max(score.n for score in scores.values())


def _row(
    name: str,
    scores: Mapping[str, Score],
    bounds: Bounds,
    is_tested: bool,
    with_unit: bool,
) -> list[str]:
    from evalkit.reporting import show_p

    if is_tested and "drop" in scores:
        scores = {**scores, "drop": adjusted(scores["drop"])}

    def cell(computed_on: str) -> str:
        score = scores.get(computed_on)
        if score is None:
            return ""
        # headings say what a flag of uncertain perturbations does
        return show_value(score._replace(flag=None), with_unit=with_unit)

    main = scores.get("drop") or next(iter(scores.values()), None)
    return [
        name,
        cell("original"),
        cell("perturbed"),
        cell("drop"),
        "" if main is None else show_interval(main, bounds),
        "" if main is None else show_p(main.p_adjusted, at_most=bool(main.p_at_most)),
        cell("agreement"),
        cell("expected"),
        cell("worst"),
        _sizes(scores),
        ""
        if main is None or main.coverage in (None, 1.0)
        else show_share(main.coverage),
    ]


def _size(result: PrintedResult, metric: str) -> int:
    """Count the examples that a metric scored without any perturbation."""
    return next((score.n for score in result.whole if score.metric == metric), 0)


def _notes(name: str, scores: Mapping[str, Score], size: int) -> Iterator[str]:
    flips = [
        f"{show_number(score, score.value)} {words}"
        for computed_on, words in _FLIPS.items()
        if (score := scores.get(computed_on)) is not None and score.value is not None
    ]
    consistency = scores.get("consistency")
    if consistency is not None and consistency.value is not None:
        share = show_number(consistency, consistency.value)
        flips.append(f"{share} of originals right with all of their copies")
    if flips:
        yield f"{name}: {', '.join(flips)}"
    worst = scores.get("worst-of-all")
    if worst is not None and worst.value is not None:
        shown = show_number(worst, worst.value)
        over = "all" if worst.n >= size else "the"
        without = size - worst.n
        rest = f"; {without} whose copies have no score left out" if without > 0 else ""
        yield (
            f"{name}: worst over {over} {worst.n} examples, also those that were not "
            f"copied: {shown}{rest}"
        )
    reasons = {
        f"{name}: {computed_on}: {score.reason}"
        for computed_on, score in scores.items()
        if score.value is None and score.reason
    }
    yield from sorted(reasons)
