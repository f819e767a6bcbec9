"""Names of what a hub keeps: `hf://datasets/OWNER/NAME[@REVISION][/PATH]`."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from evalkit.errors import StorageError

_SHAPE = re.compile(
    r"hf://datasets/(?P<repository>[^/@]+/[^/@]+)"
    # these names of revisions hold slashes; others are written with %2F
    r"(?:@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?"
    r"(?:/(?P<path>.*))?",
    re.DOTALL,
)


class HubPlace(NamedTuple):
    """A file or folder of a data set on a hub."""

    repository: str
    """Owner and name of the data set."""
    revision: str | None
    """A branch, a tag or a commit; None for what the hub takes where none is named."""
    path: str
    """From the data set on; "" for all of it."""


def parse_hub_place(uri: str) -> HubPlace:
    """Take a URI apart.

    Args:
        uri: The URI.

    Raises:
        StorageError: It names no data set.
    """
    found = _SHAPE.fullmatch(uri)
    if found is None:
        raise StorageError(
            f"{uri}: names no data set of a hub: write "
            "hf://datasets/OWNER/NAME[@REVISION][/PATH]"
        )
    revision = found["revision"]
    return HubPlace(
        found["repository"],
        None if revision is None else unquote(revision),
        found["path"] or "",
    )


def permanent_uri(repository: str, commit: str, path: str) -> str:
    """Return the URI of a file as it is in a commit."""
    return f"hf://datasets/{repository}@{commit}/{path}"
