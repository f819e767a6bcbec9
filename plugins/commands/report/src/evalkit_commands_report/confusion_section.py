"""The section of confusions: what was predicted for which answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import mark
from evalkit_commands_report.markup import Child, Markup, element, fragment, table

if TYPE_CHECKING:
    from evalkit.runs import Confusion

MOST_LABELS = 24
"""Labels that a matrix shows; of more the most frequent mistakes are listed."""

_MOST_MISTAKES = 30
_SHADES = 9
FEW_COLUMNS = 8
"""Columns of a matrix whose names are not on end."""
NO_ANSWER = "(no answer)"


def confusion_section(group: Gathered, name: str) -> Markup | None:
    """Return the confusion matrix of each run; None where no run has one."""
    found = [(run, confusion_of(run)) for run in group.scored]
    if not any(confusion for _, confusion in found):
        return None
    figures = [
        element(
            "figure",
            element("figcaption", mark(run.place), " ", run.label),
            element("p", f"No confusion matrix: {confusion}.", class_="note")
            if isinstance(confusion, str)
            else confusion_table(run, confusion),
        )
        for run, confusion in found
    ]
    how = (
        "Rows are answers, columns predictions; the stronger the colour, the larger "
        "the share of the row."
    )
    has_matrix = any(
        not isinstance(confusion, str) and not _is_large(confusion)
        for _, confusion in found
    )
    return element(
        "section",
        element("h2", "Confusion", id=f"{name}-confusion"),
        element("p", how, class_="note") if has_matrix else None,
        element("div", figures, class_="figures"),
        aria_labelledby=f"{name}-confusion",
    )


def confusion_of(run: Shown) -> Confusion | str:
    """Return how often each answer got each prediction, or why that is not known."""
    from evalkit import EvalkitError
    from evalkit.runs import count_confusion

    try:
        return count_confusion(run.result)
    except EvalkitError as error:
        return str(error)


def used_columns(found: Confusion) -> list[tuple[str, list[int]]]:
    """Return the predictions that there are, each with its counts by answer."""
    columns = [
        (name, [row[number] for row in found.counts])
        for number, name in enumerate(found.predicted)
    ]
    columns.append((NO_ANSWER, list(found.no_answer)))
    known = len(found.labels)
    return [
        column
        for number, column in enumerate(columns)
        if number < known or any(column[1])
    ]


def confusion_table(run: Shown, found: Confusion) -> Markup:
    """Return the matrix, or the most frequent mistakes of one that is too large."""
    if _is_large(found):
        return _mistakes(run, found)
    columns = used_columns(found)
    header: list[Child] = ["Answer", *(name for name, _ in columns)]
    rows = []
    for number, label in enumerate(found.labels):
        total = sum(counts[number] for _, counts in columns)
        cells = [
            _count(run, counts[number], total, label, name) for name, counts in columns
        ]
        rows.append([label, *cells])
    caption = f"Confusion of {run.label}"
    many = " many" if len(columns) > FEW_COLUMNS else ""
    return table(header, rows, caption=caption, class_=f"confusion{many}")


def _is_large(found: Confusion) -> bool:
    return max(len(used_columns(found)), len(found.labels)) > MOST_LABELS


def _count(
    run: Shown, count: int, total: int, answer: str, said: str, *, shaded: bool = True
) -> Markup:
    share = count / total if total else 0.0
    return element(
        "data",
        str(count),
        value=count,
        data_run=run.result.run_id,
        data_answer=answer,
        data_prediction=said,
        class_=f"shade-{round(share * _SHADES)}" if shaded else None,
        title=f"{share:.1%} of the answers {answer}",
    )


def _mistakes(run: Shown, found: Confusion) -> Markup:
    from evalkit.reporting import count_of

    mistakes = sorted(_wrong(found), key=lambda each: (-each[0], *each[1:]))
    totals = {
        label: sum(counts[number] for _, counts in used_columns(found))
        for number, label in enumerate(found.labels)
    }
    rows = [
        [
            answer,
            said,
            _count(run, count, totals[answer], answer, said, shaded=False),
            str(totals[answer]),
        ]
        for count, answer, said in mistakes[:_MOST_MISTAKES]
    ]
    shown = f"{len(rows)} most frequent of {len(mistakes)} kinds of mistakes"
    if len(rows) == len(mistakes):
        shown = count_of(len(rows), "kind") + " of mistakes"
    words = f"{len(found.labels)} labels, too many for a matrix: {shown}"
    header = ("Answer", "Prediction", "Examples", "of")
    return fragment(
        element("p", words, class_="note"),
        table(header, rows, texts=(0, 1), caption=f"Mistakes of {run.label}"),
    )


def _wrong(found: Confusion) -> Iterator[tuple[int, str, str]]:
    for said, counts in used_columns(found):
        for answer, count in zip(found.labels, counts, strict=True):
            if count and answer != said:
                yield count, answer, said
