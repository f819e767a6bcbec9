"""Two packages of an outside author: summaries with ROUGE, and named entities.

They are what somebody publishes who has read the pages: `tests/outside`.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import polars as pl
import pytest
from rouge_score.rouge_scorer import RougeScorer

import evalkit

PACKAGES = Path(__file__).parent / "outside"
Run = Callable[..., CompletedProcess[str]]
Install = Callable[[str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a package and its metadata on the path, as an editable installation does."""

    def installed(name: str) -> Path:
        source = PACKAGES / name / "src"
        project = tomllib.loads((PACKAGES / name / "pyproject.toml").read_text("utf-8"))
        about = project["project"]
        info = (
            tmp_path / "site" / f"{name.replace('-', '_')}-{about['version']}.dist-info"
        )
        info.mkdir(parents=True)
        requires = [f"Requires-Dist: {each}" for each in about["dependencies"]]
        head = [
            "Metadata-Version: 2.1",
            f"Name: {name}",
            f"Version: {about['version']}",
        ]
        (info / "METADATA").write_text("\n".join([*head, *requires, ""]), "utf-8")
        lines = []
        for group, names in about["entry-points"].items():
            lines += [
                f"[{group}]",
                *(f"{key} = {value}" for key, value in names.items()),
            ]
        (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
        for folder in (str(source), str(info.parent)):
            monkeypatch.syspath_prepend(folder)
            paths = [folder, os.environ.get("PYTHONPATH", "")]
            monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        return next(source.glob("evalkit_*"))

    yield installed
    for name in [*sys.modules]:
        if name in ("evalkit_summaries", "evalkit_entities"):
            del sys.modules[name]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def run_folder(printed: str, folder: Path) -> Path:
    found = re.search(r"run folder: (\S+)", printed)
    assert found is not None
    return folder / found[1]


@pytest.mark.parametrize("name", ["evalkit-summaries", "evalkit-entities"])
@pytest.mark.slow
def test_the_package_passes_its_own_tests(name: str, install: Install) -> None:
    install(name)
    folder = PACKAGES / name
    options = ["-q", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    own = [f"--confcutdir={folder}", "-c", str(folder / "pyproject.toml"), str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *own],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout


# summaries ------------------------------------------------------------------------

SAID = {
    "n1": "The bridge on Mill Lane is closed from Monday to Friday.",
    "n2": "Market moved to tram depot because of heavy rain",
    "n3": "Im Sommer öffnet die Bücherei um zehn Uhr.",
    "n4": "Η πισίνα είναι κλειστή την Κυριακή.",
    "n5": "",
    "n6": "Helpers painted the changing rooms 🏊",
    "n7": "Serveuse demandée au café de la gare",
    "n8": "A grey cat with a white paw is lost",
}


class Lower:
    """The package's words, found in another way."""

    def tokenize(self, text: str) -> list[str]:
        signs = [sign if sign.isalnum() or sign == "_" else " " for sign in text]
        return "".join(signs).lower().split()


def rouge_of(row: dict[str, Any], said: str) -> dict[str, float] | None:
    """Return the best of each score over the references of grade 2 and better."""
    good = [each["text"] for each in row["references"] if each["grade"] >= 2]
    if not good:
        return None
    if not said and "" in good:
        return {
            "graded-rouge": 1.0,
            "graded-rouge#1": 1.0,
            "graded-rouge#2": 1.0,
            "graded-rouge#missed": 0.0,
        }
    found = {}
    for name, kind in {
        "graded-rouge": "rougeL",
        "graded-rouge#1": "rouge1",
        "graded-rouge#2": "rouge2",
    }.items():
        scorer = RougeScorer([kind], tokenizer=Lower())
        each = [scorer.score(text, said)[kind] for text in good]
        found[name] = max(score.fmeasure for score in each)
        if kind == "rouge1":
            best = max(each, key=lambda score: score.fmeasure)
            found["graded-rouge#missed"] = 1 - best.recall
    return found


@pytest.mark.slow
def test_rouge_is_what_its_library_says_of_each_example(
    install: Install, run_evalkit: Run, tmp_path: Path
) -> None:
    rows = rows_of(install("evalkit-summaries") / "notices.jsonl")
    said = [{"id": uid, "summary": text} for uid, text in SAID.items()]
    path = write(tmp_path / "mine.jsonl", said)
    done = run_evalkit("eval", "notices", "-p", str(path), "--min-n", "1")
    assert done.returncode == 0, done.stderr
    run = run_folder(done.stdout + done.stderr, tmp_path)
    record = json.loads((run / "run.json").read_text("utf-8"))
    assert record["status"] == "partial"
    assert record["not_scored"]["graded-rouge"] == 1
    _, notice = record["notices"]  # of five scores, none of which was given for n8
    assert notice.startswith(
        "metrics/graded-rouge (evalkit-summaries 0.1.0): did not score 1"
    )
    problems = rows_of(run / "problems.jsonl")
    assert {(each["id"], each["reason"]) for each in problems} == {
        ("n8", "no reference of grade 2")
    }
    examples = {
        row["id"]: row
        for row in pl.read_parquet(run / "examples.parquet").rows(named=True)
    }
    expected = {row["uid"]: rouge_of(row, SAID[row["uid"]]) for row in rows}
    assert {uid for uid, found in expected.items() if found is None} == {"n8"}
    result = evalkit.evaluate("notices", said, model="mine")
    for name in (
        "graded-rouge",
        "graded-rouge#1",
        "graded-rouge#2",
        "graded-rouge#missed",
    ):
        values = {
            uid: found[name] for uid, found in expected.items() if found is not None
        }
        for uid in SAID:
            assert examples[uid][name] == pytest.approx(values.get(uid), abs=1e-12)
        score = result[name]
        assert score.n == 7
        assert score.value == pytest.approx(sum(values.values()) / 7, abs=1e-12)
        assert score.ci is not None
        assert score.higher_is_better == (name != "graded-rouge#missed")
        [tagged] = result.by_tag.filter(metric=name, tag="language:en").rows(named=True)
        english = [values[uid] for uid in ("n1", "n2", "n5", "n6")]
        assert (tagged["n"], tagged["value"]) == (4, pytest.approx(sum(english) / 4))
    words = result["graded-rouge#words"]
    assert (words.value, words.higher_is_better, words.unit) == (46 / 7, None, "words")


def test_a_summary_that_is_missing_counts_as_worst_of_each_score(
    install: Install,
) -> None:
    install("evalkit-summaries")
    said = [{"id": uid, "summary": text} for uid, text in SAID.items() if uid != "n5"]
    result = evalkit.evaluate("notices", said, model="mine", on_missing="wrong")
    whole = evalkit.evaluate(
        "notices", [*said, {"id": "n5", "summary": ""}], model="all"
    )
    assert result["graded-rouge"].value == pytest.approx(
        whole["graded-rouge"].value - 1 / 7
    )
    assert result["graded-rouge#missed"].value == pytest.approx(
        whole["graded-rouge#missed"].value + 1 / 7
    )
    assert result["graded-rouge#words"].value is None
    assert "worst value" in str(result["graded-rouge#words"].reason)


# named entities -------------------------------------------------------------------

ENTITIES = [
    {
        "id": "p1",
        "entities": [
            {"start": 13, "end": 17, "label": "place"},
            {"start": 0, "end": 3, "label": "person"},
        ],
    },
    {"id": "p2", "entities": []},
    {
        "id": "p3",
        "offsets": [[4, 10, "person"], [25, 4, "place"]],
        "encoding": "utf-16",
    },
    {"id": "p4", "offsets": [], "encoding": "utf-8"},
    {
        "id": "p5",
        "entities": [
            {"start": 0, "end": 5, "label": "place"},
            {"start": 14, "end": 19, "label": "place"},
        ],
    },
    {
        "id": "p6",
        "offsets": [[3, 10, "person"], [30, 10, "place"]],
        "encoding": "utf-8",
    },
    {
        "id": "p7",
        "offsets": [[0, 4, "person"], [9, 2, "person"], [19, 8, "place"]],
        "encoding": "utf-16",
    },
    {"id": "p8", "entities": [{"start": 0, "end": 4, "label": "person"}]},
    {"id": "p9", "offsets": "none"},
]
SPANS = {
    "p1": [(0, 3, "person"), (13, 17, "place")],
    "p2": [],
    "p3": [(3, 13, "person"), (24, 28, "place")],
    "p4": [],
    "p5": [(0, 5, "place"), (14, 19, "place")],
    "p6": [(2, 7, "person"), (17, 22, "place")],
    "p7": [(0, 3, "person"), (8, 10, "person"), (18, 26, "place")],
    "p8": [(0, 4, "person")],
    "p9": None,
}
"""What the above means, in code points; nothing could be read of the last."""


def shares(rows: list[dict[str, Any]]) -> tuple[float | None, ...]:
    """Count spans one by one: F1, precision and recall."""
    right = said = gold = 0
    for row in rows:
        found = SPANS[row["uid"]]
        wanted = [(e["start"], e["end"], e["label"]) for e in row["entities"]]
        said += 1 if found is None else len(found)
        gold += len(wanted)
        right += sum(span in wanted for span in found or ())
    precision = right / said if said else None
    recall = right / gold if gold else None
    return 2 * right / (said + gold) if said + gold else None, precision, recall


@pytest.mark.slow
def test_entity_f1_is_what_counting_one_by_one_gives(
    install: Install, run_evalkit: Run, tmp_path: Path
) -> None:
    rows = rows_of(install("evalkit-entities") / "postcards.jsonl")
    path = write(tmp_path / "mine.jsonl", ENTITIES)
    done = run_evalkit("eval", "postcards", "-p", str(path))
    assert done.returncode == 0, done.stderr
    run = run_folder(done.stdout + done.stderr, tmp_path)
    record = json.loads((run / "run.json").read_text("utf-8"))
    assert record["status"] == "complete"
    assert record["unparsed"] == {"offsets are a text": 1}
    assert not [text for text in record["notices"] if "does not declare" in text]
    stored = {
        row["id"]: row["pred"]
        for row in pl.read_parquet(run / "examples.parquet").rows(named=True)
    }
    for uid, spans in SPANS.items():
        found = stored[uid] and {
            (e["start"], e["end"], e["label"]) for e in stored[uid]
        }
        assert found == (spans and {*spans}), uid
    assert stored["p2"] == []
    assert stored["p9"] is None
    result = evalkit.evaluate("postcards", ENTITIES, model="mine")
    names = ("entity-f1", "entity-f1#precision", "entity-f1#recall")
    for name, value in zip(names, shares(rows), strict=True):
        assert result[name].value == pytest.approx(value, abs=1e-12)
        assert (result[name].n, result[name].unit) == (9, "%")
        assert result[name].ci is not None
    for tag, members in {
        "language:en": ["p1", "p2", "p5", "p7", "p8"],
        "entities:none": ["p2", "p4", "p8", "p9"],
    }.items():
        part = [row for row in rows if row["uid"] in members]
        for name, value in zip(names, shares(part), strict=True):
            [found] = result.by_tag.filter(metric=name, tag=tag).rows(named=True)
            assert found["n"] == len(part)
            assert found["value"] == (None if value is None else pytest.approx(value))


def test_without_any_entities_there_is_no_value(install: Install) -> None:
    install("evalkit-entities")
    none = [{"id": uid, "entities": []} for uid in ("p2", "p4", "p8", "p9")]
    result = evalkit.evaluate("postcards", none, model="mine", on_missing="skip")
    assert [result[name].value for name in result] == [None] * 3
    assert result.status == "complete"
    # one span that is said, and none to be found: precision is 0, recall undefined
    said = [{"id": "p2", "entities": [{"start": 0, "end": 2, "label": "place"}]}]
    result = evalkit.evaluate("postcards", said, model="mine", on_missing="skip")
    assert (result["entity-f1"].value, result["entity-f1#precision"].value) == (0, 0)
    assert "no entities in answers" in str(result["entity-f1#recall"].reason)


def test_a_perfect_system_has_no_interval_of_no_width(install: Install) -> None:
    rows = rows_of(install("evalkit-entities") / "postcards.jsonl")
    gold = [{"id": row["uid"], "entities": row["entities"]} for row in rows]
    result = evalkit.evaluate("postcards", gold, model="gold")
    for score in [result[name] for name in result]:
        assert (score.value, score.ci, score.reason) == (
            1,
            None,
            "no example moves the score, so the data does not show its uncertainty",
        )


@pytest.mark.slow
def test_an_offset_within_a_letter_is_refused_by_name(
    install: Install, run_evalkit: Run, tmp_path: Path
) -> None:
    install("evalkit-entities")
    bad = {"id": "p6", "offsets": [[1, 2, "person"]], "encoding": "utf-8"}
    path = write(tmp_path / "mine.jsonl", [bad])
    done = run_evalkit("eval", "postcards", "-p", str(path), "--on-missing", "skip")
    assert done.returncode == 1
    [line] = [each for each in done.stderr.splitlines() if "invalid: line 1" in each]
    assert "adapt_response of tasks/named-entities (evalkit-entities 0.1.0)" in line
    assert "UnicodeDecodeError" in line
    assert "found None" not in line
    assert "does not declare" not in done.stderr
