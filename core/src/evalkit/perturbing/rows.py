"""Perturbs rows that a caller has: rows in, changed rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalkit.base.ids import EXAMPLE_ID_KEYS, read_id
from evalkit.base.violations import Violation, shorten
from evalkit.errors import EvalkitError, SchemaError
from evalkit.perturbing.choice import choose_perturbations
from evalkit.perturbing.copying import Copy, Perturber
from evalkit.perturbing.spans import PROTECTED_KINDS, ProtectedKind
from evalkit.perturbing.steps import Settings
from evalkit.plugins.bound import BoundTask
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver


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
        fields: Fields to change instead.
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
        none of a row in which nothing was changed.

    Raises:
        EvalkitError: An argument is out of range.
        PluginError: The perturbation or the task is unknown or broken; while iterating,
            the perturbation failed.
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
    return _perturbed(given, perturbers, again, edits)


def read_settings(
    seed: int,
    variants: int,
    fields: Sequence[str] | None,
    unprotected: Sequence[str],
) -> Settings:
    """Check what a caller gives.

    Args:
        seed: Seed of all draws.
        variants: Copies of each example.
        fields: Fields to change; None for the task's.
        unprotected: Kinds of spans that may be changed.

    Returns:
        The settings.

    Raises:
        EvalkitError: One is out of range.
    """
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
) -> Iterator[dict[str, Any]]:
    taken: set[str] = set()
    for number, row in enumerate(rows, start=1):
        uid = _uid_of(row, number)
        if uid in taken:
            raise SchemaError(f"row {number}: uid {uid!r} is taken by an earlier row")
        taken.add(uid)
        if not again and row.get("input_id") is not None:
            raise SchemaError(f"row {number}: uid {uid!r} {already_perturbed('again')}")
        for perturber in perturbers:
            for copy in perturber.copies(row, uid):
                new = copy.row["uid"]
                if new in taken:
                    raise SchemaError(
                        f"row {number}: the new uid {new!r} is taken by another row"
                    )
                taken.add(new)
                yield with_edits(copy) if edits else copy.row


def already_perturbed(option: str) -> str:
    """Say why a row with `input_id` is refused, and how it is taken after all."""
    return (
        "is perturbed already (it has input_id); perturb the originals by a+b, or say "
        f"that it is meant ({option})"
    )


def with_edits(copy: Copy) -> dict[str, Any]:
    """Return the row of a copy with its edits.

    Args:
        copy: A changed copy.

    Returns:
        The row; under `edits`, by field, lists of start, end and new text.
    """
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
