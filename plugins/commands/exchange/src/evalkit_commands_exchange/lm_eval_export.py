"""Results and samples of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalkit import Result
from evalkit_benchmarks_peers.lm_eval import METRICS
from evalkit_commands_exchange.exported import (
    by_model,
    dump,
    file_name,
    input_text,
    last_date,
    rows_of,
    size,
    texts_of,
    whole_scores,
)

_LIMITS = (
    "lm-eval: results have no place for confidence intervals, tags, perturbations and "
    "coverage, which are left out; standard errors are kept"
)
_NAMES = {metric: name for (_, name), (metric, _) in METRICS.items()}
"""The harness's names of the metrics that are its own."""


def write(runs: Sequence[Result], notices: list[str]) -> Iterator[tuple[str, str]]:
    """Yield `results_*.json` of each model, and `samples_*.jsonl` of each run."""
    notices.append(_LIMITS)
    for model, own in by_model(runs).items():
        date, folder = last_date(own), file_name(model.replace("/", "__"))
        tasks = [(file_name(str(run.dataset)), run) for run in own]
        yield f"{folder}/results_{date}.json", dump(_results(model, tasks, notices))
        for task, run in tasks:
            lines = [dump(each, indent=None) for each in _samples(run, notices)]
            if lines:
                path = f"{folder}/samples_{task}_{date}.jsonl"
                yield path, "".join(f"{line}\n" for line in lines)


def _name(score: str) -> str:
    """Name a score; behind a comma the harness has the name of the filter."""
    return _NAMES.get(score, score).replace(",", ";")


def _filter(run: Result) -> str:
    """Name what took answers out of the responses."""
    return "none" if run.record.extraction is None else "extracted"


def _results(
    model: str, tasks: Sequence[tuple[str, Result]], notices: list[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "results": {},
        "group_subtasks": {task: [] for task, _ in tasks},
        "configs": {},
        "versions": {task: run.record.data.version for task, run in tasks},
        "higher_is_better": {},
        "n-samples": {},
        "config": {"model": model},
        "model_name": model,
        "model_name_sanitized": model.replace("/", "__"),
    }
    for task, run in tasks:
        scores = {
            _name(name): score for name, score in whole_scores(run, notices).items()
        }
        found["results"][task] = {"alias": task}
        for name, score in scores.items():
            error = "N/A" if score.se is None else score.se
            found["results"][task] |= {
                f"{name},{_filter(run)}": score.value,
                f"{name}_stderr,{_filter(run)}": error,
            }
        found["higher_is_better"][task] = {
            name: score.higher_is_better for name, score in scores.items()
        }
        counts = {"original": run.record.counts.examples, "effective": size(run)}
        found["n-samples"][task] = counts
        found["configs"][task] = _config(task, run)
    return found


def _config(task: str, run: Result) -> dict[str, Any]:
    extraction = run.record.extraction
    config: dict[str, Any] = {"task": task, "output_type": "generate_until"}
    config |= {"test_split": run.record.split}
    config |= {"metadata": {"version": run.record.data.version}}
    if extraction is not None:
        stage = {"function": "evalkit", "extract": extraction.text}
        config["filter_list"] = [{"name": _filter(run), "filter": [stage]}]
    return config


def _samples(run: Result, notices: list[str]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows_of(run, notices)):
        scores = {_name(name): x for name, x in row["scores"].items()}
        predictions = texts_of(row["pred"]) or [""]
        answers, response = texts_of(row["answer"]), row.get("input/response")
        request = {"arg_0": input_text(row["inputs"]), "arg_1": {}}
        yield {
            "doc_id": number,
            "doc": {"id": row["id"], **row["inputs"]},
            "target": answers[0] if len(answers) == 1 else str(answers),
            "arguments": {"gen_args_0": request},
            "resps": [predictions if response is None else [response]],
            "filtered_resps": predictions,
            "filter": _filter(run),
            "metrics": [*scores],
            **scores,
        }
