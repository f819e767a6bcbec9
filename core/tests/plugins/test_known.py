from __future__ import annotations

from evalkit.base.names import is_component_name
from evalkit.plugins.discovery import COMMANDS, KINDS, find_components
from evalkit.plugins.known import KNOWN_DISTRIBUTIONS


def test_every_known_component_is_of_a_kind_and_in_a_distribution_of_that_kind() -> (
    None
):
    for component, distribution in KNOWN_DISTRIBUTIONS.items():
        kind, _, name = component.partition("/")
        assert kind in (*KINDS, COMMANDS)
        assert is_component_name(name)
        assert distribution.startswith(f"evalkit-{kind}-")


def test_what_is_installed_of_ours_is_known_and_where_it_is_said_to_be() -> None:
    ours = set(KNOWN_DISTRIBUTIONS.values())
    installed = {
        component.id: component.distribution
        for component in find_components().components
        if component.distribution in ours
    }
    known = {
        component: distribution
        for component, distribution in KNOWN_DISTRIBUTIONS.items()
        if distribution in installed.values()
    }
    assert installed == known
