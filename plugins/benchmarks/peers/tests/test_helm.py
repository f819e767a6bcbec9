"""Runs of HELM as benchmarks: prompts, samples, metrics, and what is refused."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import DataError
from evalkit_benchmarks_declared.datasets import reference as reference_of
from evalkit_benchmarks_peers.helm import read
from evalkit_commands_perturb import perturb_dataset
from evalkit_models_base import Asked, Continuation, Model, Reply, Request, predict
from evalkit_models_base import text_reply as text

BASIC = "helm.benchmark.metrics.basic_metrics.BasicGenerationMetric"
EXACT = {"class_name": BASIC, "args": {"names": ["exact_match"]}}
BY_REFERENCE = {"class_name": "helm.benchmark.metrics.x.BasicReferenceMetric"}
RANKED = {
    "class_name": "helm.benchmark.metrics.x.RankingMetric",
    "args": {"measure_names": ["ndcg_cut.10", "recip_rank"]},
}


class Keeping(Model):
    """A model that keeps what it is asked."""

    abilities = ("text", "chat", "continuations")

    def __init__(self, said: str = "A", **more: Any) -> None:
        self.asked: list[Request] = []
        self.said = said
        vars(self).update(more)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        return [self.reply(request) for request in requests]

    def reply(self, request: Request) -> Reply:
        if not request.continuations:
            one = text(self.said).completions
            return Reply(completions=one * request.completions)
        scored = (
            Continuation(logprob=-float(len(each)), tokens=len(each.split()))
            for each in request.continuations
        )
        return Reply(continuations=tuple(scored))


def instance(
    said: str, references: Sequence[str], right: Sequence[int], split: str, **more: Any
) -> dict[str, Any]:
    return {
        "input": {"text": said},
        "references": [
            {"output": {"text": each}, "tags": ["correct"] * (n in right)}
            for n, each in enumerate(references)
        ],
        "split": split,
        **more,
    }


ORDINALS = ["First", "Second", "Third"]
SHOTS = [
    instance("Second reference is correct", ORDINALS, [1], "train"),
    instance("First and second references are correct", ORDINALS, [0, 1], "train"),
]
ASKED = instance("First reference is correct", ORDINALS, [0], "test")


def run_folder(
    folder: Path,
    adapter: Mapping[str, Any],
    instances: Sequence[Mapping[str, Any]],
    **more: Any,
) -> str:
    """Write a run of HELM and return the reference to it."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "name": "ordinals:model=openai_gpt2",
        "scenario_spec": {"class_name": "helm.x.OrdinalScenario", "args": {}},
        "adapter_spec": {"num_outputs": 1, **adapter},
        "metric_specs": [EXACT, BY_REFERENCE, RANKED],
        "groups": ["ordinals"],
        **more,
    }
    (folder / "run_spec.json").write_text(json.dumps(spec), encoding="utf-8")
    saved = folder / "input_instances.json"
    saved.write_text(json.dumps(instances), encoding="utf-8")
    return f"helm:{folder}"


def asked(reference: str, model: Keeping | None = None) -> list[Request]:
    """Return what a model is asked."""
    model = model or Keeping(kind="base")
    predict(reference, model, asked=Asked(is_cached=False))
    return model.asked


def prompts(reference: str) -> list[str]:
    return [str(request.prompt) for request in asked(reference)]


OPTIONS = "A. First\nB. Second\nC. Third\n"
INPUTS = [
    "Input: Second reference is correct\n",
    "Input: First and second references are correct\n",
    "Input: First reference is correct\n",
]
KNOWN = {
    "generation": ("", "Second", "First", ""),
    "generation, multi-label": ("", "Second", "First, Second", ""),
    "multiple_choice_joint": (OPTIONS, "B", "A", ""),
    "multiple_choice_joint, multi-label": (OPTIONS, "B", "A, B", ""),
}


def known(options: str, *answers: str) -> list[str]:
    """Return the prompt of one of HELM's own tests."""
    asked = zip(INPUTS, answers, strict=True)
    texts = [f"{said}{options}Output: {answer}" for said, answer in asked]
    return ["\n\n".join(texts).rstrip()]


@pytest.mark.known_result
@pytest.mark.parametrize("case", KNOWN)
def test_prompts_are_those_of_helms_own_tests(case: str, tmp_path: Path) -> None:
    method, _, is_multi = case.partition(", ")
    adapter = {"method": method, "sample_train": False, "multi_label": bool(is_multi)}
    found = prompts(run_folder(tmp_path, adapter, [*SHOTS, ASKED]))
    assert found == known(*KNOWN[case])


@pytest.mark.known_result
def test_options_may_have_numbers(tmp_path: Path) -> None:
    third = instance("Third reference is correct", ORDINALS, [2], "train")
    adapter = {"method": "multiple_choice_joint", "sample_train": False}
    given = {**adapter, "reference_prefix": "  1: "}
    numbers = "  1: First\n  2: Second\n  3: Third\n"
    [found] = prompts(run_folder(tmp_path, given, [SHOTS[0], third, ASKED]))
    [expected] = known(numbers, "2", "3", "")
    assert found == expected.replace(
        "First and second references are", "Third reference is"
    )


@pytest.mark.known_result
def test_shots_are_drawn_as_helm_draws_them(tmp_path: Path) -> None:
    pairs = {"one": 0, "two": 0, "three": 0, "four": 1, "five": 1}
    instances = [
        instance(said, [str(2 * n), str(2 * n + 1)], [right], "train")
        for n, (said, right) in enumerate(pairs.items())
    ]
    instances.append(instance("eval", ["10", "11"], [1], "test"))
    adapter = {"method": "multiple_choice_joint", "max_train_instances": 3}
    assert prompts(run_folder(tmp_path, adapter, instances)) == [
        "Input: three\nA. 4\nB. 5\nOutput: A\n\nInput: two\nA. 2\nB. 3\nOutput: A\n\n"
        "Input: one\nA. 0\nB. 1\nOutput: A\n\nInput: eval\nA. 10\nB. 11\nOutput:"
    ]


CHOICES = ("multiple_choice_joint", "multiple_choice_joint_chain_of_thought")
SEPARATE = ("multiple_choice_separate_original", "multiple_choice_separate_calibrated")
METHODS = ("generation", *CHOICES, *SEPARATE, "ranking_binary")
WORDS = ["rain", "fog", "sun {x}", "no snow", "a  storm\nat sea", "“hail”", "wind"]


def own(runs: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what HELM does with runs."""
    folder = os.environ.get("EVALKIT_HELM")
    if not folder:
        pytest.skip("EVALKIT_HELM names no folder of helm")
    command = [sys.executable, str(Path(__file__).with_name("helm_own.py")), folder]
    lines = "\n".join(map(json.dumps, runs))
    said = subprocess.run(command, input=lines, stdout=-1, text=True, check=True).stdout
    return [json.loads(each) for each in said.splitlines() if each.startswith("{")]


DRAWN: dict[str, Sequence[Any]] = {
    "instructions": ["", "Answer {briefly}.\n", "Pick one."],
    "input_prefix": ["Input: ", "", "Q{1}: "],
    "input_suffix": ["\n", " | "],
    "output_prefix": ["Output: ", "Answer:\n", "A:"],
    "output_suffix": ["\n", " }.\n"],
    "reference_prefix": ["A. ", "(a) ", " 1: "],
    "reference_suffix": ["\n", ";"],
    "instance_prefix": ["\n", "\n###\n", ""],
    "global_prefix": ["", "<s>", "{}"],
    "global_suffix": ["", "</s>"],
    "chain_of_thought_prefix": ["", "Because {"],
    "max_train_instances": range(4),
    "sample_train": [True, True, False],
    "multi_label": [False, False, True],
    "max_eval_instances": [None, 3, 5],
    "eval_splits": [None, ["test"], ["valid", "test"]],
    "substitutions": [[], [{"source": "([0-9]+)", "target": r"<\1>"}]],
    "num_train_trials": [1, 2],
}


def run_of(rng: random.Random) -> tuple[dict[str, Any], list[Any]]:
    """Draw an adapter spec, and instances."""
    adapter = {key: rng.choice(values) for key, values in DRAWN.items()}
    adapter |= {"method": (method := rng.choice(METHODS)), "num_outputs": 1}
    if method in SEPARATE:
        adapter |= {"output_suffix": "", "global_suffix": "", "substitutions": []}
    if method == "ranking_binary":
        adapter["max_train_instances"] = 0
    if method == CHOICES[1]:
        adapter["multi_label"] = False
    if not (adapter["sample_train"] and adapter["max_train_instances"]):
        adapter["num_train_trials"] = 1
    instances = []
    for number in range(16):
        right = rng.sample(range(3), rng.choice([1, 1, 2]))
        split = ("train", "test", "valid", "test")[number % 4]
        more = {"extra_data": {"chain_of_thought": f"reason {number}"}}
        said, options = f"{rng.choice(WORDS)} {number}", rng.sample(WORDS, 3)
        instances.append(instance(said, options, right, split, **more))
    return adapter, instances


AUGMENTED: list[tuple[str, dict[str, Any]]] = [
    ("typos_perturbation.Typos", {"prob": 0.1}),
    ("space_perturbation.Space", {"max_spaces": 3}),
    ("extra_space_perturbation.ExtraSpace", {"num_spaces": 2}),
    ("lowercase_perturbation.LowerCase", {}),
    ("contraction_expansion_perturbation.Contraction", {}),
    ("contraction_expansion_perturbation.Expansion", {}),
    (
        "filler_words_perturbation.FillerWords",
        {"insert_prob": 0.3, "speaker_ph": False},
    ),
]
FOLDER = "helm.benchmark.augmentations"
SENTENCES = [
    "It is late, and we do not know what they have seen.",
    "The quick brown fox isn't here; he'd have jumped over the lazy dog.",
    "Did you know that Rome is not on the Rhine?",
]


@pytest.mark.known_result
def test_perturbed_texts_are_helms(tmp_path: Path) -> None:
    specs = [
        {"class_name": f"{FOLDER}.{name}Perturbation", "args": args}
        for name, args in AUGMENTED
    ]
    keys = ("include_original", "skip_unchanged")
    augmenter: dict[str, Any] = {f"should_{key}_eval": True for key in keys}
    augmenter |= {"should_augment_eval_instances": True, "seeds_per_instance": 3}
    augmenter["perturbation_specs"] = specs
    adapter = {"method": "generation", "max_train_instances": 0}
    instances = [instance(each, ["yes"], [0], "test") for each in SENTENCES]
    reference = run_folder(tmp_path, adapter, instances, data_augmenter_spec=augmenter)
    declared = read(reference).plugin.benchmark.perturbations
    assert {each.variants for each in declared} == {3}
    found = set()
    for each in declared:
        names = [reference_of(each.name, each.options)]
        out = tmp_path / f"{each.name}.jsonl"
        perturb_dataset(reference, out, perturbations=names, variants=3)
        rows = map(json.loads, out.read_text(encoding="utf-8").splitlines())
        found |= {(row["input_id"], row["input"]) for row in rows}
    asking = {**adapter, "num_outputs": 1}
    spec = {"adapter_spec": asking, "data_augmenter_spec": augmenter}
    [expected] = own([{"spec": spec, "instances": instances}])
    assert found == {(uid, said) for uid, _, said in expected["texts"]}


@pytest.mark.known_result
def test_prompts_and_samples_are_helms(tmp_path: Path) -> None:
    rng = random.Random(41)
    drawn = [run_of(rng) for _ in range(120)]
    runs = [{"spec": {"adapter_spec": a}, "instances": i} for a, i in drawn]
    expected = own(runs)
    seen = set()
    for number, (adapter, instances) in enumerate(drawn):
        reference = run_folder(tmp_path / str(number), adapter, instances)
        requests = asked(reference)
        is_scored = adapter["method"] in SEPARATE
        found = [
            str(each.prompt) + said
            for each in requests
            for said in (each.continuations if is_scored else [""])
        ]
        assert sorted(found) == sorted(expected[number]["prompts"]), adapter
        rows = read(reference).plugin().load("test")
        assert [row["uid"] for row in rows] == expected[number]["ids"]
        seen.add(adapter["method"])
    assert seen == {*METHODS}


def test_replies_are_read_as_helm_reads_them(tmp_path: Path) -> None:
    adapter = {"method": "multiple_choice_joint", "sample_train": False}
    reference = run_folder(tmp_path, adapter, [*SHOTS, ASKED])
    for said, value in ((" A\n", 1.0), ("B", 0.0), ("A.", 0.0), ("First", 0.0)):
        assert scored(reference, said)["helm-exact-match"].value == value, said
    pattern = {**adapter, "output_mapping_pattern": r"answer is \(?([A-C])"}
    reference = run_folder(tmp_path, pattern, [*SHOTS, ASKED])
    said = "B, no: the answer is (A)."
    assert scored(reference, said)["helm-exact-match"].value == 1.0


def scored(reference: str, said: str) -> evalkit.Result:
    replies = predict(reference, Keeping(said), asked=Asked(is_cached=False))
    return evalkit.evaluate(reference, predictions=replies.rows)


def test_a_chat_gets_one_message(tmp_path: Path) -> None:
    adapter = {"method": "generation", "sample_train": False, "global_prefix": "Q\n"}
    reference = run_folder(tmp_path, adapter, [*SHOTS, ASKED])
    [request] = asked(reference, Keeping())
    [plain] = prompts(reference)
    assert [each.content for each in request.messages] == [plain]
    assert (request.stop, request.max_tokens, request.temperature) == ((), 100, 1)


def test_texts_have_bits(tmp_path: Path) -> None:
    adapter = {"method": "language_modeling", "max_train_instances": 0}
    metrics = {"class_name": "helm.x.LanguageModelingMetric", "args": {"names": []}}
    given = [instance("It rains.", [], [], "test")]
    reference = run_folder(tmp_path, adapter, given, metric_specs=[metrics])
    replies = predict(reference, Keeping(), asked=Asked(is_cached=False))
    found = evalkit.evaluate(reference, predictions=replies.rows)
    assert found["bits-per-byte"].value == pytest.approx(1 / math.log(2))
    assert found["perplexity"].value == pytest.approx(math.exp(9 / 2))


def test_instances_of_a_run_are_read(tmp_path: Path) -> None:
    adapter = {"method": "multiple_choice_joint", "eval_splits": ["test"]}
    reference = run_folder(tmp_path, adapter, [])
    (tmp_path / "input_instances.json").unlink()
    with pytest.raises(DataError, match="OrdinalScenario"):
        read(reference)
    own = {**ASKED, "id": "id7"}
    copy = {**own, "perturbation": {"name": "lowercase"}}
    states = [
        {"instance": each, "train_trial_index": trial}
        for trial in range(2)
        for each in (own, copy)
    ]
    state = tmp_path / "scenario_state.json"
    state.write_text(json.dumps({"request_states": states}), encoding="utf-8")
    with pytest.raises(DataError, match=r"scenario_state.json has no instances for sh"):
        read(reference)
    run_folder(tmp_path, {**adapter, "max_train_instances": 0}, [])
    (tmp_path / "input_instances.json").unlink()
    expected = [f"Input: First reference is correct\n{OPTIONS}Output:"]
    assert prompts(reference) == expected
    saved = tmp_path / "instances.json"
    saved.write_text(json.dumps([own, copy]), encoding="utf-8")
    assert prompts(reference) == expected


def test_a_user_is_told_what_is_left_out(tmp_path: Path) -> None:
    basic = {"class_name": BASIC, "args": {"names": ["exact_match", "cider"]}}
    others = ("helm.x.ToxicityMetric", "helm.x.InstancesPerSplitMetric")
    metrics = [basic, *({"class_name": each} for each in others)]
    adapter = {"method": "generation", "num_outputs": 2, "model": "openai/gpt2"}
    given = {"metric_specs": metrics, "annotators": [{"class_name": "helm.x.Judge"}]}
    reference = run_folder(tmp_path, adapter, [*SHOTS, ASKED], **given)
    told = "\n".join(scored(reference, "First").notices)
    missing = "them: BasicGenerationMetric (cider), ToxicityMetric\n"
    for said in (missing, "openai/gpt2", "not run: Judge", "of 2 outputs"):
        assert said in told


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("method", "chat", "method: evalkit does not ask by 'chat'"),
        ("reeval_parameters", {"model_ability": 1.0}, "reeval_parameters: "),
        ("image_generation_parameters", {}, "image_generation_parameters: "),
        ("max_tokens", 0, "max_tokens: must be at least 1"),
        ("max_tokens", "5", "max_tokens: Input should be a valid integer, got '5'"),
        ("stop_sequence", [], "stop_sequence: evalkit does not know this key. Did you"),
        ("eval_splits", ["dev"], "eval_splits: no instance is of these"),
    ],
)
def test_what_evalkit_lacks_is_refused(
    key: str, value: Any, said: str, tmp_path: Path
) -> None:
    adapter = {"method": "generation", "max_eval_instances": 5, key: value}
    reference = run_folder(tmp_path, adapter, [*SHOTS, ASKED])
    with pytest.raises(DataError) as error:
        read(reference)
    assert f"run_spec.json:1: adapter_spec.{said}" in str(error.value)


def test_perturbations_and_metrics_that_evalkit_lacks_are_refused(
    tmp_path: Path,
) -> None:
    adapter, instances = {"method": "generation"}, [*SHOTS, ASKED]
    spec = {"class_name": "helm.x.GenderPerturbation", "args": {}}
    augmenter = {"perturbation_specs": [spec], "should_augment_eval_instances": True}
    given: dict[str, Any] = {"data_augmenter_spec": augmenter}
    reference = run_folder(tmp_path, adapter, instances, **given)
    said = r"perturbation_specs.0.class_name: no perturbation .* of GenderPert"
    with pytest.raises(DataError, match=said):
        read(reference)
    given = {"metric_specs": [{"class_name": "helm.x.ToxicityMetric"}]}
    reference = run_folder(tmp_path, adapter, instances, **given)
    with pytest.raises(DataError, match=r"metric_specs: evalkit has no .*ToxicityMet"):
        read(reference)
