"""What a place that keeps objects, such as a bucket, must offer to evalkit.

A store is found by the scheme of a URI: a class that an entry point of the group
`evalkit.storage` names, whose name is the scheme. It is built without arguments, once
in a process, and used by several threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Protocol


class StoredObject(NamedTuple):
    """An object as it was when it was looked at."""

    uri: str
    size: int
    """In bytes."""
    etag: str
    """Changes with the content; means nothing else."""
    modified: float
    """When it was written, in seconds since 1970 by the store's clock."""
    digest: str | None = None
    """Of its content, as `sha256:` or `md5:` and hex digits, or `maybe-md5:` where they
    may be something else; None where the store knows none."""
    permanent: str | None = None
    """A URI that names this version whatever is written later, where the store has
    such ones; a run of data that it holds records it."""


class Condition(NamedTuple):
    """When a write may take place."""

    kind: Literal["always", "absent", "match"]
    etag: str = ""
    """What must be there, of the kind `match`."""


ALWAYS = Condition("always")
IF_ABSENT = Condition("absent")


def if_match(found: StoredObject) -> Condition:
    """Return the condition that an object is still what it was."""
    return Condition("match", found.etag)


class Store(Protocol):
    """A place that keeps objects under URIs.

    Every method raises `StorageError`, with a message that names the URI, says what to
    do and holds no credentials. A failure that may pass, such as a lost connection, is
    a `TransferError`. Of a store that only reads, `put`, `delete` and
    `honours_conditions` raise a `StorageError` that says so.
    """

    def identity(self, uri: str) -> str:
        """Return what tells two places with equal URIs apart, such as the server.

        Args:
            uri: Any URI of the scheme.

        Returns:
            A text without credentials.
        """

    def stat(self, uri: str) -> StoredObject | None:
        """Look at an object.

        Args:
            uri: Where it is.

        Returns:
            What is there; None where nothing is.
        """

    def read(self, found: StoredObject, start: int, stop: int) -> Iterable[bytes]:
        """Read a range of an object, as long as it is the one that was looked at.

        Args:
            found: The object.
            start: The first byte.
            stop: The byte after the last one.

        Returns:
            The bytes, in pieces.

        Raises:
            ObjectChangedError: There is another object by now.
            TransferError: The connection was lost; what came before is right.
        """

    def put(
        self,
        path: Path,
        uri: str,
        condition: Condition,
        *,
        sha256: str | None = None,
    ) -> StoredObject:
        """Write a file as an object, whole or not at all.

        Args:
            path: The file.
            uri: Where to.
            condition: When.
            sha256: Of the file, to be recorded with the object.

        Returns:
            The object that was written.

        Raises:
            ObjectExistsError: The condition does not hold.
        """

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        """List the objects whose URIs begin with a text.

        Args:
            prefix: The text, which ends with a slash.

        Yields:
            The objects, sorted by URI.
        """

    def delete(self, uri: str) -> None:
        """Delete an object; nothing happens where none is."""

    def honours_conditions(self, uri: str) -> bool:
        """Tell whether writes at a place depend on their conditions.

        Args:
            uri: A place that may be written to for the test, and where nothing is.

        Returns:
            Whether they do; a server that ignores conditions says nothing of it.
        """
