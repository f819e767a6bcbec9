"""Imports the folders of HELM's runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.errors import AdapterError, DataError
from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_peers.helm import HelmInstances, HelmState, HelmStats
from evalkit_adapters_peers.helm import perturbation_name as name_perturbation
from evalkit_adapters_peers.values import text_of, value_at
from evalkit_benchmarks_peers.helm import SEPARATE, TEXT_METRICS
from evalkit_benchmarks_peers.peer_files import component_name
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore, Row
from evalkit_commands_exchange.shared import COMPARING, as_text, column_name

SPEC, STATE = "run_spec.json", "scenario_state.json"
_STATS, _BY_INSTANCE = "stats.json", "per_instance_stats.json"
FILES = (SPEC, STATE, _STATS, _BY_INSTANCE, "scenario.json")
"""Files of a run; the last one repeats what the others hold."""

_SUB_SCORES = {
    **{f"rouge_{name.lower()}": f"#{name}" for name in ("1", "2", "L")},
    **{f"{name}_set_match": f"#{name}" for name in ("exact", "iou", "f1")},
}
"""Score of a metric with several scores."""
COUNTERPARTS = {
    name: of + _SUB_SCORES.get(name, "") for name, of in TEXT_METRICS.items()
}
"""Score of evalkit for each statistic of `BasicGenerationMetric`."""
_TIES = "HELM gives equally likely references a share of the point"
_GENERAL = re.compile(
    r"(num|finish_reason|inference|training|logprob)_.*|.*@\d+|batch_size|max_prob|logprob"
    "|prompt_truncated|perplexity|bits_per_byte|predicted_index|.*(runtime|cost)"
)
"""Statistics that are no scores of answers: tokens, costs, the best of k outputs."""


def read_helm(folder: Path) -> ImportedRun:
    """Read the folder of a run of HELM."""
    for name in FILES[:4]:
        if not (folder / name).is_file():
            raise DataError(f"{folder / name}: file not found. Let helm-run finish it")
    spec = read_document(folder / SPEC)
    adapter = value_at(spec, "adapter_spec")
    method = text_of(value_at(adapter, "method"), "adapter_spec.method")
    if method in ("language_modeling", "ranking_binary"):
        raise AdapterError(f"{folder / SPEC}: {method} has no answers to import")
    states = [*HelmState(HelmState.Parameters()).read_file(folder / STATE)]
    statistics = HelmStats(HelmStats.Parameters())
    values = {
        (row["id"], row["train_trial_index"]): row
        for row in statistics.read_file(folder / _BY_INSTANCE)
    }
    metrics = value_at(spec, "metric_specs")
    is_exported = any(each["class_name"].startswith("evalkit.") for each in metrics)
    known = COUNTERPARTS | (COMPARING if is_exported else {})
    if method in SEPARATE:
        known = {"exact_match": "accuracy"}
    scores = [*_scores(read_document(folder / _STATS), values.values(), known)]
    if method in SEPARATE:
        scores = [score._replace(explanation=_TIES) for score in scores]
    examples, responses = _rows(states, values, scores, adapter)
    if not examples[1]:  # then the worst of originals and perturbed is the original
        scores = [score for score in scores if score.perturbation is None]
    name, _, arguments = text_of(value_at(spec, "name"), "name").partition(":")
    own = re.sub(r"(^|,)(model(_deployment)?|data_augmentation)=[^,]*", "", arguments)
    splits = {row["split"] for row in examples[0]}
    return ImportedRun(
        tool="HELM",
        source=folder,
        files=[folder / name for name in FILES if (folder / name).is_file()],
        dataset=component_name("helm", name.removeprefix("helm-"), own),
        model=adapter.get("model_deployment") or adapter.get("model") or "model",
        examples=examples[0],
        responses=responses[0],
        scores=scores,
        settings={"run_spec": spec},
        tags=[str(group) for group in spec.get("groups") or ()],
        facets=["split"] if len(splits) > 1 else [],
        perturbed=examples[1],
        perturbed_responses=responses[1],
    )


def _rows(
    states: list[Row],
    values: Mapping[tuple[str, Any], Row],
    scores: list[OriginalScore],
    adapter: Mapping[str, Any],
) -> tuple[Sequence[list[Row]], Sequence[list[Row]]]:
    """Return examples and responses, each without and with perturbation."""
    is_separate = adapter["method"] in SEPARATE
    pattern = adapter.get("output_mapping_pattern")
    to_example = HelmInstances(HelmInstances.Parameters(copies="all"))
    to_response = HelmState(HelmState.Parameters(copies="all"))
    columns = {each.column: each.metric for each in scores if each.column}
    examples: list[dict[str, Row]] = [{}, {}]
    responses: list[list[Row]] = [[], []]
    for state in states:
        is_perturbed = state["instance"].get("perturbation") is not None
        for row in to_example.adapt_row(state):
            examples[is_perturbed].setdefault(row["uid"], _example(row))
        if state.get("request_mode") == "calibration" or state.get("reference_index"):
            continue  # the other requests for the references of an instance
        if is_separate:
            state = {**state, "reference_index": None}
        for row in to_response.adapt_row(_mapped(state, pattern)):
            computed = values.get((row["id"], state.get("train_trial_index")), {})
            if is_separate:
                options = value_at(state, "instance.references")
                chosen = options[int(value_at(computed, "predicted_index"))]
                row["answer"] = value_at(chosen, "output.text")
            row |= {column: computed.get(name) for column, name in columns.items()}
            request = state.get("request") or {}
            sent = {"prompt": request.get("prompt") or request.get("messages")}
            sent["replies"] = value_at(state, "result").get("completions")
            responses[is_perturbed].append({**row, **sent})
    if not examples[0]:
        raise AdapterError("the run has perturbed instances only, without originals")
    return [[*each.values()] for each in examples], responses


def _mapped(state: Row, pattern: str | None) -> Row:
    """Return a request whose letters are replaced; other replies become empty."""
    if not (mapping := state.get("output_mapping")):
        return state
    completions = []
    for each in value_at(state, "result.completions"):
        letter = each["text"].strip()
        if pattern is not None:
            match = re.search(pattern, letter)
            letter = match and (match[1] if match.groups() else match[0])
        completions.append({**each, "text": mapping.get(letter, "")})
    result = {**state["result"], "completions": completions}
    return {**state, "output_mapping": None, "result": result}


def _example(row: Row) -> Row:
    row |= {"input": as_text(row["input"]), "answer": row.pop("target")}
    if len(row["choices"]) < 2:  # the references of a generated text
        del row["choices"]
    return row


def _scores(
    statistics: Any, by_instance: Any, known: Mapping[str, str]
) -> Iterator[OriginalScore]:
    """Yield the scores of the run, each with the metric that computes the same."""
    if not isinstance(statistics, list):
        raise AdapterError(f"{_STATS} must be a list of statistics")
    of_instances = {name for row in by_instance for name in row}
    splits = {value_at(each, "name").get("split") for each in statistics}
    for each in statistics:
        name = text_of(value_at(each, "name.name"), "name.name")
        described = each["name"]
        perturbation = described.get("perturbation")
        counterpart, column = known.get(name), None
        is_own = counterpart is None and name in of_instances and not perturbation
        if is_own and not _GENERAL.fullmatch(name):
            column = column_name("helm", name)
        split = described.get("split")
        score = OriginalScore(name, each.get("mean"), counterpart, column)
        yield score._replace(
            tag=f"split:{split}" if len(splits) > 1 and split else None,
            perturbation=name_perturbation(described),
            computed_on=(perturbation or {}).get("computed_on"),
        )
