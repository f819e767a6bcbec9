"""What the laws of adapters look at: rows, texts and files, and what became of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evalkit import AdapterError, PluginError, Registry
from evalkit.catalog import Resolver
from evalkit_adapters_rows import extraction, pipeline
from evalkit_testing.laws import LawBroken

_STRANGE: tuple[Any, ...] = (None, 3, "text", [], {}, [{"a": 1}], True, "")


@dataclass
class Trial:
    """An adapter, and what it is given."""

    adapter: Any
    another: Callable[[], Any]
    """Makes another instance."""
    rows: Sequence[Any]
    broken: Sequence[Any]
    files: Sequence[Path]
    texts: Sequence[str]
    choices: Sequence[str] | None
    labels: Sequence[str] | None


def makes_adapters(
    adapter: Any, configuration: Any, registry: Registry
) -> Callable[[], Any]:
    """Return what loads an adapter, another instance each time."""
    if isinstance(adapter, str | type):
        return lambda: _bound(adapter, configuration, registry)
    return partial(copy.deepcopy, Resolver(registry).bind("adapters", adapter))


def _bound(adapter: str | type, configuration: Any, registry: Registry) -> Any:
    stages = [{"kind": adapter, "configuration": configuration}]
    try:
        return pipeline(stages, registry).stages[0].adapter
    except AdapterError:  # it is an extractor, or the configuration is wrong
        return extraction(stages, registry).stages[0].adapter


def adapted(adapter: Any, row: Any, number: int = 1) -> list[Any] | str:
    """Return the rows that a row becomes, or what an adapter has against it."""
    return adapted_rows(adapter, copy.deepcopy(row), number)


def adapted_rows(adapter: Any, row: Any, number: int) -> list[Any] | str:
    """Return the same as `adapted`, of this row itself and of no copy of it."""
    try:
        return [*adapter.adapt_row(row, number)]
    except AdapterError as error:
        return str(error)
    except PluginError as error:
        raise LawBroken(f"of the row {row!r}: {error}") from error


def as_json(rows: Any) -> str:
    """Write rows as JSON, to compare them."""
    return json.dumps(rows, sort_keys=True, default=str)


def damaged(row: Any) -> Iterator[Any]:
    """Yield copies of a row that lack a field, or hold something else in it."""
    yield from _STRANGE
    if not isinstance(row, dict):
        return
    for name in row:
        yield {other: value for other, value in row.items() if other != name}
        for value in _STRANGE:
            yield {**row, name: value}
