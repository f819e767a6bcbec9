"""Models as a user names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from anyio.from_thread import start_blocking_portal

from evalkit import Registry
from evalkit.catalog import (
    Resolver,
    import_component,
    object_in_file,
    parse_reference,
)
from evalkit.errors import EvalkitError, PluginContractError, UnknownPluginError
from evalkit.plugins.sources import sha256_of
from evalkit_models_base.hookspecs import ModelKind
from evalkit_models_base.model import BoundModel, Model


@contextmanager
def told_what_is_meant(given: Any, registry: Registry) -> Iterator[None]:
    """Add to the error of a name what may have been meant by it."""
    try:
        yield
    except UnknownPluginError as error:
        meant = _meant(given, registry) if isinstance(given, str) else None
        text = str(error) if meant is None else f"{error}; {meant}"
        if without_keys(text) != text:  # nor in what it came of
            raise UnknownPluginError(without_keys(text)) from None
        raise UnknownPluginError(text) from error


def without_keys(text: str) -> str:
    """Return a text that names a model, without what may be a key in it.

    In `openai:model=m,api_key_variable=…` a user may have given the key itself.
    """
    return re.sub(r"((?:key|_variable)=)[^,'\"\s]+", r"\1…", text)


def _meant(given: str, registry: Registry) -> str | None:
    name, _, rest = given.partition(":")
    bare = rest.partition(",")[0]
    if not bare or "=" in bare or name.endswith(".py"):
        return None
    module = Path(f"{name if '/' in name else name.replace('.', '/')}.py")
    if module.is_file():
        return f"did you mean {module}:{rest}?"
    try:
        plugin = import_component(registry.select("models", name).component)
    except EvalkitError as error:
        if any(word in str(error) for word in ("did you mean", "distribution")):
            return str(error)
        return f"{error}; a function in a file is FILE.py:FUNCTION, as {module}:{rest}"
    parameters = getattr(getattr(plugin, "Parameters", None), "model_fields", {})
    needed = [each for each, field in parameters.items() if field.is_required()]
    first = next(iter([*needed, *parameters]), None)
    return None if first is None else f"did you mean {name}:{first}={rest}?"


_hands_on_calls = True  # what fails here is in a user's function


class _FunctionModel(Model):
    """A function from inputs of a task to answers."""

    def __init__(
        self, function: Callable[..., Any], name: str, file: Path | None = None
    ) -> None:
        self._function, self._name, self.file = function, name, file

    def describe(self) -> dict[str, str]:
        return {"name": self._name}

    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> Any:
        return self._function(inputs)


def bind_model(
    given: Any, registry: Registry | None = None, kind: str | None = None
) -> BoundModel:
    """Load a model.

    Args:
        given: `NAME[:KEY=VALUE,…]`, `FILE.py:FUNCTION`, `FILE.py:CLASS[:KEY=VALUE,…]`,
            a function of a list of inputs, or an instance of a model.
        registry: Where plugins are found.
        kind: What it was made for, in place of what it says: `base`, `instruct` or
            `reasoning`.

    Raises:
        EvalkitError: The kind is another one.
        PluginError: It is unknown, broken, or cannot be imported.
    """
    if kind not in (None, *get_args(ModelKind)):
        known = ", ".join(get_args(ModelKind))
        raise EvalkitError(f"model_kind must be one of {known}, got {kind!r}")
    registry = registry or Registry()
    with told_what_is_meant(given, registry):
        bound = _bound(given, Resolver(registry))
    if kind is None:
        return bound
    return replace(bound, attributes={**bound.attributes, "kind": kind})


def _bound(given: Any, resolver: Resolver) -> BoundModel:
    if isinstance(given, str):
        file, _, name = given.rpartition(":")
        if file.endswith(".py"):
            path, found = Path(file), cast("Any", object_in_file(given))
            if _is_function(found):
                label = path.stem if name == "predict" else f"{path.stem}-{name}"
                function = _FunctionModel(found, label, path)
                return _named(resolver, function, name, path.name)
    elif _is_function(given):
        name = getattr(given, "__name__", "function")
        return _named(resolver, _FunctionModel(given, name), name)
    return BoundModel.of(resolver.bind("models", given))


def _named(
    resolver: Resolver, model: _FunctionModel, name: str, file: str | None = None
) -> BoundModel:
    """Load a function, which errors call as the user does."""
    bound = BoundModel.of(resolver.bind("models", model))
    component = bound.component._replace(name=name)
    if file is not None:
        component = component._replace(distribution=file)
    return replace(bound, component=component)


def _is_function(given: Any) -> bool:
    has_hooks = any(hasattr(given, hook) for hook in ("predict", "generate", "ask"))
    return callable(given) and not isinstance(given, type) and not has_hooks


def identity_of(model: BoundModel, given: Any) -> dict[str, Any]:
    """Return what tells a model, given by a name, from others in records."""
    found: dict[str, Any] = {
        "id": model.component.id,
        "distribution": model.component.distribution,
        "parameters": dict(model.changed_parameters),
        "version": model.version,
        **({} if model.kind is None else {"kind": model.kind}),
        "describes": model.describe(),
    }
    if isinstance(given, str) and ".py:" in given:
        file, _, function = parse_reference(given).name.rpartition(":")
        path = Path(file)
        found["file_sha256"] = sha256_of(path)
        found["function"] = function
    return found


def names_of(model: BoundModel, given: Any, identity: Mapping[str, Any]) -> list[str]:
    """Return what a model is called, the most particular first."""
    named = [given] if isinstance(given, str) else []
    described = identity.get("describes", {}).get("name")
    return [*named, *([str(described)] if described else []), model.component.name]


def run_name(model: BoundModel, identity: Mapping[str, Any]) -> str:
    """Return what a model is called in runs."""
    name = str(identity["describes"].get("name") or model.component.name)
    if not any(map(str.isalnum, name)):
        raise PluginContractError(
            f"{model.component.origin}: describe: the name {name!r} has no letter or "
            "digit"
        )
    return re.sub("[:=@]+", "-", re.sub(r"^[a-z]+://", "", name))


def name_in_runs(given: Any, registry: Registry | None = None) -> str:
    """Return what a model would be called in runs, without asking it anything.

    Raises:
        PluginError: It is unknown, broken, or cannot say what it is.
    """
    model = bind_model(given, registry)
    try:
        return run_name(model, {"describes": model.describe()})
    finally:
        with start_blocking_portal() as portal:
            portal.call(model.close)
