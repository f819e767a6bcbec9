"""Prints means over the variants of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.score_cells import score_label, show_interval, show_value
from evalkit_cli.printing.streams import echo, echo_wrapped
from evalkit_cli.printing.tables import draw

if TYPE_CHECKING:
    from evalkit_benchmarks_declared import Mean


def print_means(means: Sequence[Mean], confidence: float, table_format: str) -> None:
    """Print a table of means, and why one has no value or interval."""
    if not means or table_format == "csv":
        return
    ci = f"{confidence * 100:g} % CI"
    rows = [["benchmark", "model", "metric", "score", ci, "variants"]]
    for mean in means:
        shown = [each(mean.score) for each in (score_label, show_value, show_interval)]
        count = f"{len(mean.variants)} of {mean.size}"
        rows.append([mean.dataset, mean.model, *shown, count])
    echo()
    draw(rows, table_format)
    for mean in means:
        if mean.score.reason:
            echo_wrapped(f"{mean.dataset}: {mean.score.reason}", err=True)
