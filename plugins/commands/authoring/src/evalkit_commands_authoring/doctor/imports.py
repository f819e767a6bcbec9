"""Whether what is declared can be imported, and how long that takes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalkit_commands_authoring.doctor.findings import (
    ERROR,
    WARNING,
    Finding,
    enumerated,
    pip,
    reinstall,
)
from evalkit_commands_authoring.doctor.installed import GROUP, Installed

SLOW = 2.0
"""Seconds of import that are worth a warning; `evalkit list --check` has the same."""

TIMEOUT = 60.0

_SCRIPT = Path(__file__).with_name("timed_import.py")
_TIMED = re.compile(rb"^import time:\s+(\d+) \|\s+\d+ \|\s*([\w.]+)$", re.MULTILINE)
_MOST_BYTES = 1 << 24
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORT = 7
"""Letters of a value that could be any word."""


class Imported(NamedTuple):
    """How importing all that a distribution declares went."""

    distribution: Installed
    seconds: float
    """How long all of it took, in a process that had imported nothing; what it waited
    for a processor is not counted, where the kernel tells that."""
    most: str
    """The package that took most of it; "" where nothing took long."""
    most_seconds: float
    problems: dict[str, str]
    """What was raised, by the value of the entry point."""


def import_all(
    distributions: Sequence[Installed], timeout: float = TIMEOUT
) -> list[Imported]:
    """Import all that distributions declare, each in a process of its own."""
    declaring = [each for each in distributions if _values(each)]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        first = [*pool.map(partial(_import, timeout=timeout), declaring)]
    return [_again(each, timeout) for each in first]


def _again(first: Imported, timeout: float) -> Imported:
    """Measure what was slow once more, beside nothing else and with its files read."""
    if first.seconds < SLOW or first.problems:
        return first
    second = _import(first.distribution, timeout)
    # what failed the second time only took no less for that
    is_faster = not second.problems and second.seconds < first.seconds
    return second if is_faster else first


def _values(distribution: Installed) -> dict[str, list[str]]:
    """Return the ids that a distribution declares, by what they name."""
    found: dict[str, list[str]] = {}
    for group, names in distribution.entry_points.items():
        kind = group.removeprefix(GROUP)
        for name, value in names.items() if kind != "known" else ():
            found.setdefault(value, []).append(f"{kind}/{name}")
    return found


def _import(distribution: Installed, timeout: float) -> Imported:
    values = [*_values(distribution)]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as report:
        # -P: a json.py in the current folder is nobody's plugin
        process = subprocess.Popen(
            [sys.executable, "-P", "-X", "importtime", str(_SCRIPT), *values],
            stdin=subprocess.DEVNULL,
            stdout=report,
            stderr=said,
            process_group=0 if os.name == "posix" else None,
        )
        with process:
            code = _wait(process, timeout)
        for stream in (said, report):
            stream.seek(0)
        lines = report.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
        times = said.read(_MOST_BYTES)
    seconds, problems = _read(lines, values, code, timeout)
    problems = {value: _without_secrets(text) for value, text in problems.items()}
    most, most_seconds = _most(times)
    return Imported(distribution, seconds, most, most_seconds, problems)


def _without_secrets(text: str) -> str:
    """Take out what variables hold whose names say that it is secret."""
    for name, value in os.environ.items():
        if name.upper().endswith(_SECRET_NAMES) and len(value) > _SHORT:
            text = text.replace(value, f"(the value of {name})")
    return text


def _wait(process: subprocess.Popen[bytes], timeout: float) -> int | None:
    """Return how a process ended, and end what it started; None if it took too long."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _read(
    lines: list[str], values: list[str], code: int | None, timeout: float
) -> tuple[float, dict[str, str]]:
    reports: list[dict[str, Any]] = []
    for line in lines:
        with suppress(ValueError, RecursionError):  # the last one may be cut off
            found = json.loads(line)
            if _is_report(found, values):  # a plugin may write there too
                reports.append(found)
    done = [each for each in reports if "done" in each]
    problems = {each["done"]: each["problem"] for each in done if each["problem"]}
    finished = {each["done"] for each in done}
    begun = [each["begun"] for each in reports if "begun" in each]
    left = [value for value in values if value not in finished]
    for value in left[:1]:
        how = f"took more than {timeout:g} seconds"
        if code is not None:
            how = f"ended its process with {_ended(code)}"
        problems[begun[-1] if begun and begun[-1] in left else value] = how
    return sum(each["seconds"] for each in done), problems


def _is_report(found: object, values: list[str]) -> bool:
    if not isinstance(found, dict):
        return False
    if "begun" in found:
        return found.keys() == {"begun"} and found["begun"] in values
    return (
        found.get("done") in values
        and isinstance(found.get("seconds"), int | float)
        and isinstance(found.get("problem"), str)
    )


def _ended(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    names = {each.value: each.name for each in signal.Signals}
    return names.get(-code, f"signal {-code}")


def _most(times: bytes) -> tuple[str, float]:
    """Find the package whose modules took longest by themselves."""
    taken: Counter[str] = Counter()
    for found in _TIMED.finditer(times):
        taken[found[2].decode().partition(".")[0]] += int(found[1])
    for name, microseconds in taken.most_common(1):
        return name, microseconds / 1e6
    return "", 0.0


def check_imports(imported: Sequence[Imported]) -> Iterator[Finding]:
    """Tell which entry points cannot be imported, and what is slow."""
    for each in imported:
        yield from _broken(each)
        if each.seconds >= SLOW:
            most = min(each.most_seconds, each.seconds)
            yield Finding(
                WARNING,
                "imports",
                each.distribution.origin,
                f"importing all of it took {each.seconds:.1f} s, of which "
                f"{most:.1f} s in {each.most or 'no one package'}",
                "commands that name one of its plugins begin as much later",
                "tell its author to import large libraries where they are first used",
            )


def _broken(each: Imported) -> Iterator[Finding]:
    """Tell of what could not be imported, once for all that failed alike."""
    ids = _values(each.distribution)
    alike: dict[str, list[str]] = {}
    for value, problem in each.problems.items():
        alike.setdefault(problem, []).extend(ids[value])
    for problem, names in alike.items():
        verb = "" if problem.startswith(("took ", "ended ")) else "failed with "
        yield Finding(
            ERROR,
            "imports",
            each.distribution.origin,
            f"importing {enumerated(names)} {verb}{' '.join(problem.split())}",
            "these plugins cannot be used; others are not harmed",
            _mend(each.distribution, problem),
        )


def _mend(distribution: Installed, problem: str) -> str:
    missing = re.match(r"ModuleNotFoundError: No module named '([\w]+)", problem)
    folder = distribution.source_folder
    if missing and folder is None:
        return pip("install", "--force-reinstall", distribution.name)
    if folder is not None:
        return pip("install", "--editable", str(folder))
    return f"{reinstall(distribution.name)}; else tell its author"
