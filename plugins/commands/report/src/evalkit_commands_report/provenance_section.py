"""The section of provenance: what each run was made from, and by what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import mark
from evalkit_commands_report.markup import Child, Markup, element
from evalkit_commands_report.tables import table

if TYPE_CHECKING:
    from evalkit.runs import RunRecord


def provenance_section(group: Gathered, name: str) -> Markup:
    """Return data, predictions, components and versions of each run.

    Args:
        group: The runs of a data set.
        name: Beginning of the ids of its elements.
    """
    return element(
        "section",
        element("h3", "Provenance", id=f"{name}-provenance"),
        [_run(run) for run in group.runs],
        aria_labelledby=f"{name}-provenance",
    )


def _run(run: Shown) -> Markup:
    facts = [
        element("div", element("dt", key), element("dd", value))
        for key, value in _facts(run.result.record)
    ]
    components = [
        [
            each.id,
            each.distribution,
            each.version or "",
            ", ".join(f"{key}={value}" for key, value in each.parameters.items()),
            (each.source_sha256 or "")[:16],
        ]
        for each in run.result.record.components
    ]
    header = ("Component", "Distribution", "Version", "Parameters", "Source")
    return element(
        "details",
        element(
            "summary", mark(run.place), " ", f"{run.label}: run {run.result.run_id}"
        ),
        element("dl", facts),
        table(header, components, texts=range(5), caption=f"Plugins of {run.label}"),
    )


def _facts(record: RunRecord) -> Iterator[tuple[str, Child]]:
    data, policies = record.data, record.policies
    yield "Run", record.run_id
    for key, run_id in (("Rescored from", record.parent), ("Repeat of", record.repeat_of)):
        if run_id:
            yield key, run_id
    if record.merged:
        yield "Merged of", ", ".join(record.merged)
    yield "Data set", _joined(record.dataset, data.version, record.split)
    yield "Task", record.task or ""
    for key, text in (
        ("Licence", data.license),
        ("Source", data.source_url),
        ("Content warning", data.content_warning),
    ):
        if text:
            yield key, text
    for file in data.files:
        yield "Data file", f"{file.name} (SHA-256 {file.sha256[:16]}…)"
    predictions = record.predictions
    if predictions.sha256:
        named = predictions.name or "rows"
        yield "Predictions", f"{named} (SHA-256 {predictions.sha256[:16]}…)"
    for each in record.perturbed:
        yield "Perturbed file", f"{each.file or 'rows'} (SHA-256 {each.sha256[:16]}…)"
    yield (
        "Policies",
        f"missing: {policies.on_missing}, invalid: {policies.on_invalid}, "
        f"duplicate: {policies.on_duplicate}",
    )
    if not record.selection.is_whole:
        yield "Selection", str(record.selection.to_dict())
    yield "Intervals", f"{100 * record.confidence:g} %, seed {record.seed}"
    if record.timings is not None:
        started = record.timings.started
        yield "Evaluated", f"{started}, in {record.timings.seconds:g} s"
    if record.core is not None:
        yield "evalkit-core", record.core.version
    for name, version in (record.environment or {}).items():
        yield name, version


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)
