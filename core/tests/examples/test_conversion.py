from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit.errors import DataError, PluginContractError, PluginError
from evalkit.examples.conversion import (
    LABEL_CONVERTER,
    PRED_CONVERTER,
    find_converter,
    pred_function,
)
from evalkit.examples.table import load_examples
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind


class Row(BaseModel):
    uid: str


class Response(BaseModel):
    id: str
    label: str | None = None
    text: str | None = None


class AnyTask(evalkit.TaskIO):
    Input = Row
    Output = Response
    perf_metric = "accuracy"
    example = {"uid": "1"}


ROWS = [
    {"uid": "1", "label": "a", "length": 3, "kind": "x", "also": ["t"]},
    {"uid": 2, "label": "b", "length": None, "kind": "", "also": None},
    {"uid": "3", "label": "a", "length": 12, "kind": None, "also": ["t", "s"]},
]


def task(**members: Any) -> Bound:
    component = Component("tasks", "any", "m:T", "task-dist", "2.0")
    return bind(component, type("Task", (AnyTask,), members))


def dataset(rows: Any = ROWS, **members: Any) -> Bound:
    members = {"task": "any", "load": lambda self, split: rows, **members}
    component = Component("datasets", "rows", "m:D", "rows-dist", "1.0")
    return bind(component, type("Data", (evalkit.Dataset,), members))


def convert(
    declared: Any, rows: Any = ROWS, answer_field: str | None = None
) -> list[tuple[str, Any, list[str]]]:
    members = {} if declared is None else {LABEL_CONVERTER: declared}
    bound_task = task(answer_field=answer_field)
    found = load_examples(dataset(rows, **members), bound_task, "test")
    return found.frame.select("id", "answer", "tags").rows()


EXPECTED = [("1", "a", ["t"]), ("2", "b", []), ("3", "a", ["t", "s"])]


def by_method(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
    tags = example["also"] or []
    return {"id": example["uid"], "answer": example["label"], "tags": tags}


@pytest.mark.parametrize(
    "declared",
    [
        by_method,
        {"id": "uid", "answer": "label", "tags": "also"},
        {"answer": "label", "tags": pl.col("also")},
        {"id": pl.col("uid"), "answer": pl.col("label"), "tags": "also"},
    ],
    ids=["method", "names", "tags expression", "expressions"],
)
@pytest.mark.parametrize("make", [list, lambda rows: pl.DataFrame(rows, strict=False)])
def test_methods_and_mappings_convert_alike(declared: Any, make: Any) -> None:
    assert convert(declared, make(ROWS)) == EXPECTED


def test_facets_become_tags_but_not_of_empty_values() -> None:
    facets = {"length": "length", "kind": "kind", "first": pl.col("also").list.first()}
    found = convert({"answer": "label", "tags": facets})
    assert [tags for _, _, tags in found] == [
        ["length:3", "kind:x", "first:t"],
        [],
        ["length:12", "first:t"],
    ]


def test_a_converter_sees_ids_as_texts() -> None:
    seen: list[Any] = []

    def converter(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(example["uid"])
        return {"id": example["uid"], "answer": "a"}

    convert(converter)
    assert seen == ["1", "2", "3"]


@pytest.mark.parametrize("own", [True, False])
def test_the_data_sets_converter_wins_over_the_tasks(own: bool) -> None:
    def of_task(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": example["uid"], "answer": "of the task"}

    declared = {LABEL_CONVERTER: {"answer": "label"}} if own else {}
    bound_dataset = dataset(**declared)
    bound_task = task(**{LABEL_CONVERTER: of_task}, answer_field="text")
    found = load_examples(bound_dataset, bound_task, "test").frame["answer"]
    assert found[0] == ("a" if own else "of the task")
    owner, mapping = find_converter(LABEL_CONVERTER, bound_dataset, bound_task)
    assert owner is (bound_dataset if own else bound_task)
    assert mapping == (declared[LABEL_CONVERTER] if own else None)


@pytest.mark.parametrize(
    ("declared", "missing"),
    [
        ({"answer": "lable"}, "no example has 'lable' (the right answer, by"),
        ({"answer": "label", "tags": "tgas"}, '"tgas"'),
        ({"answer": "label", "tags": {"kind": "kinds"}}, '"kinds"'),
        ({"answer": "label", "id": "case"}, '"case"'),
    ],
)
def test_a_column_that_is_not_there_is_named_with_those_there_are(
    declared: Any, missing: str
) -> None:
    with pytest.raises(DataError) as caught:
        convert(declared)
    message = str(caught.value)
    assert message.startswith("datasets/rows (rows-dist 1.0)")
    assert all(name in message for name in ("uid", "length", "kind", "also"))
    assert missing in message


def test_a_facet_must_have_a_legal_name() -> None:
    with pytest.raises(PluginContractError) as caught:
        convert({"answer": "label", "tags": {"Kind of": "kind"}})
    expected = "datasets/rows (rows-dist 1.0): 'Kind of' is no legal name of a facet"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    "declared",
    [
        {"answer": 3},
        {"answer": "label", "tags": {"kind": 3}},
        {"answer": "label", "id": 3},
    ],
)
def test_what_is_neither_column_nor_expression_is_refused(declared: Any) -> None:
    with pytest.raises(PluginContractError) as caught:
        convert(declared)
    assert str(caught.value) == (
        "datasets/rows (rows-dist 1.0): label_field_converter declares 3, which is "
        "neither the name of a column nor a polars expression"
    )


def test_a_mapping_must_say_where_the_answer_is() -> None:
    with pytest.raises(PluginContractError) as caught:
        convert({"tags": "also"})
    assert str(caught.value) == (
        "datasets/rows (rows-dist 1.0): label_field_converter declares no column for "
        "'answer'"
    )


def failing_expression() -> pl.Expr:
    def fail(value: Any) -> Any:
        raise ZeroDivisionError("by hand")

    return pl.col("label").map_elements(fail, return_dtype=pl.String)


def test_an_expression_that_fails_is_the_plugins_error() -> None:
    with pytest.raises(PluginError) as caught:
        convert({"answer": failing_expression()})
    message = str(caught.value)
    assert message.startswith("datasets/rows (rows-dist 1.0): label_field_converter")
    assert "by hand" in message
    assert caught.value.__cause__ is not None


def other_id(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": example["label"], "answer": "a"}


def no_id(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": None, "answer": "a"}


@pytest.mark.parametrize(
    ("declared", "given_id"),
    [(other_id, "'a'"), (no_id, "None"), ({"id": "label", "answer": "label"}, "'a'")],
)
def test_a_converter_must_keep_the_id(declared: Any, given_id: str) -> None:
    with pytest.raises(PluginContractError) as caught:
        convert(declared)
    assert str(caught.value) == (
        "datasets/rows (rows-dist 1.0): label_field_converter gave the example '1' "
        f"the id {given_id}"
    )


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (
            {"cluster": "c"},
            "returned the key 'cluster' for the example '1'; it takes id, answer, tags",
        ),
        (
            {"tags": "ab"},
            "must give tags as a list of texts that are not empty, gave 'ab' for the "
            "example '1'",
        ),
        (
            {"tags": ["a", ""]},
            "must give tags as a list of texts that are not empty, gave ['a', ''] for "
            "the example '1'",
        ),
        (
            {"tags": [1]},
            "must give tags as a list of texts that are not empty, gave [1] for the "
            "example '1'",
        ),
    ],
)
def test_what_else_a_label_converter_returns_is_refused_by_name(
    returned: dict[str, Any], text: str
) -> None:
    def converter(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
        return {**by_method(self, example), **returned}

    with pytest.raises(PluginContractError) as caught:
        convert(converter)
    assert str(caught.value) == (
        f"datasets/rows (rows-dist 1.0): label_field_converter {text}"
    )


class TestPredictions:
    RESPONSE = {"id": "1", "label": "a", "text": "A."}

    def test_a_mapping_must_name_a_field_of_the_output(self) -> None:
        bound = dataset(**{PRED_CONVERTER: {"id": "id", "pred": "lable"}})
        with pytest.raises(PluginContractError) as caught:
            pred_function(bound, task())
        assert str(caught.value) == (
            "datasets/rows (rows-dist 1.0): pred_field_converter reads the field "
            "'lable', which the Output of tasks/any (task-dist 2.0) does not have"
        )

    def test_a_mapping_names_the_column(self) -> None:
        declared = {"id": "id", "pred": "text"}
        of_dataset = dataset(**{PRED_CONVERTER: declared})
        of_task = task(**{PRED_CONVERTER: declared})
        assert pred_function(of_dataset, task())(self.RESPONSE) == "A."
        assert pred_function(dataset(), of_task)(self.RESPONSE) == "A."

    def test_a_method_may_take_the_response_under_either_name_or_both(self) -> None:
        def one(self: Any, response: Mapping[str, Any]) -> dict[str, Any]:
            return {"id": response["id"], "pred": response["text"].lower()}

        def other(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
            return {"id": example["id"], "pred": example["text"].lower()}

        def both(self: Any, example: Any, response: Any) -> dict[str, Any]:
            pred = response["text"].lower() if example else None
            return {"id": response["id"], "pred": pred}

        for method in (one, other, both):
            bound = dataset(**{PRED_CONVERTER: method})
            assert pred_function(bound, task())(self.RESPONSE) == "a."

    def test_a_method_must_not_change_the_id(self) -> None:
        bound = dataset(
            **{PRED_CONVERTER: lambda self, response: {"id": "2", "pred": "a"}}
        )
        with pytest.raises(PluginContractError, match="gave the response '1' the id"):
            pred_function(bound, task())(self.RESPONSE)

    def test_a_mapping_has_no_other_keys(self) -> None:
        bound = dataset(**{LABEL_CONVERTER: {"answer": "label", "tag": "also"}})
        with pytest.raises(PluginContractError, match="has the key 'tag'; it takes id"):
            find_converter(LABEL_CONVERTER, bound, task())

    @pytest.mark.parametrize("declared", [{"id": "id"}, {"pred": pl.col("label")}])
    def test_a_mapping_must_name_a_column(self, declared: Any) -> None:
        bound = dataset(**{PRED_CONVERTER: declared})
        with pytest.raises(PluginContractError) as caught:
            pred_function(bound, task())
        assert str(caught.value) == (
            "datasets/rows (rows-dist 1.0): pred_field_converter declares no column "
            "for 'pred'"
        )
