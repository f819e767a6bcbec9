"""Compares the code and libraries that a run recorded with those of today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evalkit.errors import PluginError
from evalkit.plugins.bound import Bound, BoundDataset, BoundMetric
from evalkit.plugins.components import WITHOUT_PLUGIN
from evalkit.plugins.provenance import environment
from evalkit.plugins.resolver import Resolver
from evalkit.runs import recorded
from evalkit.runs.record import RunRecord
from evalkit.runs.recording import recorded_component, recorded_core
from evalkit.runs.stored import bound_component

_NEVER_CHECKED = (
    "source code of libraries that have a version (only that is compared), byte code "
    "of them and of evalkit, and what plugins load elsewhere and do not name in their "
    "`resources`: files, models, services"
)


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
    record: RunRecord,
    metrics: Sequence[tuple[BoundMetric, recorded.Component]],
    resolver: Resolver,
) -> CodeComparison:
    """Compare versions, source code and libraries.

    Args:
        record: What the run recorded.
        metrics: The run's metrics that are installed, each with what was recorded.
        resolver: Finds the data set and the task.

    Returns:
        What has changed, what was compared, and what was not checked and why.
    """
    compared: list[tuple[str, Bound, recorded.Component]] = [
        (metric.name, metric, before) for metric, before in metrics
    ]
    others, unchecked = _other_components(record, resolver)
    compared += others
    changes: list[CodeChange] = []
    libraries: dict[str, str | None] = {}
    resources: list[str] = []
    installed: dict[str, tuple[recorded.Component, recorded.Component]] = {}
    for name, bound, before in compared:
        now = recorded_component(bound)
        changes += _changed(name, before, now)
        if isinstance(bound, BoundDataset):
            changes += _changed_data(name, bound, record.data.version)
        if before.source_sha256 is None and now.source_sha256 is None:
            unchecked.append(f"source code of {name}: it is in no file")
        changes += _changed_resources(name, before, now)
        resources += sorted(now.resources or ())
        installed.setdefault(before.distribution, (before, now))
        if before.libraries is None:
            unchecked.append(
                f"libraries that {name} uses: not recorded, as the run was written "
                "by an older evalkit"
            )
            continue
        used = now.libraries or {}
        both = {*before.libraries, *used}
        for library in sorted(both - libraries.keys() - environment().keys()):
            libraries[library] = used.get(library)
            then = before.libraries.get(library)
            if then != libraries[library]:
                what = f"{library}, which {name} uses"
                changes.append(CodeChange(what, then, libraries[library]))
    reasons: dict[str, list[str]] = {}
    for distribution, pair in installed.items():
        why = _not_comparable(*pair)
        if why is None:
            changes += _changed_files(distribution, *pair)
        else:
            reasons.setdefault(why, []).append(distribution)
    unchecked += (f"files of {', '.join(reasons[why])}: {why}" for why in reasons)
    changes += _changed_core(record.core)
    changes += _changed_environment(record.environment or {})
    names = ", ".join(["evalkit-core", *(name for name, _, _ in compared)])
    versions = ", ".join([*environment(), *sorted(libraries)])
    looked_at = [f"version and source code of {names}", f"versions of {versions}"]
    if resources:
        looked_at.append(f"the resources {', '.join(dict.fromkeys(resources))}")
    return CodeComparison(
        changes,
        looked_at,
        [*unchecked, _NEVER_CHECKED],
    )


def _other_components(
    record: RunRecord, resolver: Resolver
) -> tuple[list[tuple[str, Bound, recorded.Component]], list[str]]:
    """Load what a run used beside metrics, or say why that cannot be."""
    found, unchecked = [], []
    for before in record.components:
        if before.kind == "metrics" or before.distribution in WITHOUT_PLUGIN:
            continue
        try:
            found.append((before.id, bound_component(before, resolver), before))
        except PluginError as error:
            unchecked.append(f"{before.id}: {error}")
    return found, unchecked


def _changed_data(
    name: str, dataset: BoundDataset, then: str | None
) -> Iterator[CodeChange]:
    """Say of data with another version what the data set says that changed."""
    now = dataset.version
    if then is not None and then != now:
        said = dataset.changes.get(now)
        yield CodeChange(f"{name} data", then, f"{now}: {said}" if said else now)


def _changed(
    name: str, before: recorded.Component, now: recorded.Component
) -> Iterator[CodeChange]:
    if before.version != now.version:
        yield CodeChange(f"{name} version", before.version, now.version)
    elif before.source_sha256 != now.source_sha256:
        yield CodeChange(f"{name} source", before.source_sha256, now.source_sha256)
    for module in sorted({*before.other_byte_code, *now.other_byte_code}):
        states = ("made of its source", "not made of its source")
        then, today = (states[module in each.other_byte_code] for each in (before, now))
        if then != today:
            yield CodeChange(f"byte code of {module}", then, today)


def _changed_resources(
    name: str, before: recorded.Component, now: recorded.Component
) -> Iterator[CodeChange]:
    """Say which files, models and services of a metric are not what they were."""
    if before.resources is None or now.resources is None:
        return
    for resource in sorted({*before.resources, *now.resources}):
        then, today = before.resources.get(resource), now.resources.get(resource)
        if then != today:
            yield CodeChange(f"{resource}, which {name} uses", then, today)


_NO_FILES = {
    "editable": "installed as editable, so that RECORD does not name the code",
    "unrecorded": "it has no RECORD",
    "unreadable": "its metadata cannot be read",
    "given": "it is from no distribution",
}
"""Why files of an installation are not looked at, by its kind."""


def _not_comparable(before: recorded.Component, now: recorded.Component) -> str | None:
    """Say why the files of a distribution cannot be compared; None where they can."""
    if before.installation is None or now.installation is None:
        return "not recorded, as the run was written by an older evalkit"
    then, today = before.installation.kind, now.installation.kind
    if then in _NO_FILES:
        return f"{_NO_FILES[then]} (when the run was made)"
    return _NO_FILES.get(today)


def _changed_files(
    distribution: str, before: recorded.Component, now: recorded.Component
) -> Iterator[CodeChange]:
    """Name the files of a distribution that are not what they were."""
    then, today = before.installation, now.installation
    if then is None or today is None:
        return
    files = {
        name
        for each in (then, today)
        for name in (*each.differing, *each.missing, *each.unnamed)
    }
    states = {name: (then.state_of(name), today.state_of(name)) for name in files}
    other = {name: pair for name, pair in states.items() if pair[0] != pair[1]}
    for name in sorted(other):
        yield CodeChange(f"{name} of {distribution}", *other[name])
    if not other and before.version == now.version and then.sha256 != today.sha256:
        yield CodeChange(f"files of {distribution}", then.sha256, today.sha256)


def _changed_core(before: recorded.Core | None) -> Iterator[CodeChange]:
    """Say which rooms of core have changed."""
    now = recorded_core()
    if before is None or before.version != now.version:
        then = None if before is None else before.version
        yield CodeChange("evalkit-core version", then, now.version)
    elif not before.rooms:  # an older version made one hash of them all
        yield CodeChange("evalkit-core source", str(before.source_sha256), None)
    else:
        for room in sorted({*before.rooms, *now.rooms}):
            if before.rooms.get(room) != now.rooms.get(room):
                what = f"evalkit-core source of {room}"
                yield CodeChange(what, before.rooms.get(room), now.rooms.get(room))


def _changed_environment(then: Mapping[str, str]) -> Iterator[CodeChange]:
    for name, version in environment().items():
        if name != "evalkit-core" and then.get(name) != version:
            yield CodeChange(name, then.get(name), version)
