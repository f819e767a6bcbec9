"""A package from outside that defines a kind of plugins, a command and a name."""

import json
from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

import pytest

import evalkit
from evalkit import PluginError, Registry
from evalkit.catalog import kind_named
from evalkit_testing.import_survey import _built

CODE = '''
import click

import evalkit
from evalkit.catalog import Kind
from evalkit.hookspecs import hookspec


class PlannerAttributes:
    """Attributes of a planner."""

    version: str
    """Increment it whenever the same examples get another plan."""


class PlannerSpec:
    """Hooks of a planner, which chooses the examples to ask first."""

    @hookspec(firstresult=True)
    def plan(self, uids):
        """Return the ids in the order in which they are asked."""


def at_least_one(attributes, hooks):
    return [] if attributes["version"] else ["its version is empty"]


PLANNERS = Kind(
    "planners", PlannerSpec, PlannerAttributes, ways=(("plan",),), check=at_least_one
)


class Backwards:
    """Asks the last examples first."""

    version = "1"

    class Parameters(evalkit.Parameters):
        step: int = 1
        """How many examples are skipped."""

    def __init__(self, parameters):
        self.parameters = parameters

    def plan(self, uids):
        return uids[::-self.parameters.step]


class Wrong:
    """Does not plan."""

    version = ""


@click.command("greet")
def greet():
    """Greet somebody."""
    click.echo("hello")


def greeting():
    return "good morning"
'''
ENTRY_POINTS = {
    "evalkit.kinds": {"planners": "PLANNERS"},
    "evalkit.planners": {"backwards": "Backwards"},
    "evalkit.commands": {"greet": "greet"},
    "evalkit.names": {"greeting": "greeting"},
}

Install = Callable[..., Any]
Run = Callable[..., CompletedProcess[str]]


def test_a_plugin_of_the_kind_is_bound_with_parameters_and_called(
    fake_distribution: Install,
) -> None:
    fake_distribution(CODE, ENTRY_POINTS)
    bound = Registry().load("planners", "backwards:step=2")
    assert bound.name == "backwards:step=2"
    assert bound.attributes == {"version": "1"}
    assert bound.call("plan", uids=["a", "b", "c"]) == ["c", "a"]
    assert _built(bound.component, None) is None  # the kit loads it


@pytest.mark.slow
def test_the_command_line_knows_the_kind(
    fake_distribution: Install, run_evalkit: Run
) -> None:
    fake_distribution(CODE, ENTRY_POINTS, name="plans")
    assert run_evalkit("list", "planner").stdout == (
        "planners/backwards  Asks the last examples first\n"
    )
    assert "\nplanners/backwards " in run_evalkit("list").stdout
    card = run_evalkit("show", "planners/backwards").stdout
    assert "Asks the last examples first" in card
    assert "step" in card
    contract = json.loads(
        run_evalkit("show", "--contract", "planners", "--json").stdout
    )
    assert contract["word"] == "planner"
    assert [hook["name"] for hook in contract["hooks"]] == ["plan"]
    checked = run_evalkit("list", "planners", "--check").stdout
    assert checked.startswith("ok      planners/backwards (plans 1.2.3)")
    completed = run_evalkit("greet")
    assert completed.stdout == "hello\n"


def test_a_plugin_that_breaks_the_contract_of_the_kind_is_named(
    fake_distribution: Install,
) -> None:
    fake_distribution(CODE, {**ENTRY_POINTS, "evalkit.planners": {"no": "Wrong"}})
    with pytest.raises(PluginError, match="a planner must implement plan"):
        Registry().load("planners", "no")


def test_a_hidden_kind_is_listed_only_when_it_is_named(
    fake_distribution: Install, run_evalkit: Run
) -> None:
    kinds = {"planners": "PLANNERS [hidden]"}
    fake_distribution(CODE, {**ENTRY_POINTS, "evalkit.kinds": kinds})
    assert "planners/" not in run_evalkit("list").stdout
    assert "planners/backwards" in run_evalkit("list", "planners").stdout


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("PLANNERS = 3", "must be an evalkit.Kind, got an object of the type int"),
        ("raise SystemExit(3)", "importing .* failed with SystemExit: 3"),
        (CODE.replace('"planners"', '"others"'), "is the kind 'others'"),
    ],
)
def test_a_broken_kind_is_named(
    fake_distribution: Install, code: str, rule: str
) -> None:
    fake_distribution(code, ENTRY_POINTS, name="broken")
    registry = Registry()
    with pytest.raises(PluginError, match=rf"kinds/planners \(broken 1.2.3\).*{rule}"):
        registry.load("planners", "backwards")
    assert registry.kind("metrics").word == "metric"


def test_nobody_may_define_a_kind_of_core_or_the_kind_of_another(
    fake_distribution: Install, run_evalkit: Run
) -> None:
    for name in ("one", "two"):
        kinds = {"planners": "PLANNERS", "metrics": "PLANNERS"}
        fake_distribution(CODE, {**ENTRY_POINTS, "evalkit.kinds": kinds}, name=name)
    registry = Registry()
    problems = [problem.text for problem in registry.catalog.problems]
    assert any("kinds/metrics: evalkit defines this kind" in each for each in problems)
    with pytest.raises(PluginError, match="'planners' is declared by one and two"):
        registry.load("planners", "backwards")
    assert kind_named("metrics", registry.catalog).word == "metric"


def test_an_unknown_kind_names_those_that_are_installed() -> None:
    with pytest.raises(PluginError, match=r"kind of plugins 'plans'.*: tasks, "):
        Registry().load("plans", "backwards")


def test_a_name_is_imported_when_it_is_used(fake_distribution: Install) -> None:
    fake_distribution(CODE, ENTRY_POINTS, name="one")
    greeting = getattr(evalkit, "greeting")  # noqa: B009 - type checkers do not see it
    assert greeting() == "good morning"
    fake_distribution(CODE, ENTRY_POINTS, name="two")
    with pytest.raises(PluginError, match="'greeting' is declared by one and two"):
        evalkit.greeting  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'farewell'"):
        evalkit.farewell  # noqa: B018
