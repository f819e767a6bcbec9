"""Names of columns reach polars only where it does not take them for patterns.

Polars reads `*` and `^a.*$` as patterns, and a user's columns may be called so. So a
name that is no literal of ours goes through `named` or `all_named` of
`evalkit.base.columns`, or `polars.selectors.by_name`. This test looks at the syntax
trees of all modules that import polars.
"""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[1]
HELPER = ROOT / "core" / "src" / "evalkit" / "base" / "columns.py"

PARSE_NAMES = {
    *("agg", "all_horizontal", "any_horizontal", "arg_sort_by", "coalesce", "col"),
    *("concat_list", "concat_str", "drop", "drop_nans", "drop_nulls", "exclude"),
    *("explode", "group_by", "join", "max_horizontal", "mean_horizontal"),
    *("min_horizontal", "otherwise", "over", "partition_by", "pivot", "select", "sort"),
    *("sort_by", "struct", "sum_horizontal", "then", "unique", "unnest", "unpivot"),
    *("with_columns",),
}
"""Functions and methods of polars whose texts are names or patterns."""

NAMED_VALUES = {"agg", "group_by", "select", "struct", "with_columns"}
"""Those whose keyword arguments are columns too."""

OF_NAMES = {"by", "left_on", "on", "order_by", "right_on", "subset"}
"""Keyword arguments that are names."""

SAFE_CALLS = {"all_named", "by_name", "named"}

SAFE_TYPES = ("pl.Expr", "pl.Series", "pl.DataFrame", "Selector", "float", "int")

OF_TEXTS = {
    *("format", "fromkeys", "get", "items", "join", "keys", "lower", "removeprefix"),
    *("removesuffix", "replace", "split", "strip", "upper", "values"),
}
"""Methods that may return texts, unlike those of expressions."""

OF_ITEMS = {"enumerate", "list", "reversed", "sorted", "tuple", "zip"}
"""Functions that return what they are given."""

NO_PATTERNS = {
    "core/src/evalkit/reading/schemas.py": "asks `is_pattern` before",
    "core/src/evalkit/reading/tables.py": (
        "is asked only for structs that `evalkit.reading.schemas` planned"
    ),
}
"""Modules that may call `struct.field`, for which polars knows no literal names."""


SERIES_METHODS = {"arr", "bin", "cat", "dt", "list", "str", "struct"} | {
    name
    for name, method in vars(pl.Series).items()
    if inspect.isfunction(method)
    and Path(method.__code__.co_filename).parts[-2:] == ("series", "utils.py")
}
"""What polars calls of a series through `pl.col` of the name that the series has."""


def sources() -> list[Path]:
    """List the modules that import polars."""
    patterns = ("core/src", "cli/src", "plugins/*/*/src", "examples/*/src")
    return [
        path
        for pattern in patterns
        for folder in sorted(ROOT.glob(pattern))
        for path in sorted(folder.rglob("*.py"))
        if path != HELPER and "import polars" in path.read_text(encoding="utf-8")
    ]


@cache
def expression_functions() -> frozenset[str]:
    """Name the functions that say that they return expressions or columns."""
    return frozenset(
        node.name
        for path in (*sources(), HELPER)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and _is_safe_type(node.returns)
    )


def _is_safe_type(annotation: ast.expr | None) -> bool:
    text = "" if annotation is None else ast.unparse(annotation)
    return any(each in text for each in SAFE_TYPES)


class Names:
    """What the local names of a function stand for."""

    def __init__(self, scope: ast.AST) -> None:
        self._values: dict[str, list[ast.expr | None]] = {}
        """The values that each name gets; None for one that is surely no text."""
        self._asked: set[str] = set()
        for node in ast.walk(scope):
            self._add(node)

    def _add(self, node: ast.AST) -> None:
        if isinstance(node, ast.arg):
            given = None if _is_safe_type(node.annotation) else ast.Name("?")
            self._values.setdefault(node.arg, []).append(given)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            value = None if _is_safe_type(node.annotation) else node.value
            self._values.setdefault(node.target.id, []).append(value or None)
        elif isinstance(node, ast.For | ast.comprehension):
            self._bind(node.target, node.iter)
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target, node.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._values.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value)
        elif isinstance(target, ast.Tuple):
            values = [value] * len(target.elts)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(values):
                values = value.elts
            for each, given in zip(target.elts, values, strict=True):
                self._bind(each, given)

    def are_safe(self, node: ast.expr | None) -> bool:
        """Tell whether a value is an expression or a literal of ours."""
        match node:
            case None | ast.Constant() | ast.Lambda() | ast.Compare():
                return True
            case ast.Name(id=name):
                return name.strip("_").isupper() or self._is_safe_name(name)
            case (
                ast.Starred(value=value)
                | ast.UnaryOp(operand=value)
                | ast.ListComp(elt=value)
                | ast.GeneratorExp(elt=value)
            ):
                return self.are_safe(value)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return all(map(self.are_safe, elements))
            case ast.IfExp(body=body, orelse=other):
                return self.are_safe(body) and self.are_safe(other)
            case ast.BinOp(left=left, right=right):
                sides = [left, right]
                known = [each for each in sides if not isinstance(each, ast.Constant)]
                return bool(known) and any(map(self.are_safe, known))
            case ast.Attribute(value=ast.Name(id="pl")):  # a type: pl.Binary
                return True
            case ast.Call():
                return self._is_safe_call(node)
        return False

    def _is_safe_call(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Name(id=name):
                if name in OF_ITEMS:
                    return all(map(self.are_safe, call.args))
                return name in SAFE_CALLS | expression_functions()
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                known = owner == "pl" or self._is_safe_name(owner)
                return known or name not in OF_TEXTS
            case ast.Attribute(attr=name):
                return name not in OF_TEXTS
        return False

    def _is_safe_name(self, name: str) -> bool:
        if name not in self._values or name in self._asked:
            return name in self._asked
        self._asked.add(name)
        try:
            return all(map(self.are_safe, self._values[name]))
        finally:
            self._asked.discard(name)


def _scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.Call]]]:
    """Give each function that is in no other one, and the module, with their calls."""
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node not in inner:
            inside = list(ast.walk(node))
            inner.update(inside)
            yield node, [each for each in inside if isinstance(each, ast.Call)]
    rest = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n not in inner]
    yield ast.Module(list(tree.body), []), rest


def _arguments(call: ast.Call, method: str) -> list[ast.expr]:
    """Give the arguments in which polars would look for names."""
    given = [
        each.value
        for each in call.keywords
        if each.arg in OF_NAMES or (method in NAMED_VALUES and each.arg is not None)
    ]
    return given + (call.args[1:2] if method == "join" else call.args)


def faults(text: str) -> list[str]:
    """Find the calls of a module that give polars names which may be patterns.

    Args:
        text: The module's code.

    Returns:
        The line and the call of each.
    """
    found = []
    for scope, calls in _scopes(ast.parse(text)):
        names = Names(scope)
        for call in calls:
            if not isinstance(call.func, ast.Attribute):
                continue
            method, owner = call.func.attr, call.func.value
            if isinstance(owner, ast.Constant | ast.JoinedStr) or (
                isinstance(owner, ast.Name) and owner.id in ("np", "pa", "registry")
            ):
                continue
            if method in PARSE_NAMES:
                unsafe = not all(map(names.are_safe, _arguments(call, method)))
                if method == "col":
                    unsafe = unsafe or not all(map(_is_literal, call.args))
            else:
                of_struct = isinstance(owner, ast.Attribute) and owner.attr == "struct"
                unsafe = (
                    method == "field" and of_struct and not _is_literal(call.args[0])
                )
            if unsafe:
                found.append(f"{call.lineno}: {ast.unparse(call)}")
    return found


def faults_of_series(text: str) -> list[str]:
    """Find the methods of columns of a frame that are called through their names.

    Args:
        text: The module's code.

    Returns:
        The line and the method of each, where the name may be a pattern.
    """
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and node.attr in SERIES_METHODS
        and (place := _place(node.value)) is not None
        and not (isinstance(place, ast.Slice) or _is_literal(place))
    ]


def _place(node: ast.expr) -> ast.expr | None:
    """Return what stands in the brackets of `frame[name]`, also before methods."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.slice if isinstance(node, ast.Subscript) else None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id.strip("_").isupper()
    if isinstance(node, ast.Attribute):  # a type: pl.Binary
        return isinstance(node.value, ast.Name) and node.value.id == "pl"
    return isinstance(node, ast.Constant)


def test_there_are_modules_to_look_at() -> None:
    assert len(sources()) > 100


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
@pytest.mark.slow
def test_names_of_columns_are_no_patterns(path: Path) -> None:
    found = faults(path.read_text(encoding="utf-8"))
    name = str(path.relative_to(ROOT))
    if name in NO_PATTERNS:
        found = [each for each in found if ".struct.field(" not in each]
    assert not found, f"{name}: give names by `named` or `all_named`: {found}"


def test_methods_of_columns_do_not_parse_their_names() -> None:
    for path in sources():
        found = faults_of_series(path.read_text(encoding="utf-8"))
        name = str(path.relative_to(ROOT))
        assert not found, f"{name}: take columns `unnamed`: {found}"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("frame[name].unique()", 1),
        ("frame[name].cast(pl.String).is_in(labels)", 1),
        ("frame[name].list.len()", 1),
        ("frame[side.gold].drop_nulls().unique()", 2),
        ("unnamed(frame[name]).unique()", 0),
        ("frame['id'].unique()", 0),
        ("frame[NAME].unique()", 0),
        ("frame[1:].unique()", 0),
        ("frame[name].null_count()", 0),
        ("names.list[name]", 0),
    ],
)
def test_columns_with_names_that_may_be_patterns_are_found(
    code: str, count: int
) -> None:
    assert len(faults_of_series(code)) == count


@pytest.mark.parametrize(
    "code",
    [
        "frame.select(pl.col(name))",
        "pl.col([name])",
        "pl.col(*names)",
        "pl.col(f'{name}_count')",
        "pl.col(name + '_count')",
        "pl.col(side.gold)",
        "frame.select(name)",
        "frame.select('id', *keys)",
        "frame.select(score=name)",
        "frame.select(n for n in frame.columns if n != 'id')",
        "frame.select(list(dict.fromkeys(names)))",
        "frame.drop(names)",
        "frame.drop(rows.nested)",
        "frame.sort('id', *keys)",
        "frame.unique(keys[:2])",
        "frame.join(other, on=keys)",
        "frame.join(other, left_on=name, right_on='id')",
        "frame.group_by(['id', name])",
        "frame.group_by('id').agg(names)",
        "frame.drop_nulls(subset=names)",
        "pl.struct(gold, predicted)",
        "pl.exclude(*keys)",
        "pl.len().over(name)",
        "pl.when(pl.col('a')).then(name)",
        "pl.col('a').struct.field(name)",
        "def function(names: list[str]):\n    frame.select(names)",
        "def function():\n    chosen = [n for n in rest]\n    frame.select(chosen)",
        "def function():\n    for name in names:\n        frame.select(name)",
        "def function():\n    gold, said = table.keys\n    frame.select(gold)",
    ],
)
def test_names_that_may_be_patterns_are_found(code: str) -> None:
    assert len(faults(code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "frame.select('id', pl.col('a') + 1, pl.col(NAME), b=pl.lit(name))",
        "frame.select(named(name), all_named(names), x=named(name) * 2)",
        "frame.select(cs.by_name(*names))",
        "frame.select(pl.col(pl.Float64), pl.all())",
        "frame.select(['a', 'b']).sort(*COUNTS)",
        "frame.join(other, on=all_named(keys), suffix=ending)",
        "pl.len().over('a')",
        "'; '.join(names)",
        "os.path.join(folder)",
        "np.unique(numbers)",
        "def function(value: pl.Expr):\n    frame.select(value)",
        "def function():\n    sums = [named(n).sum() for n in ns]\n    frame.agg(sums)",
        "def function():\n    for each in ('a', 'b'):\n        frame.select(each)",
    ],
)
def test_literals_and_expressions_are_fine(code: str) -> None:
    assert faults(code) == []
