"""Prints the pairs of an original and a copy of which the answer flipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.joined_texts import Join, Texts
from evalkit_cli.printing.run_views import shortened
from evalkit_cli.printing.streams import as_text, echo, echo_csv, echo_json
from evalkit_cli.printing.tables import draw, without_empty_columns

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit_analysis_robustness import Flips

_COLUMNS = (
    *("flip", "perturbation", "original", "copy", "answer of the original"),
    *("answer", "before", "after", "tags"),
)


def print_flips(
    result: Result,
    perturbation: str | None,
    tag: str | None,
    limit: int,
    table_format: str,
    *,
    as_json: bool,
    join: Join | None = None,
    show_text: bool = False,
) -> None:
    """Print the pairs whose correctness flipped, losses first."""
    from evalkit_analysis_robustness import find_flips

    found = find_flips(result, perturbation, tag)
    rows = list(found.rows.head(limit).iter_rows(named=True))
    ids = [uid for row in rows for uid in (row["input_id"], row["id"])]
    texts = Texts(join, ids, show_text=show_text)
    if as_json:
        rows = [
            row
            | texts.as_json(row["input_id"], "original_input")
            | texts.as_json(row["id"])
            for row in rows
        ]
        echo_json(
            {
                "run_id": result.run_id,
                "metric": found.metric,
                "perturbation": perturbation,
                "tag": tag,
                "n": found.n,
                "flipped": found.counts,
                "pairs": rows,
            }
        )
        texts.print_notices(err=True)
        return
    if table_format == "csv":
        cells = ([*_cells(row), *_texts_of(row, texts)] for row in rows)
        echo_csv([[*_COLUMNS, *_text_columns(texts)], *cells])
    is_table = table_format == "table"
    echo(_title(found, perturbation, tag, len(rows)), err=not is_table)
    if rows and table_format != "csv":
        if is_table:
            echo()
        _draw(rows, texts, perturbation, table_format)
    texts.print_notices(err=not is_table)


def _text_columns(texts: Texts) -> list[str]:
    """Name the columns of the texts, first those of originals."""
    return [f"{whose} {key}" for whose in ("original", "copy") for key in texts.keys]


def _texts_of(row: dict[str, Any], texts: Texts) -> list[str | None]:
    return [*texts.of(row["input_id"]), *texts.of(row["id"])]


def _title(found: Flips, perturbation: str | None, tag: str | None, shown: int) -> str:
    what = "" if perturbation is None else f" under {perturbation}"
    where = "" if tag is None else f" with the tag {tag}"
    flipped = found.rows.height
    kinds = ", ".join(
        f"{count} {flip.replace('-', ' ')}" for flip, count in found.counts.items()
    )
    few = f"; the first {shown}" if shown < flipped else ""
    pairs = "pair" if found.n == 1 else "pairs"
    return (
        f"{flipped} of {found.n} {pairs}{what}{where} flipped, by {found.metric}: "
        f"{kinds}{few}"
    )


def _cells(row: dict[str, Any]) -> list[object]:
    names = ("original_answer", "answer", "original_pred", "pred")
    return [
        *(row[name] for name in ("flip", "perturbation", "input_id", "id")),
        *(as_text(row[name]) for name in names),
        as_text(row["tags"] or None),
    ]


def _draw(
    rows: Sequence[dict[str, Any]],
    texts: Texts,
    perturbation: str | None,
    table_format: str,
) -> None:
    header = ["flip", "perturbation", "original", "copy", "answer", "before", "after"]
    table = [[*header, *_text_columns(texts)]]
    for row in rows:
        _, name, original, uid, old, answer, before, after, _ = _cells(row)
        shown = _texts_of(row, texts)
        gold = shortened(answer)
        if old != answer:
            gold = f"{shortened(old)} → {gold}"
        table.append(
            [
                row["flip"].replace("-", " "),
                *(str(text) for text in (name, original, uid)),
                gold,
                *map(shortened, (before, after)),
                *("" if text is None else shortened(text) for text in shown),
            ]
        )
    if perturbation is not None and not perturbation.startswith("family:"):
        table = [[*cells[:1], *cells[2:]] for cells in table]  # the title says it
    table = without_empty_columns(table)  # a file has originals or copies
    draw(table, table_format, range(len(table[0])))
