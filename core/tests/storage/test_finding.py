"""The store of a scheme is found by an entry point, and checked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import evalkit
from evalkit.errors import PluginContractError, PluginLoadError, StorageError
from evalkit.storage import forget_stores, store_of

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


class Failing:
    def __init__(self):
        raise ValueError("no configuration")
"""


@pytest.fixture(autouse=True)
def stores(fake_distribution: Callable[..., object]) -> None:
    names = {"ww": "Whole", "hh": "Half", "ff": "Failing", "aa": "Absent"}
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


def test_an_unknown_scheme_names_those_that_there_are() -> None:
    with pytest.raises(StorageError, match=r"zz://b/k: zz:// is read .* hh://, s3://"):
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
