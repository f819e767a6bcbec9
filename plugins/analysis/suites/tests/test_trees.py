"""Means of suites: their laws, intervals, what is missing, and what is kept apart."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalkit
from evalkit.errors import DataError
from evalkit_analysis_ratings import Cell
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_analysis_suites import Board
from evalkit_commands_perturb import perturb

RNG = np.random.default_rng(42)


def draw(n: int, share: float) -> str:
    return "".join("01"[int(x)] for x in RNG.random(n) < share)


def cell(board: Board, *path: str, model: str = "m") -> Cell:
    members = {member.path: member for member in board.root.walk()}
    return members[path].cells[model]


def value(board: Board, *path: str, model: str = "m") -> float:
    found = cell(board, *path, model=model).score.value
    assert found is not None
    return found


@pytest.fixture
def three(runs: Any) -> Any:
    """Two models on three datasets."""
    for data, n in (("a", 40), ("b", 80), ("c", 20)):
        for model, share in (("m", 0.8), ("other", 0.6)):
            runs.add(data, draw(n, share), model, metrics=["accuracy", "macro-f1"])
    return runs


def test_weights_are_shares_and_a_member_may_have_none(three: Any) -> None:
    weights = {"a": 3, "b": 1, "c": 0}
    board = three.board({"mean": {"weights": weights}, "of": ["a", "b", "c"]})
    expected = (3 * value(board, "a") + value(board, "b")) / 4
    assert value(board) == pytest.approx(expected)
    assert (cell(board).score.n, cell(board).scored, board.root.datasets) == (120, 2, 2)
    assert cell(board, "c").score.value is not None
    group = {"name": "g", "mean": {"weights": {"a": 1, "b": 3}}, "of": ["a", "b"]}
    flat = three.board({"flatten": True, "of": [group, "c"]})
    assert value(flat) == pytest.approx(np.mean([value(board, x) for x in "abc"]))
    assert value(flat, "g") == pytest.approx(
        value(board, "a") / 4 + value(board, "b") * 0.75
    )


def test_intervals_of_independent_datasets_add_up(three: Any) -> None:
    board = three.board({"mean": "size", "of": ["a", "b"]})
    parts: list[Any] = [cell(board, name).score for name in ("a", "b")]
    shares = [part.n / 120 for part in parts]
    pairs = [*zip(shares, parts, strict=True)]
    mean = sum(s * float(p.value) for s, p in pairs)
    low = math.hypot(*(s * (p.value - p.ci_low) for s, p in pairs))
    high = math.hypot(*(s * (p.ci_high - p.value) for s, p in pairs))
    found = cell(board).score
    assert found.ci_method == "mover"
    assert found[5:9] == pytest.approx(
        (mean, math.hypot(*(s * p.se for s, p in pairs)), mean - low, mean + high)
    )


def test_scores_of_shared_examples_are_resampled_together(runs: Any) -> None:
    halves = {"half": "ab" * 50}
    runs.add("x", draw(100, 0.7), tags=halves, metrics=["accuracy", "macro-f1"])
    leaf = {"data": "x", "metric": "accuracy"}
    tagged = [{**leaf, "name": t, "tag": f"half:{t}"} for t in "ab"]
    whole = cell(runs.board({"of": [leaf]})).score
    found = cell(runs.board({"of": tagged})).score
    assert found.value == pytest.approx(whole.value)
    assert found.ci == pytest.approx(whole.ci, abs=0.02)
    assert found.ci_method == "mover"  # as the tags share no examples
    both = runs.board({"of": [*tagged, {"data": "x", "metric": "macro-f1"}]})
    assert (cell(both).score.ci_method, cell(both).score.n) == ("joint-bootstrap", 100)
    # an example counts once in a weight
    runs.share("y", 0, n=50)
    twice = {"name": "twice", "of": [*tagged, {**leaf, "name": "all"}]}
    sized = runs.board({"mean": "size", "of": [twice, "y"]})
    assert value(sized) == pytest.approx(float(whole.value or 0) * 100 / 150)
    # the mean of a score and itself is that score, with its uncertainty
    twice = runs.board({"of": [leaf, {**leaf, "name": "again"}]})
    assert cell(twice).score.ci == pytest.approx(whole.ci, abs=0.03)


def test_members_on_the_same_examples_are_resampled_together(runs: Any) -> None:
    metrics = ["macro-f1", "accuracy"]
    for name in ("x", "same"):
        runs.add(name, "0110111011" * 10, statement="x", metrics=metrics)
    runs.add("tiny", "01", metrics=metrics)
    whole = cell(runs.board({"of": ["x"]})).score
    for ranks in (True, False):
        found = cell(runs.board({"of": ["x", "same"]}, ranks=ranks)).score
        assert found.ci_method == "joint-bootstrap"
        assert found.se == pytest.approx(whole.se, rel=0.1)
    # a pooled score of nearly the same examples
    pooled = {"name": "all", "mean": "pooled", "of": ["x", "tiny"]}
    found = cell(runs.board({"of": [pooled, "x"]})).score
    assert found.se == pytest.approx(whole.se, rel=0.1)
    rated = runs.board({"of": ["x", "same"], "rank": {"method": "elo"}}).rating
    assert "need a metric that is a mean over examples" in rated.scores["m"].reason


def test_pooled_scores_are_those_of_one_dataset_of_all(
    three: Any, tmp_path: Path
) -> None:
    leaves = [{"data": x, "metric": "macro-f1"} for x in "abc"]
    board = three.board({"mean": "pooled", "of": leaves})
    rows, answers = [], []
    for name in "abc":
        run = cell(board, name).runs[0].examples
        assert run is not None
        for uid, label, pred in run.select("id", "answer", "pred").iter_rows():
            rows.append({"uid": f"{name}{uid}", "statement": "?", "label": label})
            answers.append({"id": f"{name}{uid}", "label": pred})
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    whole = evalkit.evaluate(path, answers, task="sentiment", metrics=["macro-f1"])
    found, expected = cell(board).score, whole["macro-f1"]
    assert found.value == pytest.approx(expected.value)
    assert found.ci == pytest.approx(expected.ci, abs=0.01)
    # a mean of examples needs no examples: only their numbers
    board = three.board(
        {
            "mean": "pooled",
            "of": [{"data": x, "metric": "accuracy"} for x in "abc"],
            "normalise": {"low": 0.5, "at": "mean"},
        }
    )
    parts = [cell(board, x).score for x in "abc"]
    mean = sum(x.n * float(x.value or 0) for x in parts) / 140
    assert value(board) == pytest.approx(max(0, 2 * mean - 1))
    mixed = [{"data": "a", "metric": "macro-f1"}, {"data": "b", "metric": "accuracy"}]
    reason = cell(three.board({"mean": "pooled", "of": mixed})).score.reason
    assert reason == "only scores of one metric and tag are pooled, unperturbed"


@pytest.mark.parametrize("at", ["children", "mean"])
def test_normalised_values_have_a_floor(runs: Any, at: str) -> None:
    runs.share("a", 30)
    runs.share("b", 90)
    scale = {"low": 0.5, "high": 1, "at": at}
    board = runs.board({"of": ["a", "b"], "normalise": scale})
    expected = (0 + 0.8) / 2 if at == "children" else 0.2
    assert value(board) == pytest.approx(expected)
    score = cell(board).score
    plain = runs.board({"of": ["a", "b"], "normalise": {**scale, "floor": False}})
    assert value(plain) == pytest.approx(0.2)
    # a floor moves the upper bound and leaves the lower one
    low, high = cell(plain).score.ci or (0, 0)
    moved = expected - 0.2 if at == "children" else 0
    assert score.ci == pytest.approx((max(low, 0), high + moved))


def test_a_scale_keeps_the_direction_or_turns_it_around(runs: Any) -> None:
    runs.share("a", 30)
    for low, high, up in ((0, 2, True), (1, 0, False)):
        board = runs.board({"of": ["a"], "normalise": {"low": low, "high": high}})
        found = cell(board, "a").score
        assert found.value == pytest.approx((0.3 - low) / (high - low))
        assert found.higher_is_better is up
        assert found.metric == "normalized accuracy"
        assert found.ci_low < found.value < found.ci_high  # type: ignore[operator]


def test_a_flat_mean_normalises_the_datasets(runs: Any) -> None:
    runs.share("a", 60)
    runs.share("b", 70)
    group, scale = {"name": "g", "of": ["a"]}, {"low": 0.5}
    board = runs.board({"flatten": True, "normalise": scale, "of": [group, "b"]})
    assert value(board) == pytest.approx((0.2 + 0.4) / 2)
    assert value(board, "g") == pytest.approx(0.2)
    group["normalise"] = {**scale, "at": "mean"}  # type: ignore[assignment]
    for rules in ({"flatten": True}, {"mean": "pooled"}):
        with pytest.raises(ValueError, match="normalise: g is not averaged"):
            runs.board({**rules, "of": [group, "b"]})


def test_units_that_differ_are_not_averaged(runs: Any, tmp_path: Path) -> None:
    runs.share("a", 50)
    path = tmp_path / "t.jsonl"
    rows = [{"uid": str(n), "input": "?", "text": "a b"} for n in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)))
    answers = [{"id": str(n), "text": "a b"} for n in range(4)]
    options: Any = {"task": "text-generation", "metrics": ["wer"], "model": "m"}
    evalkit.evaluate(path, answers, out=runs.folder / "runs", **options)
    board = runs.board({"of": ["a", "t"]})
    reason = str(cell(board).score.reason)
    assert reason.startswith("scores differ in unit or direction: ")
    assert "wer on t" in reason


def test_the_main_score_is_that_of_most_runs(three: Any) -> None:
    three.add("a", draw(40, 0.9), "third")  # the newest run, of accuracy
    board = three.board({"of": ["a"]})
    assert cell(board, "a").score.metric == "macro-f1"
    assert any("is accuracy, not macro-f1" in text for text in board.notices)


def test_a_model_without_a_usable_response_counts(runs: Any) -> None:
    runs.add("a", "-" * 10, "worst", on_missing="wrong")
    runs.share("a", 50)
    assert value(runs.board({"of": ["a"]}), model="worst") == 0.0


def test_models_over_different_datasets_are_not_ranked(three: Any) -> None:
    three.add("d", draw(30, 0.5))
    suite = {"missing": "skip", "of": ["a", "d"]}
    board = three.board(suite, ranks=True)
    assert board.root.no_ranks == "means of models are over different datasets"
    assert board.root.ranks == {}
    # also if these are metrics of one dataset
    metrics = ("accuracy", "macro-f1", "f1:label=positive")
    three.add("a", "0" * 40, "other", metrics=["accuracy", "macro-f1"])
    three.add("a", "1" * 40, "m", metrics=metrics)
    leaves = [{"data": "a", "metric": x, "name": x} for x in metrics]
    board = three.board({"missing": "skip", "of": leaves}, ranks=True)
    assert board.root.no_ranks == "means of models are over different datasets"
    ranked = three.board({"of": ["a", "b"]}, ranks=True).root
    assert {*ranked.ranks} == {"m", "other"}


def test_what_is_not_comparable_is_kept_apart(three: Any) -> None:
    three.add("a", draw(41, 0.9), "third")  # one example more: other data
    three.add("b", draw(80, 0.9), "third")
    board = three.board({"of": ["a", "b"]})
    assert [member.name for member in board.root.children] == ["a", "a [2]", "b"]
    assert {*board.root.children[1].cells} == {"third"}
    assert "not comparable: data" in str(cell(board, "a", model="third").score.reason)
    assert "a (not comparable" in str(cell(board, model="third").score.reason)
    assert str(cell(board, "a", model="third").score.reason).endswith("is in a [2]")
    assert value(board, model="m") > 0


def test_the_plain_board_averages_one_split_of_each_dataset(three: Any) -> None:
    board = three.board(ranks=True)
    assert (board.name, board.sorted_by) == ("", "mean")
    expected = np.mean([value(board, name) for name in "abc"])
    assert value(board) == pytest.approx(expected)
    assert board.rating is not None
    assert board.rating.method == "win-rate"
    assert board.models[0] == max("m", "other", key=lambda x: value(board, model=x))
    with pytest.raises(DataError, match=r"; the run \w+ has no score bleu"):
        three.board({"of": ["a"]}, metric="bleu")


BENCH: dict[str, Any] = {
    "benchmark": 1,
    "name": "towns",
    "version": "1",
    "tags": ["seahelm", "competency:nlu"],
    "task": {"input": {"town": "text"}, "answer": "label", "labels": ["yes", "no"]},
    "data": {"path": "en.jsonl", "id": "uid", "answer": "big"},
    "metrics": ["accuracy", "macro-recall"],
    "variants": {"language": {"en": {}, "th": {"data.path": "th.jsonl"}}},
}


@pytest.fixture
def benches(tmp_path: Path, runs: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A benchmark of two languages, another one of one competency, and their runs."""
    monkeypatch.chdir(tmp_path)
    single = {k: v for k, v in BENCH.items() if k != "variants"}
    single |= {
        "name": "rivers",
        "tags": ["seahelm", "competency:nlr"],
        "languages": ["th"],
    }
    alone = {**single, "name": "lakes", "tags": ["seahelm"], "languages": ["en"]}
    for values in (BENCH, single, alone):
        Path(f"{values['name']}.yaml").write_text(json.dumps(values))
    answers = {"en": "yes no yes yes", "th": "yes yes no no"}
    for code, labels in answers.items():
        rows = [
            {"uid": f"{code}{n}", "town": "x", "big": label}
            for n, label in enumerate(labels.split())
        ]
        Path(f"{code}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name, code in (
        ("towns.yaml:language=en", "en"),
        ("towns.yaml:language=th", "th"),
        ("rivers.yaml", "en"),
        ("lakes.yaml", "en"),
    ):
        answer = [{"id": f"{code}{n}", "label": "yes"} for n in range(4)]
        evalkit.evaluate(name, answer, model="m", out="runs")
    return runs


def test_facets_make_levels_and_what_lacks_one_stands_alone(benches: Any) -> None:
    suite = {"of": {"tag": "seahelm"}, "over": ["language", "competency"]}
    board = benches.board(suite)
    paths = {"/".join(member.path) for member in board.root.walk()}
    assert paths == {
        *("", "en", "en/lakes", "en/nlu", "en/nlu/towns:language=en"),
        *("th", "th/nlu", "th/nlu/towns:language=th", "th/nlr", "th/nlr/rivers"),
    }
    assert value(board, "en") == pytest.approx(0.75)
    assert value(board) == pytest.approx((0.75 + (0.5 + 0.75) / 2) / 2)


def test_members_of_one_name_all_count(benches: Any) -> None:
    leaf = {"data": "towns", "metric": "accuracy"}
    recall = {**leaf, "metric": "macro-recall", "name": "R"}
    nli = {"data": "rivers", "metric": "accuracy", "name": "en"}
    leaves = [{**leaf, "name": "A"}, recall, nli]
    board = benches.board({"of": leaves, "over": ["language"]})
    names = [member.name for member in board.root.children[0].children]
    assert names == ["A towns:language=en", "R towns:language=en"]
    assert value(board, "en") == pytest.approx((0.75 + 0.5) / 2)
    assert value(board, "th", "en") == pytest.approx(0.75)


def test_a_benchmark_stands_for_its_variants(benches: Any) -> None:
    board = benches.board({"of": ["towns", "./rivers.yaml"]})
    assert value(board, "towns") == pytest.approx((0.75 + 0.5) / 2)
    assert value(board) == pytest.approx((0.625 + 0.75) / 2)
    assert board.root.datasets == 3


def test_languages_and_rounds_are_filters(benches: Any) -> None:
    suite = {"of": ["towns", "rivers", "lakes"]}
    board = benches.board(suite, languages=["th"])
    assert [x.name for x in board.root.children] == ["towns", "rivers"]
    assert value(board) == pytest.approx((0.5 + 0.75) / 2)
    with pytest.raises(DataError):
        benches.board(suite, rounds=[3])
    benches.share("film", 50)
    board = benches.board({"of": ["film", "not-there", "lakes"]}, languages=["en"])
    assert "not-there: left out, as nothing describes it" in board.notices


def test_robustness_stands_beside_accuracy(runs: Any, tmp_path: Path) -> None:
    labels = ("positive", "negative") * 6
    rows = [
        {"uid": f"{n}", "statement": "Film", "label": x} for n, x in enumerate(labels)
    ]
    data, copies = tmp_path / "film.jsonl", tmp_path / "copies.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    perturbed = [*perturb(rows, "lowercase", task="sentiment", seed=0)]
    copies.write_text("\n".join(json.dumps(row, default=str) for row in perturbed))
    changed = [{"id": row["uid"], "label": "negative"} for row in perturbed]
    run = evaluate_perturbed(
        data,
        [{"id": row["uid"], "label": row["label"]} for row in rows],
        perturbed=[copies],
        perturbed_predictions=[changed],
        task="sentiment",
        metrics=["accuracy"],
        model="m",
        out=tmp_path / "runs",
    )
    views = ("perturbed", "worst", "original", "agreement")
    leaf = {"data": "film", "metric": "accuracy"}
    kinds = ({"family": "robustness", "computed_on": view} for view in views)
    leaves = [{**leaf, "name": x["computed_on"], "perturbation": x} for x in kinds]
    board = runs.board({"of": leaves})
    stored = {
        score.computed_on: score.value
        for score in find_effects(run).scores
        if (score.perturbation, score.metric) == ("family:robustness", "accuracy")
    }
    assert {view: value(board, view) for view in views} == {x: stored[x] for x in views}
    assert (value(board, "original"), value(board, "worst")) == (1.0, 0.5)
