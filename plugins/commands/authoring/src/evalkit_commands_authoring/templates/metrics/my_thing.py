"""The metric `my-thing`."""

from __future__ import annotations

from typing import Any

import evalkit


class MyThing(evalkit.Metric):
    """Share of predictions of at most so many words.

    A missing prediction that counts is 0. Range 0 to 1, in %, higher is better;
    Wilson's interval.

    Source: write here where the formula is from.
    """

    class Parameters(evalkit.Parameters):
        """What a user may set: `my-thing:words=5`.

        Attributes:
            words: The most words.
        """

        words: int = 3

    unit = "%"
    scale = 100.0
    bounds = (0.0, 1.0)
    higher_is_better = True
    interval = "wilson"
    worst_value = 0.0

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._words = parameters.words

    def score_example(self, prediction: Any) -> float:
        """Score one example."""
        return float(len(str(prediction).split()) <= self._words)
