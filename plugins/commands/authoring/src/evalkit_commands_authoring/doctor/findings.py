"""What an examination found, and the commands that mend it."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from typing import NamedTuple

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)
"""From the worst: what breaks something, what may, and what is only worth knowing."""


class Finding(NamedTuple):
    """One thing about the environment that its user should know."""

    severity: str
    """One of `SEVERITIES`."""
    check: str
    """What was looked at, such as `editable`."""
    subject: str
    """The distribution, plugin, variable or folder that it is about."""
    message: str
    """What was found."""
    meaning: str
    """What follows from it."""
    mend: str
    """What to do: a command where one does it."""


def pip(*words: str) -> str:
    """Return the command that runs pip, or else uv, for this very environment."""
    python = shlex.quote(sys.executable)
    quoted = " ".join(map(shlex.quote, words))
    if importlib.util.find_spec("pip") is None:
        verb, _, rest = quoted.partition(" ")
        return f"uv pip {verb} --python {python} {rest}".replace(" --yes", "")
    return f"{python} -m pip {quoted}"


def reinstall(name: str) -> str:
    """Return the command that installs a distribution anew."""
    return pip("install", "--force-reinstall", "--no-deps", name)


def remove_folder(folder: str) -> str:
    """Return the command that removes a folder."""
    return f"rm -r {shlex.quote(folder)}"


def enumerated(names: list[str], most: int = 5) -> str:
    """Return names with commas, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
