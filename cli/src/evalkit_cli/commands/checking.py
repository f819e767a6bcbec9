"""Checks plugins in other processes, so that none can harm those of others."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evalkit import Component
    from evalkit.catalog import BoundDataset, BoundTask

SLOW = 2.0
"""Seconds of import that are worth a warning."""


class Outcome(NamedTuple):
    """What was found out about a component."""

    component: Component
    problem: str | None
    """What is wrong with it; None for nothing."""
    seconds: float | None = None
    """How long importing it took; None where it was not imported."""
    note: str | None = None
    """What it names and cannot be used here; None for nothing."""

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
    """Load the components of each distribution in a process.

    Where it ends early, takes too long or finds a problem, each of them is loaded in a
    process of its own. What a plugin prints is lost, and processes that it starts end
    with its own, unless they leave the process group.
    """
    running: set[subprocess.Popen[bytes]] = set()
    check = partial(_check, timeout=timeout, running=running)
    together: dict[str, list[Component]] = {}
    for component in components:
        together.setdefault(component.distribution, []).append(component)
    pool = ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        found = chain.from_iterable(pool.map(check, together.values()))
        by_id = {outcome.component: outcome for outcome in found}
        return [by_id[component] for component in components]
    finally:  # Ctrl-C does not reach other process groups
        pool.shutdown(wait=False, cancel_futures=True)
        for process in [*running]:
            _kill_group(process)
        pool.shutdown()


def _check(
    components: Sequence[Component],
    timeout: float,
    running: set[subprocess.Popen[bytes]],
) -> list[Outcome]:
    nonce = secrets.token_hex(16)
    process = subprocess.Popen(
        # -P: a json.py in the current folder is nobody's plugin
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0 if os.name == "posix" else None,
    )
    code = None
    with process:
        running.add(process)
        try:
            _write(process, json.dumps([nonce, *components]))
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout)
        finally:
            _kill_group(process)
            running.discard(process)
        reports = [json.loads(line) for line in _read(process, nonce)]
    outcomes = [
        Outcome(component, *report)
        for component, report in zip(components, reports, strict=False)
    ]
    is_whole = code == 0 and len(outcomes) == len(components)
    if len(components) > 1:
        if is_whole and not any(outcome.problem for outcome in outcomes):
            return outcomes
        alone = ([component] for component in components)
        return [each for one in alone for each in _check(one, timeout, running)]
    if is_whole:
        return outcomes
    [component] = components
    ended = f"was not loaded within {timeout:g} seconds"
    if code is not None:
        ended = f"{_how_it_ended(code)} while it was loaded"
    return [Outcome(component, f"{component.origin}: {ended}")]


def _write(process: subprocess.Popen[bytes], text: str) -> None:
    with contextlib.suppress(BrokenPipeError), _pipe(process.stdin) as stream:
        stream.write(text.encode())


def _read(process: subprocess.Popen[bytes], nonce: str) -> list[str]:
    """Return the reports if nothing else was written; await no process that is left."""
    descriptor = _pipe(process.stdout).fileno()
    if os.name == "posix":
        os.set_blocking(descriptor, False)
    try:
        text = os.read(descriptor, _MOST_BYTES).decode(errors="replace")
    except BlockingIOError:
        return []
    *lines, rest = text.split("\n")
    if rest or not all(line.startswith(nonce) for line in lines):
        return []
    return [line.removeprefix(nonce) for line in lines]


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if os.name != "posix":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"its process was killed by {name}"


_MOST_BYTES = 65_536
"""What a pipe holds, and more than the reports of a distribution have."""


def _main() -> None:
    """Load the components that stdin names, and report on what was stdout."""
    from evalkit import Component
    from evalkit_cli.printing.streams import fitting

    write, leave, report, dumps = os.write, os._exit, os.dup(1), json.dumps
    nonce, *components = json.load(sys.stdin)
    with Path(os.devnull).open("r+b") as nothing:
        for descriptor in (0, 1, 2):
            os.dup2(nothing.fileno(), descriptor)
    for fields in components:
        problem, seconds, note = _load(Component(*fields))
        found = fitting(problem or "") or None, seconds, " ".join(note.split()) or None
        write(report, f"{nonce}{dumps(found)}\n".encode())
    leave(0)


def _load(component: Component) -> tuple[str | None, float | None, str]:
    """Return what is wrong with it, its seconds of import, and what it lacks."""
    from evalkit.catalog import Registry, Resolver, import_component, load_component
    from evalkit.errors import EvalkitError, RequiredParameterError

    problem = seconds = None
    note = ""
    try:
        start = time.perf_counter()
        import_component(component)
        seconds = time.perf_counter() - start
        if component.own_kind:
            _refuse_variants(component.name)
        bound = load_component(component)
        if component.kind == "perturbations":
            Resolver(Registry()).perturbation(bound)
        if component.kind == "datasets":
            from evalkit.catalog import BoundDataset

            dataset = BoundDataset.of(bound)
            Resolver(Registry()).task(dataset)
            note = _lacking(dataset)
        if component.kind == "tasks":
            from evalkit.catalog import BoundTask

            note = _lacking(BoundTask.of(bound))
    except RequiredParameterError:
        pass  # it can be used, by somebody who gives it what it needs
    except EvalkitError as error:
        problem = str(error)
    return problem, seconds, note


def _refuse_variants(name: str) -> None:
    """Raise what is wrong with a variant of a benchmark."""
    from evalkit import Registry
    from evalkit_benchmarks_declared import expand, find_refused

    registry = Registry()
    for several in expand(name, registry).evaluated.values():
        for _, error in find_refused(several, registry):
            raise error


def _lacking(bound: BoundDataset | BoundTask) -> str:
    """Return which metric or extractor it names and that cannot be used here."""
    from evalkit import PluginError
    from evalkit.catalog import Registry, Resolver
    from evalkit.errors import AdapterError, PluginContractError
    from evalkit_adapters_rows import extraction

    registry = Registry()
    try:
        if bound.extract is not None:
            extraction(bound.extract, registry)
        for name in filter(None, (bound.perf_metric, *(bound.eval_metrics or ()))):
            Resolver(registry).bind("metrics", name, named_by=bound)
    except AdapterError as error:
        problem = f"{bound.component.origin}: extract: {error}"
        raise PluginContractError(problem) from error
    except PluginError as error:
        return f"{bound.component.id} names what cannot be used here: {error}"
    return ""


if __name__ == "__main__":
    _main()
