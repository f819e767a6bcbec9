"""Puts a page together of the sections of each data set."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.reporting import count_of
from evalkit_commands_report.comparison_section import comparison_section
from evalkit_commands_report.confusion_section import confusion_section
from evalkit_commands_report.gathering import Gathered
from evalkit_commands_report.intervals import mark_symbols
from evalkit_commands_report.markup import (
    Markup,
    asset,
    element,
    make_document,
    script_json,
)
from evalkit_commands_report.numbers import tag_columns
from evalkit_commands_report.perturbation_section import perturbation_section
from evalkit_commands_report.provenance_section import (
    problem_section,
    provenance_section,
)
from evalkit_commands_report.reliability_section import reliability_section
from evalkit_commands_report.summary_section import summary_section
from evalkit_commands_report.tag_section import tag_section

SECTIONS = (
    summary_section,
    tag_section,
    comparison_section,
    perturbation_section,
    confusion_section,
    reliability_section,
    problem_section,
    provenance_section,
)


def make_page(groups: Sequence[Gathered]) -> str:
    """Return a page that shows runs."""
    names = [f"group-{number}" for number in range(len(groups))]
    title = f"evalkit report: {', '.join(group.dataset for group in groups)}"
    data = {name: tag_columns(group) for name, group in zip(names, groups, strict=True)}
    parts = [_data_set(group, name) for group, name in zip(groups, names, strict=True)]
    return make_document(
        title,
        [mark_symbols(), *parts],
        says="from the records of the runs. "
        "The page loads nothing and holds no texts of examples.",
        data=script_json(data),
        script=asset("page.js"),
    )


def _data_set(group: Gathered, name: str) -> Markup:
    record = group.runs[0].result.record
    about = [record.task, f"split {record.split}" if record.split else None]
    about.append(count_of(len(group.runs), "model"))
    return element(
        "article",
        element(
            "header",
            element("h1", group.dataset),
            element("p", " · ".join(text for text in about if text), class_="about"),
            element("p", record.data.description) if record.data.description else None,
            element("p", f"{group.apart}.", class_="warning") if group.apart else None,
        ),
        [section(group, name) for section in SECTIONS],
    )
