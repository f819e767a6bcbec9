"""Ratings by pairs against SEA-HELM, scikit-learn, statsmodels and plain loops."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
from sklearn import linear_model  # type: ignore[import-untyped]

import evalkit
from evalkit.errors import DataError, EvalkitError
from evalkit_analysis_ratings import pairwise
from evalkit_analysis_ratings.pairwise import rate_verdicts, read_verdicts
from evalkit_analysis_ratings.records import Cell, Rating


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def verdicts(
    folder: Path, rows: Sequence[Sequence[Any]], **columns: Any
) -> pairwise.Verdicts:
    """Read rows of models a and b and the winner, with further columns."""
    named = [
        {"model_a": a, "model_b": b, "winner": winner}
        | {name: values[place] for name, values in columns.items()}
        for place, (a, b, winner) in enumerate(rows)
    ]
    return read_verdicts(write(folder / "verdicts.jsonl", named))


def values(rating: Rating) -> dict[str, Any]:
    return {model: score.value for model, score in rating.scores.items()}


@pytest.mark.known_result
def test_elo_is_seahelms(tmp_path: Path, oracles: Path) -> None:
    lines = (oracles / "seahelm.jsonl").read_text().splitlines()
    cases = [
        x for x in map(json.loads, lines) if x["function"].endswith("mle_elo_score")
    ]
    assert cases
    for case in cases:
        given, names = case["input"], {1: "a", 0: "b", 0.5: "tie"}
        columns = given["modelA"], given["modelB"], given["outcome"]
        rows = [(str(a), str(b), names[c]) for a, b, c in zip(*columns, strict=True)]
        read = verdicts(tmp_path, rows)
        found = rate_verdicts(read, "elo", keep_ties=given["keep_ties"])
        # SEA-HELM's optimizer stops within 0.1 points of the maximum
        assert values(found) == pytest.approx(case["output"], abs=0.1)


def random_rows(random: np.random.Generator, count: int) -> list[tuple[str, str, str]]:
    """Draw verdicts on models m0 to m4, the later the better."""
    rows = []
    for _ in range(count):
        a, b = random.choice(5, 2, replace=False)
        chance = 1 / (1 + np.exp((b - a) / 3))
        winner = "a" if random.random() < chance else "b"
        rows.append((f"m{a}", f"m{b}", "tie" if random.random() < 0.2 else winner))
    return rows


def fitted(rows: Sequence[Sequence[str]], times: Any) -> Any:
    """Fit log strengths by an unpenalised logistic regression."""
    design, outcomes, weights = [], [], []
    shares: Any = {"a": [(1, 1)], "b": [(0, 1)], "tie": [(1, 0.5), (0, 0.5)]}
    for (a, b, winner), weight in zip(rows, times, strict=True):
        line = np.zeros(5)
        line[int(a[1])], line[int(b[1])] = 1, -1
        for outcome, share in shares[winner]:
            design.append(line)
            outcomes.append(outcome)
            weights.append(weight * share)
    options = {"fit_intercept": False, "tol": 1e-10, "max_iter": 999}
    model = linear_model.LogisticRegression(C=np.inf, **options)
    model.fit(np.array(design), outcomes, sample_weight=weights)
    return model.coef_[0] - model.coef_[0].mean()


@pytest.mark.slow
def test_strengths_and_their_intervals_are_those_of_a_logistic_regression(
    tmp_path: Path,
) -> None:
    random = np.random.default_rng(0)
    rows = random_rows(random, 300)
    ids = random.integers(0, 100, 300).tolist()
    read = verdicts(tmp_path, rows, id=ids)
    found = rate_verdicts(read, "bradley-terry")
    assert [*values(found).values()] == pytest.approx(
        fitted(rows, np.ones(300)), abs=1e-4
    )
    elo = values(rate_verdicts(read, "elo"))
    scaled = {m: 1000 + 400 / np.log(10) * v for m, v in values(found).items()}
    assert elo == pytest.approx(scaled)
    # an own bootstrap of ids
    draws = []
    for _ in range(100):
        drawn = np.bincount(random.integers(0, 100, 100), minlength=100)
        draws.append(fitted(rows, drawn[ids]))
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    for place, score in enumerate(found.scores.values()):
        width = high[place] - low[place]
        assert score.ci_low == pytest.approx(low[place], abs=width / 5)
        assert score.ci_high == pytest.approx(high[place], abs=width / 5)
    assert found.ranks["m4"].best == 1


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        ([("a", "b", "a"), ("b", "a", "b")], "b | a"),
        ([("a", "b", "tie"), ("c", "d", "tie")], "a, b | c, d"),
    ],
)
def test_infinite_ratings_are_null_with_the_groups(
    tmp_path: Path, rows: Any, groups: str
) -> None:
    found = rate_verdicts(verdicts(tmp_path, rows), "elo")
    assert {*values(found).values()} == {None}
    assert {
        str(score.reason).rpartition(" between ")[2] for score in found.scores.values()
    } == {groups}


def test_a_model_that_never_loses_leaves_the_others_rated(tmp_path: Path) -> None:
    rows = [("a", "b", "a"), ("a", "b", "b"), ("a", "b", "a"), ("c", "a", "a")]
    found = values(rate_verdicts(verdicts(tmp_path, rows), "bradley-terry"))
    assert found["c"] is None
    alone = values(rate_verdicts(verdicts(tmp_path, rows[:3]), "bradley-terry"))
    assert found | {"c": None} == pytest.approx({**alone, "c": None})


def test_ratings_that_are_often_infinite_have_no_interval(tmp_path: Path) -> None:
    rows = [("a", "b", "a")] * 20 + [("a", "b", "b")]
    score = rate_verdicts(verdicts(tmp_path, rows), "elo").scores["a"]
    assert score.value is not None
    assert score.ci_low is None
    assert "of 1000 replicates" in str(score.reason)


def test_win_rates_count_ties_as_halves(tmp_path: Path) -> None:
    rows = [("a", "b", "a"), ("b", "a", "tie"), ("a", "c", "b"), ("b", "c", "a")]
    read = verdicts(tmp_path, rows)
    found = values(rate_verdicts(read, "win-rate"))
    assert found == {"a": (0.75 + 0) / 2, "b": (0.25 + 1) / 2, "c": (1 + 0) / 2}
    against = rate_verdicts(read, "win-rate", reference="a")
    assert values(against) == {"a": None, "b": 0.25, "c": 1}
    without = rate_verdicts(read, "win-rate", reference="a", keep_ties=False)
    assert values(without) == {"a": None, "b": 0, "c": 1}


def test_length_controlled_win_rate_is_that_of_a_binomial_model(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    rows, own, other = [], random.normal(300, 90, 400), random.normal(260, 90, 400)
    for long, short in zip(own, other, strict=True):
        chance = 1 / (1 + np.exp(-0.2 - 0.01 * (long - short)))
        winner = "ab"[int(random.random() > chance)]
        rows.append(("new", "old", "tie" if random.random() < 0.1 else winner))
    read = verdicts(tmp_path, rows, length_a=own.tolist(), length_b=other.tolist())
    found = rate_verdicts(read, "length-controlled", reference="old")
    outcomes = [{"a": 1, "b": 0, "tie": 0.5}[row[2]] for row in rows]
    scaled = np.tanh((own - other) / (own - other).std())
    model = sm.GLM(outcomes, sm.add_constant(scaled), sm.families.Binomial()).fit()
    expected = 1 / (1 + np.exp(-model.params[0]))
    score = found.scores["new"]
    assert score.value == pytest.approx(expected)
    assert values(rate_verdicts(read, "win-rate", reference="old"))["new"] > expected
    assert score.ci_low is not None
    assert score.ci_low < expected < (score.ci_high or 0)
    lacking = verdicts(tmp_path, rows)
    reason = rate_verdicts(lacking, "length-controlled", reference="old")
    assert "unknown or equal lengths" in str(reason.scores["new"].reason)
    with pytest.raises(EvalkitError, match="got None"):
        rate_verdicts(read, "length-controlled")
    with pytest.raises(EvalkitError, match="must be one of new, old, got x"):
        rate_verdicts(read, "win-rate", reference="x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no verdicts"),
        ('{"model_a": "a", "model_b": "b", "winner": "x"}', ":1: winner: must be 'a'"),
        ('{"model_a": "a", "model_b": "a", "winner": "a"}', ":1: model_b must differ"),
        ('{"model_a": "a", "winner": "a"}\n', ":1: model_b: is required"),
    ],
)
def test_wrong_verdicts_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_verdicts(path)


def test_verdicts_of_runs_compare_scores_example_by_example(tmp_path: Path) -> None:
    answers = {"x": "aab", "y": "aba", "z": "ab"}
    rows = [{"uid": str(n), "statement": "?", "label": "a"} for n in range(3)]
    cells = {}
    for model, own in answers.items():
        responses = [{"id": str(n), "label": label} for n, label in enumerate(own)]
        run = evalkit.evaluate(
            write(tmp_path / "data.jsonl", rows),
            predictions=responses,
            task="text-classification",
            model=model,
            metrics=["accuracy"],
            on_missing="skip",
        )
        cells[model] = Cell(run["accuracy"], (run,), 1)
    found = pairwise.run_verdicts([cells])
    games = found.rows.select("a", "b", "outcome").rows()
    outcomes = {(0, 1): [0, 0.5, 1], (0, 2): [0.5, 1], (1, 2): [0.5, 0.5]}
    assert sorted(games) == [(*pair, x) for pair in outcomes for x in outcomes[pair]]
    # what is missing is left out, not lost
    assert values(rate_verdicts(found, "win-rate"))["z"] == (0.25 + 0.5) / 2
