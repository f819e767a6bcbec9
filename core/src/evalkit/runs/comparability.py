"""What must be equal for scores of two runs to stand side by side."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from evalkit.base.names import score_name
from evalkit.runs import recorded
from evalkit.runs.record import RunRecord

DATA_FIELDS = ("dataset", "version", "data", "data-adapters", "split", "selection")
"""Fields that say which examples were evaluated."""

COMPARED_FIELDS = (
    *("task", *DATA_FIELDS, "perturbation", "adapters", "extraction"),
    *("policies", "against", "annotator", "metric", "clusters"),
)
"""Fields that must be equal."""

_LONGEST = 120
_SHOWN = 12


class Difference(NamedTuple):
    """A field in which two runs differ."""

    field: str
    """One of `COMPARED_FIELDS`."""
    first: str
    """Value of the first run, as text."""
    second: str
    """Value of the second run, as text."""
    name: str = ""
    """Name of the plugin or policy; "" for other fields."""
    is_minor: bool = False
    """Whether only code of the same version differs, or what makes clusters. Scores are
    then comparable, but a reader should know it."""

    def __str__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"{self.field}{name}: {self.first} and {self.second}"


class _Value(NamedTuple):
    value: Any
    """What must be equal."""
    shown: Any
    code: str = ""
    """What a reader should know, as text."""


def find_differences(first: RunRecord, second: RunRecord) -> list[Difference]:
    """Find what keeps the scores of two runs from standing side by side.

    Policies differ only if they apply to responses of both runs: without a missing
    response, each `on_missing` gives the same scores. Metrics are compared if both runs
    have them, versions of data if both runs are of one dataset.

    Args:
        first: Record of a run.
        second: Record of another run.

    Returns:
        The differences, in the order of `COMPARED_FIELDS`. Empty if the scores are
        comparable.
    """
    found = []
    others = _values(second)
    for (field, name), one in _values(first).items():
        other = others.get((field, name), one)
        if field == "version" and first.dataset != second.dataset:
            continue
        if one.value != other.value:
            found.append(Difference(field, _show(one.shown), _show(other.shown), name))
        elif one.code != other.code:
            found.append(Difference(field, one.code, other.code, name, is_minor=True))
    return sorted(found, key=lambda each: COMPARED_FIELDS.index(each.field))


def comparison_key(record: RunRecord) -> str:
    """Return what `find_differences` compares, as text.

    Args:
        record: Record of a run.

    Returns:
        The text. Runs with the same one have equal differences from any other run.
    """
    return repr(_values(record))


def _values(record: RunRecord) -> dict[tuple[str, str], _Value]:
    """Return what is compared, by field and name, where another run has it too."""
    data, selection, extraction = record.data, record.selection, record.extraction
    limit = {} if selection.limit is None else {"limit": selection.limit}
    fields = {
        "task": record.task,
        "dataset": record.dataset,
        "version": data.version,
        "data-adapters": _stages(data.adapters),
        "split": record.split,
        "selection": {**limit, **selection.filters},
        "perturbation": record.perturbation and record.perturbation.name,
        "adapters": _stages(record.predictions.adapters),
        "extraction": _stages(extraction.stages if extraction else ()),
        "against": record.against,
    }
    found = {(name, ""): _Value(value, value) for name, value in fields.items()}
    rows = data.rows_sha256 or (None if data.files else data.sha256)
    hashes = [*(each.sha256 for each in data.files), rows, data.attached_sha256]
    contents = [f"SHA-256 {each[:_SHOWN]}" for each in hashes if each]
    # files are the same whatever they are called
    found["data", ""] = _Value(hashes, [*(f.name for f in data.files), *contents])
    # other clusters change intervals, not scores
    found["clusters", ""] = _Value(None, None, ", ".join(record.cluster) or "none")
    for status in ("missing", "invalid", "duplicate"):
        if getattr(record.counts, status):
            policy = getattr(record.policies, f"on_{status}")
            found["policies", f"on_{status}"] = _Value(policy, policy)
    plugins: dict[tuple[str, str], list[recorded.Component]] = {}
    for each in record.components:
        if (kind := each.kind.removesuffix("s")) in ("task", "annotator", "metric"):
            settings = each.parameters if kind == "metric" else {}
            key = kind, score_name(each.name, settings)
            plugins.setdefault(key, []).append(each)
    for key, several in plugins.items():
        texts = [*map(_describe, several)]
        sources = ", ".join(str(each.source_sha256)[:_SHOWN] for each in several)
        found[key] = _Value(texts, texts, f"code {sources}")
    return found


def _describe(component: recorded.Component) -> str:
    """Return what must be equal of a plugin besides its code."""
    settings = (component.parameters, component.resources)
    parts = [component.distribution, f"version {component.version}"]
    return " ".join([*parts, *(_json(each) for each in settings if each)])


def _stages(adapters: Iterable[recorded.Adapter]) -> list[str]:
    return [
        f"{each.kind} {each.version}"
        + ("" if each.configuration is None else f" {_json(each.configuration)}")
        for each in adapters
    ]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _show(value: Any) -> str:
    """Show a value in one short line; two different ones never look the same."""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    elif isinstance(value, dict):
        value = ", ".join(f"{key}={_json(each)}" for key, each in value.items())
    text = str(value or "none")
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:_LONGEST]}… (SHA-256 {digest[:_SHOWN]})"
