"""Cost."""

from __future__ import annotations

from pydantic import Field

from evalkit import Parameters
from evalkit_metrics_job.job_metric import Figures, JobMetric, Outcome


class CostParameters(Parameters):
    """The parameters of the cost of an example."""

    currency: str = Field("USD", pattern="^[A-Z]{3}$")
    """The currency, by its code of ISO 4217."""


class CostPerExample(JobMetric):
    """What an example cost, on average, in US dollars or another currency.

    `cost` / `examples` of the job file beside the predictions (`NAME.job.json` beside
    `NAME.jsonl`); stored by example, shown of 1000. Nothing is converted: a cost in
    another currency than the parameter `currency` names is null, so that runs of
    different ones are never compared. Null where the file or one of the keys is not
    there, or `examples` is 0. Missing and invalid predictions change nothing. Range 0
    to infinity, in USD/1000, lower is better; no interval.

    Source: none, it is a mean.

    Example:
        >>> import evalkit
        >>> job = {"examples": 200, "cost": 1.5, "currency": "EUR"}
        >>> name = "cost-per-example:currency=EUR"
        >>> evalkit.score(name, ["a"], ["a"], job=job)[name].value
        0.0075
    """

    Parameters = CostParameters
    # an example costs so little that two decimals would show nothing
    scale = 1000.0

    def __init__(self, parameters: CostParameters | None = None) -> None:
        super().__init__(parameters)
        self._currency = (parameters or CostParameters()).currency
        vars(self)["unit"] = f"{self._currency}/1000"

    def outcomes(self, figures: Figures) -> dict[str, Outcome]:
        """Divide cost by examples, where it is of the right currency."""
        paid, asked = figures.get("currency"), self._currency
        if figures.get("cost") is not None and paid != asked:
            named = f"cost-per-example:currency={paid}"
            return {"": Outcome(None, f"the cost is in {paid}, not {asked}: {named}")}
        return {"": figures.ratio("cost", "examples")}
