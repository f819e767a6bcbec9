"""Samples of lm-evaluation-harness: a line for each document and each filter.

Before 0.4.3 they are one list, in a file that is called `.jsonl` too.
"""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_peers.values import answers, list_at, object_of, text_of, value_at
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.row_values import object_row, word_for


class _OfSamples(ABC):
    key: str

    class Parameters(AdapterSettings):
        """What becomes the id, and which rows are read."""

        id: str = Field(
            default="doc_id", description="Path of the id, such as `doc.key`"
        )
        filter: str | None = Field(
            default=None,
            description="The filter whose rows are read; others are left out",
        )

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters
        self._filters: set[str] = set()

    @property
    def notices(self) -> list[str]:
        """Say that no row is of the filter, and which filters there are."""
        name, names = self.settings.filter, sorted(self._filters)
        if name is None or not names or name in names:
            return []
        return [f"no row has the filter {name!r}, the filters are {', '.join(names)}"]

    @abstractmethod
    def _fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return all fields but the id."""

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield what a row becomes, unless another filter made it."""
        row = object_row(row)
        name = self.settings.filter
        if name is not None:  # rows of old versions name none
            self._filters.add(str(value_at(row, "filter")))
        if name is None or row["filter"] == name:
            yield {**self._fields(row), self.key: value_at(row, self.settings.id)}


class LmEval(_OfSamples):
    """Read what a model answered from samples of lm-evaluation-harness.

    For a task of `generate_until` this is the text, as the filter left it; several
    texts (`repeats`) become ranked alternatives. For `multiple_choice` it is the text
    of the likeliest choice, without the blanks around it. If all log-likelihoods are
    NaN, the response has no answer.

    Example:
        ```yaml
        - kind: lm-eval
          configuration: {id: doc.key, field: label}
        ```
    """

    version = "2"
    key = "id"

    class Parameters(_OfSamples.Parameters):
        """Where the id and the answer are, and where the answer goes."""

        field: str = Field(default="answer", description="The task's field")
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

    settings: Parameters

    def _fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        choices, field = choices_of(row), self.settings.field
        if choices is None:
            return answers(self._texts(row), field)
        if len(choices) < 2:
            raise AdapterError(
                "the row has log-likelihoods of one text, and no answer. Use the "
                "samples of a task of generate_until or multiple_choice",
                field="arguments",
            )
        chosen = _likeliest(row, choices, by_length=self.settings.choose == "acc_norm")
        return answers([] if chosen is None else [chosen], field)

    def _texts(self, row: Mapping[str, Any]) -> list[str]:
        """Return the texts that a model generated."""
        name = "resps" if self.settings.answers == "raw" else "filtered_resps"
        given = list_at(row, name)
        # one request a document; each was answered once, or `repeats` times
        if len(given) == 1 and isinstance(given[0], list):
            given = given[0]
        if not given:
            raise AdapterError(f"{name!r} has no answer", field=name)
        texts = [text_of(each, name) for each in given]
        return [text.strip() for text in texts] if self.settings.strip else texts


class LmEvalDocs(_OfSamples):
    """Read examples from samples of lm-evaluation-harness: the documents themselves.

    The fields of the document become those of the example, with `uid`.

    Example:
        ```yaml
        - kind: lm-eval-docs
          configuration: {filter: none, target: answer}
        ```
    """

    version = "2"
    key = "uid"

    class Parameters(_OfSamples.Parameters):
        """What becomes the id, which rows are read, and whether targets are."""

        target: str | None = Field(
            default=None,
            description="Field for the harness's target; it is left out otherwise",
        )

    settings: Parameters

    def _fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        doc, target = object_of(value_at(row, "doc"), "doc"), self.settings.target
        return doc if target is None else {**doc, target: _target(row)}


def choices_of(row: Mapping[str, Any]) -> dict[int, str] | None:
    """Return what the likelihoods compare, by the number of its request.

    These are the continuations or, where all are equal, the contexts. None for other
    kinds of requests.
    """
    arguments = row.get("arguments")
    if isinstance(arguments, dict):  # as written since 0.4.3
        arguments = [list(object_row(each).values()) for each in arguments.values()]
    if not isinstance(arguments, list) or not arguments:
        raise AdapterError(
            "there are no 'arguments', so the row is no sample of "
            "lm-evaluation-harness; --log_samples writes them",
            field="arguments",
        )
    pairs = {n: each for n, each in enumerate(arguments) if len(each) > 1}
    if not all(isinstance(each[1], str) for each in pairs.values()):
        return None
    # `acc_mutual_info` asks for each continuation without a context too
    pairs = {n: each for n, each in pairs.items() if each[0]} or pairs
    contexts, texts = (
        {n: str(each[side]).strip() for n, each in pairs.items()} for side in (0, 1)
    )
    return contexts if len({*texts.values()}) < len({*contexts.values()}) else texts


def _likeliest(
    row: Mapping[str, Any], choices: Mapping[int, str], *, by_length: bool = False
) -> str | None:
    """Return the choice with the greatest log-likelihood, the first of equals."""
    given, count = list_at(row, "filtered_resps"), len(row["arguments"])
    if len(given) != count:
        raise AdapterError(
            f"'filtered_resps' has {len(given)} values for {count} choices",
            field="filtered_resps",
        )
    values = {number: likelihood_of(given[number]) for number in choices}
    if by_length:
        # as the harness does, by the length of a choice without its delimiter
        lengths = {number: len(choice) for number, choice in choices.items()}
        values = {n: value / (lengths[n] or 0.0001) for n, value in values.items()}
    known = [number for number, value in values.items() if not math.isnan(value)]
    return choices[max(known, key=values.__getitem__)] if known else None


def likelihood_of(given: Any) -> float:
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
    """Return the right answers; of choices that are named by their places the texts."""
    target, choices = value_at(row, "target"), choices_of(row)
    if choices is None:
        targets = _listed(target, str)
    else:
        is_text = str(target).strip() in choices.values()
        targets = [target] if is_text else _listed(target, int)
        targets = [_choice(row, each, choices) for each in targets]
    return targets[0] if len(targets) == 1 else targets


def _listed(target: Any, kind: type) -> list[Any]:
    """Return a list, which the harness writes as Python does since 0.4.3."""
    if isinstance(target, str) and target.startswith("["):
        try:
            parsed = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [target]
        if isinstance(parsed, list) and all(isinstance(each, kind) for each in parsed):
            return parsed
    return target if isinstance(target, list) else [target]


def _choice(row: Mapping[str, Any], target: Any, choices: Mapping[int, str]) -> str:
    """Return the choice that a target names: by its place, else by its text."""
    text, texts = str(target).strip(), list(choices.values())
    if text.isdecimal() and int(text) < len(texts):
        choice, acc = texts[int(text)], row.get("acc")
        is_sure = isinstance(target, int) or text not in texts or acc not in (0, 1)
        # some versions compute 'acc' wrongly beside `acc_mutual_info`
        is_sure = is_sure or len(texts) < len(row["arguments"])
        if is_sure or (_likeliest(row, choices) == choice) == acc:
            return choice
    elif text in texts:
        return text
    raise AdapterError(
        f"'target' is {target!r}, which names none of the {len(choices)} choices or "
        "contradicts 'acc'. Take the right answer from a field of the document",
        field="target",
    )
