"""Prints how Inspect itself scores replies; a script, as Inspect is not installed.

`python inspect_own.py FOLDER_OF_INSPECT < REPLIES`: each line has the scorer, its
arguments, the reply, the target and the number of options.
"""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

ROOT = Path(sys.argv[1])


class Missing(MetaPathFinder, Loader):
    """Stands in for all that scorers do not need."""

    def find_spec(self, name, path=None, target=None):
        if name in NEEDED:
            file = ROOT.parent / f"{name.replace('.', '/')}.py"
            return spec_from_file_location(name, file)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


NEEDED = {
    f"inspect_ai.{name}"
    for name in (
        *("_util.text", "_util.pattern", "_util.answer"),
        *("scorer._answer", "scorer._pattern", "scorer._match", "scorer._common"),
        *("scorer._classification", "scorer._target", "scorer._unicode"),
        "solver._multiple_choice",
    )
}
sys.meta_path.append(Missing())
scorers = sys.modules["inspect_ai.scorer._scorer"] = MagicMock()
scorers.scorer = lambda **_: lambda function: function
solvers = sys.modules["inspect_ai.solver._solver"] = MagicMock()
solvers.solver = lambda function: function
metric = sys.modules["inspect_ai.scorer._metric"] = MagicMock()
metric.CORRECT, metric.INCORRECT, metric.Score = 1.0, 0.0, SimpleNamespace

_answer, _classification, _match, _pattern, _target = (
    import_module(f"inspect_ai.scorer.{name}")
    for name in ("_answer", "_classification", "_match", "_pattern", "_target")
)
chosen = import_module("inspect_ai.solver._multiple_choice")

SCORERS = {
    "answer": _answer.answer,
    "exact": _classification.exact,
    "f1": _classification.f1,
    "includes": _match.includes,
    "match": _match.match,
    "pattern": _pattern.pattern,
}

for line in sys.stdin:
    name, args, said, target, options = json.loads(line)
    state = SimpleNamespace(output=SimpleNamespace(completion=said))
    if name == "choice":
        state.choices = range(options)
        print(float(chosen.parse_answers(state, False) == {target}))
    else:
        scorer = SCORERS[name](**args)
        print(asyncio.run(scorer(state, _target.Target(target))).value)
