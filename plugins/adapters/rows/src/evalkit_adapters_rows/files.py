"""Pipelines that are written in a file of YAML or JSON, or named."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, overload

from pydantic import BaseModel

from evalkit import Registry
from evalkit.base.violations import shorten
from evalkit.catalog import (
    import_component,
    is_component_name,
    local_file,
    parse_reference,
    refuse_unnamed_code,
)
from evalkit.errors import AdapterError, EvalkitError, UnknownPluginError
from evalkit.places import is_remote
from evalkit.plugins.registry import as_meant
from evalkit_adapters_rows.pipelines import Pipeline, joined, pipeline
from evalkit_adapters_rows.stages import DEEPEST, is_nested_too_deeply

MOST_BYTES = 1_000_000
"""How large a pipeline's file may be."""
_LIKE_JSON = {"bool": "(?i:true|false)", "int": "-?(0|[1-9][0-9]*)", "float": "[^:_]*"}
"""How YAML's values are written that mean the same in JSON, and not a text."""


def read_pipeline(path: str | Path, registry: Registry | None = None) -> Pipeline:
    """Read a pipeline from a file.

    Args:
        path: A file of JSON (`.json`) or YAML, or the URI of one: a list of adapters,
            or one adapter.
        registry: Where installed adapters are found; what is installed by default.

    Returns:
        The pipeline.

    Raises:
        AdapterError: The file cannot be read, or a stage is written wrongly.
        PluginError: An adapter is unknown or broken.
        StorageError: A URI cannot be fetched.
    """
    path = local_file(path)
    stages = read_stages(path)
    try:
        return pipeline([stages] if isinstance(stages, dict) else stages, registry)
    except AdapterError as error:
        raise AdapterError(f"{path}: {error}", field=error.field) from error
    except UnknownPluginError as error:
        raise UnknownPluginError(f"{path}: {error}") from error


PLACES = ("data", "predictions", "perturbed")
"""Where adapters may sit."""


def check_adapters(adapters: Mapping[str, Any], places: Sequence[str] = PLACES) -> None:
    """Check at which places adapters are given."""
    if not isinstance(adapters, Mapping):
        raise EvalkitError(
            f"adapters must map a place ({', '.join(places)}) to adapters, are "
            f"{shorten(adapters)}"
        )
    unknown = [place for place in adapters if place not in places]
    if unknown:
        raise EvalkitError(
            f"adapters cannot sit at {unknown[0]!r}; they can at {', '.join(places)}"
        )


@overload
def as_pipeline(given: str | Path, registry: Registry | None = None) -> Pipeline: ...


@overload
def as_pipeline(given: Any, registry: Registry | None = None) -> Pipeline | None: ...


def as_pipeline(given: Any, registry: Registry | None = None) -> Pipeline | None:
    """Return a pipeline, however it was given.

    Args:
        given: A pipeline, the path of a file, the name of an adapter with its
            configuration (`NAME[:KEY=VALUE,…]`), a list of adapters, or None.
        registry: Where installed adapters are found.

    Raises:
        AdapterError: It cannot be read, or is written wrongly.
        PluginError: An adapter is unknown or broken.
    """
    if given is None or isinstance(given, Pipeline):
        return given
    if isinstance(given, str) and _names_adapter(given):
        return named_pipeline(given, registry)
    if isinstance(given, str | Path):
        return read_pipeline(given, registry)
    return pipeline(given, registry)


def with_map(
    given: Any, mapping: Mapping[str, str] | None, registry: Registry | None = None
) -> Pipeline | None:
    """Return the adapters of a place, and what maps columns to fields after them."""
    whole: Pipeline | None = as_pipeline(given, registry)
    if not mapping:
        return whole
    if not isinstance(mapping, Mapping):
        raise AdapterError(
            f"a map must have columns by field, is {shorten(mapping)}; write "
            "{'label': 'gold'}"
        )
    stage = {"kind": "map-fields", "configuration": dict(mapping)}
    return joined(whole, pipeline([stage], registry))


def _names_adapter(given: str) -> bool:
    """Tell whether a text names an adapter, and no file."""
    name = re.split("[:@]", given, maxsplit=1)[0].strip()
    is_file = is_remote(given) or Path(given).exists()
    return is_component_name(name) and not is_file


def named_pipeline(text: str, registry: Registry | None = None) -> Pipeline:
    """Return a pipeline of one adapter that is named."""
    registry = Registry() if registry is None else registry
    reference = parse_reference(text)
    component = registry.select("adapters", text).component
    model = getattr(import_component(component), "Parameters", None)
    configuration: Mapping[str, Any] = reference.parameters
    if inspect.isclass(model) and issubclass(model, BaseModel):
        configuration = listed(model, as_meant(model, configuration))
    stage: dict[str, Any] = {"kind": text.partition(":")[0].strip()}
    if configuration:
        stage |= {"configuration": configuration}
    try:
        return pipeline([stage], registry)
    except AdapterError as error:
        raise AdapterError(f"{text}: {error.problem}", field=error.field) from error


def listed(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of which a single text for a list is a list of one."""
    found = dict(values)
    for name, value in values.items():
        field = model.model_fields.get(name)
        kinds = () if field is None else (field.annotation, *get_args(field.annotation))
        is_list = any(get_origin(kind) is list for kind in kinds)
        if is_list and isinstance(value, str):
            found[name] = [value]
    return found


def read_stages(path: str | Path) -> Any:
    """Read what a file of YAML or JSON says of stages.

    Args:
        path: The file.

    Returns:
        Values of JSON: a list of stages, or one stage.

    Raises:
        AdapterError: The file cannot be read.
        PluginLoadError: It names code that the command does not (`--plugin`).
        StorageError: A URI cannot be fetched.
    """
    path = local_file(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise AdapterError(f"{path}: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise AdapterError(f"{path}: it has more than {MOST_BYTES:,} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AdapterError(f"{path}: it is not UTF-8: {error}") from error
    try:
        found = json.loads(
            text, object_pairs_hook=_without_twins, parse_constant=_refuse
        )
    except RecursionError as error:
        raise AdapterError(f"{path}: it is nested too deeply") from error
    except ValueError as error:
        if path.suffix == ".json":
            raise AdapterError(f"{path}: it is no JSON: {error}") from error
        found = _read_yaml(path, text)
    if is_nested_too_deeply(found):
        raise AdapterError(f"{path}: it is nested deeper than {DEEPEST} levels")
    _check_values(path, found)
    if found is None:
        raise AdapterError(f"{path}: it says nothing")
    refuse_unnamed_code(path, found)
    return found


def _without_twins(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _read_yaml(path: Path, text: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise AdapterError(
            f"{path}: reading YAML needs PyYAML (pip install pyyaml); JSON does not"
        ) from error

    class Loader(yaml.SafeLoader):
        """Values of JSON only: no aliases, which could be huge, and no keys twice."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.YAMLError("an alias (*) is not possible here")
            return super().compose_node(parent, index)

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            known = _LIKE_JSON.get(node.tag.rpartition(":")[2], ".*")
            if isinstance(node.value, str) and not re.fullmatch(
                known, node.value, re.S
            ):
                raise yaml.YAMLError(
                    f"line {node.start_mark.line + 1}: {node.value} is no text in YAML;"
                    " write it in quotes, or else as JSON has it"
                )
            return super().construct_object(node, deep)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            pairs = self.construct_pairs(node, deep=True)
            return _without_twins([(_text_key(key), value) for key, value in pairs])

    Loader.add_constructor("tag:yaml.org,2002:map", Loader.construct_mapping)
    try:
        return yaml.load(text, Loader)
    except RecursionError as error:
        raise AdapterError(f"{path}: it is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        raise AdapterError(f"{path}: it is no YAML: {error}") from error
    except (AttributeError, LookupError) as error:  # as `!!int ""` and `!!bool x` do
        raise AdapterError(f"{path}: a value does not fit its YAML tag") from error


def _text_key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is no text; write it in quotes")
    return key


def _check_values(path: Path, value: Any) -> None:
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            _check_values(path, each)
    elif not (value is None or isinstance(value, str | bool | int | float)):
        raise AdapterError(
            f"{path}: {shorten(value)} is no value of JSON; write it in quotes"
        )
    elif isinstance(value, float) and not math.isfinite(value):
        raise AdapterError(f"{path}: {value} is no number of JSON")
