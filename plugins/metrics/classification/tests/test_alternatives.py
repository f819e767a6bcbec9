"""Metrics of several answers to one example, against brute force."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from scipy import stats

import evalkit
from evalkit import Registry, Result
from evalkit.catalog import Catalog, Component, find_components

Answers = Sequence[str | None]


class Question(BaseModel):
    uid: str


class Reply(BaseModel):
    id: str
    label: str | None = None


class LettersTask(evalkit.TaskIO):
    """One whose answers may be null, which is one that could not be extracted."""

    Input = Question
    Output = Reply
    answer_field = "label"
    perf_metric = "accuracy"
    example = {"uid": "1"}


class NumberReply(BaseModel):
    id: str
    label: float | None = None


class NumbersTask(LettersTask):
    Output = NumberReply
    answer_kind = "number"


class OwnReply(Reply):
    responses: str


class OwnTask(LettersTask):
    """One with another idea of `responses`."""

    Output = OwnReply
    scored_fields = ("responses",)


REGISTRY = Registry(
    Catalog(
        (
            *find_components().components,
            *(
                Component("tasks", name, f"{__name__}:{kind}", "d", "1")
                for name, kind in (
                    ("letters", "LettersTask"),
                    ("numbers", "NumbersTask"),
                    ("own", "OwnTask"),
                )
            ),
        ),
        (),
    )
)


class Letters(evalkit.Dataset):
    name = "letters"

    def __init__(self, targets: Sequence[Any], task: str = "letters") -> None:
        super().__init__()
        self.targets = targets
        self.task = task

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {"uid": str(number), "label": target}
            for number, target in enumerate(self.targets)
        ]


def listed(number: int, answers: Sequence[Any]) -> dict[str, Any]:
    return {"id": str(number), "responses": [{"label": answer} for answer in answers]}


def evaluate(
    names: Sequence[str],
    answers: Sequence[Sequence[Any]],
    targets: Sequence[Any],
    task: str = "letters",
    **options: Any,
) -> Result:
    return evalkit.evaluate(
        Letters(targets, task),
        [listed(number, given) for number, given in enumerate(answers)],
        metrics=names,
        registry=REGISTRY,
        **options,
    )


def value_of(name: str, answers: Sequence[Any], target: Any, **options: Any) -> Any:
    return evaluate([name], [answers], [target], **options)[name].value


def is_right(answer: str | None, target: str | list[str]) -> bool:
    accepted = [target] if isinstance(target, str) else target
    return answer is not None and answer in accepted


def in_first(answers: Answers, target: Any, k: int) -> float:
    return float(any(is_right(answer, target) for answer in answers[:k]))


def of_draws(
    judge: Callable[[list[bool]], bool],
) -> Callable[[Answers, Any, int], float]:
    """Judge every draw of k alternatives, without a formula."""

    def chance(answers: Answers, target: Any, k: int) -> float:
        if not answers:
            return 0.0
        marks = [is_right(answer, target) for answer in answers]
        draws = [judge(list(draw)) for draw in combinations(marks, k)]
        return sum(draws) / len(draws)

    return chance


def of_vote(answers: Answers, target: Any, _: int) -> float:
    votes = [answer for answer in answers if answer is not None]
    # max gives the first of several that are equally frequent
    return float(bool(votes) and is_right(max(votes, key=votes.count), target))


BRUTE_FORCE: Mapping[str, Callable[[Answers, Any, int], float]] = {
    "top-k-accuracy": in_first,
    "pass-at-k": of_draws(any),
    "pass-hat-k": of_draws(all),
    "vote-accuracy": of_vote,
}
DEFAULT_K = {"top-k-accuracy": 5, "pass-at-k": 1, "pass-hat-k": 1}
NAMES = list(BRUTE_FORCE)

letters = st.sampled_from(["a", "b", "A", "", "\u00e9", "e\u0301", "日本", None])
targets = st.one_of(
    st.sampled_from(["a", "b", "", "\u00e9", "日本"]),
    st.lists(st.sampled_from(["a", "b", "\u00e9"]), min_size=1, max_size=3),
)


def rows(least: int) -> st.SearchStrategy[list[tuple[list[str | None], Any]]]:
    some = st.lists(letters, min_size=least, max_size=7)
    row = st.tuples(st.one_of(st.just([]), some), targets)
    return st.lists(row, min_size=1, max_size=12)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)  # of up to twelve rows each
@given(data=st.data())
@pytest.mark.slow
def test_it_equals_brute_force(name: str, data: st.DataObject) -> None:
    k = 1 if name == "vote-accuracy" else data.draw(st.integers(1, 7))
    drawn = data.draw(rows(k if name.startswith("pass") else 0))
    full_name = name if k == DEFAULT_K.get(name, k) else f"{name}:k={k}"
    answers, golds = (list(column) for column in zip(*drawn, strict=True))
    result = evaluate([full_name], answers, golds)
    expected = [
        BRUTE_FORCE[name](given, gold, k)
        for given, gold in zip(answers, golds, strict=True)
    ]
    found = result[full_name]
    mean = sum(expected) / len(expected)
    assert (found.value, found.n) == (pytest.approx(mean, abs=1e-12), len(drawn))
    assert result.examples is not None
    each = result.examples[full_name].to_list()
    assert each == pytest.approx(expected, abs=1e-15)


@given(count=st.integers(1, 60), right=st.integers(0, 60), k=st.integers(1, 60))
@settings(max_examples=20)
@pytest.mark.slow
def test_pass_at_k_is_the_hypergeometric_chance(count: int, right: int, k: int) -> None:
    right, k = min(right, count), min(k, count)
    answers = ["a"] * right + ["b"] * (count - right)
    drawn = stats.hypergeom(count, right, k)
    names = [
        name if k == 1 else f"{name}:k={k}" for name in ("pass-at-k", "pass-hat-k")
    ]
    result = evaluate(names, [answers], ["a"])
    found = [result[name].value for name in names]
    assert found == pytest.approx([drawn.sf(0), drawn.pmf(k)], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("answers", "target", "k", "value"),
    [
        (["b", "a"], "a", 1, 0.0),
        (["b", "a"], "a", 2, 1.0),
        (["b", "a"], "a", 2**31 - 1, 1.0),
        ([None, "a"], "a", 1, 0.0),
        ([None, "a"], "a", 2, 1.0),
        ([None, None], "a", 2, 0.0),
        ([], "a", 3, 0.0),
        (["", "b"], "", 1, 1.0),
        (["A", "a ", "\u00e9"], "a", 3, 0.0),
        (["e\u0301"], "\u00e9", 3, 0.0),
        (["c", "b"], ["a", "b"], 2, 1.0),
    ],
)
def test_top_k_accuracy(answers: Answers, target: Any, k: int, value: float) -> None:
    assert value_of(f"top-k-accuracy:k={k}", answers, target) == value


@pytest.mark.parametrize(
    ("answers", "target", "value"),
    [
        (["a", "b", "b"], "b", 1.0),
        (["a", "b", "b"], "a", 0.0),
        # equally frequent: the first in the list
        (["a", "b", "b", "a"], "a", 1.0),
        (["b", "a", "a", "b"], "a", 0.0),
        (["a", "b"], "a", 1.0),
        # null does not vote
        ([None, None, None, "a", "a", "b"], "a", 1.0),
        ([None, "b", "a"], "b", 1.0),
        ([None, None], "a", 0.0),
        ([], "a", 0.0),
        (["", "", "a"], "", 1.0),
        # answers are not joined: each alternative votes for its own text
        (["a", "b", "c", "c"], ["a", "b"], 0.0),
        (["a", "b", "c"], ["b", "a"], 1.0),
        (["\u00e9", "e\u0301", "e\u0301"], "\u00e9", 0.0),
    ],
)
def test_vote_accuracy(answers: Answers, target: Any, value: float) -> None:
    assert value_of("vote-accuracy", answers, target) == value


@pytest.mark.parametrize("name", ["pass-at-k:k=3", "pass-hat-k:k=3"])
def test_too_few_alternatives_give_no_chance(name: str) -> None:
    enough, few = ["a", "b", "a"], ["a", "a"]
    one = evaluate([name], [enough, few, []], ["a"] * 3)[name]
    assert (one.value, one.ci, one.n) == (None, None, 3)
    assert one.reason == "1 example has fewer than 3 alternatives"
    two = evaluate([name], [few, few, []], ["a"] * 3)[name]
    assert two.reason == "2 examples have fewer than 3 alternatives"
    assert evaluate([name], [enough, []], ["a"] * 2)[name].value is not None


def test_replications_are_alternatives_of_a_pass() -> None:
    names = ["pass-at-k:k=1", "pass-at-k:k=2", "pass-at-k:k=5", "pass-hat-k:k=2"]
    samples = ["abbbb", "aaaaa", "bbbbb"]
    lines = [
        {"id": str(number), "label": label, "_replication_": name}
        for number, labels in enumerate(samples)
        for name, label in enumerate(labels)
    ]
    flat = evalkit.evaluate(Letters(["a"] * 3), lines, metrics=names, registry=REGISTRY)
    nested = evaluate(names, [list(labels) for labels in samples], ["a"] * 3)
    for name, value in zip(names, (0.4, 1.4 / 3, 2 / 3, 1 / 3), strict=True):
        assert flat[name].value == nested[name].value == pytest.approx(value)
        assert flat[name].ci == nested[name].ci
    both = [{**line, "responses": [{"label": "a"}]} for line in lines]
    found = evalkit.evaluate(
        Letters(["a"] * 3), both, metrics=names[:1], registry=REGISTRY
    )
    assert "give each alternative as a row with its own `_replication_`" in str(
        found.record.errors
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", ["letters", "numbers"])
def test_where_no_answer_could_be_extracted_all_are_wrong(name: str, task: str) -> None:
    golds = ["a", "b"] if task == "letters" else [1, 2]
    found = evaluate([name], [[None], []], golds, task)[name]
    assert (found.value, found.n) == (0.0, 2)


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("pass")])
def test_without_alternatives_there_is_no_value(name: str) -> None:
    lines = [{"id": "0", "label": "a"}]
    result = evalkit.evaluate(Letters(["a"]), lines, metrics=[name], registry=REGISTRY)
    found = result[name]
    assert found.value is None
    rule = "it needs the field 'responses', which was not given"
    assert rule in str(found.reason)
    assert result.status == "partial"
    with pytest.raises(evalkit.MetricError, match=rule):
        evalkit.score(name, ["a"], ["a"])


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_holds_no_lists_is_an_error(name: str) -> None:
    lines = [{"id": "0", "label": "a", "responses": "a"}]
    data = Letters(["a"], "own")
    result = evalkit.evaluate(
        data, lines, metrics=["accuracy", name], registry=REGISTRY
    )
    assert result.status == "partial"
    assert result["accuracy"].value == 1.0
    assert "the field 'responses' must hold lists, holds String" in (
        result[name].reason or ""
    )
