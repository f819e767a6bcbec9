"""`final-number`: the last number of a text."""

from __future__ import annotations

import re
import unicodedata

import polars as pl

from evalkit_adapters_extraction.settings import Found, by_distinct

_SIGN, _CURRENCY = "[-+\u2212]", "[$\u20ac\u00a3\u00a5\u20b9]"
_GAPS = ",\u00a0\u202f\u2009'\u2019"
_DIGITS = rf"\d[\d./{_GAPS}]*"
_TOKEN = (
    (
        rf"(?:\p{{L}}[-\u2212])?{_SIGN}?{_CURRENCY}?\s?{_SIGN}?"
        rf"(?:{_DIGITS}|\.\d+)(?:[-\u2013\u2212]{_DIGITS})*(?:[eE][-+]?\d+)?"
    )
    .replace("\\u2013", "\u2013")
    .replace("\\u2212", "\u2212")
)
"""A number with all that is written close to it."""

_READ = re.compile(
    rf"(?P<sign>[-+\u2212]?)(?P<whole>[0-9]{{1,3}}(?:[{_GAPS}][0-9]{{3}})+|[0-9]*)"
    r"(?P<rest>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
)
_START = re.compile(rf"({_SIGN}?){_CURRENCY}?\s?({_SIGN}?)")
_NOTHING = "there is no number"
_UNCLEAR = "the last number may be read in several ways"


class FinalNumber:
    r"""Take the last number of a text.

    Of `$1,234.50.` it is `1234.50`: without currency, separators of thousands (commas,
    apostrophes, narrow blanks) and a dot or comma at its end. A minus is a sign only
    where it does not join two words or numbers: of `3-5` and `GPT-5` it is `5`. Zeros
    behind the decimal point that say nothing go: `18.00` is `18`. Digits of other
    scripts become those of ASCII.

    A text without a number is unparsed, and so is one whose last number may be read in
    several ways, such as a fraction (`3/4`), a date or `1.000.000`: nothing is guessed.

    Source: the final answers of GSM8K (Cobbe et al. 2021); `final_number_exact_match`
    of HELM looks for `-?[\d,]+(?:.\d+)?`.

    Example:
        ```yaml
        - kind: final-number
        ```
    """

    version = "1"

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return the last number of each text."""
        tokens = texts.str.extract_all(_TOKEN).list.last()
        return by_distinct(tokens.fill_null(""), _number)


def _number(token: str) -> Found:
    if not token:
        return Found(None, _NOTHING)
    text = "".join(map(_ascii_digit, token)).strip()
    joins = re.match(r"\w[-\u2212](?=[^a-zA-Z])", text) if text[0].isalpha() else None
    text = text[2:] if joins else text
    text = _START.sub(lambda match: match[1] or match[2], text, count=1)
    parts = re.split(r"(?<=[0-9.,])[-\u2013\u2212](?=[0-9])", text)
    match = _READ.fullmatch(parts[-1].rstrip(f"./{_GAPS}"))
    if match is None or not (match["whole"] or match["rest"]):
        return Found(None, _UNCLEAR)
    whole = re.sub(f"[{_GAPS}]", "", match["whole"])
    rest = re.sub(r"^\.0+(?=$|[eE])", "", match["rest"])
    sign = "-" if match["sign"] in ("-", "\u2212") else ""
    return Found(f"{sign}{whole or '0'}{rest}")


def _ascii_digit(sign: str) -> str:
    if sign.isascii() or not sign.isdigit():
        return sign
    return str(unicodedata.digit(sign, sign))
