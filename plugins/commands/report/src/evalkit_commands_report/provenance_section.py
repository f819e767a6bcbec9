"""The section of provenance: what each run was made from, and by what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import mark
from evalkit_commands_report.markup import Markup, element
from evalkit_commands_report.tables import table

if TYPE_CHECKING:
    from evalkit.runs import RunRecord


def provenance_section(group: Gathered, name: str) -> Markup:
    """Return data, predictions, components and versions of each run."""
    return element(
        "section",
        element("h2", "Provenance", id=f"{name}-provenance"),
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


def _facts(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Return what is known, each with its name; what is not known is left out."""
    data, policies = record.data, record.policies
    perturbation = record.perturbation
    named = record.predictions.name or "rows"
    facts = {
        "Run": record.run_id,
        "Rescored from": record.parent,
        "Merged of": ", ".join(record.merged),
        "Data set": _joined(record.dataset, data.version, record.split),
        "Task": record.task,
        "Licence": data.license,
        "Source": data.source_url,
        "Content warning": data.content_warning,
        "Data files": ", ".join(f"{f.name} ({_hash(f.sha256)})" for f in data.files),
        "Predictions": f"{named} ({_hash(record.predictions.sha256)})",
        "Perturbation": "" if perturbation is None else perturbation.name,
        "Policies": f"missing: {policies.on_missing}, invalid: {policies.on_invalid}, "
        f"duplicate: {policies.on_duplicate}",
        "Selection": ""
        if record.selection.is_whole
        else str(record.selection.to_dict()),
        "Intervals": f"{100 * record.confidence:g} %, seed {record.seed}",
        **_circumstances(record),
    }
    yield from ((name, text) for name, text in facts.items() if text)


def _circumstances(record: RunRecord) -> dict[str, str]:
    """Return when it was evaluated, and with which versions."""
    found = {}
    if record.timings is not None:
        seconds = f"{record.timings.seconds:g} s"
        found["Evaluated"] = f"{record.timings.started}, in {seconds}"
    if record.core is not None:
        found["evalkit-core"] = record.core.version
    return {**found, **(record.environment or {})}


def _hash(sha256: str | None) -> str:
    return f"SHA-256 {sha256[:16]}…" if sha256 else "no hash"


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)
