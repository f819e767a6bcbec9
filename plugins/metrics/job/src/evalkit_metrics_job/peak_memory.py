"""Memory."""

from __future__ import annotations

from evalkit_metrics_job.job_metric import Figures, JobMetric, Outcome


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
