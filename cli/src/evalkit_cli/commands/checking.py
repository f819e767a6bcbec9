"""Checks plugins, each in a process of its own, so that none can harm the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evalkit import Component

SLOW = 2.0
"""Seconds of import that are worth a warning."""


class Outcome(NamedTuple):
    """What was found out about a component."""

    component: Component
    problem: str | None
    """What is wrong with it; None for nothing."""
    seconds: float | None = None
    """How long importing it took; None where it was not imported."""

    @property
    def remark(self) -> str | None:
        """What its author should know; None for nothing."""
        if self.seconds is None or self.seconds < SLOW:
            return None
        return (
            f"{self.component.origin}: importing it took {self.seconds:.1f} s; import "
            "large libraries where they are first used"
        )


def check_components(components: Sequence[Component], timeout: float) -> list[Outcome]:
    """Load each component in a process of its own.

    Args:
        components: What to check.
        timeout: Seconds that each gets.

    Returns:
        What was found out about each component.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return [*pool.map(partial(_check, timeout=timeout), components)]


def _check(component: Component, timeout: float) -> Outcome:
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
        problem = f"{component.origin}: was not loaded within {timeout:g} seconds"
        return Outcome(component, problem)
    report = [line for line in done.stderr.splitlines() if line.startswith(_MARK)]
    if report:
        return Outcome(component, *json.loads(report[-1].removeprefix(_MARK)))
    ended = _how_it_ended(done.returncode)
    return Outcome(component, f"{component.origin}: {ended} while it was loaded")


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
    from evalkit.catalog import (
        COMMANDS,
        SCHEMAS,
        Registry,
        Resolver,
        import_component,
        import_schema,
        load_component,
    )
    from evalkit.errors import EvalkitError, RequiredParameterError
    from evalkit_cli.installed_commands import InstalledCommand

    component = Component(*json.load(sys.stdin))
    problem = seconds = None
    try:
        start = time.perf_counter()
        import_component(component)
        seconds = time.perf_counter() - start
        if component.kind == COMMANDS:
            InstalledCommand(component).load()
        elif component.kind == SCHEMAS:
            import_schema(component)
        else:
            bound = load_component(component)
            if component.kind == "perturbations":
                Resolver(Registry()).perturbation(bound)
            if component.kind == "datasets":
                from evalkit.catalog import BoundDataset

                Resolver(Registry()).task(BoundDataset.of(bound))
            if component.kind == "tasks":
                from evalkit.catalog import BoundTask, check_agreement

                check_agreement(BoundTask.of(bound))
    except RequiredParameterError:
        pass  # it can be used, by somebody who gives it what it needs
    except EvalkitError as error:
        problem = str(error)
    print("\n" + _MARK + json.dumps([problem, seconds]), file=sys.stderr)


if __name__ == "__main__":
    _main()
