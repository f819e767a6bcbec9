"""Puts a page together: one file without a network, with a policy that holds it so."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from evalkit_commands_report.comparison_section import comparison_section
from evalkit_commands_report.confusion_section import confusion_section
from evalkit_commands_report.gathering import Gathered
from evalkit_commands_report.intervals import mark_symbols
from evalkit_commands_report.markup import (
    Markup,
    element,
    fragment,
    raw_element,
    script_json,
)
from evalkit_commands_report.perturbation_section import perturbation_section
from evalkit_commands_report.problem_section import problem_section
from evalkit_commands_report.provenance_section import provenance_section
from evalkit_commands_report.reliability_section import reliability_section
from evalkit_commands_report.summary_section import summary_section
from evalkit_commands_report.tag_scores import tag_columns
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
    """Return a page that shows runs.

    Args:
        groups: The runs by data set.

    Returns:
        An HTML document.
    """
    names = [f"group-{number}" for number in range(len(groups))]
    title = f"evalkit report: {', '.join(group.dataset for group in groups)}"
    style, script = asset("parts.css") + asset("page.css"), asset("page.js")
    data = {name: tag_columns(group) for name, group in zip(names, groups, strict=True)}
    parts = [_data_set(group, name) for group, name in zip(groups, names, strict=True)]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta", http_equiv="Content-Security-Policy", content=_policy(style, script)
        ),
        element("meta", name="viewport", content="width=device-width,initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        raw_element("style", style),
    )
    body = element(
        "body",
        element("a", "To the content", href="#content", class_="skip"),
        mark_symbols(),
        element("main", parts, id="content"),
        _footer(),
        raw_element(
            "script", script_json(data), type="application/json", id="evalkit-data"
        ),
        raw_element("script", script),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _data_set(group: Gathered, name: str) -> Markup:
    record = group.runs[0].result.record
    about = [record.task, f"split {record.split}" if record.split else None]
    models = len(group.runs)
    about.append("1 model" if models == 1 else f"{models} models")
    sections = [section(group, name) for section in SECTIONS]
    return element(
        "article",
        element(
            "header",
            element("h1", group.dataset),
            element("p", " · ".join(text for text in about if text), class_="about"),
            element("p", record.data.description) if record.data.description else None,
        ),
        fragment(sections),
    )


def _footer() -> Markup:
    from evalkit import __version__

    return element(
        "footer",
        f"Made by evalkit {__version__} from the records of the runs. "
        "The page loads nothing and holds no texts of examples.",
    )


def _policy(style: str, script: str) -> str:
    """Allow this style and this script and nothing else, not even a request."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
