"""SEA-HELM's scores of how probable a model finds the right answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from evalkit import Metric, NotScored, Parameters


class SeahelmLogprobParameters(Parameters):
    """Which text's probability counts."""

    of: Literal["text", "answer"] = "text"
    """`text`: that of the response. `answer`: that of the right one among ranked
    options, which the prompt method `separate` asks for."""


class SeahelmLogprob(Metric):
    """Mean probability that a model gives to the texts it was asked to continue with.

    Reads `logprob`, the natural logarithm of the probability of a response's whole
    text. The main score is the mean over examples of exp(logprob), `#log` the mean of
    `logprob` itself. A long text is less probable than a short one: `perplexity` and
    `bits-per-byte` divide by the length. A response without a `logprob`, or with one
    above 0, infinite or NaN, is not scored; of one number `#log` is that number
    (SEA-HELM: 0). Where a missing response counts it has the probability 0, and `#log`
    is null, as no logarithm is the least. With `of=answer` it is the probability of the
    right option among those of a response (`responses`, each with its `logprob`). Range
    0 to 1, in %, higher is better; Student's t interval.

    Source: Susanto et al., SEA-HELM: Southeast Asian Holistic Evaluation of Language
    Models, 2025; `LogProbMetric` of SEA-HELM 1.2.0.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [math.log(1 / 2), math.log(1 / 4)]}
        >>> found = evalkit.score("seahelm-logprob", ["", ""], ["", ""], fields=said)
        >>> found["seahelm-logprob"].value
        0.375
    """

    Parameters = SeahelmLogprobParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    interval = "t"
    answer_kinds = ("none", "one", "any-of", "all-of", "spans", "ranked", "number")
    worst_value = 0.0
    columns = ("logprob",)
    scores = {
        "": {},
        "log": {"unit": "", "scale": 1.0, "bounds": (None, 0.0), "worst_value": None},
    }

    def __init__(self, parameters: SeahelmLogprobParameters | None = None) -> None:
        super().__init__(parameters)
        if parameters is not None and parameters.of == "answer":
            vars(self).update(columns=("responses", "responses.logprob"))

    def score_example(
        self, prediction: Any, target: Any, fields: Mapping[str, Any]
    ) -> dict[str, float] | NotScored:
        """Return the probability and its logarithm."""
        if "logprob" in fields:
            logprob, what = fields["logprob"], "the response holds no `logprob`"
        else:
            options, logprobs = fields["responses"], fields["responses.logprob"]
            known = dict(zip(options or (), logprobs or (), strict=False))
            logprob, what = known.get(target), "the right option has no `logprob`"
        is_number = isinstance(logprob, int | float) and not isinstance(logprob, bool)
        if not is_number or not -math.inf < logprob <= 0:
            return NotScored(f"{what} that is a number of at most 0")
        return {"": math.exp(logprob), "log": float(logprob)}
