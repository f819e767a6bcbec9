"""The data of the site's scripts, as scripts: a page that is a file loads no JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from evalkit.catalog import metric_of
from evalkit_cli.commanding import (
    for_terminal,
    score_label,
    show_coverage,
    show_interval,
    show_n,
    show_value,
)
from evalkit_commands_report.markup import script_json
from evalkit_commands_site.gathering import Collection, Facets, SiteRun, page_name

if TYPE_CHECKING:
    from evalkit import Score

INDEX = "data/index.js"


def scores_file(run: SiteRun) -> str:
    """Return the path of the file of a run's scores."""
    return f"data/{page_name(run.record.fingerprint)}.js"


def facets_of(run: SiteRun, scores: Iterable[Score]) -> Facets:
    """Return what a run can be found by."""
    tags = {score.tag for score in scores if score.tag is not None}
    return Facets((*run.record.metric_names,), (*sorted(tags),))


def index_script(collection: Collection, facets: Iterable[Facets]) -> str:
    """Return the script that holds what all runs can be found and compared by."""
    numbers: dict[tuple[str, ...], int] = {}

    def number(values: tuple[str, ...]) -> int:
        return numbers.setdefault(values, len(numbers))

    runs = [
        {
            "id": page_name(run.record.fingerprint),
            "page": run.page,
            "scores": scores_file(run),
            "dataset": run.dataset,
            "model": run.model,
            "perturbation": run.perturbation,
            "moment": run.moment,
            "kind": run.kind,
            "metrics": number(facet.metrics),
            "tags": number(facet.tags),
            "languages": number(run.record.data.languages),
        }
        for run, facet in zip(collection.runs, facets, strict=True)
    ]
    differences = {
        f"{first}-{second}": [
            [
                for_terminal(f"{each}"),
                each.field == "metric" and each.name,
                each.is_minor,
            ]
            for each in listed
        ]
        for (first, second), listed in collection.differences.items()
        if listed
    }
    value = {"runs": runs, "sets": [*numbers], "differences": differences}
    return f"window.evalkitSite = {script_json({**value, 'scores': {}})};\n"


def scores_script(run: SiteRun, scores: Iterable[Score]) -> str:
    """Return the script that holds the scores of a run."""
    rows = [_row(score, run) for score in scores]
    key = script_json(page_name(run.record.fingerprint))
    return f"window.evalkitSite.scores[{key}] = {script_json(rows)};\n"


def _row(score: Score, run: SiteRun) -> list[Any]:
    """Return what the comparison of two runs shows of a score."""
    share, _ = show_coverage(score)
    value = None if score.value is None else score.value * score.scale
    return [
        metric_of(score.metric, run.record.metric_names) or score.metric,
        for_terminal(score_label(score)),
        for_terminal(_about(score, run.perturbation)),
        score.is_whole or (score.aggregate or "").startswith("macro:"),
        value if value is not None and math.isfinite(value) else None,
        show_value(score),
        show_interval(score, run.record.bounds),
        show_n(score),
        f"{share} scored" if share else "",
        for_terminal("; ".join(filter(None, (score.flag, score.reason)))),
    ]


def _about(score: Score, perturbation: str) -> str:
    """Name the examples that a score is about."""
    kind, _, facet = (score.aggregate or "").partition(":")
    parts = [
        f"{kind} of {facet}" if kind in ("worst", "gap") else "",
        score.tag or "",
        "" if score.perturbation == perturbation else score.perturbation or "",
        "" if score.computed_on == "all" else score.computed_on,
    ]
    return ", ".join(part for part in parts if part) or "all examples"
