"""Finds which of some options a text names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from string import ascii_uppercase
from typing import Literal, NamedTuple

from evalkit_adapters_extraction.settings import Found

Where = Literal["anywhere", "start", "whole"]

_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_MARKED = re.compile(r"[\W_]*([A-Za-z])(?![\w'\u2019])[*_`]*\s*[)\].:}](?![A-Za-z0-9])")
_BARE = re.compile(r"[\W_]*([A-Z])(?![\w'\u2019-])")
_LETTER = re.compile(r"(?<![\w'\u2019-])[A-Z](?![\w'\u2019-])")
_CALLED = re.compile(r"(?:option|answer|choice|letter)(?:\s+is)?\s*:?\s*$", re.I)
_OPENING, _CLOSING = "([{*\"'`$", ")]}*:\"'`$"
_WORDS = ("A", "I")
"""Letters that are English words too."""
_NO_ARTICLE = re.compile(r"\s*(?:[,.;:!?/]|$)")
"""What no article stands before. Of `I` it says nothing alone, as in "I, too"."""
_JOINED = r"(?:[,/;&+]|\band\b|\bor\b)"
_LISTED_BEHIND = re.compile(rf"\s*{_JOINED}\s*(?:(?:and|or)\s+)?[A-Z](?![\w'\u2019-])")
_LISTED_BEFORE = re.compile(
    rf"(?<![\w'\u2019-])[A-Z]\s*{_JOINED}\s*(?:(?:and|or)\s+)?$"
)
_NEGATION = re.compile(
    r"(?:\b(?:not|never|no|nor|neither|isn['\u2019]?t|aren['\u2019]?t|wasn['\u2019]?t)"
    r"|n['\u2019]t)(?:\s+(?:an?|the|option|choice|answer))*[\s\"'(*]*$",
    re.IGNORECASE,
)
_NEGATION_REACHES = 40
_WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, Japanese,
Chinese."""

SIGNS_AROUND = " \t\r\n.,;:!?\"'*_`$()[]{}"
"""What may stand around an option that is otherwise written just as it is declared."""

NONE_NAMED = "no option is named"
SEVERAL_NAMED = "several options are named"


class Option(NamedTuple):
    """One answer, and how it may be written."""

    answer: str
    """The answer as it is declared."""
    folded: str
    core: str
    """The same without signs around it."""
    forms: tuple[str, ...]
    """Folded, with other gaps between its words; the letter alone is none."""


class Options:
    """Answers of which a text may name one; each is prepared when a text needs it.

    Args:
        answers: The answers; None for a place without one, whose letter names none.
        has_letters: Whether the letters A, B, … stand for them by their places. Answers
            that are single letters stand for themselves.

    Attributes:
        answers: As they are declared.
    """

    def __init__(self, answers: Sequence[str | None], *, has_letters: bool) -> None:
        known = (answer for answer in answers if answer is not None)
        self.answers = tuple(dict.fromkeys(known))
        self._starts = [
            start.lower() if len(start) == 3 and start.isalnum() else None
            for start in (each[:3] if each.isascii() else "" for each in self.answers)
        ]
        """Letters or digits with which all forms of an answer begin, where it does."""
        self._prepared: dict[str, Option] = {}
        lettered = zip(ascii_uppercase, answers if has_letters else (), strict=False)
        self._by_place = {
            letter: answer for letter, answer in lettered if answer is not None
        }

    @cached_property
    def letters(self) -> Mapping[str, str]:
        """Answers by the capital letter that stands for them."""
        pairs = zip(self.answers, self._starts, strict=True)
        short = [self._option(answer) for answer, start in pairs if start is None]
        own = {one.core.upper(): one.answer for one in short if _is_letter(one.core)}
        return own or self._by_place

    def near(self, folded: str) -> list[Option]:
        """Return the answers that a text may name, the longest first.

        Args:
            folded: The folded text.
        """
        pairs = zip(self.answers, self._starts, strict=True)
        near = [each for each, start in pairs if start is None or start in folded]
        if not near:
            return []
        made = [*map(self._option, near)]
        made.sort(key=lambda each: (-len(each.folded), each.folded))
        return made

    def _option(self, answer: str) -> Option:
        if answer not in self._prepared:
            self._prepared[answer] = _option(answer)
        return self._prepared[answer]


def fold(text: str) -> str:
    """Return a text in NFC without differences of case, and with single blanks.

    Args:
        text: Any text.
    """
    if text.isascii():
        folded = text.lower()
        if folded.isprintable() and "_" not in folded and "  " not in folded:
            return folded.strip()
    else:
        plain = unicodedata.normalize("NFC", text)
        folded = unicodedata.normalize("NFC", plain.casefold())
    return " ".join(folded.replace("_", " ").split())


def core_of(folded: str) -> str:
    """Return a folded text without signs around it."""
    core = folded.strip(SIGNS_AROUND)
    if core and core[0].isalnum() and core[-1].isalnum():
        return core
    return _EDGES.sub("", core)


@lru_cache(maxsize=1024)
def read_options(answers: tuple[str | None, ...], *, has_letters: bool) -> Options:
    """Return answers that texts may name, the same ones only once.

    Args:
        answers: The answers; None for a place without one.
        has_letters: Whether letters stand for them too.
    """
    return Options(answers, has_letters=has_letters)


def _option(answer: str) -> Option:
    folded = fold(answer)
    core = core_of(folded)
    if _is_letter(core) or not core:
        return Option(answer, folded, core, ())
    stem = core if core in folded else folded
    if stem.isalnum():
        return Option(answer, folded, core, (stem,))
    if "-" not in stem:
        return Option(answer, folded, core, (stem, stem.replace(" ", "-")))
    gaps = dict.fromkeys((stem, stem.replace("-", " "), stem.replace(" ", "-")))
    return Option(answer, folded, core, (*gaps,))


def _is_letter(core: str) -> bool:
    return len(core) == 1 and core.isascii() and core.isalpha()


def find_option(text: str, options: Options, where: Where) -> Found:
    """Find the one option that a text names.

    Args:
        text: The text.
        options: The options.
        where: Whether the whole text must be an option, begin with one, or name one
            anywhere.

    Returns:
        The option as it is declared, or why there is none.
    """
    text = unicodedata.normalize("NFC", text)
    for written in (text, text.strip(SIGNS_AROUND)):
        if written in options.answers:
            return Found(written)
    folded = fold(text)
    near = options.near(folded)
    answers = _whole(folded, near, options)
    if not answers and where != "whole":
        answers = _start(text, folded, near, options, is_strict=where == "anywhere")
    if not answers and where == "anywhere":
        answers = {*_mentioned(folded, near), *_letters(text, options)}
    if len(answers) == 1:
        return Found(next(iter(answers)))
    return Found(None, SEVERAL_NAMED if answers else NONE_NAMED)


def _whole(folded: str, near: Sequence[Option], options: Options) -> set[str]:
    """Return the options that a text is, but for signs around it."""
    exact = [each.answer for each in near if each.folded == folded]
    if exact:
        return {*exact}
    core = core_of(folded)
    if not core:
        return set()
    same = {each.answer for each in near if core == each.core or core in each.forms}
    if same or not _is_letter(core):
        return same
    letter = options.letters.get(core.upper())
    return set() if letter is None else {letter}


def _start(
    text: str,
    folded: str,
    near: Sequence[Option],
    options: Options,
    *,
    is_strict: bool,
) -> set[str]:
    """Return the options that a text begins with."""
    marked = _MARKED.match(text)
    if marked is None and not is_strict:
        marked = _BARE.match(text)
        is_word = marked is not None and marked[1] in _WORDS
        marked = None if is_word and not _ends(text, marked) else marked
    own = options.letters.get(marked[1].upper()) if marked else None
    if marked is not None and own is not None:
        rest = text[marked.end() :]
        if rest.strip(SIGNS_AROUND) == own:
            return {own}
        return {own, *_first_option(fold(rest), near)}
    return set() if is_strict else _first_option(folded, near)


def _ends(text: str, match: re.Match[str] | None) -> bool:
    return match is not None and not re.search(r"\w", text[match.end() :])


def _first_option(folded: str, near: Sequence[Option]) -> set[str]:
    """Return the longest option that a folded text begins with."""
    text = re.sub(r"^[\W_]+", "", folded)
    for option in near:
        for form in option.forms:
            if text.startswith(form) and _is_apart(text, 0, len(form), form):
                return {option.answer}
    return set()


def _mentioned(folded: str, near: Sequence[Option]) -> Iterator[str]:
    """Yield the options whose text stands anywhere, the longest first."""
    taken = bytearray(len(folded))
    for option in near:
        for form in option.forms:
            start = folded.find(form)
            while start >= 0:
                end = start + len(form)
                is_free = taken.find(1, start, end) < 0
                if is_free and _is_apart(folded, start, end, form):
                    taken[start:end] = b"\1" * len(form)
                    if not _is_negated(folded, start):
                        yield option.answer
                start = folded.find(form, start + 1)


def _is_apart(text: str, start: int, end: int, form: str) -> bool:
    """Tell whether a form is no part of another word or number."""
    before = text[max(0, start - 2) : start]
    return _is_edge(form[0], before[::-1]) and _is_edge(form[-1], text[end : end + 2])


def _is_edge(inner: str, outer: str) -> bool:
    """Tell whether a word may end between a sign of it and the two next to it."""
    if not inner.isalnum() or _WITHOUT_BLANKS.match(inner) or not outer:
        return True
    if outer[0].isalnum() or unicodedata.combining(outer[0]):
        return False
    joins = "-.," if inner.isdigit() else "-"
    further = outer[1:]
    if outer[0] not in joins or not further:
        return True
    return not (further.isdigit() if outer[0] in ".," else further.isalnum())


def _is_negated(text: str, start: int) -> bool:
    return bool(_NEGATION.search(text[max(0, start - _NEGATION_REACHES) : start]))


def _letters(text: str, options: Options) -> Iterator[str]:
    """Yield the options whose letter stands anywhere, as a letter and not as a word."""
    for match in _LETTER.finditer(text):
        letter, start = match[0], match.start()
        if letter not in options.letters:
            continue
        if letter in _WORDS and not _is_marked(text, start):
            continue
        before = text[max(0, start - _NEGATION_REACHES) : start].rstrip(_OPENING)
        if not _NEGATION.search(before):
            yield options.letters[letter]


def _is_marked(text: str, place: int) -> bool:
    """Tell whether a letter is no word.

    It is in brackets, said to be an answer, or in a list with another letter; and `A`
    is no article before a sign or the end.
    """
    opened = text[place - 1 : place] if place else ""
    closed = text[place + 1 : place + 2]
    if closed == ")" or (opened and opened in _OPENING and closed in (*_CLOSING,)):
        return True
    behind = text[place + 1 : place + 1 + _NEGATION_REACHES]
    before = text[max(0, place - _NEGATION_REACHES) : place]
    is_listed, ends = _LISTED_BEFORE.search(before), _NO_ARTICLE.match(behind)
    is_a = text[place] == "A"
    if (
        _LISTED_BEHIND.match(behind)
        or (is_a and ends)
        or (is_listed and (is_a or ends))
    ):
        return True
    return bool(_CALLED.search(before.rstrip(_OPENING)))
