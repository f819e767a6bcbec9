"""Imports the results of SEA-HELM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evalkit.errors import AdapterError
from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_peers.values import object_of, value_at
from evalkit_benchmarks_declared.datasets import reference
from evalkit_benchmarks_peers.peer_files import PeerFile, component_name, read_peer_file
from evalkit_benchmarks_peers.seahelm import Block
from evalkit_benchmarks_peers.seahelm_config import SeahelmTask
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore, Row
from evalkit_commands_exchange.shared import column_name, read_lines, without_examples

PATTERN = "*_seahelm_results_*.json"
_FAILED = "SEA-HELM writes 0 for a task whose evaluation failed"
_FACETS = ("competency", "aggregation_group")


def read_seahelm(path: Path) -> Iterator[Callable[[], ImportedRun]]:
    """Read a results file: a run for each task and language."""
    results = object_of(read_document(path), "results")
    model, _, moment = path.stem.partition("_seahelm_results_")
    folder = path.parent.parent
    config = folder / "configs" / f"{model}_run_config_{moment}.yaml"
    settings = read_peer_file(config)
    tasks = PeerFile(config, object_of(value_at(settings.values, "tasks"), "tasks"))
    totals = {}
    for place, each in _walk(results, tasks.values):
        if isinstance(each, Mapping):
            block = Block(SeahelmTask(tasks, place[-1], folder), place[0])
            yield partial(_read_task, path, block, each, settings.values)
        else:
            totals["/".join(place)] = each
    yield partial(without_examples, "SEA-HELM", path, "seahelm", model, totals)


def _walk(
    values: Mapping[str, Any], tasks: Row, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the scores of each task, and the means over tasks, with their places."""
    for key, each in values.items():
        if key in tasks or not isinstance(each, Mapping):
            yield (*above, key), each
        else:
            yield from _walk(each, tasks, (*above, key))


def _read_task(
    path: Path, block: Block, scores: Mapping[str, Any], settings: Row
) -> ImportedRun:
    task, lang = block.task, block.lang
    model = path.stem.partition("_seahelm_results_")[0]
    group = str(task.config.get("aggregation_group", task.name))
    folder = path.parent.parent / "inferences"
    file = folder / lang / group / f"{model}_{task.name}_{lang}.jsonl"
    rows = read_lines(file, folder)
    if any(len(row["prompts"]) > 1 for row in rows):
        raise AdapterError(f"{file}: conversations have no counterpart")
    originals = [*_scores(block, scores, rows[0].get("individual_scores") or {})]
    columns = {each.column: each.metric for each in originals if each.column}
    labels = sorted({str(row["label"]) for row in rows})
    examples, responses = [], []
    for number, row in enumerate(rows):
        uid = str(row.get("id", row.get("question_id", number)))
        label, choices = row.get("label"), {}
        if block.metric.answer == "choice":
            label, choices = str(label), {"choices": labels}
        query = str(task.config["languages"][lang]["prompt_template"]["task_template"])
        fields = {"input": query.format_map(row["prompts"][0]), "answer": label}
        metadata: Row = row.get("metadata") or {}
        kept = {f"metadata_{key}": value for key, value in metadata.items()}
        examples.append({"uid": uid, **kept, **fields, **choices})
        error, reply = (row.get("errors") or [None])[0], row["responses"][0]
        response = {"answer": reply} if error is None else {"error": str(error)}
        computed = row.get("individual_scores") or {}
        own = {column: computed.get(name) for column, name in columns.items()}
        responses.append({"id": uid, **response, **own})
    stages = block.metric.extract(block.tag)
    facets = [facet for facet in _FACETS if task.config.get(facet)]
    return ImportedRun(
        tool="SEA-HELM",
        source=path,
        files=[path, task.file.path, file],
        dataset=component_name(f"sea-{task.name}", lang),
        model=str((settings.get("run_args") or {}).get("model_name") or model),
        version=str((task.config.get("metadata") or {}).get("version") or 1),
        examples=examples,
        responses=responses,
        scores=originals,
        settings={"task": task.config, "run_args": settings.get("run_args")},
        tags=[f"{each.replace('_', '-')}:{task.config[each]}" for each in facets],
        language=lang,
        parameters=f"language={lang}",
        extract={"answer": stages} if stages else {},
    )


def _scores(
    block: Block, scores: Mapping[str, Any], computed: Mapping[str, Any]
) -> Iterator[OriginalScore]:
    headline = block.task.config["metric"]
    for name in sorted(scores, key=lambda name: name != headline):
        value = scores[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        is_read = block.metric.reads != "probability" and not block.metric.is_judged
        counterpart = block.metric.scores.get(name) if is_read else None
        if isinstance(counterpart, dict):
            scale = dict(counterpart["normalise"])
            low = scale.pop("low")
            options = {"chance": "choices" if low == "chance" else low, **scale}
            options["metric"] = counterpart["metric"]
            counterpart = reference("above-chance", options)
        has_column = name in computed and counterpart is None
        column = column_name("seahelm", name) if has_column else None
        failed = _FAILED if "error" in scores else ""
        score = OriginalScore(name, float(value), counterpart, column, scale=100.0)
        yield score._replace(explanation=failed)
