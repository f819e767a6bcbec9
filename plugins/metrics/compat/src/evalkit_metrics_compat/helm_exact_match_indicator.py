"""HELM's exact match of what follows an indicator."""

from __future__ import annotations

from pydantic import Field

from evalkit import Parameters
from evalkit_metrics_compat.helm_text import equals
from evalkit_metrics_compat.text_comparison import TextComparison


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
