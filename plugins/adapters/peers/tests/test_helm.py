"""Files of a run that HELM made, by `made_by/make_helm.py`.

That version's `ScenarioState`, perturbations and `asdict_without_nones` wrote
`scenario_state-VERSION.json`, without a run.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_adapters_rows import Rows, as_pipeline
from evalkit_analysis_robustness import evaluate_perturbed, find_effects

FOLDER = Path(__file__).parent / "helm"
STATE = FOLDER / "scenario_state.json"
STATS = FOLDER / "per_instance_stats.json"
NAMES = {"input": "statement", "target": "label"}
EXAMPLES = [{"kind": "helm-instances"}, {"kind": "Rename", "configuration": NAMES}]


def adapted(path: Path, adapter: str) -> list[Any]:
    through = as_pipeline(adapter)
    assert through is not None
    rows = through.read_file(path)
    assert rows is not None
    return list(through(dict(row.values or {}) for row in rows))


def state_with(tmp_path: Path, **changes: Any) -> Path:
    """Write the state with other keys of every request."""
    state = json.loads(STATE.read_text())
    for each in state["request_states"]:
        each.update(changes)
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps(state))
    return path


def said(*texts: str, **changes: Any) -> dict[str, Any]:
    completions = [
        {"text": text, "logprob": -number, "tokens": []}
        for number, text in enumerate(texts)
    ]
    return {"result": {"success": True, "completions": completions, **changes}}


@pytest.mark.parametrize("version", ["0.2.4", "0.5.4", "0.5.16"])
def test_states_of_all_versions_are_read(version: str) -> None:
    path = FOLDER / f"scenario_state-{version}.json"
    responses = adapted(path, "helm-state:copies=all")
    assert {row["id"]: row["answer"] for row in responses} == {
        "id1": "yes",
        "id1_contrast_sets": "no",
        "id1_lowercase": "yes",
        "id2": "The answer is no.",
    }
    first, contrast = adapted(path, "helm-instances:copies=all")[:2]
    assert first["reference_tags"] == [["correct", "rank=1"], []]
    assert first["contrast_inputs"] == [{"text": contrast["input"]}]
    [references] = first["contrast_references"]
    assert [each["tags"] for each in references] == contrast["reference_tags"]
    assert (first["target"], contrast["target"]) == ("yes", "no")
    if version == "0.5.16":
        assert first["extra_data"] == {"level": 2}
    if version != "0.2.4":
        assert responses[0]["annotations"] == {"safety": [{"score": 0.5}]}


def test_completions_are_ranked_by_probability(tmp_path: Path) -> None:
    completions = [{"text": "b", "logprob": -2.0}, {"text": "a", "logprob": -1.0}]
    result = {"success": True, "completions": completions}
    path = state_with(tmp_path, result=result, output_mapping=None)
    found = adapted(path, "helm-state:field=text")
    assert found[0]["responses"] == [{"text": "a"}, {"text": "b"}]


def test_a_request_that_failed_is_an_error(tmp_path: Path) -> None:
    path = state_with(tmp_path, result={"success": False, "error": "no memory"})
    assert adapted(path, "helm-state")[0]["error"] == "no memory"


def test_trials_are_replications(tmp_path: Path) -> None:
    state = json.loads(STATE.read_text())
    second = [{**each, "train_trial_index": 1} for each in state["request_states"]]
    state["request_states"] += second
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps(state))
    found = adapted(path, "helm-state")
    assert [row["_replication_"] for row in found] == [0, 0, 1, 1]
    assert len(adapted(path, "helm-instances")) == 2


def test_instances_are_examples_and_copies() -> None:
    original, copy = adapted(STATE, "helm-instances:copies=all")[:2]
    assert original == {
        "uid": copy["input_id"],
        "input": original["input"],
        "target": "Even",
        "choices": ["Even", "Odd"],
        "reference_tags": [["correct"], []],
        "split": "test",
        "sub_split": None,
    }
    assert copy["uid"] == f"{original['uid']}_lowercase"
    assert copy["input"] == original["input"].lower()
    assert (copy["perturbation"], copy["families"]) == ("lowercase", ["robustness"])
    assert copy["label_effect"] == "uncertain"


def test_parameters_of_a_perturbation_are_in_its_name(tmp_path: Path) -> None:
    state = json.loads(STATE.read_text())
    instance = state["request_states"][1]["instance"]
    instance["perturbation"] = {"name": "typos", "fairness": True, "prob": 0.1}
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps(state))
    first = adapted(path, "helm-instances:copies=only")[0]
    assert first["perturbation"] == "typos:prob=0.1"
    assert first["families"] == ["fairness"]


def test_several_right_references_are_a_list(tmp_path: Path) -> None:
    instance = {
        "id": "id1",
        "input": {"text": "?"},
        "references": [
            {"output": {"text": text}, "tags": ["correct"]} for text in ("a", "b")
        ],
    }
    path = state_with(tmp_path, instance=instance)
    assert adapted(path, "helm-instances")[0]["target"] == ["a", "b"]


def test_a_run_is_scored_with_its_copies(tmp_path: Path) -> None:
    path = state_with(tmp_path, **said("A"))
    result = evaluate_perturbed(
        path,
        path,
        task="text-classification",
        perturbed=[path],
        perturbed_predictions=[path],
        rows=Rows(
            adapters={
                "data": EXAMPLES,
                "predictions": "helm-state:field=label,copies=all",
                "perturbed": [
                    {"kind": "helm-instances", "configuration": {"copies": "only"}},
                    {"kind": "Rename", "configuration": NAMES},
                ],
            }
        ),
    )
    assert result["accuracy"].value == 1
    assert find_effects(result).names == ["lowercase"]


def test_statistics_are_one_row_an_instance() -> None:
    found = adapted(STATS, "helm-stats:names=exact_match/num_references")
    assert len(found) == 4
    assert found[0] == {
        "id": adapted(STATE, "helm-state")[0]["id"],
        "train_trial_index": 0,
        "exact_match": 0.0,
        "num_references": 2.0,
    }
    everything = adapted(STATS, "helm-stats")[0]
    dotted = {"id": "a", "f1@0.5": 1.0}
    assert list(as_pipeline("helm-stats")([dotted])) == [dotted]
    assert everything["training_co2_cost"] is None
    assert len(everything) == 29


def test_two_values_of_one_statistic_are_refused(tmp_path: Path) -> None:
    entries = json.loads(STATS.read_text())
    entries.append({**entries[0], "stats": [{"name": {"name": "exact_match"}}]})
    path = tmp_path / "per_instance_stats.json"
    path.write_text(json.dumps(entries))
    with pytest.raises(evalkit.DataError, match="has two values of exact_match"):
        adapted(path, "helm-stats")


@pytest.mark.parametrize(
    ("adapter", "content", "problem"),
    [
        ("helm-state", "[]", "has no request_states"),
        ("helm-instances", "{}", "has no request_states"),
        ("helm-stats", "{}", "which is a list"),
        ("helm-stats", "[{}]", "there is no 'instance_id'"),
        ("helm-state", '{"request_states": [1]}', "must be an object"),
        ("helm-state", '{"request_states": [{}]}', "there is no 'instance'"),
    ],
)
def test_files_of_something_else_are_refused(
    tmp_path: Path, adapter: str, content: str, problem: str
) -> None:
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises((evalkit.DataError, evalkit.AdapterError), match=problem):
        adapted(path, adapter)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reference_index": 0}, "multiple_choice_joint"),
        ({"output_mapping": ["a"]}, "'output_mapping' must be an object, got a list"),
    ],
)
def test_requests_without_an_answer_are_refused(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    path = state_with(tmp_path, **changes)
    with pytest.raises(evalkit.AdapterError, match=problem):
        adapted(path, "helm-state")
