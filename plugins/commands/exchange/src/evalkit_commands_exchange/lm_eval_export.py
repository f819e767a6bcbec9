"""Results and samples of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalkit import Result
from evalkit_commands_exchange.exported import (
    by_model,
    dump,
    file_name,
    input_text,
    rows_of,
    started,
    texts_of,
    whole_scores,
)

_LIMITS = (
    "lm-eval: results have no place for confidence intervals, tags, perturbations and "
    "coverage, which are left out; standard errors are kept"
)


def lm_eval_files(
    runs: Sequence[Result], notices: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield `results_*.json` of each model, and `samples_*.jsonl` of each run."""
    notices.append(_LIMITS)
    for model, own in by_model(runs).items():
        date = max(map(started, own)).replace(tzinfo=None).isoformat()
        date, folder = date.replace(":", "-"), file_name(model.replace("/", "__"))
        tasks = {_task(run): run for run in own}
        yield f"{folder}/results_{date}.json", dump(_results(model, tasks, notices))
        for run in own:
            samples = [*_samples(run, notices)]
            if samples:
                lines = "".join(f"{dump(each, indent=None)}\n" for each in samples)
                yield f"{folder}/samples_{_task(run)}_{date}.jsonl", lines


def _task(run: Result) -> str:
    return file_name(str(run.dataset))


def _results(
    model: str, tasks: dict[str, Result], notices: list[str]
) -> dict[str, Any]:
    scores = {name: whole_scores(run, notices) for name, run in tasks.items()}
    results: dict[str, dict[str, Any]] = {}
    for name, found in scores.items():
        results[name] = {"alias": name}
        for metric, score in found.items():
            results[name][f"{metric},none"] = score.value
            error = "N/A" if score.se is None else score.se
            results[name][f"{metric}_stderr,none"] = error
    return {
        "results": results,
        "group_subtasks": {name: [] for name in tasks},
        "configs": {
            name: {
                "task": name,
                "output_type": "generate_until",
                "test_split": run.record.split,
                "metadata": {"version": run.record.data.version},
            }
            for name, run in tasks.items()
        },
        "versions": {name: run.record.data.version for name, run in tasks.items()},
        "n-shot": {},
        "higher_is_better": {
            name: {metric: each.higher_is_better for metric, each in found.items()}
            for name, found in scores.items()
        },
        "n-samples": {
            name: {
                "original": run.record.counts.examples,
                "effective": run.record.counts.examples,
            }
            for name, run in tasks.items()
        },
        "config": {"model": model},
        "model_name": model,
        "model_name_sanitized": model.replace("/", "__"),
    }


def _samples(run: Result, notices: list[str]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows_of(run, notices)):
        predictions, answers = texts_of(row["pred"]), texts_of(row["answer"])
        response = row.get("input/response")
        yield {
            "doc_id": number,
            "doc": {"id": row["id"], **row["inputs"]},
            "target": answers[0] if len(answers) == 1 else str(answers),
            "arguments": {"gen_args_0": {"arg_0": input_text(row["inputs"])}},
            "resps": [predictions if response is None else [response]],
            "filtered_resps": predictions,
            "filter": "none",
            "metrics": [*row["scores"]],
            **row["scores"],
        }
