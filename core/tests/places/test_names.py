"""Names of remote places."""

from pathlib import Path

import pytest

from evalkit.errors import DataError
from evalkit.places.names import base_name, is_remote, join, uri_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s3://bucket/a/b.jsonl", True),
        ("s3:/bucket/a", True),  # as a path
        ("gs+x://b", True),
        ("s3://", True),
        ("s3:///b/k", True),
        ("a/b.jsonl", False),
        ("runs:model", False),
        ("C:\\data", False),
        ("s3:", False),
        ("/s3://b", False),
        ("model@set:variant/x", False),
    ],
)
def test_remote_names_are_known(name: str, expected: bool) -> None:
    assert is_remote(name) is expected


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("s3://b/k", "s3://b/k"),
        (Path("s3://b/k"), "s3://b/k"),
        ("S3://b/k/", "s3://b/k/"),
        ("s3://b", "s3://b/"),
        ("s3://b/ä ö/%20?x#y", "s3://b/ä ö/%20?x#y"),
    ],
)
def test_uris_are_written_in_full(name: str | Path, uri: str) -> None:
    assert uri_of(name) == uri


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("runs/x", "not a URI such as"),
        ("s3://", "names no bucket"),
        ("s3:///key", "names no bucket: write s3://BUCKET/FILE"),
        ("file:///key", "names no bucket: write its path"),
        ("s3://b/\n", "control character"),
        ("ssh://me:SECRET@host/k", "^ssh://…@host: a URI must not contain a password"),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        uri_of(name)


def test_parts_are_joined_and_taken_apart() -> None:
    assert join("s3://b/", "x", "y.json") == "s3://b/x/y.json"
    assert join("s3://b/f", "") == "s3://b/f/"
    assert base_name("s3://b/f/x.json") == "x.json"
    assert base_name("s3://b/f/") == "f"
