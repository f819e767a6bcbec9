"""chrF++."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evalkit_metrics_generation.chrf import Chrf, ChrfParameters


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
