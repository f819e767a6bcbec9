"""Which plugins there are, and how a name that a user types becomes one.

Public: for programs that list, choose or load plugins. Importing this module imports
no plugin and nothing heavy; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_attributes

if TYPE_CHECKING:
    from evalkit.base.failures import described, hook_failures
    from evalkit.base.names import (
        facet_of,
        is_component_name,
        metric_of,
        parse_reference,
    )
    from evalkit.examples.files import is_file_name, local_path
    from evalkit.perturbing.names import split_composition
    from evalkit.plugins.attributes import read_attributes
    from evalkit.plugins.bound import Bound, BoundMetric, BoundPerturbation, BoundTask
    from evalkit.plugins.commands import command_failure, find_command
    from evalkit.plugins.components import Component
    from evalkit.plugins.discovery import (
        COMMANDS,
        KINDS,
        OBSERVERS,
        Catalog,
        DiscoveryProblem,
        find_components,
        iter_kinds,
    )
    from evalkit.plugins.importing import import_component
    from evalkit.plugins.metric import FunctionMetric
    from evalkit.plugins.registry import Registry, load_component
    from evalkit.plugins.resolver import Resolver
    from evalkit.reading.formats import model_name

__all__ = [
    "COMMANDS",
    "KINDS",
    "OBSERVERS",
    "Bound",
    "BoundMetric",
    "BoundPerturbation",
    "BoundTask",
    "Catalog",
    "Component",
    "DiscoveryProblem",
    "FunctionMetric",
    "Registry",
    "Resolver",
    "command_failure",
    "described",
    "facet_of",
    "find_command",
    "find_components",
    "hook_failures",
    "import_component",
    "is_component_name",
    "is_file_name",
    "iter_kinds",
    "load_component",
    "local_path",
    "metric_of",
    "model_name",
    "parse_reference",
    "read_attributes",
    "split_composition",
]

__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "Bound": "plugins.bound",
        "BoundMetric": "plugins.bound",
        "BoundPerturbation": "plugins.bound",
        "BoundTask": "plugins.bound",
        "COMMANDS": "plugins.discovery",
        "Catalog": "plugins.discovery",
        "Component": "plugins.components",
        "DiscoveryProblem": "plugins.discovery",
        "FunctionMetric": "plugins.metric",
        "KINDS": "plugins.discovery",
        "OBSERVERS": "plugins.discovery",
        "Registry": "plugins.registry",
        "Resolver": "plugins.resolver",
        "command_failure": "plugins.commands",
        "described": "base.failures",
        "facet_of": "base.names",
        "find_command": "plugins.commands",
        "find_components": "plugins.discovery",
        "hook_failures": "base.failures",
        "import_component": "plugins.importing",
        "is_component_name": "base.names",
        "is_file_name": "examples.files",
        "iter_kinds": "plugins.discovery",
        "load_component": "plugins.registry",
        "local_path": "examples.files",
        "metric_of": "base.names",
        "model_name": "reading.formats",
        "parse_reference": "base.names",
        "read_attributes": "plugins.attributes",
        "split_composition": "perturbing.names",
    },
)
