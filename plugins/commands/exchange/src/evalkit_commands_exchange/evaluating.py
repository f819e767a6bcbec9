"""Writes imported datasets, evaluates imported responses and compares the scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evalkit_commands_exchange.imports import ImportedRun, OriginalScore

if TYPE_CHECKING:
    from evalkit import Registry, Result, Score

ORIGINAL_FILE = "original.parquet"
"""Table of a run folder: the tool's scores beside evalkit's."""
FOLDER = "imported"
"""Folder of the imported datasets, beside the runs."""

_TOLERANCE = 1e-6


def evaluate_imported(run: ImportedRun, out: Path, registry: Registry) -> Result:
    """Evaluate the responses of an imported run, and write the run.

    Args:
        run: The run of the other tool.
        out: Folder of runs; the dataset goes to `imported` in it.
        registry: Where plugins are found.

    Returns:
        The run; its table `original.parquet` holds the tool's scores beside evalkit's.

    Raises:
        EvalkitError: The responses cannot be evaluated.
    """
    from evalkit import EvaluationOptions, evaluate_with
    from evalkit_analysis_robustness import evaluate_perturbed

    dataset = str(_write_dataset(run, out / FOLDER))
    if run.extractor is not None:
        dataset = f"{dataset}:extract={run.extractor}"
    options = EvaluationOptions(
        extra_metrics=run.metrics, on_missing="skip", on_invalid="skip"
    )
    given: dict[str, Any] = {"model": run.model, "registry": registry}
    with TemporaryDirectory(prefix="evalkit-import-") as folder:
        predictions = Path(folder, f"{run.source.stem}.jsonl")
        predictions.write_bytes(_lines(run.responses))
        system = predictions.with_name(f"{predictions.stem}.system.json")
        system.write_text(json.dumps({"model": _provenance(run)}), encoding="utf-8")
        if run.perturbed:
            given["perturbed"] = [[*run.perturbed]]
            answers = [[*run.perturbed_responses]]
            result = evaluate_perturbed(
                dataset,
                predictions,
                perturbed_predictions=answers,
                options=options,
                **given,
            )
        else:
            result = evaluate_with(dataset, predictions, options, **given)
        if Path(dataset.partition(":")[0]).stem != run.dataset:
            notice = f"{run.dataset} has other examples, of an earlier import"
            result.amend(notices=(*result.notices, notice))
        result.tables[ORIGINAL_FILE] = _table(compare_scores(run, result))
        result.save(out)
    return result


def compare_scores(run: ImportedRun, result: Result | None) -> list[dict[str, Any]]:
    """Return a row for each score of the tool, with evalkit's value and difference."""
    from evalkit_analysis_robustness import find_effects

    if result is None:
        return [_compare(run, score, None, ()) for score in run.scores]
    computed = [*result.scores, *find_effects(result).scores]
    return [_compare(run, score, result, computed) for score in run.scores]


def _compare(
    run: ImportedRun,
    score: OriginalScore,
    result: Result | None,
    computed: Sequence[Score],
) -> dict[str, Any]:
    place = score.tag, score.perturbation, score.computed_on
    value = difference = None
    metric = score.computed_by
    if result is not None and metric is not None and metric in result:
        for own in computed:
            computed_on = own.perturbation and own.computed_on
            is_same = (own.tag, own.perturbation, computed_on) == place
            if is_same and own.metric == result[metric].metric and not own.aggregate:
                value = None if own.value is None else own.value * score.scale
    if value is not None and score.value is not None:
        difference = value - score.value
    return {
        "metric": score.metric,
        "tag": score.tag,
        "perturbation": score.perturbation,
        "computed_on": score.computed_on,
        "original": score.value,
        "stderr": score.stderr,
        "evalkit_metric": metric,
        "evalkit": value,
        "difference": difference,
        "explanation": _explain(run, score, result, value, difference),
    }


def _explain(
    run: ImportedRun,
    score: OriginalScore,
    result: Result | None,
    value: float | None,
    difference: float | None,
) -> str:
    if not run.examples:
        return "there are no examples, so no run"
    if result is None:
        return ""
    if value is None:
        has_metric = score.computed_by is not None
        return "evalkit has no value" if has_metric else "evalkit has no counterpart"
    if difference is None:
        return f"{run.tool} has no value"
    if abs(difference) <= _TOLERANCE:
        is_own = score.counterpart is None
        return f"mean of the scores of {run.tool}" if is_own else ""
    lost = sum(
        each.counts["examples"] - each.counts["scored"]
        for each in (result, *(result.perturbed or ()))
    )
    if lost:
        return f"evalkit leaves out {lost} examples without a valid response"
    return score.explanation or "unknown"


def _table(rows: list[dict[str, Any]]) -> Any:
    import polars as pl

    numbers = ("original", "stderr", "evalkit", "difference")
    names = rows[0] if rows else {}
    schema = {name: pl.Float64 if name in numbers else pl.String for name in names}
    return pl.DataFrame(rows, schema=schema)


def _write_dataset(run: ImportedRun, folder: Path) -> Path:
    """Write the benchmark file and its rows, unless they are there."""
    import yaml

    from evalkit_benchmarks_declared import read_benchmark
    from evalkit_benchmarks_peers.peer_files import component_name

    # logs hold samples in the order in which they ended
    ordered = sorted(run.examples, key=lambda row: (len(row["uid"]), row["uid"]))
    content = _lines(ordered)
    sha256 = hashlib.sha256(content).hexdigest()
    for name in (run.dataset, component_name(run.dataset, sha256[:8])):
        path = folder / f"{name}.yaml"
        declared = run.declare(name, sha256)
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".jsonl").write_bytes(content)
            text = yaml.safe_dump(declared, sort_keys=False, allow_unicode=True)
            path.write_text(text, encoding="utf-8")
            break
        if read_benchmark(path).data.sha256 == sha256:
            break
    return path


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode()


def _provenance(run: ImportedRun) -> dict[str, Any]:
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in run.files
    }
    imported = {"tool": run.tool, "source": run.source.name, "files": files}
    return {"id": run.model, "imported": imported, **run.settings}
