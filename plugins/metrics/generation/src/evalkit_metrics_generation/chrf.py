"""chrF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl
from pydantic import Field

from evalkit import Parameters
from evalkit_metrics_generation.counted import LEAST, CountedMetric, Floats, ratio

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF


_EPSILON = 1e-16
"""What a precision or recall of nothing is under `eps_smoothing`."""


class ChrfParameters(Parameters):
    """Which n-grams count, and how they are averaged."""

    char_order: Annotated[int, Field(ge=1, le=20)] = 6
    """How many characters the longest n-grams have."""
    word_order: Annotated[int, Field(ge=0, le=9)] = 0
    """How many words the longest n-grams of words have; 0 for none."""
    beta: Annotated[int, Field(ge=1, le=10)] = 2
    """How many times as much recall counts as precision."""
    lowercase: bool = False
    """Whether upper and lower case are the same."""
    whitespace: bool = False
    """Whether blanks are characters too."""
    eps_smoothing: bool = False
    """Whether orders without n-grams count, as in chrF++.py, NLTK and Moses."""


class Chrf(CountedMetric):
    """chrF of all texts together: the F-score of their n-grams of characters.

    (1 + b^2) P R / (b^2 P + R) with b = 2, times 100, where P and R are the means of
    precision and recall over n-grams of 1 to 6 characters, blanks left out. N-grams are
    added up over examples first. `word_order=2` makes chrF++ of it, `lowercase` folds
    case, `char_order`, `beta`, `whitespace` and `eps_smoothing` are those of sacrebleu.

    Of several references the one that gives the example the best score counts. Orders
    for which there are no n-grams are left out of the means. A missing prediction
    counts as an empty text; an example with an empty list of references is not scored.
    Where no reference has a character, the score is null. The signature of sacrebleu
    stands among the run's resources. Range 0 to 100, higher is better; bootstrap.

    Source: Popović, chrF: character n-gram F-score for automatic MT evaluation, 2015;
    `sacrebleu.corpus_chrf`.

    Example:
        >>> import evalkit
        >>> said, right = ["the cat sat on a mat"], ["the cat sat on the mat"]
        >>> round(evalkit.score("chrf", said, right)["chrf"].value, 2)
        65.98
    """

    Parameters = ChrfParameters

    @property
    def _given(self) -> ChrfParameters:
        given = self.parameters
        assert isinstance(given, ChrfParameters)
        return given

    @property
    def _orders(self) -> int:
        return self._given.char_order + self._given.word_order

    def make_scorer(self) -> CHRF:
        """Return sacrebleu's chrF."""
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(**self._given.model_dump())

    def count_names(self) -> list[str]:
        """Return n-grams of predictions and references and their matches, by order."""
        kinds = ("said", "wanted", "match")
        return [f"{kind}_{n}" for n in range(1, self._orders + 1) for kind in kinds]

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Return the score of each group."""
        counts = sums.select(self.count_names()).to_numpy()
        said, wanted, match = (counts[:, kind::3] for kind in range(3))
        is_empty = wanted.sum(axis=1) < LEAST
        score = self._smoothed if self._given.eps_smoothing else self._of_means
        value = 100 * np.minimum(score(said, wanted, match), 1.0)
        return sums.select(
            "group",
            value=pl.when(~pl.lit(is_empty)).then(pl.lit(value)),
            reason=pl.when(pl.lit(is_empty)).then(
                pl.lit("no reference has a character")
            ),
        )

    def _of_means(self, said: Floats, wanted: Floats, match: Floats) -> Floats:
        """Return the F-score of mean precision and recall."""
        exists = (said > 0) & (wanted > 0)
        orders = exists.sum(axis=1).astype(np.float64)
        means = [
            ratio((ratio(match, of) * exists).sum(axis=1), orders)
            for of in (said, wanted)
        ]
        return self._f_score(*means)

    def _smoothed(self, said: Floats, wanted: Floats, match: Floats) -> Floats:
        """Return the mean of the F-scores of all orders."""
        precision, recall = (
            np.where(of > 0, ratio(match, of), _EPSILON) for of in (said, wanted)
        )
        scores = self._f_score(precision, recall)
        is_zero = (precision == 0) & (recall == 0)
        mean: Floats = np.where(is_zero, _EPSILON, scores).mean(axis=1)
        return mean

    def _f_score(self, precision: Floats, recall: Floats) -> Floats:
        factor = self._given.beta**2
        above = (1 + factor) * precision * recall
        return ratio(above, factor * precision + recall)


class ChrfPlusPlusParameters(ChrfParameters):
    """Those of chrF, with n-grams of up to two words."""

    word_order: Annotated[int, Field(ge=0, le=9)] = 2
    """How many words the longest n-grams of words have."""


class ChrfPlusPlus(Chrf):
    """chrF++ of all texts together: chrF with n-grams of one and two words.

    (1 + b^2) P R / (b^2 P + R) with b = 2, times 100, where P and R are the means of
    precision and recall over n-grams of 1 to 6 characters and of 1 and 2 words, from
    which a punctuation mark at the end, or else at the beginning, is split off.
    Parameters and edge cases are those of `chrf`, with `word_order=2`.

    Of several references the one that gives the example the best score counts. A
    missing prediction counts as an empty text; an example with an empty list of
    references is not scored. Where no reference has a character, the score is null. The
    signature of sacrebleu stands among the run's resources. Range 0 to 100, higher is
    better; bootstrap.

    Source: Popović, chrF++: words helping character n-grams, 2017;
    `sacrebleu.corpus_chrf(…, word_order=2)`.

    Example:
        >>> import evalkit
        >>> said, right = ["the cat sat on a mat"], ["the cat sat on the mat"]
        >>> round(evalkit.score("chrf-plus-plus", said, right)["chrf-plus-plus"].value)
        67
    """

    Parameters = ChrfPlusPlusParameters
