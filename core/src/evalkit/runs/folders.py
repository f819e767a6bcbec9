"""Tells which folders are runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalkit.runs.storage import RUN_FILE

_SHOWN = 5


def run_folders(root: Path) -> Iterator[Path]:
    """Give `<root>/<run id>` and `<root>/<data set>/<run id>`, sorted by name.

    Args:
        root: Where runs were written.

    Yields:
        Each folder that is a run or may have been meant as one.
    """
    for child in _folders(root):
        if is_run(child):
            yield child
        else:
            yield from _folders(child)


def _folders(root: Path) -> list[Path]:
    try:
        children = sorted(root.iterdir())
    except OSError:  # it is not there, is no folder, or may not be read
        return []
    # a hidden folder is one that is still being written, or was left so
    return [path for path in children if path.is_dir() and path.name[0] != "."]


def is_run(folder: Path) -> bool:
    """Tell whether a folder is a run: one that is not whole has no `run.json`."""
    return (folder / RUN_FILE).is_file()


def explain_no_run(path: Path) -> str:
    """Say why a path is no run folder, and which runs it holds."""
    if not path.exists():
        return f"there is no run folder {path}"
    held = [run for run in run_folders(path) if is_run(run)]
    hint = f"; it holds the runs {name_runs(held)}: name one of them" if held else ""
    what = f"holds no {RUN_FILE}" if path.is_dir() else "is a file"
    return f"{path} is no run folder: it {what}{hint}"


def name_runs(runs: Sequence[Path]) -> str:
    """Name the first runs by id and data set, and count the rest."""
    shown = ", ".join(f"{run.name} ({run.parent.name})" for run in runs[:_SHOWN])
    more = len(runs) - _SHOWN
    return shown + (f" and {more} more" if more > 0 else "")
