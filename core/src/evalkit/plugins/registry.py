"""Loads a plugin when a command names it, and binds it to its hooks.

Every component gets a pluggy `PluginManager` of its own, so that nothing else can
answer its calls. Whatever a plugin raises while it is imported, constructed or
checked becomes an error that names the plugin, its distribution and its version.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pluggy
from pydantic import BaseModel

from evalkit.base.failures import hook_failures
from evalkit.base.names import parse_reference, score_name
from evalkit.errors import PluginContractError
from evalkit.plugins.components import Component
from evalkit.plugins.contract import (
    CONTRACTS,
    dataset_problems,
    hook_problems,
    implemented_hooks,
    implements,
    metric_problems,
    read_attributes,
    task_problems,
)
from evalkit.plugins.discovery import COMMANDS, Catalog, find_components
from evalkit.plugins.importing import import_component, load_error
from evalkit.plugins.metric import FunctionMetric
from evalkit.plugins.parameters import read_parameters
from evalkit.plugins.resolution import find_meant


class _ComponentManager(pluggy.PluginManager):
    """A manager in which a method named like a hook is that hook."""

    def __init__(self, kind: str) -> None:
        super().__init__("evalkit")
        self._kind = kind
        self.add_hookspecs(CONTRACTS[kind].spec)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if not implements(self._kind, plugin, name):
            return None
        return super().parse_hookimpl_opts(plugin, name) or {}


class Bound:
    """A loaded plugin, checked and bound to the hooks of its kind.

    Attributes:
        component: What its distribution's metadata say.
        plugin: The object.
        attributes: Checked attributes by name, with defaults filled in.
        parameters: Its parameters; None where it takes none.
        loaded_with: The values that it was loaded with by name; None for an object
            that the caller passed.
    """

    loaded_with: Mapping[str, Any] | None = None

    def __init__(
        self, component: Component, plugin: object, parameters: BaseModel | None
    ) -> None:
        self.component = component
        self.plugin = plugin
        self.parameters = parameters
        self.attributes, problems = read_attributes(component.kind, plugin)
        problems = [*hook_problems(component.kind, plugin), *problems]
        if problems:
            raise PluginContractError(_contract_message(component, plugin, problems))
        self._manager = _ComponentManager(component.kind)
        try:
            self._manager.register(plugin)
        except pluggy.PluginValidationError as error:
            message = _contract_message(component, plugin, [str(error)])
            raise PluginContractError(message) from error
        self._refuse_wrappers()

    def _refuse_wrappers(self) -> None:
        for caller in self._manager.get_hookcallers(self.plugin) or []:
            if any(impl.wrapper or impl.hookwrapper for impl in caller.get_hookimpls()):
                problem = f"{caller.name}: wrappers are not supported"
                raise PluginContractError(
                    _contract_message(self.component, self.plugin, [problem])
                )

    @property
    def hooks(self) -> Any:
        """The pluggy relay of this one plugin."""
        return self._manager.hook

    @property
    def name(self) -> str:
        """The plugin's name with those parameters that are not at their default."""
        return score_name(self.component.name, self.changed_parameters)

    @property
    def changed_parameters(self) -> Mapping[str, Any]:
        """Parameters that are not at their default, as JSON values."""
        if self.parameters is None:
            return {}
        return self.parameters.model_dump(mode="json", exclude_defaults=True)

    def has(self, hook: str) -> bool:
        """Tell whether the plugin implements a hook as a method."""
        return implements(self.component.kind, self.plugin, hook)

    def row_function(self, hook: str) -> Callable[..., Any]:
        """Give a hook that handles one row as a plain function.

        Args:
            hook: Name of an implemented hook.

        Returns:
            A function that takes any of the spec's arguments by keyword, and hands
            over those that the implementation names.
        """
        function: Callable[..., Any] = getattr(self.plugin, hook)
        names = tuple(inspect.signature(function).parameters)

        def call(**offered: Any) -> Any:
            return function(*[offered[name] for name in names])

        return call

    def arguments_of(self, hook: str) -> tuple[str, ...]:
        """Give the names of the arguments that the implementation of a hook takes."""
        return tuple(inspect.signature(getattr(self.plugin, hook)).parameters)


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

    def select(
        self,
        kind: str,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        named_by: Component | None = None,
    ) -> SelectedComponent:
        """Find the component that a user or a plugin names, without importing it.

        Args:
            kind: One of the plugin kinds, or `observers`.
            name: `NAME[@DISTRIBUTION][:KEY=VALUE,…]`.
            parameters: Further parameters, which win over those in the name.
            named_by: The plugin that gives this name, if it is not the user's. A name
                that several distributions declare is then taken from its own
                distribution, one that it requires, or the one of evalkit's own that is
                known to hold it.

        Returns:
            The component and its parameters.

        Raises:
            UnknownPluginError: There is none, there are several, or it is disabled.
        """
        reference = parse_reference(name)
        component = find_meant(self.catalog, kind, reference, named_by)
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
    if component.kind == COMMANDS:
        problem = "it is a command, which the command line alone can load"
        raise PluginContractError(f"{component.origin}: {problem}")
    bound = bind(component, import_component(component), parameters)
    bound.loaded_with = dict(parameters or {})
    return bound


def bind(
    component: Component, loaded: object, parameters: Mapping[str, Any] | None = None
) -> Bound:
    """Construct, check and bind an object that was already imported.

    Args:
        component: Its metadata.
        loaded: A class, an instance, or for metrics a function.
        parameters: Values for its `Parameters`.

    Returns:
        The bound plugin.

    Raises:
        PluginLoadError: Constructing it failed.
        PluginContractError: It does not keep its kind's contract.
    """
    plugin, built_from = _construct(component, loaded, parameters or {})
    try:
        bound = Bound(component, plugin, built_from)
    except PluginContractError:
        raise
    except hook_failures() as error:
        raise load_error(component, "checking it", error) from error
    problems = []
    if component.kind == "tasks":
        problems = task_problems(bound.attributes)
    elif component.kind == "datasets":
        problems = dataset_problems(bound.attributes)
    elif component.kind == "metrics":
        implemented = implemented_hooks(component.kind, plugin)
        problems = metric_problems(bound.attributes, implemented)
    if problems:
        raise PluginContractError(_contract_message(component, plugin, problems))
    own_name = getattr(plugin, "name", None)
    if component.kind == "datasets" and own_name not in (None, component.name):
        problem = f"its name is {own_name!r}, the entry point's {component.name!r}"
        raise PluginContractError(_contract_message(component, plugin, [problem]))
    return bound


def _construct(
    component: Component, loaded: object, parameters: Mapping[str, Any]
) -> tuple[object, BaseModel | None]:
    if inspect.isclass(loaded):
        return _build(component, loaded, parameters)
    if parameters:
        raise PluginContractError(
            f"{component.origin} takes no parameters, got {', '.join(parameters)}"
        )
    if component.kind == "metrics" and inspect.isroutine(loaded):
        return FunctionMetric(loaded), None
    if inspect.ismodule(loaded) or inspect.isroutine(loaded):
        problem = f"{component.value} is a {type(loaded).__name__}, not a class"
        raise PluginContractError(_contract_message(component, loaded, [problem]))
    own = getattr(loaded, "parameters", None)
    return loaded, own if isinstance(own, BaseModel) else None


def _build(
    component: Component, plugin_class: type, values: Mapping[str, Any]
) -> tuple[object, BaseModel | None]:
    model = getattr(plugin_class, "Parameters", None)
    takes_parameters = (
        inspect.isclass(model)
        and issubclass(model, BaseModel)
        and _accepts_argument(plugin_class)
    )
    if not takes_parameters and values:
        raise PluginContractError(
            f"{component.origin} takes no parameters, got {', '.join(values)}"
        )
    try:
        if not takes_parameters:
            return plugin_class(), None
        parameters = read_parameters(component, model, values)
        return plugin_class(parameters), parameters
    except PluginContractError:
        raise
    except hook_failures() as error:
        raise load_error(component, "constructing it", error) from error


def _accepts_argument(plugin_class: type) -> bool:
    try:
        return bool(inspect.signature(plugin_class).parameters)
    except (TypeError, ValueError):
        return False


def _contract_message(
    component: Component, plugin: object, problems: Sequence[str]
) -> str:
    word = CONTRACTS[component.kind].word
    return (
        f"{component.origin} does not keep the contract of a {word} "
        f"({component.value or type(plugin).__name__}): {'; '.join(problems)}"
    )
