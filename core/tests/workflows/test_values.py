"""Laws: the same rows score the same and are stored alike, whichever way they came."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import polars as pl
import pytest
from pydantic_core import to_jsonable_python

import evalkit
from evalkit.errors import SchemaError
from evalkit_analysis_compare import compare

CODE = """
from datetime import date
from typing import Any

import evalkit
from pydantic import BaseModel, ConfigDict


class Span(BaseModel):
    start: int
    end: int
    label: str = "any"


class Text(BaseModel):
    model_config = ConfigDict(strict=True)
    uid: str
    text: str
    day: date


def make(kind, answer_kind):
    class Output(BaseModel):
        model_config = ConfigDict(strict=True)
        id: str
        value: kind
        note: list[Span] | None = None

    class Task(evalkit.TaskIO):
        pass

    Task.Input, Task.Output = Text, Output
    Task.answer_field, Task.answer_kind = "value", answer_kind
    Task.scored_fields = ("note",)
    Task.perf_metric = "accuracy"
    Task.example = {"uid": "1", "text": "t", "day": date(2020, 1, 1)}
    return Task


class Same(evalkit.Metric):
    answer_kinds = ("one", "any-of", "all-of", "spans", "ranked", "number")
    bounds = (0, 1)

    def score_example(self, prediction, target):
        return float(prediction == target)


Model = make(Span, "one")
Spans = make(list[Span], "spans")
Pairs = make(list[tuple[int, int]], "spans")
Integers = make(list[int], "all-of")
Texts = make(list[str], "ranked")
Dates = make(date, "one")
Bytes = make(bytes, "one")
Booleans = make(bool, "one")
Numbers = make(float, "number")
Maps = make(dict[str, int], "one")
"""


class Agreement(evalkit.Metric):
    """Share of predictions that are equal to the answer, as Python compares them."""

    answer_kinds = ("one", "any-of", "all-of", "spans", "ranked", "number")
    columns: ClassVar[Sequence[str]] = ("day", "note")
    bounds = (0, 1)
    interval = "wilson"
    accepts_no_prediction = True
    worst_value = 0.0
    seen: ClassVar[list[Any]] = []

    def score_example(
        self, prediction: Any, target: Any, fields: Mapping[str, Any]
    ) -> float:
        type(self).seen.append((prediction, target, fields["day"], fields["note"]))
        return float(prediction == target)


def rows(answers: Sequence[Any], key: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {key: str(place), "value": answer, **more}
        for place, answer in enumerate(answers)
    ]


def as_json(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = to_jsonable_python(given)
    return [{k: v for k, v in row.items() if v is not None} for row in found]


def as_lines(given: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in as_json(given)))
    return path


def as_csv(given: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    path = folder / "rows.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(
            stream, [*dict.fromkeys(k for row in given for k in row)]
        )
        writer.writeheader()
        for row in as_json(given):
            writer.writerow(
                {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()}
            )
    return path


def as_frame(given: Sequence[Mapping[str, Any]], folder: Path) -> pl.DataFrame:
    return pl.DataFrame(list(given), infer_schema_length=None)


def as_parquet(given: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    as_frame(given, folder).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


WAYS: dict[str, Callable[[Sequence[Mapping[str, Any]], Path], Any]] = {
    "dicts": lambda given, folder: given,
    "frame": as_frame,
    "JSON lines": as_lines,
    "CSV": as_csv,
    "Parquet": as_parquet,
}

SPAN_TYPE = pl.Struct({"start": pl.Int64, "end": pl.Int64, "label": pl.String})
TEXTUAL = ("JSON lines", "CSV")
DAY = date(2020, 1, 1)
SPAN = {"start": 0, "end": 3, "label": "any"}
OTHER = {"start": 4, "end": 6, "label": "name"}


class Case(NamedTuple):
    """Answers, predictions of which only the first is right, and what they are."""

    answers: list[Any]
    predictions: list[Any]
    dtype: Any
    lacking: frozenset[str] = frozenset()
    """Ways that cannot hold the values."""


CASES: dict[str, Case] = {
    "model": Case([SPAN, OTHER], [SPAN, SPAN], SPAN_TYPE),
    "spans": Case([[SPAN, OTHER], []], [[SPAN, OTHER], [OTHER]], pl.List(SPAN_TYPE)),
    "pairs": Case([[[0, 3]], []], [[[0, 3]], [[1, 2]]], pl.List(pl.List(pl.Int64))),
    "integers": Case([[1, 2], []], [[1, 2], [1]], pl.List(pl.Int64)),
    "texts": Case([["b", "a"], ["a"]], [["b", "a"], []], pl.List(pl.String)),
    "dates": Case([DAY, date(2020, 1, 2)], [DAY, DAY], pl.Date()),
    "bytes": Case(
        [b"\x89PNG", b"x"], [b"\x89PNG", b"y"], pl.Binary(), frozenset(TEXTUAL)
    ),
    "booleans": Case([True, False], [True, True], pl.Boolean()),
    "numbers": Case([1, 2.5], [1.0, 2], pl.Float64()),
    "maps": Case(
        [{"a": 1}, {}],
        [{"a": 1}, {"b": 2}],
        pl.List(pl.Struct({"key": pl.String, "value": pl.Int64})),
    ),
}


def given(case: str, key: str, way: str, folder: Path) -> Any:
    found = CASES[case]
    if way in found.lacking:
        pytest.skip("this way cannot hold these values")
    folder.mkdir(exist_ok=True)
    if key == "uid":
        return WAYS[way](rows(found.answers, key, text="t", day=DAY), folder)
    return WAYS[way](rows(found.predictions, key, note=[SPAN]), folder)


def evaluate(
    case: str, data: Any, predictions: Any, metric: Any = Agreement, **options: Any
) -> evalkit.Result:
    class Rows(evalkit.Dataset):
        name = "rows"
        task = f"valued-{case}"

        def load(self, split: str) -> Any:
            return data

    return evalkit.evaluate(Rows, predictions, metrics=[metric], **options)


@pytest.fixture(autouse=True)
def _installed(fake_distribution: Callable[..., Any]) -> None:
    tasks = {f"valued-{case}": case.title() for case in CASES}
    groups = {"evalkit.tasks": tasks, "evalkit.metrics": {"same": "Same"}}
    fake_distribution(CODE, groups, name="valued")
    Agreement.seen.clear()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_values_are_the_same_whichever_way_they_came(
    case: str, way: str, tmp_path: Path
) -> None:
    result = evaluate(
        case,
        given(case, "uid", way, tmp_path / "data"),
        given(case, "id", way, tmp_path / "predictions"),
    )
    score = result["agreement"]
    assert (score.value, score.n) == (0.5, 2)
    assert result.examples is not None
    found = result.examples
    assert found.schema["answer"] == found.schema["pred"] == CASES[case].dtype
    assert found.schema["note"] == pl.List(SPAN_TYPE)
    assert found["agreement"].to_list() == [1.0, 0.0]
    assert [seen[2:] for seen in Agreement.seen] == [(DAY, [SPAN])] * 2
    first = Agreement.seen[0]
    assert first[0] == first[1] == stored(CASES[case].answers[0])


def stored(value: Any) -> Any:
    """Return a value as a column has it: a map as its entries."""
    if isinstance(value, dict) and value.keys() == {"a"}:
        return [{"key": "a", "value": value["a"]}]
    return value


class Agreed(evalkit.Metric):
    """The same without columns of the data."""

    answer_kinds = Agreement.answer_kinds
    bounds = (0, 1)

    def score_example(self, prediction: Any, target: Any) -> float:
        return float(prediction == target)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_a_run_folder_keeps_the_types(case: str, tmp_path: Path) -> None:
    found = CASES[case]
    data = rows(found.answers, "uid", text="t", day=DAY)
    wrong, right = (rows(x, "id") for x in (found.predictions, found.answers))

    def run(data: Any, said: Any, model: str) -> evalkit.Result:
        result = evaluate(case, data, said, "same", model=model, out=tmp_path)
        assert result.path is not None
        return evalkit.read_run(result.path)

    one, two = run(data, wrong, "one"), run(data, right, "two")
    rest = [{**row, "uid": f"rest {row['uid']}"} for row in data]
    said = [{**row, "id": f"rest {row['id']}"} for row in right]
    merged = evalkit.merge([one, run(rest, said, "one")])
    for result in (one, merged):
        assert result.examples is not None
        kinds = result.examples.schema
        assert kinds["answer"] == kinds["pred"] == found.dtype
    assert evalkit.rescore(one, [Agreed])["agreed"].value == 0.5
    assert compare(two, one).rows[0].difference == 0.5
    assert (merged["same"].value, merged["same"].n) == (0.75, 4)


NULLABLE = """
import evalkit
from pydantic import BaseModel


class Text(BaseModel):
    uid: str
    text: str | None


class Said(BaseModel):
    id: str
    value: str | None


class Task(evalkit.TaskIO):
    Input, Output = Text, Said
    answer_field, perf_metric = "value", "same"
    example = {"uid": "1", "text": None}
"""


@pytest.mark.parametrize("way", WAYS)
def test_null_is_a_value_of_a_field_that_may_be_null_and_has_no_default(
    way: str, tmp_path: Path, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution(NULLABLE, {"evalkit.tasks": {"nullable": "Task"}})
    texts = [
        {"uid": "1", "text": None, "value": "a"},
        {"uid": "2", "text": "t", "value": "b"},
    ]
    said = [{"id": "1", "value": None}, {"id": "2", "value": "b"}]
    folders = [tmp_path / "data", tmp_path / "said"]
    for folder in folders:
        folder.mkdir()
    rows_of_data = WAYS[way](texts, folders[0])
    if way == "JSON lines":
        keep_nulls(rows_of_data, texts)

    class Rows(evalkit.Dataset):
        task = "nullable"

        def load(self, split: str) -> Any:
            return rows_of_data

    predictions = WAYS[way](said, folders[1])
    if way == "JSON lines":
        keep_nulls(predictions, said)
    result = evalkit.evaluate(Rows, predictions, metrics=["accuracy"])
    assert result.examples is not None
    assert result.examples["pred"].to_list() == [None, "b"]
    assert result["accuracy"].value == 0.5


def keep_nulls(path: Path, given: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in given))


def test_a_default_within_an_answer_is_filled_in() -> None:
    bare = {"start": 0, "end": 3}
    data = rows([[bare], [SPAN]], "uid", text="t", day=DAY)
    result = evaluate("spans", data, rows([[SPAN], [bare]], "id"))
    assert result["agreement"].value == 1.0


@pytest.mark.parametrize(
    ("case", "answers", "predicted"),
    [
        ("integers", [["1", "2"], ["3"]], [[1, 2], [3]]),
        ("integers", [[1, "2"], [3.0]], [[1, 2], [3]]),
        ("texts", [[1, 2], [3]], [["1", "2"], ["3"]]),
        ("booleans", ["true", "no"], [True, False]),
    ],
)
def test_answers_are_read_as_what_predictions_are(
    case: str, answers: Any, predicted: Any
) -> None:
    data = rows(answers, "uid", text="t", day=DAY)
    result = evaluate(case, data, rows(predicted, "id"))
    assert result["agreement"].value == 1.0


@pytest.mark.parametrize(
    ("case", "answer"), [("integers", "[1]"), ("integers", [2**64]), ("texts", "a")]
)
def test_an_answer_that_equals_no_prediction_is_refused(case: str, answer: Any) -> None:
    data = rows([answer], "uid", text="t", day=DAY)
    prediction = rows([["a"] if case == "texts" else [1]], "id")
    with pytest.raises(SchemaError, match=r"uid '0'\): value: must be what predi"):
        evaluate(case, data, prediction)


def test_a_huge_integer_is_an_invalid_prediction_and_no_text() -> None:
    data = rows([[1], [2]], "uid", text="t", day=DAY)
    with pytest.raises(evalkit.AlignmentError) as caught:
        evaluate("integers", data, rows([[1], [2**64]], "id"))
    text = "line 2, id '1': value: must be an integer of 64 bits, found [184467440"
    assert text in str(caught.value)


def test_an_answer_that_no_prediction_can_have_is_named() -> None:
    data = rows([[{"start": "x", "end": 3}]], "uid", text="t", day=DAY)
    with pytest.raises(
        SchemaError, match=r"\(uid '0'\): value: is no value that a predi"
    ):
        evaluate("spans", data, rows([[SPAN]], "id"))
