"""Finding the command that a user typed."""

import pytest

import evalkit
from evalkit.catalog import Catalog, Component, find_component, load_component

HELLO = Component("commands", "hello", "hello:command", "Hello_Dist", "1.0")
OTHER = HELLO._replace(distribution="other", version="2")
METRIC = HELLO._replace(kind="metrics", name="metric")


def test_a_name_finds_the_command_and_nothing_else() -> None:
    catalog = Catalog((HELLO, METRIC), ())
    assert find_component(catalog, "commands", "hello") == HELLO
    assert find_component(catalog, "commands", "hello@hello-dist") == HELLO
    for name in ("hello@other", "metric", "", "@", "hello@", "hello:x=1"):
        assert find_component(catalog, "commands", name) is None


def test_several_of_one_name_are_refused_until_one_is_picked() -> None:
    catalog = Catalog((HELLO, OTHER), ())
    assert find_component(catalog, "commands", "hello@other") == OTHER
    with pytest.raises(evalkit.UnknownPluginError) as refused:
        find_component(catalog, "commands", "hello")
    assert str(refused.value) == (
        "commands/hello is declared by several distributions: Hello_Dist 1.0, other 2. "
        "Name one as hello@Hello_Dist or hello@other"
    )


def test_a_hidden_one_is_refused_with_its_reason() -> None:
    catalog = Catalog((), (), withheld=(HELLO._replace(problem="it is hidden"),))
    with pytest.raises(evalkit.UnknownPluginError, match=r"Dist 1.0\): it is hidden$"):
        find_component(catalog, "commands", "hello")


def test_one_that_is_known_and_not_installed_names_its_distribution() -> None:
    known = {"commands/cite": frozenset({"evalkit-commands-cite"})}
    with pytest.raises(evalkit.UnknownPluginError) as refused:
        find_component(Catalog((), (), known=known), "commands", "cite")
    assert str(refused.value) == (
        "there is no command 'cite'; it is part of the distribution "
        "evalkit-commands-cite, which is not installed"
    )


def test_a_command_takes_no_parameters() -> None:
    with pytest.raises(evalkit.PluginContractError) as refused:
        load_component(HELLO, {"loud": "yes"})
    assert str(refused.value) == (
        "commands/hello (Hello_Dist 1.0) takes no parameters, got loud"
    )
