"""Writes imported datasets, evaluates imported responses and compares the scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evalkit_commands_exchange.exported import dump
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore

if TYPE_CHECKING:
    from evalkit import Registry, Result, Score

ORIGINAL_FILE = "original.parquet"
"""Table of a run folder: the tool's scores beside evalkit's."""
_TEXTS = (*OriginalScore._fields, "evalkit_metric")
_NUMBERS = ("tool", "stderr", "scale", "evalkit", "difference")

_TOLERANCE = 1e-6


def evaluate_imported(run: ImportedRun, out: Path, registry: Registry) -> Result:
    """Evaluate the responses of an imported run, and write the dataset and the run."""
    import polars as pl

    from evalkit import EvaluationOptions, evaluate_with
    from evalkit_analysis_robustness import evaluate_perturbed

    path = _write_dataset(run, out / "imported")
    dataset = f"{path}:{run.parameters}" if run.parameters else str(path)
    columns = {name for row in run.examples for name in row} - {"uid", "tags", "answer"}
    options = EvaluationOptions(
        extra_metrics=run.metrics,
        on_missing="skip",
        on_invalid="skip",
        keep=sorted(columns),
    )
    arguments: dict[str, Any] = {"model": run.model, "registry": registry}
    with TemporaryDirectory(prefix="evalkit-import-") as folder:
        predictions = Path(folder, f"{run.source.stem[:99]}.jsonl")
        predictions.write_bytes(_lines(run.responses))
        system = predictions.with_name(f"{predictions.stem}.system.json")
        system.write_text(dump({"model": _provenance(run)}), encoding="utf-8")
        if run.perturbed:
            arguments |= {"perturbed": [[*run.perturbed]], "options": options}
            arguments["perturbed_predictions"] = [[*run.perturbed_responses]]
            result = evaluate_perturbed(dataset, predictions, **arguments)
        else:
            result = evaluate_with(dataset, predictions, options, **arguments)
        notice = f"{ORIGINAL_FILE} holds the numbers of {run.tool}"
        result.amend(notices=(notice, *result.notices))
        schema = dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_NUMBERS, pl.Float64)
        rows = compare_scores(run, result)
        result.tables[ORIGINAL_FILE] = pl.DataFrame(rows, schema=schema)
        result.save(out)
    return result


def compare_scores(run: ImportedRun, result: Result | None) -> list[dict[str, Any]]:
    """Return a row for each score of the tool, with evalkit's value and difference."""
    from evalkit_analysis_robustness import find_effects

    computed: list[Score] = []
    if result is not None:
        computed = [*result.scores, *find_effects(result).scores]
    rows = []
    for score in run.scores:
        found = _find(score, result, computed)
        value = None if found is None else found.value
        value, difference = value and value * score.scale, None
        if value is not None and score.tool is not None:
            difference = value - score.tool
        own = {"evalkit_metric": score.computed_by, "evalkit": value}
        own |= {"difference": difference}
        explanation = _explain(run, score, result, found, difference)
        rows.append({**score._asdict(), **own, "explanation": explanation})
    return rows


def _find(
    score: OriginalScore, result: Result | None, computed: Sequence[Score]
) -> Score | None:
    """Return evalkit's score of the same examples."""
    metric = score.computed_by
    if result is None or metric is None or metric not in result:
        return None
    place = score.tag, score.perturbation, score.computed_on
    for own in computed:
        computed_on = own.perturbation and own.computed_on
        is_same = (own.tag, own.perturbation, computed_on) == place
        is_whole = own.metric == result[metric].metric and own.aggregate is None
        if is_same and is_whole and own.value is not None:
            return own
    return None


def _explain(
    run: ImportedRun,
    score: OriginalScore,
    result: Result | None,
    own: Score | None,
    difference: float | None,
) -> str:
    if result is None:
        return "" if run.examples else "there are no examples, so no run"
    if own is None:
        return f"evalkit has no {'value' if score.computed_by else 'counterpart'}"
    if difference is None:
        return f"{run.tool} has no value"
    if abs(difference) <= _TOLERANCE:
        return "" if score.counterpart else f"mean of the scores of {run.tool}"
    known = [score.explanation] * bool(score.explanation)
    if own.coverage and own.coverage < 1:
        known.append(f"evalkit covers {own.n} of {own.n / own.coverage:.0f} examples")
    return "; ".join(known) or "unknown"


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
