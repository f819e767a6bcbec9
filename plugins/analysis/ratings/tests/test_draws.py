"""Joint replicates, checked example by example against scikit-learn."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score  # type: ignore[import-untyped]

import evalkit
from evalkit import Result
from evalkit.runs import read_run
from evalkit_analysis_ratings.draws import draw_leaf
from evalkit_analysis_ratings.records import Cell
from evalkit_analysis_robustness import evaluate_perturbed, find_effects

N, NAME = 12, "lowercase"
LABELS = ("a", "b", "c")
WRONG = {"a": "b", "b": "c", "c": "a"}
GOLD = [LABELS[number % 3] for number in range(N)]
RNG = np.random.default_rng(4)
FIRST, SECOND = ([g if RNG.random() < 0.7 else "a" for g in GOLD] for _ in range(2))
ROWS = [
    {
        "uid": f"e{number}",
        "statement": "?",
        "label": gold,
        "tags": ["odd"] if number % 2 else ["even"],
        "document": number // 3,
    }
    for number, gold in enumerate(GOLD)
]


def respond(answers: Sequence[str], uid: str = "e{}") -> list[dict[str, str]]:
    return [{"id": uid.format(n), "label": label} for n, label in enumerate(answers)]


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def run(
    folder: Path,
    answers: Sequence[str],
    name: str = "data",
    rows: Sequence[Any] = ROWS,
    **options: Any,
) -> Result:
    """Evaluate answers to the examples, in an order of their own."""
    return evalkit.evaluate(
        write(folder / f"{name}.jsonl", rows),
        predictions=respond(answers)[::-1],
        task="text-classification",
        model="m",
        **{"metrics": ["accuracy", "macro-f1"], **options},
    )


def cell(result: Result, metric: str = "accuracy", tag: str | None = None) -> Cell:
    scores = [s for s in result.scores if (s.metric, s.tag) == (metric, tag)]
    return Cell(scores[0], (result,), 1)


def draw(result: Result, metric: str = "accuracy", tag: str | None = None) -> Any:
    drawn = draw_leaf({"m": cell(result, metric, tag)})["m"]
    assert not isinstance(drawn, str)
    return drawn.values


def weights(folder: Path, **options: Any) -> Any:
    """Return the share of each example in each replicate, (replicates, examples).

    The accuracy of a model that is right on one example alone is that example's share.
    """
    wrong = [WRONG[gold] for gold in GOLD]
    columns = []
    for n in range(N):
        answers = [*wrong[:n], GOLD[n], *wrong[n + 1 :]]
        columns.append(draw(run(folder, answers, **options)))
    return np.column_stack(columns)


@pytest.mark.slow
def test_models_metrics_and_tags_share_one_resample(tmp_path: Path) -> None:
    shares = weights(tmp_path)
    assert np.allclose(shares.sum(axis=1), 1)
    # as often as a Poisson(1) draw is 0
    assert abs((shares == 0).mean() - np.exp(-1)) < 0.01
    odd = np.arange(N) % 2 == 1
    for answers in (FIRST, SECOND):
        right = np.array([a == g for a, g in zip(answers, GOLD, strict=True)])
        result = run(tmp_path, answers)
        assert np.allclose(draw(result), shares @ right)
        sums = np.stack([shares[:, odd] @ right[odd], shares[:, odd].sum(axis=1)])
        expected = np.where(sums[1] > 0, sums[0] / np.maximum(sums[1], 1e-9), np.nan)
        assert np.allclose(draw(result, tag="odd"), expected, equal_nan=True)
        # a label of which no example was drawn has no part in the mean
        whole = [s for s in range(200) if {*np.array(GOLD)[shares[s] > 0]} == {*LABELS}]
        f1 = [
            f1_score(GOLD, answers, sample_weight=shares[s], average="macro")
            for s in whole
        ]
        assert np.allclose(draw(result, "macro-f1")[whole], f1)


def test_draws_depend_on_units_alone(tmp_path: Path) -> None:
    one = draw(run(tmp_path, FIRST))
    for kept in (True, False):  # whether the run holds answers
        made = run(tmp_path, FIRST, include_examples=kept)
        assert np.array_equal(one, draw(read_run(made.save(tmp_path / "runs"))))
    # datasets of the same data are one sample
    assert np.array_equal(one, draw(run(tmp_path, FIRST, name="other")))
    other = draw(run(tmp_path, FIRST, rows=[{**row, "statement": "!"} for row in ROWS]))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.1


@pytest.mark.slow
def test_clusters_are_drawn_whole(tmp_path: Path) -> None:
    shares = weights(tmp_path, cluster="document")
    result = run(tmp_path, FIRST, cluster="document")
    for metric in ("accuracy", "macro-f1"):
        drawn = draw_leaf({"m": cell(result, metric)})["m"]
        assert not isinstance(drawn, str)
        assert drawn.units == N / 3
    by_document = shares.reshape(len(shares), -1, 3)
    assert np.allclose(by_document, by_document[:, :, :1], equal_nan=True)
    assert np.nanstd(by_document[:, 0, 0]) > 0


def test_perturbed_examples_are_drawn_with_their_originals(tmp_path: Path) -> None:
    perturbed = [
        {**row, "uid": f"{row['uid']}_x", "input_id": row["uid"], "perturbation": NAME}
        for row in ROWS
    ]
    original = evaluate_perturbed(
        write(tmp_path / "data.jsonl", ROWS),
        respond(FIRST),
        perturbed=[write(tmp_path / "perturbed.jsonl", perturbed)],
        perturbed_predictions=[respond(SECOND, "e{}_x")],
        task="text-classification",
        metrics=["accuracy"],
        model="m",
    )
    one, other = draw(run(tmp_path, FIRST)), draw(run(tmp_path, SECOND))
    triples = [*zip(FIRST, SECOND, GOLD, strict=True)]
    both = [g if a == b == g else WRONG[g] for a, b, g in triples]
    same = [g if a == b else WRONG[g] for a, b, g in triples]
    expected = {"original": one, "perturbed": other}
    for view, answers in {"worst": both, "agreement": same}.items():
        expected[view] = draw(run(tmp_path, answers))
    for score in find_effects(original).scores:
        if score.perturbation == NAME and score.computed_on in expected:
            drawn = draw_leaf({"m": Cell(score, (original,), 1)})
            assert np.allclose(drawn["m"][0], expected.pop(score.computed_on))
    assert not expected


def test_leaf_without_draws_says_why(tmp_path: Path) -> None:
    known = cell(run(tmp_path, FIRST))
    cells = {
        "no-examples": cell(run(tmp_path, FIRST, include_examples=False), "macro-f1"),
        "one unit": cell(run(tmp_path, FIRST, cluster="statement")),
        "computed again": known._replace(score=known.score._replace(value=0.123)),
    }
    for reason, drawn in draw_leaf(cells).items():
        assert reason in str(drawn)
