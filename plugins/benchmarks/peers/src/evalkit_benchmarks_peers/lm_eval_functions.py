"""Python functions of tasks, as far as they only work on texts, lists and dicts.

Their file is not imported. Its statements are checked, and those that pass are run with
the builtins and modules below alone: without files, random numbers, other packages and
attributes that begin with an underscore.
"""

from __future__ import annotations

import ast
import functools
import os.path
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

from evalkit.errors import DataError
from evalkit_benchmarks_peers.lm_eval_files import Function

_BUILTINS: Mapping[str, Any] = {
    each.__name__: each
    for each in (
        *(abs, all, any, bool, chr, dict, enumerate, filter, float, int, isinstance),
        *(len, list, map, max, min, ord, range, reversed, round, set, sorted, str),
        *(sum, tuple, zip, ValueError),
    )
} | {"print": lambda *_, **__: None}
_RE = "compile escape findall fullmatch match search split sub DOTALL I IGNORECASE M S"
_MODULES: Mapping[str, tuple[Any, str]] = {
    "ast": (ast, "literal_eval"),
    "functools": (functools, "partial"),
    "os.path": (os.path, "basename dirname"),
    "re": (re, _RE),
    "string": (string, "ascii_letters ascii_lowercase ascii_uppercase digits"),
}
_IMPORTS = {
    module: {name: getattr(owner, name) for name in names.split()}
    for module, (owner, names) in _MODULES.items()
}
_ATTRIBUTES = re.compile(
    "append|capitalize|copy|count|end|(ends|starts)with|extend|r?find|filter|format|get"
    "|groups?|index|insert|is(alpha|digit|lower|space|upper)|items|join|keys|lower|map"
    "|partition|pop|remove(prefix|suffix)?|replace|reverse|r?split|sort|span|splitlines"
    "|start|[lr]?strip|title|update|upper|values|"
    + "|".join(name for names in _IMPORTS.values() for name in names)
)
_NODES = (
    *(ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Expr),
    *(ast.For, ast.FunctionDef, ast.If, ast.Pass, ast.Raise, ast.Return, ast.expr),
    *(ast.Add, ast.Div, ast.FloorDiv, ast.Mod, ast.Mult, ast.Sub, ast.arg, ast.boolop),
    *(ast.arguments, ast.cmpop, ast.comprehension, ast.expr_context, ast.keyword),
    ast.unaryop,
)


class _Dataset:
    """What a function does with a dataset: stands for the dataset when it is called."""

    def __init__(self, steps: tuple[tuple[str, Callable[..., Any]], ...] = ()) -> None:
        self.steps = steps

    def map(self, function: Callable[..., Any]) -> _Dataset:
        return _Dataset((*self.steps, ("map", function)))

    def filter(self, function: Callable[..., Any]) -> _Dataset:
        return _Dataset((*self.steps, ("filter", function)))

    def apply(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for row in rows:
            for way, function in self.steps:
                found = function(dict(row))
                if way == "filter" and not found:
                    break
                row = row if way == "filter" else {**row, **found}
            else:
                yield row


def load(function: Function, *, of_dataset: bool) -> Callable[[Any], Any]:
    """Return what a name with `!function` stands for; refuse what must not be run.

    If it is a function of a dataset, it is returned as a function of all rows.
    """
    path, name = function.path, function.name.rpartition(".")[2]
    values, problems = run_file(path)
    if name in problems or not callable(values.get(name)):
        why = problems.get(name, "there is no function of this name")
        raise DataError(f"{path.name}: {name}: {why}")
    found: Callable[[Any], Any] = values[name]
    _check_names(found, set())
    if not of_dataset:
        return found
    try:
        made = found(_Dataset())
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(str(error)) from error
    if not isinstance(made, _Dataset):
        raise DataError("it does not return the dataset, filtered or mapped")
    for _, step in made.steps:
        _check_names(step, set())
    return made.apply


def f1_average(function: Function) -> str | None:
    """Return the average of scikit-learn's `f1_score` that a function computes."""
    name = function.name.rpartition(".")[2]
    for node in _parsed(function.path):
        text = ast.unparse(node)
        if text == f"from lm_eval.utils import {name}" and name == "weighted_f1_score":
            return "weighted"
        if text.startswith(f"def {name}(items):\n    unzipped_list = list(zip(*items"):
            pattern = r"fscore = f1_score\(golds, preds, average='(\w+)'\)\n.*fscore$"
            found = re.search(pattern, text)
            return found[1] if found else None
    return None


def _check_names(function: Any, known: set[Any]) -> None:
    """Refuse a function that uses a name without a value, itself or by another one."""
    while isinstance(function, functools.partial):
        function = function.func
    codes = [function.__code__] if isinstance(function, FunctionType) else []
    while codes:
        code, values = codes.pop(), function.__globals__
        codes += [each for each in code.co_consts if isinstance(each, type(code))]
        for name in {*code.co_names} - known:
            known.add(name)
            is_known = (
                name in values or name in _BUILTINS or _ATTRIBUTES.fullmatch(name)
            )
            problem = None if is_known else "it is not available"
            if problem := values["__problems__"].get(name, problem):
                raise DataError(f"{name}: {problem}")
            _check_names(values.get(name), known)


def _parsed(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as Python: {error}") from error


@lru_cache(maxsize=1_024)
def run_file(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the names of a file, and why other names have none."""
    problems: dict[str, str] = {}
    values: dict[str, Any] = {"__file__": str(path), "__problems__": problems}
    values["__builtins__"] = {**_BUILTINS, "globals": lambda: values}
    for node in _parsed(path):
        try:
            if isinstance(node, ast.Import | ast.ImportFrom):
                _import(path, node, values, problems)
            else:
                _check(node)
                exec(compile(ast.Module([node], []), str(path), "exec"), values)
        except Exception as error:  # whatever a statement of the file raises
            for inner in [node, *ast.walk(node)]:
                name = getattr(inner, "name", getattr(inner, "id", ""))
                is_set = not isinstance(getattr(inner, "ctx", None), ast.Load)
                if is_set or not callable(values.get(name, _BUILTINS.get(name))):
                    problems.setdefault(name, str(error))
    return values, problems


def _check(node: ast.stmt) -> None:
    """Refuse a statement that must not be run."""
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef):
            each.returns = None
        if isinstance(each, ast.arg):
            each.annotation = None
    for each in ast.walk(node):
        is_decorated = isinstance(each, ast.FunctionDef) and each.decorator_list
        if is_decorated or not isinstance(each, _NODES):
            raise DataError(f"it uses {type(each).__name__}")
        if isinstance(each, ast.Attribute) and not _ATTRIBUTES.fullmatch(each.attr):
            raise DataError(f"it uses .{each.attr}")


def _import(
    path: Path, node: Any, values: dict[str, Any], problems: dict[str, str]
) -> None:
    """Set the names that a statement imports."""
    for each in node.names:
        is_module, name = isinstance(node, ast.Import), each.asname or each.name
        module = each.name if is_module else str(node.module)
        known = _IMPORTS.get(module, {})
        if known and (is_module or each.name in known):
            values[name] = SimpleNamespace(**known) if is_module else known[each.name]
            continue
        tasks = [folder for folder in path.parents if folder.name == "tasks"]
        inner = module.removeprefix("lm_eval.tasks.")
        folder = tasks[0] if tasks and inner != module else path.parent
        file = (folder / f"{inner.replace('.', '/')}.py").resolve()
        if not is_module and file.is_file() and each.name in run_file(file)[0]:
            values[name] = run_file(file)[0][each.name]
        else:
            problems[name] = f"it is imported from {module}"
