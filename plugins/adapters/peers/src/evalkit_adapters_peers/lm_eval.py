"""Samples of lm-evaluation-harness: a line for each document and each filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_peers.values import (
    answers,
    list_at,
    object_row,
    text_of,
    value_at,
    word_for,
)
from evalkit_adapters_rows import AdapterSettings


class LmEval:
    """Read what a model answered from samples of lm-evaluation-harness.

    For a task of `generate_until` this is the text, as the filter left it; several
    texts (`repeats`) become ranked alternatives. For `multiple_choice` it is the text
    of the likeliest choice, without the blanks around it.

    Example:
        ```yaml
        - kind: lm-eval
          configuration: {id: doc.key, field: label}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Where the id and the answer are, and where the answer goes."""

        field: str = Field(default="answer", description="The task's field")
        id: str = Field(
            default="doc_id", description="Path of the id, such as `doc.key`"
        )
        filter: str | None = Field(
            default=None,
            description="The filter whose rows are read; others are left out",
        )
        answers: Literal["filtered", "raw"] = Field(
            default="filtered", description="Answers as filtered, or as the model gave"
        )
        choose: Literal["acc", "acc_norm"] = Field(
            default="acc",
            description="Likeliest choice as of `acc`, or by length as of `acc_norm`",
        )
        strip: bool = Field(
            default=False, description="Leave out blanks around generated texts"
        )

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the response of a row, unless another filter made it."""
        row = object_row(row)
        settings = self.settings
        if not _is_by(row, settings.filter):
            return
        choices = _choices(row)
        if choices is None:
            found = answers(self._texts(row), settings.field, settings.strip)
        else:
            found = {settings.field: self._chosen(row, choices)}
        yield {"id": value_at(row, settings.id), **found}

    def _texts(self, row: Mapping[str, Any]) -> list[str | None]:
        """Return the texts that a model generated."""
        name = "resps" if self.settings.answers == "raw" else "filtered_resps"
        given = list_at(row, name)
        # one request a document; each was answered once, or `repeats` times
        if len(given) == 1 and isinstance(given[0], list):
            given = given[0]
        if not given:
            raise AdapterError(f"{name!r} has no answer", field=name)
        return [text_of(each, name) for each in given]

    def _chosen(self, row: Mapping[str, Any], choices: list[str]) -> str:
        """Return the choice with the greatest log-likelihood, the first of equals."""
        values = list(map(_likelihood, list_at(row, "filtered_resps")))
        if len(values) != len(choices):
            raise AdapterError(
                f"'filtered_resps' has {len(values)} values for {len(choices)} choices",
                field="filtered_resps",
            )
        if self.settings.choose == "acc_norm":
            # as the harness does, by the length of a choice without its delimiter
            lengths = [len(choice.strip()) for choice in choices]
            values = [
                value / length for value, length in zip(values, lengths, strict=True)
            ]
        return choices[max(range(len(values)), key=values.__getitem__)].strip()


class LmEvalDocs:
    """Read examples from samples of lm-evaluation-harness: the documents themselves.

    The fields of the document become those of the example, with `uid`.

    Example:
        ```yaml
        - kind: lm-eval-docs
          configuration: {filter: none, target: answer}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """What becomes the id, and which rows are read."""

        id: str = Field(
            default="doc_id", description="Path of the id, such as `doc.key`"
        )
        filter: str | None = Field(
            default=None,
            description="The filter whose rows are read; others are left out",
        )
        target: str | None = Field(
            default=None,
            description="Field for the harness's target; it is left out otherwise",
        )

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the document of a row, unless another filter made the row."""
        row = object_row(row)
        if not _is_by(row, self.settings.filter):
            return
        doc = value_at(row, "doc")
        if not isinstance(doc, dict):
            raise AdapterError(
                f"'doc' must be an object, is {word_for(doc)}", field="doc"
            )
        found = {**doc, "uid": value_at(row, self.settings.id)}
        if self.settings.target is not None:
            found[self.settings.target] = _target(row)
        yield found


def _is_by(row: Mapping[str, Any], wanted: str | None) -> bool:
    """Tell whether the wanted filter made a row; rows of old versions name none."""
    return wanted is None or value_at(row, "filter") == wanted


def _choices(row: Mapping[str, Any]) -> list[str] | None:
    """Return the continuations whose likelihood was asked for; None for others."""
    arguments = row.get("arguments")
    if isinstance(arguments, dict):  # as written since 0.4.3
        arguments = [
            [each.get("arg_0"), each.get("arg_1")]
            for each in arguments.values()
            if isinstance(each, dict)
        ]
    if not isinstance(arguments, list) or not arguments:
        raise AdapterError(
            "there are no 'arguments', so the row is no sample of "
            "lm-evaluation-harness; --log_samples writes them",
            field="arguments",
        )
    found = [each[1] for each in arguments if isinstance(each, list) and len(each) > 1]
    texts = [each for each in found if isinstance(each, str)]
    return texts if len(texts) == len(arguments) else None


def _likelihood(given: Any) -> float:
    """Return a log-likelihood, of `[value, is_greedy]`, both as texts."""
    value = given[0] if isinstance(given, list) and given else given
    try:
        return float(value)
    except (TypeError, ValueError):
        raise AdapterError(
            f"'filtered_resps' must hold log-likelihoods, holds {word_for(value)}",
            field="filtered_resps",
        ) from None


def _target(row: Mapping[str, Any]) -> Any:
    """Return the right answer; of a choice that is named by its number its text."""
    target, choices = value_at(row, "target"), _choices(row)
    texts = [choice.strip() for choice in choices or ()]
    if target in texts or not str(target).isdecimal():
        return target
    return texts[int(target)] if int(target) < len(texts) else target
