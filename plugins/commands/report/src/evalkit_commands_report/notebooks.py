"""What a notebook shows of runs and comparisons: parts of the page, no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.reporting import count_of
from evalkit_commands_report.comparison_section import comparison_body
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import mark_symbols
from evalkit_commands_report.markup import Child, Markup, asset, element, raw_element
from evalkit_commands_report.numbers import held_metrics, largest_n, ranked, tags_of
from evalkit_commands_report.summary_section import summary_section
from evalkit_commands_report.tag_section import flag_note, tag_table

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit_analysis_compare import Comparison

MOST_TAGS = 10
"""Tags that a notebook shows: the worst; `by_tag` has all."""


def result_html(result: Result) -> str:
    """Return a run as a notebook shows it: scores, the worst tags, and counts."""
    group = Gathered(str(result.dataset), [Shown(result, str(result.model), 0)])
    counts = result.counts
    said = f"{counts.get('scored', 0)} of {counts.get('examples', 0)} examples scored"
    left = [
        f"{counts[name]} {name}"
        for name in ("invalid", "missing", "duplicate", "unknown", "unreadable")
        if counts.get(name)
    ]
    notices = count_of(len(result.notices), "notice")
    more = [f"{notices}: .notices"] if result.notices else []
    return _framed(
        element("h3", f"{result.dataset}: {result.model}", class_="title"),
        summary_section(group, "run"),
        _worst_tags(group),
        element("p", "; ".join([said, *left, *more]), class_="note"),
    )


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as a notebook shows it."""
    return _framed(comparison_body(comparison))


def _worst_tags(group: Gathered) -> Markup | None:
    for metric in held_metrics(group)[:1]:
        run = group.scored[0]
        least = run.result.record.min_n
        tags = tags_of(group, metric)
        large = [tag for tag in tags if largest_n(group, metric, tag) >= least]
        shown = ranked(run, metric, large)[:MOST_TAGS]
        words = f"The {len(shown)} worst of {count_of(len(large), 'tag')}"
        words += f" of at least {least} examples" if len(large) < len(tags) else ""
        words += f"; .by_tag has all {len(tags)}"
        if len(shown) == len(tags):
            words = "All tags, the worst first"
        return element(
            "section",
            element("p", words, class_="note"),
            tag_table(group, metric, shown, sortable=False),
            flag_note(group, [metric], shown),
            class_="tags",
        )
    return None


def _framed(*children: Child) -> Markup:
    """Return parts of the page with its style, which holds within them alone."""
    rules = asset("parts.css") + asset("notebook.css")
    style = f"@scope (.evalkit-report) {{\n{rules}\n}}"
    return element(
        "div",
        raw_element("style", style),
        mark_symbols(),
        *children,
        class_="evalkit-report",
    )
