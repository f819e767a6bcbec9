"""The stories of `examples/stories`, run as a user runs them."""

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

STORIES = Path(__file__).parents[1] / "stories"
DATASETS = ("sample-hs", "sample-nli", "sample-sentiment")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("sh") is None, reason="there is no sh"),
]


def run(script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a story as cron does: no terminal, and little in the environment."""
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    return subprocess.run(
        ["sh", str(STORIES / script), *arguments],
        cwd=cwd,
        env={"PATH": path, "HOME": str(cwd)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def commands(script: str) -> int:
    """Count the commands of evalkit and of the model in a story."""
    text = (STORIES / script).read_text(encoding="utf-8")
    return len(re.findall(r"^\s*(?:evalkit|\$model) ", text, re.MULTILINE))


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Three models: always right, right in most rows, and with one answer only."""
    for dataset in DATASETS:
        data = files("evalkit_datasets_samples").joinpath("data", f"{dataset}.jsonl")
        examples = map(json.loads, data.read_text("utf-8").splitlines())
        rows = [(example["uid"], example["label"]) for example in examples]
        folder = tmp_path / "models"
        right = [{"id": uid, "label": answer} for uid, answer in rows]
        write(folder / "oracle" / f"{dataset}.jsonl", right)
        one = [{"id": uid, "label": rows[0][1]} for uid, _ in rows]
        write(folder / "constant" / f"{dataset}.jsonl", one)
        half = [
            {"id": uid, "label": answer if number % 4 else rows[0][1]}
            for number, (uid, answer) in enumerate(rows)
        ]
        write(folder / "mostly" / f"{dataset}.jsonl", half)
    return tmp_path


def test_nightly_prints_one_table_and_fails_one_gate(models: Path) -> None:
    done = run("nightly.sh", cwd=models)
    assert done.returncode == 3, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    failed = re.findall(r"not met: .*$", done.stderr, re.MULTILINE)
    assert len(failed) == 1, done.stderr
    assert failed[0].startswith("not met: sample-nli: constant: accuracy is 0.33")
    table = (models / "table.md").read_text(encoding="utf-8").splitlines()
    header, _, *rows = [line for line in table if line.startswith("|")]
    assert all(dataset in header for dataset in DATASETS)
    assert [row.split("|")[1].strip() for row in rows] == [
        *("oracle", "mostly", "constant")
    ]
    shutil.rmtree(models / "models" / "constant")
    assert run("nightly.sh", cwd=models).returncode == 0
    assert commands("nightly.sh") == 2


def test_nightly_never_takes_an_error_for_a_verdict(models: Path) -> None:
    broken = models / "models" / "mostly" / "sample-nli.jsonl"
    broken.write_text("nonsense\n", encoding="utf-8")
    done = run("nightly.sh", cwd=models)
    assert done.returncode == 1
    assert "evalkit: error: sample-nli: the predictions of mostly" in done.stderr
    assert "models/mostly/ ended with 1" in done.stderr
    assert "models/constant/ ended with 3" in done.stderr


def put_back(record: Path, days: int) -> None:
    """Make a run as old as if it had been evaluated some days ago."""
    text = record.read_text(encoding="utf-8")
    values = json.loads(text)
    then = datetime.now(UTC) - timedelta(days=days)
    text = text.replace(values["timings"]["started"], then.isoformat())
    record.write_text(text, encoding="utf-8")


def test_nightly_shows_no_score_of_an_earlier_night(models: Path) -> None:
    assert run("nightly.sh", cwd=models).returncode == 3
    for record in (models / "runs").glob("*/*/run.json"):
        put_back(record, days=1)
    (models / "models" / "mostly" / "sample-nli.jsonl").unlink()
    done = run("nightly.sh", cwd=models)
    assert done.returncode == 2
    assert "models/mostly/ ended with 2" in done.stderr
    table = (models / "table.md").read_text(encoding="utf-8").splitlines()
    _, _, *rows = [line for line in table if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows] == ["oracle", "constant"]


LABELS = ("positive", "negative", "neutral")


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A table as spreadsheets write it, and files of models with many faults."""
    chance = random.Random(0)
    answers = [chance.choice(LABELS) for _ in range(2000)]
    with (tmp_path / "reviews.csv").open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file, lineterminator="\r\n")
        table.writerow(["text", "label", "source", "length"])
        for number, answer in enumerate(answers):
            label = answer.capitalize() if number % 7 == 0 else answer
            source = chance.choice(["web", "mail", "shop"])
            table.writerow([f'It is "{number}", they said', label, source, number % 60])

    def said(right: float) -> list[tuple[int, str]]:
        return [
            (number, answer if chance.random() < right else chance.choice(LABELS))
            for number, answer in enumerate(answers, 1)
        ]

    small = [f"{number},{label.upper()}" for number, label in said(0.5)[:-5]]
    rows = ["id,label", *small, "99999,positive"]
    (tmp_path / "small.csv").write_text("\n".join(rows), encoding="utf-8")
    base = [
        {"id": str(number) if number % 2 else number, "label": label}
        for number, label in said(0.7)
    ]
    write(tmp_path / "base.jsonl", [*base, {"id": 7, "label": "positive"}])
    large = [f"{number}, {label.capitalize()} " for number, label in said(0.9)]
    text = "\r\n".join(["id,label", *large])
    (tmp_path / "large.csv").write_text(text, encoding="utf-8-sig", newline="")
    return tmp_path


def test_an_own_table_leads_to_scores_tests_a_table_and_pictures(reviews: Path) -> None:
    files = ("reviews.csv", "small.csv", "base.jsonl", "large.csv")
    done = run("own_table.sh", *files, cwd=reviews)
    assert done.returncode == 0, done.stderr
    assert commands("own_table.sh") == 5
    for source in ("web", "mail", "shop"):
        assert re.search(rf"^source:{source} ", done.stdout, re.MULTILINE)
    assert "small: 1995 of 2000 examples scored" in done.stdout
    assert "5 missing, 1 unknown" in done.stdout
    assert "base: 2000 of 2000 examples scored; not scored: 1 duplicate" in done.stdout
    assert re.search(
        r"^[\w-]+: .*(small is worse than large|large is better than small) by \d",
        done.stdout,
        re.M,
    )
    assert (reviews / "table.tex").read_text().startswith("\\begin{tabular}")
    assert "</svg>" in (reviews / "sources.svg").read_text(encoding="utf-8")
    assert "<!doctype html>" in (reviews / "report.html").read_text("utf-8").lower()


def test_samples_of_the_harness_are_scored_by_tag_in_one_command(
    tmp_path: Path,
) -> None:
    samples = STORIES.parents[1] / "plugins/adapters/peers/tests/lm_eval"
    file = samples / "samples_word_problems.jsonl"
    done = run("from_lm_eval.sh", str(file), "operation", "--min-n", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert commands("from_lm_eval.sh") == 1
    assert re.search(r"^operation:\w+ ", done.stdout, re.MULTILINE)


PEOPLE = ("Mary", "Her father", "John", "The waitress", "My aunt Emily", "Carlos")
TEXTS = {
    "was very kind to us, and the food was good.": "positive",
    "was rude, and the soup was awful.": "negative",
    "said that the color of the bus is blue.": "neutral",
    "loved the film, which isn't long.": "positive",
    "hated waiting for his own car.": "negative",
}


def test_own_lines_are_perturbed_and_scored_by_the_key_that_was_given(
    tmp_path: Path,
) -> None:
    pairs = [(who, *what) for who in PEOPLE for what in TEXTS.items()]
    write(
        tmp_path / "reviews.jsonl",
        (
            {"id": f"r{number}", "text": f"{who} {text}", "label": label}
            for number, (who, text, label) in enumerate(pairs)
        ),
    )
    model = f"{sys.executable} {STORIES / 'rules.py'}"
    done = run("perturbed.sh", "reviews.jsonl", model, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "30 of 30 examples scored" in done.stdout
    for name in ("gender-swap", "lowercase", "keyboard-typos:preset=hard"):
        assert re.search(
            rf"^{name}: (\d+) of \1 copies scored", done.stdout, re.MULTILINE
        )
        assert len(re.findall(rf"^{name} ", done.stdout, re.MULTILINE)) >= 2
    assert commands("perturbed.sh") == 5
