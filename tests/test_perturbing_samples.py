"""Perturbs a sample set, lets a sample system predict it, and evaluates both."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[1] / "plugins" / "datasets" / "samples"
RULES = "src/evalkit_datasets_samples/predictions/sample-nli/rules.jsonl"


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("nli")
    options = ("--family", "fairness", "--perturbation", "character-swaps:preset=hard")
    copies = "fairness-character-swaps-sample-nli.jsonl"
    run("-m", "evalkit_cli", "perturb", "sample-nli", *options, cwd=folder)
    script = SAMPLES / "scripts" / "predict_nli_rules.py"
    (folder / "said.jsonl").write_text(run(script, copies, cwd=folder), "utf-8")
    perturbed = ("--perturbed", copies, "--perturbed-predictions", "said.jsonl")
    command = ("eval", "sample-nli", "-p", SAMPLES / RULES, *perturbed, "--json")
    found: dict[str, Any] = json.loads(run("-m", "evalkit_cli", *command, cwd=folder))
    found["effects"] = [
        *(effect for each in found["perturbed"] for effect in each["effects"]),
        *found["families"],
    ]
    found["copies"] = [
        json.loads(line) for line in (folder / copies).read_text("utf-8").splitlines()
    ]
    found["said"] = {
        row["id"]: row["label"]
        for line in (folder / "said.jsonl").read_text("utf-8").splitlines()
        for row in [json.loads(line)]
    }
    return found


def whole(record: dict[str, Any], perturbation: str, computed_on: str) -> float:
    (score,) = (
        score["value"]
        for score in record["effects"]
        if (score["perturbation"], score["computed_on"]) == (perturbation, computed_on)
        and (score["metric"], score["tag"]) == ("accuracy", None)
    )
    return float(score)


@pytest.mark.slow
def test_the_effect_is_what_counting_gives(record: dict[str, Any]) -> None:
    name = "character-swaps:preset=hard"
    lines = (SAMPLES / RULES).read_text("utf-8").splitlines()
    before = {row["id"]: row["label"] for row in map(json.loads, lines)}
    rows = [row for row in record["copies"] if row["perturbation"] == name]
    right = [before[row["input_id"]] == row["label"] for row in rows]
    still = [record["said"][row["uid"]] == row["label"] for row in rows]
    same = [record["said"][row["uid"]] == before[row["input_id"]] for row in rows]
    count = len(rows)
    assert count == 90
    assert whole(record, name, "original") == pytest.approx(sum(right) / count)
    assert whole(record, name, "perturbed") == pytest.approx(sum(still) / count)
    drop = (sum(right) - sum(still)) / count
    assert drop > 0.1
    assert whole(record, name, "drop") == pytest.approx(drop)
    assert whole(record, name, "agreement") == pytest.approx(sum(same) / count)
    both = sum(map(min, zip(right, still, strict=True)))
    assert whole(record, name, "worst") == pytest.approx(both / count)


@pytest.mark.slow
def test_families_and_tags_are_there_too(record: dict[str, Any]) -> None:
    found = {
        (score["perturbation"], score["computed_on"], score["tag"])
        for score in record["effects"]
    }
    for quantity in ("original", "perturbed", "drop", "agreement", "worst"):
        assert ("family:fairness", quantity, None) in found
        assert ("gender-swap", quantity, "genre:everyday") in found
    assert ("family:fairness", "worst-of-all", "genre:everyday") in found
    assert record["status"] == "complete"
