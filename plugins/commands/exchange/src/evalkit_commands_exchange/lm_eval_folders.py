"""Imports the output folders of lm-evaluation-harness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_peers.lm_eval import LmEval, LmEvalDocs, choices_of, likelihood_of
from evalkit_adapters_peers.values import list_at, object_of
from evalkit_benchmarks_declared.datasets import reference
from evalkit_benchmarks_peers.lm_eval import FILTERS, METRICS, OPTIONS, filter_stage
from evalkit_benchmarks_peers.peer_files import component_name
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore, Row
from evalkit_commands_exchange.shared import (
    COMPARING,
    column_name,
    other_fields,
    read_lines,
    without_examples,
)

_TOOL = "lm-evaluation-harness"


def read_lm_eval(path: Path) -> Iterator[Callable[[], ImportedRun]]:
    """Read a `results_*.json`: a run for each task and each of its filters."""
    results = object_of(read_document(path), "results")
    model = results["model_name"] = str(results.get("model_name") or path.parent.name)
    for task in object_of(results.get("configs"), "configs"):
        scores = object_of(results["results"].get(task), f"results.{task}")
        filters = {key.partition(",")[2] for key in scores if "," in key}
        for name in sorted(filters):
            yield partial(_read_task, path, results, task, name)
    for group, scores in (results.get("groups") or {}).items():
        floats = ((key, each) for key, each in scores.items() if "," in key)
        numbers = {key: each for key, each in floats if isinstance(each, float)}
        yield partial(without_examples, _TOOL, path, group, model, numbers)


def _read_task(path: Path, results: Row, task: str, name: str) -> ImportedRun:
    moment = path.stem.removeprefix("results")
    file = path.parent / f"samples_{task}{moment}.jsonl"
    config = results["configs"][task]
    extract, extractor = _extractors(config), component_name(name)
    answers: Any = "filtered" if extract is None else "raw"
    to_response = LmEval(LmEval.Parameters(answers=answers))
    to_example = LmEvalDocs(LmEvalDocs.Parameters(target="answer"))
    lines = read_lines(file, path.parent, ". Run lm-eval with --log_samples")
    rows = [row for row in lines if row.get("filter") in (None, name)]
    examples = [_example(row, *to_example.adapt_row(row)) for row in rows]
    scores = [*_scores(results["results"][task], name, config, rows[0])]
    columns = {score.column: score.metric for score in scores if score.column}
    responses = []
    for row in rows:
        [response] = _ranked(row) or to_response.adapt_row(row)
        computed = {column: row.get(score) for column, score in columns.items()}
        sent = {"prompt": _context(row), "replies": row["resps"]}
        responses.append({**response, "id": str(row["doc_id"]), **computed, **sent})
    tags = config.get("tag") or ()
    kept = ("config", "lm_eval_version", "transformers_version", "git_hash", "date")
    settings = {key: results[key] for key in kept if key in results} | {"task": config}
    return ImportedRun(
        tool=_TOOL,
        source=path,
        files=[path, file],
        dataset=component_name(task, name if extract is None else None),
        extract=extract or {},
        parameters=f"extract={extractor}" if len(extract or ()) > 1 else "",
        model=results["model_name"],
        version=str(results.get("versions", {}).get(task, 1)),
        examples=examples,
        responses=responses,
        scores=scores,
        settings=settings,
        tags=[tags] if isinstance(tags, str) else [*map(str, tags)],
    )


def _extractors(config: Row) -> dict[str, Any] | None:
    """Return the extractor for each list of filters; None if evalkit lacks one."""
    if config.get("output_type") == "multiple_choice":
        return {}
    if config.get("repeats", 1) != 1:
        return None
    extract = {}
    for each in config.get("filter_list") or ():
        stage, names = filter_stage(each["filter"])
        if not {*FILTERS}.issuperset(names):
            return None
        extract[component_name(each["name"])] = [stage]
    return extract


def _scores(
    results: Row, filter_name: str, config: Mapping[str, Any], sample: Row
) -> Iterator[OriginalScore]:
    output = config.get("output_type", "generate_until")
    uses = {use["metric"]: use for use in config.get("metric_list") or ()}
    exported = {} if "metric_list" in config else {"acc": "accuracy", **COMPARING}
    for key, value in results.items():
        name, _, of_filter = key.partition(",")
        if of_filter != filter_name or name.endswith("_stderr"):
            continue
        stderr = results.get(f"{name}_stderr,{filter_name}")
        counterpart, usual = METRICS.get((output, name), (exported.get(name), None))
        use = uses.get(name, {})
        if use.get("aggregation", usual) != usual:
            counterpart = None
        if counterpart == "exact-match":
            options = {option: use[option] for option in OPTIONS if use.get(option)}
            counterpart = reference(counterpart, options)
        is_own = counterpart is None and isinstance(sample.get(name), int | float)
        column = column_name("lm_eval", name) if is_own else None
        yield OriginalScore(name, _number(value), counterpart, column, _number(stderr))


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not math.isnan(value)
    return float(value) if is_number else None


def _example(row: Row, document: Row) -> Row:
    own = other_fields(row["doc"], "doc_")
    own |= {"uid": str(row["doc_id"]), "input": _context(row)}
    choices = choices_of(row)
    listed = {} if choices is None else {"choices": [*choices.values()]}
    return {**own, "answer": document["answer"], **listed}


def _context(row: Row) -> str:
    """Return the prompt of the first request."""
    arguments = row["arguments"]
    first = arguments["gen_args_0"] if isinstance(arguments, dict) else arguments[0]
    return str(next(iter(first.values())) if isinstance(first, dict) else first[0])


def _ranked(row: Row) -> list[Row]:
    """Return the choices as ranked alternatives; nothing for generated texts."""
    choices = choices_of(row)
    if choices is None:
        return []
    likelihoods = list_at(row, "filtered_resps")
    values = {n: likelihood_of(likelihoods[n]) for n in choices}
    known = [n for n, value in values.items() if not math.isnan(value)]
    ranked = sorted(known, key=lambda n: -values[n])
    logprobs = [values[n] if math.isfinite(values[n]) else None for n in ranked]
    pairs = zip((choices[n] for n in ranked), logprobs, strict=True)
    return [{"responses": [{"answer": text, "logprob": each} for text, each in pairs]}]
