"""ROUGE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from evalkit import Metric, MetricContext, NotScored, Parameters
from evalkit_metrics_generation.references import NO_REFERENCE, reference_list
from evalkit_metrics_generation.words import UNSPACED, WORDS, Words

TYPES = {"1": "rouge1", "2": "rouge2", "L": "rougeL", "Lsum": "rougeLsum"}
"""The library's names of the scores."""

MEASURES = {"f": "fmeasure", "precision": "precision", "recall": "recall"}


class RougeParameters(Parameters):
    """What is compared and reported."""

    measure: Literal["f", "precision", "recall"] = "f"
    """Which measure of each score."""
    stemmer: bool = False
    """Whether English endings are taken off, by Porter's stemmer."""
    words: Words | None = None
    """What a word is: `ascii` for runs of a to z and digits, as in rouge-score,
    `unicode` for runs of letters and digits of any script, `characters` for each of
    these by itself, where words are not written apart. Default: `characters` if the
    dataset's languages write no blanks between words, else `ascii`."""


class Rouge(Metric):
    """ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, each the mean over examples.

    F = 2 P R / (P + R), where P and R are the share of the prediction's and of the
    reference's words (1), pairs of words (2), or words of the longest common
    subsequence (L) that match. Lsum compares lines of a text with lines, and L the
    whole. `measure` asks for `precision` or `recall` instead of F. Stored as 0 to 1, as
    rouge-score has it, and shown as 0 to 100, as papers do.

    Of several references the one with the best F counts, for each score by itself. An
    empty text scores 0, and so does ROUGE-2 of texts of one word, as in rouge-score. A
    missing prediction that counts is 0. Words are ASCII letters and digits, and
    characters in datasets of languages without blanks between words; a reference
    that has none but is not empty (other scripts) is not scored, instead of a 0 that
    says nothing: see `words`. Range 0 to 1, in %, higher is better; Student's interval.

    Source: Lin, ROUGE: A Package for Automatic Evaluation of Summaries, 2004;
    `rouge_score.rouge_scorer.RougeScorer`.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("rouge", ["a cat sat here"], ["the cat sat here"])
        >>> found["rouge#1"].value, found["rouge#L"].value
        (0.75, 0.75)
    """

    Parameters = RougeParameters
    unit = "%"
    scale = 100.0
    bounds = (0.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one", "any-of")
    interval = "t"
    worst_value = 0.0
    scores = {name: {} for name in TYPES}

    def score_example(
        self, prediction: Any, target: Any, context: MetricContext
    ) -> dict[str, float] | NotScored:
        """Score one text by the best of its references."""
        references = reference_list(target)
        if not references:
            return NotScored(NO_REFERENCE)
        given = self.parameters
        assert isinstance(given, RougeParameters)
        words = given.words or ("characters" if context.lacks_blanks else "ascii")
        is_unspaced = any(map(_lacks_blanks, references))
        is_guess = given.words is None and words == "ascii"
        if not _can_be_read(references, words, given.stemmer) or (
            is_unspaced and is_guess
        ):
            other = "characters" if is_unspaced else "unicode"
            return NotScored(
                f"words={words} does not know the words of its reference, see "
                f"words={other}"
            )
        text = str(prediction)
        types = "rouge1", "rouge2", "rougeL"
        found = _scorer(words, given.stemmer, *types).score_multi(references, text)
        in_lines = found["rougeL"]
        if _has_lines(text) or any(map(_has_lines, references)):
            by_line = _scorer(words, given.stemmer, "rougeLsum")
            in_lines = by_line.score_multi(references, text)["rougeLsum"]
        found["rougeLsum"] = in_lines
        measure = MEASURES[given.measure]
        return {
            name: float(getattr(found[known], measure)) for name, known in TYPES.items()
        }


def _can_be_read(references: Sequence[str], words: Words, stems: bool) -> bool:
    """Tell whether any reference has words, or is empty on purpose."""
    cutter = WORDS[words](stems)
    return any(not text.strip() or cutter.has_word(text) for text in references)


@cache
def _scorer(words: Words, stems: bool, *types: str) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(types), tokenizer=WORDS[words](stems))


def _has_lines(text: str) -> bool:
    """Tell whether a text has several lines; of one line Lsum is L."""
    return "\n" in text


def _lacks_blanks(text: str) -> bool:
    """Tell whether most of a text is in scripts without blanks between words."""
    return 2 * len(UNSPACED.findall(text)) > len(text)
