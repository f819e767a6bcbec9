"""Metrics of rankings, against brute-force definitions and scikit-learn."""

from collections.abc import Mapping, Sequence
from itertools import groupby, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from sklearn.metrics import average_precision_score, ndcg_score

import evalkit
from evalkit.errors import MetricError

from .values_alone import values_by_tag

METRICS = ("mrr", "map", "recall-at-k", "ndcg")
ITEMS = "abcdefg"


class Reference(BaseModel):
    text: str
    grade: float | None = None
    tags: list[str] = []


class Query(BaseModel):
    uid: str
    query: str = "?"
    references: list[Reference] | None = None


class Ranking(BaseModel):
    id: str
    documents: list[str]
    scores: list[float] | None = None


class Retrieval(evalkit.TaskIO):
    Input = Query
    Output = Ranking
    input_keys = ("query",)
    answer_field = "documents"
    answer_kind = "ranked"
    perf_metric = "mrr"
    eval_metrics = ("map", "recall-at-k", "ndcg")
    example = {"uid": "1", "query": "rain"}


def evaluate(
    examples: Sequence[Mapping[str, Any]],
    rankings: Sequence[Any],
    metrics: Sequence[str] = METRICS,
    **options: Any,
) -> evalkit.Result:
    class Queries(evalkit.Dataset):
        name = "queries"
        task = Retrieval

        def load(self, split: str) -> list[dict[str, Any]]:
            return [{"uid": str(n), **each} for n, each in enumerate(examples)]

    responses = [
        {"id": str(n), **given}
        if isinstance(given, dict)
        else {"id": str(n), "documents": given}
        for n, given in enumerate(rankings)
        if given is not None
    ]
    return evalkit.evaluate(Queries, responses, metrics=metrics, **options)


# brute force: every order of what is tied ----------------------------------------


def reciprocal_rank(
    ranking: Sequence[str], grades: Mapping[str, float], k: int
) -> float:
    ranks = [n for n, item in enumerate(ranking[:k], 1) if grades.get(item, 0) > 0]
    return 1 / ranks[0] if ranks else 0.0


def average_precision(
    ranking: Sequence[str], grades: Mapping[str, float], k: int
) -> float:
    hits, total = 0, 0.0
    for rank, item in enumerate(ranking[:k], 1):
        if grades.get(item, 0) > 0:
            hits += 1
            total += hits / rank
    return total / sum(grade > 0 for grade in grades.values())


def recall(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    relevant = {item for item, grade in grades.items() if grade > 0}
    return len(relevant & {*ranking[:k]}) / len(relevant)


def discounted_gain(
    ranking: Sequence[str], grades: Mapping[str, float], k: int
) -> float:
    def gained(order: Sequence[float]) -> float:
        return sum(g / np.log2(rank + 1) for rank, g in enumerate(order[:k], 1))

    best = gained(sorted(grades.values(), reverse=True))
    return float(gained([grades.get(item, 0.0) for item in ranking]) / best)


DEFINITIONS = {
    "mrr": reciprocal_rank,
    "map": average_precision,
    "recall-at-k": recall,
    "ndcg": discounted_gain,
}


def over_all_orders(
    name: str, scored: Sequence[tuple[str, float]], grades: Mapping[str, float], k: int
) -> float:
    ordered = sorted(scored, key=lambda pair: -pair[1])
    levels = [
        [item for item, _ in level] for _, level in groupby(ordered, key=lambda p: p[1])
    ]
    values = [
        DEFINITIONS[name]([item for level in order for item in level], grades, k)
        for order in product(*(permutations(level) for level in levels))
    ]
    return sum(values) / len(values)


queries = st.lists(
    st.tuples(
        st.lists(
            st.tuples(st.sampled_from(ITEMS[:5]), st.sampled_from([0.1, 0.5, 2.0])),
            unique_by=lambda pair: pair[0],
            max_size=5,
        ),
        st.dictionaries(
            st.sampled_from(ITEMS), st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=4
        ).map(lambda grades: grades | {"z": 1.0}),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("name", METRICS)
@given(queries=queries, k=st.sampled_from([1, 2, 3, 10]))
@pytest.mark.slow
def test_ties_count_as_the_mean_over_their_orders(
    name: str, queries: list[Any], k: int
) -> None:
    fields = {
        "responses": [[item for item, _ in scored] for scored, _ in queries],
        "responses.score": [[score for _, score in scored] for scored, _ in queries],
        "references": [
            [{"text": t, "grade": g} for t, g in grades.items()]
            for _, grades in queries
        ],
    }
    nothing = ["z"] * len(queries)
    found = values_by_tag(f"{name}:k={k}", nothing, nothing, fields=fields)[None]
    values = [over_all_orders(name, scored, grades, k) for scored, grades in queries]
    assert found.value == pytest.approx(np.mean(values), abs=1e-12)
    assert found.n == len(queries)


@given(
    grades=st.lists(st.integers(0, 3), min_size=2, max_size=8).filter(any),
    scores=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=8, max_size=8),
    k=st.sampled_from([1, 3, 10]),
)
@pytest.mark.slow
def test_ndcg_is_that_of_scikit_learn(
    grades: list[int], scores: list[float], k: int
) -> None:
    names, scores = ITEMS + "h", scores[: len(grades)]
    fields = {
        "responses": [list(names[: len(grades)])],
        "responses.score": [scores],
        "references": [
            [{"text": t, "grade": g} for t, g in zip(names, grades, strict=False)]
        ],
    }
    found = values_by_tag(f"ndcg:k={k}", ["a"], ["a"], fields=fields)[None]
    assert found.value == pytest.approx(ndcg_score([grades], [scores], k=k))


@given(right=st.lists(st.booleans(), min_size=1, max_size=7).filter(any))
@pytest.mark.slow
def test_average_precision_is_that_of_scikit_learn(right: list[bool]) -> None:
    ranking = list(ITEMS[: len(right)])
    answers = [item for item, is_right in zip(ranking, right, strict=True) if is_right]
    fields = {"responses": [ranking]}
    found = values_by_tag("map", ["a"], [answers], fields=fields)[None]
    scores = -np.arange(len(right))
    assert found.value == pytest.approx(average_precision_score(right, scores))


# what is read ----------------------------------------------------------------------


def test_alternatives_are_a_ranking_too() -> None:
    lists = [["b", "a"], ["c", "d"], ["x"], []]
    answers = [["a", "q"], ["c"], ["y"], ["z"]]
    by_task = evaluate([{"documents": each} for each in answers], lists)
    given = {"responses": lists}
    first = [each[0] if each else None for each in lists]
    for name in METRICS:
        found = evalkit.score(name, first, answers, fields=given)[name]
        assert found.value == by_task[name].value
        assert found.n == by_task[name].n == 4
    assert by_task["mrr"].value == pytest.approx((1 / 2 + 1) / 4)


def test_a_prediction_alone_is_a_ranking_of_one() -> None:
    assert evalkit.score("mrr", ["a", "b"], ["a", "a"])["mrr"].value == 0.5


def test_alternatives_with_scores_are_ordered_by_them() -> None:
    fields = {"responses": [["a", "b"]], "responses.score": [[0.2, 0.7]]}
    assert evalkit.score("mrr", ["a"], ["b"], fields=fields)["mrr"].value == 1.0
    fields["responses.score"] = [[0.2, 0.2]]
    assert evalkit.score("mrr", ["a"], ["b"], fields=fields)["mrr"].value == 0.75


def test_ranked_numbers_equal_answers_of_another_type() -> None:
    fields = {"responses": [[3, 7]]}
    assert evalkit.score("mrr", [3.0], [7.0], fields=fields)["mrr"].value == 0.5


@pytest.mark.parametrize(
    ("reference", "grade"),
    [
        ({"text": "a", "grade": 2}, 2),
        ({"text": "a", "tags": ["relevance=2", "rank=1"]}, 2),
        ({"text": "a", "tags": ["relevance:2"]}, 2),
        ({"text": "a", "tags": ["correct"]}, 1),
        ({"text": "a", "grade": 3, "tags": ["correct"]}, 3),
    ],
)
def test_grades_come_from_the_field_or_from_tags(
    reference: dict[str, Any], grade: float
) -> None:
    example = {"documents": ["a"], "references": [reference, {"text": "b", "grade": 1}]}
    found = evaluate([example], [["b", "a"]], ["ndcg"])["ndcg"]
    wanted = discounted_gain(["b", "a"], {"a": grade, "b": 1}, 10)
    assert found.value == pytest.approx(wanted)


def test_references_without_any_grade_are_right_answers() -> None:
    fields = {"responses": [["b", "a"]], "references": [["a", "c"]]}
    assert evalkit.score("mrr", ["b"], ["b"], fields=fields)["mrr"].value == 0.5
    fields["references"] = [[{"text": "a"}, {"text": "c"}]]
    assert evalkit.score("map", ["b"], ["b"], fields=fields)["map"].value == 0.25
    fields["references"] = [
        [{"text": "a", "tags": ["correct"]}, {"text": "b", "tags": []}]
    ]
    assert evalkit.score("map", ["b"], ["b"], fields=fields)["map"].value == 0.5


def test_what_counts_as_relevant_is_a_parameter() -> None:
    example = {
        "documents": ["a"],
        "references": [{"text": "a", "grade": 2}, {"text": "b", "grade": 1}],
    }
    found = evaluate([example], [["b", "a"]], ["mrr", "mrr:grade_above=1"])
    assert [score.value for score in found.scores] == [1.0, 0.5]


def test_the_exponential_gain_is_that_of_burges() -> None:
    example = {
        "documents": ["a"],
        "references": [{"text": "a", "grade": 3}, {"text": "b", "grade": 1}],
    }
    found = evaluate([example], [["b", "a"]], ["ndcg:gain=exponential"]).scores[0]
    assert found.value == pytest.approx(
        discounted_gain(["b", "a"], {"a": 7, "b": 1}, 10)
    )


# edges -----------------------------------------------------------------------------


def test_an_item_that_is_listed_twice_counts_once() -> None:
    found = evaluate([{"documents": ["a", "b"]}], [["a", "a", "b"]])
    assert found["recall-at-k"].value == 1.0
    assert found["map"].value == pytest.approx((1 + 2 / 3) / 2)
    assert evaluate([{"documents": ["a"]}], [["a", "a"]])["ndcg"].value == 1.0


def test_an_empty_ranking_scores_nothing() -> None:
    found = evaluate([{"documents": ["a"]}], [[]])
    assert {name: found[name].value for name in METRICS} == dict.fromkeys(METRICS, 0.0)


def test_a_missing_ranking_scores_nothing_where_it_counts() -> None:
    examples = [{"documents": ["a"]}] * 4
    found = evaluate(examples, [["a"], None, ["a"], ["b"]], on_missing="wrong")
    for name in METRICS:
        assert (found[name].value, found[name].n) == (0.5, 4)
    found = evaluate(examples, [["a"], None, ["a"], ["b"]], on_missing="skip")
    assert found["mrr"].n == 3


def test_an_example_without_anything_relevant_is_left_out_and_counted() -> None:
    of_none = {"documents": ["a"], "references": [{"text": "a", "grade": 0}]}
    found = evaluate([of_none, {"documents": ["a"]}], [["a"], ["a"]])
    for name in METRICS:
        assert (found[name].value, found[name].n) == (1.0, 1)
    assert any("mrr" in notice for notice in found.notices)
    assert found.status == "complete"


@pytest.mark.parametrize(
    ("reference", "ranking", "reason"),
    [
        ({"text": "a"}, ["a"], "a reference has no grade"),
        ({"text": "a", "grade": -1}, ["a"], "the grade of a reference is below 0"),
        (
            {"text": "a", "grade": 1},
            {"documents": ["a", "b"], "scores": [1.0]},
            "there is not one number for each ranked item among the scores",
        ),
    ],
)
def test_what_cannot_be_scored_is_told(
    reference: dict[str, Any], ranking: Any, reason: str
) -> None:
    wrong = {"documents": ["a"], "references": [reference]}
    examples = [wrong, *([{"documents": ["a"]}] * 19)]
    found = evaluate(examples, [ranking, *([["a"]] * 19)])
    assert found.status == "partial"
    assert {problem.reason for problem in found.problems} == {reason}
    assert found["mrr"].n == 19


def test_what_is_no_item_is_refused() -> None:
    fields = {"references": [[{"title": "a"}]]}
    with pytest.raises(MetricError, match="must have the field 'text', has title"):
        evalkit.score("mrr", ["a"], ["a"], fields=fields)
