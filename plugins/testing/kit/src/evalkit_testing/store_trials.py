"""One check of a law of places: the place, and where it is tried."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.places import Place
from evalkit_testing.laws import LawBroken

CONTENT = bytes(range(256)) * 3
"""Content of files where any content will do."""


@dataclass
class Trial:
    """A place, and where it is tried."""

    place: Place
    root: str
    known: Mapping[str, bytes]
    secrets: Sequence[str]
    files: Path

    def new_folder(self) -> str:
        """Return the URI of a folder without files."""
        return f"{self.root.rstrip('/')}/{uuid.uuid4().hex}/"

    def put(self, uri: str, content: bytes, *, overwrite: bool = True) -> None:
        """Write bytes."""
        path = self.files / uuid.uuid4().hex
        path.write_bytes(content)
        self.place.put(path, uri, overwrite=overwrite)

    def read(self, uri: str) -> bytes:
        """Read a file that is there."""
        path = self.place.local(uri)
        if path is None:
            raise LawBroken(f"local returns None for {uri}, which is there")
        return path.read_bytes()

    def names(self, folder: str) -> list[str]:
        """Return the URIs below a folder."""
        return [entry.uri for entry in self.place.list(folder)]
