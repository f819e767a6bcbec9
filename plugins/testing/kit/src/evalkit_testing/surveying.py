"""Has components loaded in processes of their own, whatever becomes of those."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from evalkit.catalog import Component
from evalkit_testing.commands import SECONDS
from evalkit_testing.laws import LawBroken

_MODULE = "evalkit_testing.import_survey"


class Survey:
    """What loading components does.

    Attributes:
        usual: Seconds that importing evalkit itself takes.
        components: What loading each of them did, by id.
    """

    def __init__(self) -> None:
        self.usual = 0.0
        self.components: dict[str, Mapping[str, Any]] = {}

    def read(self, lines: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
        """Keep what a process wrote."""
        begun, is_imported = "", False
        for line in lines:
            if "usual" in line:
                self.usual = self.usual or float(line["usual"])
            elif "begun" in line:
                begun, is_imported = line["begun"], False
            elif "imported" in line:
                is_imported = True
            else:
                self.components[line["done"]] = line
                begun = ""
        return begun, is_imported


def survey_components(components: Sequence[Component]) -> Survey:
    """Load components of one distribution, and tell what each of them did.

    Where one ends the process, or changes what the next one needs, another process goes
    on with those that are left.
    """
    survey, left = Survey(), [*components]
    while left:
        lines, ended = _run(left)
        begun, is_imported = survey.read(lines)
        if not lines:
            raise LawBroken(f"importing evalkit for it {ended}")
        for guilty in _guilty(left, begun, is_imported):
            survey.components[guilty.id] = _record(guilty, ended)
        before = len(left)
        left = [each for each in left if each.id not in survey.components]
        if len(left) == before:
            break
    return survey


def _guilty(
    left: Sequence[Component], begun: str, is_imported: bool
) -> Iterator[Component]:
    """Yield what a process was at, and what has the module that it could not import."""
    for at in [each for each in left if each.id == begun]:
        for each in left:
            is_same = _module_of(each) == _module_of(at) and not is_imported
            if each is at or is_same:
                yield each


def _module_of(component: Component) -> str:
    return component.value.partition(":")[0].strip()


def _record(component: Component, ended: str) -> Mapping[str, Any]:
    return {
        "error": f"{component.origin}: loading it {ended}",
        "unsafe": ended.partition(":")[0],
        "events": [],
        "seconds": 0.0,
        "printed": "",
        "changed": [],
        "documented": True,
        "misspelt": [],
    }


def _run(components: Sequence[Component]) -> tuple[list[Mapping[str, Any]], str]:
    """Return what a process wrote of components, and how it ended."""
    names = [components[0].distribution, *(each.id for each in components)]
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.NamedTemporaryFile() as report,
        tempfile.TemporaryFile() as said,
    ):
        distribution, *ids = names
        process = subprocess.Popen(
            [sys.executable, "-B", "-m", _MODULE, distribution, report.name, *ids],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            process_group=0 if os.name == "posix" else None,
        )
        with process:
            code = _wait(process)
        lines = [*_lines(report.read())]
        return lines, _ended(code, said)


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """Return how it ended, and end what it started; None where it took too long."""
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _lines(written: bytes) -> Iterator[Mapping[str, Any]]:
    for line in written.splitlines():
        with suppress(ValueError):  # the last one may be cut off
            yield json.loads(line)


def _ended(code: int | None, said: BinaryIO) -> str:
    if code is None:
        return f"has not ended after {SECONDS} seconds"
    how = f"ended its process with exit code {code}"
    if code < 0:
        names = {each.value: each.name for each in signal.Signals}
        how = f"ended its process with {names.get(-code, f'signal {-code}')}"
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - 400))
    text = said.read().decode("utf-8", "replace").strip()
    return f"{how}: {text}" if text else how
