"""Imports the logs of Inspect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.errors import AdapterError
from evalkit_adapters_peers.inspect_logs import InspectLog, InspectSamples, open_log
from evalkit_adapters_peers.values import object_of, value_at
from evalkit_benchmarks_declared.datasets import reference
from evalkit_benchmarks_peers.peer_files import component_name
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore, Row
from evalkit_commands_exchange.shared import as_text, column_name, other_fields

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORTH = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_COUNTERPARTS = {
    **{"choice": "accuracy", "exact": "squad-em", "f1": "squad-f1"},
    "math": "math-match",
}
_PARAMETERS = ("location", "ignore_case", "numeric")


def read_inspect(path: Path) -> ImportedRun:
    """Read a log of Inspect."""
    with open_log(path) as (log, each_sample):
        samples = [_renamed(sample) for sample in each_sample]
    if log.get("status") != "success":
        problem = f"the evaluation ended with the status {log.get('status')}"
        raise AdapterError(f"{path}: {problem}. Complete it with inspect eval-retry")
    evaluation = object_of(value_at(log, "eval"), "eval")
    results = value_at(log, "results.scores")
    is_choice = any(each["scorer"] == "choice" for each in results)
    has_several = is_choice and any(len(each["target"]) > 1 for each in samples)
    scores = [score for each in results for score in _scores(each, has_several)]
    to_example = InspectSamples(InspectSamples.Parameters())
    examples = [
        _example(row, is_choice=is_choice)
        for sample in samples
        for row in to_example.adapt_row(sample)
    ]
    named = [(score.column, score.metric.rpartition("/")[0]) for score in scores]
    columns = [(column, scorer) for column, scorer in named if column]
    to_response = InspectLog(InspectLog.Parameters())
    responses = []
    for sample in samples:
        [response] = to_response.adapt_row(sample)
        values = object_of(sample.get("scores") or {}, "scores")
        if is_choice and not has_several and "error" not in response:
            answer = (values.get("choice") or {}).get("answer")
            response |= {"answer": _named(answer, sample["choices"])}
        computed = {name: _worth(values.get(scorer)) for name, scorer in columns}
        sent = {"prompt": sample["input"], "reply": value_at(sample, "output")}
        responses.append({**response, "id": str(response["id"]), **computed, **sent})
    return ImportedRun(
        tool="Inspect",
        source=path,
        files=[path],
        dataset=component_name(str(evaluation["task"]).rpartition("/")[2]),
        model=str(evaluation["model"]),
        version=str(evaluation.get("task_version", 0)),
        examples=examples,
        responses=responses,
        scores=scores,
        settings={key: value for key, value in evaluation.items() if key != "dataset"},
    )


def _scores(result: Mapping[str, Any], has_several: bool) -> Iterator[OriginalScore]:
    metrics = object_of(value_at(result, "metrics"), "metrics")
    stderr = metrics.get("stderr", {}).get("value")
    scorer, name = str(result["scorer"]), str(result["name"])
    parameters = result.get("params") or {}
    # of several letters evalkit asks for one, Inspect for all
    counterpart = None if has_several else _COUNTERPARTS.get(scorer)
    if scorer in ("match", "includes"):
        usual = {"location": "any", "strip": False} if scorer == "includes" else {}
        chosen = {key: parameters[key] for key in _PARAMETERS if key in parameters}
        counterpart = reference("inspect-match", {**usual, **chosen})
    for metric, each in metrics.items():
        if metric == "stderr":
            continue
        is_mean = metric in ("accuracy", "mean")
        yield OriginalScore(
            f"{name}/{metric}",
            each["value"],
            counterpart if is_mean else None,
            column_name("inspect", name) if is_mean and not counterpart else None,
            stderr=stderr if is_mean else None,
        )


def _worth(score: Any) -> float | None:
    """Return the value of a score as a number; None if it has several."""
    value = None if score is None else score.get("value")
    if isinstance(value, str):
        return _WORTH.get(value)
    return float(value) if isinstance(value, bool | int | float) else None


def _renamed(sample: Row) -> Row:
    """Return a sample whose metadata does not replace its other fields."""
    metadata = object_of(sample.get("metadata") or {}, "metadata")
    return {**sample, "metadata": other_fields(metadata, "metadata_")}


def _example(row: Row, *, is_choice: bool) -> Row:
    answer = row.pop("target")
    if is_choice:
        answer = _named(answer, row["choices"])
    text = as_text(row["input"])
    return {**row, "uid": str(row["uid"]), "input": text, "answer": answer}


def _named(letters: Any, choices: Sequence[str]) -> Any:
    """Return the choice that a letter names, or the list of several."""
    texts = letters if isinstance(letters, list) else str(letters or "").split(",")
    chosen = [choices[_LETTERS.index(text.strip())] for text in texts if text.strip()]
    return chosen[0] if len(chosen) == 1 else chosen or ""


def is_log(path: Path) -> bool:
    """Tell whether a JSON file is a log of Inspect, by its first bytes."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        start = b"".join(stream.read(200).split())
    return start.startswith(b'{"version":') and b'"status":' in start
