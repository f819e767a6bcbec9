"""Which plugins a file of Python defines, as far as its text tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evalkit.catalog import is_component_name

Defined = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

_BASES = {
    "Annotator": "annotators",
    "BaseTaskIO": "tasks",
    "Dataset": "datasets",
    "Metric": "metrics",
    "Model": "models",
    "Perturbation": "perturbations",
    "TaskIO": "tasks",
}
"""Classes of evalkit, and the kind of what inherits from them."""


@dataclass(frozen=True)
class DefinedPlugin:
    """A plugin in a file.

    Attributes:
        kind: Its kind, such as `metrics`.
        name: What users type, as `--plugin` would have it.
        target: Its class or function.
    """

    kind: str
    name: str
    target: str


def defined_in(tree: ast.Module) -> dict[str, Defined]:
    """Return the classes and functions at the top of a file, by name."""
    return {each.name: each for each in tree.body if isinstance(each, Defined)}


def plugins_in(tree: ast.Module) -> Iterator[DefinedPlugin]:
    """Yield what a file says to be a plugin, by a base class, `get_` or a decorator.

    Adapters and observers have no base class, so that they are not known;
    what others of the file inherit from is none, nor is what begins with an underscore.
    """
    defined = defined_in(tree)
    inherited = {
        name
        for each in defined.values()
        if isinstance(each, ast.ClassDef)
        for name in map(_last_name, each.bases)
    }
    ours = _imported_names(tree)
    for name, each in defined.items():
        kind = _kind(each, defined, ours)
        if kind and name not in inherited and not name.startswith("_"):
            yield DefinedPlugin(kind, _component_name(each), name)


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Return what names in a file mean of evalkit: `evalkit` itself, or a class."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name == "evalkit":
                    found[each.asname or each.name] = "evalkit"
        elif isinstance(node, ast.ImportFrom) and node.module == "evalkit":
            found |= {each.asname or each.name: each.name for each in node.names}
    return found


def _of_evalkit(node: ast.expr, ours: Mapping[str, str]) -> str:
    """Return the name of what an expression takes from evalkit; "" for nothing."""
    if isinstance(node, ast.Call):
        return _of_evalkit(node.func, ours)
    if isinstance(node, ast.Name):
        return ours.get(node.id, "")
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if ours.get(node.value.id) == "evalkit" else ""
    return ""


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _kind(each: Defined, known: Mapping[str, Defined], ours: Mapping[str, str]) -> str:
    """Return the kind of a class or function; "" where nothing says it is a plugin."""
    if not isinstance(each, ast.ClassDef):
        decorators = (_of_evalkit(node, ours) for node in each.decorator_list)
        is_metric = each.name.startswith("get_") or "metric" in decorators
        return "metrics" if is_metric else ""
    others = {name: other for name, other in known.items() if other is not each}
    for base in each.bases:
        own = others.get(_last_name(base))
        kind = _BASES.get(_of_evalkit(base, ours), "")
        if kind := kind or (_kind(own, others, ours) if own else ""):
            return kind
    return ""


def _component_name(each: Defined) -> str:
    """Return a plugin's name: its own, or that of the class or function with dashes."""
    for node in each.body if isinstance(each, ast.ClassDef) else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [_last_name(target) for target in node.targets]
            if "name" in names and is_component_name(str(node.value.value)):
                return str(node.value.value)
    plain = each.name.removeprefix("get_").replace("_", "-")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", plain).strip("-").lower()
