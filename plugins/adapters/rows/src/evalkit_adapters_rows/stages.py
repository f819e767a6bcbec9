"""One adapter of a pipeline, with its configuration."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, RootModel, ValidationError

from evalkit import Component, Registry
from evalkit.base.violations import from_pydantic, shorten
from evalkit.catalog import hook_failures, import_component
from evalkit.errors import AdapterError, UnknownPluginError
from evalkit.plugins.importing import load_error
from evalkit.plugins.registry import bind
from evalkit.plugins.resolver import given_component
from evalkit.reporting import describe
from evalkit_adapters_rows.bound import BoundAdapter, first_rows

DEEPEST = 100
"""How many levels of lists and dicts a configuration may have."""

_KEYS = {"kind", "configuration"}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Stage:
    """One adapter of a pipeline.

    Attributes:
        number: Its number, from 1.
        kind: As the pipeline names it.
        adapter: The adapter that is loaded.
        configuration: Its configuration with defaults, as JSON has it.
    """

    number: int
    kind: str
    adapter: BoundAdapter
    configuration: Any

    def adapt_rows(self, rows: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
        """Return what each of several rows becomes.

        Args:
            rows: Rows of one block, as they came out of the stage before.
            numbers: The number of the row that each was in the beginning.

        Raises:
            AdapterError: The adapter cannot use one; nothing says which.
            PluginError: It failed.
        """
        return self.adapter.adapt_rows(rows, numbers)

    def adapt(self, rows: Sequence[Any], number: int) -> list[Any]:
        """Adapt rows.

        Args:
            rows: The rows that one row became in the stages before.
            number: The number of that row.

        Returns:
            The rows that they become.

        Raises:
            AdapterError: The adapter cannot use one.
            PluginError: It failed.
        """
        try:
            adapt = self.adapter.adapt_row
            return first_rows(made for row in rows for made in adapt(row, number))
        except AdapterError as error:
            raise self._placed(error, number) from error

    @property
    def is_last(self) -> bool:
        """Whether no adapter may stand behind it."""
        return bool(getattr(self.adapter.plugin, "is_last", False))

    def _placed(self, error: AdapterError, row: int) -> AdapterError:
        return AdapterError(
            error.problem, field=error.field, stage=self.number, kind=self.kind, row=row
        )

    @property
    def specification(self) -> dict[str, Any]:
        """Kind, plugin and configuration, as they are recorded."""
        component = self.adapter.component
        return {
            "kind": component.name,
            "distribution": component.distribution,
            "version": self.adapter.version,
            "configuration": self.configuration,
        }


def bind_stages(
    stages: Sequence[Mapping[str, Any]], registry: Registry
) -> Iterator[Stage]:
    """Load the adapters of a pipeline."""
    if isinstance(stages, str | bytes | Mapping) or not isinstance(stages, Sequence):
        raise AdapterError(
            f"a pipeline must be a list of adapters, is {shorten(stages)}"
        )
    for number, written in enumerate(stages, start=1):
        stage = _bind_stage(number, written, registry)
        if stage.is_last and number < len(stages):
            problem = f"{stage.kind} must be the last adapter of a pipeline"
            raise AdapterError(problem, stage=number, kind=stage.kind)
        yield stage


def _bind_stage(number: int, written: Any, registry: Registry) -> Stage:
    kind = _kind_of(number, written)
    name = kind if isinstance(kind, str) else kind.__name__
    try:
        component, loaded = _find(kind, registry)
    except UnknownPluginError as error:
        raise UnknownPluginError(f"stage {number}: {error}") from error
    try:
        plugin, configuration = _build(component, loaded, written.get("configuration"))
    except AdapterError as error:
        raise AdapterError(
            error.problem, field=error.field, stage=number, kind=name
        ) from error
    bound = BoundAdapter.of(bind(component, plugin))
    if configuration is not None:
        bound = replace(bound, loaded_with={"configuration": configuration})
    return Stage(number, name, bound, configuration)


def _kind_of(number: int, written: Any) -> Any:
    if not isinstance(written, Mapping) or "kind" not in written:
        raise AdapterError(
            f"stage {number} must be an object with 'kind' and 'configuration', is "
            f"{shorten(written)}"
        )
    unknown = sorted(map(str, {*written} - _KEYS))
    if unknown:
        raise AdapterError(
            f"stage {number} has the key {unknown[0]!r}; an adapter has 'kind' and "
            "'configuration'",
            field=unknown[0],
        )
    kind = written["kind"]
    if not (isinstance(kind, str) or inspect.isclass(kind)):
        raise AdapterError(
            f"the kind of stage {number} must be the name of an adapter, is "
            f"{shorten(kind)}",
            field="kind",
        )
    return kind


def _find(kind: Any, registry: Registry) -> tuple[Component, Any]:
    if isinstance(kind, str):
        # Dyff's `TransformJSON` is the entry point `transform-json`
        name = _HUMP.sub("-", kind).lower() if kind != kind.lower() else kind
        component = registry.select("adapters", name).component
        return component, import_component(component)
    return given_component("adapters", kind), kind


def _build(component: Component, loaded: Any, configuration: Any) -> tuple[Any, Any]:
    """Return an adapter and its configuration with defaults."""
    model = getattr(loaded, "Parameters", None)
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        if configuration:
            raise AdapterError("it takes no configuration", field="configuration")
        return (loaded() if inspect.isclass(loaded) else loaded), None
    _check_json(configuration)
    settings = _read_settings(model, configuration)
    try:
        adapter = loaded(settings)
    except AdapterError:
        raise
    except hook_failures() as error:
        raise load_error(component, "constructing it", error) from error
    return adapter, settings.model_dump(mode="json")


def _check_json(configuration: Any) -> None:
    if is_nested_too_deeply(configuration):
        raise AdapterError(
            f"the configuration is nested deeper than {DEEPEST} levels",
            field="configuration",
        )
    try:
        text = json.dumps(configuration, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise AdapterError(
            f"the configuration is no JSON: {error}", field="configuration"
        ) from error


def is_nested_too_deeply(value: Any) -> bool:
    """Tell whether lists and dicts are nested deeper than `DEEPEST` levels."""
    waiting = [(value, 0)]
    while waiting:
        current, depth = waiting.pop()
        if depth > DEEPEST:
            return True
        if isinstance(current, list | dict):
            inner = current.values() if isinstance(current, dict) else current
            waiting.extend((each, depth + 1) for each in inner)
    return False


def _read_settings(model: type[BaseModel], configuration: Any) -> BaseModel:
    if configuration is None:
        if issubclass(model, RootModel):
            raise AdapterError("it needs a configuration", field="configuration")
        configuration = {}
    try:
        return model.model_validate(configuration)
    except ValidationError as error:
        found = from_pydantic(error)
        known = "" if issubclass(model, RootModel) else ", ".join(model.model_fields)
        if known and not isinstance(configuration, dict):
            raise AdapterError(
                f"the configuration must be an object with the keys {known}, is "
                f"{shorten(configuration)}",
                field="configuration",
            ) from error
        unknown = next((each for each in found if "undeclared" in each.rule), None)
        if unknown is not None:
            raise AdapterError(
                f"the configuration has no key {unknown.field!r}; it takes: "
                f"{known or 'none'}",
                field=unknown.field,
            ) from error
        raise AdapterError(
            f"the configuration is wrong: {describe(found).removeprefix('(row): ')}",
            field=found[0].field,
        ) from error
