"""Violations of the laws of data sets."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

DATA = "hookspecs.DatasetAttributes"
LOAD = "hookspecs.DatasetSpec.load"

_RETURN = '        return _PACKAGE / "data" / f"{self.name}{part}.jsonl"\n'
_READ = (
    "        import json\n"
    '        path = _PACKAGE / "data" / f"{self.name}{part}.jsonl"\n'
    "        rows = [json.loads(line) for line in "
    'path.read_text("utf-8").splitlines()]\n'
)

VIOLATIONS = (
    Violation(
        "datasets-01",
        "datasets/sample-nli",
        "each id is one example's",
        "hookspecs.TaskIOAttributes.Input: the id is `uid`",
        (change("datasets.py", _RETURN, f"{_READ}        return [*rows, rows[0]]\n"),),
    ),
    Violation(
        "datasets-02",
        "datasets/sample-sentiment",
        "the data are identified by what they hold, and the order of the rows counts: "
        "the same split is the same rows",
        "docs/plugin.md, A data set",
        (
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        import random\n"
                "        random.shuffle(rows)\n        return rows\n",
            ),
        ),
    ),
    Violation(
        "datasets-03",
        "datasets/sample-hs",
        "nothing is fetched when a module is imported",
        "docs/plugin.md: nothing is imported until a command names it, so that it "
        "costs nothing; EVALKIT_OFFLINE",
        (
            change(
                "datasets.py",
                "_PACKAGE = Path(__file__).parent\n",
                "_PACKAGE = Path(__file__).parent\n"
                "import contextlib, socket\n"
                "with contextlib.suppress(OSError):\n"
                '    socket.create_connection(("127.0.0.1", 9), 1).close()\n',
            ),
        ),
    ),
    Violation(
        "datasets-04",
        "datasets/sample-sentiment",
        "`default_split` is one of `splits`",
        "docs/authoring/datasets.md",
        (
            change(
                "datasets.py",
                '    splits = ("test", "train")\n',
                '    splits = ("test", "train")\n    default_split = "dev"\n',
            ),
        ),
    ),
    Violation(
        "datasets-05",
        "datasets/sample-qa",
        "`splits` are the names that `load` knows",
        DATA,
        (
            change(
                "datasets.py",
                '    cluster = "context"\n',
                '    cluster = "context"\n    splits = ("test", "train")\n',
            ),
        ),
    ),
    Violation(
        "datasets-06",
        "datasets/sample-sentiment",
        "the labels are written as the task spells them",
        DATA,
        (
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        for row in rows:\n"
                '            row["label"] = row["label"].title()\n'
                "        return rows\n",
            ),
        ),
    ),
    Violation(
        "datasets-07",
        "datasets/sample-nli",
        "`limit` says how many examples are wanted, the first ones",
        LOAD,
        (
            change(
                "datasets.py",
                "def load(self, split: str) -> Path:",
                "def load(self, split: str, limit: int | None) -> list[object]:",
            ),
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        return rows if limit is None else rows[-limit:]\n",
            ),
        ),
    ),
    Violation(
        "datasets-08",
        "datasets/sample-hs",
        "scores are the same whether `columns` are looked at or not: all that is "
        "wanted is there",
        LOAD,
        (
            change(
                "datasets.py",
                "def load(self, split: str) -> Path:",
                "def load(self, split: str, columns: list[str] | None)"
                " -> list[object]:",
            ),
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        wanted = [n for n in columns if n != 'tags'] "
                "if columns else [*rows[0]]\n"
                "        return [{name: row[name] for name in wanted if name in row}"
                " for row in rows]\n",
            ),
        ),
    ),
    Violation(
        "datasets-09",
        "datasets/sample-qa",
        "`load` may be called again: nothing is used up",
        LOAD,
        (
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        if split not in _ROWS:\n"
                "            _ROWS[split] = iter(rows)\n"
                "        return _ROWS[split]\n",
            ),
            change(
                "datasets.py",
                "class _Sample(Dataset):",
                "_ROWS = {}\n\n\nclass _Sample(Dataset):",
            ),
        ),
    ),
    Violation(
        "datasets-10",
        "datasets/sample-nli",
        "each row holds every field of the task's `Input`",
        LOAD,
        (
            change(
                "datasets.py",
                _RETURN,
                f'{_READ}        del rows[-1]["hypothesis"]\n        return rows\n',
            ),
        ),
    ),
)
