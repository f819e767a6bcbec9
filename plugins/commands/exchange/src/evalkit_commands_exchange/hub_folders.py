"""Reads the scores of `.eval_results` in the repository of a model on the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from evalkit_adapters_peers.values import object_of, value_at
from evalkit_benchmarks_peers.peer_files import component_name, read_peer_file
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore

FOLDER = ".eval_results"


def read_hub(path: Path) -> Iterator[Callable[[], ImportedRun]]:
    """Read a file of scores: each is a run without examples."""
    entries = read_peer_file(path).values
    for entry in entries if isinstance(entries, list) else [entries]:
        yield partial(_read_entry, path, object_of(entry, str(path)))


def _read_entry(path: Path, entry: dict[str, Any]) -> ImportedRun:
    name, task = value_at(entry, "dataset.id"), value_at(entry, "dataset.task_id")
    notes = f" ({entry['notes']})" if entry.get("notes") else ""
    return ImportedRun(
        tool="Hugging Face hub",
        source=path,
        files=[path],
        dataset=component_name(str(name), str(task)),
        model=path.absolute().parent.parent.name,
        scores=[OriginalScore(f"{task}{notes}", float(value_at(entry, "value")))],
        settings=entry,
    )
