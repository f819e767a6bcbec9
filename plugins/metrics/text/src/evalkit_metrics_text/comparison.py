"""Comparison of a prediction with its acceptable answers, which most metrics do."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

import polars as pl

from evalkit import Metric, MetricContext, Parameters
from evalkit.hookspecs import AnswerKind

NO_ANSWER = [""]
"""What an empty list of acceptable answers stands for."""

_BLANK = 0x20
_UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{8}"
"""Eight letters of scripts without blanks between words, as a regular expression."""


class _Separators(dict[int, int]):
    """What becomes of a character where words are told apart, filled when asked."""

    def __missing__(self, code: int) -> int:
        category = unicodedata.category(chr(code))
        is_of_word = category[0] in "LMN" or category == "Pc"
        return self.setdefault(code, code if is_of_word else _BLANK)


_SEPARATORS = _Separators()


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters, marks, digits and underscores.

    Args:
        text: The text.

    Returns:
        Its words; everything else separates them.
    """
    return text.translate(_SEPARATORS).split()


def with_unspaced(scored: pl.DataFrame, answers: pl.Series | None) -> pl.DataFrame:
    """Add columns that count texts, and those without blanks between words.

    Args:
        scored: Statistics, a row for each example.
        answers: The acceptable answers to each; None where words need no blanks.

    Returns:
        The statistics with the columns `unspaced` and `texts`.
    """
    numbers = scored.with_columns(unspaced=pl.lit(0.0), texts=pl.lit(1.0))
    if answers is None:
        return numbers
    first = answers.list.get(0, null_on_oob=True)
    unspaced = first.str.contains(_UNSPACED).fill_null(False)
    return numbers.with_columns(unspaced=unspaced.cast(pl.Float64))


def flag_unspaced(scores: pl.DataFrame, sums: pl.DataFrame) -> pl.DataFrame:
    """Flag the scores of groups in which half of the texts have no blanks."""
    flag = "the texts have no blanks between words, see tokens=characters"
    is_unspaced = 2 * pl.col("unspaced") >= pl.col("texts")
    return scores.with_columns(
        flag=sums.select(pl.when(is_unspaced).then(pl.lit(flag))).to_series()
    )


Form = TypeVar("Form")
"""What texts are turned into before they are compared."""


class ComparisonMetric(Metric, Generic[Form]):
    """Mean over examples of the best score that an acceptable answer gives.

    A missing prediction counts 0, also where the right answer is an empty one.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds: ClassVar[Sequence[AnswerKind]] = ("one", "any-of")
    per_example = "score"
    worst_value = 0.0
    accepts_no_prediction = True
    drops_empty: ClassVar[bool] = False
    """Whether answers with an empty form are dropped where another has a form."""
    no_form: ClassVar[str] = ""
    """Why an example is not scored of whose answers none has a form."""

    def form_of(self, text: str) -> Form | None:
        """Turn a text into what is compared.

        Args:
            text: A prediction or an answer.

        Returns:
            Its form; None for a text that cannot be compared.
        """
        raise TypeError(f"{type(self).__name__} does not define form_of")

    def compare(self, prediction: Form, answer: Form) -> float:
        """Score a prediction against one answer.

        Args:
            prediction: Form of the prediction.
            answer: Form of the answer.

        Returns:
            0 to 1.
        """
        raise TypeError(f"{type(self).__name__} does not define compare")

    def score_of(self, prediction: Form, answers: Sequence[Form]) -> float:
        """Score a prediction against all acceptable answers.

        Args:
            prediction: Form of the prediction.
            answers: Forms of the answers, one or more.

        Returns:
            The best score of one of them.
        """
        return max(self.compare(prediction, answer) for answer in answers)

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example, or why it has none."""
        known: dict[str, Form | None] = {}
        rows = [
            self._row(prediction, answers or NO_ANSWER, known)
            for prediction, answers in as_texts(batch, context).iter_rows()
        ]
        schema = {"score": pl.Float64, "not_scored": pl.String}
        return (
            pl.DataFrame(rows, schema=schema, orient="row")
            .with_row_index("row")
            .with_columns(examples=pl.lit(1.0))
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum of the scores by the number of examples."""
        return sums.select("group", value=pl.col("score") / pl.col("examples"))

    def _row(
        self,
        prediction: str | None,
        answers: Sequence[str | None],
        known: dict[str, Form | None],
    ) -> tuple[float, str | None]:
        forms = [self._form(text, known) for text in answers if text is not None]
        usable = [form for form in forms if form is not None]
        if self.drops_empty:
            usable = [form for form in usable if form] or usable
        if not usable:
            return 0.0, self.no_form or None
        given = None if prediction is None else self._form(prediction, known)
        return (0.0 if given is None else self.score_of(given, usable)), None

    def _form(self, text: str, known: dict[str, Form | None]) -> Form | None:
        """Return the form of a text, made once, because answers are often repeated."""
        try:
            return known[text]
        except KeyError:
            found = known[text] = self.form_of(text)
            return found


def as_texts(batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
    """Return predictions as texts, and answers as lists of texts.

    Args:
        batch: Columns `prediction` and `target`.
        context: Says whether answers are single or lists.

    Returns:
        The same two columns.
    """
    prediction, target = pl.col("prediction"), pl.col("target")
    if context.answer_kind == "any-of":
        return batch.select(prediction.cast(pl.String), target.cast(pl.List(pl.String)))
    types: set[Any] = {batch["prediction"].dtype, batch["target"].dtype}
    if len(types) > 1 and all(found.is_numeric() for found in types):
        # 1 and 1.0 are one answer
        prediction, target = prediction.cast(pl.Float64), target.cast(pl.Float64)
    return batch.select(
        prediction.cast(pl.String), pl.concat_list(target.cast(pl.String))
    )


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalise(text: str, *, keeps_articles: bool = False) -> str:
    """Normalise a text.

    Lower case; without ASCII punctuation, which is deleted and so joins what it stood
    between; without the words a, an and the; blanks as one. What else Unicode has, such
    as « or an accent written apart, is left as it is.

    Args:
        text: A prediction or an answer.
        keeps_articles: Whether articles stay.

    Returns:
        The normalised text.
    """
    bare = text.lower().translate(_PUNCTUATION)
    if not keeps_articles:
        bare = _ARTICLES.sub(" ", bare)
    return " ".join(bare.split())


Tokens = tuple[str, ...]


def token_f1(prediction: Tokens, answer: Tokens) -> float:
    """Return F1 of two lists of tokens, each counted as often as it occurs.

    Args:
        prediction: Tokens of the prediction.
        answer: Tokens of the answer.

    Returns:
        2 shared / (predicted + right); 1 where neither has tokens.
    """
    if prediction == answer:
        return 1.0
    if set(prediction).isdisjoint(answer):
        return 0.0  # also where one of them has no tokens
    shared = (Counter(prediction) & Counter(answer)).total()
    return 2 * shared / (len(prediction) + len(answer))


class PrefixExactMatch(ComparisonMetric[str]):
    """Share of predictions that begin with an acceptable answer, exactly.

    Begins so / all examples, blanks at both ends left out. Characters are compared, not
    words: `334` begins with `33`, and every text begins with an empty answer. A missing
    prediction that counts is wrong. Range 0 to 1, in %, higher is better; Wilson's
    interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2022; HELM's
    `prefix_exact_match`, which counts an empty prediction as wrong also where the
    answer is empty.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("prefix-exact-match", ["Boston, MA"], ["Boston"])
        >>> found["prefix-exact-match"].value
        1.0
    """

    interval = "wilson"

    def form_of(self, text: str) -> str:
        """Return the text without blanks at its ends."""
        return text.strip()

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the prediction begins with the answer, else 0."""
        return float(prediction.startswith(answer))


class ArticleParameters(Parameters):
    """How texts are normalised."""

    articles: Literal["remove", "keep"] = "remove"
    """Whether a, an and the are removed, or kept as other words."""


class QuasiExactMatch(ComparisonMetric[str]):
    """Share of predictions that equal an acceptable answer but for form.

    Equal / all examples, after both were normalised: lower case, without ASCII
    punctuation and without a, an and the (which `articles=keep` leaves), blanks as one.
    With articles removed it is `squad-em` as HELM has it: an answer that becomes
    empty counts beside others too. If both become empty, they are equal. A missing
    prediction that counts is wrong. Range 0 to 1, in %, higher is better;
    Wilson's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2022; HELM's
    `quasi_exact_match`, and with `articles=keep` `quasi_leave_articles_exact_match`,
    which count an empty prediction as wrong also where the answer is empty.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("quasi-exact-match", ["The cat."], ["cat"])
        >>> found["quasi-exact-match"].value
        1.0
    """

    Parameters = ArticleParameters
    interval = "wilson"

    def __init__(self, parameters: ArticleParameters | None = None) -> None:
        super().__init__(parameters)
        given = parameters or ArticleParameters()
        self._keeps_articles = given.articles == "keep"

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise(text, keeps_articles=self._keeps_articles)

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the normalised texts are the same, else 0."""
        return float(prediction == answer)


class QuasiPrefixExactMatch(PrefixExactMatch):
    """Share of predictions that begin with an acceptable answer but for form.

    Begins so / all examples, after both were normalised: lower case, without ASCII
    punctuation and without a, an and the, blanks as one. Characters are compared, not
    words. Every prediction begins with an answer that becomes empty, such as `the`.
    A missing prediction that counts is wrong. Range 0 to 1, in %, higher is
    better; Wilson's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2022; HELM's
    `quasi_prefix_exact_match`, which counts an empty prediction as wrong also where the
    answer is empty.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("quasi-prefix-exact-match", ["A cat sat"], ["cat."])
        >>> found["quasi-prefix-exact-match"].value
        1.0
    """

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise(text)


class SquadExactMatch(ComparisonMetric[str]):
    """Share of predictions that equal an acceptable answer after normalisation.

    Equal / all examples. Prediction and answer are normalised: lower case, without
    ASCII punctuation and without a, an and the, blanks as one. If both
    become empty, they are equal. An answer that becomes empty only counts if all do.
    A missing prediction that counts is wrong. Range 0 to 1, in %, higher is better;
    Wilson's interval.

    Source: Rajpurkar et al., Know What You Don't Know: Unanswerable Questions for
    SQuAD, 2018; `exact` of SQuAD 2.0's evaluation script.

    Example:
        >>> import evalkit
        >>> evalkit.score("squad-em", ["The cat!"], [["cat", "dog"]])["squad-em"].value
        1.0
    """

    interval = "wilson"
    drops_empty = True

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise(text)

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the normalised texts are the same, else 0."""
        return float(prediction == answer)


class SquadF1(ComparisonMetric[Tokens]):
    """Mean F1 of the tokens of prediction and answer, as SQuAD counts them.

    Per example 2 shared / (predicted + right) tokens, each shared as often as it occurs
    in both, and then the mean. Tokens are what stands between blanks after both were
    normalised: lower case, without ASCII punctuation and without a, an and the. Of
    several acceptable answers the best counts, without those that have no tokens unless
    all have none. Where prediction or answer has no tokens it is 1 if neither has any,
    else 0; a missing prediction that counts is 0. Range 0 to 1, in %, higher is better;
    Student's interval.

    Source: Rajpurkar et al., Know What You Don't Know: Unanswerable Questions for
    SQuAD, 2018; `f1` of SQuAD 2.0's evaluation script.

    Example:
        >>> import evalkit
        >>> evalkit.score("squad-f1", ["the cat sat"], ["A cat."])["squad-f1"].value
        0.6666666666666666
    """

    interval = "t"
    drops_empty = True

    def form_of(self, text: str) -> Tokens:
        """Return the words of the normalised text."""
        return tuple(normalise(text).split())

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Return F1 of the tokens, each counted as often as it occurs."""
        return token_f1(prediction, answer)


class TokenParameters(Parameters):
    """What tokens are."""

    tokens: Literal["words", "characters", "blanks"] | None = None
    """`words` (runs of letters, marks and digits), their `characters`, or what stands
    between `blanks`. Default: `characters` if the dataset's languages write no blanks
    between words, such as Chinese and Thai, else `words`."""
    lowercase: bool = True
    """Whether capitals count as small letters."""


class TokenF1(ComparisonMetric[Tokens]):
    """Mean F1 of the tokens of prediction and answer, in any language.

    Per example 2 shared / (predicted + right) tokens, each shared as often as it occurs
    in both, and then the mean. No word is left out, as SQuAD's F1 does with English
    articles. Both texts are first put into Unicode's form NFC, and into lower case but
    for `lowercase=false`. `tokens=words`, the default, takes runs of letters, marks,
    digits and underscores; `tokens=characters` each character of them, for scripts
    without blanks between words and the default of datasets in such languages;
    `tokens=blanks` what stands between blanks, with its
    punctuation. Of several acceptable answers the best counts. Where either has no
    tokens it is 1 if neither has any, else 0; a missing prediction that counts is 0.
    Range 0 to 1, in %, higher is better; Student's interval.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; the F1 of SQuAD's
    evaluation script (Rajpurkar et al., 2016) without its normalisation.

    Example:
        >>> import evalkit
        >>> evalkit.score("token-f1", ["the cat sat"], ["The cat."])["token-f1"].value
        0.8
    """

    Parameters = TokenParameters
    interval = "t"

    def __init__(self, parameters: TokenParameters | None = None) -> None:
        super().__init__(parameters)
        given = parameters or TokenParameters()
        self._given, self._lowercase = given.tokens, given.lowercase
        self._tokens = self._given or "words"

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example, or why it has none."""
        tokens = self._given or ("characters" if context.lacks_blanks else None)
        self._tokens = tokens or "words"
        answers = None if tokens else as_texts(batch, context)["target"]
        return with_unspaced(super().statistics(batch, context), answers)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum of the scores, and flag texts without blanks."""
        return flag_unspaced(super().finalize(sums), sums)

    def form_of(self, text: str) -> Tokens:
        """Return the tokens of a text."""
        plain = unicodedata.normalize("NFC", text.lower() if self._lowercase else text)
        if self._tokens == "blanks":
            return tuple(plain.split())
        words = words_of(plain)
        return tuple("".join(words) if self._tokens == "characters" else words)

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Return F1 of the tokens, each counted as often as it occurs."""
        return token_f1(prediction, answer)
