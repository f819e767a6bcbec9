"""Checks plugins, each in a process of its own, so that none can harm the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.discovery import Component

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
    command = [sys.executable, "-m", "evalkit_cli.checking"]
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
    if done.returncode == 0:
        return None
    report = [line for line in done.stderr.splitlines() if line.startswith(_MARK)]
    if report:
        return str(json.loads(report[-1].removeprefix(_MARK)))
    return f"{component.origin}: its process ended with exit code {done.returncode}"


_MARK = "evalkit-check: "


def _main() -> int:
    from evalkit.discovery import Component
    from evalkit.errors import EvalkitError
    from evalkit.registry import load_component

    component = Component(*json.load(sys.stdin))
    try:
        load_component(component)
    except EvalkitError as error:
        print(_MARK + json.dumps(str(error)), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
