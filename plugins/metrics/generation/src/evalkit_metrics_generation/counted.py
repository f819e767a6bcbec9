"""Scores of a corpus that sacrebleu counts sentence by sentence.

sacrebleu computes such a score from numbers of each sentence that it adds up. They are
the statistics here, so that tags, merged runs and resampled sets are what sacrebleu
gives for their sentences.
"""

from __future__ import annotations

from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from evalkit import Metric, MetricContext
from evalkit_metrics_generation.references import NO_REFERENCE, texts_of

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Scorer

Floats = NDArray[np.float64]

LEAST = 0.01
"""A sum below this is none: gradients of a score are taken by changing sums by less."""


class CountedMetric(Metric):
    """A score of sums over sentences that sacrebleu counts.

    A missing prediction counts as an empty text. An example without any reference is
    not scored.
    """

    higher_is_better: ClassVar[bool | None] = True
    bounds: ClassVar[tuple[float | None, float | None] | None] = (0.0, 100.0)
    answer_kinds = ("one", "any-of")
    interval = "bootstrap"
    accepts_no_prediction = True
    # a long wrong text may cost more than an empty one
    has_possible_range = False

    def make_scorer(self) -> Scorer:
        """Return sacrebleu's object for the parameters.

        Returns:
            The object, which counts the sentences.
        """
        raise TypeError(f"{type(self).__name__} does not define make_scorer")

    def count_names(self) -> list[str]:
        """Return the names of the numbers of a sentence, in sacrebleu's order."""
        raise TypeError(f"{type(self).__name__} does not define count_names")

    @cached_property
    def scorer(self) -> Scorer:
        """What counts; made once, as it keeps what it has tokenized."""
        return self.make_scorer()

    def resources(self) -> dict[str, str]:
        """Return sacrebleu's signature, without the number of references."""
        self.scorer.num_refs = 1
        signature = self.scorer.get_signature()
        signature.update("nrefs", None)
        return {"sacrebleu signature": signature.format()}

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the numbers of every sentence."""
        texts = texts_of(batch, context)
        counts = self._counts(texts.predictions, texts.references)
        scored = pl.DataFrame(counts, schema=self.count_names(), orient="row")
        scored.insert_column(0, texts.rows)
        if texts.without.is_empty():
            return scored
        without = pl.DataFrame([texts.without]).with_columns(
            not_scored=pl.lit(NO_REFERENCE)
        )
        return pl.concat([scored, without], how="diagonal").with_columns(
            cs.by_name(*self.count_names()).fill_null(0.0)
        )

    def _counts(self, predictions: list[str], references: list[list[str]]) -> Floats:
        """Let sacrebleu count; it takes a list of all first references, and so on."""
        shape = (len(predictions), len(self.count_names()))
        if not predictions:
            return np.zeros(shape)
        columns = list(zip_longest(*references))
        found = self.scorer._extract_corpus_statistics(predictions, columns)
        return np.array(found, dtype=np.float64).reshape(shape)


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide, and give 0 where the divisor is 0.

    Args:
        above: Numbers of any shape.
        below: Numbers of the same shape.

    Returns:
        Their quotients.
    """
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
