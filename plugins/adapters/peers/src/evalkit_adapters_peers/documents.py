"""Files that are one JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.errors import AdapterError

MOST_BYTES = 2 << 30
"""How large a document may be: it is read at once."""


def read_document(path: Path) -> Any:
    """Read a file that is one JSON document."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise AdapterError(f"a document may have {MOST_BYTES >> 30} GiB")
        content = path.read_bytes()
    except OSError as error:
        raise AdapterError(f"cannot be read: {error.strerror or error}") from error
    return parse_document(content)


def parse_document(content: bytes, name: str = "") -> Any:
    """Parse a JSON document."""
    where = f"{name}: " if name else ""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise AdapterError(f"{where}nesting is too deep") from error
    except ValueError as error:  # UnicodeDecodeError too
        raise AdapterError(f"{where}invalid JSON: {error}") from error
