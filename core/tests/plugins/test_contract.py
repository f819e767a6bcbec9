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
from evalkit.plugins.contract import (
    with_article,
)
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
    "adapters": {
        "version": "1",
        "adapt_row": lambda self, row, number: [row],
    },
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
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ("self, *, split", "load: the argument 'split' is keyword-only"),
            ("self, *args", "load: '*args' gets nothing; name the arguments that are"),
            ("self, **kwargs", "load: '*kwargs' gets nothing; name the arguments that"),
            ("self, split, extra", "load: there is no argument 'extra'; the hook of"),
            ("self, spilt", "load: there is no argument 'spilt'; the hook offers: spl"),
            ("self, split, most=3", "load: there is no argument 'most'"),
        ],
    )
    def test_an_argument_that_would_get_no_value_is_refused(
        self, arguments: str, expected: str
    ) -> None:
        members: dict[str, Any] = {}
        exec(f"def load({arguments}): return []", members)
        found = problem("datasets", make("datasets", load=members["load"]))
        assert found.startswith(expected)

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
    @pytest.mark.parametrize(
        ("kind", "hook", "misspelt"),
        [
            ("datasets", "load", "laod"),
            ("datasets", "adapt_response", "adapt_respones"),
            ("tasks", "verify_response", "verify_reponse"),
            ("tasks", "label_field_converter", "label_fields_converter"),
            ("metrics", "score_example", "score_examples"),
            ("metrics", "finalize", "finalise"),
            ("metrics", "compute", "Compute"),
            ("tasks", "verify_response", "verifyResponse"),
            ("observers", "after_load", "afterload"),
        ],
    )
    def test_a_method_one_edit_from_a_hook_is_refused_with_the_hook(
        self, kind: str, hook: str, misspelt: str
    ) -> None:
        found = problem(kind, make(kind, **{misspelt: lambda self: None}))
        assert f"its method {misspelt!r} is no hook; did you mean {hook!r}?" in found
        assert "must implement one of" not in found

    @pytest.mark.parametrize(
        ("kind", "missing"),
        [
            ("datasets", "a data set must implement load"),
            (
                "metrics",
                "a metric must implement compute or score_example or score_batch or "
                "statistics and finalize or example_statistics and finalize",
            ),
            (
                "perturbations",
                "a perturbation must implement perturb or perturb_batch or find_edits "
                "or perturb_example",
            ),
        ],
    )
    def test_a_missing_hook_is_named(self, kind: str, missing: str) -> None:
        members = {
            name: value
            for name, value in WHOLE[kind].items()
            if name not in kind_named(kind).hooks
        }
        plugin = type("Probe", (BASES.get(kind, object),), members)
        assert problem(kind, plugin).startswith(f"{missing}; this is a Probe")

    @pytest.mark.parametrize(
        ("kind", "other"),
        [
            (kind, other)
            for kind in ("datasets", "metrics", "perturbations")
            for other in ("tasks", "datasets", "metrics", "perturbations")
            if kind != other
        ],
    )
    def test_a_plugin_of_another_kind_is_recognised(
        self, kind: str, other: str
    ) -> None:
        found = problem(kind, make(other))
        assert f"; this is {with_article(kind_named(other).word)}" in found

    @pytest.mark.parametrize(
        ("one", "other"), [("statistics", "finalize"), ("finalize", "statistics")]
    )
    def test_hooks_that_belong_together_are_both_needed(
        self, one: str, other: str
    ) -> None:
        plugin = type("Probe", (evalkit.Metric,), {one: lambda self, context: None})
        found = problem("metrics", plugin)
        if one == "statistics":
            assert found == f"it implements {one} but not {other}, which belongs to it"
        else:
            assert other in found

    def test_a_metric_is_written_in_one_way_only(self) -> None:
        found = problem("metrics", make("metrics", compute=lambda self: 1.0))
        expected = "it implements compute, score_example: a metric is written in one"
        assert found.startswith(expected)

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


def test_an_adapter_is_of_rows_or_of_texts() -> None:
    of_texts = {"version": "1", "extract_text": lambda self, text: text}
    assert load("adapters", type("Probe", (), of_texts))
    said = problem("adapters", make("adapters", **of_texts))
    assert "adapt_row is for rows and extract_text for texts" in said


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
    @pytest.mark.parametrize(("kind", "name", "value"), WRONG)
    def test_an_attribute_of_the_wrong_type_is_named_with_its_value(
        self, kind: str, name: str, value: Any
    ) -> None:
        found = problem(kind, make(kind, **{name: value}))
        assert f"the attribute {name!r} " in found
        assert f"found {value!r}" in found

    @pytest.mark.parametrize("value", ["accuracy", ""])
    def test_one_text_is_no_list_of_texts(self, value: str) -> None:
        found = problem("tasks", make("tasks", eval_metrics=value))
        rule = "must be a list, not one text"
        assert found == f"the attribute 'eval_metrics' {rule}, found {value!r}"

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("tasks", "Input"),
            ("tasks", "Output"),
            ("tasks", "perf_metric"),
            ("tasks", "example"),
            ("datasets", "task"),
            ("perturbations", "families"),
            ("perturbations", "version"),
            ("perturbations", "label_effect"),
        ],
    )
    def test_a_missing_attribute_is_named(self, kind: str, name: str) -> None:
        members = {key: value for key, value in WHOLE[kind].items() if key != name}
        plugin = type("Probe", (BASES.get(kind, object),), members)
        assert problem(kind, plugin) == f"the attribute {name!r} is missing"

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


def test_a_data_sets_own_name_must_be_the_entry_points() -> None:
    assert load("datasets", make("datasets", name="probe")).name == "probe"
    found = problem("datasets", make("datasets", name="other"))
    assert found == "its name is 'other', the entry point's 'probe'; make them the same"


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
        ("members", "expected"),
        [
            (
                {"default_split": "dev"},
                "its default_split 'dev' is none of its splits ",
            ),
            ({"splits": ("a", "b")}, "'test' is none of its splits ('a', 'b'); set "),
            ({"splits": ()}, "is none of its splits (none); set default_split to one "),
        ],
    )
    def test_a_default_split_must_be_a_split(
        self, members: dict[str, Any], expected: str
    ) -> None:
        assert expected in problem("datasets", make("datasets", **members))

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

    @pytest.mark.parametrize(
        ("kind", "misspelt", "meant"),
        [
            ("metrics", "higher_is_beter", "higher_is_better"),
            ("metrics", "Bounds", "bounds"),
            ("datasets", "defaultsplit", "default_split"),
            ("tasks", "perturb_field", "perturb_fields"),
            ("perturbations", "familes", "families"),
            ("metrics", "Parameter", "Parameters"),
        ],
    )
    def test_an_attribute_one_edit_from_a_known_one_is_refused(
        self, kind: str, misspelt: str, meant: str
    ) -> None:
        members = {key: value for key, value in WHOLE[kind].items() if key != meant}
        plugin = type("Probe", (BASES.get(kind, object),), {**members, misspelt: 1})
        found = problem(kind, plugin)
        assert (
            f"its attribute {misspelt!r} is read by nothing; did you mean {meant!r}? "
            "Names of your own begin with an underscore" in found
        )
