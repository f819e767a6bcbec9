"""One check of a law of stores: the store, and where it is tried."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from evalkit.storage import ALWAYS, Condition, Store, StoredObject

from evalkit_testing.laws import LawBroken

CONTENT = bytes(range(256)) * 3
"""What is written where it does not matter what."""


@dataclass
class Trial:
    """A store, and where it is tried."""

    store: Store
    place: str
    known: Mapping[str, bytes]
    secrets: Sequence[str]
    files: Path

    def put(
        self, uri: str, content: bytes, condition: Condition = ALWAYS
    ) -> StoredObject:
        """Write bytes where a condition holds."""
        path = self.files / uuid.uuid4().hex
        path.write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        return self.store.put(path, uri, condition, sha256=sha256)

    def found(self, uri: str) -> StoredObject:
        """Look at an object that is there."""
        found = self.store.stat(uri)
        if found is None:
            raise LawBroken(f"stat says that nothing is at {uri}, where it was written")
        return found

    def content(self, found: StoredObject) -> bytes:
        """Read an object."""
        return b"".join(self.store.read(found, 0, found.size))

    @contextmanager
    def folder(self) -> Iterator[str]:
        """Give a folder of its own, of which nothing stays."""
        folder = f"{self.place.rstrip('/')}/{uuid.uuid4().hex}/"
        try:
            yield folder
        finally:
            with suppress(Exception):
                for each in [*self.store.list_objects(folder)]:
                    self.store.delete(each.uri)

    @contextmanager
    def objects(self) -> Iterator[Mapping[str, bytes]]:
        """Give contents by their URIs: those that are known, or one that is written."""
        with self.folder() as folder:
            if self.known:
                yield self.known
                return
            uri = f"{folder}it.bin"
            self.put(uri, CONTENT)
            yield {uri: CONTENT}
