"""Writes the tables of `docs/metrics.md` from what the installed metrics declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from evalkit_cli.printing.component_views import describe

PAGE = Path(__file__).with_name("metrics.md")
START, END = "<!-- tables: make_metric_table.py -->\n", "<!-- end of tables -->\n"

HEADER = (
    "| metric | what | range | answers | reads besides | merges by | interval |\n"
    "|---|---|---|---|---|---|---|\n"
)
ARROWS: Mapping[bool | None, str] = {True: "↑", False: "↓", None: ""}
HOOKS: Mapping[str, str] = {
    "statistics": "sum",
    "example_statistics": "sum",
    "compute": "the lists",
    "score_batch": "mean",
    "score_example": "mean",
}
"""How the results of parts become one, by the hook that computes them."""


def tables() -> str:
    """Return a table for each distribution of this repository that has metrics."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group="evalkit.metrics"), key=lambda e: e.name):
        name = entry.dist.name if entry.dist else ""
        if name.startswith("evalkit-metrics-"):
            found.setdefault(name, []).append(entry)
    return "\n".join(
        f"`{name}` ([formulas and edge cases](metrics/{name[16:]}.md)):\n\n"
        + HEADER
        + "".join(_row(entry) for entry in found[name])
        for name in sorted(found)
        if (PAGE.parent / "metrics" / f"{name[16:]}.md").is_file()
    )


def _row(entry: EntryPoint) -> str:
    described = describe("metrics", entry.name)
    attributes = described["attributes"]
    cells = (
        f"`{entry.name}`",
        described["description"],
        _range(attributes),
        ", ".join(attributes["answer_kinds"]),
        ", ".join(_columns(attributes)),
        _merges(entry.load(), attributes["merges"]),
        attributes["interval"] or _default_interval(entry.load()),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _columns(attributes: Mapping[str, Any]) -> Iterator[str]:
    optional = attributes.get("optional_columns", ())
    for column in attributes.get("columns", ()):
        yield f"(`{column}`)" if column in optional else f"`{column}`"


def _range(attributes: Mapping[str, Any]) -> str:
    low, high = attributes["bounds"] or (None, None)
    left = "−∞" if low is None else f"{low:g}".replace("-", "−")
    right = "∞" if high is None else f"{high:g}"
    unit = f", {attributes['unit']}" if attributes["unit"] else ""
    return f"{left} … {right}{unit} {ARROWS[attributes['higher_is_better']]}".strip()


def _merges(metric: type, merges: Mapping[str, str]) -> str:
    hook = next((name for name in HOOKS if hasattr(metric, name)), "")
    others = sorted(set(merges.values()) - {"sum"})
    return ", ".join(others) or HOOKS.get(hook, "")


def _default_interval(metric: type) -> str:
    by_example = any(hasattr(metric, name) for name in ("score_example", "score_batch"))
    return "t" if by_example else "bootstrap"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the page and what it should be."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    yield PAGE, f"{before}{START}\n{tables()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    for path, wanted in pages():
        path.write_text(wanted, encoding="utf-8")
