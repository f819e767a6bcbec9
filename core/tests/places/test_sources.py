"""Where a publisher's files are looked for, and what is said where they are not."""

import gc
import hashlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from memory_store import MemoryStore

from evalkit import DataError, Dataset, Source
from evalkit.examples.datasets import locate
from evalkit.plugins.sources import cache_folder, is_offline

CONTENT = b"the publisher's own words\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
URL = "https://publisher.invalid/words.txt"


class Folders:
    """A user's folder and a cache, neither of which exists at first."""

    def __init__(self, root: Path) -> None:
        self.data = root / "data"
        self.cache = root / "cache"

    def write(self, folder: Path, content: bytes = CONTENT) -> Path:
        file = folder / "greetings" / "words.txt"
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        return file

    def files(self) -> list[Path]:
        folders = (self.data, self.cache)
        return [f for folder in folders for f in folder.rglob("*") if f.is_file()]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    """Point to two folders of the test, with the network forbidden."""
    found = Folders(tmp_path)
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(found.data))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(found.cache))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    return found


def find(url: str = URL, sha256: str | None = SHA256, file: str = "words.txt") -> Path:
    return locate("greetings", file, Source(url, sha256))


def message_of_failure(url: str = URL, sha256: str | None = SHA256) -> str:
    with pytest.raises(DataError) as caught:
        find(url, sha256)
    return str(caught.value)


# The order


def test_users_own_folder_comes_before_the_cache(folders: Folders) -> None:
    own = folders.write(folders.data)
    folders.write(folders.cache)
    assert find() == own


def test_cache_comes_second(folders: Folders) -> None:
    folders.data.mkdir()
    cached = folders.write(folders.cache)
    assert find() == cached


@pytest.mark.parametrize("value", [None, ""])
def test_cache_is_used_where_the_users_folder_is_unset_or_empty(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None
) -> None:
    # "" must not mean the current folder, where such a file lies too
    monkeypatch.chdir(tmp_path)
    folders.write(tmp_path)
    if value is None:
        monkeypatch.delenv("EVALKIT_DATA_DIR")
    else:
        monkeypatch.setenv("EVALKIT_DATA_DIR", value)
    cached = folders.write(folders.cache)
    assert find() == cached


@pytest.mark.parametrize("value", [None, ""])
def test_cache_is_in_the_users_home_where_none_is_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("EVALKIT_CACHE_DIR", raising=False)
    else:
        monkeypatch.setenv("EVALKIT_CACHE_DIR", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    folder = cache_folder()
    assert folder.is_relative_to(tmp_path)
    assert folder.name == "evalkit"
    assert list(tmp_path.iterdir()) == []


# The hash


def test_users_own_file_may_differ_from_the_published_one(folders: Folders) -> None:
    own = folders.write(folders.data, b"edited")
    assert find() == own


def test_cached_file_must_have_the_declared_hash(folders: Folders) -> None:
    cached = folders.write(folders.cache, b"damaged")
    message = message_of_failure()
    for part in (str(cached), SHA256, hashlib.sha256(b"damaged").hexdigest(), URL):
        assert part in message
    assert "SHA-256" in message
    assert cached.read_bytes() == b"damaged"


def test_cached_file_of_unknown_hash_is_taken(folders: Folders) -> None:
    cached = folders.write(folders.cache, b"anything")
    assert find(sha256=None) == cached


# Offline


def test_offline_the_message_says_which_file_to_put_where(folders: Folders) -> None:
    message = message_of_failure()
    wanted = folders.data / "greetings" / "words.txt"
    assert "data set greetings needs the file words.txt" in message
    assert f"Get it from {URL} and put it at {wanted}" in message
    assert "unset EVALKIT_OFFLINE" in message
    assert folders.files() == []


def test_offline_without_a_folder_the_message_names_the_variable(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALKIT_DATA_DIR")
    message = message_of_failure()
    assert (
        "set EVALKIT_DATA_DIR to a folder FOLDER and put it at "
        "FOLDER/greetings/words.txt"
    ) in message
    assert URL in message


@pytest.mark.parametrize(
    ("value", "offline"),
    [
        (None, False),
        *[(value, False) for value in ("", " ", "0", "false", "No", "OFF")],
        *[(value, True) for value in ("1", "true", "YES", "on", "2")],
    ],
)
def test_offline_is_any_value_that_does_not_say_no(
    monkeypatch: pytest.MonkeyPatch, value: str | None, offline: bool
) -> None:
    if value is None:
        monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    else:
        monkeypatch.setenv("EVALKIT_OFFLINE", value)
    assert is_offline() is offline


# Fetching


class Publisher:
    """A server on this machine.

    Attributes:
        requests: The paths that were asked for.
    """

    def __init__(self) -> None:
        requests: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                found = self.path != "/absent.txt"
                self.send_response(200 if found else 404)
                missing = 10 if self.path == "/broken-off.txt" else 0
                self.send_header("Content-Length", str(len(CONTENT) + missing))
                self.end_headers()
                self.wfile.write(CONTENT)

            def log_message(self, format: str, *arguments: object) -> None:
                """Keep quiet."""

        self.requests = requests
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}
        )

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{name}"


@pytest.fixture
def publisher(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """Start a server, and allow the network."""
    monkeypatch.delenv("EVALKIT_OFFLINE")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    found = Publisher()
    found.thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    found.thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("sha256", [SHA256, None])
def test_file_is_fetched_once_into_the_cache(
    folders: Folders, publisher: Publisher, sha256: str | None
) -> None:
    wanted = folders.cache / "greetings" / "words.txt"
    for _ in range(2):
        assert find(publisher.url("words.txt"), sha256) == wanted
        assert wanted.read_bytes() == CONTENT
    assert publisher.requests == ["/words.txt"]
    assert folders.files() == [wanted]


@pytest.mark.slow
def test_fetched_file_of_another_hash_is_thrown_away(
    folders: Folders, publisher: Publisher
) -> None:
    url = publisher.url("words.txt")
    message = message_of_failure(url, "0" * 64)
    assert "fetching it failed" in message
    assert SHA256 in message
    assert "0" * 64 in message
    assert url in message
    assert folders.files() == []


@pytest.mark.slow
# pooch does not close a connection that broke off
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize(
    ("name", "reason"), [("absent.txt", "404"), ("broken-off.txt", "10 more expected")]
)
@pytest.mark.parametrize("sha256", [SHA256, None])
def test_no_half_file_is_left_behind(
    folders: Folders, publisher: Publisher, name: str, reason: str, sha256: str | None
) -> None:
    message = message_of_failure(publisher.url(name), sha256)
    assert "data set greetings needs the file words.txt (fetching it failed" in message
    assert reason in message
    assert str(folders.data / "greetings" / "words.txt") in message
    assert folders.files() == []
    gc.collect()


@pytest.mark.slow
def test_server_that_does_not_answer_is_a_data_error(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALKIT_OFFLINE")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as bound:
        # bound but not listening: connections are refused
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/words.txt"
        message = message_of_failure(url)
    assert "fetching it failed: ConnectionError" in message
    assert f"Get it from {url} and put it at {folders.data}" in message
    assert "EVALKIT_OFFLINE" not in message
    assert folders.files() == []


@pytest.mark.slow
def test_cache_that_cannot_be_written_is_a_data_error(
    folders: Folders, publisher: Publisher
) -> None:
    folders.cache.write_text("a file where the folder should be")
    message = message_of_failure(publisher.url("words.txt"))
    assert "data set greetings needs the file words.txt" in message


# Stores


@pytest.fixture
def stored(folders: Folders, store: MemoryStore) -> Folders:
    """Point to the folders of the test, with the file in a store."""
    store.add("mem://b/folder/object.txt", CONTENT)
    return folders


STORED = "mem://b/folder/object.txt"


def test_object_is_fetched_once(
    stored: Folders, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    for _ in range(2):
        assert find(STORED, file="en/words.txt").read_bytes() == CONTENT
    assert store.calls["read"] == 1
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    assert find(STORED, file="en/words.txt").read_bytes() == CONTENT


def test_offline_nothing_is_asked_of_the_store(
    stored: Folders, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    message = message_of_failure(STORED)
    assert f"{STORED}: not in the cache" in message
    assert f"put it at {stored.data / 'greetings' / 'words.txt'}" in message
    assert "unset EVALKIT_OFFLINE" in message
    assert not store.calls


def test_object_of_another_hash_is_not_taken(
    stored: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    message = message_of_failure(STORED, "0" * 64)
    assert f"its SHA-256 is {SHA256}, declared is {'0' * 64}" in message
    assert f"Get it from {STORED} and put it at" in message
    assert not (stored.cache / "greetings").exists()


def test_a_data_set_loads_from_a_store(
    stored: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)

    class Greetings(Dataset):
        name = "greetings"
        sources = {"words.txt": Source(STORED, SHA256)}

        def load(self, split: str) -> list[dict[str, str]]:
            return [{"uid": "1", "text": self.file("words.txt").read_text()}]

    greetings = Greetings()
    assert greetings.load("test") == [{"uid": "1", "text": CONTENT.decode()}]
    assert [*greetings.located_files] == ["words.txt"]
