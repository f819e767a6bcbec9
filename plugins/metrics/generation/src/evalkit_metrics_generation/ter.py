"""Translation edit rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from evalkit import Parameters
from evalkit_metrics_generation.counted import LEAST, CountedMetric

if TYPE_CHECKING:
    from sacrebleu.metrics.ter import TER


class TerParameters(Parameters):
    """How texts are cut into words."""

    normalized: bool = False
    """Whether punctuation is split off, and what XML has for characters replaced."""
    no_punctuation: bool = False
    """Whether punctuation is left out."""
    asian_support: bool = False
    """Whether the two above know Chinese, Japanese and Korean characters too."""
    case_sensitive: bool = False
    """Whether upper and lower case are different."""


class Ter(CountedMetric):
    """Translation edit rate of all texts together: edits per word of the reference.

    100 times the least number of edits that make a prediction of a reference, over the
    words of the reference; both are added up over examples first. An edit inserts,
    deletes or replaces a word, or moves a run of words. Case is folded unless
    `case_sensitive`; `normalized`, `no_punctuation` and `asian_support` are those of
    sacrebleu.

    Of several references the fewest edits count, over the mean of their lengths. A
    missing prediction counts as an empty text, of which all words are lacking (100); an
    example with an empty list of references is not scored. Where no reference has a
    word, the score is null. The signature of sacrebleu stands among the run's
    resources. Range 0 to infinity, lower is better; bootstrap.

    Source: Snover et al., A Study of Translation Edit Rate with Targeted Human
    Annotation, 2006; `sacrebleu.corpus_ter`.

    Example:
        >>> import evalkit
        >>> said, right = ["the cat sat on a mat"], ["the cat sat on the mat"]
        >>> round(evalkit.score("ter", said, right)["ter"].value, 2)
        16.67
    """

    Parameters = TerParameters
    higher_is_better = False
    bounds = (0.0, None)

    def make_scorer(self) -> TER:
        """Return sacrebleu's TER."""
        from sacrebleu.metrics.ter import TER

        given = self.parameters
        assert isinstance(given, TerParameters)
        return TER(
            normalized=given.normalized,
            no_punct=given.no_punctuation,
            asian_support=given.asian_support,
            case_sensitive=given.case_sensitive,
        )

    def count_names(self) -> list[str]:
        """Return edits and words of the references."""
        return ["edits", "words"]

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide edits by words."""
        has_words = pl.col("words") > LEAST
        return sums.select(
            "group",
            value=pl.when(has_words).then(100 * pl.col("edits") / pl.col("words")),
            reason=pl.when(~has_words).then(pl.lit("no reference has a word")),
        )
