"""What importers share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit_benchmarks_peers.peer_files import component_name
from evalkit_commands_exchange.imports import ImportedRun, OriginalScore


def column_name(tool: str, score: str) -> str:
    """Return the field of responses that holds a score of the tool."""
    return re.sub(r"\W", "_", f"{tool}_{score}")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; other line separators of Unicode end none."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


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
