"""Every command takes a run whose tables by example lie in parts as a whole one."""

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_parts import in_parts

import evalkit

LABELS = ("positive", "negative", "neutral")


def example(n: int) -> dict[str, Any]:
    tags = [f"topic:{n % 4}", f"size:{n % 7 % 2}"]
    row = {"uid": f"e{n}", "statement": "word", "label": LABELS[n % 3]}
    return {**row, "tags": tags, "doc": n // 3}


def answers(rows: list[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """Answer each example twice, some wrongly, two not at all."""
    chance, said = random.Random(share), []
    for row in rows * 2:
        label = row["label"] if chance.random() < share else chance.choice(LABELS)
        prob = {name: 0.2 for name in LABELS} | {label: 0.6}
        said.append({"id": row["uid"], "label": label, "prob": prob})
    for number, row in enumerate(said):
        row["_replication_"] = number // len(rows)
    said[3]["label"] = "none"
    return [*said[:-1], {**said[0], "id": "other"}]


def unordered(path: Path) -> list[str]:
    return sorted(re.split(r",?\s*\n", path.read_text("utf-8")))


@pytest.mark.slow
def test_commands_say_the_same(
    invoke: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {}
    for model, first, share, keeps in (
        *(("good", 0, 0.9, True), ("bad", 0, 0.6, True), ("good", 48, 0.9, True)),
        *(("held", 0, 0.8, False), ("also-held", 0, 0.7, False)),
    ):
        rows = [*map(example, range(first, first + 48))]
        data = tmp_path / f"of{first}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = evalkit.evaluate(
            data=str(data),
            predictions=answers(rows, share),
            model=model,
            task="sentiment",
            metrics=["macro-f1", "accuracy", "auroc"],
            cluster="doc",
            by=["size,answer"] if keeps else "size",
            on_missing="wrong",
            on_invalid="skip",
            include_examples=keeps,
        )
        in_parts(result, tmp_path / "store").save(tmp_path / "parts" / "runs")
        shutil.rmtree(tmp_path / "store")
        path = result.save(tmp_path / "whole" / "runs")
        runs[model, first] = path.relative_to(tmp_path / "whole").as_posix()
    good, bad, later = runs["good", 0], runs["bad", 0], runs["good", 48]
    further = ["cohen-kappa", "mcc", "ece", "brier", "average-precision"]
    again = ["--data", "../of0.jsonl", "--task", "sentiment", "--predictions", good]
    for command in (
        ["runs"],
        ["show", good],
        ["show", runs["held", 0]],
        ["show", good, "--confusion"],
        ["show", good, "--wrong", "--limit=999"],
        ["show", good, "--by", "topic,pred"],
        ["verify", good],
        ["compare", good, bad, "--json"],
        ["compare", runs["held", 0], runs["also-held", 0], "--json"],
        ["plan", good, bad, "--detect", "2pt"],
        ["leaderboard"],
        ["report", good, bad],
        ["site", "--examples=0"],
        ["export", "hub", good],
        ["export", "helm", good],
        ["export", "dynabench", good],
        ["publish", good, "published", "--run"],
        ["verify", f"published/{good}"],
        ["rescore", good, *[f"--metric={name}" for name in further], "--json"],
        ["merge", good, later, "--dataset", "both", "--json"],
        ["eval", *again, "--on-missing=skip", "--on-invalid=skip", "--json"],
    ):
        said = []
        for place in ("whole", "parts"):
            monkeypatch.chdir(tmp_path / place)
            done = invoke(*command)
            assert done.exit_code == 0, (command, done.output)
            varies = r'"(size|sha256|started|seconds)": [^,\n]*|\d{8}T[\d.]*Z'
            lines = re.sub(varies, "", done.stdout).splitlines()
            # examples are listed in the order of the run
            said.append(sorted(lines) if "--wrong" in command else lines)
        assert said[0] == said[1], command
    files = [
        Path("report.html"),
        *Path("public").rglob("*.*"),
        *Path("exported").rglob("*.*"),
    ]
    assert len(files) > 20
    for file in files:
        assert unordered(file) == unordered(tmp_path / "whole" / file), file
