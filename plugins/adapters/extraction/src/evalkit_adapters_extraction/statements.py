"""How replies state answers: cues, corrections, clauses and negation, by language."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from evalkit_adapters_extraction.boxed import last_box

CASED = (
    "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u058f"
    "\u1c80-\u1cbf\u1d00-\u1fff\ua640-\uab6f"
)
"""Letters of scripts with case: Latin, Greek, Cyrillic, Armenian."""
WITHOUT_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
)
"""Scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana, Han."""
HANGUL = "\uac00-\ud7a3"

_SIGN = r"\w\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
"""Letters, digits, and the marks that `\\w` lacks in scripts of India."""
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SIGNS = str.maketrans("\u2018\u2019\u201c\u201d\u3000\u00a0", "''\"\"  ")
_EMPHASIS = re.compile(
    r"(?<!\d)\*\*|\*\*(?!\d)|__|(?<!\w)[*_`]+|[*_`]++(?!\w)|\\[()\[\]]|\$"
)
_TYPESET = re.compile(r"[*_`$\\]|[^\S\n ]|  ")
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textit)\s*\{([^{}]*)\}")
_BLANKS = re.compile(r"[^\S\n]+")
_SENTENCE_END = re.compile(r"(?:\.(?=\s|$)|[!?])|[\u3002\uff01\uff1f\u0964\u061f\n]")
_CUE_END = re.compile(
    rf"(?<![:\n])(?<!: )(?<! [\u0590-\u0e7f])(?:{_SENTENCE_END.pattern})"
)
"""The end of a sentence, but not of a line that ends in a colon, or a letter's dot."""
_NOT_ONLY = re.compile(
    r" ?(?:only|just|nur|seulement|s[oó]lo|só|apenas|alleen|только|tylko|hanya|saja|chỉ"
    r"|仅|只)"
)
"""What makes no denial of a negator before it."""
_SUPPOSED = re.compile(
    r"\bif\b(?! (?:i|you) (?:ha[dv]e? to|must|ask)).*(?:\bwould\b|'d\b)"
    r"|(?:\bwould\b|'d\b).*\bif\b(?! (?:i|you) (?:ha[dv]e? to|must|ask))"
)
"""A case that does not hold: `A would be right if it were in France`."""
_WORD = re.compile(r"\w")
_QUESTION_END = re.compile(r"(?:\.(?=\s|$)|[!?])|[;:\u3002\u0964\u061f\n]")
_VERDICT = re.compile(r"[^\w\n]*[:=][^\w\n]*(\w+)\W*(?:\n|$)")
_DENIALS = ("not", "wrong")
_LOW = re.compile(r"\s*[:=]\s*(?:0?(?:[.,][0-4]\d*)?|[0-4]?\d ?%)\s*(?:[\n,;|]|$)")
"""The value of a label that it does not have."""
_THAT = "dass|daß|que|qu'|che|что|що|że|żeby|hogy|dat|ότι"
_REACH = 120
"""Characters of a clause that are looked at."""
_CUES = 50
"""Cues of a reply that are looked at, the last ones."""


@cache
def words(kind: str) -> re.Pattern[str]:
    """Return what matches the declared words of a kind in lower case.

    Args:
        kind: A key of `words.toml`.
    """
    # by their first signs, so that a place is compared with few of them
    starts: dict[str, list[str]] = {}
    for word in sorted(_declared(kind), key=lambda word: (-len(word), word)):
        starts.setdefault(word.removeprefix("*")[0], []).append(_word(word))
    groups = (
        f"{re.escape(start)}(?:{'|'.join(rests)})" for start, rests in starts.items()
    )
    return re.compile("|".join(groups))


@cache
def _languages() -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath("words.toml").read_text("utf-8")
    return tomllib.loads(text)


def _declared(kind: str) -> set[str]:
    return {word for each in _languages().values() for word in each.get(kind, ())}


def decimal_sign(language: str) -> str:
    """Return the decimal sign of a language (BCP 47); "" for one that is not known."""
    base, *rest = language.split("-")
    tags = (base.lower(), *(f"{base.lower()}-{part.upper()}" for part in rest))
    signs = [str(_languages()[tag]["decimal"]) for tag in tags if tag in _languages()]
    return signs[-1] if signs else ""


def judging_words() -> list[str]:
    """Return the declared words that state, affirm or deny, in lower case."""
    kinds = ("answer", "so", "redo", "not", "after", "right", "wrong")
    return sorted(word.strip("*.:!- ") for kind in kinds for word in _declared(kind))


def _word(word: str) -> str:
    """Return what matches a word behind its first sign, with its edges."""
    stem = word.strip("*")
    start, end = stem[0], stem[-1]
    is_inner = word[0] == "*" or not _has_blanks(start)
    before = "" if is_inner else f"(?<![{_SIGN}]{re.escape(start)})"
    is_open = word[-1] == "*" or not _has_blanks(end) or HANGUL[0] <= end <= HANGUL[2]
    return f"{before}{re.escape(stem[1:])}" + ("" if is_open else f"(?![{_SIGN}])")


def _has_blanks(sign: str) -> bool:
    is_word = sign.isalnum() or unicodedata.category(sign)[0] == "M"
    return is_word and not re.match(f"[{WITHOUT_BLANKS}]", sign)


def plain(text: str) -> str:
    """Return a text in NFC without emphasis and wide forms, lines as they are."""
    if text.isascii() and not _TYPESET.search(text):
        return text.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_WIDE).translate(_SIGNS)
    if "\\" in text:
        text = _TEXT.sub(r"\1", text)
    return _BLANKS.sub(" ", _EMPHASIS.sub("", text)).strip()


def lower(text: str) -> str:
    """Return a text in lower case and of the same length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    pairs = ((sign, sign.lower()) for sign in text)
    return "".join(low if len(low) == 1 else sign for sign, low in pairs)


def final_part(text: str) -> tuple[str, bool]:
    r"""Return what stands in the last box, or behind the last correction.

    Returns:
        The part, and whether it is what a box holds.
    """
    box = last_box(text)
    if box is not None:
        return box, True
    corrections = [*words("redo").finditer(lower(text))]
    return (text[corrections[-1].end() :] if corrections else text), False


def ends_sentence(text: str, start: int, end: int) -> bool:
    """Tell whether a sentence ends in a part of a text."""
    return _SENTENCE_END.search(text, start, end) is not None


class Statement:
    """A reply that is searched for answers.

    Args:
        text: The plain text.

    Attributes:
        text: The text.
        lowered: The same in lower case, of the same length.
        taken: 1 for each character that belongs to an answer, so is no negator.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lowered = lower(text).replace("_", " ")
        self.taken = bytearray(len(text))

    def cues(self, *kinds: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of what stands behind each cue, the last one first."""
        matches = (words(kind).finditer(self.lowered) for kind in kinds)
        for start in sorted({each.end() for each in chain(*matches)})[:-_CUES:-1]:
            first = _WORD.search(self.text, start)
            end = _CUE_END.search(self.text, first.start() if first else start)
            yield start, end.start() if end else len(self.text)

    def states(self, start: int, end: int) -> bool:
        """Tell whether a cue and its answer belong together: `is`, `:` or nothing."""
        return not _WORD.search(self.text, start, end) or self.connects(start, end)

    def connects(self, start: int, end: int) -> bool:
        """Tell whether `is` or `:` stands in a part of the text."""
        gap = self.lowered[start : min(end, start + _REACH)]
        gap = words("break").sub(" ", gap)  # \u56e0\u4e3a ends as \u4e3a does
        return bool(re.search("[:=]", gap) or words("is").search(gap))

    def is_question(self, place: int) -> bool:
        """Tell whether the sentence of a place is a question."""
        end = _QUESTION_END.search(self.text, place, place + 2 * _REACH)
        return end is not None and end[0] in ("?", "\u061f")

    def is_negated(self, start: int, end: int) -> bool:
        """Tell whether the clause of an answer denies it."""
        first = max(0, start - _REACH)
        breaks = [*_clause_end().finditer(self.lowered, first, start)]
        # "anything but" ends with what else begins a clause
        if self._has("not", first, start, breaks[-1].end() if breaks else 0):
            return True
        clause = self.clause(end)
        if self._has("after", end, clause):
            return True
        verdict = _VERDICT.match(self.lowered, end)
        if verdict and any(words(kind).fullmatch(verdict[1]) for kind in _DENIALS):
            return True
        low = _LOW.match(self.text, end)
        if low and self.taken.find(1, *low.span()) < 0:
            return True
        near = self._near(end, clause, 3)
        following = self.taken.find(1, end, near)
        if following >= 0:
            return self._has("wrong", end, following)
        return self._has("not", end, near) or self._has("wrong", end, near)

    def is_supposed(self, start: int, end: int) -> bool:
        """Tell whether an answer belongs to a case that does not hold."""
        first = max(0, start - _REACH)
        ends = [*_SENTENCE_END.finditer(self.text, first, start)]
        ends += words("break").finditer(self.lowered, first, start)
        first = max((each.end() for each in ends), default=first)
        return bool(_SUPPOSED.search(self.lowered, first, self.clause(end)))

    def is_another(self, start: int) -> bool:
        """Tell whether the words before an answer make another one of it: `twice 8`."""
        before = self.lowered[max(0, start - 30) : start].rstrip(" ")
        return any(
            match.end() == len(before) for match in words("other").finditer(before)
        )

    def is_unsure(self) -> bool:
        """Tell whether the reply says that it does not know, and then no `but`."""
        for match in words("unsure").finditer(self.lowered):
            end = _SENTENCE_END.search(self.text, match.end())
            limit = end.start() if end else len(self.text)
            if not words("break").search(self.lowered, match.end(), limit):
                return True
        return False

    def is_right_too(self, end: int) -> bool:
        """Tell whether an answer is called right beside others: `B is also right`."""
        return self._has("also", end, self.clause(end))

    def is_affirmed(self, end: int) -> bool:
        """Tell whether a judgement behind an answer calls it right."""
        near = self._near(end, self.clause(end), 5)
        following = self.taken.find(1, end, near)
        return self._has("right", end, near if following < 0 else following)

    def clause(self, start: int) -> int:
        """Return where the clause ends that a place belongs to."""
        limit = min(len(self.text), start + _REACH)
        match = _clause_end().search(self.lowered, start, limit)
        return match.start() if match else limit

    def _near(self, start: int, end: int, count: int) -> int:
        """Return where the next words end; of scripts without blanks, characters."""
        match = re.compile(
            rf"\W*(?:[{WITHOUT_BLANKS}].{{0,7}}|(?:\S+\s*){{0,{count}}})"
        ).match(self.lowered, start, end)
        return match.end() if match else start

    def _has(self, kind: str, start: int, end: int, least: int = 0) -> bool:
        """Tell whether a declared word that belongs to no answer ends in a part."""
        return any(
            match.end() >= least
            and self.taken.find(1, *match.span()) < 0
            and not (kind == "not" and _NOT_ONLY.match(self.lowered, match.end()))
            for match in words(kind).finditer(self.lowered, start, end)
        )


@cache
def _clause_end() -> re.Pattern[str]:
    signs = r"(?:\.(?=\s|$)|[!?])|[;:\n\u3002\u0964\u061f\u061b\u060c\u3001]"
    comma = rf",(?!\s*(?:{_THAT})(?!\w))|\s[-\u2013\u2014]\s|\u2014"
    return re.compile(f"{signs}|{comma}|{words('break').pattern}")
