"""Jinja's sandbox, with limits of steps and sizes, for templates over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from typing import Any

from jinja2 import StrictUndefined, TemplateError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from evalkit.errors import DataError

MOST_STEPS = 100_000
"""Loop steps and calls that one template may take for one row."""

MOST_CHARACTERS = 10_000_000
"""Characters, or items of a list, that one value may have."""

FILTERS = (
    *("abs", "attr", "capitalize", "count", "d", "default", "dictsort", "e"),
    *("escape", "first", "float", "groupby", "int", "items", "last", "length"),
    *("list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse"),
    *("round", "select", "selectattr", "sort", "string", "sum", "title", "tojson"),
    *("trim", "truncate", "unique", "upper", "wordcount"),
)
"""Jinja's filters that templates may use, beside `join`, `replace`, `regex_replace`."""

DENIED = (
    *("format", "format_map", "ljust", "rjust", "center", "zfill", "expandtabs"),
    *("translate", "maketrans", "encode", "fromkeys"),
)
"""Methods of texts, lists and dicts that templates may not call."""

METHODS = {name for kind in (str, list, dict) for name in dir(kind)} - {*DENIED}


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's environment for templates over stored rows.

    Patterns run in linear time, loops and calls are counted, and values that would
    exceed `MOST_CHARACTERS` are refused before they are made.
    """

    # a key of a mapping comes before its method
    getattr = ImmutableSandboxedEnvironment.getitem  # type: ignore[assignment]
    intercepted_binops = frozenset(("+", "*", "**", "%", "<<"))

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined, keep_trailing_newline=True, finalize=_no_method
        )
        self._steps = 0
        own = {"_counted": self._counted, **_FILTERS}
        known = {name: self.filters[name] for name in FILTERS} | own
        self.filters = {name: self._metered(each) for name, each in known.items()}
        names = ("range", "dict", "namespace")
        self.globals = {name: self.globals[name] for name in names}

    def function(self, text: str, *, native: bool) -> Callable[..., Any]:
        """Compile a template to a function of a row; both may raise `DataError`."""
        try:
            tree = self.parse(text)
            expression = _only_expression(tree) if native else None
            if expression is not None:
                target = nodes.Name("result", "store", lineno=1)
                tree.body = [nodes.Assign(target, expression, lineno=1)]
            for node in [*tree.find_all((nodes.For, nodes.Concat))]:
                if isinstance(node, nodes.For):
                    node.iter = _filtered("_counted", node.iter)
                elif isinstance(node, nodes.Concat):
                    parts = nodes.List(node.nodes, lineno=node.lineno)
                    node.nodes = [_filtered("_concatenated", parts)]
            tree.set_environment(self)
            code = self.compile(tree)
        except (TemplateError, RecursionError, ValueError) as error:
            line = getattr(error, "lineno", None)
            place = f" (line {line} of the template)" if line else ""
            raise DataError(f"invalid Jinja template: {error}{place}") from error
        compiled = self.template_class.from_code(self, code, dict(self.globals))
        return lambda row: self._evaluated(compiled, row, expression is not None)

    def _evaluated(self, compiled: Any, row: Mapping[str, Any], native: bool) -> Any:
        self._steps = 0
        try:
            if not native:
                return _concatenated(compiled.generate(row))
            context = compiled.new_context(dict(row))
            for _ in compiled.root_render_func(context):
                pass
            value = _no_method(context.vars["result"])
            value = [*self._counted(value)] if isinstance(value, Iterator) else value
        except Exception as error:  # whatever an operation on the row's values raises
            kind = type(error).__name__
            raise DataError(f"the Jinja template failed: {kind}: {error}") from error
        if isinstance(value, Undefined):
            raise DataError(f"the Jinja template failed: {value._undefined_message}")
        return value

    def _metered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count what a filter works on."""

        @wraps(function)
        def apply(*args: Any, **kwargs: Any) -> Any:
            size = sum(map(_size, args))
            _refuse_size(size)
            self._count(1 + size // 10)
            return function(*args, **kwargs)

        return apply

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._count()
            yield value

    def _count(self, steps: int = 1) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise SecurityError(f"the template takes more than {MOST_STEPS:,} steps")

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow methods of `METHODS` alone."""
        is_allowed = not callable(value) or attr in METHODS
        return is_allowed and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a method or macro, within the limits."""
        self._count()
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if name in DENIED:
            raise SecurityError(f"the method {name} is not available here")
        if isinstance(owner, str) and name == "replace" and len(args) > 1:
            return _replaced(owner, *args[:3])
        if isinstance(owner, str) and name == "join" and args:
            return _joined(args[0], owner)
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse operations whose value would exceed the limits."""
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if operator == "<<" or (operator == "%" and isinstance(left, str)):
            raise SecurityError(f"the operator {operator} is not available here")
        if operator == "**" and numbers:
            _refuse_size(1_000 * abs(right) * int(abs(left)).bit_length())
        elif operator == "*" and numbers:
            bits = [int(abs(number)).bit_length() for number in (left, right)]
            _refuse_size(1_000 * sum(bits))
        elif operator in ("*", "+") and not numbers:
            sizes = [n if isinstance(n, int) else _size(n) for n in (left, right)]
            _refuse_size(math.prod(sizes) if operator == "*" else sum(sizes))
        return super().call_binop(context, operator, left, right)


def _no_method(value: Any) -> Any:
    if callable(value) and not isinstance(value, Undefined):
        raise TypeError(f"{value.__name__} is a method. Call it, or name a key")
    _refuse_size(_size(value))
    return value


def _filtered(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _only_expression(tree: nodes.Template) -> nodes.Expr | None:
    """Return the expression of a template that is one `{{ … }}`."""
    body = tree.body[0] if len(tree.body) == 1 else None
    parts = body.nodes if isinstance(body, nodes.Output) else []
    is_one = len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData)
    return parts[0] if is_one else None


def _size(value: Any) -> int:
    """Count characters and items, also within lists and dicts, up to the limit."""
    size, left = 0, [value]
    while left and size <= MOST_CHARACTERS:
        each = left.pop()
        size += len(each) if isinstance(each, str) else 1
        if isinstance(each, list | tuple | dict):
            left += [*each, *each.values()] if isinstance(each, dict) else each
    return size


def _refuse_size(size: float) -> None:
    if size > MOST_CHARACTERS:
        raise SecurityError(f"a value exceeds {MOST_CHARACTERS:,} characters or items")


def _concatenated(parts: Iterable[Any]) -> str:
    kept: list[str] = []
    size = 0
    for part in map(str, parts):
        size += len(part)
        _refuse_size(size)
        kept.append(part)
    return "".join(kept)


def _joined(values: Iterable[Any], d: str = "", attribute: Any = None) -> str:
    items = values if attribute is None else [each[attribute] for each in values]
    texts = [*map(str, items)]
    _refuse_size(sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def _replaced(value: Any, old: str, new: str, count: int | None = None) -> str:
    text = str(value)
    _refuse_size(len(text) + text.count(old) * len(new))
    return text.replace(old, new, -1 if count is None else count)


def _regex_replaced(value: Any, pattern: str, repl: str, count: int = 0) -> str:
    """Replace what a pattern matches (a filter of lm-evaluation-harness)."""
    import polars as pl

    from evalkit_adapters_rows.patterns import Pattern

    return Pattern(pattern).substitute(pl.Series([str(value)]), repl, count)[0]


_FILTERS: Mapping[str, Callable[..., Any]] = {
    "_concatenated": _concatenated,
    "join": _joined,
    "replace": _replaced,
    "regex_replace": _regex_replaced,
}


@cache
def sandbox() -> Sandbox:
    """Return the one sandbox of this process."""
    return Sandbox()
