"""Distributions that exist only for a test, and commands that are run in one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

USUAL_NAME = "evalkit-thrown-away"
"""What a distribution is called that is given no name."""

METADATA = {
    "Metadata-Version": "2.4",
    "Summary": "A distribution made by a test",
    "License-Expression": "Apache-2.0",
    "Requires-Dist": "evalkit-core",
}


class ThrowAway(NamedTuple):
    """A distribution that is installed as long as a test lasts."""

    name: str
    module: str
    """Its one module, which no other distribution has."""
    folder: Path
    """What is put on the path."""


def write_distribution(
    folder: Path,
    code: str,
    entry_points: Mapping[str, Mapping[str, str]],
    *,
    name: str = USUAL_NAME,
    version: str = "1.2.3",
    metadata: Mapping[str, str | None] | None = None,
) -> ThrowAway:
    """Write a distribution into a folder, as pip would have installed it.

    Args:
        folder: Where to; it is put on the path by somebody else.
        code: Source of its one module.
        entry_points: Name to object, by group (`evalkit.metrics`). An object without a
            colon is an attribute of the module.
        name: Its name.
        version: Its version.
        metadata: Fields of its metadata in place of the usual ones; None for none.

    Returns:
        What was made.
    """
    module = f"thrown_away_{uuid.uuid4().hex}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    fields = {**METADATA, "Name": name, "Version": version, **(metadata or {})}
    header = [f"{key}: {value}" for key, value in fields.items() if value is not None]
    about = "" if fields.get("Summary") is None else f"# {name}\n"
    (info / "METADATA").write_text("\n".join([*header, "", about]), encoding="utf-8")
    lines = []
    for group, objects in entry_points.items():
        lines.append(f"[{group}]")
        for key, target in objects.items():
            value = target if ":" in target else f"{module}:{target}"
            lines.append(f"{key} = {value}")
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ThrowAway(name, module, folder)


@contextmanager
def on_the_path(made: ThrowAway) -> Iterator[ThrowAway]:
    """Have this process, and those that it starts, find a distribution."""
    folder, before = str(made.folder), os.environ.get("PYTHONPATH")
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, before]))
    try:
        yield made
    finally:
        sys.path.remove(folder)
        sys.modules.pop(made.module, None)
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


class CommandRun(NamedTuple):
    """A command that has ended; its methods check it, and return it."""

    arguments: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    def _refuse(self, what: str) -> None:
        words = " ".join(self.arguments)
        raise AssertionError(
            f"evalkit {words} {what}\n"
            f"  exit code: {self.exit_code}\n"
            f"  standard output: {self.stdout[-2000:]}\n"
            f"  standard error: {self.stderr[-2000:]}"
        )

    def ok(self) -> Self:
        """Check that it did its work, with the exit code 0."""
        return self.ends_with(0)

    def ends_with(self, exit_code: int) -> Self:
        """Check its exit code."""
        if self.exit_code != exit_code:
            self._refuse(f"does not end with {exit_code}")
        return self

    def says(self, *texts: str) -> Self:
        """Check that it wrote texts to the standard output."""
        for text in texts:
            if text not in self.stdout:
                self._refuse(f"does not say {text!r}")
        return self

    def warns(self, *texts: str) -> Self:
        """Check that it wrote texts to the standard error."""
        for text in texts:
            if text not in self.stderr:
                self._refuse(f"does not say on the standard error {text!r}")
        return self

    def says_nothing_of(self, *texts: str) -> Self:
        """Check that it wrote texts nowhere."""
        for text in texts:
            if text in self.stdout + self.stderr:
                self._refuse(f"says {text!r}")
        return self

    @property
    def json(self) -> Any:
        """What it wrote to the standard output, read as JSON."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            self._refuse("writes no JSON")

    @property
    def lines(self) -> list[str]:
        """The lines of the standard output."""
        return self.stdout.splitlines()


def run_evalkit(
    *arguments: str | Path,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    seconds: float = 280,
) -> CommandRun:
    """Run the command line in a process of its own."""
    words = tuple(map(str, arguments))
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *words],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", **(variables or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=seconds,
        check=False,
    )
    return CommandRun(words, done.returncode, done.stdout, done.stderr)
