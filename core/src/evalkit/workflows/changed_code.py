"""Compares the code and libraries that a run recorded with those of today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.errors import PluginError
from evalkit.examples.files import AS_FILE
from evalkit.plugins.bound import Bound, BoundMetric
from evalkit.plugins.provenance import describe_component, describe_core, environment
from evalkit.plugins.resolver import Resolver
from evalkit.runs.stored import bound_component

_NEVER_CHECKED = (
    "source code of libraries that have a version (only that is compared), and what "
    "plugins load elsewhere: files, models, services, imports inside functions"
)

Recorded = Mapping[str, Any]


class CodeChange(NamedTuple):
    """Something that computes the numbers and is not what it was."""

    what: str
    then: str | None
    now: str | None


class CodeComparison(NamedTuple):
    """What was compared with today, and what could not be."""

    changes: Sequence[CodeChange]
    compared: Sequence[str]
    unchecked: Sequence[str]


def compare_code(
    record: Recorded,
    metrics: Sequence[tuple[BoundMetric, Recorded]],
    resolver: Resolver,
) -> CodeComparison:
    """Compare versions, source code and libraries.

    Args:
        record: What `run.json` holds.
        metrics: The run's metrics that are installed, each with what was recorded.
        resolver: Finds the data set and the task.

    Returns:
        What has changed, what was compared, and what was not checked and why.
    """
    compared: list[tuple[str, Bound, Recorded]] = [
        (metric.name, metric, before) for metric, before in metrics
    ]
    others, unchecked = _other_components(record, resolver)
    compared += others
    core = record.get("core") or {}
    changes: list[CodeChange] = []
    libraries: dict[str, str | None] = {}
    for name, bound, before in compared:
        now = describe_component(bound)
        changes += _changed(name, before, now)
        if before["source_sha256"] is None and now["source_sha256"] is None:
            unchecked.append(f"source code of {name}: it is in no file")
        if "libraries" not in before:
            unchecked.append(
                f"libraries that {name} uses: not recorded, as the run was written "
                "by an older evalkit"
            )
            continue
        both = before["libraries"] | now["libraries"]
        for library in sorted(both.keys() - libraries.keys() - environment().keys()):
            libraries[library] = now["libraries"].get(library)
            then = before["libraries"].get(library)
            if then != libraries[library]:
                what = f"{library}, which {name} uses"
                changes.append(CodeChange(what, then, libraries[library]))
    changes += _changed("evalkit-core", core, describe_core())
    changes += _changed_environment(record)
    names = ", ".join(["evalkit-core", *(name for name, _, _ in compared)])
    versions = ", ".join([*environment(), *sorted(libraries)])
    return CodeComparison(
        changes,
        [f"version and source code of {names}", f"versions of {versions}"],
        [*unchecked, _NEVER_CHECKED],
    )


def _other_components(
    record: Recorded, resolver: Resolver
) -> tuple[list[tuple[str, Bound, Recorded]], list[str]]:
    """Load what a run used beside metrics, or say why that cannot be."""
    found, unchecked = [], []
    for before in record["components"]:
        name = before["id"]
        if name.startswith("metrics/") or before["distribution"] == AS_FILE:
            continue
        try:
            found.append((name, bound_component(before, resolver), before))
        except PluginError as error:
            unchecked.append(f"{name}: {error}")
    return found, unchecked


def _changed(name: str, before: Recorded, now: Recorded) -> Iterator[CodeChange]:
    if before.get("version") != now["version"]:
        yield CodeChange(f"{name} version", before.get("version"), now["version"])
    elif before.get("source_sha256") != now["source_sha256"]:
        yield CodeChange(
            f"{name} source", before.get("source_sha256"), now["source_sha256"]
        )


def _changed_environment(record: Recorded) -> Iterator[CodeChange]:
    then: Mapping[str, str] = record.get("environment") or {}
    for name, version in environment().items():
        if name != "evalkit-core" and then.get(name) != version:
            yield CodeChange(name, then.get(name), version)
