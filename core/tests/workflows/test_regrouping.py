"""Scores of new groups come from the run folder and are those of a new evaluation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import EvalkitError, PluginError, Result, StorageError
from evalkit.runs.score_columns import Score
from evalkit.workflows.rescoring import score_crossings

ANSWERS = ("positive", "negative", "neutral", "positive", "negative", "neutral") * 4
GIVEN = ("positive", "negative", "positive", "neutral", "negative", "negative") * 4
METRICS = ("accuracy", "macro-f1")


class Reviews(evalkit.Dataset):
    """Twenty-four reviews with two facets, of which six rows lack the second."""

    name = "reviews"
    task = "sentiment"

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {
                "uid": str(number),
                "statement": "x",
                "label": label,
                "author": f"a{number % 5}",
                "tags": [
                    f"topic:{'ab'[number % 2]}",
                    *([] if number % 4 == 3 else [f"size:{'sml'[number % 3]}"]),
                ],
            }
            for number, label in enumerate(ANSWERS)
        ]


def evaluate(dataset: Any = Reviews, rows: int = 24, **options: Any) -> Result:
    sure = {"positive": 1.0, "negative": 0.0, "neutral": 0.0}
    unsure = {"positive": 0.5, "negative": 0.25, "neutral": 0.25}
    given = [
        {"id": str(n), "label": label, "prob": (sure, unsure)[n % 2]}
        for n, label in enumerate(GIVEN[:rows])
    ]
    chosen = {"metrics": METRICS, **options}
    return evalkit.evaluate(dataset, given, model="m", **chosen)


def numbers(scores: Any) -> dict[Any, Any]:
    """Give what a score says, by metric and group."""
    return {
        (score.metric, score.tag, score.aggregate): pytest.approx(
            tuple(_numbers(score).values()), abs=1e-12, nan_ok=True
        )
        for score in scores
    }


def _numbers(score: Score) -> Mapping[str, float | None]:
    names = ("value", "se", "ci_low", "ci_high", "n", "p_value")
    return {name: getattr(score, name) for name in names}


def plain(scores: Any) -> dict[Any, Any]:
    return {
        (score.metric, score.tag, score.aggregate): tuple(_numbers(score).values())
        for score in scores
    }


def of_crossing(result: Result, name: str, start: str) -> list[Score]:
    return [
        score
        for score in result.scores
        if (score.aggregate or "").endswith(f":{name}")
        or (score.aggregate is None and (score.tag or "").startswith(start))
    ]


@pytest.mark.parametrize("by", ["answer", "topic,size", "size,pred", "prob"])
@pytest.mark.parametrize("stored", [False, True])
def test_scores_are_those_of_an_evaluation_by_the_same_names(
    by: str, stored: bool, tmp_path: Path
) -> None:
    fresh = evaluate(by=[by])
    run: Any = evaluate()
    if stored:
        run.save(tmp_path)
        run = evalkit.read_run(run.path)
    found = score_crossings(run, [by])
    crossed = [s for s in found.scores if s.tag is not None or s.aggregate is not None]
    assert len(crossed) > 2 * len(METRICS)
    expected = [
        score
        for score in of_crossing(fresh, by, f"{by.partition(',')[0]}:")
        if score.aggregate or str(score.tag).count(" & ") == by.count(",")
    ]
    assert plain(crossed) == numbers(expected)
    whole = [score for score in found.scores if score.is_whole]
    assert whole == [score for score in run.scores if score.is_whole]


def test_the_record_names_what_was_asked_for_and_the_folder_stays_as_it_was(
    tmp_path: Path,
) -> None:
    run = evaluate(out=tmp_path)
    assert run.path is not None
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    told: list[str] = []
    found = score_crossings(
        run.run_id[:6],
        ["answer", "topic,size"],
        folder=tmp_path,
        progress=lambda text, _share: told.append(text),
    )
    record = found.to_dict()
    assert record["by"] == ["answer", "topic,size"]
    assert (found.run_id, found.path) == (run.run_id, run.path)
    assert found.warnings == ()
    assert any("accuracy" in text for text in told)
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before
    assert found.examples is not None
    assert found.examples.height == len(ANSWERS)


def test_a_column_of_the_data_is_there_where_the_run_was_made_by_it(
    tmp_path: Path,
) -> None:
    run = evaluate(by=["author"], out=tmp_path)
    assert run.path is not None
    found = score_crossings(run.path, ["author", "answer"])
    tags = {score.tag for score in found.scores if score.tag}
    assert tags == {
        *(f"author:a{number}" for number in range(5)),
        *(f"answer:{label}" for label in set(ANSWERS)),
    }
    assert plain(of_crossing(found, "author", "author:")) == numbers(
        of_crossing(run, "author", "author:")
    )
    with pytest.raises(EvalkitError) as caught:
        score_crossings(evaluate(keep="none"), ["author"])
    assert str(caught.value) == (
        "--by author: 'author' is no facet of the tags and no column; there are: size, "
        "topic, answer, pred, prob, status"
    )


def get_length(predictions: list[str], targets: list[str]) -> float:
    return float(sum(map(len, predictions)))


def test_a_metric_that_cannot_be_loaded_is_named_and_keeps_its_score() -> None:
    run = evaluate(metrics=["accuracy", get_length])
    found = score_crossings(run, ["topic"])
    own = [score for score in found.scores if score.metric == "length"]
    assert own == [run["length"]]
    [warning] = found.warnings
    assert warning.startswith("length was not computed by group: ")
    assert "given as an object" in warning
    assert any(score.tag == "topic:a" for score in found.scores)


def test_a_run_of_which_no_metric_can_be_loaded_is_an_error() -> None:
    run = evaluate(metrics=[get_length])
    with pytest.raises(PluginError, match=r"no metric of the run \w+ can be computed"):
        score_crossings(run, ["topic"])


def test_a_metric_that_asks_for_the_input_is_told_that_the_data_is_not_there() -> None:
    class OfStatements(evalkit.Metric):
        columns = ("statement",)

        def score_example(self, prediction: str, target: str) -> float:
            return 1.0

    run = evaluate(metrics=["accuracy", OfStatements])
    [warning] = score_crossings(run, ["topic"]).warnings
    assert warning.startswith("of-statements was not computed by group: ")


def test_a_run_without_answers_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(StorageError, match="evaluate again without it"):
        score_crossings(evaluate(include_examples=False), ["topic"])
