"""Reads `[tool.evalkit]` of the nearest `pyproject.toml`."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple


class TaskSettings(NamedTuple):
    """What a user adds to a task: `[tool.evalkit.tasks.<task>]`."""

    eval_metrics: tuple[str, ...] = ()
    perf_metric: str | None = None


def task_settings(folder: Path, task: str) -> TaskSettings:
    """Read what the nearest `pyproject.toml` in or above a folder adds to a task.

    Settings that cannot be read, and metrics in files that the command does not name,
    are left out with a warning.
    """
    paths = (parent / "pyproject.toml" for parent in (folder, *folder.parents))
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return TaskSettings()
    table = _table(path, task)
    named = table.get("eval_metrics", [])
    first = table.get("perf_metric")
    name = f"[tool.evalkit.tasks.{task}]"
    if not isinstance(named, list) or not all(isinstance(item, str) for item in named):
        _warn(path, f"{name}: eval_metrics must be a list of names, got {named!r}")
        named = []
    if not isinstance(first, str | None):
        _warn(path, f"{name}: perf_metric must be a name, got {first!r}")
        first = None
    metrics = tuple(_allowed(path, named))
    headline = next(_allowed(path, [] if first is None else [first]), None)
    added = [*metrics, *([headline] if headline else [])]
    if added and path.parent != folder:
        warnings.warn(
            f"{path} adds the metrics {', '.join(added)} to {task}; -m names others",
            stacklevel=2,
        )
    return TaskSettings(metrics, headline)


def _table(path: Path, task: str) -> Mapping[str, Any]:
    try:
        table: object = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        _warn(path, f"cannot be read: {error.strerror}")
        return {}
    except (ValueError, RecursionError) as error:
        _warn(path, f"is not TOML: {error}")
        return {}
    for key in ("tool", "evalkit", "tasks", task):
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _allowed(path: Path, metrics: list[str]) -> Iterator[str]:
    """Yield the metrics whose code the command may run."""
    from evalkit.catalog import code_behind

    for metric in metrics:
        code = code_behind(metric, ("metrics",))
        if code is None:
            yield metric
        else:
            _warn(path, f"{metric!r} is code in {code}. Allow it with --plugin {code}")


def _warn(path: Path, what: str) -> None:
    warnings.warn(f"{path}: {what}", stacklevel=4)
