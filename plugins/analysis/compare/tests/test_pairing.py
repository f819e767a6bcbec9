import numpy as np
import polars as pl
import pytest

from evalkit.errors import AlignmentError
from evalkit.runs.results import Result
from evalkit_analysis_compare.pairing import pair_runs, score_column

from .comparison_runs import make_run, score

SCORES = {"hits": [1.0, 0.0, 1.0]}


def test_rows_are_joined_on_id_whatever_their_order() -> None:
    one = make_run(per_example=SCORES, ids=["b", "a", "c"])
    other = make_run("b", per_example=SCORES, ids=["c", "b", "a"])
    pair = pair_runs(one, other)
    assert pair.n == 3
    np.testing.assert_array_equal(pair.example_scores(one, "hits"), [0, 1, 1])
    np.testing.assert_array_equal(pair.example_scores(other, "hits"), [1, 0, 1])


def test_answers_of_other_types_are_compared_by_what_they_say() -> None:
    one = make_run(per_example=SCORES, answers=[["x"], ["y"], ["z"]])
    same = make_run("b", per_example=SCORES, answers=['["x"]', '["y"]', '["z"]'])
    assert pair_runs(one, same).n == 3
    other = make_run("b", per_example=SCORES, answers=["x", "y", "z"])
    with pytest.raises(AlignmentError, match="answers to 3 examples"):
        pair_runs(one, other)
    listed = make_run("b", per_example=SCORES, answers=[["x"], ["y"], ["z", "Z"]])
    with pytest.raises(AlignmentError, match=r"'e2' \(\['z'\] and \['z', 'Z'\]\)"):
        pair_runs(one, listed)


def test_a_run_without_examples_is_refused() -> None:
    one = make_run(per_example=SCORES)
    bare = Result(one.to_dict(), one.scores, (), None)
    with pytest.raises(AlignmentError, match="holds no examples"):
        pair_runs(bare, one)
    refused = make_run("b", per_example=SCORES, record={"status": "refused"})
    with pytest.raises(AlignmentError, match=r"b .* was refused and has no scores"):
        pair_runs(one, refused)


def without_answers(run: Result, sha256: str | None) -> Result:
    assert run.examples is not None
    frame = run.examples.drop("answer", "pred")
    return Result({**run.to_dict(), "data": {"sha256": sha256}}, run.scores, (), frame)


def test_without_answers_only_the_same_file_is_the_same_data() -> None:
    one = make_run(per_example=SCORES, record={"data": {"sha256": "f"}})
    other = make_run("b", per_example=SCORES)
    assert pair_runs(one, without_answers(other, "f")).n == 3
    assert pair_runs(without_answers(one, "f"), without_answers(other, "f")).n == 3
    for sha256 in ("g", None):
        with pytest.raises(AlignmentError, match="made without answers"):
            pair_runs(one, without_answers(other, sha256))
    unknown = without_answers(one, None)
    with pytest.raises(AlignmentError, match="made without answers"):
        pair_runs(unknown, without_answers(other, None))


def test_replications_are_averaged_within_the_example() -> None:
    one = make_run(
        per_example={"hits": [1.0, 0.0, None, 1.0, None]},
        ids=["a", "a", "b", "b", "c"],
        replication=[0, 1, 0, 1, 0],
    )
    other = make_run("b", per_example=SCORES, ids=["a", "b", "c"])
    pair = pair_runs(one, other)
    np.testing.assert_array_equal(pair.example_scores(one, "hits"), [0.5, 1, np.nan])
    assert pair.rows(one)["replication"].to_list() == [0, 1, 0, 1, 0]
    assert pair.rows(other)["replication"].to_list() == [0, 0, 0]


def test_score_column() -> None:
    run = make_run(per_example={"hits": [1.0, 0.0], "metrics/pred": [0.0, 0.0]})
    assert score_column(run, "hits") == "hits"
    assert run.examples is not None
    named = [score("pred", 0.0, 0.0), score("odd", 0.7, 0.5), score("no", None, None)]
    run = Result(run.to_dict(), [*run.scores, *named], (), run.examples)
    assert score_column(run, "pred") == "metrics/pred"
    assert score_column(run, "odd") is None  # not the mean of its examples' scores
    assert score_column(run, "no") is None
    frame = run.examples.drop("metrics/pred").rename({"hits": "gone"})  # type: ignore[union-attr]
    run = Result(run.to_dict(), run.scores, (), frame)
    assert score_column(run, "pred") is None  # the column is evalkit's own
    assert score_column(run, "hits") is None
    assert isinstance(frame, pl.DataFrame)
