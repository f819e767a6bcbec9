"""Finds which of some options a reply names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from string import ascii_uppercase
from typing import Literal, NamedTuple

from evalkit_adapters_extraction.settings import Found
from evalkit_adapters_extraction.statements import (
    CASED,
    HANGUL,
    WITHOUT_BLANKS,
    Statement,
    final_part,
    lower,
    plain,
    words,
)

Where = Literal["anywhere", "start", "whole"]

SIGNS_AROUND = " \t\r\n.,;:!?\"'*_`$()[]{}"
"""What may stand around an option that is otherwise written just as it is declared."""

NONE_NAMED = "no option is named"
SEVERAL_NAMED = "several options are named"
DENIED = "the option that is named is denied too"

_MOST = 1_000
"""Mentions of a reply that are looked at."""
_LEADS = 40
"""How many characters behind a cue its answer begins at most."""
_WORDS = "AEIKOSUVWYZ"
"""Letters that are words, or begin abbreviations, in some language."""
_NO_BLANKS = re.compile(f"[{WITHOUT_BLANKS}]")
_LISTED = re.compile(r"[\W_]*[A-Za-z][).:\]]")
_MARK = re.compile(r"[).:\] ]*")
"""What stands between a letter and its text."""
_TEXT_BEHIND = re.compile(r"['\"]?(?:[).:=\]]| ?[-\u2013\u2014] )+ ?([^\n]{1,200})")
_ENDS = re.compile(r"\W*(?:[.!?\u3002\n]|$)")
_STRONG = re.compile(r"['\"\]]*(?:[.:!\n)\]}\u3002]|$| ?[-\u2013\u2014] )")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_BESIDE_HAN = (
    re.compile("[是为选即成叫不非和或与]$"),
    re.compile("[的了和或与及而错正不对都]"),
)
"""What stands before and behind an option of one character of Chinese."""
_LETTER = re.compile(
    rf"(?<![{CASED}\d'+^_.\u00b0-])(?:([A-Z]{{1,2}})(?![{CASED}\d+#^*=%-]|\.[A-Z]\b)"
    rf"(?!'(?![dt][i\u0131u\u00fc]r)[{CASED}])|(\d+)(?![{CASED}\d+^*/=%-]|\.\d))"
    rf"|(?<![{CASED}\d'(.-])\(?([a-z])\)"
)
_MARKED = 3
"""A shorter text may end with a sign that means something."""
_SMALL = 3
"""The group of a small letter."""
_NAMED = re.compile(
    r"(?:vitamin|hepatitis|plan|type|grade|class|group|figure|table) $|\bn/$"
)
"""What a letter belongs to that is no option."""
_WORD_BEHIND = re.compile(rf" (?=[{CASED}])")
_CALLED = re.compile(
    r"(?:option|answer|choice|letter|opsi|pilihan|opci\u00f3n|antwort|respuesta"
    r"|resposta|r\u00e9ponse|risposta|letra|lettre)[^\w:]*$"
)
_NO_NOUN = re.compile(
    r" (?:is|are|was|has|seems|looks|fits|would|will|than|since|as|due|for|which)\b"
)
"""What no article stands before."""


class Option(NamedTuple):
    """One answer, and how it may be written."""

    answer: str
    """The answer as it is declared."""
    folded: str
    core: str
    """The same without signs around it."""
    forms: tuple[str, ...]
    """Folded, with other gaps between its words."""


class Mention(NamedTuple):
    """One place where a reply names an option."""

    start: int
    end: int
    answers: frozenset[str]
    """Several where a letter is the text of one option and the place of another."""
    is_small: bool = False
    """Whether it is a small letter, which names an option only at a start."""
    is_letter: bool = False


class Options:
    """Answers of which a text may name one.

    Args:
        answers: The answers; None for a place without one, whose letter names none.
        has_letters: Whether the letters A, B, … stand for them by their places.

    Attributes:
        answers: As they are declared.
    """

    def __init__(self, answers: Sequence[str | None], *, has_letters: bool) -> None:
        known = (answer for answer in answers if answer is not None)
        self.answers = tuple(dict.fromkeys(known))
        places = zip(_letters(len(answers)), answers, strict=False)
        self._by_place = {
            letter: answer
            for letters, answer in places
            for letter in letters
            if has_letters and answer is not None
        }

    @cached_property
    def options(self) -> list[Option]:
        """The answers, the longest first."""
        options = [*map(_option, self.answers)]
        return sorted(options, key=lambda each: (-len(each.folded), each.folded))

    @cached_property
    def letters(self) -> Mapping[str, frozenset[str]]:
        """Answers by the capital letter, or number, that stands for them."""
        named = {letter: {answer} for letter, answer in self._by_place.items()}
        for option in self.options:
            if _is_letter(option.core):
                named.setdefault(option.core.upper(), set()).add(option.answer)
        return {letter: frozenset(answers) for letter, answers in named.items()}


def _letters(count: int) -> list[tuple[str, ...]]:
    """Return what stands for each place: a letter, or AA and a number in long lists."""
    if count <= len(ascii_uppercase):
        return [(letter,) for letter in ascii_uppercase[:count]]
    pairs = [first + second for first in ascii_uppercase for second in ascii_uppercase]
    names = [*ascii_uppercase, *pairs][:count]
    return [(name, str(number)) for number, name in enumerate(names, start=1)]


def fold(text: str) -> str:
    """Return a text in NFC without differences of case, and with single blanks.

    Args:
        text: Any text.
    """
    folded = " ".join(lower(plain(text)).replace("_", " ").split())
    return folded or " ".join(lower(text).split())


def core_of(folded: str) -> str:
    """Return a folded text without signs around it; those of a number stay."""
    start, end = 0, len(folded)
    if end and folded[0].isalpha() and folded[-1].isalnum():
        return folded
    while start < end and not _is_word(folded[start]):
        start += 1
    while end > start and not _is_word(folded[end - 1]):
        end -= 1
    if start < end and folded[start].isdigit():
        signs = re.search(r"[-+\u2212]?\.?$", folded[:start])
        start -= len(signs[0]) if signs else 0
    if start < end and folded[end - 1].isdigit() and folded[end : end + 1] == "%":
        end += 1
    if 0 < end - start < _MARKED and folded[end : end + 1] in ("+", "-", "#"):
        end += 1  # C++, A-
    if start and folded[start - 1] == "\u00b0":
        start -= 1
    return folded[start:end]


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
    # a sign is no hyphen: -1 is not 1
    spaced = re.sub(r"^-(?=\d)", "minus ", stem).replace("-", " ")
    forms = dict.fromkeys((stem, spaced, stem.replace(" ", "-")))
    return Option(answer, folded, core, (*forms,))


def _is_letter(core: str) -> bool:
    return len(core) == 1 and core.isascii() and core.isalpha()


def _is_word(sign: str) -> bool:
    return sign.isalnum() or unicodedata.category(sign)[0] == "M"


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
    composed = unicodedata.normalize("NFC", text)
    if composed in options.answers:
        return _found(options.letters.get(composed.upper(), {composed}))
    part, _ = final_part(text)
    statement = Statement(plain(part))
    answers = _whole(statement.text, options)
    if answers or where == "whole":
        return _found(answers)
    mentions = [*_mentions(statement, options)]
    if len(mentions) > _MOST:
        mentions = mentions[: _MOST // 2] + mentions[-_MOST // 2 :]
    return _Reading(statement, options, mentions).find(where)


def _found(answers: Iterable[str]) -> Found:
    every = [*answers]
    if len(every) == 1:
        return Found(every[0])
    return Found(None, SEVERAL_NAMED if every else NONE_NAMED)


def _whole(text: str, options: Options) -> frozenset[str]:
    """Return the options that a text is, but for signs around it."""
    core = core_of(fold(text))
    named = options.letters.get(core.upper(), frozenset())
    return named | _with_text(text, options)


def _with_text(text: str, options: Options) -> frozenset[str]:
    """Return the options whose text a text is, but for signs around it."""
    folded = fold(text)
    core, every = core_of(folded), options.options
    exact = frozenset(each.answer for each in every if each.folded == folded)
    if exact or not core:
        return exact
    same = (each.answer for each in every if core in (each.core, *each.forms))
    return frozenset(same)


class _Reading:
    """A reply with all places where it names an option.

    Args:
        statement: The reply.
        options: The options.
        mentions: The places, in their order.
    """

    def __init__(
        self, statement: Statement, options: Options, mentions: Sequence[Mention]
    ) -> None:
        self._statement, self._options = statement, options
        self._mentions = mentions
        self._affirmed: list[Mention] = []
        self._beside: dict[Mention, Sequence[Mention]] = {}
        """The mentions that a conjunction joins with each, and itself."""
        for joined in self._joined():
            self._beside.update(dict.fromkeys(joined, joined))
            if all(map(self._is_affirmed, joined)):
                self._affirmed += joined
        self._denied = [
            each
            for each in mentions
            if each not in self._affirmed and not statement.is_question(each.end)
        ]

    def find(self, where: Where) -> Found:
        """Return the option that the reply settles on."""
        if where == "start":
            return _found(self._at_start())
        place, answers = self._stated()
        judged = [
            mention
            for mention in self._affirmed
            if mention.start > place and self._statement.is_affirmed(mention.end)
        ]
        if judged:
            place = judged[0].start
            every = [other for each in judged for other in self._beside[each]]
            if any(self._statement.is_right_too(each.end) for each in judged):
                every = self._affirmed
            answers = frozenset[str]().union(*(each.answers for each in every))
        if answers is None and self._statement.is_unsure():
            return Found(None, NONE_NAMED)
        if answers is None:
            answers = self._alone()
        if answers is None:
            large = (each.answers for each in self._affirmed if not each.is_small)
            denied = (each.answers for each in self._denied)
            answers = frozenset[str]().union(*large).difference(*denied)
        for mention in self._denied:
            if mention.start > place and mention.answers == answers:
                return Found(None, DENIED)
        return _found(answers)

    def _is_affirmed(self, mention: Mention) -> bool:
        statement = self._statement
        if statement.is_question(mention.end):
            return False
        start, end = mention.start, mention.end
        if statement.is_another(start) or statement.is_supposed(start, end):
            return False
        return not statement.is_negated(start, end)

    def _joined(self) -> Iterator[list[Mention]]:
        """Yield the mentions, those in one list (`A, B or C`) together."""
        groups: list[list[Mention]] = []
        is_list = False
        for mention in self._mentions:
            last = groups[-1][-1].end if groups else 0
            gap = self._statement.lowered[last : mention.start]
            has_word = re.search(r"[\w/&\u3001]", gap)
            is_next = _join().fullmatch(gap) and "." not in gap
            is_text = bool(groups and groups[-1][-1].is_letter and _MARK.fullmatch(gap))
            if groups and is_next and (has_word or is_text or not is_list):
                groups[-1].append(mention)
                is_list = bool(has_word) or (is_text and is_list)
                continue
            if groups:
                yield from [groups[-1]] if is_list else ([each] for each in groups[-1])
            groups, is_list = [[mention]], False
        for group in groups:
            yield from [group] if is_list else ([each] for each in group)

    def _stated(self) -> tuple[int, Iterable[str] | None]:
        """Return where the last cue states an answer, and which ones it states."""
        for start, end in self._statement.cues("answer", "so"):
            alone = _whole(self._statement.text[start:end], self._options)
            inside = [each for each in self._mentions if start <= each.start < end]
            if alone and inside and inside[0].is_letter:
                alone = inside[0].answers.union(alone)
            if alone and not (inside and inside[0] not in self._affirmed):
                return start, self._unlisted(start, end, alone)
            if not inside:
                if self._statement.connects(start, end):
                    return start, ()
                continue
            first = inside[0].start
            if not self._statement.states(start, first):
                continue
            affirmed = [each for each in inside if each in self._affirmed]
            if affirmed:
                leads = affirmed[0].start - start < _LEADS
                answers = self._one_of(affirmed, leads=leads)
                return affirmed[0].start, self._unlisted(start, end, answers)
        return -1, None

    def _unlisted(self, start: int, end: int, answers: Iterable[str]) -> Iterable[str]:
        """Return what a cue states, or all options of a list that follows it."""
        text = self._statement.text
        if "\n" not in text[start:end].rstrip():
            return answers
        lines = [line for line in text[end:].split("\n") if line.strip()]
        following = _LISTED.match(lines[0]) if lines else None
        return (*self._options.answers,) if following else answers

    def _one_of(self, mentions: Sequence[Mention], *, leads: bool) -> Iterable[str]:
        """Return what mentions name: all, or the first one and then reasons for it."""
        first = mentions[0]
        others = [each for each in mentions if each.answers != first.answers]
        if not others:
            return first.answers
        end = max(each.end for each in mentions if each.start < others[0].start)
        gap = self._statement.lowered[end : others[0].start]
        is_joined = bool(_join().fullmatch(gap))
        if is_joined and "." in gap:
            is_joined = bool(_ENDS.match(self._statement.text, others[0].end))
        if leads and not is_joined:
            return first.answers
        return {answer for each in mentions for answer in each.answers}

    def _at_start(self) -> Iterable[str]:
        """Return what the reply begins with."""
        text = self._statement.text
        if not self._affirmed or self._affirmed[0] != self._mentions[0]:
            return ()
        first = self._affirmed[0]
        if re.search(r"\w", text[: first.start]):
            return ()
        return self._one_of(self._affirmed[: 2 if first.is_letter else 1], leads=True)

    def _alone(self) -> Iterable[str] | None:
        """Return the option that stands alone in the first sentence or last line."""
        text = self._statement.text
        lines = [line for line in text.split("\n") if line.strip()]
        last = _whole(lines[-1], self._options) if len(lines) > 1 else frozenset()
        before = _whole(lines[-2], self._options) if last else frozenset()
        if before and before != last:
            return None
        start = self._at_start()
        listed = [line for line in lines[1:] if _LISTED.match(line)]
        ends = start and _STRONG.match(text, self._affirmed[0].end)
        first = {*self._one_of(self._affirmed, leads=True)} if ends else set()
        if listed or not first:
            return last or None
        return first | last


def _mentions(statement: Statement, options: Options) -> Iterator[Mention]:
    """Yield the places that name an option, in their order."""
    named = [*_texts(statement, options)]
    for match in _LETTER.finditer(statement.text):
        start, end = match.span(match.lastindex or 0)
        answers = options.letters.get(statement.text[start:end].upper())
        if answers is None or statement.taken[start]:
            continue
        if match[1] and _is_no_letter(statement, start, end):
            continue
        statement.taken[start:end] = b"\1" * (end - start)
        behind = _TEXT_BEHIND.match(statement.text, end)
        texts = _with_text(behind[1], options) if behind else answers
        if not answers & texts:
            answers |= texts  # `A. London`, where A is Paris
        named.append(
            Mention(start, end, answers, match.lastindex == _SMALL, is_letter=True)
        )
    yield from sorted(named)


def _texts(statement: Statement, options: Options) -> Iterator[Mention]:
    """Yield the places with the text of an option, the longest options first."""
    text, taken = statement.lowered, statement.taken
    for option in options.options:
        for form in option.forms:
            start = text.find(form)
            while start >= 0:
                end = start + len(form)
                if taken.find(1, start, end) < 0 and _is_apart(text, start, end):
                    taken[start:end] = b"\1" * len(form)
                    yield Mention(start, end, frozenset((option.answer,)))
                start = text.find(form, start + 1)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Tell whether a form is no part of another word or number."""
    before, behind = text[max(0, start - 2) : start], text[end : end + 2]
    first, last = text[start], text[end - 1]
    if end - start == 1 and _HAN.match(first):
        is_free = not _HAN.match(before[-1:]) or _BESIDE_HAN[0].search(before)
        return bool(
            is_free and (not _HAN.match(behind) or _BESIDE_HAN[1].match(behind))
        )
    if HANGUL[0] <= last <= HANGUL[2]:
        is_end = not re.match(f"[{HANGUL}]", behind) or words("particle").match(behind)
        return not before[-1:].isalnum() and bool(is_end)
    return _is_edge(first, before[::-1]) and _is_edge(last, behind, is_end=True)


def _is_edge(inner: str, outer: str, *, is_end: bool = False) -> bool:
    """Tell whether a word may end between a sign of it and the two next to it."""
    if not _is_word(inner) or _NO_BLANKS.match(inner) or not outer:
        return True
    if _is_word(outer[0]):
        # `5\uac1c`, `B\u304c`: a word of a script without case goes on behind
        return inner.isascii() and not re.match(rf"[{CASED}\d]", outer[0])
    if inner.isdigit() and outer[0] in ("%^/*" if is_end else "-+.^/_\u2212"):
        return False
    further = outer[1:]
    if outer[0] not in ("-.,:" if inner.isdigit() else "-.") or not further:
        return True
    return not (further.isdigit() if outer[0] in ".,:" else further.isalnum())


def _is_no_letter(statement: Statement, start: int, end: int) -> bool:
    """Tell whether a capital is a word, such as `A`, or belongs to a name."""
    text, lowered = statement.text, statement.lowered
    if _NAMED.search(lowered[max(0, start - 12) : start]):
        return True
    letter, behind = text[start:end], text[end:]
    if letter not in _WORDS:
        return False
    is_word = _WORD_BEHIND.match(behind) or (letter == "I" and behind[:1] == ",")
    if not is_word or text[start - 1 : start] in ("(", "[", '"', "'"):
        return False
    if _CALLED.search(lowered[max(0, start - 12) : start]):
        return False
    if letter == "A" and _NO_NOUN.match(lowered, end):
        return False
    following = _join().match(lowered, end)
    if following and following.end() > end + 1:
        place = following.end()
        if _LETTER.match(text, place) or statement.taken.find(1, place) == place:
            return False
    if words("break").match(lowered, end + 1):
        return False
    return not (statement.is_affirmed(end) or statement.is_negated(end, end))


@cache
def _join() -> re.Pattern[str]:
    return re.compile(rf"[^\w\n]*(?:(?:{words('join').pattern})[^\w\n]*)*")
