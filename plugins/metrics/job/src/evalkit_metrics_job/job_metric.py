"""What metrics of the job have in common that made the predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl
from pydantic import Field

from evalkit import Metric, MetricContext, Parameters

NO_FILE = "the predictions are not of one file, beside which a job file could stand"


class Outcome(NamedTuple):
    """A value, or why there is none."""

    value: float | None
    reason: str | None = None


class Figures:
    """What a job took, and why a figure of it is not known.

    Args:
        context: What the metric knows beside its examples.
    """

    def __init__(self, context: MetricContext) -> None:
        self._job = context.job

    def get(self, name: str) -> Any:
        """Return a figure; None where it is not known."""
        return None if self._job is None else getattr(self._job.figures, name, None)

    def why_not(self, *names: str) -> str | None:
        """Say why one of several figures is not known; None where all are."""
        if self._job is None:
            return NO_FILE
        if self._job.figures is None:
            return f"there is no {self._job.file} beside the predictions"
        absent = [name for name in names if self.get(name) is None]
        return f"{self._job.file} has no `{absent[0]}`" if absent else None

    def ratio(self, above: str, below: str) -> Outcome:
        """Divide a figure by another one."""
        if reason := self.why_not(above, below):
            return Outcome(None, reason)
        if not self.get(below):
            return Outcome(None, f"division by 0, as `{below}` is 0")
        return Outcome(self.get(above) / self.get(below))


class JobMetric(Metric):
    """A number of the job that made the predictions, which no example has a part in.

    It is of the whole set: there are no scores of tags and under perturbation, and no
    interval, as one job says nothing of how much another one would take.
    """

    answer_kinds = ("none", "one", "any-of", "all-of", "spans", "ranked", "number")
    bounds = (0.0, None)
    higher_is_better = False
    interval = "none"
    whole_only = True
    # neither a response nor its absence makes a difference
    accepts_no_prediction = True
    joins_replications = True
    has_possible_range = False

    def outcomes(self, figures: Figures) -> dict[str, Outcome]:
        """Return each score by its name, "" for the main one."""
        raise TypeError(f"{type(self).__name__} does not define outcomes")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count the examples."""
        return batch.select(
            row=pl.int_range(pl.len(), dtype=pl.UInt32), examples=pl.lit(1.0)
        )

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the scores of the job, whatever the examples are."""
        found = self.outcomes(Figures(context))
        scores = pl.DataFrame(
            {
                "score": list(found),
                "value": [each.value for each in found.values()],
                "reason": [each.reason for each in found.values()],
            },
            schema={"score": pl.String, "value": pl.Float64, "reason": pl.String},
        )
        return sums.select("group").join(scores, how="cross")


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


class ExamplesPerSecond(JobMetric):
    """Examples that the job answered in a second, its start included.

    `examples` / `seconds` of the job file beside the predictions (`NAME.job.json`
    beside `NAME.jsonl`), where `seconds` is from the start of the job, loading of the
    model included, to its last response. Compare it on like machines only. Null where
    the file or one of the keys is not there, or `seconds` is 0. Missing and invalid
    predictions change nothing. Range 0 to infinity, in examples/s, higher is better; no
    interval.

    Source: `examples_per_second` of Dynabench, which counts the time of a whole batch
    transform job, the start of its machines included.

    Example:
        >>> import evalkit
        >>> job = {"examples": 130, "seconds": 65.0}
        >>> found = evalkit.score("examples-per-second", ["a"], ["a"], job=job)
        >>> found["examples-per-second"].value
        2.0
    """

    unit = "examples/s"
    higher_is_better = True

    def outcomes(self, figures: Figures) -> dict[str, Outcome]:
        """Divide examples by seconds."""
        return {"": figures.ratio("examples", "seconds")}


class PeakMemory(JobMetric):
    """The most memory that the job held at once, in GiB.

    `peak_memory_gib` of the job file beside the predictions (`NAME.job.json` beside
    `NAME.jsonl`), in units of 2**30 bytes; of several machines, their sum. Null where
    the file or the key is not there. Missing and invalid predictions change nothing.
    Range 0 to infinity, in GiB, lower is better; no interval.

    Source: `memory_utilization` of Dynabench, which is the mean over time and not the
    peak, and rounds to two decimals.

    Example:
        >>> import evalkit
        >>> job = {"peak_memory_gib": 3.5}
        >>> evalkit.score("peak-memory", ["a"], ["a"], job=job)["peak-memory"].value
        3.5
    """

    unit = "GiB"

    def outcomes(self, figures: Figures) -> dict[str, Outcome]:
        """Return the figure as it is."""
        name = "peak_memory_gib"
        return {"": Outcome(figures.get(name), figures.why_not(name))}


class TokensPerExample(JobMetric):
    """Tokens that the model read and wrote for an example, on average.

    (`input_tokens` + `output_tokens`) / `examples` of the job file beside the
    predictions (`NAME.job.json` beside `NAME.jsonl`); `tokens-per-example#input` and
    `tokens-per-example#output` are those of one kind. Tokens of different models are
    not of one length. Null where the file or a key that the score needs is not there,
    or `examples` is 0. Missing and invalid predictions change nothing. Range 0 to
    infinity, in tokens, lower is better; no interval.

    Source: none, it is a mean; HELM reports the same as `num_prompt_tokens` and
    `num_output_tokens`.

    Example:
        >>> import evalkit
        >>> job = {"examples": 10, "input_tokens": 900, "output_tokens": 100}
        >>> found = evalkit.score("tokens-per-example", ["a"], ["a"], job=job)
        >>> found["tokens-per-example"].value, found["tokens-per-example#output"].value
        (100.0, 10.0)
    """

    unit = "tokens"

    def outcomes(self, figures: Figures) -> dict[str, Outcome]:
        """Divide tokens by examples."""
        parts = [
            figures.ratio(f"{kind}_tokens", "examples") for kind in ("input", "output")
        ]
        return {"": _sum(*parts), "input": parts[0], "output": parts[1]}


def _sum(read: Outcome, written: Outcome) -> Outcome:
    if read.value is None or written.value is None:
        return Outcome(None, read.reason or written.reason)
    return Outcome(read.value + written.value)
