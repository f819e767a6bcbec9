"""What a run records of how a plugin's distribution is installed."""

from __future__ import annotations

from typing import Literal

from evalkit.runs.fields import Part, Sha256, Text, Texts


class InstallationSource(Part):
    """Where a distribution was installed from, if not from an index; no address."""

    kind: Text
    """A version control system such as `git`, `archive` or `folder`."""
    commit: Text | None = None
    """The commit that was checked out."""
    hash: Text | None = None
    """Of the archive, as `ALGORITHM=HEX`."""


class Installation(Part):
    """What of a plugin's distribution is as its `RECORD` says.

    Byte code is not looked at. Names are relative to the folder that it is installed
    in.
    """

    kind: Literal["installed", "editable", "unrecorded", "unreadable", "given"]
    """`editable`: its code lies elsewhere; `unrecorded`: it has no `RECORD`;
    `unreadable`: its metadata cannot be read; `given`: it is from no distribution. Only
    of `installed` the files were looked at."""
    source: InstallationSource | None = None
    """Null for one from an index, or where nothing says it."""
    sha256: Sha256 | None = None
    """Over the names and contents of the files in `RECORD`, but for those that differ
    between machines: what installers write, launchers, byte code."""
    differing: Texts = ()
    """Files that are not as `RECORD` says."""
    missing: Texts = ()
    """Files that `RECORD` names and that are no files."""
    unnamed: Texts = ()
    """Files in its packages that `RECORD` does not name."""

    def state_of(self, file: str) -> str:
        """Say in a few words what a file is."""
        states = {
            "differing": "changed",
            "missing": "missing",
            "unnamed": "not in RECORD",
        }
        found = (text for key, text in states.items() if file in getattr(self, key))
        return next(found, "as in RECORD")
