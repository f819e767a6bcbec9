"""Rows of a dataset on the hub, as the `field_spec` of its `eval.yaml` says."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

from pydantic import BaseModel, ConfigDict


class FieldSpec(BaseModel):
    """Columns of the dataset; the last six are not read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: str = "input"
    target: str = "target"
    choices: str | list[str] | None = None
    metadata: list[str] = []
    input_image: None = None
    id: str | None = None
    sandbox: str | None = None
    files: str | None = None
    setup: str | None = None
    checkpoint: str | None = None
    description: str | None = None

    def idle(self) -> list[str]:
        """Return what is given and changes nothing that a model is asked."""
        names = ("id", "sandbox", "files", "setup", "checkpoint", "description")
        return [name for name in names if getattr(self, name)]

    def columns(self) -> dict[str, str]:
        """Return the field of each column that a template may name."""
        return {name: f"column_{number}" for number, name in enumerate(self.metadata)}

    def row(self, stored: Mapping[str, Any], *, is_choice: bool) -> dict[str, Any]:
        """Return the fields of a stored row.

        Args:
            stored: The row.
            is_choice: Whether the target is the letter or the place of an option.

        Raises:
            KeyError: A column is missing.
            ValueError: A column holds what it must not.
        """
        if not isinstance(stored[self.input], str):
            asked = repr(stored[self.input])
            raise ValueError(f"{self.input}: must be a text, got {asked:.60}")
        found: dict[str, Any] = {"input": stored[self.input]}
        for name, own in self.columns().items():
            found[own] = None if stored[name] is None else str(stored[name])
        is_literal = self.target.startswith("literal:")
        target = self.target[8:] if is_literal else stored[self.target]
        if isinstance(target, int) and self.choices and 0 <= target < 26:
            target = ascii_uppercase[target]
        if not is_choice:
            return found | {"target": str(target)}
        names: Any = self.choices
        is_column = isinstance(names, str)
        options = stored[names] if is_column else [stored[name] for name in names]
        choices = dict(zip(ascii_uppercase, map(str, options), strict=False))
        letter = str(target).strip(" ,").upper()
        if letter not in choices:
            problem = "must be the letter or place of one option"
            raise ValueError(f"{self.target}: {problem}, got {str(target)!r}")
        found |= {"choices": [*map(str, options)], "letters": ",".join(choices)}
        return found | {"target": choices[letter]}
