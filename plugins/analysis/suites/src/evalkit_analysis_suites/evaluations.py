"""Says what an evaluation of a suite consists of, and which scores it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evalkit import Registry, Result
from evalkit.errors import EvalkitError, PluginError
from evalkit_analysis_suites.board import make_board
from evalkit_analysis_suites.kind import find_suite
from evalkit_analysis_suites.members import NO_DATASETS, Members
from evalkit_analysis_suites.runs import RunPool
from evalkit_analysis_suites.schema import Suite
from evalkit_benchmarks_declared import Expansion, expand


class SuitePlan(NamedTuple):
    """What to evaluate for a suite."""

    suite: Suite
    expanded: list[Expansion]
    """The datasets."""
    metrics: dict[str, list[str]]
    """Metrics that the suite names, by dataset."""
    splits: dict[str, str]
    """Splits that the suite names, by dataset."""
    notices: list[str]
    """What cannot be evaluated, and why."""

    def lacking(self, results: Sequence[Result]) -> list[str]:
        """Name the members without a score in the runs that were written."""
        try:
            folders = [run.path for run in results if run.path is not None]
            board = make_board(self.suite, folders, ranks=False)
        except EvalkitError as error:
            return [f"{self.suite.suite}: {error}"]
        lines = []
        for member in board.root.walk():
            if not member.children:
                name = " > ".join(member.path)
                lines += [] if member.cells else [f"no score for {name}: no run"]
                lines += [
                    f"no score for {model} on {name}: {cell.score.reason}"
                    for model, cell in member.cells.items()
                    if cell.score.value is None
                ]
        return lines


def plan_suite(reference: str, registry: Registry) -> SuitePlan:
    """Find out what to evaluate for a suite.

    Args:
        reference: The path of a suite file, or the name of an installed suite.
        registry: Where plugins are found.

    Returns:
        The plan. Datasets that cannot be evaluated are part of it.

    Raises:
        SchemaError: The file cannot be read or breaks the schema.
        PluginError: No suite of this name is installed.
    """
    plan = SuitePlan(find_suite(reference, registry), [], {}, {}, [])
    expanded: dict[str, Expansion] = {}
    members = Members(RunPool({}, {}, plan.notices, {}), registry)
    for leaf in members.leaves(plan.suite):
        name = leaf.reference
        if name.startswith(NO_DATASETS):
            tag = name.removeprefix(NO_DATASETS)
            plan.notices.append(f"no installed dataset has the tag {tag}")
            continue
        if name not in expanded:
            expanded[name] = _expand(name, registry)
        metric = leaf.metric and leaf.metric.partition("#")[0]
        try:
            bound = metric and registry.load("metrics", metric)
        except PluginError as error:
            bound = None
            plan.notices.append(f"{leaf.label}: {error}")
        for asked, names in expanded[name].evaluated.items():
            for dataset in (asked, *names):
                metrics = plan.metrics.setdefault(dataset, [])
                if metric and bound and metric not in metrics:
                    metrics.append(metric)
                split = leaf.split
                if split and (only := plan.splits.setdefault(dataset, split)) != split:
                    text = f"{dataset}: evaluating the split {only}, not {split}"
                    plan.notices.append(text)
    plan.expanded.extend(expanded.values())
    return plan._replace(notices=[*dict.fromkeys(plan.notices)])


def _expand(name: str, registry: Registry) -> Expansion:
    """Return what a dataset stands for; itself if it cannot be evaluated."""
    try:
        found = expand(name, registry)
    except EvalkitError:
        found = Expansion({name: (name,)})
    return found._replace(name=found.name or name)
