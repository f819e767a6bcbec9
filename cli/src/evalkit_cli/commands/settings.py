"""Reads `[tool.evalkit]` of the nearest `pyproject.toml`."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path


def extra_metrics(folder: Path, task: str) -> list[str]:
    """Find the metrics that a user adds to a task.

    Args:
        folder: Where to look; its parents are looked through up to the first
            `pyproject.toml`.
        task: Name of the task.

    Returns:
        `eval_metrics` of `[tool.evalkit.tasks.<task>]`; empty where there are none.

    Warns:
        UserWarning: A file of a parent folder adds some; or the file cannot be read or
            is not TOML, or the value is no list of texts, so that it adds none.
    """
    path = next(
        (
            candidate
            for parent in (folder, *folder.parents)
            if (candidate := parent / "pyproject.toml").is_file()
        ),
        None,
    )
    if path is None:
        return []
    try:
        found: object = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return _none(path, f"is not TOML: {error}")
    except RecursionError:
        return _none(path, "its values are nested too deeply")
    except OSError as error:
        return _none(path, f"cannot be read: {error.strerror}")
    for key in ("tool", "evalkit", "tasks", task, "eval_metrics"):
        if not isinstance(found, dict) or key not in found:
            return []
        found = found[key]
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        return _none(
            path,
            f"eval_metrics of [tool.evalkit.tasks.{task}] must be a list of texts, is "
            f"{found!r}",
        )
    if found and path.parent != folder:
        warnings.warn(
            f"{path} adds the metrics {', '.join(found)} to {task}; -m names others",
            stacklevel=2,
        )
    return found


def _none(path: Path, why: str) -> list[str]:
    warnings.warn(f"{path}: {why}; no metrics are taken from it", stacklevel=3)
    return []
