"""Jinja's sandbox, with limits of steps and sizes, for templates over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, TemplateError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from evalkit.errors import DataError

MOST_STEPS = 100_000
"""Loop steps and calls that one template may take for one row."""

MOST_CHARACTERS = 10_000_000
"""Characters, or items of a list, that one value may have."""

FILTERS = frozenset(
    {
        *("abs", "attr", "capitalize", "count", "d", "default", "dictsort"),
        *("e", "escape", "first", "float", "groupby", "int", "items", "join", "last"),
        *("length", "list", "lower", "map", "max", "min", "reject", "rejectattr"),
        *("replace", "reverse", "round", "select", "selectattr", "sort"),
        *("string", "sum", "title", "tojson", "trim", "truncate", "unique", "upper"),
        "wordcount",
    }
)
"""Jinja's filters that templates may use, beside `regex_replace`."""

METHODS = frozenset(
    {
        *("capitalize", "casefold", "count", "endswith", "find", "get", "index"),
        *("isalpha", "isdigit", "islower", "isnumeric", "isupper", "items", "join"),
        *("keys", "lower", "lstrip", "partition", "removeprefix", "removesuffix"),
        *("replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split"),
        *("splitlines", "startswith", "strip", "swapcase", "title", "upper", "values"),
    }
)
"""Methods of texts, lists and dicts that templates may call."""

_GLOBALS = ("range", "dict", "namespace")


class Template(NamedTuple):
    """A compiled template."""

    compiled: Any
    is_value: bool
    """Whether it is one `{{ … }}`, whose value is kept as it is."""


class _Limited(NodeTransformer):
    """Counts the steps of loops, and bounds texts that are put together."""

    def get_visitor(self, node: nodes.Node) -> Callable[..., Any] | None:
        """Return what changes loops and concatenations."""
        visitors: dict[type[nodes.Node], Callable[..., Any]] = {
            nodes.For: self._loop,
            nodes.Concat: self._concatenation,
        }
        return visitors.get(type(node))

    def _loop(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = _filtered("_counted", node.iter)
        return node

    def _concatenation(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _filtered("_concatenated", nodes.List(node.nodes, lineno=node.lineno))


def _filtered(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's environment for templates over stored rows.

    Patterns run in linear time, loops and calls are counted, and values that would
    exceed `MOST_CHARACTERS` are refused before they are made.
    """

    intercepted_binops = frozenset(("+", "*", "**", "%", "<<"))

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True)
        self.steps = 0
        kept = {name: self.filters[name] for name in FILTERS}
        own: dict[str, Callable[..., Any]] = {
            "_counted": self._counted,
            "_concatenated": _concatenated,
            "join": _joined,
            "replace": _replaced,
            "regex_replace": _regex_replaced,
        }
        self.filters = {
            name: self._metered(each) for name, each in (kept | own).items()
        }
        self.globals = {name: self.globals[name] for name in _GLOBALS}

    def template(self, text: str, *, native: bool) -> Template:
        """Compile a template.

        Args:
            text: The template.
            native: Whether a template that is one `{{ … }}` gives its value.

        Raises:
            DataError: It is malformed.
        """
        try:
            tree = self.parse(text)
            expression = _only_expression(tree) if native else None
            if expression is not None:
                target = nodes.Name("result", "store", lineno=1)
                tree.body = [nodes.Assign(target, expression, lineno=1)]
            tree = _Limited().visit(tree)
            tree.set_environment(self)
            code = self.compile(tree)
        except (TemplateError, RecursionError, ValueError) as error:
            line = getattr(error, "lineno", None)
            place = f" (line {line} of the template)" if line else ""
            raise DataError(f"invalid Jinja template: {error}{place}") from error
        names = dict(self.globals)
        compiled = self.template_class.from_code(self, code, names)
        return Template(compiled, expression is not None)

    def evaluate(self, template: Template, row: Mapping[str, Any]) -> Any:
        """Evaluate a template over a row.

        Returns:
            The text, or the value.

        Raises:
            DataError: A name is unknown, an operation fails, or a limit is exceeded.
        """
        self.steps = 0
        try:
            if not template.is_value:
                return _bounded(template.compiled.generate(row))
            context = template.compiled.new_context(dict(row))
            for _ in template.compiled.root_render_func(context):
                pass
            value = context.vars["result"]
            value = [*self._counted(value)] if isinstance(value, Iterator) else value
        except TemplateError as error:
            raise DataError(f"the Jinja template failed: {error}") from error
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
            self._count(1 + sum(map(_size, args)) // 10)
            return function(*args, **kwargs)

        return apply

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._count()
            yield value

    def _count(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise SecurityError(f"the template takes more than {MOST_STEPS:,} steps")

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow methods of `METHODS` alone."""
        is_allowed = not callable(value) or attr in METHODS
        return is_allowed and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a method or macro, within the limits."""
        self._count()
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if name in ("format", "format_map"):
            raise SecurityError("formatting is not available here. Use ~")
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
        elif operator in ("*", "+") and not numbers:
            sizes = [
                each if isinstance(each, int) else _size(each) for each in (left, right)
            ]
            _refuse_size(sizes[0] * sizes[1] if operator == "*" else sum(sizes))
        return super().call_binop(context, operator, left, right)


def _only_expression(tree: nodes.Template) -> nodes.Expr | None:
    """Return the expression of a template that is one `{{ … }}`."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    parts = tree.body[0].nodes
    is_one = len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData)
    return parts[0] if is_one else None


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple) else 1


def _refuse_size(size: float) -> None:
    if size > MOST_CHARACTERS:
        raise SecurityError(f"a value exceeds {MOST_CHARACTERS:,} characters or items")


def _bounded(parts: Iterable[str]) -> str:
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part)
        _refuse_size(size)
        kept.append(part)
    return "".join(kept)


def _concatenated(parts: Iterable[Any]) -> str:
    return _bounded(map(str, parts))


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


@cache
def sandbox() -> Sandbox:
    """Return the one sandbox of this process."""
    return Sandbox()
