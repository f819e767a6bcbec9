"""Checks a benchmark without asking a model or the network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from evalkit import EvaluationOptions, Registry, validate_with
from evalkit.catalog import split_composition
from evalkit.errors import EvalkitError
from evalkit.places import is_remote
from evalkit.plugins.observers import Observers
from evalkit.plugins.sources import OFFLINE_VARIABLE
from evalkit.workflows.evaluation_steps import bind
from evalkit_models_base import Model, plan_requests


class Checked(NamedTuple):
    """What was found in one dataset of a benchmark."""

    dataset: str
    examples: int = 0
    prompts: tuple[str, ...] = ()
    """How many examples were read, and which prompts were filled with them."""
    problem: str | None = None
    """Why it cannot be evaluated."""
    unchecked: str | None = None
    """Why its rows were not read: they are not on this machine."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"ok": self.problem is None, **self._asdict()}


class Nobody(Model):
    """A model that can be asked anything, and never is."""

    abilities = ("text", "chat", "logprobs", "continuations")

    def generate(self, requests: Sequence[Any]) -> NoReturn:
        """Refuse to answer."""
        raise AssertionError("nothing is asked")


def find_refused(
    names: Iterable[str], registry: Registry
) -> Iterator[tuple[str, EvalkitError]]:
    """Bind datasets with all that they name; yield each that cannot be, and why."""
    for name in names:
        where = ""
        try:
            plugin: Any = registry.load("datasets", name).plugin
            where = getattr(plugin, "path", "") and f"{plugin.path}: "
            bind(name, None, None, EvaluationOptions(), registry, Observers(registry))
            for declared in getattr(plugin, "perturbations", ()):
                for step in split_composition(*declared["perturbations"]):
                    registry.load("perturbations", step)
        except EvalkitError as error:
            error.args = (f"{where}{error}",)
            yield name, error


def check(
    evaluated: Mapping[str, Sequence[str]], registry: Registry
) -> Iterator[Checked]:
    """Check variants of a benchmark, offline: all names, every row and every prompt."""
    before = os.environ.get(OFFLINE_VARIABLE)
    os.environ[OFFLINE_VARIABLE] = "1"
    try:
        for name, several in evaluated.items():
            problem = "\n".join({str(e): e for _, e in find_refused(several, registry)})
            yield Checked(name, problem=problem) if problem else _check(name, registry)
    finally:
        os.environ.pop(OFFLINE_VARIABLE)
        if before is not None:
            os.environ[OFFLINE_VARIABLE] = before


def _check(name: str, registry: Registry) -> Checked:
    bound = registry.load("datasets", name)
    data = bound.plugin.variant.data  # type: ignore[attr-defined]
    paths = data.path.values() if isinstance(data.path, dict) else [data.path or ""]
    is_elsewhere = data.hub is not None or any(is_remote(str(each)) for each in paths)
    prompts = tuple(bound.attributes["prompts"])
    try:
        found = validate_with(name, None, EvaluationOptions(), registry=registry)
        for prompt in prompts:
            plan_requests(name, Nobody(), prompt=prompt, registry=registry)
    except EvalkitError as error:
        if is_elsewhere:
            return Checked(name, unchecked=str(error))
        return Checked(name, problem=str(error))
    return Checked(name, found.counts["examples"], prompts)
