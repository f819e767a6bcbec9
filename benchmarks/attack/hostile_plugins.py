"""Plugins that mean harm: those who do not ask for them are not harmed by them."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import EvalkitError

from .bit_flips import read_all
from .commands import HUNG, Ended, environment, listing, run_apart
from .inputs import DATASET, IDS
from .outcomes import Outcome


class Hostile(NamedTuple):
    """A plugin that means harm."""

    code: str
    """Its module, in which `P` is the plugin."""
    kind: str = "metrics"
    option: str = "-m"


_METRIC = """
import evalkit, os, sys, signal, threading, time, json, builtins, atexit
once = []
class P(evalkit.Metric):
    def score_example(self, prediction, target):
        {}
        return float(prediction == target)
"""
_WHOLE = """
import evalkit, os, sys, json, math
class P(evalkit.Metric):
    def compute(self, predictions, targets):
        {}
"""
_COPIES = """
import evalkit, os, sys
class P(evalkit.Perturbation):
    family = "hostile"
    def perturb_text(self, text, random):
        {}
        return text.upper()
"""

_SCORING = {
    "leaves politely": "sys.exit(0)",
    "leaves without a word": "raise SystemExit",
    "ends itself": "os.kill(os.getpid(), signal.SIGTERM)",
    "raises GeneratorExit": "raise GeneratorExit('gone')",
    "raises an exception of its own": "raise type('Own', (BaseException,), {})('own')",
    "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "raises with an odd text": "raise ValueError('\\x1b[31m\\u202e\\x00' * 50)",
    "raises what cannot be shown": (
        "raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()"
    ),
    "raises without an end": "self.score_example(prediction, target)",
    "gives a text": "return 'one'",
    "gives nothing": "return None",
    "gives NaN": "return float('nan')",
    "gives infinity": "return float('inf')",
    "gives a complex number": "return 1j",
    "gives a list": "return [1.0]",
    "replaces json": "json.dumps = lambda *a, **k: '{\"run_id\": 1}'",
    "replaces open": "builtins.open = lambda *a, **k: 1 / 0",
    "replaces print": "builtins.print = None",
    "closes its output": "os.close(1)",
    "prints a result": "print('accuracy 100 %', '{\"status\": \"complete\"}')",
    "prints much": "print('y' * 1_000_000)",
    "changes the folder": "os.chdir('/')",
    "changes the environment": "os.environ.clear()",
    "starts threads": "threading.Thread(target=time.sleep, args=(2,)).start()",
    "waits at the end": "once or once.append(atexit.register(time.sleep, 1))",
    "ignores signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
}
_COMPUTING = {
    "changes its input": "predictions[:] = targets; return 1.0",
    "empties its input": "predictions.clear(); return 1.0",
    "gives a dict": "return {'a': object()}",
    "gives a number that is too large": "return 10 ** 400",
}
_IMPORTING = {
    "crashes at import": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "prints a result at import": "print('{\"ok\": true}'); P = 42",
    "replaces json at import": (
        "import json; json.dumps = lambda *a, **k: '{}'; "
        "P = lambda predictions, targets: 1.0"
    ),
    "leaves at import": "raise SystemExit(0)",
    "interrupts at import": "raise KeyboardInterrupt",
    "has no plugin": "Q = 1",
    "is no Python": "def P(:",
    "imports what is not there": "import no_such_library_at_all",
    "waits at import": "import time; time.sleep(4)",
}
_PERTURBING = {
    "raises while it perturbs": "raise GeneratorExit",
    "gives bytes": "return b'a'",
    "gives a lone surrogate": "return '\\ud800'",
}

HOSTILE: dict[str, Hostile] = {
    **{name: Hostile(_METRIC.format(code)) for name, code in _SCORING.items()},
    **{name: Hostile(_WHOLE.format(code)) for name, code in _COMPUTING.items()},
    **{name: Hostile(code) for name, code in _IMPORTING.items()},
    **{
        name: Hostile(_COPIES.format(code), "perturbations", "--perturbation")
        for name, code in _PERTURBING.items()
    },
}

GOOD = "def P(predictions, targets):\n    return 0.5\n"
_MARK = "import pathlib; pathlib.Path({!r}).touch()\n"


def make_distribution(folder: Path, name: str, kind: str, code: str) -> None:
    """Write an installed distribution with one plugin.

    Args:
        folder: Where distributions are.
        name: Name of the distribution and of the plugin.
        kind: Kind of the plugin.
        code: Its module, in which `P` is the plugin.
    """
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code, "utf-8")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(f"[evalkit.{kind}]\n{name} = {module}:P\n")
    (info / "RECORD").write_text(f"{module}.py,,\n")


def attack(tries: int, seed: int, folder: Path) -> Outcome:
    """Install each hostile plugin beside a good one, and run commands with and without.

    Args:
        tries: How many of the plugins; all are tried before one is tried again.
        seed: Decides in which order.
        folder: Where they are installed.

    Returns:
        The outcome.
    """
    outcome = Outcome()
    names = list(HOSTILE)
    random.Random(f"plugins {seed}").shuffle(names)
    with outcome.timed():
        for number in range(tries):
            name = names[number % len(names)]
            scratch = folder / f"plugin-{number}"
            try:
                for fault in _try(name, scratch, outcome):
                    outcome.faults.append(f"plugin that {name}: {fault}")
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return outcome


class _Place(NamedTuple):
    """Where a hostile plugin is installed and commands are run."""

    here: Path
    """The current folder, with modules that nobody named."""
    mark: Path
    """Is there once the plugin was imported."""
    trap: Path
    """Is there once a module of the current folder was imported."""
    variables: dict[str, str]


def _place(name: str, scratch: Path) -> _Place:
    site, here = scratch / "site", scratch / "here"
    site.mkdir(parents=True)
    here.mkdir()
    mark, trap = scratch / "imported", scratch / "trapped"
    hostile = HOSTILE[name]
    make_distribution(site, "good-metric", "metrics", GOOD)
    code = _MARK.format(str(mark)) + hostile.code
    make_distribution(site, "hostile-one", hostile.kind, code)
    for module in ("json", "evalkit", "polars", "sitecustomize"):
        (here / f"{module}.py").write_text(_MARK.format(str(trap)))
    rows = [json.dumps({"id": each, "label": "positive"}) for each in IDS]
    (here / "model.jsonl").write_text("\n".join(rows))
    return _Place(here, mark, trap, environment(site))


def _try(name: str, scratch: Path, outcome: Outcome) -> list[str]:
    place = _place(name, scratch)
    hostile = HOSTILE[name]
    faults = []

    def run(*arguments: str) -> Ended:
        ended = run_apart(*arguments, folder=place.here, variables=place.variables)
        outcome.tries[arguments[0]] += 1
        if place.trap.exists():
            faults.append(f"{arguments[0]} runs code of the current folder")
            place.trap.unlink()
        if ended.code == HUNG:
            faults.append(f"{arguments[0]} hangs")
        elif ended.traceback is not None and not ended.is_killed:
            faults.append(f"{arguments[0]}: {ended.traceback}")
        return ended

    faults += _faults_of_lists(run, hostile.kind, place)
    good = run("eval", DATASET, "-p", "model.jsonl", "-m", "good-metric", "-o", "good")
    if good.code or not list(place.here.glob("good/*/*/run.json")):
        faults.append(f"the good metric does not work: {good.err.strip()[:200]}")
    before = set(listing(place.here))
    if hostile.kind == "perturbations":
        given = ("perturb", DATASET, "--perturbation", "hostile-one", "-o", "out.jsonl")
    else:
        given = ("eval", DATASET, "-p", "model.jsonl", "-m", "hostile-one", "-o", "out")
    ended = run(*given)
    outcome.results["works" if ended.code == 0 else "is named"] += 1
    faults += _faults_of_use(ended, place, before)
    return faults


def _faults_of_lists(
    run: Callable[..., Ended], kind: str, place: _Place
) -> Iterator[str]:
    listed = run("list")
    names = ("good-metric", "hostile-one")
    if listed.code or not all(name in listed.out for name in names):
        yield "list does not list it and the good one"
    if place.mark.exists():
        yield "list imports it"
    for each in {"metrics", kind}:  # all kinds take a minute
        checked = run("list", each, "--check")
        if each == "metrics" and "good-metric" not in checked.out:
            yield "list --check does not list the good one"


def _faults_of_use(ended: Ended, place: _Place, before: set[str]) -> list[str]:
    faults = []
    if ended.code == 0:
        runs = [path.parent for path in place.here.glob("out/*/*/run.json")]
        copies = place.here / "out.jsonl"
        if not runs and not copies.exists():
            faults.append("success without a result")
        for run in runs:
            try:
                read_all(run)
            except EvalkitError as error:
                faults.append(f"success with a broken run: {error}")
    elif not ended.is_interrupted and "hostile" not in ended.out + ended.err:
        faults.append(f"is not named: {ended.err.strip()[-200:]}")
    new = set(listing(place.here)) - before
    outside = {path for path in new if not path.startswith(("out", ".out"))}
    if outside:
        faults.append(f"wrote {sorted(outside)[0]} outside of -o")
    return faults
