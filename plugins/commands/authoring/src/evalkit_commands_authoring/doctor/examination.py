"""All checks, none of which can keep the others from being made."""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evalkit_commands_authoring.doctor.findings import ERROR, SEVERITIES, Finding
from evalkit_commands_authoring.doctor.imports import (
    TIMEOUT,
    Imported,
    check_imports,
    import_all,
)
from evalkit_commands_authoring.doctor.installed import Environment
from evalkit_commands_authoring.doctor.names import (
    check_cache,
    check_clashes,
    check_data,
    check_hidden,
    check_metadata,
    check_shadowed,
    check_variables,
)
from evalkit_commands_authoring.doctor.versions import (
    CORE,
    check_core,
    check_editable,
    check_foreign,
    check_in_step,
    check_left_over,
    check_python,
    check_requirements,
    check_script,
)

Check = Callable[[Environment], Iterator[Finding]]

_CHECKS: tuple[Check, ...] = (
    check_core,
    check_foreign,
    check_python,
    check_requirements,
    check_in_step,
    check_script,
    check_metadata,
    check_clashes,
    check_shadowed,
    check_hidden,
    check_editable,
    check_left_over,
    check_variables,
    check_cache,
    check_data,
)


class Examination(NamedTuple):
    """What was looked at, and what was found."""

    versions: dict[str, str]
    """Of Python, and of each distribution of evalkit."""
    imported: list[Imported]
    """How importing went; empty where nothing was imported."""
    findings: list[Finding]
    """The worst first."""


def examine(
    environment: Environment, imports: bool = True, timeout: float = TIMEOUT
) -> Examination:
    """Make all checks."""
    findings = [found for check in _CHECKS for found in _made(check, environment)]
    imported: list[Imported] = []
    if imports:
        imported = import_all(environment.of_evalkit, timeout)
        findings += _made(lambda _: check_imports(imported), environment)
    findings.sort(key=lambda found: SEVERITIES.index(found.severity))
    versions = {each.name: each.version for each in environment.of_evalkit}
    return Examination(
        {"Python": platform.python_version(), **versions}, imported, findings
    )


def _made(check: Check, environment: Environment) -> list[Finding]:
    """Make a check; one that fails is a finding itself."""
    try:
        return [*check(environment)]
    except Exception as error:
        name = getattr(check, "__name__", "a check").replace("_", " ")
        return [_failed(name, error)]


def _failed(name: str, error: Exception) -> Finding:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
    return Finding(
        ERROR,
        name,
        "evalkit doctor",
        f"{name} failed with {type(error).__name__}: {error}{place}",
        "what it looks at was not examined",
        "mend what else is an error here, and run it again",
    )


def as_json(found: Examination) -> dict[str, Any]:
    """Return an examination as JSON values."""
    return {
        "python": sys.executable,
        "platform": platform.platform(),
        "versions": found.versions,
        "imports": [
            {
                "distribution": each.distribution.name,
                "seconds": round(each.seconds, 3),
                "most": each.most or None,
                "problems": each.problems,
            }
            for each in found.imported
        ],
        "findings": [each._asdict() for each in found.findings],
        "counts": counts(found),
    }


def counts(found: Examination) -> dict[str, int]:
    """Count findings by their severity."""
    return {
        name: sum(each.severity == name for each in found.findings)
        for name in SEVERITIES
    }


def report(found: Examination, verbose: bool = False) -> Iterator[str]:
    """Write an examination as lines."""
    python, *others = found.versions.items()
    yield f"Python {python[1]} ({sys.executable}), {platform.platform()}"
    core = found.versions.get(CORE)
    differing = [f"{name} {version}" for name, version in others if version != core]
    alike = len(others) - len(differing)
    parts = "distribution" if alike == 1 else "distributions"
    yield f"{alike} {parts} of evalkit {core or '(without evalkit-core)'}"
    if differing:
        yield f"others: {', '.join(differing)}"
    if verbose:
        yield from _details(found)
    for each in found.findings:
        yield ""
        yield f"{each.severity}: {each.subject}: {each.message}"
        yield f"  that is: {each.meaning}"
        yield f"  do: {each.mend}"
    yield ""
    yield _verdict(found)


def _details(found: Examination) -> Iterator[str]:
    times = {each.distribution.name: each for each in found.imported}
    width = max(map(len, found.versions))
    for name, version in [*found.versions.items()][1:]:
        took = times.get(name)
        text = "" if took is None else f"  imported in {took.seconds:.2f} s"
        yield f"  {name:{width}}  {version}{text}".rstrip()


def _verdict(found: Examination) -> str:
    numbers = counts(found)
    parts = [
        f"{count} {name}{'' if count == 1 else 's'}"
        for name, count in numbers.items()
        if count
    ]
    return ", ".join(parts) if parts else "nothing is wrong"


__all__ = ["Environment", "Examination", "as_json", "counts", "examine", "report"]
