"""HELM's comparisons of texts."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any

import polars as pl
from pydantic import Field

from evalkit import Metric, Parameters


class TextMetric(Metric):
    """Mean over examples of a share, 0 to 1, of which a missing prediction has none."""

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one", "any-of")
    worst_value = 0.0


class TextComparison(TextMetric):
    """Mean over examples of the best score that an acceptable answer gives.

    A missing prediction that counts is 0. An empty list of answers is the answer "".
    """

    def score_example(self, prediction: Any, target: Any) -> float:
        """Return the best of the scores against each answer."""
        said = as_text(prediction)
        return max(self.compare(said, answer) for answer in answers_of(target))

    def compare(self, prediction: str, answer: str) -> float:
        """Score a prediction against one answer.

        Args:
            prediction: The prediction.
            answer: The answer.

        Returns:
            0 to 1.
        """
        raise TypeError(f"{type(self).__name__} does not define compare")


def answers_of(target: Any) -> Iterator[str]:
    """Yield the acceptable answers of an example as texts, at least one."""
    given = target if isinstance(target, list) else [target]
    yield from map(as_text, given or [""])


def as_text(value: Any) -> str:
    """Return a value as the text that a run shows of it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def words_of(text: str) -> list[str]:
    """Return the words of a text: lower case, no ASCII punctuation, no articles.

    Punctuation is deleted, and so joins what it stood between.

    Args:
        text: The text.
    """
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def equals(prediction: str, answer: str) -> float:
    """Return 1 where a prediction is not empty and the answer but for outer blanks."""
    return float(bool(prediction) and prediction.strip() == answer.strip())


class HelmExactMatch(TextComparison):
    """Share of predictions that equal an acceptable answer but for outer blanks.

    It differs from `exact-match` in two ways: blanks at either end of prediction and
    answer do not count, and an empty prediction is wrong, also where the answer is
    empty. A missing prediction that counts is wrong. Range 0 to 1, in %, higher is
    better; Wilson's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2023; `exact_match` of
    HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("helm-exact-match", ["33 ", ""], ["33", ""])
        >>> found["helm-exact-match"].value
        0.5
    """

    interval = "wilson"

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where they are equal but for outer blanks, else 0."""
        return equals(prediction, answer)


class HelmF1(TextComparison):
    """Mean F1 of the sets of tokens of prediction and answer.

    Per example 2 shared / (predicted + right), where each token counts once, and then
    the mean. It differs from `squad-f1` in two ways: tokens that are repeated count
    once, and where neither text has a token it is 0 and not 1. Both are normalised as
    there (lower case, without ASCII punctuation, without a, an and the). Of several
    acceptable answers the best counts; a missing prediction that counts is 0. Range 0
    to 1, in %, higher is better; Student's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2023; `f1_score` of
    HELM 0.5.16, which is `nltk.metrics.scores.f_measure` of sets.

    Example:
        >>> import evalkit
        >>> evalkit.score("helm-f1", ["no no no"], ["no"])["helm-f1"].value
        1.0
    """

    interval = "t"

    def compare(self, prediction: str, answer: str) -> float:
        """Return F1 of the sets of tokens."""
        said, right = (set(words_of(text)) for text in (prediction, answer))
        sizes = len(said) + len(right)
        return 2 * len(said & right) / sizes if sizes else 0.0


class IndicatorParameters(Parameters):
    """What stands before that which is compared."""

    indicator: str = Field(" ", min_length=1)
    """The text; a blank, if nothing is said, so that the last words are compared."""


class HelmExactMatchIndicator(TextComparison):
    """Share of predictions whose end, after the last indicator, equals the answer's.

    Of prediction and answer what follows the last occurrence of `indicator` (all of a
    text without one) is compared as `helm-exact-match` does, so that a prediction that
    ends in the indicator is wrong. A missing prediction that counts is wrong. Range 0
    to 1, in %, higher is better; Wilson's interval.

    Source: `exact_match_indicator` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> name = "helm-exact-match-indicator"
        >>> evalkit.score(name, ["so it is Rome"], ["Rome"])[name].value
        1.0
    """

    Parameters = IndicatorParameters
    interval = "wilson"

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where what follows the last indicator is equal, else 0."""
        parameters = self.parameters
        assert isinstance(parameters, IndicatorParameters)
        mark = parameters.indicator
        return equals(prediction.split(mark)[-1], answer.split(mark)[-1])


_NOTHING = "Nothing."


class HelmSetMatch(TextMetric):
    """Agreement of two sets that are written as sentences: exact, IoU and F1.

    A text is the set of what stands between " and " after its last " is ", without full
    stops; `Nothing.` is the empty set. Of a prediction the first line alone is read.
    `#exact` is 1 where the sets are equal, `#iou` is shared / all, `#f1` is
    2 shared / (predicted + right); against the empty set all are 1 for the empty set,
    else 0. Blanks and case count, which sets this apart from `iou-set-match`. Of
    several acceptable answers the best counts, for each score; a missing prediction
    that counts is 0. Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: `exact_set_match`, `iou_set_match` and `f1_set_match` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> said, right = "It is red and tall.", "It is red."
        >>> evalkit.score("helm-set-match", [said], [right])["helm-set-match#iou"].value
        0.5
    """

    interval = "t"
    scores = {"exact": {"interval": "wilson"}, "iou": {}, "f1": {}}

    def score_example(self, prediction: Any, target: Any) -> dict[str, float]:
        """Return the best of each score against each answer."""
        said = _set_of(as_text(prediction).partition("\n")[0])
        found = [_compare(said, _set_of(answer)) for answer in answers_of(target)]
        return {name: max(each[name] for each in found) for name in self.scores}


def _set_of(text: str) -> frozenset[str]:
    if text == _NOTHING:
        return frozenset()
    return frozenset(text.replace(".", "").split(" is ")[-1].split(" and "))


def _compare(said: frozenset[str], right: frozenset[str]) -> dict[str, float]:
    if not right:
        return dict.fromkeys(HelmSetMatch.scores, float(not said))
    shared = len(said & right)
    return {
        "exact": float(said == right),
        "iou": shared / len(said | right),
        "f1": 2 * shared / (len(said) + len(right)),
    }


_FORMULA = re.compile(r"[-+*/%.()\d]+")


class HelmClevaMathResultMatch(TextComparison):
    """Share of predictions whose last number or formula equals the answer.

    The last run of digits, points, brackets and the signs - + * / % is compared as
    `helm-exact-match` does, without closing brackets before it; all of a prediction
    that has none. A full stop after a number is part of it, so that `It is 15.` is
    wrong for `15`: `final-number-match` knows better. Of several acceptable answers one
    must be equal; a missing prediction that counts is wrong. Range 0 to 1, in %, higher
    is better; Wilson's interval.

    Source: `cleva_math_result_match` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> name = "helm-cleva-math-result-match"
        >>> evalkit.score(name, ["so 3/4", "It is 15."], ["3/4", "15"])[name].value
        0.5
    """

    interval = "wilson"

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the last formula equals the answer, else 0."""
        found = _FORMULA.findall(prediction)
        return equals(found[-1].lstrip(")") if found else prediction, answer)


class HelmAbsoluteValueDifference(Metric):
    """Mean distance of whole numbers, in which what is no number counts as no distance.

    Commas are taken out. Where prediction or answer is no whole number the distance is
    0, the best that there is: HELM's definition, and the reason to prefer `mae`. The
    score is flagged with how many examples these are. Of several acceptable answers
    the closest counts (HELM: the farthest, as it takes the greatest value of every
    metric). A missing prediction that counts has no worst value, so that the score is
    null then. Range 0 to infinity, lower is better; Student's t.

    Source: `absolute_value_difference` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> name = "helm-absolute-value-difference"
        >>> found = evalkit.score(name, ["1,003", "many"], ["1000", "1000"])[name]
        >>> found.value, found.flag
        (1.5, '1 example has no whole number and counts 0; fewer than 10 examples')
    """

    unit = ""
    bounds = (0.0, None)
    higher_is_better = False
    answer_kinds = ("one", "any-of", "number")
    interval = "t"
    per_example = "distance"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the distance of every example, and whether there is none."""
        rows = batch.select("prediction", "target").iter_rows()
        found = [_distance(prediction, target) for prediction, target in rows]
        distances = pl.Series(found, dtype=pl.Float64)
        return pl.DataFrame(
            {
                "distance": distances.fill_null(0.0),
                "lacking": distances.is_null().cast(pl.Float64),
            }
        ).with_columns(pl.int_range(pl.len()).alias("row"), examples=pl.lit(1.0))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the mean, and say how many examples have no distance."""
        lacking = pl.col("lacking")
        count = lacking.round().cast(pl.Int64)
        word = pl.when(count == 1).then(pl.lit("example has"))
        text = pl.format(
            "{} {} no whole number and {} 0",
            count,
            word.otherwise(pl.lit("examples have")),
            pl.when(count == 1).then(pl.lit("counts")).otherwise(pl.lit("count")),
        )
        return sums.select(
            "group",
            value=pl.col("distance") / pl.col("examples"),
            flag=pl.when(count > 0).then(text),
        )


def _distance(prediction: Any, target: Any) -> float | None:
    said = _whole_number(as_text(prediction))
    right = [_whole_number(answer) for answer in answers_of(target)]
    known = [number for number in right if number is not None]
    if said is None or not known:
        return None
    return min(float(abs(said - number)) for number in known)


def _whole_number(text: str) -> int | None:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        return None
