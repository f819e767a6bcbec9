"""What can be scored as it is, and what is refused by name, whichever way it comes."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import numpy as np
import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit.base.terms import AnswerKind
from evalkit.errors import DataError, PluginContractError, SchemaError
from evalkit.examples.scored_values import UnscorableError, scored_value
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry


class Asked(BaseModel):
    uid: str


class Said(BaseModel):
    id: str
    label: Any = None
    extra: Any = None


class AnyTask(evalkit.TaskIO):
    """A task whose answers may be anything."""

    Input = Asked
    Output = Said
    example = {"uid": "1"}
    answer_field = "label"
    perf_metric = "same"
    scored_fields = ("extra",)


class ListTask(AnyTask):
    answer_kind: ClassVar[AnswerKind] = "all-of"


class Same(evalkit.Metric):
    """Share of equal values; says what it got."""

    answer_kinds = ("one", "any-of", "all-of", "number")
    bounds = (0, 1)
    seen: ClassVar[list[Any]] = []

    def score_example(self, prediction: Any, target: Any) -> float:
        self.seen.append((prediction, target))
        return float(prediction == target)


COMPONENTS = tuple(
    Component("tasks", name, f"{__name__}:{kind}", "any-tasks", "1.0")
    for name, kind in (("any", "AnyTask"), ("lists", "ListTask"))
)
REGISTRY = Registry(Catalog(COMPONENTS, ()))

Rows = Sequence[Mapping[str, Any]]


def run(
    answers: Any, predictions: Any, task: str = "any", **members: Any
) -> evalkit.Result:
    """Evaluate answers and predictions, as whatever `load` and a user may give."""
    members = {"task": task, "load": lambda self, split: answers, **members}
    dataset = type("Data", (evalkit.Dataset,), members)
    Same.seen.clear()
    return evalkit.evaluate(dataset, predictions, metrics=[Same], registry=REGISTRY)


def gold(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"uid": str(n), "label": value} for n, value in enumerate(values)]


def said(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": str(n), "label": value} for n, value in enumerate(values)]


def as_dicts(rows: Rows, path: Path) -> Any:
    return list(rows)


def as_frame(rows: Rows, path: Path) -> Any:
    return pl.DataFrame(rows)


def as_json_lines(rows: Rows, path: Path) -> Any:
    found = path / f"{next(iter(rows[0]))}.jsonl"
    found.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return found


def as_parquet(rows: Rows, path: Path) -> Any:
    found = path / f"{next(iter(rows[0]))}.parquet"
    pl.DataFrame(rows).write_parquet(found)
    return found


ALL_WAYS = [as_dicts, as_frame, as_json_lines, as_parquet]
TABLES = [as_dicts, as_frame, as_parquet]


class Thing:
    """An object that JSON does not know."""


THING = f"an object of the type {__name__}.Thing"
UNSCORABLE: list[tuple[Any, str, Sequence[Callable[[Rows, Path], Any]]]] = [
    ({"a": 1}, "a dict", ALL_WAYS),
    ([{"a": 1}], "a list with a dict", ALL_WAYS),
    (b"\x89", "bytes", TABLES),
    ([b"\x89"], "a list with bytes", [as_dicts]),
    ({"a", "b"}, "a set", [as_dicts]),
    (Thing(), THING, [as_dicts]),
    ([[Thing()]], f"a list with a list with {THING}", [as_dicts]),
    (timedelta(1), "an object of the type datetime.timedelta", [as_dicts]),
    (3j, "an object of the type builtins.complex", [as_dicts]),
]
CASES = [(value, kind, way) for value, kind, ways in UNSCORABLE for way in ways]
CAN = "which cannot be scored; texts, numbers, booleans and lists of them can"


@pytest.mark.parametrize(("value", "kind", "way"), CASES)
def test_a_prediction_that_cannot_be_kept_is_refused_by_name(
    value: Any, kind: str, way: Callable[[Rows, Path], Any], tmp_path: Path
) -> None:
    predictions = way(said([value, value]), tmp_path)
    with pytest.raises(SchemaError) as caught:
        run(gold(["a", "b"]), predictions)
    assert str(caught.value) == (
        f"tasks/any (any-tasks 1.0): the response '0': label is {kind}, {CAN}; a "
        "method pred_field_converter can make one of it"
    )


@pytest.mark.parametrize(("value", "kind", "way"), CASES)
def test_an_answer_that_cannot_be_kept_is_refused_by_name(
    value: Any, kind: str, way: Callable[[Rows, Path], Any], tmp_path: Path
) -> None:
    answers = way(gold([value, value]), tmp_path)
    with pytest.raises(SchemaError) as caught:
        run(answers, said(["a", "b"]))
    message = str(caught.value)
    assert message.startswith("datasets/data (given as an object)")
    if kind.startswith("a list with a list") or "object" in kind or kind == "a set":
        assert "label" in message  # there is no column to begin with
        return
    if kind == "a list with bytes":
        assert "label: must be a value that can be stored" in message
        return
    place = "line 1" if way is as_json_lines else "example 1"
    assert (
        f"{place} (uid '0'): label: is {kind}, {CAN}; a method label_field" in message
    )


def test_equal_dicts_do_not_score_0() -> None:
    with pytest.raises(DataError, match=r"^targets\[1\] is a dict, which cannot be"):
        evalkit.score(Same, ["x", "y"], ["x", {"a": 1}])
    with pytest.raises(DataError, match=r"^predictions\[0\] is a list with bytes, whi"):
        evalkit.score(Same, [[b"x"], "y"], ["x", "y"])
    itself: list[Any] = []
    itself.append(itself)
    with pytest.raises(DataError, match=r"^predictions\[0\] is nested too deeply, whi"):
        evalkit.score(Same, [itself], ["x"])


@pytest.mark.parametrize("value", [{"a": 1}, b"x", Thing()])
def test_a_converter_that_gives_what_cannot_be_kept_is_refused(value: Any) -> None:
    def to_answer(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": example["uid"], "answer": value}

    def to_pred(self: Any, response: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": response["id"], "pred": value}

    with pytest.raises(PluginContractError) as caught:
        run(gold(["a"]), said(["a"]), label_field_converter=to_answer)
    where = "datasets/data (given as an object): label_field_converter returned as"
    assert str(caught.value).startswith(f"{where} 'answer' for the example '0' ")
    assert str(caught.value).endswith(CAN)
    with pytest.raises(PluginContractError) as caught:
        run(gold(["a"]), said(["a"]), pred_field_converter=to_pred)
    where = "datasets/data (given as an object): pred_field_converter returned as"
    assert str(caught.value).startswith(f"{where} 'pred' for the response '0' ")


class Colour(Enum):
    RED = "red"


NOON = datetime(2020, 1, 31, 12, 30, tzinfo=UTC)
MEANT = [
    (date(2020, 1, 31), "2020-01-31"),
    (NOON, "2020-01-31T12:30:00+00:00"),
    (time(12, 30), "12:30:00"),
    (Decimal("0.25"), 0.25),
    (Decimal("3"), 3),
    (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (Colour.RED, "red"),
    (np.float32(0.5), 0.5),
    (np.array([1, 2]), [1, 2]),
    (("a", date(2020, 1, 31)), ["a", "2020-01-31"]),
    (pl.Series(["a"]), ["a"]),
]


@pytest.mark.parametrize(("value", "plain"), MEANT, ids=lambda value: str(type(value)))
def test_some_values_mean_a_text_or_a_number(value: Any, plain: Any) -> None:
    found = scored_value(value)
    assert (found, type(found)) == (plain, type(plain))


@pytest.mark.parametrize("way", [as_dicts, as_frame, as_parquet])
@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (date(2020, 1, 31), "2020-01-31"),
        (time(12, 30), "12:30:00"),
        (datetime(2020, 1, 31, 12), "2020-01-31T12:00:00"),
    ],
)
@pytest.mark.slow
def test_dates_and_times_are_their_texts_on_both_sides(
    way: Callable[[Rows, Path], Any], stored: Any, text: str, tmp_path: Path
) -> None:
    for answers, predictions in (
        (way(gold([stored] * 2), tmp_path), said([text] * 2)),
        (gold([text] * 2), way(said([stored] * 2), tmp_path)),
        (way(gold([stored] * 2), tmp_path), way(said([stored] * 2), tmp_path)),
    ):
        result = run(answers, predictions)
        assert result["same"].value == 1.0
        assert Same.seen[0] == (text, text)


@pytest.mark.parametrize("way", [as_dicts, as_frame])
def test_decimals_are_numbers_on_both_sides(
    way: Callable[[Rows, Path], Any], tmp_path: Path
) -> None:
    stored = [Decimal("0.50"), Decimal("1.25")]
    answers = way(gold(stored), tmp_path)
    assert run(answers, said([0.5, 1.25]))["same"].value == 1.0
    assert Same.seen[0] == (0.5, 0.5)


LISTS: list[tuple[list[Any], list[Any]]] = [
    ([["a"], ["b", "c"]], [["a"], ["b", "c"]]),
    ([[1], [2, 3]], [[1], [2, 3]]),
    ([[0.5], [2, 3]], [[0.5], [2.0, 3.0]]),
    ([[True], [False, True]], [[True], [False, True]]),
    ([[[0, 5]], [[1, 2], [3, 4]]], [[[0, 5]], [[1, 2], [3, 4]]]),
    ([["a", 1], ["b"]], [["a", "1"], ["b"]]),
]


@pytest.mark.parametrize("way", [as_dicts, as_json_lines])
@pytest.mark.parametrize(("lists", "scored"), LISTS)
def test_lists_of_plain_values_reach_a_metric_as_lists(
    way: Callable[[Rows, Path], Any],
    lists: list[Any],
    scored: list[Any],
    tmp_path: Path,
) -> None:
    result = run(way(gold(lists), tmp_path), way(said(lists), tmp_path), task="lists")
    assert Same.seen == [(each, each) for each in scored]
    assert result["same"].value == 1.0


def test_an_answer_that_is_nan_is_lacking() -> None:
    with pytest.raises(SchemaError, match=r"example 2 \(uid '1'\): label: is required"):
        run(pl.DataFrame(gold([1.0, float("nan")])), said([1.0, 1.0]))


def test_a_scored_field_that_cannot_be_stored_is_refused_by_name() -> None:
    rows = [*said(["a"]), {"id": "1", "label": "b", "extra": Thing()}]
    with pytest.raises(SchemaError) as caught:
        run(gold(["a", "b"]), rows)
    message = str(caught.value)
    assert message.startswith(
        "tasks/any (any-tasks 1.0): line 2, id '1': field extra cannot be stored "
        f"({__name__}.Thing is not known to JSON), found <"
    )


@pytest.mark.parametrize("value", [[[1]], [[[1]]], [["a", "b"]], [[["a"]]], [[1], [2]]])
def test_lists_in_lists_are_refused_where_answers_are_single(value: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        run(gold([value]), said([value]))
    assert "example 1 (uid '0'): label: must be a single value" in str(caught.value)
    assert f"found lists in a list: {value}" in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "text"), [([["a", "b"], "c"], '["a", "b"]'), ([[1], [2]], "[1]")]
)
def test_a_list_that_is_compared_as_its_text_is_said(
    answers: list[Any], text: str
) -> None:
    predicted = [a if isinstance(a, list) else [a] for a in answers]
    result = run(gold(answers), said(predicted))
    assert result["same"].value == 0
    [notice] = result.notices
    assert notice == (
        "2 predictions given as a list where answers are single values: each is "
        f"compared as its JSON text, such as {text!r} (id '0')"
    )


@pytest.mark.parametrize(
    ("answers", "predicted", "seen"),
    [
        ([1, 2], ["1", "3"], [("1", "1"), ("3", "2")]),
        ([True, False], ["true", "x"], [("true", "true"), ("x", "false")]),
        ([1.5, 2.0], ["1.5", "x"], [("1.5", "1.5"), ("x", "2.0")]),
        (["1", "2"], [1, 3], [("1", "1"), ("3", "2")]),
        ([0.5, 1.5], [[0.5], [2.5]], [("[0.5]", "0.5"), ("[2.5]", "1.5")]),
        ([1, 2], [1.0, 3.5], [(1.0, 1), (3.5, 2)]),
    ],
)
def test_columns_of_two_types_are_compared_as_texts(
    answers: list[Any], predicted: list[Any], seen: list[Any]
) -> None:
    run(gold(answers), said(predicted))
    assert seen == Same.seen


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-400"])
def test_a_decimal_that_no_float_holds_is_refused(text: str) -> None:
    value = Decimal(text)
    with pytest.raises(SchemaError) as caught:
        run(gold([value]), said(["x"]))
    assert "(uid '0'): label: must be" in str(caught.value)
    assert "a Decimal that no float holds" in str(caught.value)
    with pytest.raises(UnscorableError, match="a Decimal that no float holds"):
        scored_value(value)


@pytest.mark.parametrize(
    ("answers", "kind"),
    [([{1}, "y"], "a set"), ([b"x", "y"], "bytes"), ([Thing()], THING)],
)
def test_answers_that_cannot_be_stored_are_named(answers: Any, kind: str) -> None:
    with pytest.raises(SchemaError) as caught:
        run(gold(answers), said(answers))
    assert "example 1 (uid '0'): label: must be" in str(caught.value)
    assert f"is {kind}: " in str(caught.value)
