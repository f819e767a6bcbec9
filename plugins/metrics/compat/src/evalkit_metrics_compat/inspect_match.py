"""Matches of texts and numbers as Inspect makes them."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterator
from typing import Literal

from evalkit import Parameters
from evalkit_metrics_compat.helm_text import TextComparison

_AROUND = string.whitespace + string.punctuation
_AROUND_NUMBERS = "!?:;()[]{}'\"`"
_SIGNS = (re.compile(r"\\?[$£€,*_]"), re.compile(r"\.(?!\d)"))
"""Signs in and around numbers: of currencies, thousands and formats, and full stops."""


class InspectMatchParameters(Parameters):
    """Where the answer stands, and what is compared."""

    location: Literal["begin", "end", "any", "exact"] = "end"
    """Where the answer stands in the prediction; `exact`: it is the prediction."""
    ignore_case: bool = True
    """Whether case does not count."""
    numeric: bool = False
    """Whether numbers are compared by value, if the answer is a number."""
    strip: bool = True
    """Whether blanks and ASCII punctuation at both ends do not count."""


class InspectMatch(TextComparison):
    """Share of predictions that end in, or hold, an acceptable answer.

    Equal / all examples, with case folded, and without blanks and ASCII punctuation at
    both ends; parameters change each of these. With `numeric=true` an answer that is a
    number is compared with the last number of the prediction (`location=begin`: the
    first; `any`: each; `exact`: the prediction), both rounded to five digits, without
    signs of currencies and thousands. A missing prediction that counts is wrong. Range
    0 to 1, in %, higher is better; Wilson's interval.

    Source: `match` and, with `location=any,strip=false`, `includes` of Inspect
    (inspect_ai 0.3.285), which also reads numbers in words and signs of Unicode.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("inspect-match", ["It is Rome."], ["rome"])
        >>> found["inspect-match"].value
        1.0
    """

    Parameters = InspectMatchParameters
    interval = "wilson"

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the answer stands where it should, else 0."""
        given = self.parameters
        assert isinstance(given, InspectMatchParameters)
        if given.numeric:
            right = _number(_without_signs(answer.strip()))
            if right is not None:
                return float(right in _numbers(prediction, given.location))
        if given.ignore_case:
            prediction, answer = prediction.casefold(), answer.casefold()
        if given.strip:
            prediction, answer = prediction.strip(_AROUND), answer.strip(_AROUND)
        is_there = {
            "begin": prediction.startswith,
            "end": prediction.endswith,
            "any": prediction.__contains__,
            "exact": prediction.__eq__,
        }
        return float(is_there[given.location](answer))


def _without_signs(text: str) -> str:
    for signs in _SIGNS:
        text = signs.sub("", text)
    return text


def _numbers(text: str, location: str) -> Iterator[str]:
    """Yield the numbers of a prediction that count."""
    text = _without_signs(text.strip())
    if location == "exact":
        number = _number(text, "")
        yield from () if number is None else (number,)
        return
    words = text.split()
    found = [number for word in words if (number := _number(word)) is not None]
    if location == "any":
        yield from found
    else:
        yield from found[:1] if location == "begin" else found[-1:]


def _number(text: str, around: str = _AROUND_NUMBERS) -> str | None:
    """Return a number with five digits; None for anything else."""
    try:
        number = float(text.strip(around))
    except ValueError:
        return None
    return format(number, ".5g") if math.isfinite(number) else None
