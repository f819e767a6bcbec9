"""A plugin is imported only if its distribution is for this evalkit-core."""

from typing import Any

import pytest

import evalkit
from evalkit.errors import PluginLoadError
from evalkit.plugins.components import Component, required_distribution
from evalkit.plugins.importing import import_component

RUNNING = evalkit.__version__


def component(*requires: str) -> Component:
    return Component("metrics", "m", "json:dumps", "some-dist", "1", "", requires)


@pytest.mark.parametrize(
    "requirement",
    [
        "evalkit-core",
        "evalkit-core ()",
        f"evalkit-core (>={RUNNING},<99)",
        f"evalkit-core[fast]=={RUNNING}",
        "evalkit-core @ file:///somewhere",
        'evalkit-core>=99; extra == "new"',
        'evalkit-core>=99; python_version < "3"',
        "evalkit-core-extras>=99",
        "evalkit-corelib>=99",
        "not-evalkit-core>=99",
        "(((",
    ],
)
def test_what_admits_the_running_core_is_imported(requirement: str) -> None:
    assert callable(import_component(component(requirement)))


@pytest.mark.parametrize(
    "requirement",
    [
        "evalkit-core<0.0.1",
        "Evalkit_Core >= 99",
        "EVALKIT.core (>=99)",
        "evalkit-core~=99.0",
        'evalkit-core>=99; python_version >= "3"',
    ],
)
def test_what_excludes_it_says_range_version_and_what_to_do(requirement: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        import_component(component("polars", f"evalkit-core=={RUNNING}", requirement))
    assert str(caught.value) == (
        f"metrics/m (some-dist 1): it requires {requirement!r}, but evalkit-core "
        f"{RUNNING} is running; upgrade the plugin or evalkit-core, whichever is older"
    )


@pytest.mark.parametrize(
    "requirement", ["evalkit-core >=", "evalkit-core>=one", "evalkit-core>=0.1; no"]
)
def test_a_requirement_that_cannot_be_read_is_refused(requirement: str) -> None:
    with pytest.raises(PluginLoadError, match=r"its requirement .* cannot be read: "):
        import_component(component(requirement))


def test_an_installed_distribution_is_compared(fake_distribution: Any) -> None:
    fake = fake_distribution("M = 1", {"evalkit.metrics": {"far": "M"}}, "far-dist")
    [info] = fake.folder.glob("*.dist-info")
    with (info / "METADATA").open("a", encoding="utf-8") as file:
        file.write("Requires-Dist: evalkit-core>=99\n")
    with pytest.raises(
        PluginLoadError, match=r"far-dist 1\.2\.3.* is running; upgrade"
    ):
        evalkit.Registry().load("metrics", "far")


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("evalkit-core<0.2,>=0.1", "evalkit-core"),
        ("Some_Dist.x [extra] ; python_version < '3'", "some-dist-x"),
        ("a@ https://b", "a"),
        ("a(>1)", "a"),
        ("(a)", ""),
        ("", ""),
    ],
)
def test_a_requirement_is_about_the_distribution_it_begins_with(
    requirement: str, name: str
) -> None:
    assert required_distribution(requirement) == name
