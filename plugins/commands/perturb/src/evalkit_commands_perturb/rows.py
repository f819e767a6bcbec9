"""Perturbs rows that a caller has: rows in, changed rows out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from pydantic import ValidationError

from evalkit import Registry, Violation
from evalkit.base.ids import EXAMPLE_ID_KEYS, read_id
from evalkit.base.violations import shorten
from evalkit.catalog import BoundTask, Resolver
from evalkit.errors import EvalkitError, SchemaError
from evalkit_commands_perturb.choice import choose_perturbations
from evalkit_commands_perturb.copying import Copy, Example, Perturber
from evalkit_commands_perturb.scopes import Settings
from evalkit_commands_perturb.spans import PROTECTED_KINDS, ProtectedKind
from evalkit_commands_perturb.texts import (
    FieldPath,
    find_texts,
    paths_of_texts,
    read_path,
)


def perturb(
    rows: Iterable[Mapping[str, Any]],
    perturbation: Any,
    *,
    task: Any = None,
    fields: Sequence[str] | None = None,
    answer_field: str | None = None,
    seed: int = 0,
    variants: int = 1,
    unprotected: Sequence[ProtectedKind] = (),
    again: bool = False,
    edits: bool = False,
    registry: Registry | None = None,
) -> Iterator[dict[str, Any]]:
    """Perturb examples, one after the other.

    What becomes of a row depends on the row, the perturbation, and the seed, and not on
    the other rows or their order.

    Args:
        rows: Examples with an id under `uid`, as dicts, or a frame of polars, pandas or
            Arrow; they are not changed.
        perturbation: A name (`gender-swap`, `keyboard-typos:prob=0.3`), several applied
            one after the other (`lowercase+contractions`), a class or an instance; or a
            list of these, each applied for itself.
        task: The task, by name or as an object; says which fields are changed.
        fields: Fields to change instead; texts within a field by their path
            (`messages[].content`, `context.title`).
        answer_field: The field that holds the answer; by default the task's.
        seed: Seed of all draws.
        variants: Copies of each row, as far as they differ.
        unprotected: What may be changed although it is protected otherwise: `code`,
            `digits`, `mark-up`, `placeholders`, `urls`.
        again: Take rows that are perturbed already.
        edits: Add the edits of each text: by field, lists of start, end and new text.
        registry: Where plugins are found; all that are installed by default.

    Returns:
        The changed copies, lazily: each the row's fields with a new `uid`, its original
        under `input_id`, and the perturbation's name under `perturbation`. There is
        none of a row in which nothing was changed. Where a row is an example of the
        task, its values are those that the task's `Input` returns, with its defaults.

    Raises:
        EvalkitError: An argument is out of range; after the last row: no row has a text
            where one of the paths leads.
        PluginError: The perturbation or the task is unknown or broken; while iterating,
            the perturbation failed, or made what is no example of the task.
        SchemaError: While iterating: a row has no id, repeats one, or is perturbed
            already; or a new id is taken.
    """
    settings = read_settings(seed, variants, fields, unprotected)
    resolver = Resolver(registry or Registry())
    bound_task = None if task is None else BoundTask.of(resolver.bind("tasks", task))
    if answer_field is None and bound_task is not None:
        answer_field = bound_task.answer_field
    named = perturbation if isinstance(perturbation, list | tuple) else [perturbation]
    chosen = choose_perturbations(resolver, named)
    perturbers = [
        Perturber(steps, bound_task, settings, answer_field)
        for steps in chosen.perturbations
    ]
    if hasattr(rows, "__arrow_c_stream__"):
        import polars

        rows = polars.DataFrame(rows).iter_rows(named=True)
    given = iter(rows)
    if bound_task is not None:
        given = _as_inputs(bound_task, given)
    return _perturbed(given, perturbers, again, edits, settings.fields)


def _as_inputs(
    task: BoundTask, rows: Iterator[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """Take what the task's `Input` returns; rows that it refuses stay as they are."""
    aliases = aliases_of(task)
    for row in rows:
        uid = read_id(row, EXAMPLE_ID_KEYS) if isinstance(row, Mapping) else None
        if not isinstance(uid, str):
            yield row  # refused later, by its number
            continue
        found = row
        with suppress(ValidationError):
            values = task.validate_input({**row, "uid": uid}).model_dump()
            found = named_as_data({**row, **values, "uid": uid}, aliases)
        yield found


def aliases_of(task: BoundTask) -> Mapping[str, str]:
    """Return the keys in the data of fields of `Input` that it names otherwise."""
    fields = task.Input.model_fields.items()
    found = {name: field.validation_alias for name, field in fields}
    return {name: key for name, key in found.items() if isinstance(key, str)}


def named_as_data(
    row: Mapping[str, Any], aliases: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return a row with the keys of the data, as copies are read with them."""
    if not aliases.keys() & row.keys():
        return row
    return {aliases.get(name, name): row[name] for name in row}


def read_settings(
    seed: int, variants: int, fields: Sequence[str] | None, unprotected: Sequence[str]
) -> Settings:
    """Check what a caller gives."""
    for name, number in (("seed", seed), ("variants", variants)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise EvalkitError(f"{name} must be an integer, is {number!r}")
    if variants < 1:
        raise EvalkitError(f"variants must be 1 or more, is {variants}")
    for name, given in (("fields", fields), ("unprotected", unprotected)):
        if isinstance(given, str):
            raise EvalkitError(f"{name} must be a list of texts, is {given!r}")
    kinds = [kind for kind in PROTECTED_KINDS if kind in unprotected]
    unknown = [kind for kind in unprotected if kind not in PROTECTED_KINDS]
    if unknown:
        raise EvalkitError(
            f"there is no protected kind {unknown[0]!r}; there are: "
            f"{', '.join(PROTECTED_KINDS)}"
        )
    names = None if fields is None else tuple(dict.fromkeys(fields))
    return Settings(seed, variants, names, tuple(kinds))


def _perturbed(
    rows: Iterator[Mapping[str, Any]],
    perturbers: Sequence[Perturber],
    again: bool,
    edits: bool,
    fields: Sequence[str] | None,
) -> Iterator[dict[str, Any]]:
    taken: set[str] = set()
    wanted = WantedTexts(fields)
    number = 0
    for some in together(perturbers, _examples(rows, taken, again, wanted)):
        made = [perturber.copies_of(some) for perturber in perturbers]
        for place in range(len(some)):
            number += 1
            for copies in made:
                for copy in copies[place]:
                    new = copy.row["uid"]
                    if new in taken:
                        raise SchemaError(
                            f"row {number}: the new uid {new!r} is taken by another row"
                        )
                    taken.add(new)
                    yield with_edits(copy) if edits else copy.row
    wanted.refuse_absent()


def _examples(
    rows: Iterator[Mapping[str, Any]], taken: set[str], again: bool, wanted: WantedTexts
) -> Iterator[Example]:
    """Check rows one by one; add their ids to those that are taken."""
    for number, row in enumerate(rows, start=1):
        uid = _uid_of(row, number)
        if uid in taken:
            raise SchemaError(f"row {number}: uid {uid!r} is taken by an earlier row")
        taken.add(uid)
        if not again and row.get("input_id") is not None:
            raise SchemaError(f"row {number}: uid {uid!r} {already_perturbed('again')}")
        wanted.look_at(row)
        yield Example(uid, row)


def together(
    perturbers: Sequence[Perturber], examples: Iterable[Example]
) -> Iterator[Sequence[Example]]:
    """Take as many examples at a time as are best perturbed together."""
    size = max(perturber.batch for perturber in perturbers)
    following = iter(examples)
    if size == 1:
        yield from ((example,) for example in following)
    while some := tuple(islice(following, size)):
        yield some


class WantedTexts:
    """Finds out whether paths that a user names lead to texts.

    Args:
        fields: The fields; None where the task's are meant, which may be empty.
    """

    def __init__(self, fields: Sequence[str] | None) -> None:
        self._fields = [read_path(name) for name in fields or ()]
        self._lacking = self._fields
        self._names = frozenset(path.outer for path in self._fields)
        self._are_absent = bool(self._fields)
        self._known: dict[str, None] = {}

    def look_at(self, example: Mapping[str, Any]) -> bool:
        """Look for them in an example."""
        self._are_absent &= self._names.isdisjoint(example)
        if self._lacking or self._are_absent:
            here = dict.fromkeys(paths_of_texts(example))
            self._lacking = [
                path
                for path in self._lacking
                if _leads_nowhere(example, path) and path.name not in here
            ]
            if len(self._known) < _MOST_NAMED:
                self._known |= here
        return not (self._lacking or self._are_absent)

    def refuse_absent(self) -> None:
        """Refuse a path that led nowhere, or to objects in place of texts."""
        if not (self._lacking or self._are_absent) or not self._known:
            return
        name = (self._lacking or self._fields)[0].name
        known = [each for each in self._known if each not in EXAMPLE_ID_KEYS]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise EvalkitError(
            f"no example has a text in the field {name!r}; {hint}texts are in: "
            f"{', '.join(known)}"
        )


def _leads_nowhere(example: Mapping[str, Any], path: FieldPath) -> bool:
    """Tell whether a path leads to no text, or to objects that hold texts."""
    if path.steps and path.name not in example:
        return not find_texts(example, [path])
    value = example.get(path.name)
    items = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(item, Mapping) for item in items)


_MOST_NAMED = 50
"""Fields from which no others are named in a message."""


def already_perturbed(option: str) -> str:
    """Say why a row with `input_id` is refused, and how it is taken after all."""
    return (
        "is perturbed already (it has input_id); perturb the originals by a+b, or say "
        f"that it is meant ({option})"
    )


def with_edits(copy: Copy) -> dict[str, Any]:
    """Return the row of a copy with its edits."""
    found = {
        place: [list(edit) for edit in change.edits]
        for place, change in copy.changes().items()
    }
    return {**copy.row, "edits": found}


def _uid_of(row: Any, number: int) -> str:
    if not isinstance(row, Mapping):
        raise SchemaError(f"row {number} is {shorten(row)}, not a dict")
    uid = read_id(row, EXAMPLE_ID_KEYS)
    if isinstance(uid, Violation):
        raise SchemaError(f"row {number}: {uid}")
    return str(uid)
