import itertools
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field

import evalkit
from evalkit import hookimpl
from evalkit.errors import PluginContractError, PluginError, PluginLoadError
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import Component
from evalkit.plugins.contract import with_article
from evalkit.plugins.kinds import kind_named
from evalkit.plugins.registry import bind


class Row(BaseModel):
    uid: str


class Response(BaseModel):
    id: str


TASK = {
    "Input": Row,
    "Output": Response,
    "perf_metric": "accuracy",
    "example": {"uid": "1"},
}
PERTURBATION = {
    "families": {"robustness"},
    "version": "1",
    "label_effect": {"*": "invariant"},
    "perturb": lambda self, text, rng: text,
}
WHOLE: dict[str, dict[str, Any]] = {
    "tasks": TASK,
    "datasets": {"task": "t", "load": lambda self, split: []},
    "metrics": {"score_example": lambda self, prediction, target: 1.0},
    "perturbations": PERTURBATION,
    "observers": {"before_load": lambda self, dataset: None},
    "adapters": {"version": "1", "adapt_row": lambda self, row, number: [row]},
}
BASES: dict[str, type] = {
    "tasks": evalkit.TaskIO,
    "datasets": evalkit.Dataset,
    "metrics": evalkit.Metric,
}


def make(kind: str, *, plain: bool = False, **members: Any) -> type:
    base = object if plain else BASES.get(kind, object)
    return type("Probe", (base,), {**WHOLE[kind], **members})


def load(kind: str, what: Any, parameters: Any = None) -> Bound:
    component = Component(kind, "probe", "pkg.mod:Probe", "probe-dist", "3.2.1")
    return bind(component, what, parameters)


def problem(kind: str, what: Any) -> str:
    with pytest.raises(PluginContractError) as caught:
        load(kind, what)
    message = str(caught.value)
    head = (
        f"{kind}/probe (probe-dist 3.2.1) does not keep the contract of "
        f"{with_article(kind_named(kind).word)} (pkg.mod:Probe): "
    )
    assert message.startswith(head)
    tail = f"; `evalkit show --contract {kind}` shows the contract"
    assert message.endswith(tail)
    return message.removeprefix(head).removesuffix(tail)


@pytest.mark.parametrize("kind", BASES)
def test_a_class_need_not_inherit_the_base_class(kind: str) -> None:
    by_hand, inherited = load(kind, make(kind, plain=True)), load(kind, make(kind))
    assert by_hand.attributes == inherited.attributes
    implemented = kind_named(kind).implemented
    assert implemented(by_hand.plugin) == implemented(inherited.plugin)


class TestArguments:
    @pytest.mark.parametrize("count", range(4))
    def test_fewer_arguments_than_offered_may_be_taken_in_any_order(
        self, count: int
    ) -> None:
        for names in itertools.permutations(("prediction", "target", "fields"), count):
            scope: dict[str, Any] = {}
            body = f"return [{', '.join(names)}]"
            exec(f"def score_example({', '.join(['self', *names])}): {body}", scope)
            bound = load("metrics", make("metrics", **scope))
            function = bound.row_function("score_example")
            offered = {"prediction": "p", "target": "t", "fields": "f", "context": "c"}
            assert function(**offered) == [offered[name] for name in names]
            assert bound.arguments_of("score_example") == names
            assert bound.call("score_example", **offered) == list(
                offered[name] for name in names
            )

    def test_a_hook_without_readable_signature_is_refused(self) -> None:
        def load(self: Any, split: str) -> Any: ...

        load.__signature__ = "odd"  # type: ignore[attr-defined]
        found = problem("datasets", make("datasets", load=load))
        assert found.startswith("the signature of load cannot be read: ")


class TestHooks:
    @pytest.mark.parametrize("option", ["wrapper", "hookwrapper"])
    def test_wrappers_are_refused(self, option: str) -> None:
        @hookimpl(**{option: True})
        def wrapping(self: Any, split: str) -> Any:
            return (yield)

        found = problem("datasets", make("datasets", load=wrapping))
        assert found == "load: wrappers are not supported"

    def test_what_pluggy_refuses_is_an_error_of_the_contract(self) -> None:
        @hookimpl(wrapper=True)
        def no_generator(self: Any, split: str) -> Any:
            return []

        assert "load" in problem("datasets", make("datasets", load=no_generator))


WRONG: list[tuple[str, str, Any]] = [
    ("tasks", "Input", dict),
    ("tasks", "Output", Response(id="1")),
    ("tasks", "perf_metric", None),
    ("tasks", "eval_metrics", "accuracy"),
    ("tasks", "labels", {"a", "b"}),
    ("tasks", "answer_kind", "many"),
    ("tasks", "example", ["uid"]),
    ("datasets", "task", None),
    ("datasets", "round_id", "first"),
    ("datasets", "splits", "test"),
    ("datasets", "labels", "ab"),
    ("datasets", "version", 1.5),
    ("datasets", "sources", {"a.txt": "https://example.org"}),
    ("metrics", "bounds", (0, 1, 2)),
    ("metrics", "higher_is_better", "up"),
    ("metrics", "scale", "much"),
    ("metrics", "interval", "wald"),
    ("metrics", "merges", {"x": "product"}),
    ("metrics", "worst_value", "0 or so"),
    ("perturbations", "label_effect", {"nli": "none"}),
    ("perturbations", "version", 1),
]


class TestAttributes:
    def test_an_output_without_id_is_refused(self) -> None:
        class Named(BaseModel):
            model_config = ConfigDict(extra="allow")

            uid: str
            label: str

        found = problem("tasks", make("tasks", Output=Named))
        assert found == "its Output has no field 'id', which names the example"

    def test_an_attribute_that_cannot_be_read_is_a_failure_to_load(self) -> None:
        @property  # type: ignore[misc]
        def unit(self: Any) -> str:
            raise OSError("no disk")

        with pytest.raises(PluginLoadError) as caught:
            load("metrics", make("metrics", unit=unit))
        assert str(caught.value) == (
            "metrics/probe (probe-dist 3.2.1): checking it failed with OSError: no disk"
        )


def test_hooks_are_called_by_the_names_of_their_arguments() -> None:
    class Rows(evalkit.Metric):
        def statistics(self, context: Any, batch: pl.DataFrame) -> Any:
            return context, batch

        def finalize(self) -> str:
            return "done"

    metric = load("metrics", Rows)
    assert metric.call("statistics", batch=1, context=2) == (2, 1)
    assert metric.call("finalize", sums=1, context=2) == "done"


def test_a_failure_names_plugin_hook_and_what_it_was_called_for() -> None:
    class Rows(evalkit.Dataset):
        task = "t"

        def load(self) -> list[Any]:
            return []

        def label_field_converter(self, example: Any) -> Any:
            raise KeyError(example.pop("uid"))

        def adapt_response(self, response: Any) -> Any:
            raise LookupError("no answer")

    dataset = load("datasets", Rows)
    start = "datasets/probe (probe-dist 3.2.1): label_field_converter failed for the "
    with pytest.raises(PluginError) as caught:
        dataset.call("label_field_converter", example={"uid": "7"})
    assert str(caught.value) == f"{start}example '7' with KeyError: '7'"
    with pytest.raises(PluginError) as caught:
        dataset.call("label_field_converter", ("copy", "8"), example={"uid": "7"})
    assert str(caught.value) == f"{start}copy '8' with KeyError: '7'"
    with pytest.raises(LookupError, match="no answer"):  # how it refuses a response
        dataset.call("adapt_response", response={"id": "7"}, row=None)


class Film(BaseModel):
    uid: str
    statement: str
    messages: list[dict[str, str]] = []
    reviewer: str = Field("", alias="by")


class Verdict(BaseModel):
    id: str
    label: str
    conf: float = 1.0
    dotted: str = Field("", alias="a.b[]")


FILMS = {
    "Input": Film,
    "Output": Verdict,
    "perf_metric": "accuracy",
    "example": {"uid": "1", "statement": "x"},
    "answer_field": "label",
}


class TestNamesOfOthers:
    @pytest.mark.parametrize(
        ("attribute", "name", "hint"),
        [
            ("perturb_fields", "statment", "did you mean 'statement'?"),
            ("perturb_fields", "mesages[].content", "did you mean 'messages'?"),
            ("perturb_fields", "title", "declare it there"),
            ("verify_fields", "statemnt", "did you mean 'statement'?"),
            ("scored_fields", "confs", "did you mean 'conf'?"),
        ],
    )
    def test_a_field_that_is_named_must_exist(
        self, attribute: str, name: str, hint: str
    ) -> None:
        found = problem("tasks", make("tasks", **FILMS, **{attribute: (name,)}))
        assert found.startswith(f"its {attribute} hold {name!r}, but its ")
        assert found.endswith(hint)
