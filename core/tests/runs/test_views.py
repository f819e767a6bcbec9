"""Which examples were answered wrongly, and what was taken for what."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

import evalkit
from evalkit.errors import DataError, StorageError
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score
from evalkit.runs.views import Confusion, count_confusion, find_wrong

SCORE = Score(
    *("hits", "test", None, None, "all", 0.5, None, None, None, "none", 4, None, 1.0),
    *("%", 100.0, True, None, None, None, None, None, None, None, None),
)


def result(
    rows: Sequence[tuple[Any, ...]],
    scores: Sequence[Score] = (),
    headline: str | None = None,
    labels: Sequence[str] | None = None,
    policies: str = "error",
    answer_kind: str | None = None,
    **columns: Sequence[Any],
) -> Result:
    """Make a result of rows of answer, prediction, tags and status."""
    table = pl.DataFrame(
        {
            "id": [str(number) for number in range(len(rows))],
            "answer": [row[0] for row in rows],
            "pred": [row[1] for row in rows],
            "tags": pl.Series(
                [list(row[2]) if len(row) > 2 else [] for row in rows],
                dtype=pl.List(pl.String),
            ),
            "status": [row[3] if len(row) > 3 else "scored" for row in rows],
            **columns,
        }
    )
    record = {
        "status": "complete",
        "counts": {},
        "headline": headline,
        "labels": labels,
        "policies": {
            "on_missing": policies,
            "on_invalid": policies,
            "on_duplicate": "error",
        },
        "components": [
            {"id": f"metrics/{score.metric.partition('#')[0]}", "parameters": {}}
            for score in scores
        ],
        **({} if answer_kind is None else {"answer_kind": answer_kind}),
    }
    return Result(record, scores, (), table)


def wrong_ids(found: Result, *arguments: str | None) -> list[str]:
    return find_wrong(found, *arguments).rows["id"].to_list()


ROWS = [("a", "a"), ("a", "b"), ("b", None), ("b", "b")]


# find_wrong


def test_the_worst_come_first_then_the_order_of_the_data() -> None:
    loss = SCORE._replace(metric="loss", unit="nats", scale=1.0, higher_is_better=False)
    found = result(
        ROWS, [SCORE, loss], hits=[0.5, 0.0, 1.0, 0.0], loss=[0.25, 3.0, 7.0, 3.0]
    )
    hits = find_wrong(found)
    assert (hits.metric, hits.best, hits.n) == ("hits", 1.0, 4)
    assert hits.rows.rows() == [
        ("1", "a", "b", 0.0, [], None),
        ("3", "b", "b", 0.0, [], None),
        ("0", "a", "a", 0.5, [], None),
    ]
    # lower is better, and no proportion: the best of the run counts
    losses = find_wrong(found, "loss")
    assert losses.best == 0.25
    assert losses.rows["id"].to_list() == ["2", "1", "3"]


@pytest.mark.parametrize(
    ("unit", "scale", "higher_is_better", "best", "wrong"),
    [
        ("%", 100.0, True, 1.0, ["1", "0"]),
        ("%", 100.0, False, 0.0, ["0", "1"]),
        ("points", 1.0, True, 0.75, ["1"]),
        ("points", 1.0, False, 0.25, ["0"]),
        ("%", 1.0, True, 0.75, ["1"]),
    ],
)
def test_the_best_is_one_for_a_proportion_and_else_the_runs(
    unit: str, scale: float, higher_is_better: bool, best: float, wrong: list[str]
) -> None:
    score = SCORE._replace(unit=unit, scale=scale, higher_is_better=higher_is_better)
    found = find_wrong(result(ROWS[:2], [score], hits=[0.75, 0.25]))
    assert found.best == best
    assert found.rows["id"].to_list() == wrong


def test_examples_that_a_metric_leaves_out_are_not_wrong() -> None:
    found = result(ROWS[:2], [SCORE], hits=[None, 0.0])
    assert wrong_ids(found) == ["1"]
    empty = result(ROWS[:2], [SCORE._replace(unit="")], hits=[None, None])
    assert wrong_ids(empty) == []


def test_the_headline_is_preferred_and_unknown_directions_are_not() -> None:
    other = SCORE._replace(metric="other")
    length = SCORE._replace(metric="length", higher_is_better=None)
    columns = {"length": [1.0, 2.0, 3.0, 4.0], "hits": [1.0] * 4, "other": [0.0] * 4}
    scores = [length, SCORE, other]
    assert find_wrong(result(ROWS, scores, **columns)).metric == "hits"
    assert find_wrong(result(ROWS, scores, "other", **columns)).metric == "other"
    with pytest.raises(DataError, match="length does not say whether higher is better"):
        find_wrong(result(ROWS, scores, **columns), "length")
    # the only scores are of no direction: predictions are compared
    found = find_wrong(result(ROWS, [length], length=[1.0] * 4))
    assert (found.metric, found.best) == (None, None)
    assert found.rows["id"].to_list() == ["1", "2"]


def test_a_metric_without_per_example_scores_names_those_that_have_them() -> None:
    macro = SCORE._replace(metric="macro")
    tagged = SCORE._replace(metric="tagged", tag="x")
    found = result(ROWS, [macro, tagged, SCORE], "macro", hits=[1.0] * 4)
    with pytest.raises(DataError, match=r"of 'macro'; it has them of: hits$"):
        find_wrong(found, "macro")
    with pytest.raises(DataError, match=r"it has them of: none$"):
        find_wrong(result(ROWS, [macro]), "hits")


@pytest.mark.parametrize(
    ("rows", "kind", "wrong"),
    [
        (ROWS, None, ["1", "2"]),
        ([(["a", "b"], "b"), (["a"], "b"), (["a"], None)], "any-of", ["1", "2"]),
        ([(["a", "b"], ["a", "b"]), (["a"], ["b"])], "all-of", ["1"]),
        ([(1.0, 1), (2.5, 2), (3.0, None)], "number", ["1", "2"]),
        ([(None, None), ("a", "a")], None, ["0"]),
    ],
)
def test_without_scores_predictions_are_compared_with_answers(
    rows: list[Any], kind: str | None, wrong: list[str]
) -> None:
    found = find_wrong(result(rows, answer_kind=kind))
    assert (found.metric, found.best, found.n) == (None, None, len(rows))
    assert found.rows["id"].to_list() == wrong
    assert found.rows["score"].to_list() == [None] * len(wrong)


def test_what_cannot_be_compared_says_so() -> None:
    found = result([(["a"], 1), (["b"], 2)], answer_kind="all-of")
    with pytest.raises(DataError, match="predictions cannot be compared"):
        find_wrong(found)


STATUSES = [
    ("a", "a", ["t:1"]),
    ("a", None, ["t:1"]),
    ("a", None, ["t:2"], "missing"),
    ("a", None, ["t:1", "t:2"], "invalid"),
]


def test_what_counts_as_wrong_is_marked() -> None:
    found = find_wrong(result(STATUSES, policies="wrong"))
    assert found.n == 4
    assert found.rows["note"].to_list() == ["unparsed", "missing", "invalid"]
    skipped = find_wrong(result(STATUSES, policies="skip"))
    assert skipped.n == 2
    assert skipped.rows["note"].to_list() == ["unparsed"]


def test_a_tag_chooses_examples() -> None:
    found = result(STATUSES, policies="wrong")
    assert wrong_ids(found, None, "t:2") == ["2", "3"]
    assert find_wrong(found, None, "t:1").n == 3
    with pytest.raises(DataError, match=r"no example has the tag 't:3'; .* 2 tags"):
        find_wrong(found, None, "t:3")
    with pytest.raises(DataError, match=r"the run has 0 tags$"):
        find_wrong(result(ROWS), None, "t:3")
    with pytest.raises(DataError, match="with the tag 't:2' was scored"):
        find_wrong(result(STATUSES, policies="skip"), None, "t:2")


@pytest.mark.usefixtures("mini")
def test_a_run_without_examples_says_so() -> None:
    rows = [{"id": str(number), "label": "yes"} for number in (1, 2, 3)]
    made = evalkit.evaluate("mini", rows, include_examples=False)
    for view in (find_wrong, count_confusion):
        with pytest.raises(StorageError, match="--no-examples"):
            view(made)
    made = evalkit.evaluate("mini", rows)
    assert find_wrong(made).metric == "hits"
    assert wrong_ids(made) == ["2"]
    assert count_confusion(made).counts == ((2, 0), (1, 0))


# count_confusion


def test_rows_and_columns_follow_the_declared_order() -> None:
    rows = [("b", "a"), ("a", "zz"), ("a", "a"), ("b", None), ("b", "q"), ("b", "zz")]
    assert count_confusion(result(rows, labels=("b", "c", "a"))) == Confusion(
        labels=("b", "c", "a"),
        predicted=("b", "c", "a", "(other)"),
        counts=((0, 0, 1, 2), (0, 0, 0, 0), (0, 0, 1, 1)),
        no_answer=(1, 0, 0),
    )
    found = count_confusion(result(rows))
    assert (found.labels, found.predicted) == (("a", "b"), ("a", "b", "q", "zz"))
    found = count_confusion(result([("(other)", "x")], labels=("(other)",)))
    assert (found.predicted, found.counts) == (("(other)", "((other))"), ((0, 1),))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(["a"], "a")], "are no labels, so that"),
        ([(0.5, 0.5)], "are no labels, so that"),
        ([(f"text {n}", "a") for n in range(21)], "21 answers hold 21 different ones"),
        ([(f"{n % 30}", "a") for n in range(149)], "149 answers hold 30 different"),
    ],
)
def test_answers_that_are_no_labels_are_refused(rows: list[Any], why: str) -> None:
    with pytest.raises(DataError, match=why):
        count_confusion(result(rows))


LABELS = ("x", "y", "z")
PAIRS = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, None])), min_size=1
)


@given(PAIRS)
def test_counts_are_those_of_scikit_learn(pairs: list[tuple[str, str | None]]) -> None:
    found = count_confusion(result(pairs, labels=LABELS))
    answered = [(gold, given) for gold, given in pairs if given is not None]
    expected = np.zeros((3, 3), dtype=int)
    if answered:
        gold, predictions = zip(*answered, strict=True)
        expected = confusion_matrix(gold, predictions, labels=LABELS)
    assert found.counts == tuple(map(tuple, expected.tolist()))
    unanswered = Counter(gold for gold, prediction in pairs if prediction is None)
    assert found.no_answer == tuple(unanswered[label] for label in LABELS)


@pytest.mark.known_result
@pytest.mark.slow
def test_confusion_of_tweeteval_is_the_known_one(
    external_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    predictions = external_data / "tweeteval-sentiment" / "predictions.txt"
    made = evalkit.evaluate(
        "tweeteval-sentiment", predictions, metrics=["accuracy"], out=tmp_path
    )
    found = count_confusion(evalkit.read_run(evalkit.find_run("latest", tmp_path)))
    assert found.labels == found.predicted == ("negative", "neutral", "positive")
    assert [list(row) for row in found.counts] == [
        [3146, 773, 53],
        [1265, 4047, 625],
        [56, 628, 1691],
    ]
    assert find_wrong(made).rows.height == 12284 - 8884
