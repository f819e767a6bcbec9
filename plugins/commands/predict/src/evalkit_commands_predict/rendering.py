"""Makes requests of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalkit import Message, ModelInputs, Request
from evalkit.errors import DataError
from evalkit_commands_predict.prompts import OWN_FIELDS, Choices, Prompt
from evalkit_commands_predict.templates import fields_of, fill


@dataclass(frozen=True)
class Renderer:
    """A prompt with all that it needs to know of a data set.

    Attributes:
        prompt: The prompt.
        form: What the model is sent.
        inputs: The inputs.
    """

    prompt: Prompt
    form: Literal["text", "chat"]
    inputs: ModelInputs

    def request(self, row: Mapping[str, Any]) -> Request:
        """Make the request of an input.

        Args:
            row: The input.

        Raises:
            DataError: A field of the prompt has no value in it; the message names the
                example.
        """
        try:
            text = self._text(row)
        except DataError as error:
            raise DataError(f"the example {row['uid']!r}: {error}") from error
        sampling = self.prompt.generate.model_dump()
        if self.form == "text":
            return Request(prompt=text, **sampling)
        messages = [Message(role="user", content=text)]
        if self.prompt.system is not None:
            messages.insert(0, Message(role="system", content=self.prompt.system))
        return Request(messages=tuple(messages), **sampling)

    def _text(self, row: Mapping[str, Any]) -> str:
        own = self._own_values(row)
        query = fill(self.prompt.query, {**row, **own})
        if not self.prompt.instructions:
            return query
        return fill(self.prompt.instructions, own) + self.prompt.separator + query

    def _own_values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        named = {
            *fields_of(self.prompt.query),
            *fields_of(self.prompt.instructions),
        }
        found: dict[str, Any] = {}
        if "labels" in named and self.inputs.labels is not None:
            found["labels"] = ", ".join(self.inputs.labels)
        if "choices" in named:
            found["choices"] = listed(self.prompt.choices, self.options(row))
        return found

    def options(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the options of an example, in their order.

        Args:
            row: The input.

        Raises:
            DataError: It has none.
        """
        name = self.prompt.choices.field or self.inputs.choices_field
        options = self.inputs.labels if name is None else row.get(name)
        if not options or not all(isinstance(each, str) for each in options):
            raise DataError(
                "the prompt lists choices, and there are "
                + ("no labels" if name is None else f"none in {name!r}")
            )
        return list(options)


def listed(choices: Choices, options: Sequence[str]) -> str:
    """Write the options of an example, one to a line.

    Args:
        choices: How they are written.
        options: The options.

    Raises:
        DataError: There are more than letters.
    """
    if len(options) > len(choices.letters):
        raise DataError(
            f"{len(options)} options, and the prompt has {len(choices.letters)} letters"
        )
    return choices.separator.join(
        fill(choices.line, {"letter": letter, "choice": option})
        for letter, option in zip(choices.letters, options, strict=False)
    )


def renderer(prompt: Prompt, name: str, inputs: ModelInputs, chats: bool) -> Renderer:
    """Check that a prompt fits a data set, and return what makes requests.

    Args:
        prompt: The prompt.
        name: What it is called.
        inputs: The inputs.
        chats: Whether the model can chat.

    Raises:
        DataError: It does not fit.
    """
    prompt.check(name, inputs.keys)
    named = {*fields_of(prompt.query), *fields_of(prompt.instructions)}
    if "labels" in named and inputs.labels is None:
        raise DataError(f"{name}: it names {{labels}}, and {inputs.task} has none")
    if "choices" in named and inputs.labels is None and inputs.choices_field is None:
        raise DataError(f"{name}: it names {{choices}}, and {inputs.task} has none")
    form = prompt.form or ("chat" if chats else "text")
    return Renderer(prompt, form, inputs)


__all__ = ["OWN_FIELDS", "Renderer", "listed", "renderer"]
