"""Shots that depend on the example, and the draws of lm-evaluation-harness and HELM."""

from __future__ import annotations

import ast
import importlib.util
import os
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import DataError
from evalkit_models_base import Asked, Model, Predicted, Reply, Request, predict
from evalkit_models_base import text_reply as text

from .conftest import LABELS, PROMPT, Sentiments


class Keeping(Model):
    """A model that keeps what it is asked."""

    abilities = ("text",)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += [str(request.prompt) for request in requests]
        return [text("positive")] * len(requests)


def row(uid: str, statement: str, label: str, **more: Any) -> dict[str, Any]:
    return {"uid": uid, "statement": statement, "label": label, **more}


def rows(prefix: str, count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        row(f"{prefix}{n}", f"{prefix} says {n}", LABELS[n * n % 3], **more)
        for n in range(count)
    ]


def ask(
    shots: Mapping[str, Any], train: Sequence[Any], test: Sequence[Any], **more: Any
) -> tuple[list[list[str]], Predicted]:
    """Return the statements that each request shows, in the order of the rows."""
    model = Keeping()
    found = predict(
        Sentiments(train, test),
        model,
        prompt={**PROMPT, "shots": {"source": "train", **shots}},
        asked=Asked(is_cached=False),
        **more,
    )
    shown = [
        [block.split("\nLabel:")[0] for block in asked.split("\n\n")[:-1]]
        for asked in model.asked
    ]
    return shown, found


def texts(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [each["statement"] for each in found]


# --- lm-evaluation-harness


@pytest.fixture(scope="module")
def lm_eval_samplers() -> Any:
    """The module of its samplers, which needs nothing else of the package."""
    folder = os.environ.get("EVALKIT_LM_EVAL")
    if folder is None:
        pytest.skip("EVALKIT_LM_EVAL names no folder of lm_eval")
    path = Path(folder) / "api" / "samplers.py"
    spec = importlib.util.spec_from_file_location("lm_eval_samplers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn_by_lm_eval(
    samplers: Any, pool: Sequence[Any], asked: Sequence[Any], count: int, **more: Any
) -> list[list[str]]:
    """Return what its sampler shows; a document holds no id, as its own seldom do."""
    bare = [{k: v for k, v in each.items() if k != "uid"} for each in pool]
    sampler = samplers.ContextSampler(bare, rnd=None).set_rnd(more.get("seed", 1234))
    found = []
    for each in asked:
        doc = {k: v for k, v in each.items() if k != "uid"}
        drawn = sampler.sample(count, eval_doc=doc if more["is_given"] else None)
        found.append(texts(drawn))
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(8, 120),
    st.integers(1, 12),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_draws_are_those_of_lm_eval(
    lm_eval_samplers: Any, count: int, size: int, asked: int, seed: int, is_given: bool
) -> None:
    train, test = rows("t", size), rows("q", asked)
    shots = {"draw": "lm-eval", "count": count, "seed": seed, "spare": is_given}
    shown, _ = ask(shots, train, test)
    assert shown == drawn_by_lm_eval(
        lm_eval_samplers, train, test, count, is_given=is_given, seed=seed
    )


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 4),
    st.lists(st.integers(0, 9), min_size=15, max_size=40),
    st.integers(0, 2**32),
)
def test_draws_from_the_asked_split_are_those_of_lm_eval(
    lm_eval_samplers: Any, count: int, kinds: list[int], seed: int
) -> None:
    """Also where documents are copies of others, which are taken out with them."""
    numbers = [*range(10), *kinds]
    test = [
        row(f"q{n}", f"says {kind}", LABELS[kind % 3]) for n, kind in enumerate(numbers)
    ]
    shots = {"draw": "lm-eval", "count": count, "seed": seed, "source": "test"}
    shown, _ = ask(shots, [], test)
    assert shown == drawn_by_lm_eval(
        lm_eval_samplers, test, test, count, is_given=True, seed=seed
    )
    for own, others in zip(texts(test), shown, strict=True):
        assert own not in others


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32))
def test_what_lm_eval_shows_to_itself_changes_no_other_example(
    lm_eval_samplers: Any, count: int, seed: int
) -> None:
    """Its tasks with a test split alone may draw the example itself."""
    test = rows("q", 15)
    shots = {"draw": "lm-eval", "count": count, "seed": seed, "source": "test"}
    shown, _ = ask({**shots, "spare": False}, [], test)
    theirs = drawn_by_lm_eval(
        lm_eval_samplers, test, test, count, is_given=False, seed=seed
    )
    for own, ours, drawn in zip(texts(test), shown, theirs, strict=True):
        assert own not in ours
        assert len({*ours}) == count
        if own not in drawn:
            assert ours == drawn


def test_known_draws_of_lm_eval() -> None:
    """What its sampler drew of the documents 0 to 29, with its own seed."""
    test = rows("q", 30)
    shown, found = ask({"draw": "lm-eval", "count": 3, "source": "test"}, [], test)
    numbers = [[int(each.split()[-1]) for each in shots] for shots in shown[:8]]
    assert numbers == KNOWN_OF_LM_EVAL
    prompt = found.system["prompt"]
    assert prompt["shots"]["seed"] == 1234
    assert prompt["shown"][0]["q0"] == [f"q{n}" for n in numbers[0]]


KNOWN_OF_LM_EVAL = [
    [24, 14, 3],
    [2, 29, 25],
    [1, 21, 22],
    [24, 11, 7],
    [0, 25, 11],
    [19, 15, 14],
    [2, 5, 22],
    [27, 0, 16],
]


def test_no_example_shows_itself_of_another_split() -> None:
    """By its id, or by its text in another case, whatever is drawn."""
    train = rows("t", 6)
    test = [
        row("t0", "another text", "neutral"),
        row("q", "T  SAYS 1", "neutral"),
        *rows("q", 4),
    ]
    for seed in range(30):
        shots = {"draw": "lm-eval", "count": 4, "seed": seed}
        shown, _ = ask(shots, train, test)
        assert "t says 0" not in shown[0]
        assert "t says 1" not in shown[1]
        assert {len({*each}) for each in shown} == {4}


def test_trials_of_lm_eval_have_other_shots() -> None:
    test = rows("q", 20)
    shots = {"draw": "lm-eval", "count": 2, "source": "test"}
    shown, _ = ask(shots, [], test, trials=2)
    alone, _ = ask({**shots, "seed": 1235}, [], test)
    assert shown[20:] == alone


def test_too_few_for_one_example_are_refused() -> None:
    test = [row(f"q{n}", "the same", "neutral") for n in range(3)]
    test.append(row("other", "another", "neutral"))
    shots = {"draw": "lm-eval", "count": 3, "source": "test"}
    with pytest.raises(DataError, match="to 'q0'") as refused:
        ask(shots, [], test)
    assert "shots.count is 3, and 1 examples can be shown" in str(refused.value)


def test_spare_is_for_lm_eval() -> None:
    with pytest.raises(DataError, match="spare is for the draws lm-eval and first"):
        ask({"count": 1, "spare": True}, rows("t", 3), rows("q", 1))


# --- HELM


@pytest.fixture(scope="module")
def helm_sample() -> Any:
    """Its function alone, as the module needs the whole package."""
    folder = os.environ.get("EVALKIT_HELM")
    if folder is None:
        pytest.skip("EVALKIT_HELM names no folder of helm")
    name = "benchmark/adaptation/adapters/in_context_learning_adapter.py"
    tree = ast.parse((Path(folder) / name).read_text(encoding="utf-8"))
    (function,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "sample_examples"
    )
    module = ast.Module([function], [])
    scope: dict[str, Any] = {
        **{"random": random, "defaultdict": defaultdict, "cycle": cycle},
        **{"List": list, "Dict": dict, "Optional": Optional, "Instance": Any},
    }
    exec(compile(module, name, "exec"), scope)
    return scope["sample_examples"]


def drawn_by_helm(
    sample: Any, pool: Sequence[Any], count: int, seed: int, is_drawn: bool = True
) -> list[str]:
    def reference(label: str) -> Any:
        return SimpleNamespace(output=SimpleNamespace(text=label))

    instances = [
        SimpleNamespace(
            row=each["statement"], first_correct_reference=reference(each["label"])
        )
        for each in pool
    ]
    adapter = SimpleNamespace(adapter_spec=SimpleNamespace(max_train_instances=count))
    state = random.getstate()
    try:
        found = sample(adapter, instances, seed, is_drawn)
    finally:
        random.setstate(state)
    return [each.row for each in found]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 9),
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=40),
    st.integers(1, 3),
)
def test_draws_are_those_of_helm(
    helm_sample: Any, count: int, labels: list[str], trials: int
) -> None:
    train = [row(f"t{n}", f"t says {n}", label) for n, label in enumerate(labels)]
    shown, found = ask(
        {"draw": "helm", "count": count}, train, rows("q", 1), trials=trials
    )
    assert shown == [
        drawn_by_helm(helm_sample, train, count, trial) for trial in range(trials)
    ]
    is_short = any("shots shown" in each for each in found.notices)
    assert is_short == (count > len(train))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3))
def test_the_first_ones_are_those_of_helm(
    helm_sample: Any, count: int, trials: int
) -> None:
    """As with its `sample_train` false."""
    train = rows("t", 12)
    shots = {"draw": "first", "count": count}
    shown, _ = ask(shots, train, rows("q", 1), trials=trials)
    assert shown == [
        drawn_by_helm(helm_sample, train, count, trial, False)
        for trial in range(trials)
    ]


def test_known_draws_of_helm() -> None:
    """What its sampler drew of the instances 0 to 29, in three trials."""
    shown, _ = ask({"draw": "helm", "count": 5}, rows("t", 30), rows("q", 1), trials=3)
    numbers = [[int(each.split()[-1]) for each in shots] for shots in shown]
    assert numbers == KNOWN_OF_HELM


KNOWN_OF_HELM = [[19, 18, 2, 12, 28], [7, 27, 4, 12, 8], [2, 3, 5, 18, 11]]


# --- shots that match


def of_languages(prefix: str, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        row(f"{prefix}{n}-{code}", f"{prefix} {code} {n}", LABELS[n % 3], lang=code)
        for n in range(max(counts.values()))
        for code, count in counts.items()
        if n < count
    ]


def as_tags(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            **{k: v for k, v in each.items() if k != "lang"},
            "tags": [f"lang:{each['lang']}"],
        }
        for each in found
    ]


@pytest.mark.parametrize("draw", ["random", "balanced", "first", "helm", "lm-eval"])
@pytest.mark.parametrize("is_tag", [False, True])
def test_shots_match_the_example(draw: str, is_tag: bool) -> None:
    train = of_languages("t", {"th": 9, "vi": 7, "id": 1})
    test = of_languages("q", {"th": 3, "vi": 2})
    made = as_tags if is_tag else list
    shots = {"draw": draw, "count": 3, "match": "lang"}
    shown, found = ask(shots, made(train), made(test))
    for each, statements in zip(test, shown, strict=True):
        assert len({*statements}) == 3
        assert {said.split()[1] for said in statements} == {each["lang"]}
    if draw != "lm-eval":
        (ids,) = found.system["prompt"]["shown"]
        assert ids.keys() == {"th", "vi"}


def test_too_few_that_match_are_refused() -> None:
    train = of_languages("t", {"th": 9, "vi": 2})
    test = of_languages("q", {"th": 1, "vi": 1})
    with pytest.raises(DataError, match="lang is 'vi'") as refused:
        ask({"count": 3, "match": "lang"}, train, test)
    assert "shots.count is 3, and 2 examples can be shown" in str(refused.value)


def test_an_example_without_the_facet_is_refused() -> None:
    train = of_languages("t", {"th": 9})
    with pytest.raises(DataError, match="'q0'") as refused:
        ask({"count": 3, "match": "lang"}, train, rows("q", 2))
    assert "no single value of 'lang'" in str(refused.value)


# --- copies


@pytest.mark.parametrize("shots", [{"draw": "lm-eval"}, {"match": "lang"}])
def test_copies_get_the_shots_of_their_originals(
    shots: Mapping[str, Any], tmp_path: Path
) -> None:
    train = of_languages("t", {"th": 9, "vi": 9})
    test = of_languages("q", {"th": 3, "vi": 3})
    copies = [
        {
            **each,
            "uid": f"{each['uid']}#p",
            "input_id": each["uid"],
            "perturbation": "p",
        }
        for each in test[::-1]
    ]
    dataset = Sentiments(train, test)
    prompt = {**PROMPT, "shots": {"source": "train", "count": 2, **shots}}
    asked: list[list[str]] = []
    for more in (
        {"dataset": dataset},
        {"data": copies, "task": "sentiment", "copies_of": {"dataset": dataset}},
    ):
        model = Keeping()
        predict(model=model, prompt=prompt, asked=Asked(is_cached=False), **more)
        asked.append(model.asked)
    assert asked[1] == asked[0][::-1]
