"""Checks that an observer may be told anything, and changes nothing."""

from __future__ import annotations

import contextlib
import io
import os
import random
import tempfile
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

import evalkit
from evalkit import AlignmentError, Registry
from evalkit.catalog import Resolver
from evalkit_commands_perturb import perturb_dataset
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    check_laws,
    chosen_laws,
    told_alone,
)


class ObserverLawError(LawError):
    """An observer breaks a law; `law` is its name, one of `OBSERVER_LAWS`."""


class _Asked(BaseModel):
    uid: str
    text: str


class _Said(BaseModel):
    id: str
    label: Literal["yes", "no"]


@evalkit.metric(bounds=(0, 1), higher_is_better=True)
def get_share_right(predictions: list[str], targets: list[str]) -> float:
    """Give the share of predictions that are right."""
    return sum(map(str.__eq__, predictions, targets)) / len(targets)


class _Task(evalkit.TaskIO):
    """A task that needs no other distribution."""

    Input, Output, labels = _Asked, _Said, ("yes", "no")
    answer_field, perf_metric = "label", "share-right"
    perturb_fields = ("text",)
    example: ClassVar[Mapping[str, Any]] = {"uid": "1", "text": "Is snow white?"}


class _Questions(evalkit.Dataset):
    """Two examples, with tags."""

    task = _Task

    def load(self, split: str) -> list[dict[str, Any]]:
        rows = [("1", "Is snow white?", "yes"), ("2", "Is coal white?", "no")]
        return [
            {"uid": uid, "text": text, "label": label, "tags": ["topic:colours"]}
            for uid, text, label in rows
        ]


class _Louder(evalkit.Perturbation):
    """Writes all letters large."""

    families, version = ("robustness",), "1"
    label_effect: ClassVar[Mapping[str, Any]] = {"*": "invariant"}

    def perturb(self, text: str) -> str:
        return text.upper()


@dataclass
class _Told:
    """What became of the commands of which an observer was told."""

    printed: str = ""
    warnings: list[str] = field(default_factory=list)
    scores: list[Any] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def warn(self, occasion: str, texts: Sequence[str]) -> None:
        """Keep what was said, with what the observer was told of."""
        self.warnings += [f"told of {occasion}: {text}" for text in texts]


@dataclass
class _Trial:
    observer: Any
    registry: Registry
    found: tuple[_Told, _Told] | None = None

    def told(self) -> _Told:
        return self._both()[0]

    def without(self) -> _Told:
        return self._both()[1]

    def _both(self) -> tuple[_Told, _Told]:
        """Do all without it first: what evalkit does at its first use is not its."""
        if self.found is None:
            without = _told([], self.registry)
            self.found = _told([self.observer], self.registry), without
        return self.found


@told_alone
def check_observer(
    observer: Any,
    *,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that an observer keeps the laws of `evalkit_testing.OBSERVER_LAWS`.

    It is told of an evaluation of two examples, of one that is refused, of a failure
    and of perturbed copies, in a folder that is removed.

    Args:
        observer: Name of an installed observer, or a class or instance.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        ObserverLawError: It breaks a law; the message has the law, and what was found.
            It is an AssertionError.
        EvalkitError: There is no such law.
        PluginError: The observer is unknown or broken.
    """
    chosen = chosen_laws(OBSERVER_LAWS, laws)
    registry = registry or Registry()
    bound = Resolver(registry).bind("observers", observer)
    trial = _Trial(observer if not isinstance(observer, str) else bound, registry)
    check_laws(chosen, trial, bound.component.origin, ObserverLawError)


def _told(observers: list[Any], registry: Registry) -> _Told:
    told = _Told()
    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),  # for what it writes where a user is
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(printed),
    ):
        warnings.simplefilter("always")
        before = _state()
        _tell_all(told, observers, registry, Path(folder))
        after = _state()
    told.printed = printed.getvalue()
    told.warnings += [f"told of a failure: {each.message}" for each in warned]
    told.changed = list(_changes(before, after))
    return told


def _tell_all(
    told: _Told, observers: list[Any], registry: Registry, folder: Path
) -> None:
    common: dict[str, Any] = {"observers": observers, "registry": registry}
    said = [{"id": "1", "label": "yes"}, {"id": "2", "label": "yes"}]
    metrics: dict[str, Any] = {"metrics": [get_share_right], "model": "tried"}
    result = evalkit.evaluate(
        _Questions, said, out=folder / "runs", **metrics, **common
    )
    told.warn("an evaluation", result.record.warnings)
    told.scores += [(each.metric, each.tag, each.value) for each in result.scores]
    try:
        evalkit.evaluate(_Questions, said[:1], **metrics, **common)
    except AlignmentError as error:
        if error.result is not None:
            warnings = error.result.record.warnings
            told.warn("an evaluation that is refused, which has no scores", warnings)
    with contextlib.suppress(evalkit.EvalkitError):
        evalkit.evaluate(_Questions, said, split="no-such-split", **metrics, **common)
    copies = perturb_dataset(
        _Questions, folder / "copies.jsonl", perturbations=[_Louder], **common
    )
    told.warn("perturbed copies", copies.notices)


def _state() -> dict[str, Any]:
    return {
        "the current folder": Path.cwd(),
        "the generator of `random`": random.getstate(),
        **{f"the environment's {name}": text for name, text in os.environ.items()},
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name


def _check_told(trial: _Trial) -> None:
    found = [text for text in trial.told().warnings if "observers/" in text]
    if found:
        raise LawBroken(found[0])


def _check_results(trial: _Trial) -> None:
    without = trial.without().scores
    if trial.told().scores != without:
        raise LawBroken(f"{trial.told().scores}, and without it {without}")


def _check_quiet(trial: _Trial) -> None:
    if printed := trial.told().printed:
        raise LawBroken(
            f"it prints {printed[:200]!r} on the standard output, which is for data: "
            "write to the standard error"
        )


def _check_state(trial: _Trial) -> None:
    if changed := trial.told().changed:
        raise LawBroken(f"{changed[0]} is another one afterwards")


OBSERVER_LAWS: tuple[Law[_Trial], ...] = (
    Law(
        "told",
        "it does not fail, whatever it is told.",
        _check_told,
        mend="catch what may fail, and read only keys that are there.",
    ),
    Law("results", "the scores are those without it.", _check_results),
    Law(
        "quiet",
        "it prints nothing on the standard output.",
        _check_quiet,
        mend="write to the standard error, or log.",
    ),
    Law(
        "state",
        "it changes nothing that others use.",
        _check_state,
        mend="put back what you change.",
    ),
)
"""What holds of every observer."""
