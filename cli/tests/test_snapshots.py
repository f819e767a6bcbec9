"""What reports look like: `snapshots` has the commands and all that they print.

`EVALKIT_TEST_SNAPSHOTS=write pytest cli/tests/test_snapshots.py` writes them anew.
"""

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]

SNAPSHOTS = Path(__file__).parent / "snapshots"

PLUGINS = '''
"""Datasets made by a test."""

import evalkit


class Shapes(evalkit.Dataset):
    """Sixty reviews of two facets, ten of them without a tag."""

    task = "sentiment"
    perf_metric = "accuracy"

    def load(self, split):
        return [
            {
                "uid": str(number),
                "statement": "x",
                "label": ("positive", "negative")[number % 2],
                "author": f"author {number % 12:02}",
                "tags": [] if number >= 50 else [
                    f"topic:{'abcde'[number % 5]}", f"size:{'sl'[number % 2]}"
                ],
            }
            for number in range(60)
        ]


class Averaged(Shapes):
    """The mean over topics is the headline."""

    aggregate = "macro:topic"


class Clustered(Shapes):
    """Examples of one author belong together."""

    cluster = "author"


class Lone(Shapes):
    """Each facet has one group."""

    def load(self, split):
        rows = super().load(split)
        for number, row in enumerate(rows):
            row["tags"] = ["negation:yes"] * (number < 20) + ["lang:en"]
        return rows

    def evaluate(self, frame):
        return {"rows": frame.height}


class ManyTags(Shapes):
    """Fifty tags, one for each row, and seven facets."""

    def load(self, split):
        rows = super().load(split)
        for number, row in enumerate(rows):
            row["tags"] = [] if number >= 50 else [
                f"tag {number:02}", *(f"f{f}:{number % 2}" for f in range(7))
            ]
        return rows
'''

NAMES = {
    "shapes": "Shapes",
    "averaged": "Averaged",
    "clustered": "Clustered",
    "lone": "Lone",
    "many-tags": "ManyTags",
}

CHANGING = re.compile(
    r"\d{8}T\d{6}\.\d{3}Z(?=-)|(?<=-)[0-9a-f]{8}\b|^[0-9a-f]{8}(?=  )"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d",
    re.MULTILINE,
)
"""Times and ids of runs."""


@pytest.fixture
def _files(
    plugins: Any, fake_distribution: Callable[..., Any], write_rows: Write
) -> None:
    fake_distribution(PLUGINS, {"evalkit.datasets": NAMES}, name="shapes")
    labels = ("positive", "negative")

    def write(name: str, is_right: Callable[[int], bool], count: int = 60) -> None:
        rows = [
            {"id": str(n), "label": labels[n % 2 if is_right(n) else 1 - n % 2]}
            for n in range(count)
        ]
        write_rows(f"{name}.jsonl", rows)

    write("good", lambda n: n == 0 if n % 5 == 0 else n % 7 != 0)
    write("some", lambda n: n % 3 != 0, 45)
    write("authors", lambda n: n % 12 >= 4)
    answers = [
        {"id": str(n), "_replication_": reply, "label": labels[(n * int(reply)) % 2]}
        for n in range(60)
        for reply in "12"
        if n or reply == "1"
    ]
    write_rows("twice.jsonl", answers)
    said = ("positive", "odd", "positive")
    write_rows(
        "three.jsonl", [{"id": str(n), "label": x} for n, x in enumerate(said, 1)]
    )


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("path", sorted(SNAPSHOTS.glob("*.txt")), ids=lambda p: p.stem)
def test_a_report_looks_as_it_did(path: Path, invoke: Invoke) -> None:
    shown = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("$ evalkit "):
            done = invoke(*shlex.split(line)[2:], COLUMNS="100")
            printed = CHANGING.sub("#", done.stdout + done.stderr)
            shown += f"{line}\n{printed}exit code {done.exit_code}\n\n"
    if os.environ.get("EVALKIT_TEST_SNAPSHOTS") == "write":
        path.write_text(shown, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == shown
