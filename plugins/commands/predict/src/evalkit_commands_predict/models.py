"""Models as a user names them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import Model, Registry
from evalkit.catalog import BoundModel, Resolver
from evalkit.errors import PluginError

_hands_on_calls = True  # what fails here is in a user's function


class _FunctionModel(Model):
    """A function from inputs of a task to answers."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self._name = function, name

    def describe(self) -> dict[str, str]:
        return {"name": self._name}

    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> Any:
        return self._function(inputs)


def bind_model(given: Any, registry: Registry | None = None) -> BoundModel:
    """Load a model.

    Args:
        given: `NAME[:KEY=VALUE,…]`, `FILE.py:FUNCTION`, a function of a list of inputs,
            or an instance of a model.
        registry: Where plugins are found.

    Raises:
        PluginError: It is unknown, broken, or cannot be imported.
    """
    resolver = Resolver(registry or Registry())
    if isinstance(given, str):
        file, _, name = given.rpartition(":")
        if file.endswith(".py"):
            given = _FunctionModel(_function_of(Path(file), name), Path(file).stem)
    elif _is_function(given):
        given = _FunctionModel(given, getattr(given, "__name__", "function"))
    return BoundModel.of(resolver.bind("models", given))


def _is_function(given: Any) -> bool:
    hooks = ("predict", "generate", "ask")
    is_model = any(hasattr(given, hook) for hook in hooks)
    return callable(given) and not isinstance(given, type) and not is_model


def _function_of(path: Path, name: str) -> Callable[..., Any]:
    import importlib.util

    spec = importlib.util.spec_from_file_location(f"_evalkit_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PluginError(f"{path}: there is no such file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up what they are made of
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise PluginError(
            f"{path}: importing it failed with {type(error).__name__}: {error}"
        ) from error
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        raise PluginError(f"{path}: it has no function {name!r}")
    return function


def is_told_apart(model: BoundModel) -> bool:
    """Tell whether its identity says what it is.

    An object that a caller made says nothing of what it was made of, unless it
    describes itself; the replies of another one would be taken for its own.

    Args:
        model: The model.
    """
    return model.loaded_with is not None or model.has("describe")


def identity_of(model: BoundModel, given: Any) -> dict[str, Any]:
    """Return what tells a model from others: what its replies are kept by.

    Args:
        model: The model.
        given: What it was named by.
    """
    found: dict[str, Any] = {
        "id": model.component.id,
        "distribution": model.component.distribution,
        "parameters": dict(model.changed_parameters),
        "version": model.version,
        "describes": model.describe(),
    }
    if isinstance(given, str) and ".py:" in given:
        content = Path(given.rpartition(":")[0]).read_bytes()
        found["file_sha256"] = hashlib.sha256(content).hexdigest()
        found["function"] = given.rpartition(":")[2]
    return found
