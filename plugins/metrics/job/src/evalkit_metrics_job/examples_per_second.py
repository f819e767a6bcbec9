"""Throughput."""

from __future__ import annotations

from evalkit_metrics_job.job_metric import Figures, JobMetric, Outcome


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
