"""What the fingerprint of a run is a hash of, all of which its record holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.base.names import score_name
from evalkit.plugins.provenance import run_id_of
from evalkit.runs import recorded
from evalkit.runs.record import RunRecord


def evaluation_fingerprint(record: RunRecord, chosen_cluster: Sequence[str]) -> str:
    """Return the fingerprint of an evaluation.

    Args:
        record: What it recorded.
        chosen_cluster: The columns of clusters, where the user named them.
    """
    adapters = [each.to_dict() for each in record.data.adapters]
    return run_id_of(
        {
            "format": record.format,
            "data": record.data.identity.key,
            "predictions": _given(record.predictions),
            "split": record.split,
            "policies": record.policies.to_dict(),
            "selection": record.selection.to_dict(),
            "confidence": record.confidence,
            "seed": record.seed,
            "min_n": record.min_n,
            "by": [*record.by],
            "include_examples": record.includes_examples,
            **({"kept": [*record.kept]} if record.kept else {}),
            **({"cluster": [*chosen_cluster]} if chosen_cluster else {}),
            **({"data_adapters": adapters} if adapters else {}),
            **_extractors(record),
            "model": record.model,
            "metrics": record.metric_names,
            **_code(record, record.components),
            **({"against": record.against} if record.against else {}),
            **_perturbed(record),
        }
    )


def rescored_fingerprint(record: RunRecord, new: Iterable[recorded.Component]) -> str:
    """Return the fingerprint of a run that was made by scoring another one again.

    Args:
        record: What it recorded.
        new: The components that its parent does not have.
    """
    new = [*new]
    metrics = [
        score_name(each.name, each.parameters) for each in new if each.kind == "metrics"
    ]
    return run_id_of(
        {
            "format": record.format,
            "parent": record.parent,
            "metrics": metrics,
            **({"against": record.against} if record.against else {}),
            **_extractors(record),
            **_code(record, new),
        }
    )


def merged_fingerprint(record: RunRecord) -> str:
    """Return the fingerprint of a run that was put together of others."""
    names = {"dataset": record.dataset, "model": record.model}
    ids = {"format": record.format, "merged": [*record.merged]}
    return run_id_of({**ids, **names, "core": _core(record)})


def _extractors(record: RunRecord) -> dict[str, Any]:
    if record.extraction is None:
        return {}
    return {"extract": [each.to_dict() for each in record.extraction.stages]}


def _code(
    record: RunRecord, components: Iterable[recorded.Component]
) -> dict[str, Any]:
    return {
        "core": _core(record),
        "components": [each.identity for each in components],
    }


def _core(record: RunRecord) -> dict[str, Any] | None:
    return None if record.core is None else record.core.to_dict()


def _given(predictions: recorded.Predictions) -> Mapping[str, Any]:
    adapters = [each.to_dict() for each in predictions.adapters]
    own = {"name": predictions.name, "sha256": predictions.sha256}
    if predictions.job is not None:
        own["job"] = predictions.job.sha256
    if predictions.system is not None:  # what was asked is the same in any file
        own = {"sha256": predictions.sha256, "system": predictions.system.sha256}
    return {**own, "adapters": adapters} if adapters else own


def _perturbed(record: RunRecord) -> dict[str, Any]:
    """Return what tells runs of perturbed examples of one file from each other."""
    if record.perturbation is None:
        return {}
    name = record.perturbation.name
    return {"perturbation": name, "original": record.original}
