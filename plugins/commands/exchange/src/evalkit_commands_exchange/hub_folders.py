"""Reads the scores of `.eval_results` in the repository of a model on the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from evalkit_adapters_peers.values import object_of, value_at
from evalkit_benchmarks_peers.peer_files import read_peer_file
from evalkit_commands_exchange.imports import ImportedRun
from evalkit_commands_exchange.shared import without_examples

FOLDER = ".eval_results"


def read_hub(path: Path) -> Iterator[Callable[[], ImportedRun]]:
    """Read a file of scores."""
    values = read_peer_file(path).values
    for each in values if isinstance(values, list) else [values]:
        entry = object_of(each, str(path))
        name, task = value_at(entry, "dataset.id"), value_at(entry, "dataset.task_id")
        metric = f"{task} ({entry['notes']})" if entry.get("notes") else str(task)
        numbers, model = {metric: value_at(entry, "value")}, path.absolute().parents[1]
        place = path, f"{name}-{task}", model.name, numbers
        yield partial(without_examples, "Hugging Face hub", *place)
