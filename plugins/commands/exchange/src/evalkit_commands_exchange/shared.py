"""What importers share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.errors import DataError
from evalkit_adapters_peers.documents import parse_document
from evalkit_benchmarks_peers.peer_files import component_name
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore, Row

_OWN = {"uid", "id", "input", "answer", "target", "choices", "tags", "input_id"}
_OWN |= {"perturbation"}
"""Fields of examples that have a meaning."""

COMPARING = {name: name for name in ("accuracy", "exact-match", "macro-f1")}
"""Metrics of evalkit that compare texts; an export of evalkit has their scores."""


def column_name(tool: str, score: str) -> str:
    """Return the field of responses that holds a score of the tool."""
    return re.sub(r"\W", "_", f"{tool}_{score}")


def other_fields(fields: Row, prefix: str) -> Row:
    """Return fields of a tool's example; those with a meaning here get the prefix."""
    return {prefix * (key in _OWN) + key: value for key, value in fields.items()}


def read_lines(path: Path, folder: Path, advice: str = "") -> list[Row]:
    """Read JSON lines; other line separators of Unicode end none.

    Raises:
        DataError: The file does not exist, or its name leads out of the folder.
    """
    if ".." in path.relative_to(folder).parts:
        raise DataError(f"{path}: file is outside of {folder}")
    if not path.is_file():
        raise DataError(f"{path}: file not found{advice}")
    lines = enumerate(path.read_bytes().split(b"\n"), 1)
    return [parse_document(x, f"{path}:{n}") for n, x in lines if x.strip()]


def as_text(value: Any) -> str:
    """Return a text, or the messages of a conversation as one."""
    if isinstance(value, str):
        return value
    return "\n\n".join(f"{part['role']}: {part['content']}" for part in value)


def without_examples(
    tool: str, path: Path, dataset: str, model: str, numbers: Mapping[str, Any]
) -> ImportedRun:
    """Return a run of which there are only the tool's numbers."""
    scores = [OriginalScore(name, float(value)) for name, value in numbers.items()]
    return ImportedRun(tool, path, [path], component_name(dataset), model, scores, {})
