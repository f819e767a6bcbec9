from typing import Any

import pytest
from pydantic import BaseModel

import evalkit
from evalkit.errors import PluginContractError, PluginLoadError, UnknownPluginError
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry, bind
from evalkit.plugins.resolver import Resolver, name_of


class Row(BaseModel):
    uid: str


class Response(BaseModel):
    id: str
    label: str = ""


class AnyTask(evalkit.TaskIO):
    Input = Row
    Output = Response
    answer_field = "label"
    perf_metric = "main:beta=2"
    eval_metrics = ("second",)
    example = {"uid": "1"}


class Tuned(evalkit.Metric):
    class Parameters(evalkit.Parameters):
        beta: float = 1.0

    def score_example(self) -> float:
        return 1.0


def get_third(predictions: list[Any], targets: list[Any]) -> float:
    return 0.0


INSTALLED = [
    ("tasks", "any", "AnyTask", "d"),
    ("metrics", "main", "Tuned", "d"),
    ("metrics", "second", "Tuned", "d"),
    ("metrics", "third", "get_third", "d"),
    ("metrics", "twice", "Tuned", "one"),
    ("metrics", "twice", "Tuned", "two"),
]


@pytest.fixture
def resolver() -> Resolver:
    components = [
        Component(kind, name, f"{__name__}:{target}", distribution, "1")
        for kind, name, target, distribution in INSTALLED
    ]
    return Resolver(Registry(Catalog(tuple(components), ())))


class Rows(evalkit.Dataset):
    task = "any"

    def load(self, split: str) -> list[Any]:
        return []


def names(
    resolver: Resolver, chosen: Any = None, extra: Any = (), **of_dataset: Any
) -> list[str]:
    dataset = resolver.dataset(type("Rows", (Rows,), of_dataset))
    bound = resolver.metrics(dataset, resolver.task(dataset), chosen, extra)
    return [metric.name for metric in bound]


class TestBinding:
    @pytest.mark.parametrize("make", [lambda: Tuned, Tuned])
    def test_an_object_is_bound_with_where_it_was_written(
        self, resolver: Resolver, make: Any
    ) -> None:
        bound = resolver.bind("metrics", make())
        assert bound.component == Component(
            "metrics", "tuned", f"{__name__}:Tuned", "given as an object", "0"
        )

    def test_what_is_bound_stays(self, resolver: Resolver) -> None:
        bound: Bound = bind(Component("metrics", "x", "", "d", "1"), Tuned)
        assert resolver.bind("metrics", bound) is bound

    def test_an_unknown_task_names_the_data_set(self, resolver: Resolver) -> None:
        dataset = resolver.dataset(type("Rows", (Rows,), {"task": "anny"}))
        with pytest.raises(UnknownPluginError) as caught:
            resolver.task(dataset)
        assert str(caught.value) == (
            "datasets/rows (given as an object) is of the task 'anny': there is no "
            "task 'anny'; did you mean any?"
        )


class TestMetrics:
    def test_a_data_sets_own_win(self, resolver: Resolver) -> None:
        assert names(resolver, perf_metric="second", eval_metrics=["third"]) == [
            "second",
            "third",
        ]
        assert names(resolver, perf_metric="third") == ["third", "second"]
        assert names(resolver, eval_metrics=()) == ["main:beta=2.0"]

    def test_chosen_ones_replace_them_and_extra_ones_join(
        self, resolver: Resolver
    ) -> None:
        assert names(resolver, ["third"]) == ["third"]
        assert names(resolver, None, ["third"]) == ["main:beta=2.0", "second", "third"]
        assert names(resolver, ["third"], [Tuned]) == ["third", "tuned"]

    def test_the_headline_comes_first_whatever_its_parameters(
        self, resolver: Resolver
    ) -> None:
        assert names(resolver, ["third", "second", "main"]) == [
            "main",
            "third",
            "second",
        ]

    def test_a_metric_named_twice_is_computed_once(self, resolver: Resolver) -> None:
        chosen = ["third", "main:beta=2", "third", "main:beta=2.0", "main"]
        assert names(resolver, chosen) == ["main:beta=2.0", "main", "third"]
        assert names(resolver, [Tuned], [Tuned]) == ["tuned"]

    @pytest.mark.parametrize(
        ("chosen", "owners"),
        [
            (["twice@one", "twice@two"], ["Tuned (one)", "Tuned (two)"]),
            (["third", get_third], ["get_third (d)", "get_third (given as an object)"]),
        ],
    )
    def test_two_metrics_of_one_name_are_refused_naming_both(
        self, resolver: Resolver, chosen: list[Any], owners: list[str]
    ) -> None:
        with pytest.raises(PluginContractError) as caught:
            names(resolver, chosen)
        message = str(caught.value)
        assert message.startswith("two metrics are called ")
        assert "their scores could not be told apart" in message
        for owner in owners:
            assert owner in message

    def test_no_metric_is_refused(self, resolver: Resolver) -> None:
        with pytest.raises(UnknownPluginError, match="no metric was named"):
            names(resolver, [])


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        (lambda predictions, targets: 0.0, "'<lambda>'"),
        (type("Bad", (), {"name": "Not Legal"}), "'Not Legal'"),
        (type("Größe", (), {}), "'größe'"),
    ],
)
def test_a_name_that_is_not_legal_is_refused(what: Any, shown: str) -> None:
    with pytest.raises(PluginContractError) as caught:
        name_of(what)
    assert str(caught.value) == f"{shown} is not a legal name for a plugin"


def test_an_object_that_fails_when_it_is_asked_for_its_name_is_named() -> None:
    class Evil:
        def __getattr__(self, name: str) -> Any:
            raise OSError(name)

    with pytest.raises(PluginLoadError, match=r"Evil object .* OSError: name"):
        name_of(Evil())
