"""Gathers what a site shows: the runs of folders, and which of them are comparable."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalkit.catalog import metric_of
from evalkit.runs import (
    Difference,
    RunSummary,
    comparison_key,
    find_differences,
)
from evalkit_analysis_suites import list_folder, sort_key
from evalkit_cli.commanding import score_label
from evalkit_commands_report.markup import Markup, element, fragment

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit.runs import RunRecord

_UNSAFE = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 60


class Facets(NamedTuple):
    """What a run can be found by, beside what its record says."""

    metrics: tuple[str, ...]
    tags: tuple[str, ...]


class SiteRun(NamedTuple):
    """A run of the site."""

    summary: RunSummary
    kind: int
    """Runs of one kind have the same differences from every other run."""

    @property
    def record(self) -> RunRecord:
        """All that `run.json` holds."""
        return self.summary.record

    @property
    def model(self) -> str:
        """Name of the model."""
        return str(self.record.model)

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return str(self.record.dataset)

    @property
    def perturbation(self) -> str:
        """What made its examples; "" for unperturbed ones."""
        return self.record.perturbation.name if self.record.perturbation else ""

    @property
    def moment(self) -> str:
        """When the run was evaluated, in UTC; "" if it is not known."""
        started = self.summary.started
        return f"{started.astimezone(UTC):%Y-%m-%d %H:%M}" if started else ""

    @property
    def page(self) -> str:
        """Path of the run's page in the site."""
        return page_of("runs", self.record.fingerprint)

    def link(self, up: str, text: str | None = None) -> Markup:
        """Return a link to the run's page, from a page `up` leads to the top from."""
        return element("a", text or self.record.run_id, href=up + self.page)


class RunGroup(NamedTuple):
    """Runs of one dataset whose main scores can stand side by side."""

    runs: list[SiteRun]
    """The best first."""
    apart: str
    """Why they are not in the largest group of this perturbation; "" for that."""


class Collection:
    """The runs of some folders."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.every = [run for folder in folders for run in list_folder(folder)]
        """All run folders."""
        self.problems: dict[str, str] = {}
        """Why runs cannot be read, by their place."""
        kinds: dict[str, int] = {}
        latest: dict[str, SiteRun] = {}
        for run in sorted(self.every, key=_age):
            if run.problem is not None:
                self.add_problem(run, run.problem)
            else:
                kind = kinds.setdefault(comparison_key(run.record), len(kinds))
                latest.setdefault(run.record.fingerprint, SiteRun(run, kind))
        self.runs = [*latest.values()]
        """The last evaluated first."""

    def add_problem(self, run: RunSummary, why: str) -> str:
        """Note why files of a run cannot be read; return it without the path."""
        place = place_of(run)
        self.problems[place] = why.replace(str(run.path), place)
        return self.problems[place]

    @cached_property
    def datasets(self) -> dict[str, list[SiteRun]]:
        """Runs by dataset, in alphabetical order, those of perturbed examples last."""
        runs = sorted(self.runs, key=lambda run: run.perturbation)
        return _sorted_by(runs, lambda run: run.dataset)

    @cached_property
    def models(self) -> dict[str, list[SiteRun]]:
        """Runs by model, in alphabetical order."""
        return _sorted_by(self.runs, lambda run: run.model)

    @cached_property
    def differences(self) -> dict[tuple[int, int], list[Difference]]:
        """What tells kinds of runs of one dataset apart, by both of them."""
        differences = {}
        for runs in self.datasets.values():
            kinds = {run.kind: run.record for run in runs}
            for (first, one), (second, other) in permutations(kinds.items(), 2):
                differences[first, second] = find_differences(one, other)
        return differences

    def groups(self, dataset: str) -> list[RunGroup]:
        """Put runs of a dataset together whose main scores are comparable."""
        groups: list[list[SiteRun]] = []
        for run in self.datasets[dataset]:
            if run.summary.headline is not None:
                fitting = (each for each in groups if not self._apart(each, run))
                members = next(fitting, [])
                if not members:
                    groups.append(members)
                members.append(run)
        groups.sort(key=lambda members: (members[0].perturbation, -len(members)))
        ordered: list[RunGroup] = []
        first: dict[str, list[SiteRun]] = {}
        for members in groups:
            main = first.setdefault(members[0].perturbation, members)
            why = "" if main is members else self._apart(main, members[0])
            best = sorted(
                members, key=lambda run: sort_key(run.model, headline_of(run))
            )
            ordered.append(RunGroup(best, why))
        return ordered

    def _apart(self, members: Sequence[SiteRun], run: SiteRun) -> str:
        """Say why a main score cannot stand beside others; "" if it can."""
        if members[0].perturbation != run.perturbation:
            return "other perturbation"
        names = [score_label(each) for each in map(headline_of, (members[0], run))]
        if names[0] != names[1]:
            return f"main score: {names[0]} and {names[1]}"
        metric = headline_of(run).metric
        decisive = (
            each
            for kind in dict.fromkeys(member.kind for member in members)
            for each in self.differences.get((kind, run.kind), ())
            if not each.is_minor
            and (each.field != "metric" or metric_of(metric, [each.name]))
        )
        return str(next(decisive, ""))


def page_name(text: str) -> str:
    """Return a name of a page that every file system and browser takes."""
    safe = _UNSAFE.sub("-", text.lower()).strip("-")
    if safe == text and len(text) <= _LONGEST_NAME:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{safe[:_LONGEST_NAME]}.{digest}"


def place_of(run: RunSummary) -> str:
    """Return the dataset's folder and the name of a run's folder."""
    return f"{run.path.parent.name}/{run.path.name}"


def hide_paths(content: Markup, runs: Iterable[RunSummary]) -> Markup:
    """Name runs by their places, not by paths of this machine."""
    html = str(content)
    for run in runs:
        html = html.replace(fragment(str(run.path)), fragment(place_of(run)))
    return Markup(html)


def page_of(folder: str, name: str) -> str:
    """Return the path of the page of a board, run, dataset or model."""
    return f"{folder}/{page_name(name)}.html"


def _age(run: RunSummary) -> tuple[float, str]:
    return -(run.started.timestamp() if run.started else 0.0), run.record.fingerprint


def headline_of(run: SiteRun) -> Score:
    """Return the main score of a run that has one."""
    assert run.summary.headline is not None
    return run.summary.headline


def _sorted_by(
    runs: Iterable[SiteRun], key: Callable[[SiteRun], str]
) -> dict[str, list[SiteRun]]:
    by_name: dict[str, list[SiteRun]] = {}
    for run in runs:
        by_name.setdefault(key(run), []).append(run)
    return dict(sorted(by_name.items()))
