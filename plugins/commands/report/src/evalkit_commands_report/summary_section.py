"""The first section: the main score of each run, then all scores of the whole set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit_cli.commanding import score_label, show_number, show_value
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import axis_line, interval_line, mark
from evalkit_commands_report.markup import (
    Child,
    Markup,
    element,
    fragment,
    table,
    without_empty_columns,
)
from evalkit_commands_report.numbers import (
    clipped,
    exact,
    flags_of,
    interval_of,
    n_of,
    score_axis,
    score_number,
    value_of,
)

if TYPE_CHECKING:
    from evalkit import Score


def summary_section(group: Gathered, name: str) -> Markup:
    """Return the section of the scores of whole runs."""
    return element(
        "section",
        element("h2", "Scores", id=f"{name}-scores"),
        _headlines(group),
        _refusals(group),
        _all_metrics(group),
        aria_labelledby=f"{name}-scores",
    )


def headline_table(group: Gathered) -> Markup:
    """Return the main score of each run with its interval."""
    scores = [
        (run, run.result.headline)
        for run in group.scored
        if run.result.headline is not None
    ]
    axis = score_axis(scores)
    rows = []
    for run, score in scores:
        model = fragment(mark(run.place), " ", run.label)
        line = interval_line(axis, run.place, score.value, clipped(score, run.bounds))
        big = score_number(run, score, "value", show_value(score))
        rows.append(
            element(
                "tr",
                element("th", model, scope="row", role="rowheader", class_="model"),
                element("td", score_label(score), role="cell", class_="metric"),
                element("td", big, role="cell", class_="n main"),
                element("td", interval_of(run, score), role="cell", class_="ci"),
                element("td", line, role="cell", class_="plot"),
                element("td", n_of(run, score), role="cell", class_="n"),
                role="row",
            )
        )
    confidence = {f"{100 * run.result.record.confidence:g} %" for run, _ in scores}
    interval = f"{' or '.join(sorted(confidence))} interval"
    head = element(
        "tr",
        element("th", "Model", scope="col"),
        element("th", "Metric", scope="col", class_="metric"),
        element("th", "Score", scope="col", class_="n"),
        element("th", interval, scope="col", class_="ci"),
        element("th", axis_line(axis), scope="col", class_="plot"),
        element("th", "n", scope="col", class_="n"),
        role="row",
    )
    return element(
        "div",
        element(
            "table",
            element("thead", head, role="rowgroup"),
            element("tbody", rows, role="rowgroup"),
            class_="intervals headlines",
            role="table",
        ),
        class_="wide",
    )


def _headlines(group: Gathered) -> Markup | None:
    if not any(run.result.headline is not None for run in group.scored):
        return None
    shown = [run.result.headline for run in group.scored]
    return fragment(headline_table(group), flags_of(shown), _baselines(group))


def _baselines(group: Gathered) -> Markup | None:
    """Say what answers would score that ignore the input.

    They are of the examples that a run was scored on, which may be others in each run.
    """
    runs: dict[Markup, list[str]] = {}
    for run in group.scored:
        found = _baselines_of(run)
        if found is not None:
            runs.setdefault(found, []).append(run.label)
    told = [
        element(
            "p",
            "Without reading the input",
            f", on the examples of {', '.join(labels)}" if len(runs) > 1 else "",
            found,
            ".",
            class_="note",
        )
        for found, labels in runs.items()
    ]
    return fragment(told) if told else None


def _baselines_of(run: Shown) -> Markup | None:
    found, headline = run.result.record.baselines, run.result.headline
    if found is None or headline is None or headline.aggregate:
        return None
    parts: list[Child] = []
    for value, words in (
        (found.majority, f"always “{found.majority_label}” scores "),
        (found.chance, "chance scores "),
    ):
        if value is not None:
            shown = show_number(headline, value)
            parts += [", " if parts else "", words, exact(shown, value)]
    return fragment(f" ({headline.metric}): ", parts) if parts else None


def _refusals(group: Gathered) -> Markup:
    return fragment(
        [
            element(
                "p",
                element("strong", run.label),
                ": the predictions were refused, so there are no scores"
                f"{_why_refused(run)}.",
                class_="warning",
            )
            for run in group.runs
            if run.result.status == "refused"
        ],
        [
            element("p", element("strong", run.label), f": {error}", class_="warning")
            for run in group.runs
            for error in run.result.errors
        ],
    )


def _why_refused(run: Shown) -> str:
    """Say which counts the policies of a run refuse; "" where none is known."""
    policies, counts = run.result.record.policies, run.result.counts
    found = [
        f"{counts[name]} {name}"
        for name, policy in (
            ("missing", policies.on_missing),
            ("invalid", policies.on_invalid),
            ("duplicate", policies.on_duplicate),
        )
        if policy == "error" and counts.get(name)
    ]
    return f": {', '.join(found)}" if found else ""


def _all_metrics(group: Gathered) -> Markup | None:
    """Return all scores of the whole set, and those over the tags of facets."""
    rows: list[list[Child]] = []
    for run in group.scored:
        rows += [
            _metric_row(run, score)
            for score in run.result.scores
            if score.is_whole or score.aggregate is not None
        ]
    if not rows:
        return None
    header: list[Child] = ["Metric", "Of", "Model", "Score", "Interval", "n"]
    header += ["Adjusted p", "What to know"]
    header, rows = without_empty_columns(header, rows)
    texts = [n for n, name in enumerate(header) if name not in ("Score", "n")]
    return element(
        "details",
        element("summary", f"All metrics and facets ({len(rows)} scores)"),
        table(header, rows, texts=texts, caption="All metrics and facets"),
    )


_WORDS = {"macro": "mean over", "worst": "worst tag of", "gap": "largest gap of"}


def _metric_row(run: Shown, score: Score) -> list[Child]:
    from evalkit.reporting import show_p

    kind, _, facet = (score.aggregate or "").partition(":")
    about = f"{_WORDS.get(kind, kind)} {facet}".strip() or "all examples"
    if score.tag is not None:
        about += f": {score.tag}"
    p_value: Child = ""
    if score.p_adjusted is not None:
        p_value = score_number(run, score, "p_adjusted", show_p(score.p_adjusted))
    known = [text for text in (score.flag, score.reason) if text]
    return [
        score.metric,
        about,
        fragment(mark(run.place), " ", run.label),
        value_of(run, score),
        interval_of(run, score),
        n_of(run, score),
        p_value,
        "; ".join(known),
    ]
