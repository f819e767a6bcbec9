"""Rows of a task of lm-evaluation-harness: its documents as prompts and answers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evalkit.errors import DataError
from evalkit_benchmarks_declared.sandbox import sandbox

Document = Mapping[str, Any]

KEYS = ("doc_to_text", "doc_to_target", "doc_to_choice", "gen_prefix")
"""Keys that make texts of documents."""


@lru_cache(maxsize=1_024)
def template(text: str) -> Callable[[Document], Any]:
    """Compile a template."""
    return sandbox().function(text, native=False)


class _Rendered(str):
    """What a template was filled to, which may be the text of a number or a list."""


@dataclass(frozen=True)
class Documents:
    """How a task makes prompts and answers of documents."""

    keys: Mapping[str, Any]  # a column, template, constant or function each
    delimiter: str
    has_options: bool

    def row(self, document: Document) -> dict[str, Any]:
        """Return the context and the answer of a document.

        With options also `choices`; and with `gen_prefix`, in `shot` what a shot shows
        behind the context, which is something other than delimiter and answer.
        """
        text, target = self._text(document), self._target(document)
        prefix = str(self._value("gen_prefix", document) or "")
        row: dict[str, Any] = {"context": text + _joined(text, self.delimiter, prefix)}
        if "gen_prefix" in self.keys:
            answers = _texts(target)
            answer = answers[0] if isinstance(answers, list) else answers
            bare = self.delimiter + answer if answer else ""
            row["shot"] = _joined(prefix, " ", answer) if prefix else bare
        if "doc_to_choice" in self.keys:
            choices = self._choices(document)
            target = _gold(target, choices)
            row |= {"choices": choices} if self.has_options else {}
        return {**row, "answer": _texts(target)}

    def _value(self, key: str, document: Document) -> Any:
        """Return a column, the text of a template, a constant, or what is computed."""
        given = self.keys.get(key)
        try:
            if callable(given):
                return given(dict(document))
            if not isinstance(given, str):
                return given
            if given in document:
                return document[given]
            return _Rendered(template(given)(document))
        except Exception as error:  # whatever a function of a task raises
            kind = "" if isinstance(error, DataError) else f"{type(error).__name__}: "
            raise DataError(f"{key}: {kind}{error}") from error

    def _text(self, document: Document) -> str:
        value = self._value("doc_to_text", document)
        is_number = isinstance(value, _Rendered) and value.isdigit()
        if not isinstance(value, str) or (is_number and "doc_to_choice" in self.keys):
            raise DataError(
                f"doc_to_text: must be a text, got {value!r}. Tasks whose options "
                "stand in the prompt have numbers here, and cannot be run"
            )
        return str(value)

    def _target(self, document: Document) -> Any:
        value = self._value("doc_to_target", document)
        if not isinstance(value, _Rendered):
            return value
        is_list = len(value) >= 2 and value[0] + value[-1] == "[]"
        if is_list or (value.isdigit() and "doc_to_choice" in self.keys):
            return _literal(value)
        return str(value)

    def _choices(self, document: Document) -> list[str]:
        given = self._value("doc_to_choice", document)
        given = _literal(given) if isinstance(given, _Rendered) else given
        choices = [*given.values()] if isinstance(given, Mapping) else given
        is_list = isinstance(choices, list | tuple)
        if not is_list or not all(isinstance(choice, str) for choice in choices):
            raise DataError(f"doc_to_choice: must be a list of texts, got {choices!r}")
        return [*choices]


def _joined(before: str, delimiter: str, after: str) -> str:
    """Return a text behind another, with the delimiter unless a blank is between."""
    is_blank = not before or not after or before[-1].isspace() or after[0].isspace()
    return after if is_blank else delimiter + after


def _literal(text: str) -> Any:
    """Read a value that is written as in Python, or a text."""
    try:
        return ast.literal_eval(str(text))
    except (SyntaxError, ValueError):
        return str(text)


def _gold(target: Any, choices: Sequence[str]) -> Any:
    """Return the right option, or several: numbers are places of options."""
    if isinstance(target, list):
        return [_gold(each, choices) for each in target]
    if isinstance(target, int) and not 0 <= target < len(choices):
        raise DataError(f"doc_to_target: no option {target}, there are {len(choices)}")
    return choices[target] if isinstance(target, int) else target


def _texts(target: Any) -> Any:
    return list(map(str, target)) if isinstance(target, list) else str(target)
