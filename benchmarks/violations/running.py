"""Runs the kit's check of a copy, and says what became of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.violations.copies import ROOT, copy_to
from benchmarks.violations.entry import Violation

_SECONDS = 240


class Outcome(NamedTuple):
    """What the check of a copy said."""

    found: str
    """The law, or `loading` where the plugin is refused before; empty for nothing."""
    failed: str
    """How the check itself failed; empty where it did not."""
    message: str


def checked(plugin: str, violation: Violation | None = None) -> Outcome:
    """Check a throw-away copy of a plugin.

    Args:
        plugin: As in `Violation.plugin`.
        violation: What is changed; None for nothing.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder, plugin, violation)
        given = [sys.executable, "-m", "benchmarks.violations.one", plugin, name]
        path = os.pathsep.join((name, str(ROOT), os.environ.get("PYTHONPATH", "")))
        settings = {"PYTHONPATH": path, "EVALKIT_CACHE_DIR": str(folder / "cache")}
        try:
            done = subprocess.run(
                given,
                cwd=folder,
                env={**os.environ, **settings},
                capture_output=True,
                encoding="utf-8",
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Outcome("", f"it took more than {_SECONDS} s", "")
    try:
        said = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return Outcome("", f"it ended with {done.returncode}", done.stderr[-2000:])
    return _outcome(said["law"], said["error"], said["message"])


def _outcome(law: str | None, error: str, message: str) -> Outcome:
    if law:
        return Outcome(law, "", message)
    if error.endswith("LawError"):
        return Outcome("", "it was not tried", message)
    if error.startswith("Plugin") or error == "UnknownPluginError":
        return Outcome("loading", "", message)
    return Outcome("", error, message)
