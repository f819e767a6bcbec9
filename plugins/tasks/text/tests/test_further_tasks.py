"""Tasks of choices, texts, numbers, rankings and ratings, from rows to scores."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.catalog import BoundTask
from evalkit_adapters_rows import Rows

TOWNS = ["Paris", "York", "Oslo", "Rome"]


def choose(
    answer: Any, said: str, choices: Sequence[str] = TOWNS, **options: Any
) -> evalkit.Result:
    """Score one response to a question with choices."""
    row = {"uid": "1", "question": "Where?", "choices": choices, "answer": answer}
    return evalkit.evaluate(
        data=[row],
        predictions=[{"id": "1", "answer": said}],
        task="multiple-choice",
        **options,
    )


@pytest.mark.parametrize("answer", ["York", "B", "b", 1, "1", ["D", "B"], [1, 3]])
@pytest.mark.parametrize("said", ["York", "Answer: (B) because of York", "b."])
def test_choices_are_named_by_text_letter_or_place(answer: Any, said: str) -> None:
    assert choose(answer, said)["accuracy"].value == 1.0
    assert choose("Rome", said)["accuracy"].value == 0.0


@pytest.mark.parametrize(("answer", "text"), [("A", "A"), (1, "A"), (0, "Paris")])
def test_a_choice_that_is_a_letter_is_the_text(answer: Any, text: str) -> None:
    examples = choose(answer, "Paris", ["Paris", "A"]).examples
    assert examples is not None
    assert examples["answer"].to_list() == [text]


def write_questions(
    path: Path, answers: list[Any], choices: Any
) -> list[dict[str, Any]]:
    rows = [
        {"uid": str(number), "question": "?", "choices": choices, "answer": answer}
        for number, answer in enumerate(answers)
    ]
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif path.suffix == ".csv":
        texts = [
            {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()}
            for row in rows
        ]
        pl.DataFrame(texts).write_csv(path)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    return [{"id": row["uid"], "answer": "A"} for row in rows]


NUMBERS = ["1", "2", "3", "4"]
LABELED = {"text": NUMBERS, "label": ["4", "3", "2", "1"]}
UNCLEAR = "2 is a choice, and the place of the choice 3"


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize(
    ("choices", "answers", "read"),
    [
        (TOWNS, [0, 2], ["Paris", "Oslo"]),
        (TOWNS, ["0", "C"], ["Paris", "Oslo"]),
        (TOWNS, [[0, 2]], [["Paris", "Oslo"]]),
        (TOWNS, ["[0, 2]"], [["Paris", "Oslo"]]),
        (TOWNS, [["A", "Oslo"]], [["Paris", "Oslo"]]),
        (NUMBERS, ["A", "C"], ["1", "3"]),
        (NUMBERS, [[0, 2]], [["1", "3"]]),
        (LABELED, ["4", "2"], ["1", "3"]),
        ({"text": TOWNS, "label": [*"ABCD"]}, ["B"], ["York"]),
        ({"text": TOWNS, "label": NUMBERS}, ["3"], ["Oslo"]),
        # places from 0, or texts?
        (NUMBERS, ["0", "2"], UNCLEAR),
        (NUMBERS, [["0", "2"]], {"csv": "one of the example's choices", "": UNCLEAR}),
        (NUMBERS, [2], {"csv": UNCLEAR, "": ["3"]}),
        (NUMBERS, ["2"], {"csv": UNCLEAR, "": ["2"]}),
    ],
)
def test_places_and_choices_are_the_same_in_every_file(
    form: str, choices: Any, answers: list[Any], read: Any, tmp_path: Path
) -> None:
    path = tmp_path / f"questions.{form}"
    said = write_questions(path, answers, choices)
    if isinstance(read, dict):
        read = read.get(form, read[""])
    if isinstance(read, str):
        with pytest.raises(evalkit.SchemaError, match=read):
            evalkit.evaluate(path, said, task="multiple-choice")
    else:
        examples = evalkit.evaluate(path, said, task="multiple-choice").examples
        assert examples is not None
        assert examples["answer"].to_list() == read


def test_where_no_choice_is_named_the_answer_is_unparsed() -> None:
    found = choose("B", "I cannot tell.")
    assert found["accuracy"].value == 0.0
    assert dict(found.record.unparsed) == {"choice: no option is named": 1}
    cue = choose(
        "B", "Not Rome. Answer: York", rows=Rows(extract="after:Answer:|choice")
    )
    assert cue["accuracy"].value == 1.0


def test_texts_are_compared_with_one_or_several_references() -> None:
    data = [
        {"uid": "1", "text": ["a cat sat", "the cat sat"]},
        {"uid": "2", "text": "so"},
    ]
    said = [{"id": "1", "text": "the cat sat"}, {"id": "2", "text": "no"}]
    found = evalkit.evaluate(
        data=data, predictions=said, task="text-generation", metrics=["wer", "chrf"]
    )
    assert found["wer"].value == 0.25
    assert found["chrf"].value == pytest.approx(
        evalkit.score(
            "chrf", ["the cat sat", "no"], [["a cat sat", "the cat sat"], ["so"]]
        )["chrf"].value
    )


def test_numbers_are_estimated() -> None:
    data = [{"uid": str(n), "value": right} for n, right in enumerate([1, 3.0, 3, 5])]
    said = [{"id": str(n), "value": given} for n, given in enumerate([1, 2.0, 4, 4])]
    found = evalkit.evaluate(data=data, predictions=said, task="regression")
    assert found["mae"].value == 0.75
    assert found["pearson"].value == pytest.approx(0.816496580927726)


@pytest.mark.parametrize("graded", [False, True])
def test_items_are_ranked(graded: bool) -> None:
    references = [
        {"text": "d3", "grade": 2},
        {"text": "d7", "grade": 1},
        {"text": "d9", "grade": 0},
    ]
    relevant: dict[str, Any] = {"items": ["d3", "d7"]}
    if graded:
        relevant = {"references": references}
    data = [{"uid": "1", "query": "rain", **relevant}]
    said = [{"id": "1", "items": ["d9", "d7", "d3"]}]
    found = evalkit.evaluate(data=data, predictions=said, task="ranking")
    assert (found["mrr"].value, found["recall-at-k"].value) == (0.5, 1.0)
    assert found["map"].value == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert (found["ndcg"].value == pytest.approx(0.693426, abs=1e-6)) is not graded


@pytest.mark.parametrize("form", ["a row for each rater", "lists"])
def test_ratings_are_compared_with_each_other(form: str) -> None:
    ratings = [[1, 2], [3, 3], [1, 1]]
    data = [{"uid": str(n)} for n in range(3)]
    said: list[dict[str, Any]] = [
        {"id": str(n), "ratings": [*each, None]} for n, each in enumerate(ratings)
    ]
    if form != "lists":
        said = [
            {"id": str(n), "_replication_": rater, "rating": rating}
            for n, each in enumerate(ratings)
            for rater, rating in zip("ab", each, strict=True)
        ]
    found = evalkit.evaluate(data=data, predictions=said, task="rating")
    assert found["krippendorff-alpha"].value == pytest.approx(1 - (2 / 6) / (22 / 30))
    assert not [each for each in found.notices if "krippendorff-alpha" in each]


def test_an_example_with_one_rating_is_said_to_be_left_out() -> None:
    said = [
        {"id": str(n), "_replication_": rater, "rating": "x"}
        for n, rater in ((0, "a"), (0, "b"), (1, "a"), (1, "b"), (2, "a"))
    ]
    said[0]["rating"] = "y"
    found = evalkit.evaluate(
        data=[{"uid": str(n)} for n in range(3)],
        predictions=said,
        task="rating",
        on_missing="skip",
    )
    [notice] = [each for each in found.notices if "krippendorff-alpha" in each]
    assert "for 1 of 3 examples" in notice


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_texts_are_classified_by_the_datas_labels_as_columns(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = []
    validate = BoundTask.validate_output

    def count(self: BoundTask, response: Any, labels: Any) -> Any:
        judged.append(response["id"])
        return validate(self, response, labels)

    monkeypatch.setattr(BoundTask, "validate_output", count)
    rows = [
        {"uid": str(n), "statement": "x", "label": "no" if n % 2 else "yes"}
        for n in range(40)
    ]
    said = [
        {"id": row["uid"], "label": row["label"], "prob": {"no": 0.25, "yes": 0.75}}
        for row in rows
    ]
    said[3]["prob"] = {"no": 0.25, "yes": 0.7}
    said[4]["prob"] = None
    path = tmp_path / f"said.{form}"
    frame = pl.DataFrame(said)
    frame.write_parquet(path) if form == "parquet" else frame.write_ndjson(path)
    result = evalkit.evaluate(
        data=rows, predictions=path, task="text-classification", on_invalid="wrong"
    )
    assert (result.counts["scored"], result.counts["invalid"]) == (39, 1)
    assert result["accuracy"].value == 39 / 40
    assert judged == ["3"]
    said[5]["prob"] = {"no": 0.5, "yes": 0.25, "other": 0.25}
    mixed = evalkit.evaluate(
        data=rows, predictions=said, task="text-classification", on_invalid="wrong"
    )
    assert mixed.counts == result.counts
    assert mixed.examples is not None
    assert "other" in str(mixed.examples["prob"][5])
