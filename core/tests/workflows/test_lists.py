from typing import Any

import polars as pl
import pytest

from evalkit import DataError, Metric, score


def get_hits(predictions: list[Any], targets: list[Any]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(p == t for p, t in pairs) / len(targets)


class Context(Metric):
    """Tells what it was told: 10 for each label, 1 where answers are lists."""

    accepts_no_prediction = True
    interval = "none"

    def statistics(self, context: Any) -> Any:
        labels = len(context.labels or ())
        several = context.answer_kind == "any-of"
        return pl.DataFrame({"row": [0], "x": [10 * labels + several]})

    def finalize(self, sums: Any) -> Any:
        return sums.select("group", value="x")


@pytest.mark.parametrize(
    ("predictions", "targets", "tags", "lengths"),
    [
        (["a"], ["a", "b"], None, "1 and 2"),
        (["a", "b"], ["a", "b"], [["t"]], "1 and 2"),
        ([], ["a"], None, "0 and 1"),
    ],
)
def test_lists_of_different_lengths_are_refused(
    predictions: list[str], targets: list[str], tags: Any, lengths: str
) -> None:
    with pytest.raises(DataError, match=f"of the same length, there are {lengths}"):
        score(get_hits, predictions, targets, tags=tags)


@pytest.mark.parametrize(
    ("kind", "prediction", "target", "message"),
    [
        ("of-all", "a", "a", "answer_kind must be one of one, .*, is 'of-all'"),
        ("any-of", "a", "a", "targets: with answer_kind='any-of' .*, one is 'a'"),
        ("all-of", ["a"], 1, "targets: .* each must be a list, one is 1"),
        ("spans", 1, [], "predictions: .* each must be a list, one is 1"),
    ],
)
def test_what_cannot_be_of_the_kind_of_answers_is_refused(
    kind: Any, prediction: Any, target: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        score(Context, [prediction], [target], answer_kind=kind)


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    values = ["a", "b"] * 30
    widths = []
    for confidence in (0.5, 0.9, 0.95):
        found = score(get_hits, values, ["a"] * 60, confidence=confidence)["hits"].ci
        assert found is not None
        widths.append(found.high - found.low)
    assert widths == sorted(set(widths))


@pytest.mark.parametrize(
    "targets", [[[1, 2], [3]], [["a", None], ["b"]], [["a"], None]]
)
def test_acceptable_answers_must_be_texts(targets: list[Any]) -> None:
    with pytest.raises(DataError, match="acceptable answers must be lists of texts"):
        score(get_hits, ["a", "b"], targets)


@pytest.mark.parametrize("targets", [[1, 2], [0.5, 1.5], [True, False], ["a", "b"]])
def test_no_prediction_at_all_is_no_error(targets: list[Any]) -> None:
    class Missing(Metric):
        accepts_no_prediction = True

        def statistics(self, batch: Any) -> Any:
            right = (batch["prediction"] == batch["target"]).fill_null(False)
            return batch.select(hits=right).with_row_index("row")

        def finalize(self, sums: Any) -> Any:
            return sums.select("group", value="hits")

    assert score(Missing, [None, None], targets)["missing"].value == 0


@pytest.mark.parametrize("answers", [[["a"]], [[{"start": 0, "end": 3}]]])
def test_a_metric_of_spans_is_sent_to_evaluate(answers: list[Any]) -> None:
    class Found(Metric):
        answer_kinds = ("spans",)

        def score_example(self, prediction: Any, target: Any) -> float:
            return float(prediction == target)

    with pytest.raises(DataError, match="kind spans, which a task"):
        score(Found, answers, answers)


class Found(Metric):
    """Share of texts whose spans are all found."""

    answer_kinds = ("spans",)

    def score_example(self, prediction: Any, target: Any) -> float:
        return float(prediction == target)


def test_spans_are_dicts_with_the_keys_of_all_of_them() -> None:
    whole, short = {"start": 0, "end": 3, "label": "a"}, {"start": 4, "end": 5}
    given: list[Any] = [[whole, short], [], [short]]
    targets = [[whole, {**short, "label": None}], [], [whole]]
    found = score(Found, given, targets, answer_kind="spans")
    assert found["found"].value == pytest.approx(2 / 3)


@pytest.mark.parametrize("spans", [["a", 1], [{1: 2}]])
def test_spans_of_something_else_are_refused(spans: list[Any]) -> None:
    with pytest.raises(DataError, match=r"targets: .*spans must be"):
        score(Found, [[]], [spans], answer_kind="spans")


def test_lists_for_a_metric_of_rankings_are_not_taken_for_one_answer() -> None:
    class First(Metric):
        answer_kinds = ("any-of", "ranked")

        def score_example(self, prediction: Any, target: Any) -> float:
            return float(prediction[0] in target)

    given: tuple[Any, Any] = ([["x", "y"]], [["x"]])
    with pytest.raises(DataError, match=r"predictions\[0\] is a list: .*'ranked'"):
        score(First, *given)
    assert score(First, *given, answer_kind="ranked")["first"].value == 1.0
    assert score(First, ["x"], [["x"]])["first"].value == 1.0
