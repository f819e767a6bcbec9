"""Values of other tools' files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


def column_name(tool: str, score: str) -> str:
    """Return the field of responses that holds a score of the tool."""
    return re.sub(r"\W", "_", f"{tool}_{score}")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; other line separators of Unicode end none."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def as_text(given: Any) -> str:
    """Return a text, or the messages of a conversation as one."""
    if isinstance(given, str):
        return given
    return "\n\n".join(f"{part['role']}: {part['content']}" for part in given)
