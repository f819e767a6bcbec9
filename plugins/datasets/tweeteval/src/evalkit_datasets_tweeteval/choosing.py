"""Chooses one run of each of the eleven sets where there are others beside them."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import DataError, Result
from evalkit_datasets_tweeteval.runs import NAMES, read_record, why_partial


class Choice(NamedTuple):
    """The runs that the overall number is to be made of."""

    runs: tuple[Result | str | Path, ...]
    """As they were given, in the order of the sets."""
    notices: tuple[str, ...]
    """Which runs were left out because they are refused or partial."""


class _Candidate(NamedTuple):
    given: Result | str | Path
    where: str
    record: Mapping[str, Any]

    @property
    def dataset(self) -> str:
        return str(self.record["dataset"])

    @property
    def model(self) -> str:
        return str(self.record["model"])

    @property
    def status(self) -> str:
        return str(self.record["status"])

    @property
    def started(self) -> str:
        return str((self.record.get("timings") or {}).get("started") or "")

    @property
    def inputs(self) -> dict[str, Any]:
        """What scores depend on; runs in which it is equal are as good as one."""
        return {
            "data": (self.record["data"]["sha256"], self.record["split"]),
            "predictions": self.record["predictions"]["sha256"],
            "policies": self.record["policies"],
        }

    @property
    def rank(self) -> tuple[bool, str, str]:
        """The greatest is taken of several that are as good as one."""
        has_examples = bool(self.record.get("includes_examples", True))
        return has_examples, self.started, self.where

    def describe(self) -> str:
        parts = [
            f"model {self.model}",
            self.status,
            f"started {self.started or 'at an unknown time'}",
            f"predictions {self.record['predictions'].get('name') or 'given as rows'}",
        ]
        parts += [
            f"{policy.replace('_', '-')} {value}"
            for policy, value in self.record["policies"].items()
            if value != "error"
        ]
        return f"{self.where}: {', '.join(parts)}"


def choose_runs(
    results: Iterable[Result | str | Path], *, model: str | None = None
) -> Choice:
    """Choose one run of each of the eleven sets, all of one model.

    Refused and partial runs are left out. Several runs of one set with the same data,
    predictions and policies count as one, of which the newest that holds the examples
    is taken.

    Args:
        results: Results or run folders, in any order.
        model: Name of the model; may be left out where all are of one.

    Returns:
        What to give to `overall_score`, and what was left out.

    Raises:
        DataError: There are several models, a set has no complete run, or has several
            that differ; or a run is of no set of TweetEval.
        StorageError: A run folder cannot be read.
    """
    candidates = [_candidate(result) for result in results]
    notices: list[str] = []
    try:
        return Choice(_choose(candidates, model, notices), tuple(notices))
    except DataError as error:
        # why a run did not help to make the number is part of why there is none
        lines = [str(error), *(f"  notice: {notice}" for notice in notices)]
        raise DataError("\n".join(lines)) from error


def _candidate(given: Result | str | Path) -> _Candidate:
    where, record = read_record(given)
    return _Candidate(given, where, record)


def _choose(
    candidates: Sequence[_Candidate], model: str | None, notices: list[str]
) -> tuple[Result | str | Path, ...]:
    if model is not None:
        candidates = _of_model(candidates, model)
    complete = [run for run in candidates if run.status == "complete"]
    others = [run for run in candidates if run.status != "complete"]
    partial = [run for run in others if run.status == "partial"]
    models = _sets_by_model(complete or partial)
    if len(models) > 1:
        notices += map(_notice, others)
        raise DataError(
            f"the runs are of {len(models)} models: {_listed(models)}; choose one with "
            "--model NAME; where they are one model, score all sets under one name"
        )
    chosen = model if model is not None else next(iter(models), None)
    by_name = {name: [run for run in complete if run.dataset == name] for name in NAMES}
    instead = {
        name: [run for run in partial if (run.dataset, run.model) == (name, chosen)]
        for name, runs in by_name.items()
        if not runs
    }
    notices += [
        _notice(run) for run in others if run not in instead.get(run.dataset, ())
    ]
    problems = [
        _problem_without(name, runs, chosen) for name, runs in instead.items()
    ] + [
        _problem_with_different(name, runs)
        for name, runs in by_name.items()
        if any(run.inputs != runs[0].inputs for run in runs)
    ]
    if problems:
        whose = "" if chosen is None else f" of {chosen}"
        summary = (
            f"these runs do not give the number{whose}, which is made of all "
            f"{len(NAMES)} sets:"
        )
        raise DataError("\n  ".join([summary, *problems]))
    return tuple(max(runs, key=lambda run: run.rank).given for runs in by_name.values())


def _of_model(candidates: Sequence[_Candidate], model: str) -> list[_Candidate]:
    found = [run for run in candidates if run.model == model]
    if not found:
        models = _sets_by_model(candidates)
        raise DataError(
            f"there is no run of the model {model}; there are runs of: "
            f"{_listed(models) or 'none'}"
        )
    return found


def _sets_by_model(runs: Iterable[_Candidate]) -> Mapping[str, set[str]]:
    models = defaultdict(set)
    for run in runs:
        models[run.model].add(run.dataset)
    return models


def _listed(models: Mapping[str, set[str]]) -> str:
    return ", ".join(
        f"{name} ({len(models[name])} of {len(NAMES)} sets)" for name in sorted(models)
    )


def _notice(run: _Candidate) -> str:
    start = f"left out {run.where}, a run of {run.dataset}, which"
    if run.status == "partial":
        return f"{start} is partial: {why_partial(run.record)}"
    kinds = ("missing", "invalid", "duplicate", "unknown", "unreadable")
    counts = run.record.get("counts") or {}
    found = ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts.get(kind))
    return f"{start} was {run.status}{found and f' ({found})'}"


def _problem_without(
    name: str, partial: Sequence[_Candidate], model: str | None
) -> str:
    option = "" if model is None else f" --model {shlex.quote(model)}"
    command = f"`evalkit eval {name} -p FILE{option}`"
    if not partial:
        return f"{name}: there is no run; make it with {command}"
    whys = "; ".join(f"{run.where}: {why_partial(run.record)}" for run in partial)
    return f"{name}: there is only a partial run ({whys}); make it with {command}"


def _problem_with_different(name: str, runs: Sequence[_Candidate]) -> str:
    unequal = [
        part
        for part, value in runs[0].inputs.items()
        if any(run.inputs[part] != value for run in runs)
    ]
    ordered = sorted(runs, key=lambda run: (run.started, run.where))
    return "\n    ".join(
        (
            f"{name}: {len(runs)} runs differ in their {' and '.join(unequal)}; give "
            "one of them:",
            *(run.describe() for run in ordered),
        )
    )
