"""The distance from chance, and that it is the metric's own score."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

import evalkit
from evalkit import PluginContractError

LABELS = ["a", "b", "c"]
INNER = [
    *("accuracy", "balanced-accuracy", "macro-f1", "squad-f1", "helm-f1"),
    "seahelm-qa#exact-match",
]


def drawn(n: int, right: float, seed: int = 1) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(seed)
    gold = random.choice(LABELS, n)
    said = np.where(random.random(n) < right, gold, random.choice(LABELS, n))
    return said.tolist(), gold.tolist()


def main(name: str, *lists: Any, **options: Any) -> evalkit.Score:
    result = evalkit.score(name.partition("#")[0], *lists, **options)
    return result[name]


def rescaled(value: float, chance: float) -> float:
    return min(1.0, max(0.0, (value - chance) / (1 - chance)))


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("chance", [0.0, 0.25, 0.7, 0.95])
def test_the_value_is_that_of_the_metric_rescaled(inner: str, chance: float) -> None:
    said, gold = drawn(80, 0.6)
    of_metric = main(inner, said, gold, labels=LABELS)
    result = evalkit.score(
        f"above-chance:metric={inner},chance={chance}", said, gold, labels=LABELS
    )
    found = result.scores[0]
    assert of_metric.value is not None
    assert found.value == pytest.approx(rescaled(of_metric.value, chance), abs=1e-12)
    assert found.n == of_metric.n
    if found.value:
        assert of_metric.se is not None
        assert found.ci is not None
        assert 0 <= found.ci.low <= found.value <= found.ci.high <= 1
        assert found.se == pytest.approx(of_metric.se / (1 - chance), rel=0.2)


def test_a_declared_best_score_and_no_floor_are_those_of_the_formula() -> None:
    said, gold = drawn(80, 0.6)
    value = main("accuracy", said, gold).value
    assert value is not None
    for chance, best in ((0.25, 0.5), (0.9, 0.95), (0.9, 0.2)):
        name = f"above-chance:metric=accuracy,chance={chance},best={best},floor=false"
        found = evalkit.score(name, said, gold).scores[0].value
        assert found == pytest.approx((value - chance) / (best - chance), abs=1e-12)
    floored = evalkit.score(name.replace("false", "true"), said, gold).scores[0].value
    assert floored == max(0.0, found or 0.0)
    with pytest.raises(PluginContractError, match=r"best=95, but scores"):
        evalkit.score("above-chance:metric=accuracy,chance=0.5,best=95", said, gold)


def test_a_clipped_score_says_so() -> None:
    said, gold = drawn(40, 0.0)
    worse = main("above-chance:chance=0.6", said, gold, labels=LABELS)
    assert worse.value == 0.0
    assert worse.flag == "worse than chance: cut off at 0"
    assert worse.ci is None
    better = main("above-chance", *drawn(40, 0.9), labels=LABELS)
    assert better.flag is None


def test_chance_that_is_the_best_score_leaves_nothing() -> None:
    found = main("above-chance", ["a"], ["a"], labels=["a"])
    assert found.value is None
    assert found.reason == "chance is the best score that there is"


def test_a_metric_of_which_lower_is_better_is_turned_round() -> None:
    name = "above-chance:chance=4.0,metric=helm-absolute-value-difference"
    found = main(name, ["1", "5"], ["2", "4"])
    assert found.value == 0.75
    assert found.higher_is_better is True


class Asked(BaseModel):
    uid: str
    choices: list[str] | None = None


class Said(BaseModel):
    id: str
    answer: str


class Choosing(evalkit.TaskIO):
    Input, Output, example = Asked, Said, {"uid": "1"}
    answer_field, perf_metric = "answer", "accuracy"


def choosing(
    counts: list[int | None], right: list[bool], **options: Any
) -> evalkit.Result:
    data = [
        {
            "uid": str(n),
            "answer": "0",
            "choices": None if count is None else [str(each) for each in range(count)],
        }
        for n, count in enumerate(counts)
    ]
    said = [
        {"id": str(n), "answer": "0" if each else "1"} for n, each in enumerate(right)
    ]
    options = {"metrics": ["above-chance:metric=accuracy,chance=choices"], **options}
    return evalkit.evaluate(
        data=data, predictions=said, task=Choosing, model="m", **options
    )


def test_chance_may_be_that_of_each_examples_own_choices() -> None:
    counts, right = [2, 4, 4, 5] * 10, [True, False, True, True] * 10
    chance = sum(1 / count for count in counts) / len(counts)
    found = choosing(counts, right).headline
    assert found.value == pytest.approx((0.75 - chance) / (1 - chance))
    assert found.ci is not None
    assert found.ci.low < found.value < found.ci.high


def test_an_example_without_choices_is_not_scored() -> None:
    result = choosing([*[2] * 11, None, 0], [True] * 13, metrics=None)
    assert result.headline.value == 1.0
    result = choosing([*[2] * 19, None], [True] * 20)
    assert result.status == "partial"
    assert result.headline.n == 19
    [problem] = result.problems
    assert (problem.id, problem.reason) == ("19", "the example has no choices")


def test_the_run_names_the_metric_and_its_code(tmp_path: Path) -> None:
    choosing([2, 2], [True, False], out=tmp_path)
    [path] = tmp_path.glob("*/*/run.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    [component] = [
        each for each in record["components"] if each["id"] == "metrics/above-chance"
    ]
    resources = component["resources"]
    assert resources["metric"].startswith(
        "metrics/accuracy (evalkit-metrics-classification "
    )
    assert len(resources["metric: code"]) == 64
    assert component["parameters"] == {"metric": "accuracy", "chance": "choices"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("metric=acuracy", "there is no metric 'acuracy'"),
        ("metric=above-chance", "it is a score of another metric"),
        ("metric=helm-set-match", "choose one of helm-set-match#exact"),
        ("metric=helm-set-match#best", "choose one of helm-set-match#exact"),
        ("metric=log-loss,chance=choices", "chance=NUMBER"),
        ("metric=mcc", "chance=NUMBER"),
        ("chance=quarter", "must be 'labels' or 'choices'"),
        ("chance=nan", "finite"),
        ("metric=accuracy,chance=25", "chance=25, but .* go from 0 to 1"),
        ("metric=accuracy,chance=-1", "chance=-1, but .* go from 0 to 1"),
        ("metric=wer,chance=-0.5", "go from 0: declare it"),
        ("chances=1", "is unknown"),
    ],
)
def test_what_cannot_be_rescaled_is_refused(parameters: str, message: str) -> None:
    with pytest.raises(PluginContractError, match=message):
        evalkit.score(f"above-chance:{parameters}", ["a"], ["a"])
