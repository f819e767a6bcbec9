"""Which annotators metrics ask for, by the names of their columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evalkit.catalog import BoundMetric, Resolver, is_component_name
from evalkit.errors import PluginContractError, UnknownPluginError
from evalkit_annotators_columns.bound import BoundAnnotator


@dataclass(frozen=True)
class Wanted:
    """An annotator, and what metrics ask of it."""

    annotator: BoundAnnotator
    columns: dict[str, str] = field(default_factory=dict)
    """The annotator's own name of each column ("" where it has one) by the name that
    metrics ask for it by."""


def find_annotators(
    resolver: Resolver,
    declared: Mapping[str, BoundAnnotator],
    metrics: Iterable[BoundMetric],
    known: Collection[str],
) -> list[Wanted]:
    """Find and load the annotators that metrics name among their columns."""
    found: dict[str, Wanted] = {}
    for metric in metrics:
        for column in metric.columns:
            annotator = None
            reference, part = split_column(column)
            is_free = column not in known and column not in metric.optional_columns
            if is_free and reference in declared:
                annotator = declared[reference]
            elif is_free and reference:
                annotator = _load(resolver, metric, reference, column)
            if annotator is None:
                continue
            if part not in (annotator.columns or [""]):
                raise PluginContractError(_no_such_column(metric, annotator, column))
            origin = f"{annotator.name}@{annotator.component.distribution}"
            wanted = found.setdefault(origin, Wanted(annotator))
            wanted.columns[column] = part
    return list(found.values())


def split_column(column: str) -> tuple[str, str]:
    """Split the name of a column into an annotator and the column of it."""
    head, colon, settings = column.partition(":")
    named, at, distribution = head.partition("@")
    name, _, part = named.partition(".")
    if not is_component_name(name):
        return "", ""
    return f"{name}{at}{distribution}{colon}{settings}", part


def _load(
    resolver: Resolver, metric: BoundMetric, reference: str, column: str
) -> BoundAnnotator | None:
    """Load an annotator; None where no annotator need be meant."""
    try:
        return BoundAnnotator.of(
            resolver.bind("annotators", reference, named_by=metric)
        )
    except UnknownPluginError as error:
        catalog = resolver.registry.catalog
        name = split_column(column)[0].partition("@")[0].partition(":")[0]
        owner = catalog.known_owner(f"annotators/{name}")
        is_installed = any(
            found.name == name for found in catalog.of_kind("annotators")
        )
        if not (owner or is_installed or {*column} & {*"@:"}):
            return None
        origin = metric.component.origin
        raise UnknownPluginError(
            f"{origin} asks for the column {column!r}: {error}"
        ) from error


def _no_such_column(metric: BoundMetric, annotator: BoundAnnotator, column: str) -> str:
    name = split_column(column)[0].partition("@")[0].partition(":")[0]
    given: Sequence[str] = [f"{name}.{part}" for part in annotator.columns] or [name]
    return (
        f"{metric.component.origin} asks for the column {column!r}; "
        f"{annotator.component.origin} gives {', '.join(given)}"
    )
