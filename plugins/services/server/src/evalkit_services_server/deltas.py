"""Deltas: whether a model answers perturbed examples as it answers the originals.

A delta is named after the prefix of the perturbed dataset, such as `fairness`. It waits
for the model's evaluation on the original dataset, and says why if that has no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, RowMapping, select

from evalkit_services_server.tables import JOB, RUN

if TYPE_CHECKING:
    from evalkit import Dataset, Score

SCALE: dict[str, Any] = {"unit": "%", "scale": 100.0, "higher_is_better": True}
"""How deltas are read."""


def last_job(connection: Connection, model: int, dataset: int) -> RowMapping | None:
    """Return the latest job of a model on a dataset, with the folder of its run."""
    query = (
        select(JOB.c.state, JOB.c.reason, RUN.c.folder)
        .outerjoin(RUN, RUN.c.job_id == JOB.c.id)
        .where(JOB.c.model_id == model, JOB.c.dataset_id == dataset)
        .order_by(JOB.c.id.desc())
    )
    return connection.execute(query.limit(1)).mappings().first()


def score_row(score: Score, metric: str | None = None) -> dict[str, Any]:
    """Return the row of a score; `metric` is the name that it has in the table."""
    names = "n", "value", "ci_low", "ci_high", "reason"
    found = {name: getattr(score, name) for name in names}
    return {**found, "metric": metric or score.metric, "tag": score.tag or ""}


def delta_rows(
    prefix: str,
    original: Dataset,
    job: RowMapping | None,
    *,
    perturbed: str | Path,
    predictions: str | Path,
    metrics: Sequence[str],
) -> list[dict[str, Any]]:
    """Return the delta of a model on a perturbed dataset, as rows of scores.

    Of the metrics, the first with scores of single examples counts. `job` is the latest
    of the model on the original dataset.
    """
    from evalkit import read_run
    from evalkit_analysis_robustness import evaluate_perturbed, find_effects

    if job is None or job["state"] != "done":
        was = f"was {job['state']}: {job['reason']}" if job else "is missing"
        return [_empty(prefix, f"the evaluation on {original.name} {was}")]
    result = evaluate_perturbed(
        original,
        job["folder"],
        perturbed=[perturbed],
        perturbed_predictions=[predictions],
        model=read_run(job["folder"]).model,
        metrics=metrics,
    )
    found = [
        score
        for score in find_effects(result).scores
        if score.perturbation == f"family:{prefix}"
        and score.computed_on == "agreement"
        and score.aggregate is None
    ]
    first = next((score.metric for score in found if score.value is not None), None)
    if first is None:
        reason = f"no perturbation of the family {prefix} has an agreement"
        return [_empty(prefix, reason)]
    return [score_row(score, prefix) for score in found if score.metric == first]


def _empty(prefix: str, reason: str) -> dict[str, Any]:
    numbers = dict.fromkeys(("value", "ci_low", "ci_high"))
    return {"metric": prefix, "tag": "", "n": 0, **numbers, "reason": reason}
