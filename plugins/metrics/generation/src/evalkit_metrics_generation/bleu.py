"""BLEU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from evalkit import MetricContext, MetricError, Parameters
from evalkit_metrics_generation.counted import LEAST, CountedMetric, Floats, ratio
from evalkit_metrics_generation.words import UNSPACED

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

SPACED_STOPS = 100
"""From so many predictions that end with a blank and a full stop, texts look as if they
were tokenized, as sacrebleu has it."""

_NO_BLANKS = "the texts have no blanks between words, see tokenize=zh and tokenize=char"

KINDS = ("match", "ngram")
"""What is counted for each order."""

Smoothing = Literal["exp", "floor", "add-k", "none"]


class CountParameters(Parameters):
    """How n-grams are counted and averaged."""

    lowercase: bool = False
    """Whether upper and lower case are the same."""
    smoothing: Smoothing = "exp"
    """What a precision of 0 becomes; `none` leaves it 0."""
    smoothing_value: Annotated[float, Field(gt=0)] | None = None
    """What `floor` (0.1 by default) puts in the place of 0 matches, or `add-k` (1) adds
    to matches and n-grams of two words and more."""
    order: Annotated[int, Field(ge=1, le=9)] = 4
    """How many words the longest n-grams have."""
    effective_order: bool = False
    """Whether to leave out n-grams that are longer than all predictions."""


class BleuParameters(CountParameters):
    """How texts are cut into words, and n-grams counted."""

    tokenize: (
        Literal["13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab"] | None
    ) = None
    """sacrebleu's tokenizer; the last two need `sacrebleu[ja]` and `sacrebleu[ko]`.
    Default: `13a`, but `zh` for datasets in Chinese and `char` for those in other
    languages without blanks between words."""


class CountedBleu(CountedMetric):
    """BLEU, whatever cuts texts into words."""

    splits_at_blanks = False
    """Whether a text without blanks is one word."""

    def _options(self) -> dict[str, Any]:
        """Return what sacrebleu calls the parameters."""
        given = self.parameters
        assert isinstance(given, CountParameters)
        return {
            "lowercase": given.lowercase,
            "smooth_method": given.smoothing,
            "smooth_value": given.smoothing_value,
            "max_ngram_order": given.order,
            "effective_order": given.effective_order,
            "force": True,  # what it would log is a flag here
        }

    def count_names(self) -> list[str]:
        """Return both lengths, matches by order, and n-grams by order."""
        counts = [f"{kind}_{n + 1}" for kind in KINDS for n in range(self._order)]
        return ["length", "reference_length", *counts]

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the counts, and which predictions look tokenized."""
        stops = batch["prediction"].cast(pl.String).str.ends_with(" .").fill_null(False)
        first = batch["target"]
        if first.dtype == pl.List:
            first = first.list.get(0, null_on_oob=True)
        unspaced = first.cast(pl.String).str.contains(f"{UNSPACED.pattern}{{8}}")
        unspaced = unspaced.fill_null(False) & self.splits_at_blanks
        counts = super().statistics(batch, context)
        return counts.with_columns(
            spaced_stops=stops.gather(counts["row"]).cast(pl.Float64),
            unspaced=unspaced.gather(counts["row"]).cast(pl.Float64),
            texts=pl.lit(1.0),
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Return the score of each group, with what its reader should know."""
        counts = sums.select(self.count_names()).to_numpy()
        lengths, by_order = counts[:, :2], counts[:, 2:]
        matches, ngrams = by_order[:, : self._order], by_order[:, self._order :]
        is_empty = lengths.sum(axis=1) < LEAST
        value = _brevity(lengths) * self._mean_precision(matches, ngrams)
        lacks_longest = (
            (ngrams[:, -1] < LEAST) & (value == 0) & (lengths[:, 0] >= LEAST)
        )
        is_unspaced = (pl.col("unspaced") > LEAST) & (
            2 * pl.col("unspaced") >= pl.col("texts")
        )
        flag = (
            pl.when(is_unspaced)
            .then(pl.lit(_NO_BLANKS))
            .when(pl.lit(lacks_longest))
            .then(pl.lit(self._short_text()))
        )
        is_tokenized = pl.col("spaced_stops") >= SPACED_STOPS
        return sums.select(
            "group",
            value=pl.when(~pl.lit(is_empty)).then(pl.lit(value)),
            reason=pl.when(pl.lit(is_empty)).then(
                pl.lit("neither predictions nor the nearest references have a word")
            ),
            flag=flag.when(is_tokenized).then(
                pl.format(
                    "{} predictions end with a blank and a full stop: BLEU is of texts "
                    "as they are printed, not of tokens",
                    pl.col("spaced_stops").round().cast(pl.Int64),
                )
            ),
        )

    @property
    def _order(self) -> int:
        given = self.parameters
        assert isinstance(given, CountParameters)
        return given.order

    def _short_text(self) -> str:
        words = f"{self._order} words"
        return (
            f"no prediction has {words}, so that BLEU is 0 whatever they say; "
            "effective_order=true averages over the n-grams that there are"
        )

    def _mean_precision(self, matches: Floats, ngrams: Floats) -> Floats:
        """Return the geometric mean of the precisions, 0 to 100, smoothed."""
        given = self.parameters
        assert isinstance(given, CountParameters)
        has_match = (matches >= LEAST).any(axis=1)
        precision, exists = _precisions(matches, ngrams, given)
        orders = np.full(len(matches), float(self._order))
        if given.effective_order:
            orders = np.maximum(exists.sum(axis=1), 1.0)
            precision = np.where(exists, precision, 1.0)
        with np.errstate(divide="ignore"):
            mean = np.exp(np.log(precision).sum(axis=1) / orders)
        # rounding must not make a perfect score more than that
        found: Floats = np.where(has_match, 100 * np.minimum(mean, 1.0), 0.0)
        return found


class Bleu(CountedBleu):
    """BLEU of all texts together, as sacrebleu computes it.

    exp(min(0, 1 - r/c)) times the geometric mean of the precisions of n-grams of 1 to 4
    words, times 100. Matches, n-grams and lengths (c of predictions, r of the reference
    whose length is closest) are added up over examples first, so that it is not a mean
    of examples. `tokenize` cuts texts into words, `lowercase` folds case, `smoothing`
    says what a precision of 0 becomes, `order` how long n-grams are.

    An n-gram matches as often as it occurs in the one reference that has most of it. A
    missing prediction counts as an empty text; an example with an empty list of
    references is not scored. Where no prediction has 4 words, BLEU is 0, which is
    flagged; where no text has a word at all, it is null. The signature of sacrebleu
    stands among the run's resources. Range 0 to 100, higher is better; bootstrap.

    Source: Papineni et al., BLEU: a Method for Automatic Evaluation of Machine
    Translation, 2002; Post, A Call for Clarity in Reporting BLEU Scores, 2018;
    `sacrebleu.corpus_bleu`.

    Example:
        >>> import evalkit
        >>> said, right = ["the cat sat on a mat"], ["the cat sat on the mat"]
        >>> round(evalkit.score("bleu", said, right)["bleu"].value, 2)
        53.73
    """

    Parameters = BleuParameters

    def __init__(self, parameters: BleuParameters | None = None) -> None:
        super().__init__(parameters)
        self._named = (parameters or BleuParameters()).tokenize
        self._tokenizer: str = self._named or "13a"

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the counts of words as the data set's languages have them."""
        tokenizer = self._named or _tokenizer_of(context)
        if tokenizer != self._tokenizer:
            self._tokenizer = tokenizer
            self.__dict__.pop("scorer", None)
        self.splits_at_blanks = tokenizer in ("13a", "none") and self._named is None
        return super().statistics(batch, context)

    def resources(self) -> dict[str, str]:
        """Return sacrebleu's signature, without the number of references."""
        found = super().resources()
        if self._named is not None:
            return found
        tokenizer = f"tok:{self._tokenizer}|"
        return {
            name: text.replace(tokenizer, "tok:13a (by language zh or char)|")
            for name, text in found.items()
        }

    def make_scorer(self) -> BLEU:
        """Return sacrebleu's BLEU.

        Raises:
            MetricError: What the tokenizer needs is not installed.
        """
        from sacrebleu.metrics.bleu import BLEU

        try:
            return BLEU(tokenize=self._tokenizer, **self._options())
        except (ImportError, RuntimeError) as error:
            extra = self._tokenizer.partition("-")[0]
            raise MetricError(
                f"tokenize={self._tokenizer} needs more than sacrebleu: pip install "
                f'"sacrebleu[{extra}]"'
            ) from error


def _tokenizer_of(context: MetricContext) -> str:
    """Return sacrebleu's tokenizer for the languages of a data set."""
    if not context.lacks_blanks:
        return "13a"
    is_chinese = all(
        code.partition("-")[0].lower() == "zh" for code in context.languages
    )
    return "zh" if is_chinese else "char"


def _brevity(lengths: Floats) -> Floats:
    """Return the factor below 1 of predictions shorter than the references."""
    said, wanted = lengths[:, 0], lengths[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.exp(1 - wanted / said)
    return np.where(said >= wanted, 1.0, np.where(said > 0, factor, 0.0))


def _precisions(
    matches: Floats, ngrams: Floats, given: CountParameters
) -> tuple[Floats, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """Return the smoothed precisions, 0 to 1, and which of them there are."""
    if given.smoothing == "add-k":
        added = np.where(np.arange(matches.shape[1]) > 0, given.smoothing_value or 1, 0)
        matches, ngrams = matches + added, ngrams + added
    exists = np.cumprod(ngrams >= LEAST, axis=1).astype(bool)
    is_zero = exists & (matches < LEAST)
    if given.smoothing == "exp":
        matches = np.where(is_zero, 0.5 ** np.cumsum(is_zero, axis=1), matches)
    elif given.smoothing == "floor":
        matches = np.where(is_zero, given.smoothing_value or 0.1, matches)
    is_counted = exists & (matches > 0)
    return ratio(np.where(is_counted, matches, 0.0), ngrams), exists
