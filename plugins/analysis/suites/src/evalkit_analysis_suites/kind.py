"""The kind `suites`: trees of datasets that make one number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit import Registry
from evalkit.catalog import Component, Kind, import_component
from evalkit.errors import PluginContractError

if TYPE_CHECKING:
    from evalkit_analysis_suites.schema import Suite


class SuiteSpec:
    """A suite; `docs/suites.md` has the keys of its file."""


def read_suite(path: str | Path) -> Suite:
    """Read a suite file.

    Raises:
        SchemaError: The file cannot be read or breaks the schema. The message has a
            line for each problem, with the file, the line and the key.
    """
    from evalkit_analysis_suites.schema import Suite
    from evalkit_benchmarks_declared.reading import read_declared

    return read_declared(path, Suite)


def find_suite(reference: str, registry: Registry | None = None) -> Suite:
    """Find a suite.

    Args:
        reference: The path of a suite file, or the name of an installed suite.
        registry: Where plugins are found. Default: all that are installed.

    Raises:
        SchemaError: As for `read_suite`.
        PluginError: No suite of this name is installed.
    """
    if "." in reference or "/" in reference:
        return read_suite(reference)
    loaded: Any = (registry or Registry()).load("suites", reference).plugin
    suite: Suite = loaded
    return suite


def _load(component: Component) -> Suite:
    path = import_component(component)
    if not isinstance(path, Path):
        problem = "must name a file of the package, such as my_package:my-suite.yaml"
        raise PluginContractError(f"{component.origin}: {component.value} {problem}")
    suite = read_suite(path)
    if suite.suite != component.name:
        raise PluginContractError(f"{component.origin}: {path} is {suite.suite!r}")
    return suite


SUITES = Kind("suites", SuiteSpec, load=_load)
