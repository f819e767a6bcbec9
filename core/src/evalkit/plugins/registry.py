"""Loads a plugin when a command names it, and binds it to its hooks.

Whatever a plugin raises while it is imported, constructed or checked becomes an error
that names the plugin, its distribution and its version.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, ValidationError

from evalkit.base.failures import hook_failures
from evalkit.base.names import is_python_file, parse_reference
from evalkit.base.violations import REQUIRED, from_pydantic, shorten
from evalkit.base.wording import did_you_mean
from evalkit.errors import EvalkitError, PluginContractError, RequiredParameterError
from evalkit.plugins.binding import Bound
from evalkit.plugins.classes import FunctionMetric
from evalkit.plugins.components import AS_READ, DATASETS, Catalog, Component, ReadPlugin
from evalkit.plugins.contract import hook_problems, read_attributes, with_article
from evalkit.plugins.discovery import find_components
from evalkit.plugins.importing import import_object, load_error, select_read
from evalkit.plugins.kinds import Kind, kind_named
from evalkit.plugins.local_plugins import component_of_file
from evalkit.plugins.resolution import find_meant, tell_of_declared
from evalkit.plugins.sources import hash_files


class SelectedComponent(NamedTuple):
    """What a user asked for: a component and its parameters."""

    component: Component
    parameters: Mapping[str, Any]


class Registry:
    """Resolves names to components and loads them, one at a time.

    Args:
        catalog: What is installed; found when first needed by default.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = catalog

    @property
    def catalog(self) -> Catalog:
        """The components that are installed."""
        if self._catalog is None:
            self._catalog = find_components()
        return self._catalog

    def kind(self, name: str) -> Kind:
        """Return a kind of plugins, imported when it is first asked for.

        Args:
            name: Name of the kind.

        Raises:
            PluginError: No installed distribution defines it, or it is broken.
        """
        return kind_named(name, self.catalog)

    def select(
        self,
        kind: str,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        named_by: Component | None = None,
    ) -> SelectedComponent:
        """Find the component that a user or a plugin names, without importing it.

        A file of Python is run, though, and one that declares a data set is read.

        Args:
            kind: One of the plugin kinds, or `observers`.
            name: `NAME[@DISTRIBUTION][:KEY=VALUE,…]`, `FILE.py:OBJECT[:…]`, or of a
                data set what a reader reads: `FILE.yaml[:…]`, `SCHEME:TEXT[:…]`.
            parameters: Further parameters, which win over those in the name.
            named_by: The plugin that gives this name, if it is not the user's. A name
                that several distributions declare is then taken from its own
                distribution, or one that it requires. Else, and for a user, it is
                taken from the one that ships with evalkit.

        Returns:
            The component and its parameters.

        Raises:
            UnknownPluginError: There is none, there are several, or it is disabled.
        """
        if kind == DATASETS and self.catalog.reader_of(name) is not None:
            component, given = select_read(name, self.catalog)
            return SelectedComponent(component, {**given, **(parameters or {})})
        reference = parse_reference(name)
        if is_python_file(reference.name):
            component = component_of_file(kind, reference.name, self.catalog)
        else:
            self.kind(kind)
            component = find_meant(self.catalog, kind, reference, named_by)
            tell_of_declared(self.catalog, component, named_by)
        return SelectedComponent(
            component, {**reference.parameters, **(parameters or {})}
        )

    def load(
        self,
        kind: str,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        named_by: Component | None = None,
    ) -> Bound:
        """Find, import, construct, check and bind a component.

        Args:
            kind: One of the plugin kinds, or `observers`.
            name: `NAME[@DISTRIBUTION][:KEY=VALUE,…]`.
            parameters: Further parameters, which win over those in the name.
            named_by: The plugin that gives this name, if it is not the user's.

        Returns:
            The bound plugin.

        Raises:
            UnknownPluginError: There is no such plugin, or there are several.
            PluginLoadError: Importing or constructing it failed, or its metadata say
                that it would.
            PluginContractError: It does not keep its kind's contract.
        """
        choice = self.select(kind, name, parameters, named_by)
        return load_component(choice.component, choice.parameters)


def load_component(
    component: Component, parameters: Mapping[str, Any] | None = None
) -> Bound:
    """Import, construct, check and bind one component.

    Args:
        component: What to load.
        parameters: Values for its `Parameters`; texts are read as their types.

    Returns:
        The bound plugin.

    Raises:
        PluginLoadError: Importing or constructing it failed, or its metadata say
            that it would.
        PluginContractError: It does not keep its kind's contract.
    """
    kind = kind_named(component.kind)
    if kind.load is not None:
        _refuse_parameters(component, parameters or {})
        return Bound(component, kind.load(component), None, {})
    loaded = import_object(component)
    read = loaded if isinstance(loaded, ReadPlugin) else ReadPlugin("", loaded, ())
    bound = bind(component, read.plugin, parameters)
    return replace(
        bound, loaded_with=dict(parameters or {}), files=hash_files(read.files)
    )


def bind(
    component: Component, loaded: object, parameters: Mapping[str, Any] | None = None
) -> Bound:
    """Construct, check and bind an object that was already imported."""
    kind = kind_named(component.kind)
    plugin, built_from = _construct(component, loaded, parameters or {})
    try:
        attributes, problems = read_attributes(kind.name, plugin)
        problems = [*hook_problems(kind, plugin), *problems]
        if not problems and kind.check is not None:
            problems = [*kind.check(attributes, kind.implemented(plugin))]
        own_name = getattr(plugin, "name", None)
        if kind.name == "datasets" and own_name not in (None, component.name):
            problems = problems or [
                f"its name is {own_name!r}, the entry point's {component.name!r}; make "
                "them the same"
            ]
        if not problems:
            bound: type[Bound] = kind.bound or Bound
            return bound(component, plugin, built_from, attributes)
    except hook_failures() as error:
        raise load_error(component, "checking it", error) from error
    raise _contract_error(component, plugin, *problems)


def _construct(
    component: Component, loaded: object, values: Mapping[str, Any]
) -> tuple[object, BaseModel | None]:
    """Return the plugin, and the parameters that it was built from."""
    if inspect.isclass(loaded):
        return _build(component, loaded, values)
    _refuse_parameters(component, values)
    if component.kind == "metrics" and inspect.isroutine(loaded):
        function = FunctionMetric(loaded)
        if function.problems:
            raise _contract_error(component, loaded, *function.problems)
        return function, None
    if inspect.ismodule(loaded) or inspect.isroutine(loaded):
        problem = f"{component.value} is a {type(loaded).__name__}, not a class"
        raise _contract_error(component, loaded, problem)
    own = getattr(loaded, "parameters", None)
    return loaded, own if isinstance(own, BaseModel) else None


def _refuse_parameters(component: Component, values: Mapping[str, Any]) -> None:
    if values:
        raise PluginContractError(
            f"{component.origin} takes no parameters, got {', '.join(values)}"
        )


def _build(
    component: Component, plugin_class: type, values: Mapping[str, Any]
) -> tuple[object, BaseModel | None]:
    model = getattr(plugin_class, "Parameters", None)
    if model is not None and not (
        inspect.isclass(model) and issubclass(model, BaseModel)
    ):
        problem = (
            f"its Parameters is {shorten(model)}, which is no pydantic model; write "
            "`class Parameters(pydantic.BaseModel)` with a field for each parameter"
        )
        raise _contract_error(component, plugin_class, problem)
    fields = {} if model is None else model.model_fields
    try:
        first = next(iter(inspect.signature(plugin_class).parameters.values()), None)
        if fields and first is None and "Parameters" in vars(plugin_class):
            problem = (
                "it has Parameters, but its constructor takes no argument; write "
                "`def __init__(self, parameters)`"
            )
            raise _contract_error(component, plugin_class, problem)
        # an argument of another name with a default is not for parameters
        if (
            model is None
            or first is None
            or not (
                fields or first.name == "parameters" or first.default is first.empty
            )
        ):
            _refuse_parameters(component, values)
            return plugin_class(), None
        parameters = read_parameters(component, model, values)
        return plugin_class(parameters), parameters
    except PluginContractError:
        raise
    except EvalkitError as error:
        if component.own_kind or component.distribution == AS_READ:
            raise  # it names the file
        raise load_error(component, "constructing it", error) from error
    except hook_failures() as error:
        raise load_error(component, "constructing it", error) from error


def _contract_error(
    component: Component, plugin: object, *problems: str
) -> PluginContractError:
    word = with_article(kind_named(component.kind).word)
    return PluginContractError(
        f"{component.origin} does not keep the contract of {word} "
        f"({component.value or type(plugin).__name__}): {'; '.join(problems)}; "
        f"`evalkit show --contract {component.kind}` shows the contract"
    )


def read_parameters(
    component: Component, model: Any, values: Mapping[str, Any]
) -> BaseModel:
    """Build a component's parameters from what a user gave."""
    if issubclass(model, RootModel) and not values:
        raise RequiredParameterError(f"{component.origin}: it needs a configuration")
    given = as_meant(model, values)
    try:
        parameters: BaseModel = model(**given)
    except ValidationError as error:
        found = from_pydantic(error)
        is_missing = all(violation.rule == REQUIRED for violation in found)
        kind = RequiredParameterError if is_missing else PluginContractError
        problems = "; ".join(
            f"{violation.field} "
            + (
                f"is unknown (it takes: {', '.join(model.model_fields) or 'none'})"
                f"{did_you_mean(violation.field, model.model_fields)}"
                if "are forbidden" in violation.rule
                else f"{violation.rule}{_one_of(model, violation.field)}"
                if violation.rule == REQUIRED
                or model.model_config.get("hide_input_in_errors")
                else f"{violation.rule}, got {violation.value!r}"
            )
            for violation in found
        )
        raise kind(f"{component.origin}: parameter {problems}") from error
    try:
        json.dumps(parameters.model_dump(mode="json"), allow_nan=False)
    except ValueError as error:
        raise PluginContractError(
            f"{component.origin}: its parameters must be finite: {parameters!r}"
        ) from error
    return parameters


def _one_of(model: Any, name: str) -> str:
    kind = getattr(model.model_fields.get(name), "annotation", None)
    is_choice = get_origin(kind) is Literal
    return f", one of {', '.join(map(str, get_args(kind)))}" if is_choice else ""


def takes_path(model: Any, name: str) -> bool:
    """Tell whether a parameter is the path of a file or folder."""
    fields = getattr(model, "model_fields", {})
    return name in fields and _holds_path(fields[name].annotation)


def _holds_path(kind: Any) -> bool:
    if inspect.isclass(kind) and issubclass(kind, PurePath):
        return True
    return any(map(_holds_path, get_args(kind)))


def as_meant(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a user gave, with paths that were split at `/`, and lists of one."""
    return {name: _as_meant(model, name, value) for name, value in values.items()}


def _as_meant(model: type[BaseModel], name: str, value: Any) -> Any:
    """Make a text of a path that was split at `/`, and a list of a text for a list."""
    field = model.model_fields.get(name)
    is_split = isinstance(value, list) and len(value) != 1
    if field is None or not (is_split or isinstance(value, str)):
        return value
    is_union = get_origin(field.annotation) in (Union, UnionType)
    kinds = get_args(field.annotation) if is_union else (field.annotation,)
    is_text = any(kind in (str, Path) for kind in kinds)
    if isinstance(value, str):
        is_list = all((get_origin(kind) or kind) in _LISTS for kind in kinds)
        return [value] if is_list else value
    if not is_text or any(get_origin(kind) or kind is list for kind in kinds):
        return value
    return "/".join(value) if all(isinstance(item, str) for item in value) else value


_LISTS = (list, tuple, set, frozenset, Sequence, NoneType)
