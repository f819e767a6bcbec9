"""Export runs to the formats of other evaluation tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from evalkit import DataError, Result
from evalkit.errors import ObjectExistsError, StorageError
from evalkit.reporting import count_of, new_file
from evalkit.runs import as_result
from evalkit_commands_exchange.exported import Format, Writer, file_name, label


class Export(NamedTuple):
    """What an export wrote."""

    files: tuple[Path, ...]
    notices: tuple[str, ...]
    """What the format cannot hold, and which scores are missing."""


def export_runs(
    format: Format,
    runs: Sequence[Result | str | Path],
    out: str | Path,
    *,
    folder: str | Path = "runs",
    overwrite: bool = False,
) -> Export:
    """Write runs in the format of another evaluation tool.

    Nothing is written if one of the runs cannot be exported, or if a file exists.

    Args:
        format: `dynabench`, `helm`, `hub`, `lm-eval` or `seahelm`.
        runs: Results, or names of runs as `find_run` takes them; of unperturbed
            examples. The runs of their perturbed examples are found.
        out: Folder to write to.
        folder: Folder that names of runs are looked for in.
        overwrite: Whether to replace files that exist.

    Returns:
        The files and the notices.

    Raises:
        DataError: The format cannot hold one of the runs.
        ObjectExistsError: A file exists, and `overwrite` is false.
        StorageError: A run cannot be read, or a file cannot be written.
    """
    notices: list[str] = []
    results = [_exportable(as_result(run, folder), notices) for run in runs]
    for name, count in Counter(file_name(label(run)) for run in results).items():
        if count > 1:
            raise DataError(f"{name}: expected 1 run, got {count}. Export one of them")
    module = f"{__package__}.{format.replace('-', '_')}_export"
    write: Writer = import_module(module).write
    texts: dict[Path, str] = {}
    for name, text in write(results, notices):
        path = Path(out) / name
        if path in texts:
            raise DataError(f"{path}: file of two models. Export one of them")
        if path.exists() and not overwrite:
            raise ObjectExistsError(
                f"{path}: file exists, so nothing was written. Use another folder, or "
                "allow to replace files (--overwrite, overwrite=True)"
            )
        texts[path] = text
    files = tuple(_write(path, text) for path, text in texts.items())
    return Export(files, tuple(dict.fromkeys(notices)))


def _exportable(run: Result, notices: list[str]) -> Result:
    """Refuse a run that has no scores or is no run of its own."""
    record, where = run.record, run.path or run.run_id
    if record.timings is None:
        raise DataError("scores of two lists cannot be exported. Use evaluate()")
    if record.status == "refused":
        raise DataError(f"{where}: the run was refused, so it has no scores to export")
    if record.perturbation is not None:
        raise DataError(
            f"{where}: the run is of perturbed examples. Export the run of the "
            f"unperturbed ones, {record.original}"
        )
    if not record.selection.is_whole:
        examples = count_of(record.counts.examples, "example")
        notices.append(f"{where}: only {examples} of the dataset were evaluated")
    main = run.headline
    if main is not None and main.coverage not in (None, 1):
        share = f"{main.coverage:.1%} of the examples"
        notices.append(f"{label(run)}: {main.metric} covers {share}")
    return run


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{path.parent}: {error.strerror or error}") from error
    with new_file(path, overwrite=True) as part:
        part.write_text(text, encoding="utf-8")
    return path
