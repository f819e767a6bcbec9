"""Laws of extractors, which raise `LawBroken` where they do not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from evalkit import PluginError
from evalkit_testing.adapter_trials import Trial
from evalkit_testing.laws import Law, LawBroken, NotTried, smallest

_MARK = "Zq7xKv2"
"""A word that no reason has by chance."""

_TEXTS = (
    *("?", "0", "{", "\\boxed{", "```", "<think>", "Answer:", "(A) or (B)"),
    *('```json\n{"answer": 1}\n```', "<think>B</think> A", "**Answer:** A"),
    *("\N{GRINNING FACE}", "日本", "e\u0301", "line\r\nline", "\x00", "1,000.5 and -3"),
    *(_MARK, f"Answer: {_MARK} {_MARK}", f"{_MARK}\n" * 50, "a" * 10_000),
)

Extracted = tuple[Any, Any, Any]
"""Value, reason, and whether the text is broken."""


def _extract(adapter: Any, trial: Trial, texts: Sequence[str]) -> list[Extracted]:
    given = pl.Series("texts", texts, dtype=pl.String)
    options = None
    if trial.choices is not None:
        lists = [[*trial.choices]] * len(texts)
        options = pl.Series("choices", lists, dtype=pl.List(pl.String))
    try:
        return [*adapter.extract(given, options, trial.labels).rows()]
    except PluginError as error:
        raise LawBroken(
            f"{error}; return evalkit.Unparsed(reason) where there is no answer"
        ) from error


def _takes_texts(trial: Trial) -> bool:
    return any(map(trial.adapter.has, ("extract_text", "extract_texts")))


def _everything(trial: Trial) -> list[str]:
    return [*trial.texts, *_TEXTS]


def _check_answers(trial: Trial) -> None:
    if not _takes_texts(trial):
        return
    if not trial.texts:
        raise NotTried("give texts=…, a list of texts that hold an answer")
    found = _extract(trial.adapter, trial, trial.texts)
    for text, (value, reason, _) in zip(trial.texts, found, strict=True):
        if value is None:
            raise LawBroken(f"nothing is found in {text!r}: {reason}")


def _check_strange(trial: Trial) -> None:
    if not _takes_texts(trial):
        return

    def fails(texts: Sequence[str]) -> bool:
        try:
            _extract(trial.adapter, trial, texts)
        except LawBroken:
            return True
        return False

    texts = _everything(trial)
    if fails(texts):
        fewest = smallest(texts, fails)
        try:
            _extract(trial.adapter, trial, fewest)
        except LawBroken as error:
            raise LawBroken(f"{error}; for the texts {[*fewest]!r}") from error


def _check_alone(trial: Trial) -> None:
    if not _takes_texts(trial):
        return
    texts = [*_everything(trial), *reversed(_everything(trial))]
    _compare(texts, lambda some: _extract(trial.adapter, trial, some), trial)


def _compare(
    texts: Sequence[str],
    extract: Callable[[Sequence[str]], list[Extracted]],
    trial: Trial,
) -> None:
    def alone(some: Sequence[str]) -> list[Extracted]:
        return [_extract(trial.another(), trial, [text])[0] for text in some]

    def differs(some: Sequence[str]) -> bool:
        return extract(some) != alone(some)

    if differs(texts):
        fewest = smallest(texts, differs)
        raise LawBroken(
            f"{extract(fewest)!r} of the texts {[*fewest]!r}, and {alone(fewest)!r} of "
            "each alone"
        )


def _check_reasons(trial: Trial) -> None:
    if not _takes_texts(trial):
        return
    texts = [text for text in _TEXTS if _MARK in text]
    found = _extract(trial.adapter, trial, texts)
    for text, (value, reason, _) in zip(texts, found, strict=True):
        if value is None and _MARK in str(reason):
            raise LawBroken(
                f"of {text[:80]!r} the reason is {reason!r}: say it without what the "
                "model wrote, as reasons are counted and shown"
            )


def _check_chosen(trial: Trial) -> None:
    if not trial.adapter.has("choose_answer"):
        return
    several: list[str | None] = [*trial.texts, "a", "b"]
    lists: list[list[str | None]] = [
        [*several, None],
        [None, *several, several[0]],
        [*reversed(several)],
        [None, None],
        ["a", "a", "b"],
        ["b", "a"],
    ]
    try:
        found = trial.adapter.choose(lists).rows()
        again = trial.another().choose(lists).rows()
    except PluginError as error:
        raise LawBroken(str(error)) from error
    for answers, (value, _, _), (other, _, _) in zip(lists, found, again, strict=True):
        if value is not None and value not in answers:
            raise LawBroken(f"{value!r} is chosen of {answers!r}, which do not have it")
        if value != other:
            raise LawBroken(f"of {answers!r} {value!r} is chosen, and then {other!r}")


LAWS: tuple[Law[Trial], ...] = (
    Law("found", "an answer is found in each text that is given.", _check_answers),
    Law("strange", "it takes whatever a model may write.", _check_strange),
    Law("alone", "what is found does not depend on other texts.", _check_alone),
    Law("reasons", "why there is no answer quotes nothing.", _check_reasons),
    Law("chosen", "what is chosen is one of the answers.", _check_chosen),
)
"""What holds of every extractor."""
