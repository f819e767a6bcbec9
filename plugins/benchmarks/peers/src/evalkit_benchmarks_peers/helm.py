"""Runs of HELM as benchmarks: `helm:run_spec.json`, or the folder of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from evalkit.catalog import ReadPlugin
from evalkit.errors import DataError
from evalkit_adapters_peers.helm_runs import saved_instances
from evalkit_benchmarks_declared import check_benchmark, dataset_class
from evalkit_benchmarks_peers.peer_files import (
    PeerFile,
    Spec,
    component_name,
    escaped,
    read_peer_file,
    regexes,
)

_SAVE = (
    "Save the instances by helm-run --cache-instances, and put "
    "scenario_instances/*/input_instances.json beside the run spec"
)
_JOINT = ("multiple_choice_joint", "multiple_choice_joint_chain_of_thought")
SEPARATE = ("multiple_choice_separate_original", "multiple_choice_separate_calibrated")
_RANKING, _LANGUAGE = "ranking_binary", "language_modeling"
_METHODS = ("generation", *_JOINT, *SEPARATE, _RANKING, _LANGUAGE)
_INPUT, _CANDIDATES = "input", "candidates"
"""Field of an instance's text, and of the items that are ranked."""
_Count = Annotated[int, Field(strict=True, ge=0)]


class _ObjectSpec(Spec):
    class_name: str
    args: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return self.class_name.rpartition(".")[2]


class _Substitution(Spec):
    source: str
    target: str


class _AdapterSpec(Spec):
    method: str = ""
    global_prefix: str = ""
    global_suffix: str = ""
    instructions: str = ""
    input_prefix: str = "Input: "
    input_suffix: str = "\n"
    reference_prefix: str = "A. "
    reference_prefix_characters: list[str] | None = None
    reference_suffix: str = "\n"
    chain_of_thought_prefix: str = ""
    chain_of_thought_suffix: str = "\n"
    output_prefix: str = "Output: "
    output_suffix: str = "\n"
    instance_prefix: str = "\n"
    substitutions: list[_Substitution] = []
    max_train_instances: _Count = 5
    max_eval_instances: _Count | None = None
    num_outputs: _Count = 5
    num_train_trials: _Count = 1
    num_trials: _Count = 1
    sample_train: bool = True
    model_deployment: str = ""
    model: str = ""
    temperature: float = 1
    max_tokens: _Count = 100
    stop_sequences: list[str] = []
    random: str | None = None
    multi_label: bool = False
    image_generation_parameters: None = None
    reeval_parameters: None = None
    eval_splits: list[str] | None = None
    output_mapping_pattern: re.Pattern[str] | None = None


class _DataAugmenterSpec(Spec):
    perturbation_specs: list[_ObjectSpec] = []
    should_augment_train_instances: bool = False
    should_include_original_train: bool = False
    should_skip_unchanged_train: bool = False
    should_augment_eval_instances: bool = False
    should_include_original_eval: bool = False
    should_skip_unchanged_eval: bool = False
    seeds_per_instance: Annotated[int, Field(strict=True, ge=1)] = 1


class _RunSpec(Spec):
    name: str
    scenario_spec: _ObjectSpec
    adapter_spec: _AdapterSpec
    metric_specs: list[_ObjectSpec]
    data_augmenter_spec: _DataAugmenterSpec = _DataAugmenterSpec()
    groups: list[str] = []
    annotators: list[_ObjectSpec] | None = None


TEXT_METRICS = {
    "exact_match": "helm-exact-match",
    "quasi_exact_match": "quasi-exact-match",
    "quasi_leave_articles_exact_match": "quasi-exact-match:articles=keep",
    "prefix_exact_match": "prefix-exact-match",
    "quasi_prefix_exact_match": "quasi-prefix-exact-match",
    "exact_match_indicator": "helm-exact-match-indicator",
    "final_number_exact_match": "final-number-match",
    "f1_score": "helm-f1",
    "bleu_1": "helm-bleu-1",
    "bleu_4": "helm-bleu-4",
    "chinese_bleu_1": "helm-bleu-1:tokenize=characters",
    "cleva_math_result_match": "helm-cleva-math-result-match",
    "absolute_value_difference": "helm-absolute-value-difference",
    **dict.fromkeys(
        ("exact_set_match", "iou_set_match", "f1_set_match"), "helm-set-match"
    ),
    **dict.fromkeys(("rouge_1", "rouge_2", "rouge_l"), "rouge:stemmer=true"),
}
"""Metrics of `BasicGenerationMetric`."""
_OF_CLASSES: Mapping[str, Mapping[str, str | None]] = {
    "BasicGenerationMetric": {},
    "BasicMetric": {},
    "BasicReferenceMetric": {},
    "InstancesPerSplitMetric": {},  # every score has its number of examples
    "LanguageModelingMetric": {"log": "perplexity", "bits": "bits-per-byte"},
    "MachineTranslationMetric": {"bleu": "bleu"},
    "SummarizationMetric": {
        "rouge": TEXT_METRICS["rouge_l"],
        **dict.fromkeys(("coverage", "density", "compression")),
    },
}
"""Metrics of other classes by their names; None for those that evalkit lacks."""
_RANKED = {"recip_rank": "mrr", "ndcg_cut": "ndcg:k=", "recall": "recall-at-k:k="}
_PERTURBATIONS = {
    "ContractionPerturbation": "helm-contractions",
    "ExpansionPerturbation": "helm-expansions",
    "ExtraSpacePerturbation": "helm-extra-space",
    "FillerWordsPerturbation": "helm-filler-words",
    "LowerCasePerturbation": "helm-lowercase",
    "SpacePerturbation": "helm-space",
    "SuffixPerturbation": "helm-suffix",
    "TyposPerturbation": "helm-typos",
}
"""Perturbations of which evalkit has one that gives the same bytes."""


def read(text: str) -> ReadPlugin:
    """Read a run spec of HELM, with the instances beside it.

    Args:
        text: Path of a `run_spec.json`, or of the folder of a run.

    Raises:
        DataError: The run uses something that evalkit does not have. The message has
            the file, the line and the key.
    """
    path = Path(text.removeprefix("helm:")).expanduser()
    path = path / "run_spec.json" if path.is_dir() else path
    run = _Run(read_peer_file(path))
    benchmark = check_benchmark(run.benchmark(), str(path))
    made = dataset_class(benchmark, path, run.rows.__getitem__)
    dataset = type("HelmDataset", (made,), {"notices": tuple(run.notices())})
    return ReadPlugin(benchmark.name, dataset, (path, run.saved.path))


class _Run:
    """A run spec that becomes a benchmark."""

    def __init__(self, file: PeerFile) -> None:
        self._file, self._spec = file, file.checked(_RunSpec)
        self._adapter = adapter = self._spec.adapter_spec
        self._method = method = adapter.method
        self._check()
        scenario = self._spec.scenario_spec.class_name
        saved = saved_instances(file.path.parent)
        if saved is None:
            problem = f"evalkit does not make the instances of {scenario}. {_SAVE}"
            raise file.error(problem, "scenario_spec", "class_name")
        self.saved = saved
        most, splits = adapter.max_eval_instances, adapter.eval_splits
        train = [row for row in saved.rows if row["split"] == "train"]
        tested = [self._row(row) for row in saved.evaluated(most, splits)]
        self.rows = {"train": [self._row(row) for row in train], "test": tested}
        if not tested:
            raise self._refuse("no instance is of these", "eval_splits")
        without = [row["uid"] for row in tested if row["target"] == []]
        self._has_answers = len(without) < len(tested)
        if without and self._has_answers and method != _LANGUAGE:
            problem = f"{without[0]!r} has no correct reference"
            raise file.error(problem, "scenario_spec", "class_name")
        metrics = [each for spec in self._spec.metric_specs for each in self._of(spec)]
        self._metrics = [*dict.fromkeys(name for _, name in metrics if name)]
        self._missing = ", ".join(name for name, known in metrics if known is None)
        if not self._metrics:
            problem = f"evalkit has no metric for these: {self._missing}. Name another"
            raise file.error(problem, "metric_specs")
        self._perturbations = self._perturbed()

    def benchmark(self) -> dict[str, Any]:
        """Return what a benchmark file says of the run."""
        spec, rows = self._spec, self.rows
        name, _, arguments = spec.name.partition(":")
        others = re.sub(r"(^|,)(model|model_deployment)=[^,]*", "", arguments)
        most = max(len(row["choices"]) for row in [*rows["train"], *rows["test"]])
        prompt = self._prompt(most, self._shots())
        is_choice = self._method.startswith("multiple_choice")
        fields, answer = {_INPUT: "text"}, "choice" if is_choice else "text"
        if self._method == _RANKING:
            fields, answer = {**fields, _CANDIDATES: "texts"}, "ranking"
        data: dict[str, Any] = {
            "path": str(self.saved.path.absolute()),  # which rows() reads
            "id": "uid",
            "splits": {name: name for name in rows if rows[name]},
            "tags": {
                column.replace("_", "-"): column
                for column in ("split", "sub_split")
                if len({row[column] for row in rows["test"]}) > 1
            },
        }
        task: Any = {"input": fields, "answer": answer}
        if self._method == _LANGUAGE:
            task, data["fields"] = "language-modelling", {"text": _INPUT}
        elif self._has_answers:
            data["answer"] = {"text": "target"} if is_choice else "target"
        extract: Any = "strip" if self._method == "generation" else None
        if self._method in _JOINT:
            letters = "|".join(map(re.escape, prompt["choices"]["letters"]))
            own = self._adapter.output_mapping_pattern
            patterns = [own.pattern] if own else []
            extract = [*regexes(*patterns, rf"^\s*({letters})\s*$"), "choice"]
        return {
            "benchmark": 1,
            "name": component_name("helm", name, others),
            "version": "1",
            "description": f"HELM: {spec.name} ({spec.scenario_spec.class_name})",
            "tags": spec.groups,
            "headline": self._metrics[0],
            "metrics": self._metrics[1:],
            "data": data,
            "task": task,
            "prompt": prompt,
            "extract": extract,
            "trials": max(1, self._adapter.num_train_trials * ("shots" in prompt)),
            "replications": max(1, self._adapter.num_trials),
            "perturbations": self._perturbations,
        }

    def notices(self) -> Iterator[str]:
        """Yield what is done in another way, or not at all."""
        spec, adapter = self._spec, self._adapter
        if self._missing:
            yield f"left out, as evalkit has no metric for them: {self._missing}"
        if model := adapter.model_deployment or adapter.model:
            yield f"the run spec is of {model}, which is not asked"
        splits = {row["split"] for row in self.rows["test"]}
        if splits - {*(adapter.eval_splits or splits)}:
            yield f"eval_splits: evaluated are {', '.join(sorted(splits))}, as by HELM"
        if adapter.random is not None:
            yield "random, which names HELM's cache entry, is not used"
        if self._method in _JOINT and adapter.stop_sequences:
            yield "stop_sequences are not used, as HELM uses none"
        if self._method == "generation" and (count := adapter.num_outputs) > 1:
            yield f"of {count} outputs the first is scored; HELM takes the likeliest"
        augmenter = spec.data_augmenter_spec
        if self._perturbations and not augmenter.should_include_original_eval:
            yield "originals are asked too"
        if self._perturbations and not augmenter.should_skip_unchanged_eval:
            yield "perturbed examples that equal theirs are left out"
        if spec.annotators:
            names = ", ".join(each.name for each in spec.annotators)
            yield f"annotators are not run: {names}"

    def _check(self) -> None:
        """Refuse what no prompt can say."""
        spec, method = self._adapter, self._method
        if method not in _METHODS:
            known = ", ".join(_METHODS)
            problem = f"evalkit does not ask by {method!r}. It has {known}"
            raise self._refuse(problem, "method")
        for key in ("output_suffix", "global_suffix", "substitutions"):
            if method in SEPARATE and getattr(spec, key):
                problem = "HELM would score it, not the reference. Leave it out"
                raise self._refuse(problem, key)
        for key in ("max_tokens", "num_outputs"):
            if method in ("generation", *_JOINT) and not getattr(spec, key):
                raise self._refuse("must be at least 1, got 0", key)
        if method == _JOINT[1] and spec.multi_label:
            problem = "evalkit does not have this with reasons"
            raise self._refuse(problem, "multi_label")

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(row["input"], str):
            raise self._refuse("instances are conversations", "method")
        thoughts = (row.get("extra_data") or {}).get("chain_of_thought")
        target = row["target"]
        if self._method == _RANKING and isinstance(target, str):
            target = [target]
        own = {_CANDIDATES: row["choices"], "target": target}
        return {**row, **own, "chain_of_thought": str(thoughts or "")}

    def _shots(self) -> int:
        """Return how many shots a prompt has."""
        adapter, train = self._adapter, self.rows["train"]
        key, wanted = "max_train_instances", adapter.max_train_instances
        if self._method == _LANGUAGE or not wanted:
            return 0
        if not train and not self.saved.has_all:
            name = self.saved.path.name
            raise self._refuse(f"{name} has no instances for shots. {_SAVE}", key)
        count = min(len(train), wanted)
        if count and self._method == _RANKING:
            raise self._refuse("evalkit ranks without shots, so must be 0", key)
        answered = sum(row["target"] != [] for row in train)
        if answered < (count if adapter.sample_train else len(train)):
            raise self._refuse(
                f"{len(train) - answered} training instances have no correct "
                f"reference, which HELM shows as n/a. Write {answered} or less, with "
                "sample_train",
                key,
            )
        return count

    def _of(self, spec: _ObjectSpec) -> Iterator[tuple[str, str | None]]:
        """Yield metrics of a class, with evalkit's; None where it has none."""
        by_reference = self._method in (*SEPARATE, _RANKING)
        names = spec.args.get("names") or ()
        found = _OF_CLASSES.get(spec.name, {"": None})
        if spec.name == "RankingMetric" and self._method == _RANKING:
            found = {
                name: _ranked(name, spec.args)
                for name in spec.args.get("measure_names") or ()
            }
        elif by_reference and spec.name in ("BasicReferenceMetric", "BasicMetric"):
            found = {"exact_match": "accuracy" if self._method in SEPARATE else None}
        elif not by_reference and spec.name in ("BasicGenerationMetric", "BasicMetric"):
            found = {name: TEXT_METRICS.get(name) for name in names}
        for name, known in found.items():
            yield f"{spec.name} ({name})" if name else spec.name, known

    def _perturbed(self) -> list[dict[str, Any]]:
        """Return perturbations whose texts and random numbers are HELM's."""
        spec, above = self._spec.data_augmenter_spec, "data_augmenter_spec"
        if spec.perturbation_specs and spec.should_augment_train_instances:
            keys = (above, "should_augment_train_instances")
            raise self._file.error("evalkit perturbs no shots, so must be false", *keys)
        found = []
        for number, each in enumerate(spec.perturbation_specs):
            name, variants = _PERTURBATIONS.get(each.name), spec.seeds_per_instance
            if name is None:
                raise self._file.error(
                    f"no perturbation gives the texts of {each.name}. Take it out of "
                    "the file (evalkit list perturbations has others)",
                    *(above, "perturbation_specs", number, "class_name"),
                )
            found.append({"name": name, "options": each.args, "variants": variants})
        return found if spec.should_augment_eval_instances else []

    def _prompt(self, most: int, shots: int) -> dict[str, Any]:
        """Return the prompt for at most so many references."""
        spec, method = self._adapter, self._method
        if method == _LANGUAGE:
            return {"method": "language-modelling", "query": "{text}"}
        tail = spec.output_prefix.rstrip()
        query = f"{escaped(spec.input_prefix)}{{{_INPUT}}}"
        found: dict[str, Any] = {
            "one_message": True,
            "instructions": escaped(spec.instructions),
            "query": query,
            "cue": spec.input_suffix + tail,
            "separators": {
                "instructions": spec.instance_prefix,
                "shots": spec.instance_prefix,
                "cue": "",
                "answer": spec.output_prefix[len(tail) :],
            },
            "answer": "{answer}" + escaped(spec.output_suffix),
            "answers": "all" if spec.multi_label else "first",
            "prefix": spec.global_prefix,
            "suffix": spec.global_suffix,
            "substitutions": [
                (each.source, each.target) for each in spec.substitutions
            ],
        }
        if shots:
            draw = "helm" if spec.sample_train else "first"
            found["shots"] = {"count": shots, "source": "train", "draw": draw}
        sampling = {"temperature": spec.temperature, "max_tokens": spec.max_tokens}
        if method == "generation":
            own = {"stop": [*spec.stop_sequences], "completions": spec.num_outputs}
            return found | {"generate": sampling | own}
        if method in _JOINT:
            return found | self._joint(query, most) | {"generate": sampling}
        if method == _RANKING:
            # no letter is shown, and there must be one for each item
            letters = [*map(str, range(1, most + 1))]
            shown = f"{escaped(spec.reference_prefix)}{{choice}}"
            query = shown + escaped(spec.reference_suffix) + query
            choices = {"field": _CANDIDATES, "letters": letters}
            return found | {"method": "ranking", "query": query, "choices": choices}
        if method == SEPARATE[0]:
            return found | {"method": "separate", "normalise": "tokens"}
        before = spec.instructions and spec.instructions + spec.instance_prefix
        asked = f"{spec.input_prefix}Answer:{found['cue']}"  # in place of an input
        whole = spec.global_prefix + before + asked
        return found | {"method": "calibrated", "calibration": whole}

    def _joint(self, query: str, most: int) -> dict[str, Any]:
        """Return what differs in a prompt that shows all references."""
        spec = self._adapter
        first = next((each for each in spec.reference_prefix if each.isalnum()), "")
        if not first:
            raise self._refuse("holds no letter", "reference_prefix")
        letters = spec.reference_prefix_characters
        letters = letters or [chr(ord(first) + number) for number in range(most)]
        if len(letters) < most:
            problem = f"must have {most} characters, the most references, got {letters}"
            raise self._refuse(problem, "reference_prefix_characters")
        line = escaped(spec.reference_prefix).replace(first, "{letter}")
        found: dict[str, Any] = {
            "method": "joint",
            "query": query + escaped(spec.input_suffix) + "{choices}",
            # the last suffix stands before what the answer stands behind
            "cue": spec.reference_suffix + spec.output_prefix.rstrip(),
            "choices": {
                "line": line + "{choice}",
                "separator": spec.reference_suffix,
                "letters": letters[:most],
            },
        }
        if self._method == _JOINT[1]:
            reasons = escaped(spec.chain_of_thought_prefix) + "{chain_of_thought}"
            reasons += escaped(spec.chain_of_thought_suffix) + line
            found["answer"] = reasons + escaped(spec.output_suffix)
        return found

    def _refuse(self, problem: str, key: str) -> DataError:
        return self._file.error(problem, "adapter_spec", key)


def _ranked(name: str, args: Mapping[str, Any]) -> str | None:
    """Return a metric of rankings, such as `ndcg_cut.10`."""
    measure, _, depth = name.partition(".")
    known = _RANKED.get(measure)
    if known is None or args.get("multiple_relevance_values"):
        return None
    return known + depth if known.endswith("=") == bool(depth) else None
