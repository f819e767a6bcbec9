"""Perturbed copies in Dynabench's form: with `input_id`, and no `perturbation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_peers.values import value_at
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.row_values import object_row, word_for


class Dynabench:
    """Name the perturbation of copies that Dynabench's scripts made.

    They call a copy `<uid of the original>_<what made it>`: `17_pgen`, `17_peth`,
    `17_InsertPunctuationChars`. What follows the first underscore after the original's
    uid becomes `perturbation`. Dynabench keeps answers as they are; with a `family` the
    rows say so.

    Example:
        ```yaml
        - kind: dynabench
          configuration: {family: fairness}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """What the rows do not say."""

        family: str | None = Field(
            default=None,
            min_length=1,
            description="Family of the perturbations: the file's prefix, such as "
            "`fairness`",
        )
        label_effect: Literal["invariant", "transforms", "uncertain"] = Field(
            default="invariant",
            description="What they do to answers; recorded where `family` is given",
        )
        perturbation: str | None = Field(
            default=None,
            min_length=1,
            description="Name of the perturbation of all rows, in place of the uids'",
        )

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with its perturbation."""
        row = object_row(row)
        if "perturbation" in row:
            raise AdapterError(
                "the row has a 'perturbation' already; it needs no adapter",
                field="perturbation",
            )
        name = self.settings.perturbation or _made_by(row)
        found = {**row, "perturbation": name}
        if self.settings.family is not None:
            found["families"] = [self.settings.family]
            found["label_effect"] = self.settings.label_effect
        yield found


def _made_by(row: Mapping[str, Any]) -> str:
    original, uid = _id_at(row, "input_id"), _id_at(row, "uid")
    name = uid.removeprefix(f"{original}_")
    if name in (uid, ""):
        raise AdapterError(
            f"the uid {uid!r} does not begin with its original's, {original!r}, and an "
            "underscore, so nobody knows what made it; name it with `perturbation`",
            field="uid",
        )
    return name


def _id_at(row: Mapping[str, Any], key: str) -> str:
    value = value_at(row, key)
    if isinstance(value, str) or (isinstance(value, int) and value is not True):
        return str(value)
    raise AdapterError(f"{key!r} must be an id, got {word_for(value)}", field=key)
