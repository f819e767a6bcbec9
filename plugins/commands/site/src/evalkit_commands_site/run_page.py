"""The page of a run: the sections of `evalkit report`, and some wrong answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from evalkit.errors import EvalkitError
from evalkit.reporting import count_of
from evalkit.runs import find_wrong
from evalkit_commands_report.gathering import Gathered, gather
from evalkit_commands_report.intervals import mark_symbols
from evalkit_commands_report.markup import (
    Child,
    Markup,
    element,
    fragment,
    raw_element,
    script_json,
    table,
    without_empty_columns,
)
from evalkit_commands_report.numbers import tag_columns
from evalkit_commands_report.page import SECTIONS
from evalkit_commands_site.frame import article, section
from evalkit_commands_site.gathering import (
    Collection,
    SiteRun,
    page_name,
    page_of,
)

if TYPE_CHECKING:
    from evalkit import Result

UP = "../"
_LONGEST = 300
"""Characters of an answer or a prediction that are shown."""


def run_content(
    collection: Collection, run: SiteRun, result: Result, examples: int
) -> Markup:
    """Return the page of a run, with at most `examples` wrong answers."""
    related, wrong = _related(collection, run), _wrong_answers(result, examples)
    return _page(run, related, report_content(gather([result], None)), wrong)


def report_content(groups: Iterable[Gathered]) -> Markup:
    """Return the sections of `evalkit report`, with the data of their script."""
    parts, data = list[Child](), {}
    for number, group in enumerate(groups):
        data[name := f"group-{number}"] = tag_columns(group)
        if group.apart:
            parts.append(element("p", f"{group.apart}.", class_="warning"))
        parts.append([make(group, name) for make in SECTIONS])
    text = script_json(data)
    held = raw_element("script", text, type="application/json", id="evalkit-data")
    return fragment(mark_symbols(), parts, held)


def damaged_content(run: SiteRun, why: str) -> Markup:
    """Return the page of a run whose files cannot be read."""
    return _page(run, element("p", why, class_="warning"))


def _page(run: SiteRun, *content: Child) -> Markup:
    record = run.record
    compare = f"{UP}compare.html#first={page_name(record.fingerprint)}"
    return article(
        fragment(run.model, element("small", " on "), run.dataset),
        *content,
        about=(
            element("a", run.dataset, href=UP + page_of("datasets", run.dataset)),
            element("a", run.model, href=UP + page_of("models", run.model)),
            f"split {record.split}" if record.split else None,
            f"perturbed by {run.perturbation}" if run.perturbation else None,
            run.moment,
            record.status,
            element("a", "Compare with another run", href=compare),
        ),
    )


def _related(collection: Collection, run: SiteRun) -> Markup | None:
    """Link to the run of the unperturbed examples, and to those of perturbed ones."""
    record = run.record
    links: list[Child] = []
    for other in collection.datasets[run.dataset]:
        if other.record.fingerprint == record.original:
            links.append(other.link(UP, "the unperturbed examples"))
        elif other.record.original == record.fingerprint:
            links.append(other.link(UP, other.perturbation))
    items = [element("li", link) for link in links]
    lead = element("p", "Runs that belong to this one:", class_="note")
    return fragment(lead, element("ul", items)) if items else None


def _wrong_answers(result: Result, most: int) -> Markup | None:
    if not most or not result.record.includes_examples or result.status == "refused":
        return None
    try:
        wrong = find_wrong(result)
    except EvalkitError as error:
        body = element("p", f"{error}.", class_="note")
    else:
        count = wrong.rows.height
        header: list[Child] = ["Id", "Answer", "Prediction", "Score", "Note", "Tags"]
        names = "id", "answer", "pred", "score", "note", "tags"
        shown = wrong.rows.head(most).iter_rows(named=True)
        rows: list[list[Child]] = [[_text(row[x]) for x in names] for row in shown]
        what = f"do not have the best {wrong.metric}" if wrong.metric else "are wrong"
        summary = f"{count} of {count_of(wrong.n, 'example')} {what}"
        summary += f"; the first {most} are shown." if count > most else "."
        header, rows = without_empty_columns(header, rows)
        body = fragment(
            element("p", summary, class_="note"),
            table(header, rows, texts=range(6), caption="Examples", class_="examples")
            if rows
            else None,
        )
    return section("Wrong answers", "run-wrong", body)


def _text(value: Any) -> str:
    """Return a value of an example as a short text."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
