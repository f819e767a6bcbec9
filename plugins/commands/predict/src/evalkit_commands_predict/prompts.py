"""Prompts: how an input of a task becomes a request, as declared data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.errors import DataError
from evalkit_commands_predict.templates import fields_of

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

OWN_FIELDS = ("choices", "labels")
"""Fields of templates that no input has: the options of an example, one to a line, and
the labels of the data set."""


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sampling(_Declared):
    """How a model generates; None leaves it to the model."""

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: Annotated[int, Field(ge=0)] | None = None


class Choices(_Declared):
    """How the options of an example are listed."""

    field: str | None = None
    """The field of the input that holds them; by default the task's, and where it has
    none the labels."""
    letters: str = LETTERS
    line: str = "{letter}. {choice}"
    separator: str = "\n"


class Prompt(_Declared):
    """How an input becomes a request.

    A model that continues texts gets `instructions` and the `query`, with `separator`
    between; one that chats gets them as the user's message after `system`.
    """

    query: str
    """The input, as a template over its fields."""
    instructions: str = ""
    """What stands before it; a template over `labels` only."""
    system: str | None = None
    """The first message of a chat; left out of texts."""
    separator: str = "\n\n"
    choices: Choices = Choices()
    form: Literal["text", "chat"] | None = None
    """What the model is sent; by default a chat where it can."""
    extract: str | Sequence[str | Mapping[str, Any]] | None = None
    """What takes the answer out of the reply, as for `--extract`."""
    generate: Sampling = Sampling()

    def fields(self) -> list[str]:
        """Return the names of the fields that it takes, those of its own left out.

        Raises:
            DataError: A template is malformed.
        """
        names = fields_of(self.query)
        return [name for name in names if name not in OWN_FIELDS]

    def sha256(self) -> str:
        """Return the digest of all that it says."""
        said = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def check(self, where: str, fields: Sequence[str]) -> None:
        """Refuse a prompt that does not fit the input.

        Args:
            where: What the prompt is called.
            fields: The names of the input's fields.

        Raises:
            DataError: It is malformed, or names a field that the input does not have.
        """
        try:
            unknown = [
                name for name in self.fields() if name.partition(".")[0] not in fields
            ]
            stray = [name for name in fields_of(self.instructions) if name != "labels"]
        except DataError as error:
            raise DataError(f"{where}: {error}") from error
        if unknown:
            raise DataError(
                f"{where}: the query names {unknown[0]!r}, and the input has "
                f"{', '.join([*fields, *OWN_FIELDS])}"
            )
        if stray:
            raise DataError(
                f"{where}: the instructions are the same for all examples, and name "
                f"{stray[0]!r}; they may hold {{labels}} only"
            )


def read_prompt(
    given: str | Path | Mapping[str, Any] | Prompt | None,
    declared: Mapping[str, Mapping[str, Any]],
    where: str,
) -> tuple[str, Prompt]:
    """Return the prompt that is meant.

    Args:
        given: Its name, a file of JSON or YAML, or what it says; None for the first
            one that is declared.
        declared: Those that the data set or task declares, by name.
        where: What declares them.

    Returns:
        What it is called, and the prompt.

    Raises:
        DataError: There is none of this name, or it breaks the schema of prompts.
    """
    if isinstance(given, Prompt):
        return "prompt", given
    if isinstance(given, Mapping):
        return "prompt", checked_prompt("prompt", given)
    if given is None:
        if not declared:
            raise DataError(
                f"{where} declares no prompts: say how a model is asked with --prompt "
                "FILE (prompt=)"
            )
        given = next(iter(declared))
    name = str(given)
    if name in declared:
        return name, checked_prompt(f"{where}: the prompt {name!r}", declared[name])
    if not any(sign in name for sign in "./"):
        known = ", ".join(map(repr, declared)) or "none"
        raise DataError(f"{where} has no prompt {name!r}; it has {known}")
    return name, checked_prompt(name, _read(name))


def _read(name: str) -> Any:
    from evalkit.adapters import read_stages

    return read_stages(name)


def checked_prompt(where: str, said: Any) -> Prompt:
    """Return a prompt that keeps the schema of prompts.

    Args:
        where: What it is called.
        said: What it says.

    Raises:
        DataError: It breaks the schema.
    """
    if not isinstance(said, Mapping):
        raise DataError(f"{where}: a prompt is an object, with a query at least")
    try:
        return Prompt.model_validate(dict(said))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "prompt"
        raise DataError(f"{where}: {place}: {first['msg']}") from error
