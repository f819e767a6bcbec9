"""Columns that become fields: what `--map FIELD=COLUMN` stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from pydantic import ConfigDict, RootModel

from evalkit.base.columns import frame_of
from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.base.violations import shorten
from evalkit.catalog import is_component_name
from evalkit.errors import AdapterError, DataError
from evalkit_adapters_rows.row_values import object_row

FACET = "facet:"
"""Start of what names a facet in place of a field."""

TAGS = "tags"
_SHIFTS = {"#row": 0, "#row0": -1}
_MOST_COLUMNS = 1_000


class Mapped(NamedTuple):
    """One field, and the column that it is taken from."""

    field: str
    """The field; a path with dots where it is nested."""
    column: str
    """The column, a path with dots, or `#row`."""

    @property
    def facet(self) -> str | None:
        """The facet that the values are tags of; None for a field."""
        is_facet = self.field.startswith(FACET)
        return self.field.removeprefix(FACET) if is_facet else None

    @property
    def is_number(self) -> bool:
        """Whether it is the number of the row."""
        return self.column in _SHIFTS


class MapFields:
    """Take fields from columns of other names: what `--map FIELD=COLUMN` does.

    The configuration maps fields to columns. A column that becomes a field is no longer
    there under its old name; a field takes the place of a column that has its name,
    also in rows where the mapped cell is empty, and a mapped id that of all other ids.
    `meta.gold` is the column of this name, or else what stands under `gold` in the
    object `meta`, `turns[0].text` that of the first object of a list, and a field
    `prob.positive` is put into the object `prob`. `#row` is the number of the row, from
    1, `#row0` from 0. `facet:NAME` adds the tag `NAME:value` to the row's `tags`, a tag
    for each element of a list, none where there is no value, and leaves the column
    there. A row may lack a column; that no row has it is an error.

    Example:
        ```yaml
        - kind: MapFields
          configuration: {statement: text, id: "#row", "facet:origin": source}
        ```
    """

    version = "1"

    class Parameters(RootModel[dict[str, str]]):
        """Columns by field."""

        model_config = ConfigDict(frozen=True, strict=True)

    def __init__(self, parameters: Parameters) -> None:
        self.mapped = [Mapped(*each) for each in parameters.root.items()]
        for each in self.mapped:
            _check(each)
        plain = [each for each in self.mapped if each.facet is None]
        self._taken = {name for each in plain for name in each}
        if any(each.field in EXAMPLE_ID_KEYS for each in plain):
            self._taken |= {*EXAMPLE_ID_KEYS}
        self._seen: set[str] = set()
        self._columns: dict[str, None] = {}

    @property
    def fields(self) -> Mapping[str, set[str]]:
        """Which fields each column becomes."""
        found: dict[str, set[str]] = {}
        for each in self.mapped:
            if each.facet is None:
                found.setdefault(each.column, set()).add(each.field)
        return found

    def adapt_row(self, row: Any, number: int) -> Iterator[dict[str, Any]]:
        """Yield the row with the fields."""
        row = object_row(row)
        if len(self._columns) < _MOST_COLUMNS:
            self._columns.update(dict.fromkeys(row))
        made = {name: row[name] for name in row if name not in self._taken}
        tags: list[str] = []
        for each in self.mapped:
            if each.is_number:
                value: Any = number + _SHIFTS[each.column]
            else:
                is_there, value = _look_up(row, each.column)
                if not is_there:
                    if each.facet is None and _look_up(made, each.field)[0]:
                        _put(made, each, None)
                    continue
            self._seen.add(each.column)
            if each.facet is None:
                _put(made, each, value)
            else:
                tags += _tags_of(each, value)
        if tags:
            made[TAGS] = [*_own_tags(made), *tags]
        yield made

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None
    ) -> pl.DataFrame | None:
        """Return the table with the fields, where they are plain columns."""
        plain = [each for each in self.mapped if each.facet is None]
        columns = {*frame.columns}
        is_simple = len(plain) == len(self.mapped) and all(
            "." not in each.field and (each.is_number or each.column in columns)
            for each in plain
        )
        has_numbers = any(each.is_number for each in plain)
        if not is_simple or (has_numbers and numbers is None):
            return None
        made = [frame[name] for name in frame.columns if name not in self._taken]
        for each in plain:
            if each.is_number and numbers is not None:
                made.append((numbers + _SHIFTS[each.column]).alias(each.field))
            else:
                made.append(frame[each.column].alias(each.field))
        self._seen.update(each.column for each in plain)
        return frame_of(made)

    def refuse_absent(self, source: str, place: str) -> None:
        """Refuse columns that are mapped to fields, and that no row had so far."""
        absent = [
            each
            for each in self.mapped
            if not each.is_number and each.column not in self._seen
        ]
        if absent and self._columns:
            raise _absent_columns(source, place, absent, [*self._columns])


def mapped_facets(mapping: Mapping[str, str]) -> dict[str, str]:
    """Return which columns a mapping makes facets of, by the name of the facet."""
    all_mapped = [Mapped(*each) for each in mapping.items()]
    return {each.facet: each.column for each in all_mapped if each.facet is not None}


def _check(mapped: Mapped) -> None:
    if not mapped.field or not mapped.column:
        rule = "a field and a column must have names, got "
        raise AdapterError(rule + " and ".join(map(repr, mapped)), field=mapped.field)
    if mapped.column.startswith("#") and not mapped.is_number:
        raise AdapterError(
            f"{mapped.column!r} is no column; the numbers of the rows are #row (from "
            "1) and #row0 (from 0)",
            field=mapped.field,
        )
    facet = mapped.facet
    if facet is not None and not is_component_name(facet):
        raise AdapterError(
            f"{facet!r} is no legal name of a facet; it must be of small letters, "
            "digits and single hyphens",
            field=mapped.field,
        )


def _look_up(row: Mapping[str, Any], column: str) -> tuple[bool, Any]:
    """Find a column, or what a path with dots leads to."""
    if column in row:
        return True, row[column]
    current: Any = row
    for part in re.sub(r"\[(\d+)\]", r".\1", column).split("."):
        if isinstance(current, Mapping) and part in current:
            current = current[part]
        elif (
            isinstance(current, list) and part.isdecimal() and int(part) < len(current)
        ):
            current = current[int(part)]
        else:
            return False, None
    return True, current


def _put(row: dict[str, Any], mapped: Mapped, value: Any) -> None:
    *path, last = mapped.field.split(".")
    current = row
    for place, part in enumerate(path):
        inner = current.get(part)
        if inner is not None and not isinstance(inner, dict):
            name = ".".join(path[: place + 1])
            raise AdapterError(
                f"{mapped.field!r} cannot be put into {name!r}, which is "
                f"{shorten(inner)}",
                field=mapped.field,
            )
        # the row that came is not changed
        current[part] = dict(inner or {})
        current = current[part]
    current.pop(last, None)
    current[last] = value


def _tags_of(mapped: Mapped, value: Any) -> Iterable[str]:
    for item in value if isinstance(value, list) else [value]:
        text = _tag_text(mapped, item)
        if text:
            yield f"{mapped.facet}:{text}"


def _tag_text(mapped: Mapped, value: Any) -> str:
    """Return a value as the second part of a tag; "" for none."""
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise AdapterError(
        f"the column {mapped.column!r} must hold texts, numbers, true or false to be "
        f"a facet, holds {shorten(value)}",
        field=mapped.column,
    )


def _own_tags(row: Mapping[str, Any]) -> list[Any]:
    found = row.get(TAGS)
    if not isinstance(found, list | type(None)):
        rule = f"{TAGS!r} must be a list, so that a facet can be added, got "
        raise AdapterError(rule + shorten(found), field=TAGS)
    return found or []


def _absent_columns(
    source: str, place: str, absent: Sequence[Mapped], columns: Sequence[str]
) -> DataError:
    from evalkit.diagnosis import guess_columns, how_to_map, shown_columns

    option = "--map" if place == "data" else "--map-predictions"
    named = ", ".join(f"{option} {each.field}={each.column}" for each in absent)
    wanted = [each.column for each in absent]
    guessed = guess_columns(wanted, columns)
    own = [
        each
        for each in absent
        if each.field in columns and guessed.get(each.column, each.field) == each.field
    ]
    others = [each for each in absent if each not in own]
    mapping = {e.field: guessed[e.column] for e in others if e.column in guessed}
    how = [_needless(option, own, place)] if own else []
    how += [how_to_map(place, mapping)] if others else []
    return DataError(
        f"{source}: no row has {' or '.join(map(repr, wanted))} ({named}); there are "
        f"the columns {shown_columns(wanted, columns)}; {'; '.join(how)}",
        mapping=mapping,
        place=place,
    )


def _needless(option: str, own: Sequence[Mapped], place: str) -> str:
    """Say that fields are there under their own names, and need no option."""
    fields = " and ".join(repr(each.field) for each in own)
    options = " ".join(f"{option} {each.field}={each.column}" for each in own)
    verb = "is" if len(own) == 1 else "are"
    more = " (files that need it are scored by a command of their own)"
    needless = f"{fields} {verb} there already, and {options} is not needed"
    return needless + more * (place != "data")
