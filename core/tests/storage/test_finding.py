"""The store of a scheme is found by an entry point, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import evalkit
from evalkit.errors import (
    PluginContractError,
    PluginError,
    PluginLoadError,
    StorageError,
)
from evalkit.storage import ALWAYS, Store, StoredObject, forget_stores, store_of

CODE = """
from evalkit.errors import StorageError


class Whole:
    def identity(self, uri):
        return "here"

    def stat(self, uri):
        return None

    def list_objects(self, prefix):
        return iter(())

    def read(self, found, start, stop):
        raise StorageError("no")

    def put(self, path, uri, condition, *, sha256=None):
        raise StorageError("no")

    def delete(self, uri):
        raise StorageError("no")

    def honours_conditions(self, uri):
        return True


class Half:
    def stat(self, uri):
        return None


class Mistaken(Whole):
    # a mistake in each method

    def identity(self, uri):
        return 1

    def stat(self, uri):
        return {"uri": uri} if "dict" in uri else {}[uri]

    def read(self, found, start, stop):
        return b"abc"

    def list_objects(self, prefix):
        yield "one"

    def put(self, path, uri, condition, *, sha256=None):
        return None

    def honours_conditions(self, uri):
        raise SystemExit(uri)


class Failing:
    def __init__(self):
        raise ValueError("no configuration")
"""


@pytest.fixture(autouse=True)
def stores(fake_distribution: Callable[..., object]) -> None:
    names = {"ww": "Whole", "hh": "Half", "ff": "Failing", "aa": "Absent"}
    names["mm"] = "Mistaken"
    fake_distribution(CODE, {"evalkit.storage": names}, name="their-stores")
    forget_stores()


def test_a_store_is_built_once() -> None:
    found = store_of("ww://b/k")
    assert found.identity("ww://b/k") == "here"
    assert store_of("WW://other") is found
    forget_stores()
    assert store_of("ww://b/k") is not found


@pytest.mark.parametrize(
    ("scheme", "error", "message"),
    [
        (
            "hh",
            PluginContractError,
            r"storage/hh \(their-stores .*lacks identity, r",
        ),
        ("ff", PluginLoadError, r"storage/ff .*constructing it failed with ValueError"),
        ("aa", PluginLoadError, r"storage/aa .*importing "),
    ],
)
def test_a_broken_store_is_named(
    scheme: str, error: type[evalkit.EvalkitError], message: str
) -> None:
    with pytest.raises(error, match=message):
        store_of(f"{scheme}://b/k")


MISTAKES: dict[str, tuple[Callable[[Store], object], str]] = {
    "identity": (
        lambda store: store.identity("mm://b/k"),
        r"identity of mm://b/k must give a text, gave 1",
    ),
    "stat": (
        lambda store: store.stat("mm://b/dict"),
        r"stat of mm://b/dict must give an evalkit.storage.StoredObject, or None where",
    ),
    "stat that fails": (
        lambda store: store.stat("mm://b/k"),
        r"stat of mm://b/k failed with KeyError: 'mm://b/k'",
    ),
    "read": (
        lambda store: [*store.read(StoredObject("mm://b/k", 3, "e", 0.0), 0, 3)],
        r"read of mm://b/k must give pieces of bytes; `yield` them, or .*, gave 97",
    ),
    "list_objects": (
        lambda store: [*store.list_objects("mm://b/")],
        r"list_objects of mm://b/ must give an .*StoredObject; .*, gave 'one'",
    ),
    "put": (
        lambda store: store.put(Path("f"), "mm://b/k", ALWAYS),
        r"put of mm://b/k must give an evalkit.storage.StoredObject, gave None",
    ),
    "honours_conditions": (
        lambda store: store.honours_conditions("mm://b/k"),
        r"honours_conditions of mm://b/k failed with SystemExit: .*must not end",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_a_store_is_told_as_its_own(mistake: str) -> None:
    call, message = MISTAKES[mistake]
    with pytest.raises(PluginError, match=rf"storage/mm \(their-stores .*{message}"):
        call(store_of("mm://b/k"))


def test_pieces_that_nobody_wants_any_more_are_given_up() -> None:
    closed: list[str] = []

    def pieces() -> Iterator[bytes]:
        try:
            yield b"a"
            yield b"b"
        finally:
            closed.append("closed")

    store = store_of("ww://b/k")
    store.guarded.read = lambda found, start, stop: pieces()  # type: ignore[attr-defined]
    read = store.read(StoredObject("ww://b/k", 2, "e", 0.0), 0, 2)
    assert next(iter(read)) == b"a"
    read.close()  # type: ignore[attr-defined]
    assert closed == ["closed"]


def test_an_unknown_scheme_names_those_that_there_are() -> None:
    with pytest.raises(
        StorageError, match=r"zz://b/k: zz:// is read .* hh://, mm://, s3://"
    ):
        store_of("zz://b/k")


def test_a_store_that_is_not_installed_names_its_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from evalkit.storage import finding

    catalog = finding.find_components()
    without = catalog._replace(
        components=tuple(each for each in catalog.components if each.name != "s3")
    )
    monkeypatch.setattr(finding, "find_components", lambda: without)
    with pytest.raises(StorageError, match=r"s3:// needs .*pip install evalkit-stor"):
        store_of("s3://b/k")
