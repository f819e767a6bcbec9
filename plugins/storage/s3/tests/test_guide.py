"""A benchmark host's day: all files of an evaluation are in a bucket."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import evalkit
from evalkit.runs import find_run
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_cli.main import cli

ROOT = Path(__file__).resolve().parents[4]
SYSTEMS = ("rules", "overlap")


def call(*words: str) -> str:
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def predict(system: str, rows: Path) -> str:
    """Let a shipped system answer the rows of a file."""
    folder = ROOT / "plugins" / "datasets" / "samples" / "scripts"
    done = subprocess.run(
        [sys.executable, str(folder / f"predict_nli_{system}.py"), str(rows)],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.xdist_group("seaweedfs")
def test_data_copies_predictions_and_runs_are_in_a_bucket(
    client: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = f"s3://{bucket}"
    data = call("publish", "sample-nli", root).strip()
    of_data = ("--data", data, "--task", "nli")
    call("perturb", *of_data, "--perturb-prefix", "fairness")
    copies = f"{root}/datasets/nli/fairness-sample-nli.jsonl"
    names = {"original": data, "copies": copies}
    for name, place in names.items():
        call("inputs", "--data", place, "--task", "nli", "-o", f"{name}.jsonl")

    for system in SYSTEMS:
        said = {}
        for name in names:
            file = tmp_path / system / name / f"{system}.jsonl"
            file.parent.mkdir(parents=True)
            file.write_text(predict(system, tmp_path / f"{name}.jsonl"), "utf-8")
            to = call(
                *("publish", str(file), f"{root}/{name}"),
                *("--predictions-for", names[name], "--task", "nli"),
            )
            said[name] = to.strip()
        call(
            *("eval", *of_data, "-p", f"{system}={said['original']}"),
            *("--perturbed", copies, "--perturbed-predictions", said["copies"]),
            *("-o", f"{root}/runs"),
        )

    near = {}
    for name, place in names.items():
        body = client.get_object(Bucket=bucket, Key=place.removeprefix(f"{root}/"))
        (tmp_path / f"{name}-rows.jsonl").write_bytes(body["Body"].read())
    for system in SYSTEMS:
        near[system] = evaluate_perturbed(
            data="original-rows.jsonl",
            task="nli",
            predictions=f"{system}/original/{system}.jsonl",
            perturbed="copies-rows.jsonl",
            perturbed_predictions=f"{system}/copies/{system}.jsonl",
            model=system,
        )
        far = evalkit.read_run(find_run(system, f"{root}/runs"))
        assert far.scores == near[system].scores
        assert "gender-swap" in find_effects(far).names
    compared = call("compare", *SYSTEMS, "-o", f"{root}/runs")
    assert "rules" in compared
    board = call("leaderboard", f"{root}/runs")
    listed = call("runs", "-o", f"{root}/runs")
    for system in SYSTEMS:
        assert system in board
        assert system in listed
