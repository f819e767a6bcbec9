"""Checks that a recogniser finds places that are in the texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalkit import EvalkitError, PluginError, Registry
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    check_laws,
    chosen_laws,
    told_alone,
    two_instances,
)

_STRANGE = (
    *("", " ", "\n\n", "\N{GRINNING FACE}\N{GRINNING FACE}", "日本", "e\u0301", "\x00"),
    *("mr. dr. mrs.", "A" * 5000, "\udcff", "<b>Dr. X</b>"),
)
_AHEAD = "\N{GRINNING FACE}日本 é. "
"""Its characters are of one to four bytes, and the first one is two of UTF-16."""
_UNITS = (("utf-8", 1), ("utf-16-le", 2))
_LANGUAGE = re.compile(r"[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8})*")


class RecogniserLawError(LawError):
    """A recogniser breaks a law.

    Attributes:
        law: Name of the law, one of `RECOGNISER_LAWS`.
    """


@dataclass
class _Trial:
    recogniser: Any
    another: Any
    texts: Sequence[str]
    known: list[list[Any]] = field(default_factory=list)

    def found(self) -> list[list[Any]]:
        if not self.known:
            self.known = _found(self.recogniser, self.texts)
        return self.known


def _found(recogniser: Any, texts: Sequence[str]) -> list[list[Any]]:
    """Return the entities of each text, as triples.

    Raises:
        LawBroken: It failed, or gives something else than a list for each text.
    """
    try:
        with recogniser.guard("find_entities"):
            said = recogniser.row_function("find_entities")(texts=texts)
            found = [[tuple(each) for each in of_text] for of_text in said]
    except PluginError as error:
        raise LawBroken(f"{error}, for the texts {[*texts]!r}") from error
    if len(found) != len(texts):
        raise LawBroken(f"{len(found)} lists are given for {len(texts)} texts")
    return found


@told_alone
def check_recogniser(
    recogniser: Any,
    texts: Sequence[str],
    *,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a recogniser keeps the laws of `evalkit_testing.RECOGNISER_LAWS`.

    Args:
        recogniser: Name of an installed recogniser, or a class or instance.
        texts: Texts, in each of which it finds something.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        RecogniserLawError: It breaks a law; the message has the law and the text. It is
            an AssertionError.
        EvalkitError: There are no texts, or there is no such law.
        PluginError: The recogniser is unknown or broken.
    """
    chosen = chosen_laws(RECOGNISER_LAWS, laws)
    if not texts or isinstance(texts, str):
        raise EvalkitError("texts must be a list that is not empty")
    first, other = two_instances("recognisers", recogniser, registry or Registry())
    trial = _Trial(first, other, texts)
    check_laws(chosen, trial, first.component.origin, RecogniserLawError)


def _check_found(trial: _Trial) -> None:
    for text, entities in zip(trial.texts, trial.found(), strict=True):
        if not entities:
            raise LawBroken(f"nothing is found in {text!r}")


def _check_places(trial: _Trial) -> None:
    for text, entities in zip(trial.texts, trial.found(), strict=True):
        _refuse_places(text, entities)


def _refuse_places(text: str, entities: Sequence[Any]) -> None:
    before = 0
    for entity in entities:
        if len(entity) != 3 or not all(type(each) is int for each in entity[:2]):
            raise LawBroken(
                f"{entity!r} is found in {text!r}; give evalkit.Entity, or start, end "
                "and kind"
            )
        start, end, kind = entity
        if not 0 <= start < end <= len(text):
            raise LawBroken(f"{entity!r} is found in {text!r}, which has no such place")
        if start < before:
            raise LawBroken(
                f"{entity!r} begins before another ends, in {text!r}: they come in "
                "order, and none overlap"
            )
        if not isinstance(kind, str) or not kind.strip():
            raise LawBroken(f"{entity!r}, in {text!r}, has no kind")
        before = end


def _check_strange(trial: _Trial) -> None:
    for text in _STRANGE:
        (entities,) = _found(trial.recogniser, [text])
        _refuse_places(text, entities)
        if entities and not text.strip():
            raise LawBroken(f"{entities[0]!r} is found in {text!r}, which is blank")
    if _found(trial.recogniser, []):
        raise LawBroken("something is found in no text")


def _check_characters(trial: _Trial) -> None:
    """Behind characters of several bytes, entities are found at their places."""
    for text in trial.texts:
        moved = _AHEAD + text
        (plain,), (behind,) = (
            _found(trial.recogniser, [each]) for each in (text, moved)
        )
        for (start, end, kind), (other, _, _) in zip(plain, behind, strict=False):
            right = start + len(_AHEAD)
            wrong = {start + len(_AHEAD.encode(code)) // unit for code, unit in _UNITS}
            if other in wrong - {right}:
                raise LawBroken(
                    f"the {kind} {text[start:end]!r} begins at {other} in {moved!r}, "
                    f"and not at {right}: places are characters, not bytes"
                )


def _check_repeatable(trial: _Trial) -> None:
    _compare(trial, _found(trial.recogniser, trial.texts), "looked for again")


def _check_stateless(trial: _Trial) -> None:
    _compare(trial, _found(trial.another, trial.texts), "by another instance")


def _check_inputs(trial: _Trial) -> None:
    given = [*trial.texts]
    _found(trial.recogniser, given)
    if given != [*trial.texts]:
        raise LawBroken(f"the texts {[*trial.texts]!r} are {given!r} afterwards")


def _compare(trial: _Trial, others: Sequence[Any], how: str) -> None:
    for text, first, second in zip(trial.texts, trial.found(), others, strict=True):
        if first != second:
            raise LawBroken(f"{first!r}, and {how} {second!r}, in {text!r}")


def _check_languages(trial: _Trial) -> None:
    for code in trial.recogniser.attributes["languages"]:
        if not _LANGUAGE.fullmatch(str(code)):
            raise LawBroken(f"{code!r} is no code of a language, such as en or pt-BR")


RECOGNISER_LAWS: tuple[Law[_Trial], ...] = (
    Law(
        "found",
        "something is found in each text that is given.",
        _check_found,
        mend="give a list for each text, in their order.",
    ),
    Law(
        "places",
        "entities are in the text, in order.",
        _check_places,
        mend="give evalkit.Entity(start, end, kind) with places in the text.",
    ),
    Law("strange", "it takes whatever a text may be.", _check_strange),
    Law(
        "characters",
        "places are characters, not bytes.",
        _check_characters,
        mend="count the characters of the text.",
    ),
    Law("repeatable", "the same texts have the same entities.", _check_repeatable),
    Law("stateless", "another instance finds the same.", _check_stateless),
    Law("inputs", "the texts that it is given are not changed.", _check_inputs),
    Law(
        "languages",
        "its languages are codes of BCP 47.",
        _check_languages,
        mend="write codes of BCP 47, such as en.",
    ),
)
"""What holds of every recogniser."""
