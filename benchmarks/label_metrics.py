"""Measures how long all label metrics take together, beside the slowest alone.

HateCheck's 3 728 cases with seeded predictions and probabilities, every tag. Run it as

    EVALKIT_TEST_DATA=FOLDER python benchmarks/label_metrics.py [--rounds 3]

Times are CPU seconds of a whole evaluation, without the interpreter's start, the lowest
of some alternating rounds. Budget: at most 3 times the slowest metric alone.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import evalkit

BUDGET = 3.0
METRICS = (
    *("accuracy", "balanced-accuracy", "macro-f1", "macro-recall", "micro-f1"),
    *("weighted-f1", "f1", "precision", "recall", "mcc", "cohen-kappa"),
    *("cohen-kappa:weights=quadratic", "auroc", "average-precision", "log-loss"),
    *("brier", "ece", "ece:binning=mass", "mce", "selective-accuracy"),
    "coverage-accuracy-area",
)
LABELS = ("hateful", "not-hateful")


def seeded_responses(path: Path, seed: int = 20261125) -> list[dict[str, Any]]:
    """Draw a prediction with probabilities for every case of HateCheck.

    Args:
        path: The publisher's file.
        seed: Of the generator.

    Returns:
        The responses.
    """
    cases = pl.read_csv(path, infer_schema=False)
    random = np.random.default_rng(seed)
    is_hateful = (cases["label_gold"] == "hateful").to_numpy()
    share = 1 / (1 + np.exp(-random.normal(1.5 * is_hateful - 0.5, 1.5)))
    # rounded, so that many are tied
    return [
        {
            "id": uid,
            "label": LABELS[0] if p >= 0.5 else LABELS[1],
            "prob": dict(zip(LABELS, (p, round(1 - p, 3)), strict=True)),
        }
        for uid, p in zip(cases["case_id"], share.round(3).tolist(), strict=True)
    ]


def seconds(responses: Sequence[dict[str, Any]], metrics: Sequence[str]) -> float:
    """Return the CPU time of one evaluation."""
    start = time.process_time()
    evalkit.evaluate("hatecheck", responses, metrics=metrics)
    return time.process_time() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    folder = Path(os.environ["EVALKIT_TEST_DATA"])
    os.environ["EVALKIT_DATA_DIR"] = str(folder)
    responses = seeded_responses(folder / "hatecheck" / "test_suite_cases.csv")
    seconds(responses, ["accuracy"])
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name in METRICS:
            found.setdefault(name, []).append(seconds(responses, [name]))
        found.setdefault("all", []).append(seconds(responses, METRICS))
    least = {name: min(times) for name, times in found.items()}
    for name, value in sorted(least.items(), key=lambda item: item[1]):
        print(f"{name:32} {value:6.2f} s")
    slowest = max(value for name, value in least.items() if name != "all")
    ratio = least["all"] / slowest
    kept = "kept" if ratio <= BUDGET else "missed"
    together = f"all {len(METRICS)} together: {ratio:.2f} x the slowest"
    print(f"{together}; budget {BUDGET}; {kept}")


if __name__ == "__main__":
    main()
