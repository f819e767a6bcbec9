"""Accuracy of answers to questions about images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polars as pl

from evalkit import MetricContext
from evalkit_metrics_text.comparison import ComparisonMetric

_MARKS = ';/[]"{}()=+\\_-><@`,?!'
"""Punctuation that is removed; full stops and apostrophes have rules of their own."""

_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
_ARTICLES = frozenset({"a", "an", "the"})

_NUMBER_WORDS = "zero one two three four five six seven eight nine ten"
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())}
_DIGITS["none"] = "0"

_WITH_APOSTROPHE = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't
    hadn't've hasn't haven't he'd he'd've he's how'd how'll how's isn't it'd it'd've
    it'll ma'am mightn't mightn't've might've mustn't must've needn't not've o'clock
    oughtn't shan't she'd've should've shouldn't shouldn't've somebody'd somebody'd've
    somebody'll somebody's someone'd someone'd've someone'll someone's something'd
    something'd've something'll that's there'd there'd've there're there's they'd
    they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're
    what's what've when's where'd where's where've who'd who'd've who'll who's who've
    why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've
    you'd you'd've you'll you're you've
"""


def _without_one(word: str) -> Iterator[str]:
    """Yield a word without one of its apostrophes, for each of them."""
    for place, mark in enumerate(word):
        if mark == "'":
            yield word[:place] + word[place + 1 :]


_CONTRACTIONS = {
    bare: word for word in _WITH_APOSTROPHE.split() for bare in _without_one(word)
}


def normalise_answer(text: str) -> str:
    """Normalise an answer as VQA's evaluation script does.

    Punctuation becomes a blank, or nothing where a blank stands beside it or a comma
    stands between digits of the text; full stops go unless a digit follows. Then lower
    case, number words as digits, no articles, and contractions with their apostrophe.

    Args:
        text: A prediction or an answer.

    Returns:
        The normalised text.
    """
    plain = text.replace("\n", " ").replace("\t", " ").strip()
    deletes_all = bool(_COMMA_IN_NUMBER.search(plain))
    table = {
        ord(mark): ""
        if deletes_all or f"{mark} " in plain or f" {mark}" in plain
        else " "
        for mark in _MARKS
        if mark in plain
    }
    bare = _FULL_STOP.sub("", plain.translate(table)).lower()
    words = [_DIGITS.get(word, word) for word in bare.split()]
    return " ".join(_CONTRACTIONS.get(w, w) for w in words if w not in _ARTICLES)


AGREEING = 3
"""How many people must have given an answer for it to be right."""

TOO_FEW = "examples with 2 or 3 answers, where 1 cannot be reached"


class VqaAccuracy(ComparisonMetric[str]):
    """Mean agreement with ten people's answers, of which three make one right.

    Per example the mean over the m answers of min(1, equal ones among the others / 3),
    and then the mean: with ten answers 0, 30, 60, 90 and 100 % for 0, 1, 2, 3 and 4
    equal ones. A single answer, given as a text or a list of one, is simply compared;
    with two or three 33 and 67 % are the most, and the score is flagged with the number
    of such examples. All are normalised: lower case, number words as digits, common
    contractions with their apostrophe, without articles and most punctuation. A missing
    prediction that counts is 0. Range 0 to 1, in %, higher is better; Student's
    interval.

    Source: Antol et al., VQA: Visual Question Answering, 2015, section 3, and its
    evaluation script, which leaves texts as they are where all answers are the same;
    Dynabench's `vqa_accuracy`, where a single answer scores 0.

    Example:
        >>> import evalkit
        >>> people = ["2"] * 3 + ["two dogs"] * 7
        >>> evalkit.score("vqa-accuracy", ["Two"], [people])["vqa-accuracy"].value
        0.9
    """

    interval = "t"

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise_answer(text)

    def score_of(self, prediction: str, answers: Sequence[str]) -> float:
        """Return the mean over the answers, each left out in turn."""
        equal, count = answers.count(prediction), len(answers)
        if count == 1:
            return float(equal)
        of_equal = equal * min(AGREEING, equal - 1)
        of_others = (count - equal) * min(AGREEING, equal)
        return (of_equal + of_others) / (AGREEING * count)

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example, and whether it could not be 1."""
        rows = super().statistics(batch, context)
        if context.answer_kind != "any-of":
            return rows.with_columns(few=pl.lit(0.0))
        count = batch["target"].list.drop_nulls().list.len()
        return rows.with_columns(few=count.is_in([2, 3]).cast(pl.Float64))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum of the scores by the number of examples."""
        few = pl.col("few")
        flag = pl.format(f"{TOO_FEW}: {{}}", few.round().cast(pl.Int64))
        return sums.select(
            "group",
            value=pl.col("score") / pl.col("examples"),
            flag=pl.when(few > 0).then(flag),
        )
