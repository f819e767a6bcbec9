"""Computes scores under perturbation again, from the copies that a run holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from evalkit.errors import StorageError
from evalkit.inference.intervals import Floats
from evalkit.plugins.bound import BoundMetric
from evalkit.robustness.effects import Effect
from evalkit.robustness.evaluation import score_pairs
from evalkit.robustness.pairs import Pairs, PerturbedSample
from evalkit.robustness.records import AS_EXPECTED
from evalkit.robustness.scores import PerturbedScores
from evalkit.robustness.stored import stored_copies
from evalkit.robustness.values import PerturbedTables
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of
from evalkit.scoring.measurement import Measured
from evalkit.scoring.records import MetricScores, ScoringSettings

FLIPPED = "right-to-wrong"
"""What only the metric that tells right from wrong has a score of."""


def holds_copies(result: Result) -> bool:
    """Tell whether a run has perturbed copies and holds them."""
    return bool(result.record.perturbed) and (result.perturbed_examples is not None)


def judge_of(result: Result) -> str | None:
    """Name the metric of a run that tells right from wrong under perturbation.

    Args:
        result: A result, stored or not.

    Returns:
        The name of its main score, which is the metric's; None where there is none.
    """
    judged = (s.metric for s in result.scores if s.computed_on == FLIPPED)
    return next(judged, None)


def rescore_perturbed(
    result: Result,
    measured: Measured,
    scored: Sequence[MetricScores],
    settings: ScoringSettings,
) -> PerturbedScores:
    """Compute the scores of metrics under all perturbations of a run.

    What perturbations do to answers, and what their `expect` said, is as the run
    recorded it; no perturbation is loaded.

    Args:
        result: A result that holds copies.
        measured: Its examples.
        scored: What the metrics computed of them.
        settings: How intervals are computed.

    Returns:
        The scores. A metric that asks for a field of the input, which a run does not
        hold of its copies, has null scores with the reason.

    Raises:
        StorageError: The run holds no answers and predictions of its copies, or not
            what the `expected` scores that it has of these metrics were made of.
    """
    record = result.record
    _refuse_untold(result, record, [found.name for found in scored])
    examples = examples_of(result)
    copies = stored_copies(result)
    clusters = examples["cluster"]
    sample = PerturbedSample(
        examples["id"],
        examples["tags"],
        clusters if clusters.null_count() < examples.height else None,
        measured.counted.to_numpy(),
    )
    pairs = Pairs([copies], result.record.policies.counted, sample)
    if not pairs.size:
        return PerturbedScores([], {}, [])
    return score_pairs(
        PerturbedTables(measured.everything, [copies], pairs),
        _effects(record),
        _told(result, record, pairs),
        scored,
        record.weight or "original",
        settings,
        record.split,
        judge_of(result),
    )


def lacking_field(result: Result, metric: BoundMetric) -> str | None:
    """Name a field of the input that a metric asks for and a run's copies lack."""
    assert result.perturbed_examples is not None
    held = result.perturbed_examples.columns
    return next((name for name in metric.columns_of_data if name not in held), None)


def _effects(record: RunRecord) -> dict[str, Effect]:
    return {
        found.perturbation: Effect(
            found.perturbation, found.label_effect, found.families, found.told_by
        )
        for found in record.perturbations
    }


def _refuse_untold(result: Result, record: RunRecord, metrics: Collection[str]) -> None:
    """Refuse to compute scores again that a run of an earlier version keeps no data of.

    Such a run kept `expected` scores, but not what `expect` said of its copies.
    """
    frame = result.perturbed_examples
    is_told = frame is not None and AS_EXPECTED in frame.columns
    # where nobody was asked, these scores are made of right and wrong alone
    asked = [found.expects for found in record.perturbations]
    if None not in asked and (is_told or True not in asked):
        return
    if any(s.computed_on == "expected" and s.metric in metrics for s in result.scores):
        raise StorageError(
            f"{result.path or result.run_id}: does not hold what `expect` said of its "
            "copies, as an earlier version made it; evaluate again"
        )


def _told(result: Result, record: RunRecord, pairs: Pairs) -> dict[str, Floats]:
    """Return what `expect` said of each pair, by the perturbations that have one."""
    frame = result.perturbed_examples
    asked = [f.perturbation for f in record.perturbations if f.expects]
    if frame is None or AS_EXPECTED not in frame.columns:
        return {}
    said = frame[AS_EXPECTED].fill_null(np.nan).to_numpy()
    return {name: np.where(pairs.made_by([name]), said, np.nan) for name in asked}
