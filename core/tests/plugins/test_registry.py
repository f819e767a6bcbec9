import subprocess
import sys
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit.errors import PluginContractError, UnknownPluginError
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry, bind

METRIC = """
    import evalkit

    class Length(evalkit.Metric):
        def score_example(self, prediction):
            return float(len(prediction))
"""


def component(
    name: str, distribution: str = "dist", kind: str = "metrics", version: str = "1.0"
) -> Component:
    return Component(kind, name, "pkg.mod:Object", distribution, version)


def registry(*components: Component) -> Registry:
    known = {"metrics/macro-f1": frozenset({"evalkit-metrics-classification"})}
    return Registry(Catalog(components, (), known=known))


def unknown(found: Registry, kind: str, name: str) -> str:
    with pytest.raises(UnknownPluginError) as caught:
        found.select(kind, name)
    return str(caught.value)


class TestSelecting:
    def test_parameters_given_apart_win_over_those_in_the_name(self) -> None:
        found = registry(component("f1"))
        selection = found.select("metrics", "f1:a=1,b=2", {"b": 3})
        assert selection.parameters == {"a": "1", "b": 3}

    def test_a_name_in_two_distributions_is_refused_naming_both(self) -> None:
        found = registry(component("f1", "one"), component("f1", "two", version="2"))
        assert unknown(found, "metrics", "f1") == (
            "metrics/f1 is declared by several distributions: one 1.0, two 2. Name one "
            "as f1@one or f1@two"
        )

    @pytest.mark.parametrize("spelling", ["other-dist", "Other_Dist", "OTHER.dist"])
    def test_a_distribution_picks_one_in_any_spelling(self, spelling: str) -> None:
        wanted = component("f1", "Other.Dist")
        found = registry(component("f1", "one"), wanted)
        selection = found.select("metrics", f"f1@{spelling}:a=1")
        assert selection == (wanted, {"a": "1"})

    def test_a_name_that_another_distribution_has_is_told_which(self) -> None:
        found = registry(component("f1", "one"), component("f1", "two"))
        assert unknown(found, "metrics", "f1@three") == (
            "there is no metric 'f1@three'; f1 is declared by one, two"
        )

    @pytest.mark.parametrize(
        ("installed", "kind", "name", "hint"),
        [
            (["accuracy"], "metrics", "acuracy", "did you mean accuracy?"),
            (
                ["rouge-1", "rouge-2"],
                "metrics",
                "rouge",
                "did you mean rouge-2 or rouge-1?",
            ),
            (["x", "y"], "metrics", "bleu", "installed: x, y"),
            ([], "metrics", "bleu", "no metric is installed"),
            ([], "datasets", "bleu", "no data set is installed"),
            (
                ["macro-f2"],
                "metrics",
                "macro-f1",
                "it is part of the distribution evalkit-metrics-classification, "
                "which is not installed",
            ),
        ],
    )
    def test_an_unknown_name_comes_with_the_best_hint(
        self, installed: list[str], kind: str, name: str, hint: str
    ) -> None:
        found = registry(*[component(one, kind=kind) for one in installed])
        word = {"metrics": "metric", "datasets": "data set"}[kind]
        assert unknown(found, kind, name) == f"there is no {word} {name!r}; {hint}"


class TestLoading:
    def test_an_installed_plugin_is_imported_built_and_bound(
        self, fake_distribution: Any
    ) -> None:
        fake = fake_distribution(
            METRIC, {"evalkit.metrics": {"size": "Length"}}, name="len-dist"
        )
        found = Registry()
        assert found.catalog.components
        assert fake.module not in sys.modules
        bound = found.load("metrics", "size")
        assert fake.module in sys.modules
        assert bound.component.origin == "metrics/size (len-dist 1.2.3)"
        assert bound.row_function("score_example")(prediction="abc", target="") == 3.0

    @pytest.mark.parametrize("step", ["import", "construct", "check"])
    def test_an_interrupt_is_no_failure_of_the_plugin(
        self, fake_distribution: Any, step: str
    ) -> None:
        code = f"""
        step = {step!r}
        if step == "import":
            raise KeyboardInterrupt

        class Slow:
            def __init__(self):
                if step == "construct":
                    raise KeyboardInterrupt

            @property
            def unit(self):
                raise KeyboardInterrupt
        """
        fake_distribution(code, {"evalkit.metrics": {"slow": "Slow"}})
        with pytest.raises(KeyboardInterrupt):
            Registry().load("metrics", "slow")


def called(bound: Any, predictions: list[Any], targets: list[Any]) -> Any:
    return bound.call(
        "compute", predictions=predictions, targets=targets, fields={}, context=None
    )


class TestFunctions:
    def test_a_plain_function_is_a_metric(self) -> None:
        @evalkit.metric(unit="%", bounds=(0, 1), higher_is_better=True, scale=100)
        def get_agreement(predictions: list[Any], targets: list[Any]) -> float:
            return float(predictions == targets)

        bound = bind(component("agreement"), get_agreement)
        assert called(bound, [1], [1]) == 1.0
        assert bound.attributes["unit"] == "%"
        assert bound.attributes["bounds"] == (0, 1)
        assert bound.attributes["higher_is_better"] is True
        assert bound.attributes["scale"] == 100.0
        assert bound.parameters is None
        assert bound.name == "agreement"


class Tuned(evalkit.Metric):
    class Parameters(evalkit.Parameters):
        labels: str = "gold"
        beta: float = 1.0
        only: list[str] = []

    def score_example(self) -> float:
        return 1.0


def refused(what: Any, **values: Any) -> str:
    with pytest.raises(PluginContractError) as caught:
        bind(component("tuned"), what, values)
    return str(caught.value)


class TestParameters:
    def test_texts_are_read_as_their_types(self) -> None:
        bound = bind(component("tuned"), Tuned, {"beta": "2", "only": ["a", "b"]})
        assert bound.parameters == Tuned.Parameters(beta=2.0, only=["a", "b"])
        assert bound.plugin.parameters == bound.parameters  # type: ignore[attr-defined]

    def test_a_wrong_value_names_parameter_rule_and_value(self) -> None:
        assert refused(Tuned, beta="much") == (
            "metrics/tuned (dist 1.0): parameter beta must be a valid number, unable "
            "to parse string as a number, got 'much'"
        )

    def test_an_unknown_parameter_is_told_those_there_are(self) -> None:
        assert refused(Tuned, gamma=1) == (
            "metrics/tuned (dist 1.0): parameter gamma is unknown (it takes: labels, "
            "beta, only)"
        )

    def test_a_path_is_not_split_like_a_list(self) -> None:
        class Reader(Tuned):
            class Parameters(evalkit.Parameters):
                path: str | None = None
                labels: str | list[str] = "all"

        given = {"path": ["", "a", "b.tsv"], "labels": ["x", "y"]}
        parameters = bind(component("tuned"), Reader, given).parameters
        assert parameters == Reader.Parameters(path="/a/b.tsv", labels=["x", "y"])

    @pytest.mark.parametrize("kind", [list[str], tuple[str, ...], set[str] | None])
    def test_a_single_text_is_a_list_of_one(self, kind: Any) -> None:
        class Listing(Tuned):
            Parameters = pydantic.create_model(
                "Parameters", __base__=evalkit.Parameters, only=(kind, ...)
            )

        bound = bind(component("tuned"), Listing, {"only": "not sure"})
        assert [*bound.parameters.only] == ["not sure"]  # type: ignore[union-attr]
        assert bound.name == "tuned:only=not sure"

    def test_a_missing_parameter_is_named(self) -> None:
        class Needy(Tuned):
            class Parameters(evalkit.Parameters):
                k: int

        assert refused(Needy).endswith("parameter k is required")
        assert bind(component("needy"), Needy, {"k": "3"}).name == "needy:k=3"

    def test_a_component_without_parameters_takes_none(self) -> None:
        class Plain(evalkit.Metric):
            def score_example(self) -> float:
                return 1.0

        assert "parameter a is unknown (it takes: none)" in refused(Plain, a=1)

    def test_a_class_whose_constructor_takes_none_is_given_none(self) -> None:
        class Bare(Tuned):
            def __init__(self) -> None:
                self.made = True

            def score_example(self) -> float:
                return 1.0

        bound = bind(component("bare"), Bare)
        assert bound.parameters is None
        assert bound.changed_parameters == {}
        assert refused(Bare, a=1).endswith("takes no parameters, got a")

    @pytest.mark.parametrize(
        ("parameters", "expected"),
        [
            ("none", "its Parameters is 'none', which is no pydantic model; write"),
            (NamedTuple("Parts", [("k", int)]), "which is no pydantic model; write"),
            (
                Tuned.Parameters,
                "it has Parameters, but its constructor takes no argument; write "
                "`def __init__(self, parameters)`",
            ),
        ],
    )
    def test_parameters_that_would_get_no_value_are_refused(
        self, parameters: Any, expected: str
    ) -> None:
        class Bare:
            Parameters = parameters

            def __init__(self) -> None:
                self.made = True

            def score_example(self) -> float:
                return 1.0

        assert expected in refused(Bare)

    def test_a_default_of_its_own_stays_where_there_are_no_parameters(self) -> None:
        class Half(evalkit.Metric):
            def __init__(self, value: float = 0.5) -> None:
                self.value = value

            def score_example(self) -> float:
                return self.value

        bound = bind(component("half"), Half)
        assert bound.plugin.value == 0.5
        assert refused(Half, value=1).endswith("takes no parameters, got value")

    @given(st.floats(0.5, 9), st.lists(st.sampled_from("abc"), min_size=2, max_size=3))
    def test_a_bounds_name_selects_the_same_parameters_again(
        self, beta: float, only: list[str]
    ) -> None:
        found = registry(component("tuned"))
        bound = bind(component("tuned"), Tuned, {"beta": beta, "only": only})
        again = found.select("metrics", bound.name)
        rebound = bind(again.component, Tuned, again.parameters)
        assert rebound.parameters == bound.parameters


def test_two_plugins_of_one_class_do_not_share_calls() -> None:
    class Named(evalkit.Dataset):
        task = "t"

        def __init__(self, word: str) -> None:
            super().__init__()
            self.word = word

        def load(self, split: str) -> Any:
            return self.word

    bounds: list[Bound] = [
        bind(component("named", kind="datasets"), Named(word)) for word in "ab"
    ]
    assert [
        bound.call("load", split="", columns=None, limit=None) for bound in bounds
    ] == ["a", "b"]


def test_asking_for_a_component_imports_no_plugin_but_the_one_named(
    fake_distribution: Any,
) -> None:
    hostile = fake_distribution(
        "raise SystemExit('imported')",
        {"evalkit.metrics": {"hostile": "M"}, "evalkit.datasets": {"evil": "D"}},
    )
    fake_distribution(METRIC, {"evalkit.metrics": {"sound": "Length"}})
    code = (
        "import sys; from evalkit import Registry; r = Registry();"
        "r.load('metrics', 'sound');"
        "assert r.select('metrics', 'hostile');"
        f"print({hostile.module!r} in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
