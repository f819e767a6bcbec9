"""Accuracy of the likeliest option by its length, as lm-evaluation-harness has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from evalkit import Metric, NotScored, Parameters


class LmEvalAccuracyParameters(Parameters):
    """What the log-probability of an option is divided by."""

    normalise: Literal["characters", "bytes"] = "characters"
    """The length of its text in characters, or in bytes of UTF-8."""


class LmEvalAccuracy(Metric):
    """Share of examples whose likeliest option for its length is a right one.

    Reads the options of a response and their log-probabilities (`responses`, with
    `logprob`), as the method `separate` gives them, and divides each log-probability by
    the length of the option's text. Of equally likely ones the first counts. A response
    without log-probabilities is not scored. A missing prediction that counts is wrong.
    Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: `acc_norm` and `acc_bytes` of lm-evaluation-harness 0.4.13.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["no", "perhaps"]], "responses.logprob": [[-3, -7]]}
        >>> found = evalkit.score("lm-eval-accuracy", ["no"], ["perhaps"], fields=given)
        >>> found["lm-eval-accuracy"].value
        1.0
    """

    Parameters = LmEvalAccuracyParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    interval = "wilson"
    answer_kinds = ("one", "any-of")
    worst_value = 0.0
    columns = ("responses", "responses.logprob")

    def score_example(
        self, prediction: Any, target: Any, fields: Mapping[str, Any]
    ) -> float | NotScored:
        """Return 1 if the likeliest option is right, else 0."""
        options, logprobs = fields["responses"], fields["responses.logprob"]
        if not options or logprobs is None or len(options) != len(logprobs):
            return NotScored("the response has no log-probabilities of options")
        scores = [*map(self._score, options, logprobs)]
        best = options[scores.index(max(scores))]
        return float(best in target if isinstance(target, list) else best == target)

    def _score(self, option: Any, logprob: float | None) -> float:
        """Divide a log-probability; that of an option of probability 0 is null."""
        parameters = self.parameters
        assert isinstance(parameters, LmEvalAccuracyParameters)
        text = str(option)
        is_bytes = parameters.normalise == "bytes"
        length = len(text.encode()) if is_bytes else len(text)
        return logprob / length if logprob is not None and length else -math.inf
