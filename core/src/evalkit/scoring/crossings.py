"""Groups by several facets or columns at once, such as template and target."""

from __future__ import annotations

import difflib
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from evalkit.base.columns import encode, native, unnamed
from evalkit.base.names import facet_of
from evalkit.base.wording import count_of
from evalkit.errors import EvalkitError
from evalkit.scoring.grouping import unused_name
from evalkit.statistics.clusters import Floats

BINS = 4
"""Parts of about equal size that a column of many numbers is cut into."""

MOST_GROUPS = 5_000
"""Groups of a crossing beyond which it is refused."""

NONE = "(none)"
"""Value of an example that has none."""

_FEWEST_DIGITS = 6

_FEW_NUMBERS = 10
"""Distinct numbers up to which each is a group of its own."""


def read_crossings(given: Sequence[str]) -> dict[str, list[str]]:
    """Read what a user wants crossed.

    Args:
        given: Names of facets and columns, joined by commas.

    Returns:
        The names of each crossing, by the text that names it.

    Raises:
        EvalkitError: A name is empty or given twice.
    """
    crossings = {}
    for text in given:
        names = [name.strip() for name in text.split(",")]
        if "" in names or len(set(names)) < len(names):
            raise EvalkitError(
                f"--by {text!r}: must name different facets or columns, with commas "
                "between them"
            )
        crossings[",".join(names)] = names
    return crossings


def cross(
    crossings: Mapping[str, Sequence[str]],
    tags: pl.Series,
    columns: Mapping[str, pl.Series],
    others: Iterable[str] = (),
    withheld: Container[str] = (),
) -> dict[str, pl.Series]:
    """Return the groups that each example belongs to, by crossing.

    Args:
        crossings: Names of facets and columns, by the name of the crossing.
        tags: One list of tags for each example.
        columns: Columns of the examples that may be named; a facet comes first.
        others: Names of further columns that could have been named.
        withheld: Names of columns that may not be named, as groups hold their values.

    Returns:
        One list of texts for each example, such as `["facet:a & column:b"]`. Crossings
        of a single facet are left out, because its tags are groups anyway.

    Raises:
        EvalkitError: A name is no facet and no column, its column is withheld, or there
            are too many groups.
    """
    known = _facets(tags)
    found = {}
    for crossing, names in crossings.items():
        if len(names) == 1 and names[0] in known:
            continue
        for name in names:
            if name not in known and name not in columns:
                raise _unknown(crossing, name, [*known, *sorted({*columns, *others})])
            if name not in known and name in withheld:
                raise EvalkitError(
                    f"--by {crossing}: groups by {name!r} would be named after answers "
                    "or responses, which --no-examples leaves out of the run; leave "
                    "out one of the two"
                )
        parts = [_part(name, tags, known, columns) for name in names]
        if len(parts) > 1:
            parts = [
                part.list.eval(_quoted(name))
                for name, part in zip(names, parts, strict=True)
            ]
        lists = parts[0]
        for part in parts[1:]:
            lists = _product(lists, part)
        groups = lists.explode().n_unique()
        if groups > MOST_GROUPS:
            raise EvalkitError(
                f"--by {crossing}: makes {count_of(groups, 'group')}, more than "
                f"{MOST_GROUPS}"
            )
        found[crossing] = lists
    return found


def _facets(tags: pl.Series) -> list[str]:
    names = tags.explode().drop_nulls().unique().to_list()
    return sorted({faceted[0] for tag in names if (faceted := facet_of(tag))})


def _unknown(crossing: str, name: str, known: Sequence[str]) -> EvalkitError:
    """Say that a name is no facet and no column, and which one may be meant."""
    names = list(dict.fromkeys(known))
    by_form = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), by_form, n=1)
    hint = f"did you mean {by_form[near[0]]!r}? " if near else ""
    return EvalkitError(
        f"--by {crossing}: {name!r} is no facet of the tags and no column; {hint}there "
        f"are: {', '.join(names) or 'none'}"
    )


def _part(
    name: str,
    tags: pl.Series,
    facets: Sequence[str],
    columns: Mapping[str, pl.Series],
) -> pl.Series:
    if name in facets:
        # as in a facet: no blank follows the colon
        lists = tags.list.eval(
            pl.element().filter(pl.element().str.contains(rf"^{name}:\S"))
        )
        none = unused_name(NONE, {*lists.explode().str.slice(len(name) + 1)})
        is_empty = lists.list.len().fill_null(0) == 0
        nothing = pl.Series([[f"{name}:{none}"]], dtype=pl.List(pl.String))
        return lists.zip_with(~is_empty, nothing.new_from_index(0, len(lists)))
    labels = (f"{name}:" + _labels(unnamed(columns[name]))).rename("part")
    return labels.to_frame().select(pl.concat_list("part")).to_series()


def _labels(column: pl.Series) -> pl.Series:
    """Return a text for each value; for many numbers that of the bin it is in."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_numeric() and column.n_unique() > _FEW_NUMBERS:
        return _binned(column.cast(pl.Float64))
    texts = [None if value is None else encode(native(value)) for value in column]
    labels = pl.Series(texts, dtype=pl.String)
    return labels.fill_null(unused_name(NONE, {*labels}))


def _binned(numbers: pl.Series) -> pl.Series:
    """Cut numbers into parts of about equal size."""
    values = numbers.fill_null(math.nan).to_numpy()
    finite = values[np.isfinite(values)]
    edges: Floats = np.unique(np.quantile(finite, np.linspace(0, 1, BINS + 1)[1:-1]))
    places = np.searchsorted(edges, values, side="right")
    shown = _shown(edges)
    names = [
        f"below {shown[0]}",
        *(f"{low} to below {high}" for low, high in pairwise(shown)),
        f"{shown[-1]} or more",
    ]
    texts = [
        NONE if math.isnan(value) else names[place]
        for place, value in zip(places, values, strict=True)
    ]
    return pl.Series(texts, dtype=pl.String)


def _shown(edges: Floats) -> list[str]:
    """Write numbers with as few digits as tell them apart, six at least."""
    # 17 digits tell any two apart
    attempts = (
        [f"{edge:.{digits}g}" for edge in edges] for digits in range(_FEWEST_DIGITS, 18)
    )
    return next(texts for texts in attempts if len(set(texts)) == len(texts))


def _product(first: pl.Series, second: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"first": first, "second": second}).with_row_index("row")
    joined = (
        frame.explode("first")
        .explode("second")
        .group_by("row", maintain_order=True)
        .agg(pl.concat_str("first", "second", separator=" & ").alias("both"))
    )
    return joined["both"]


def _quoted(name: str) -> pl.Expr:
    """Put values that hold the separator in quotes, so that no two groups are one."""
    part, value = pl.element(), pl.element().str.slice(len(name) + 1)
    quoted = pl.lit(f'{name}:"') + value + pl.lit('"')
    return pl.when(value.str.contains(" & ", literal=True)).then(quoted).otherwise(part)
