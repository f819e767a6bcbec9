"""Python functions of tasks, as far as they only work on texts, lists and dicts.

Their file is not imported. A function, and what it refers to, is run if it consists of
the statements and names below alone: without loops, recursion, products, files and
other attributes. So it ends; what it makes of a row can still be large.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from evalkit.errors import DataError
from evalkit_benchmarks_declared.sandbox import sandbox
from evalkit_benchmarks_peers.lm_eval_files import Function

_FUNCTIONS = (bool, dict, enumerate, float, int, isinstance, len, list, str, tuple, zip)
_BUILTINS: dict[str, Any] = {each.__name__: each for each in _FUNCTIONS}
_SUB = sandbox().filters["regex_replace"]  # in linear time
_IMPORTS: Mapping[str, Any] = {
    "functools": SimpleNamespace(partial=partial),
    "re": SimpleNamespace(sub=lambda pattern, new, text: _SUB(text, pattern, new)),
}
_ATTRIBUTES = re.compile(
    "capitalize|count|endswith|filter|get|index|isdigit|items|join|keys|lower"
    "|[lr]?strip|map|partial|replace|r?split|startswith|sub|title|upper|values"
)
_NODES = (
    *(ast.Add, ast.Sub, ast.Assign, ast.Expr, ast.FunctionDef, ast.If, ast.Return),
    *(ast.arg, ast.arguments, ast.boolop, ast.cmpop, ast.comprehension, ast.expr),
    *(ast.expr_context, ast.keyword, ast.unaryop),
)


class _Dataset:
    """What a function does with a dataset: stands for the dataset when it is called."""

    def __init__(self, *steps: tuple[str, Callable[..., Any]]) -> None:
        self.steps = steps

    def map(self, function: Callable[..., Any]) -> _Dataset:
        return _Dataset(*self.steps, ("map", function))

    def filter(self, function: Callable[..., Any]) -> _Dataset:
        return _Dataset(*self.steps, ("filter", function))

    def apply(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for row in rows:
            for way, function in self.steps:
                result = function(dict(row))
                if way == "filter" and not result:
                    break
                row = row if way == "filter" else {**row, **result}
            else:
                yield row


def load(function: Function, *, of_dataset: bool) -> Callable[[Any], Any]:
    """Return a function of a row, or one of a dataset as a function of all rows."""
    try:
        found: Callable[[Any], Any] = value_of(function.path, function.attribute)
        result = found(_Dataset()) if of_dataset else None
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"{function.attribute}: {error}") from error
    if of_dataset and not isinstance(result, _Dataset):
        raise DataError("it does not return the dataset, filtered or mapped")
    return result.apply if isinstance(result, _Dataset) else found


def f1_average(function: Function) -> str | None:
    """Return the average of scikit-learn's `f1_score` that a function computes."""
    text = ast.unparse(statements_of(function.path).get(function.attribute, ast.Pass()))
    if text == "from lm_eval.utils import weighted_f1_score":
        return "weighted"
    start = r"def \w+\(items\):\n    unzipped_list = list\(zip\(\*items[\s\S]*"
    end = r"fscore = f1_score\(golds, preds, average='(\w+)'\)\n.*fscore"
    return found[1] if (found := re.fullmatch(start + end, text)) else None


@lru_cache(maxsize=1_024)
def statements_of(path: Path) -> Mapping[str, ast.stmt]:
    """Return the statement of a file that sets each name; "*" updates `globals()`."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as Python: {error}") from error
    found: dict[str, ast.stmt] = {}
    for node in body:
        for each in (node, *getattr(node, "names", ()), *getattr(node, "targets", ())):
            keys = (getattr(each, key, None) for key in ("asname", "name", "id"))
            found[next(filter(None, keys), "")] = node
        if ast.unparse(node).startswith("globals().update("):
            table = node.value.args[0]  # type: ignore[attr-defined]
            found["*"] = ast.Assign([ast.Name("*", ast.Store())], table)
    return found


@lru_cache(maxsize=4_096)
def value_of(path: Path, name: str) -> Any:
    """Return the value of a name of a file, of which nothing else is run."""
    statements = statements_of(path)
    if name not in statements and "*" in statements and name != "*":
        return value_of(path, "*")[name]
    if (node := statements.get(name)) is None:
        raise DataError(f"{path.name}: {name}: it is not available")
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _imported(path, node, name)
    values: dict[str, Any] = {"__builtins__": _BUILTINS}
    for each in _checked(node, f"{path.name}: {name}") - {*_BUILTINS}:
        values[each] = value_of(path, each)
    code = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(code, str(path), "exec"), values)
    return values[name]


def _checked(node: ast.stmt, where: str) -> set[str]:
    """Return the names that a statement refers to; refuse one that must not be run."""
    for each in ast.walk(node):  # annotations are not run
        if isinstance(each, ast.FunctionDef | ast.arg):
            setattr(each, "returns" if hasattr(each, "args") else "annotation", None)
    nodes = [*ast.walk(node)]
    names = [each for each in nodes if isinstance(each, ast.Name)]
    own = {each.arg for each in nodes if isinstance(each, ast.arg)}
    own |= {each.name for each in nodes[1:] if isinstance(each, ast.FunctionDef)}
    own |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    for each in nodes:
        called = getattr(each, "func", None)
        name = called.id if isinstance(called, ast.Name) else "str"
        is_odd = isinstance(each, ast.Starred) or not isinstance(each, _NODES)
        is_odd |= name in own or not isinstance(called, ast.Attribute | ast.Name | None)
        is_odd |= bool(getattr(each, "decorator_list", getattr(each, "format_spec", 0)))
        if is_odd or not _ATTRIBUTES.fullmatch(getattr(each, "attr", "map")):
            what = getattr(each, "attr", type(each).__name__)
            raise DataError(f"{where}: it uses {what}")
    return {each.id for each in names} - own


def _imported(path: Path, node: Any, name: str) -> Any:
    """Return what a statement imports under a name."""
    [real] = [each.name for each in node.names if name in (each.asname, each.name)]
    module = str(getattr(node, "module", real))
    known = _IMPORTS.get(module)
    if known and (module == real or hasattr(known, real)):
        return known if module == real else getattr(known, real)
    tasks = [folder for folder in path.parents if folder.name == "tasks"]
    inner = module.removeprefix("lm_eval.tasks.")
    folder = tasks[0] if tasks and inner != module else path.parent
    file = (folder / f"{inner.replace('.', '/')}.py").resolve()
    if module == real or not file.is_file():
        raise DataError(f"{path.name}: {name}: it is imported from {module}")
    return value_of(file, real)
