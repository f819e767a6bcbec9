"""Runs of HELM as benchmarks: `helm:run_spec.json`, or the folder of a run."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.catalog import ReadPlugin
from evalkit.errors import AdapterError, DataError
from evalkit_benchmarks_declared import check_benchmark, dataset_class
from evalkit_benchmarks_peers.helm_metrics import metrics_of, perturbations_of
from evalkit_benchmarks_peers.helm_prompts import (
    ASKED,
    CANDIDATES,
    INPUT,
    JOINT,
    LANGUAGE,
    RANKING,
    Adapter,
)
from evalkit_benchmarks_peers.helm_spec import RunSpec
from evalkit_benchmarks_peers.peer_files import (
    PeerFile,
    component_name,
    read_peer_file,
)

_SPEC = "run_spec.json"
_INSTANCES = "input_instances.json"
_STATE = "scenario_state.json"
_OF_EVALUATION = ("valid", "test")
_SAVE = (
    "Save the instances by helm-run --cache-instances, and put "
    "scenario_instances/*/input_instances.json beside the run spec"
)

Instance = dict[str, Any]


class Saved(NamedTuple):
    """Instances that HELM saved.

    Attributes:
        path: The file.
        instances: The instances, with ids.
        has_all: Whether they are all, before a sample was drawn.
        asked: Prompt of each instance, by its id, if it had shots.
    """

    path: Path
    instances: list[Instance]
    has_all: bool
    asked: Mapping[str, str] = {}


def read(text: str) -> ReadPlugin:
    """Read a run spec of HELM, with the instances beside it.

    Args:
        text: Path of a `run_spec.json`, or of the folder of a run.

    Returns:
        Its name, its dataset, and the files that it is made of.

    Raises:
        DataError: The run uses something that evalkit does not have. The message has
            the file, the line and the key.
    """
    path = Path(text.removeprefix("helm:")).expanduser()
    file = read_peer_file(path / _SPEC if path.is_dir() else path)
    run = Run(file, file.checked(RunSpec, file.values))
    benchmark = check_benchmark(run.benchmark(), str(file.path))
    made = dataset_class(benchmark, file.path, run.rows.__getitem__)
    dataset = type("HelmDataset", (made,), {"notices": tuple(run.notices)})
    return ReadPlugin(benchmark.name, dataset, (file.path, run.saved.path))


class Run:
    """A run spec that becomes a benchmark.

    Args:
        file: The file.
        spec: What it says.

    Attributes:
        saved: The instances.
        rows: Rows of the splits `train` and `test`.
        notices: What a user should know.

    Raises:
        DataError: The run uses something that evalkit does not have.
    """

    def __init__(self, file: PeerFile, spec: RunSpec) -> None:
        self._file, self._spec = file, spec
        self._adapter = Adapter(file, spec.adapter_spec)
        self._adapter.check()
        self.notices: list[str] = []
        self.saved = _saved(file, spec)
        self._is_asked = bool(self.saved.asked)
        instances = self.saved.instances
        train = [each for each in instances if each.get("split") == "train"]
        self.rows: dict[str, list[dict[str, Any]]] = {
            "train": [*self._rows(train)],
            "test": [*self._rows(self._evaluated(instances))],
        }
        if not self.rows["test"]:
            raise self._file.error(
                "no instance is of these", "adapter_spec", "eval_splits"
            )
        self._check_references()

    def benchmark(self) -> dict[str, Any]:
        """Return what a benchmark file says of it."""
        spec, adapter = self._spec, self._spec.adapter_spec
        name, _, arguments = spec.name.partition(":")
        others = [
            each
            for each in arguments.split(",")
            if not each.startswith(("model=", "model_deployment="))
        ]
        metrics = self._metrics()
        found = {
            "benchmark": 1,
            "name": component_name("-".join(["helm", name, *others])),
            "version": "1",
            "description": f"HELM: {spec.name} ({spec.scenario_spec.class_name})",
            "tags": list(spec.groups),
            "headline": metrics[0],
            "metrics": metrics[1:],
            "data": self._data(),
            **self._asking(),
        }
        if found["prompt"].get("shots"):
            found["trials"] = max(1, adapter.num_train_trials)
        found["replications"] = max(1, adapter.num_trials)
        perturbations = perturbations_of(self._file, spec.data_augmenter_spec)
        if perturbations and self._is_asked:
            problem = f"HELM's prompts cannot be perturbed. {_SAVE}"
            raise self._file.error(problem, "data_augmenter_spec", "perturbation_specs")
        self._notice(perturbed=bool(perturbations))
        return found | ({"perturbations": perturbations} if perturbations else {})

    def _data(self) -> dict[str, Any]:
        splits = {name: name for name, rows in self.rows.items() if rows}
        tags = {
            facet: column
            for facet, column in (("split", "split"), ("sub-split", "sub_split"))
            if len({row[column] for row in self.rows["test"]}) > 1
        }
        path = str(self.saved.path.absolute())  # which rows() reads
        found: dict[str, Any] = {"path": path, "id": "uid"}
        found |= {"splits": splits, "tags": tags}
        if self._spec.adapter_spec.method == LANGUAGE:
            return found | {"fields": {"text": INPUT}}
        if not self._has_answers:
            return found
        found["answer"] = {"text": "target"} if self._has_choices else "target"
        return found

    def _asking(self) -> dict[str, Any]:
        """Return the task, the prompt and the extractor."""
        method = self._spec.adapter_spec.method
        rows = [*self.rows["train"], *self.rows["test"]]
        prompt = self._adapter.prompt(rows, self._shots())
        if method == LANGUAGE:
            return {"task": "language-modelling", "prompt": prompt}
        fields, answer = {INPUT: "text"}, "choice" if self._has_choices else "text"
        if method == RANKING:
            fields, answer = {**fields, CANDIDATES: "texts"}, "ranking"
        extract = self._adapter.extract(prompt)
        if self._is_asked:
            fields = {ASKED: "text"}
            usual = prompt.get("choices", {}).get("letters", [])
            if usual != [chr(ord("A") + n) for n in range(len(usual))]:
                raise self._adapter.error(
                    f"must begin with A. {_SAVE}", "reference_prefix"
                )
            keys = ("one_message", "generate")
            prompt = {key: prompt[key] for key in keys} | {"query": f"{{{ASKED}}}"}
        found = {"task": {"input": fields, "answer": answer}, "prompt": prompt}
        return found | ({} if extract is None else {"extract": extract})

    @property
    def _has_choices(self) -> bool:
        method = self._spec.adapter_spec.method
        return method in JOINT or method.startswith("multiple_choice")

    def _shots(self) -> int:
        """Return how many shots a prompt has."""
        adapter, train = self._spec.adapter_spec, self.rows["train"]
        if self._is_asked or adapter.method == LANGUAGE:
            return 0
        count = min(len(train), adapter.max_train_instances)
        if count and adapter.method == RANKING:
            raise self._adapter.error(
                "evalkit ranks without shots, so must be 0", "max_train_instances"
            )
        answered = sum(row["target"] != [] for row in train)
        if answered < (count if adapter.sample_train else len(train)):
            raise self._adapter.error(
                f"{len(train) - answered} training instances have no correct "
                f"reference, which HELM shows as n/a. Write {answered} or less, with "
                "sample_train",
                "max_train_instances",
            )
        return count

    def _evaluated(self, instances: Sequence[Instance]) -> list[Instance]:
        """Return the instances that HELM evaluates: a sample, drawn as it does."""
        adapter = self._spec.adapter_spec
        most, splits = adapter.max_eval_instances, adapter.eval_splits
        found = [each for each in instances if each.get("split") in _OF_EVALUATION]
        if most is None or not self.saved.has_all:
            if splits and {*splits} < {each["split"] for each in found}:
                self.notices.append(
                    f"eval_splits: HELM evaluates all of {', '.join(_OF_EVALUATION)} "
                    "where max_eval_instances is not given"
                )
            return found
        found = [each for each in found if each["split"] in (splits or _OF_EVALUATION)]
        if len(found) <= most:
            return found
        import numpy as np

        places = np.random.RandomState(0).choice(len(found), most, replace=False)
        return [found[place] for place in places]

    def _rows(self, instances: Sequence[Instance]) -> Iterator[dict[str, Any]]:
        from evalkit_adapters_rows import pipeline

        adapt = pipeline([{"kind": "helm-instances"}])
        method = self._spec.adapter_spec.method
        for number, instance in enumerate(instances, start=1):
            try:
                rows = [*adapt([{"instance": instance}], number)]
            except AdapterError as error:
                raise DataError(f"{self.saved.path}: {error}") from error
            for row in rows:
                if not isinstance(row["input"], str):
                    raise self._adapter.error("instances are conversations", "method")
                own = instance.get("extra_data") or {}
                found = {
                    **{key: row[key] for key in ("uid", INPUT, "target", "choices")},
                    "split": row["split"],
                    "sub_split": row["sub_split"],
                    CANDIDATES: row["choices"],
                    "chain_of_thought": str(own.get("chain_of_thought") or ""),
                }
                if method == RANKING and isinstance(row["target"], str):
                    found["target"] = [row["target"]]
                if self._is_asked:
                    found[ASKED] = self.saved.asked[row["uid"]]
                yield found

    @property
    def _has_answers(self) -> bool:
        return any(row["target"] != [] for row in self.rows["test"])

    def _check_references(self) -> None:
        """Refuse instances without a right reference beside others that have one."""
        if self._has_answers and self._spec.adapter_spec.method != LANGUAGE:
            for row in self.rows["test"]:
                if row["target"] == []:
                    problem = f"{row['uid']!r} has no correct reference"
                    raise self._file.error(problem, "scenario_spec", "class_name")

    def _metrics(self) -> list[str]:
        method = self._spec.adapter_spec.method
        found, missing = metrics_of(self._spec.metric_specs, method)
        named = [
            f"{name} ({', '.join(filter(None, keys))})" if any(keys) else name
            for name, keys in missing.items()
        ]
        if named:
            self.notices.append(
                f"left out, as evalkit has no metric for them: {', '.join(named)}"
            )
        if not found:
            why = f": {', '.join(named)}" if named else ""
            problem = f"evalkit has no metric for any of these{why}. Name another"
            raise self._file.error(problem, "metric_specs")
        return found

    def _notice(self, *, perturbed: bool) -> None:
        """Say what is done in another way, or not at all."""
        spec, adapter = self._spec, self._spec.adapter_spec
        model = adapter.model_deployment or adapter.model
        if model:
            self.notices.append(f"the run spec is of {model}, which is not asked")
        if self._is_asked:
            self.notices.append(
                f"prompts are those of {_STATE}, in the first trial, as it does not "
                "hold the training instances"
            )
        if adapter.random is not None:
            self.notices.append("random, which names HELM's cache entry, is not used")
        if adapter.method in JOINT and adapter.stop_sequences:
            self.notices.append("stop_sequences are not used, as HELM uses none")
        if adapter.method == "generation" and adapter.num_outputs > 1:
            self.notices.append(
                f"of {adapter.num_outputs} outputs the first is scored; HELM takes the "
                "likeliest"
            )
        augmenter = spec.data_augmenter_spec
        if perturbed and not augmenter.should_include_original_eval:
            self.notices.append("originals are asked too")
        if perturbed and not augmenter.should_skip_unchanged_eval:
            self.notices.append("perturbed examples that equal theirs are left out")
        if spec.annotators:
            names = ", ".join(each.name for each in spec.annotators)
            self.notices.append(f"annotators are not run: {names}")


def _saved(file: PeerFile, spec: RunSpec) -> Saved:
    """Find the instances of a run."""
    folder, adapter = file.path.parent, spec.adapter_spec
    for path in (folder / _INSTANCES, *_cached(file, spec)):
        if path.is_file():
            return Saved(path, _with_ids(_listed(path)), has_all=True)
    path = folder / _STATE
    if path.is_file():
        states = _listed(path, "request_states")
        asked = {
            str(each["instance"]["id"]): str(each["request"]["prompt"])
            for each in reversed(states)  # of several trials the first counts
            if each["instance"].get("perturbation") is None
        }
        has_shots = any(each.get("num_train_instances") for each in states)
        instances = _originals(each["instance"] for each in states)
        return Saved(path, instances, False, asked if has_shots else {})
    path = folder / "instances.json"
    has_file = path.is_file()
    if has_file and (adapter.method == LANGUAGE or not adapter.max_train_instances):
        return Saved(path, _originals(_listed(path)), has_all=False)
    problem = f"evalkit does not make the instances of {spec.scenario_spec.class_name}"
    if has_file:
        problem = f"{path.name} has no instances for shots (max_train_instances)"
    raise file.error(f"{problem}. {_SAVE}", "scenario_spec", "class_name")


def _cached(file: PeerFile, spec: RunSpec) -> Iterator[Path]:
    """Yield the file that --cache-instances wrote, for `OUTPUT/runs/SUITE/RUN`."""
    above = file.path.absolute().parents
    root = above[min(3, len(above) - 1)] / "scenario_instances"
    args = sorted(spec.scenario_spec.args.items())
    given = ",".join(f"{key}={value}" for key, value in args)
    described = file.path.parent / "scenario.json"
    if described.is_file():
        name = str(read_peer_file(described).values.get("name"))
        yield root / (f"{name}:{given}" if given else name) / _INSTANCES
    elif given and root.is_dir():
        found = [*root.glob(f"*:{glob.escape(given)}/{_INSTANCES}")]
        yield from found if len(found) == 1 else ()


def _listed(path: Path, key: str | None = None) -> list[Instance]:
    """Read a file that is a list, or has one at a key."""
    file = read_peer_file(path)
    values = file.values
    if key is not None and isinstance(values, Mapping):
        values = values.get(key)
    if not isinstance(values, list) or not all(
        isinstance(each, dict) for each in values
    ):
        raise file.error("must be a list of objects", *filter(None, [key]))
    return values


def _originals(instances: Iterable[Instance]) -> list[Instance]:
    """Return each instance once, without perturbed copies."""
    found: dict[Any, Instance] = {}
    for each in instances:
        if each.get("perturbation") is None:
            found.setdefault(each["id"], each)
    return [*found.values()]


def _with_ids(instances: Sequence[Instance]) -> list[Instance]:
    """Number all instances, as HELM does, if one has no id."""
    if all(each.get("id") is not None for each in instances):
        return [*instances]
    return [{**each, "id": f"id{n}"} for n, each in enumerate(instances)]
