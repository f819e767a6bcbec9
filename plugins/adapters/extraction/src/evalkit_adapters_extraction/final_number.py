"""`final-number`: the number that a text states, or the last one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import polars as pl
from pydantic import Field

from evalkit_adapters_extraction.settings import Found, by_distinct
from evalkit_adapters_extraction.statements import (
    CASED,
    WITHOUT_BLANKS,
    Statement,
    decimal_sign,
    ends_sentence,
    final_part,
    plain,
    words,
)
from evalkit_adapters_rows import AdapterSettings

_GAPS = "'\u2019"
_DIGITS = (
    rf"(?:\d{{1,3}}(?: \d{{3}})+(?:[.,]\d+)?(?!\d)|\d(?:[\d.,_{_GAPS}]*\d)?|\.\d+)"
)
_SIGN = rf"(?<![^\W{WITHOUT_BLANKS}])(?<![)\]}}])[-+\u2212]"
_SIGNED = rf"(?:{_SIGN})?(?:[$\u20ac\u00a3\u00a5\u20b9\u20b1]\s?[-+\u2212]?)?"
_POWER = (
    r"\s*(?:\\times|\\cdot|[*x\u00d7\u22c5\u00b7])\s*10\s*\^\s*\{?([-+\u2212]?\d+)\}?"
)
_LATEX = (
    r"\\(?:[dtc]?frac|binom|sqrt|log|ln|sin|cos|tan|exp|pi|pm|mp|l(?:floor|ceil)"
    r"|[lg]eq?|neq?)\b\s*(?:\[[^\]]*\])?(?:\{(?:[^{}]|\{[^{}]*\})*\}|\d)*"
)
_TOKEN = re.compile(
    rf"(?P<complex>{_LATEX}|(?:[\u221a\u00b1\u2264\u2265\u2260\u230a\u2308^]|(?<=[^\W\d])/"
    rf"|\b(?:log|ln|sin|cos|tan|sqrt|minus|negative|moins|menos|meno|минус)\b"
    rf"|[负負]|マイナス)\s*[({{]?{_DIGITS}|\|[-\u2212]{_DIGITS}\|"
    rf"|(?:(?<=\w) ?<|(?<=\w )>|[<>!]=)\s*{_DIGITS}|\b0[xXbBoO][0-9a-fA-F]+"
    rf"|[(\[]-?{_DIGITS}(?:(?:,\s|;)\s*-?{_DIGITS}){{1,9}}[)\]]"
    rf"|{_DIGITS}(?:,\s+-?{_DIGITS}){{1,9}}(?=[)\].\s]*(?:\n|$))"
    rf"|(?:{_DIGITS}\s*)?[\u00bc-\u00be\u2150-\u215e]"
    rf"|{_DIGITS}(?:(?:\s*[/\u2044:\u2236\u00b1]\s*|\s*\\pm\s*|[-\u2013\u2014\u2212~\u301c])"
    rf"{_DIGITS})+)"
    rf"|(?P<sign>{_SIGNED})(?P<digits>{_DIGITS})(?:[eE](?P<e>[-+]?\d+)|{_POWER})?"
)
_BEHIND = re.compile(
    r"\)?\s*(?:\^|\*\*)|\)?[\u00b2\u00b3\u00b9\u2070-\u207b]|[!\u03c0\u221a]"
    r"|[kKMBxyzni](?!\w)|_\{| ?pi\b|h\d|\+(?=\W*$)"
    r"|\s*[\u2264\u2265\u2260]|\s[<>]\s|\s*[<>]=|\s*\\[lg]eq?\b"
)
"""What makes a number behind which it stands another one."""
_OPERATOR = re.compile(r"[^\S\n]*[-+\u2212*\u00d7\u00b7\u00f7x][^\S\n]*")
_NAME = re.compile(r"\s*[,;]\s*[^\W\d]\w?\s*")
_CODE = re.compile(rf"(?:[{CASED}]|(?<!\d)\u00d7)\Z")
_MONEY = re.compile(r"(?:^|\W)(?:Rp|Rs|RM|USD|EUR|GBP|CHF|PHP|Tk|kr)$")
_ITEM = re.compile(r"[.)] ")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_BARE = re.compile(rf"\W*{_DIGITS}\W*\w{{0,5}}\W*")
_LINE = re.compile(rf"\W*{_DIGITS}\W*\w*\W*")
"""A line before the last one that holds another answer."""
_LAST = re.compile(rf"(?:[A-Z]:)?{_BARE.pattern}")
"""A last line that is nothing but an answer, as in `A: 18`."""
_MOST = 1_000
"""Numbers of a text that are looked at, the last ones."""
_NOTHING = "there is no number"
_UNCLEAR = "the number may be read in several ways"
_SEVERAL = "several numbers may be the answer"


class FinalNumber:
    r"""Take the number that a text states as its answer, or else its last number.

    The number is looked for in the last `\boxed{…}`, else in a last line that holds
    nothing else, behind the last cue (`Answer:`, `the answer is`, in many languages),
    in bold, and in the last sentence with a number. What stands before a correction
    ("wait, …") and what is denied does not count. If several numbers remain, the one
    behind the last `=` or alone in its clause is taken; otherwise the text is unparsed.

    Of `$1,234.50.` it is `1234.50`: without currency, separators of thousands and a dot
    or comma at its end. A minus is a sign only where it does not join two words or
    numbers. Zeros behind the decimal point that say nothing go: `18.00` is `18`. Digits
    of other scripts become those of ASCII, `6 \times 10^{5}` becomes `6e5`.

    Unparsed is what is no plain number: a fraction, root, power, ratio, range, date,
    another base, `5 million`, `twice 8`, `at least 50`. `130.000`, `1.000.000`, `1 000`
    and `3,5` are read as the data set's language writes numbers, or `language`; without
    a language they are unparsed.

    Source: the final answers of GSM8K (Cobbe et al. 2021); `final_number_exact_match`
    of HELM looks for `-?[\d,]+(?:.\d+)?`. Separators of numbers: Unicode CLDR.

    Example:
        ```yaml
        - kind: final-number
          configuration: {language: de}
        ```
    """

    version = "4"

    class Parameters(AdapterSettings):
        """How numbers are written."""

        language: str | None = Field(
            default=None,
            pattern="^[A-Za-z]{2,3}(-[A-Za-z0-9]+)*$",
            description="Language of the numbers (BCP 47). Default: the data set's",
        )

    def __init__(self, parameters: Parameters) -> None:
        self._language = parameters.language

    def extract_texts(self, texts: pl.Series, languages: Sequence[str]) -> pl.DataFrame:
        """Return the number that each text states."""
        own = languages if self._language is None else (self._language,)
        decimals = {decimal_sign(language) for language in own}
        decimal = decimals.pop() if len(decimals) == 1 else ""
        return by_distinct(texts, lambda text: _find(text, decimal))


class _Number(NamedTuple):
    """A number in a text."""

    start: int
    end: int
    value: str | None
    """None where it may be read in several ways."""


def _find(text: str, decimal: str) -> Found:
    part, is_boxed = final_part(text)
    bold = {
        number.value
        for match in _BOLD.finditer(part)
        if _BARE.fullmatch(match[1]) and not re.match(r"\d+[.)]$", match[1])
        for number in _numbers(Statement(match[1]), decimal)
    }
    statement = Statement(_written(part))
    numbers = _numbers(statement, decimal)[-_MOST:]
    if not numbers:
        return Found(None, _NOTHING)
    last_line = statement.text.rfind("\n") + 1
    if is_boxed or _LAST.fullmatch(statement.text, last_line):
        start = 0 if is_boxed else _first_of_lines(statement.text, last_line)
        numbers = [each for each in numbers if each.start >= start]
        return _one_of(numbers, statement, first=False)
    for start, end in statement.cues("answer"):
        every = [number for number in numbers if start <= number.start < end]
        inside = _affirmed(every, statement)
        if inside and statement.states(start, inside[0].start):
            return _one_of(inside, statement, first=True)
        if not inside and statement.connects(start, end):
            break
    if len(bold) == 1:
        (value,) = bold
        return Found(value, None if value else _UNCLEAR)
    while numbers and not statement.is_unsure():
        start = len(numbers) - 1
        while start and not ends_sentence(
            statement.text, numbers[start - 1].end, numbers[start].start
        ):
            start -= 1
        affirmed = _affirmed(numbers[start:], statement)
        if affirmed:
            return _one_of(affirmed, statement, first=False)
        numbers = numbers[:start]
    return Found(None, _NOTHING)


def _first_of_lines(text: str, start: int) -> int:
    """Return where the lines begin that hold a number alone, as the last one does."""
    before = text[:start].rstrip()
    line = before.rfind("\n") + 1
    is_number = _LINE.fullmatch(text, line, len(before))
    return _first_of_lines(text, line) if is_number else start


def _affirmed(numbers: Sequence[_Number], statement: Statement) -> list[_Number]:
    """Return the numbers that are neither denied nor in a question."""
    return [
        number
        for number in numbers
        if not statement.is_question(number.end)
        and not statement.is_negated(number.start, number.end)
    ]


def _written(text: str) -> str:
    """Return a text with plain digits and without what typesets them."""
    text = text.replace("{,}", ",").replace("\\$", "$").replace("\\%", "%")
    text = re.sub(r"\\[,;!]", "", text).translate(_SEPARATORS)
    text = re.sub(r"(?<=\d)[\u00a0\u202f\u2009](?=\d{3}(?!\d))", "'", text)
    digits = "".join(
        str(unicodedata.digit(sign)) if sign.isdecimal() else sign for sign in text
    )
    return plain(digits if not text.isascii() else text)


_SEPARATORS = str.maketrans("\u066b\u066c", ".,")


def _one_of(numbers: Sequence[_Number], statement: Statement, *, first: bool) -> Found:
    """Return the one value of some numbers, or of those behind `=` or in one clause."""
    equals = statement.text.rfind("=", numbers[0].start, numbers[-1].start)
    end = statement.clause(numbers[0].end)
    if first and end < equals:
        stated = [each for each in numbers if each.start < end]
        return _one_of(stated, statement, first=True)
    behind = [each for each in numbers if each.start > equals >= 0]
    before = [each.end for each in numbers if each.start < equals]
    gap = statement.lowered[before[-1] : equals] if before else ""
    if words("join").search(gap) or _NAME.fullmatch(gap):
        return Found(None, _SEVERAL)  # x = 1 or x = 2, x = 1, y = 2
    own = behind or numbers
    ends = [statement.clause(own[0].end), statement.text.find("(", own[0].end)]
    end = min(end for end in ends if end >= 0)
    same = [each for each in own if each.start < end]
    for group in (numbers, behind, same) if first else (numbers, behind):
        values = {each.value for each in group}
        if len(values) == 1:
            (value,) = values
            return Found(value, None if value else _UNCLEAR)
    return Found(None, _SEVERAL)


def _numbers(statement: Statement, decimal: str) -> list[_Number]:
    """Return the numbers of a text, but those of a list's items and within names."""
    numbers = []
    text = statement.text
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        before = text[max(0, start - 4) : start]
        is_first = start == 0 or before.endswith("\n")
        if is_first and match["digits"] and _ITEM.match(text, end):
            continue
        if _CODE.search(before) and not _MONEY.search(before):
            continue
        statement.taken[start:end] = b"\1" * (end - start)
        is_plain = match["digits"] and not _BEHIND.match(text, end)
        is_scaled = words("scale").match(statement.lowered[end : end + 20].lstrip())
        is_other = is_scaled or statement.is_another(start)
        value = _value(match, decimal) if is_plain and not is_other else None
        numbers.append(_Number(start, end, value))
    for place, (one, other) in enumerate(pairwise(numbers)):
        if _OPERATOR.fullmatch(text, one.end, other.start):
            # of a calculation without its result nothing is the answer
            numbers[place] = one._replace(value=None)
            numbers[place + 1] = other._replace(value=None)
    return numbers


def _value(match: re.Match[str], decimal: str) -> str | None:
    """Return a number as JSON writes it."""
    plain_digits = _without_groups(match["digits"], decimal)
    if plain_digits is None:
        return None
    whole, dot, rest = plain_digits.partition(".")
    exponent = match["e"] or match[match.re.groups]
    tail = f"{dot}{rest}" if rest.strip("0") else ""
    sign = "-" if re.search("[-\u2212]", match["sign"]) else ""
    power = f"e{exponent.replace(chr(0x2212), '-').lstrip('+')}" if exponent else ""
    return f"{sign}{whole or '0'}{tail}{power}"


def _without_groups(digits: str, decimal: str) -> str | None:
    """Return digits with a decimal point and without separators; None if unclear."""
    digits = re.sub(rf"(?<=\d)[{_GAPS}](?=\d{{3}}(?!\d))", "", digits)
    if decimal == ",":
        digits = digits.replace(" ", "")
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        decimal = "," if comma > dot else "."
    elif dot >= 0 and decimal != ".":
        # one group of three is unclear, unless the language tells
        if not decimal and re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):
            return None
        is_grouped = decimal and re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3})+", digits)
        decimal = "," if is_grouped else "."
    decimal = decimal or "."
    group = "." if decimal == "," else ","
    whole, sign, rest = digits.partition(decimal)
    groups = rf"[1-9]\d{{0,2}}(?:\{group}\d{{2,3}})*\{group}\d{{3}}"
    if re.fullmatch(groups, whole):
        whole = whole.replace(group, "")
    is_plain = re.fullmatch(r"\d*", whole) and re.fullmatch(r"\d*", rest)
    return f"{whole}{'.' if sign else ''}{rest}" if is_plain else None
