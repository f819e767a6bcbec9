"""Whether the last number of a prediction is right."""

from __future__ import annotations

import re
from decimal import Decimal

from evalkit_metrics_text.comparison import ComparisonMetric

_NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]])[-−])?[$€£¥]?"  # in 3-5 and x-5 the dash is no sign
    r"(?P<digits>(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+)"
    r"(?P<power>[eE][-+]?\d{1,4}(?!\w))?"
)


def last_number(text: str) -> Decimal | None:
    """Return the last number in a text.

    Args:
        text: For example `The answer is $1,200.50.`

    Returns:
        Its exact value; None where there is no number.
    """
    numbers = [*_NUMBER.finditer(text)]
    if not numbers:
        return None
    found = numbers[-1]
    digits = found["digits"].replace(",", "")
    return Decimal(("-" if found["sign"] else "") + digits + (found["power"] or ""))


class FinalNumberMatch(ComparisonMetric[Decimal]):
    """Share of predictions whose last number equals that of an acceptable answer.

    Equal / all examples. Numbers are compared by their exact value: `15`, `15.0` and
    `$15` are equal, `1,234` and `1234` too, where commas stand between thousands. A
    dash is a sign unless a letter, digit or bracket stands before it; units and `%` are
    not looked at, and nothing is calculated: of `1/2` the last number is 2. A
    prediction without a number is wrong, as is a missing one that counts. An example of
    whose answers none holds a number is not scored. Range 0 to 1, in %, higher is
    better; Wilson's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2022; HELM's
    `final_number_exact_match`, which compares the digits as text, so that `15` and
    `15.0` differ, and counts answers without a number as wrong.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("final-number-match", ["6 x 4 = 24.0 eggs"], ["24"])
        >>> found["final-number-match"].value
        1.0
    """

    interval = "wilson"
    answer_kinds = ("one", "any-of", "number")
    no_form = "no acceptable answer holds a number"

    def form_of(self, text: str) -> Decimal | None:
        """Return the last number."""
        return last_number(text)

    def compare(self, prediction: Decimal, answer: Decimal) -> float:
        """Return 1 where the numbers are equal, else 0."""
        return float(prediction == answer)
