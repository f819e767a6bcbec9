"""Reads `[tool.evalkit]` of the nearest `pyproject.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from evalkit.errors import DataError


def extra_metrics(folder: Path, task: str) -> list[str]:
    """Find the metrics that a user adds to a task.

    Args:
        folder: Where to look; its parents are looked through up to the first
            `pyproject.toml`.
        task: Name of the task.

    Returns:
        `eval_metrics` of `[tool.evalkit.tasks.<task>]`; empty where there are none.

    Raises:
        DataError: The file cannot be read or is not TOML, or the value is no list of
            texts.
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
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: is not TOML: {error}") from error
    except RecursionError as error:
        raise DataError(f"{path}: its values are nested too deeply") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    found: object = table
    for key in ("tool", "evalkit", "tasks", task, "eval_metrics"):
        if not isinstance(found, dict) or key not in found:
            return []
        found = found[key]
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise DataError(
            f"{path}: eval_metrics of [tool.evalkit.tasks.{task}] must be a list of "
            f"texts, is {found!r}"
        )
    return found
