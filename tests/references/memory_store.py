"""A place of dicts, which can be made to fail."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock

from evalkit.errors import ObjectExistsError
from evalkit.places import Entry, Place, is_offline, kept, last_kept


class MemoryStore(Place):
    """Keeps files in this process, under any scheme."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.calls: Counter[str] = Counter()
        self.before_put: Callable[[str], None] = lambda uri: None
        self.before_read: Callable[[str], None] = lambda uri: None
        self._lock = Lock()

    def add(self, uri: str, content: bytes) -> None:
        self.contents[uri] = content

    def version(self, uri: str) -> str:
        return hashlib.md5(self.contents[uri]).hexdigest()

    def local(self, uri: str) -> Path | None:
        if is_offline():
            return last_kept(uri)
        self.calls["local"] += 1
        if uri not in self.contents:
            return None

        def read(path: Path) -> None:
            self.calls["read"] += 1
            self.before_read(uri)
            path.write_bytes(self.contents[uri])

        return kept(uri, self.version(uri), read)

    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        self.before_put(uri)
        with self._lock:
            self.calls["put"] += 1
            if uri in self.contents and not overwrite:
                raise ObjectExistsError(f"{uri}: a file is there")
            self.add(uri, path.read_bytes())

    def list(self, uri: str) -> Iterator[Entry]:
        self.calls["list"] += 1
        for name in sorted(self.contents):
            if name.startswith(uri) and (uri.endswith("/") or name == uri):
                yield Entry(name, self.version(name))
