"""Finds the runs of other tools in a folder, and imports them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.errors import EvalkitError
from evalkit_commands_exchange.imports import ImportedRun

if TYPE_CHECKING:
    from evalkit import Registry, Result

Reader = Callable[[Path], Iterator[Callable[[], ImportedRun]]]


class Imported(NamedTuple):
    """What was found in a folder."""

    runs: list[tuple[ImportedRun, Result | None, list[dict[str, Any]]]]
    """Each run, evalkit's run of it, and the scores of both. There is no run of
    evalkit after a dry run, or without examples."""
    failures: dict[str, str]
    """Why runs were not imported, by their place."""
    unread: list[Path]
    """Files that belong to no imported run."""


def import_runs(
    folder: Path,
    out: Path,
    registry: Registry,
    *,
    only: Sequence[str] = (),
    dry_run: bool = False,
    progress: Callable[[str, float], None] = lambda _text, _share: None,
) -> Imported:
    """Import all runs of other tools in a folder.

    Args:
        folder: The folder, or a file in it.
        out: Folder that the runs are written to.
        registry: Where plugins are found.
        only: Patterns such as `helm-*`; a dataset must match one of them.
        dry_run: Whether nothing is evaluated and written.
        progress: Called with what is being done.

    Returns:
        The imported runs, and what was not imported.
    """
    from evalkit_commands_exchange.evaluating import compare_scores, evaluate_imported

    imported = Imported([], {}, [])
    sources, read = _find_sources(folder), set[Path]()
    for number, (path, reader) in enumerate(sources):
        progress(f"importing {path.name}", number / len(sources))
        for make in _makers(path, reader, imported.failures):
            try:
                run = make()
                read.update(run.files)
                if only and not any(fnmatchcase(run.dataset, each) for each in only):
                    continue
                is_scored = bool(run.examples) and not dry_run
                result = evaluate_imported(run, out, registry) if is_scored else None
                compared = compare_scores(run, result)
                imported.runs.append((run, result, compared))
            except EvalkitError as error:
                _note(imported.failures, path, error)
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    imported.unread.extend(path for path in files if path not in read)
    return imported


def _makers(
    path: Path, reader: Reader, failures: dict[str, str]
) -> Iterator[Callable[[], ImportedRun]]:
    try:
        yield from reader(path)
    except EvalkitError as error:
        _note(failures, path, error)


def _note(failures: dict[str, str], path: Path, error: EvalkitError) -> None:
    text = "; ".join(filter(None, (failures.get(str(path)), str(error))))
    failures[str(path)] = text.removeprefix(f"{path}: ")


def _find_sources(folder: Path) -> list[tuple[Path, Reader]]:
    """Find what holds runs of other tools, in the order of paths."""
    from evalkit_commands_exchange import hub_folders, seahelm_folders
    from evalkit_commands_exchange.helm_folders import SPEC, read_helm
    from evalkit_commands_exchange.inspect_folders import is_log, read_inspect
    from evalkit_commands_exchange.lm_eval_folders import read_lm_eval

    sources: list[tuple[Path, Reader]] = []
    for path in sorted(folder.rglob("*")):
        if path.name == SPEC:
            sources.append((path.parent, read_helm))
        elif fnmatchcase(path.name, seahelm_folders.PATTERN):
            sources.append((path, seahelm_folders.read_seahelm))
        elif fnmatchcase(path.name, "results*.json"):
            sources.append((path, read_lm_eval))
        elif path.suffix == ".eval" or is_log(path):
            sources.append((path, read_inspect))
        elif path.parent.name == hub_folders.FOLDER and path.suffix == ".yaml":
            sources.append((path, hub_folders.read_hub))
    return sources
