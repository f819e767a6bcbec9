"""Prints a few rows of a data set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.streams import as_text, echo, echo_json
from evalkit_cli.printing.tables import NO_VALUE, draw

if TYPE_CHECKING:
    from evalkit.reporting import ExampleSample

_MOST = 60
"""Characters that are shown of one text."""

_LETTER = re.compile(r"\w")


def print_sample(sample: ExampleSample, *, show_text: bool, as_json: bool) -> None:
    """Print the first examples of a data set: id, answer, tags, cluster and input."""
    masked = sample.sensitive and not show_text
    if as_json:
        echo_json(_as_json(sample, masked))
        return
    echo(f"{sample.dataset} ({sample.task}, split {sample.split})")
    keys = list(dict.fromkeys(key for row in sample.rows for key in row.input))
    has_clusters = any(row.cluster is not None for row in sample.rows)
    header = ["id", "answer", "tags", *["cluster"] * has_clusters, *keys]
    table = [header]
    for row in sample.rows:
        cluster = [_cell(value) for value in (row.cluster or {}).values()]
        answer = masked_text(_cell(row.answer), masked and not sample.has_labels)
        cells = [row.id, answer, ", ".join(row.tags) or NO_VALUE]
        cells += [masked_text(", ".join(cluster) or NO_VALUE, masked)] * has_clusters
        cells += [masked_text(_cell(row.input.get(key)), masked) for key in keys]
        table.append(cells)
    draw(table, "table", texts=range(len(header)))
    echo()
    of_all = "" if sample.examples is None else f" of {sample.examples}"
    echo(f"the first {len(sample.rows)}{of_all} examples")
    if masked:
        echo("masked, as the texts may be hurtful; --show-text shows them")
    for notice in sample.notices:
        echo(f"notice: {notice}")


def _as_json(sample: ExampleSample, masked: bool) -> dict[str, Any]:
    values = sample._asdict()
    values["rows"] = [row._asdict() for row in sample.rows]
    if masked:
        for row in values["rows"]:
            row["input"] = {}
            row["cluster"] = None
            row["answer"] = row["answer"] if sample.has_labels else None
    return values


def _cell(value: Any) -> str:
    text = as_text(value)
    line = NO_VALUE if text is None else " ".join(text.split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"


def masked_text(text: str, masked: bool) -> str:
    """Return a text, with dots for its letters where it is to be masked."""
    return _LETTER.sub("·", text) if masked else text
