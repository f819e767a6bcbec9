"""A store of dicts, which can be made to fail."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock

from evalkit.storage import (
    Condition,
    ObjectChangedError,
    ObjectExistsError,
    StoredObject,
    TransferError,
)


class MemoryStore:
    """Keeps objects in this process, under any scheme."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.digests: dict[str, str | None] = {}
        self.written: dict[str, float] = {}
        self.calls: Counter[str] = Counter()
        self.honours = True
        self.cuts = 0
        """How many reads end after half of their bytes."""
        self.before_put: Callable[[str], None] = lambda uri: None
        self.before_read: Callable[[StoredObject], None] = lambda found: None
        self._lock = Lock()

    def add(self, uri: str, content: bytes, digest: str | None = None) -> None:
        self.contents[uri] = content
        self.digests[uri] = digest
        self.written[uri] = time.time()

    def identity(self, uri: str) -> str:
        return "memory"

    def _found(self, uri: str) -> StoredObject | None:
        content = self.contents.get(uri)
        if content is None:
            return None
        etag = hashlib.md5(content).hexdigest()
        modified, digest = self.written[uri], self.digests[uri]
        return StoredObject(uri, len(content), etag, modified, digest)

    def stat(self, uri: str) -> StoredObject | None:
        self.calls["stat"] += 1
        return self._found(uri)

    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        self.calls["read"] += 1
        self.before_read(found)
        now = self._found(found.uri)
        if now is None or now.etag != found.etag:
            raise ObjectChangedError(f"{found.uri}: was changed meanwhile")
        wanted = self.contents[found.uri][start:stop]
        with self._lock:
            is_cut = self.cuts > 0
            self.cuts -= is_cut
        half = len(wanted) // 2
        yield wanted[:half]
        if is_cut:
            raise TransferError(f"{found.uri}: the connection was lost")
        yield wanted[half:]

    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        self.before_put(uri)
        with self._lock:
            self.calls["put"] += 1
            there = self._found(uri)
            is_refused = {
                "always": False,
                "absent": there is not None,
                "match": there is None or there.etag != condition.etag,
            }[condition.kind]
            if is_refused and self.honours:
                raise ObjectExistsError(f"{uri}: is there already")
            digest = None if sha256 is None else f"sha256:{sha256}"
            self.add(uri, path.read_bytes(), digest)
            found = self._found(uri)
            assert found is not None
            return found

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        self.calls["list"] += 1
        for uri in sorted([*self.contents]):
            if uri.startswith(prefix) and (found := self._found(uri)):
                yield found

    def delete(self, uri: str) -> None:
        self.calls["delete"] += 1
        self.contents.pop(uri, None)

    def honours_conditions(self, uri: str) -> bool:
        return self.honours
