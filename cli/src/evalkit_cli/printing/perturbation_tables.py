"""Tables of the scores under each perturbation by tag, below that of the effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit.reporting import count_of
from evalkit_cli.printing.drop_lines import table_lines
from evalkit_cli.printing.effect_table import PerturbationTable, effect_table
from evalkit_cli.printing.perturbed_scores import (
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
from evalkit_cli.printing.score_cells import Bounds, show_value
from evalkit_cli.printing.tables import without_empty_columns
from evalkit_cli.printing.tag_tables import MOST_ROWS

if TYPE_CHECKING:
    pass

ALL = "(all)"
"""Names the row of all copies."""


def perturbation_tables(
    result: PrintedResult, verbose: bool, talk: bool
) -> list[PerturbationTable]:
    """Make the table of the effects, and tables of tags for each perturbation."""
    effects = effect_table(result, talk=talk)
    if effects is None:
        return []
    found = find_scores(result)
    uncertain = uncertain_of(result)
    alone = () if verbose else families_of_one(result)
    names = dict.fromkeys(name for name, _ in found if name not in alone)
    metrics = metrics_of(result)
    tables = [
        table
        for name in sorted(names, key=uncertain.__contains__)
        for metric in (metrics if verbose else metrics[:1])
        if (name, metric) in found
        for table in _tables(
            result,
            (name, metric),
            found[name, metric],
            is_uncertain=name in uncertain,
            talk=talk,
            verbose=verbose,
        )
    ]
    return [effects._replace(notes=[*effects.notes, *_not_by(result)]), *tables]


def _not_by(result: PrintedResult) -> list[str]:
    """Say by which of the groups that the user asked for there are no effects."""
    tags = {score.tag for score in result.effects.scores}
    missing = [
        name
        for name in result.crossings
        if "," in name or not any(_is_of(tag, [name]) for tag in tags)
    ]
    if not missing:
        return []
    names = " and ".join(missing)
    return [f"no effects by {names}: copies are grouped by their tags only"]


def _is_of(tag: str | None, facets: Sequence[str]) -> bool:
    return tag is not None and any(tag.startswith(f"{facet}:") for facet in facets)


def _tables(
    result: PrintedResult,
    about: tuple[str, str],
    scores: Mapping[str | None, OfGroup],
    *,
    is_uncertain: bool,
    talk: bool,
    verbose: bool,
) -> Iterator[PerturbationTable]:
    """Make the table of one perturbation and metric, where it has any tags to show."""
    name, metric = about
    facets = [facet for facet in result.crossings if "," not in facet]
    # a family's worst of all is also of tags that no copy has
    tags = [
        tag
        for tag in _worst_first(scores)
        if tag is not None
        and "perturbed" in scores[tag]
        and (verbose or _is_of(tag, facets))
    ]
    if not tags and not verbose:
        return
    large = [
        tag
        for tag in tags
        if max(score.n for score in scores[tag].values()) >= result.min_n
    ]
    shown = large if verbose or not talk else large[:MOST_ROWS]
    drops = {tag: scores.get(tag, {}).get("drop") for tag in (None, *tags)}
    family = largest_family(drops.values())
    drops_of = drop_header(result.confidence, family)
    last = ("agreement", "expected", "worst", "n", "coverage")
    rows = [[f"{name}: {metric}", *drops_of, *last]]
    for tag in (None, *shown):
        label = ALL if tag is None else tag
        of_tag = scores.get(tag, {})
        rows.append(_row(label, of_tag, result.bounds, family > 0, not talk))
    notes = [*table_lines(name, drops, result.level)]
    notes += _reasons(name, scores.get(None, {})) if verbose else ()
    hidden = []
    if len(shown) < len(large):
        hidden.append(f"{count_of(len(large) - len(shown), 'more tag')} (-v)")
    if len(large) < len(tags):
        small = count_of(len(tags) - len(large), "tag")
        hidden.append(f"{small} with fewer than {result.min_n} originals (--min-n)")
    if hidden:
        notes.append(f"{name}: not shown: {', '.join(hidden)}")
    heading = _heading(name, scores, is_uncertain)
    yield PerturbationTable(heading, without_empty_columns(rows), notes)


def _heading(
    name: str, scores: Mapping[str | None, OfGroup], is_uncertain: bool
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


def _worst_first(scores: Mapping[str | None, OfGroup]) -> list[str | None]:
    from evalkit.reporting import UNTAGGED

    def place(tag: str | None) -> tuple[bool, bool, float, str]:
        key = place_of(scores[tag].get("drop"))
        return tag == UNTAGGED, key is None, key or 0.0, tag or ""

    return sorted(scores, key=place)


def _row(
    name: str, scores: OfGroup, bounds: Bounds, is_tested: bool, with_unit: bool
) -> list[str]:
    if is_tested:
        scores = with_drop_adjusted(scores)

    def cell(computed_on: str) -> str:
        score = scores.get(computed_on)
        if score is None:
            return ""
        # headings say what a flag of uncertain perturbations does
        return show_value(score._replace(flag=None), with_unit=with_unit)

    main = scores.get("drop") or next(iter(scores.values()), None)
    return [
        name,
        *map(cell, ("original", "perturbed", "drop")),
        *interval_and_p(main, bounds),
        *map(cell, ("agreement", "expected", "worst")),
        show_sizes(scores),
        show_coverage_of(main),
    ]


def _reasons(name: str, scores: OfGroup) -> list[str]:
    """Say why scores have no value."""
    reasons = {
        f"{name}: {computed_on}: {score.reason}"
        for computed_on, score in scores.items()
        if score.value is None and score.reason
    }
    return sorted(reasons)
