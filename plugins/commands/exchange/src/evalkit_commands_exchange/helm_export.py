"""Runs of HELM, which `helm-summarize` and `helm-server` read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from evalkit import Result, Score
from evalkit_commands_exchange.exported import (
    dump,
    effects_of,
    file_name,
    input_text,
    label,
    rows_of,
    score_name,
    size,
    texts_of,
    whole_scores,
)
from evalkit_commands_exchange.helm_folders import COUNTERPARTS

_LIMITS = (
    "helm: statistics have no place for confidence intervals, tags and coverage, which "
    "are left out; what HELM says of prompts and sampling are its defaults. "
    "Run helm-summarize with --schema-path schema.yaml --suite evalkit"
)
_FAMILIES = ("fairness", "robustness")
_NAMES = {own: name for name, own in COUNTERPARTS.items()}
"""HELM's names of the metrics that are HELM's own."""
_SIZE = "num_instances"
_MAIN = {"name": "${main_name}", "split": "__all__"}


def write(runs: Sequence[Result], notices: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the folder of each run, and a schema that shows them."""
    notices.append(_LIMITS)
    helm_runs = [_Run(run, notices) for run in runs]
    for run in helm_runs:
        for name, value in run.files().items():
            yield f"runs/evalkit/{run.name}/{name}.json", dump(value)
    yield "schema.yaml", _schema(helm_runs)


class _Run:
    """A run as HELM writes it."""

    def __init__(self, run: Result, notices: list[str]) -> None:
        self.run, self.record = run, run.record
        self.effects = effects_of(run, notices)
        scores = whole_scores(run, notices)
        self.scores = {_NAMES.get(name, name): each for name, each in scores.items()}
        main = "" if run.headline is None else score_name(run.headline)
        self.main, self.dataset = _NAMES.get(main, main), str(run.dataset)
        # a file of examples has no splits
        self.split = self.record.split if self.record.split != "all" else "test"
        separator = "," if ":" in self.dataset else ":"
        self.name = file_name(f"{self.dataset}{separator}model={run.model}")
        self._perturbations = {
            each.name: {
                "name": each.name,
                **{family: True for family in _FAMILIES if family in each.families},
                "computed_on": "perturbed",
            }
            for each in self.effects.perturbations
        }
        self._model = {"model": run.model, "model_deployment": run.model}
        self._adapter = {"method": "generation", **self._model}
        self._notices = notices

    def files(self) -> dict[str, Any]:
        """Return the content of each file by its name."""
        states, statistics = [], []
        for run in (self.run, *self.effects.runs):
            trials, copies = list(run.record.replications), Counter[Any]()
            for row in rows_of(run, self._notices):
                instance = self._instance(row, copies)
                trial = trials.index(row["replication"]) if trials else 0
                states.append(self._request_state(row, instance, trial))
                statistics.append(self._instance_stats(row, instance, trial))
        data = self.record.data
        scenario = {"name": self.dataset, "description": data.description or ""}
        files = {
            "run_spec": self._run_spec(),
            "scenario": {**scenario, "tags": [*data.tags]},
            "stats": [*self._stats()],
            "per_instance_stats": statistics,
        }
        if states:
            state = {"adapter_spec": self._adapter, "request_states": states}
            files["scenario_state"] = state
        return files

    def _run_spec(self) -> dict[str, Any]:
        parts: dict[str, list[dict[str, Any]]] = {}
        for each in self.record.components:
            spec = {"class_name": f"evalkit.{each.name}", "args": each.parameters}
            parts.setdefault(each.kind, []).append(spec)
        return {
            "name": self.name,
            "scenario_spec": parts["datasets"][0],
            "adapter_spec": self._adapter,
            "metric_specs": parts["metrics"],
            "groups": [self.dataset],
        }

    def _instance(self, row: Mapping[str, Any], copies: Counter[Any]) -> dict[str, Any]:
        right = texts_of(row["answer"])
        choices = row.get("input/choices") or right
        perturbation = self._perturbations.get(row["perturbation"])
        instance: dict[str, Any] = {
            "input": {"text": input_text(row["inputs"])},
            "references": [
                {"output": {"text": text}, "tags": ["correct"] if text in right else []}
                for text in dict.fromkeys([*choices, *right])
            ],
            "split": self.split,
            "id": row["id"] if perturbation is None else row["input_id"],
        }
        if perturbation is not None:
            key = instance["id"], row["perturbation"], row["replication"]
            # the first one of HELM has no seed
            seed = {"seed": copies[key]} if copies[key] else {}
            copies[key] += 1
            instance["perturbation"] = {**perturbation, **seed}
        return instance

    def _request_state(
        self, row: Mapping[str, Any], instance: Mapping[str, Any], trial: int
    ) -> dict[str, Any]:
        state = {
            "instance": instance,
            "train_trial_index": trial,
            "request": self._model,
            "num_train_instances": 0,
            "prompt_truncated": False,
        }
        if row["status"] == "missing":  # HELM shows no request without a result
            return state
        texts, response = texts_of(row["pred"]), row.get("input/response")
        if response is not None:
            # HELM maps what the model wrote to the answer
            state["output_mapping"] = {response.strip(): text for text in texts[:1]}
            texts = [response]
        completions = [
            {"text": text, "logprob": 0, "tokens": []} for text in texts or [""]
        ]
        result = {"success": True, "embedding": [], "cached": False}
        return {**state, "result": {**result, "completions": completions}}

    def _instance_stats(
        self, row: Mapping[str, Any], instance: Mapping[str, Any], trial: int
    ) -> dict[str, Any]:
        described = instance.get("perturbation")
        perturbed = {} if described is None else {"perturbation": described}
        return {
            "instance_id": instance["id"],
            **perturbed,
            "train_trial_index": trial,
            "stats": [
                self._stat(metric, value, described)
                for metric, value in row["scores"].items()
            ],
        }

    def _stats(self) -> Iterator[dict[str, Any]]:
        yield self._stat(_SIZE, size(self.run))
        for name, score in self.scores.items():
            yield self._stat(name, score.value)
        for score in self.effects.scores:
            described = self._view(score)
            if described is None or not score.is_whole:
                continue
            if score.value is None:
                what = f"{score.metric}, {score.computed_on}"
                self._notices.append(f"{label(self.run)}: no {what}: {score.reason}")
            else:
                yield self._stat(score.metric, score.value, described)

    def _view(self, score: Score) -> dict[str, Any] | None:
        """Describe what a score is computed on; None if HELM has no such score."""
        name, view = str(score.perturbation), score.computed_on
        if name in self._perturbations and view in ("original", "perturbed", "worst"):
            return {**self._perturbations[name], "computed_on": view}
        family = name.removeprefix("family:")
        if family in _FAMILIES and view == "worst-of-all":
            return {"name": family, family: True, "computed_on": "worst"}
        return None

    def _stat(
        self, name: str, value: Any, perturbation: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a statistic of one trial."""
        metric: dict[str, Any] = {"name": _NAMES.get(name, name), "split": self.split}
        if perturbation is not None:
            metric["perturbation"] = perturbation
        one = dict.fromkeys(("sum", "min", "max", "mean"), value)
        spread = {"sum_squared": value**2, "variance": 0, "stddev": 0}
        return {"name": metric, "count": 1, **one, **spread}


def _schema(runs: Sequence[_Run]) -> str:
    """Return what HELM's tables show of the runs."""
    datasets: dict[str, list[_Run]] = {}
    for run in runs:
        datasets.setdefault(run.dataset, []).append(run)
    metric_groups = {"main": _metric_group("main", [_MAIN])}
    groups = []
    for dataset, own in datasets.items():
        views = {name for run in own for name in run.effects.names}
        matchers = {
            family: [{**_MAIN, "perturbation_name": family}]
            for family in _FAMILIES
            if f"family:{family}" in views
        }
        names = dict.fromkeys(name for run in own for name in run.scores)
        others = [{**_MAIN, "name": name} for name in names if name != own[0].main]
        if others:
            matchers[f"other metrics of {dataset}"] = others
        metric_groups |= {name: _metric_group(name, x) for name, x in matchers.items()}
        groups.append(
            {
                "name": dataset,
                "display_name": dataset,
                "description": own[0].record.data.description or "",
                "metric_groups": ["main", *matchers],
                "environment": {"main_name": own[0].main},
            }
        )
    every = {"name": "all", "display_name": "All datasets", "category": "Datasets"}
    metrics: dict[str, dict[str, Any]] = {_SIZE: {"name": _SIZE}}
    for name, score in (item for run in runs for item in run.scores.items()):
        metrics[name] = {"name": name, "display_name": name}
        if score.higher_is_better is not None:
            metrics[name]["lower_is_better"] = not score.higher_is_better
    schema = {
        "metrics": [*metrics.values()],
        "perturbations": [{"name": family} for family in _FAMILIES],
        "metric_groups": [*metric_groups.values()],
        "run_groups": [{**every, "subgroups": [*datasets]}, *groups],
    }
    return yaml.safe_dump(schema, sort_keys=False, allow_unicode=True)


def _metric_group(name: str, matchers: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    shown = name[:1].upper() + name[1:]
    return {"name": name, "display_name": shown, "metrics": [*map(dict, matchers)]}
