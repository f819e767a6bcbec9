"""Checks plugins, each in a process of its own, so that none can harm the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit import Component

Outcome = tuple["Component", str | None]
"""A component, and what is wrong with it."""


def check_components(components: Sequence[Component], timeout: float) -> list[Outcome]:
    """Load each component in a process of its own.

    Args:
        components: What to check.
        timeout: Seconds that each gets.

    Returns:
        Each component with what is wrong with it, or None.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        problems = pool.map(partial(_check, timeout=timeout), components)
        return list(zip(components, problems, strict=True))


def _check(component: Component, timeout: float) -> str | None:
    command = [sys.executable, "-m", "evalkit_cli.commands.checking"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(list(component)),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{component.origin}: was not loaded within {timeout:g} seconds"
    report = [line for line in done.stderr.splitlines() if line.startswith(_MARK)]
    if report:
        problem: str | None = json.loads(report[-1].removeprefix(_MARK))
        return problem
    return f"{component.origin}: {_how_it_ended(done.returncode)} while it was loaded"


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"its process was killed by {name}"


_MARK = "evalkit-check: "


def _main() -> None:
    from evalkit import Component
    from evalkit.catalog import COMMANDS, Registry, Resolver, load_component
    from evalkit.errors import EvalkitError, RequiredParameterError
    from evalkit_cli.installed_commands import InstalledCommand

    component = Component(*json.load(sys.stdin))
    problem = None
    try:
        if component.kind == COMMANDS:
            InstalledCommand(component).load()
        else:
            bound = load_component(component)
            if component.kind == "perturbations":
                Resolver(Registry()).perturbation(bound)
    except RequiredParameterError:
        pass  # it can be used, by somebody who gives it what it needs
    except EvalkitError as error:
        problem = str(error)
    print("\n" + _MARK + json.dumps(problem), file=sys.stderr)


if __name__ == "__main__":
    _main()
