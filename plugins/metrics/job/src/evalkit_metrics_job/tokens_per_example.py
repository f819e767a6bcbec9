"""Tokens."""

from __future__ import annotations

from evalkit_metrics_job.job_metric import Figures, JobMetric, Outcome


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
