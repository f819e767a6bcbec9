from collections.abc import Mapping
from typing import Annotated, Any

import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

import evalkit
from evalkit import Violation
from evalkit.base.ids import ASKING_KEYS
from evalkit.base.violations import failed_statement
from evalkit.errors import PluginContractError, PluginError
from evalkit.examples.table import load_examples
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.predictions.responses import ResponseReader

from ..mends import mend_of


class Question(BaseModel):
    uid: str
    context: str
    hint: str | None = None
    options: list[Any] | None = None


class Answer(BaseModel):
    id: str
    answer: Annotated[str, Field(min_length=1)]
    conf: Annotated[float, Field(ge=0, le=1)] | None = None


class QuestionTask(evalkit.TaskIO):
    Input = Question
    Output: type[BaseModel] = Answer
    answer_field = "answer"
    perf_metric = "accuracy"
    scored_fields = ("conf",)
    example = {"uid": "1", "context": "x"}


ROWS = [
    {"uid": 1, "context": "one two", "answer": "one", "options": [1, "x"]},
    {"uid": "b", "context": "three", "answer": "three", "secret": "s"},
]


def make_reader(
    of_task: Mapping[str, Any] | None = None, **of_dataset: Any
) -> ResponseReader:
    task_class = type("Task", (QuestionTask,), dict(of_task or {}))
    task = bind(Component("tasks", "question", "m:T", "q-dist", "2.0"), task_class)
    members = {"task": "question", "load": lambda self, split: ROWS, **of_dataset}
    dataset_class = type("Data", (evalkit.Dataset,), members)
    component = Component("datasets", "questions", "m:D", "data-dist", "1.0")
    dataset = bind(component, dataset_class)
    return ResponseReader(task, dataset, load_examples(dataset, task, "test"))


def violations(
    reader: ResponseReader, response: Mapping[str, Any], uid: str = "b"
) -> list[tuple[str, str, Any]]:
    position = {"1": 0, "b": 1}[uid]
    prediction, fields, found = reader.read({"id": uid, **response}, uid, position)
    if found:
        assert prediction is None
        assert fields == {}
    return [tuple(one) for one in found]


class TestShape:
    def test_a_valid_response_gives_prediction_and_scored_fields(self) -> None:
        reader = make_reader()
        response = {"id": "b", "answer": "x", "conf": 0.5, "more": 1}
        assert reader.read(response, "b", 1) == ("x", {"conf": 0.5}, ())
        assert reader.read({"id": "b", "answer": "x"}, "b", 1)[1] == {"conf": None}

    @pytest.mark.parametrize(
        "ids",
        [
            {"id": 1},
            {"uid": "1"},
            {"uid": 1},
            {"id": "1", "uid": "1"},
            {"id": 1, "uid": 2},
        ],
    )
    def test_the_id_is_given_as_text_under_its_name(self, ids: dict[str, Any]) -> None:
        class Exact(Answer):
            model_config = ConfigDict(extra="forbid")

        reader = make_reader({"Output": Exact})
        given = {**ids, "answer": "x"}
        assert reader.read(given, "1", 0) == ("x", {"conf": None}, ())
        assert given == {**ids, "answer": "x"}

    def test_every_broken_field_is_reported(self) -> None:
        assert violations(make_reader(), {"answer": "", "conf": 2}) == [
            ("answer", "String should have at least 1 character", ""),
            ("conf", "must be less than or equal to 1", 2),
        ]

    def test_a_missing_field_is_named(self) -> None:
        assert violations(make_reader(), {}) == [("answer", "is required", None)]

    @pytest.mark.parametrize("error", ["out of memory", "", 0, False, {"code": 1}])
    def test_an_error_that_the_model_reports_is_all_that_is_said(
        self, error: Any
    ) -> None:
        found = violations(make_reader(), {"answer": "", "error": error})
        assert found == [("error", "the model reports an error", error)]

    def test_no_error_is_none(self) -> None:
        assert violations(make_reader(), {"answer": "x", "error": None}) == []

    def test_undeclared_keys_are_known_by_those_that_are_declared(self) -> None:
        keys = {"_index_", "answer", "conf", "error", "id", "uid", *ASKING_KEYS}
        assert make_reader().declared_keys == keys

    def test_a_validator_that_fails_is_the_tasks_error(self) -> None:
        class Failing(Answer):
            @field_validator("answer")
            @classmethod
            def fail(cls, value: str) -> str:
                raise KeyError("boo")

        with pytest.raises(PluginError) as caught:
            violations(make_reader({"Output": Failing}), {"answer": "x"})
        assert str(caught.value) == (
            "tasks/question (q-dist 2.0): Output failed for the response 'b' with "
            "KeyError: 'boo'"
        )


class TestAdapter:
    @staticmethod
    def adapt(adapter: Any, response: Mapping[str, Any]) -> Any:
        return make_reader(adapt_response=adapter).adapters.adapt(response)

    def test_without_an_adapter_rows_stay(self) -> None:
        values = {"id": "b"}
        adapted, refused, _ = make_reader().adapters.adapt(values)
        assert adapted is values
        assert refused is None

    def test_the_adapted_response_counts(self) -> None:
        def adapter(self: Any, response: Mapping[str, Any]) -> dict[str, Any]:
            return {"id": response["case"], "answer": response["out"].upper()}

        response = {"case": "b", "out": "x"}
        assert self.adapt(adapter, response) == ({"id": "b", "answer": "X"}, None, None)

    @pytest.mark.parametrize(
        "error", [ValueError("no such label"), KeyError("out"), TypeError("x")]
    )
    def test_a_response_that_the_adapter_refuses_is_kept_with_the_reason(
        self, error: BaseException
    ) -> None:
        def adapter(self: Any, response: Mapping[str, Any]) -> dict[str, Any]:
            raise error

        rule = (
            "adapt_response of datasets/questions (data-dist 1.0) must accept it "
            f"({type(error).__name__}: {error})"
        )
        response, refused, _ = self.adapt(adapter, {"id": "b"})
        assert response == {"id": "b"}
        assert refused == Violation("(response)", rule)

    @pytest.mark.parametrize(
        "error",
        [
            AttributeError("lables"),
            NameError("x"),
            RecursionError("deep"),
            SystemExit("x"),
            pl.exceptions.PanicException("x"),
        ],
    )
    def test_an_adapter_that_fails_otherwise_is_the_plugins_error(
        self, error: BaseException
    ) -> None:
        def adapter(self: Any, response: Mapping[str, Any]) -> dict[str, Any]:
            raise error

        with pytest.raises(PluginError) as caught:
            self.adapt(adapter, {"id": "b"})
        assert str(caught.value) == (
            "datasets/questions (data-dist 1.0): adapt_response failed for the "
            f"response 'b' with {type(error).__name__}: {error}{mend_of(error)}; it "
            "refuses a response by a ValueError, a TypeError or a LookupError"
        )
        assert caught.value.__cause__ is error

    @pytest.mark.parametrize("result", [None, "x", [1]])
    def test_an_adapter_must_return_a_dict(self, result: Any) -> None:
        with pytest.raises(PluginContractError) as caught:
            self.adapt(lambda self, response: result, {"id": "b"})
        assert str(caught.value) == (
            "datasets/questions (data-dist 1.0): adapt_response must return a dict, "
            f"returned {result!r}"
        )

    def test_an_adapted_response_must_be_writable_as_json(self) -> None:
        _, found, _ = self.adapt(lambda self, response: {"id": "\ud800"}, {"id": "b"})
        assert found.field == "(row)"
        assert "surrogates not allowed" in found.rule


def verifying(verify: Any, **attributes: Any) -> ResponseReader:
    return make_reader({"verify_response": verify, **attributes})


class TestVerify:
    def test_it_is_given_those_arguments_that_it_names(self) -> None:
        seen: dict[str, Any] = {}

        def verify(self: Any, data: Any, labels: Any, response: Any) -> None:
            seen.update(data=dict(data), labels=labels, response=dict(response))

        reader = verifying(verify, labels=("one", "three"))
        assert violations(reader, {"answer": "x", "signed": "s"}) == []
        assert seen == {
            "data": {"uid": "b", "context": "three", "hint": None, "options": None},
            "labels": ("one", "three"),
            "response": {"id": "b", "answer": "x", "signed": "s"},
        }

    def test_it_sees_values_as_they_came_and_none_for_what_a_row_lacks(self) -> None:
        seen: list[Any] = []

        def verify(self: Any, response: Any, example: Any) -> None:
            seen.append(example)

        reader = verifying(verify)
        violations(reader, {"answer": "x"}, "1")
        assert seen == [
            {"uid": "1", "context": "one two", "hint": None, "options": [1, "x"]}
        ]

    def test_it_sees_only_the_columns_that_the_task_names(self) -> None:
        seen: list[Any] = []

        def verify(self: Any, response: Any, example: Any) -> None:
            seen.append(example)

        violations(verifying(verify, verify_fields=["secret"]), {"answer": "x"})
        violations(verifying(verify, verify_fields=()), {"answer": "x"})
        assert seen == [{"uid": "b", "secret": "s"}, {"uid": "b"}]

    def test_a_column_that_the_data_lack_is_named(self) -> None:
        def verify(self: Any, response: Any, example: Any) -> None:
            raise AssertionError

        with pytest.raises(PluginContractError) as caught:
            verifying(verify, verify_fields=["source"])
        assert str(caught.value) == (
            "tasks/question (q-dist 2.0): verify_response reads the field 'source', "
            "which the data does not have"
        )

    def test_an_assertion_is_quoted_with_its_message(self) -> None:
        def verify(self: Any, response: Mapping[str, Any]) -> None:
            if response["answer"] == "x":
                raise AssertionError("never x")

        found = violations(verifying(verify), {"answer": "x"})
        rule = '`raise AssertionError("never x")` must hold (never x)'
        assert found == [("(response)", rule, None)]

    @pytest.mark.parametrize(
        "error", [AssertionError("x"), KeyError("x"), SystemExit("x")]
    )
    def test_what_it_raises_about_a_response_of_broken_shape_adds_nothing(
        self, error: BaseException
    ) -> None:
        def verify(self: Any, response: Mapping[str, Any]) -> None:
            raise error

        found = violations(verifying(verify), {})
        assert found == [("answer", "is required", None)]

    @pytest.mark.parametrize("error", [KeyError("prob"), SystemExit("prob")])
    def test_what_it_raises_about_a_sound_response_is_the_tasks_error(
        self, error: BaseException
    ) -> None:
        def verify(self: Any, response: Mapping[str, Any]) -> None:
            raise error

        with pytest.raises(PluginError) as caught:
            violations(verifying(verify), {"answer": "x"})
        assert str(caught.value) == (
            "tasks/question (q-dist 2.0): verify_response failed for the response 'b' "
            f"with {type(error).__name__}: {error}{mend_of(error)}"
        )

    @pytest.mark.parametrize(
        "result", [True, "bad", ["bad"], [("label", "is bad", None)], {"a": 1}]
    )
    def test_what_it_returns_must_be_violations(self, result: Any) -> None:
        with pytest.raises(PluginContractError) as caught:
            violations(verifying(lambda self, response: result), {"answer": "x"})
        assert str(caught.value) == (
            "tasks/question (q-dist 2.0): verify_response must return a list of "
            f"violations or None, returned {result!r}"
        )


FRAME = pl.DataFrame(
    {"id": ["1", "b", "b"], "answer": ["x", "", "z"], "conf": [None, 0.5, 1.0]}
)


class TestColumns:
    def test_without_a_rule_of_the_task_its_fields_decide(self) -> None:
        assert make_reader().accept(FRAME).to_list() == [True, False, True]

    def test_accepted_responses_give_prediction_and_scored_fields(self) -> None:
        found = make_reader().convert(FRAME)
        assert found.to_dict(as_series=False) == {
            "prediction": ["x", "", "z"],
            "field conf": [None, 0.5, 1.0],
        }

    @pytest.mark.parametrize(
        "of_dataset",
        [
            {"adapt_response": lambda self, response: response},
            {"pred_field_converter": lambda self, response: {"id": "1", "pred": "x"}},
        ],
    )
    def test_a_data_set_that_sees_each_response_is_given_each(
        self, of_dataset: dict[str, Any]
    ) -> None:
        assert make_reader(**of_dataset).plan is None

    def test_a_task_that_verifies_only_rows_is_given_each(self) -> None:
        assert verifying(lambda self, response: []).plan is None

    def test_a_scored_field_that_no_column_holds_needs_rows(self) -> None:
        open_answer = type("Open", (Answer,), {"model_config": {"extra": "allow"}})
        members = {"Output": open_answer, "scored_fields": ("conf", "other")}
        assert make_reader(members).plan is None


class TestPrediction:
    @pytest.mark.parametrize("error", [ValueError("out"), SystemExit("out")])
    def test_a_converter_that_fails_does_not_make_a_response_invalid(
        self, error: BaseException
    ) -> None:
        def converter(self: Any, response: Mapping[str, Any]) -> dict[str, Any]:
            raise error

        reader = make_reader(pred_field_converter=converter)
        with pytest.raises(PluginError) as caught:
            violations(reader, {"answer": "x"})
        assert str(caught.value) == (
            "datasets/questions (data-dist 1.0): pred_field_converter failed for the "
            f"response 'b' with {type(error).__name__}: out{mend_of(error)}; it "
            "returns evalkit.Unparsed(reason) where a response has no answer, and "
            "verify_response is the place to refuse a response"
        )

    def test_a_converter_that_changes_its_response_changes_no_scored_field(
        self,
    ) -> None:
        def converter(self: Any, response: dict[str, Any]) -> dict[str, Any]:
            return {"id": response["id"], "pred": response.pop("conf")}

        reader = make_reader(pred_field_converter=converter)
        response = {"id": "b", "answer": "x", "conf": 0.5}
        assert reader.read(response, "b", 1) == (0.5, {"conf": 0.5}, ())

    def test_a_converter_that_returns_no_dict_is_the_data_sets_error(self) -> None:
        reader = make_reader(pred_field_converter=lambda self, response: "x")
        with pytest.raises(PluginContractError, match="must return a dict with id and"):
            violations(reader, {"answer": "x"})


def test_a_statement_over_several_lines_is_quoted_whole() -> None:
    def fail() -> None:
        # fmt: off
        raise ValueError(
            "first", "second",
        )
        # fmt: on

    with pytest.raises(ValueError, match="first") as caught:
        fail()
    expected = 'raise ValueError( "first", "second", )'
    assert failed_statement(caught.value) == expected


def test_a_statement_without_source_is_unknown() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec("1 / 0")
    assert failed_statement(caught.value) is None
    assert failed_statement(ValueError("never raised")) is None
