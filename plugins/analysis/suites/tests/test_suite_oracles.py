"""What SEA-HELM, HELM and lm-evaluation-harness aggregate, and what they get wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import AlignmentError, DataError
from evalkit_analysis_ratings import Cell
from evalkit_analysis_suites import Board, find_suite

known_result = pytest.mark.known_result


@pytest.fixture
def oracle(oracles: Path) -> Callable[[str], Any]:
    """Return a case of SEA-HELM by its id."""
    lines = (oracles / "seahelm.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}.__getitem__


def cell(board: Board, *path: str, model: str = "m") -> Cell:
    members = {member.path: member for member in board.root.walk()}
    return members[path].cells[model]


def percent(board: Board, *path: str) -> float:
    value = cell(board, *path).score.value
    assert value is not None
    return 100 * value


NODES: dict[str, list[Any]] = {
    "001": [{"name": "nlu", "of": ["sent", "qa"]}, {"name": "nlr", "of": ["nli"]}],
    "002": [{"name": "nlg", "of": [{"name": "tr", "of": ["tr-a", "tr-b"]}, "abs"]}],
}


@known_result
@pytest.mark.parametrize("number", NODES)
def test_seahelm_means_of_groups_competencies_and_languages(
    runs: Any, oracle: Any, number: str
) -> None:
    case = oracle(f"aggregate-{number}")
    for competency in case["input"]["metrics"]["id"].values():
        for task, scores in competency.items():
            runs.share(task, next(iter(scores.values())))
    board = runs.board({"of": [{"name": "id", "of": NODES[number]}]})
    expected = case["output"]
    assert percent(board) == pytest.approx(expected["total"])
    assert percent(board, "id") == pytest.approx(expected["id"]["total"])
    for name in case["input"]["metrics"]["id"]:
        assert percent(board, "id", name) == pytest.approx(
            expected["id"][name]["total"]
        )
    if number == "002":
        group = expected["id"]["nlg"]["translations"]
        assert percent(board, "id", "nlg", "tr") == pytest.approx(group)


@known_result
def test_seahelm_micro_average_weighs_by_size(runs: Any, oracle: Any) -> None:
    case = oracle("aggregate-009")
    for task, lines in case["input"]["lines"].items():
        score = case["input"]["metrics"]["id"]["k"][task]["x"]
        runs.share(task, score, n=lines)
    board = runs.board({"mean": "size", "of": ["a", "b"]})
    assert percent(board) == pytest.approx(case["output"]["total"])
    assert cell(board).score.n == 4


@known_result
def test_a_task_without_a_run_is_named_and_not_left_out(runs: Any, oracle: Any) -> None:
    case = oracle("aggregate-003")["input"]
    for task, score in (("id-tr-a", 90), ("id-abs", 20)):
        runs.share(task, score)
    for task, score in (("th-tr-a", 50), ("th-tr-b", 30), ("th-abs", 10)):
        runs.share(task, score)
    tr = [{"name": "tr", "of": [f"{x}-tr-a", f"{x}-tr-b"]} for x in ("id", "th")]
    suite: Any = {
        "of": [
            {"name": x, "of": [t, f"{x}-abs"]}
            for x, t in zip(("id", "th"), tr, strict=True)
        ]
    }
    assert {"id", "th"} == {*case["metrics"]}
    board = runs.board(suite)
    found = cell(board)
    assert (found.score.value, found.scored, board.root.datasets) == (None, 5, 6)
    assert "id-tr-b (no run)" in str(found.score.reason)
    assert percent(board, "th") == pytest.approx(25)
    suite["of"][0]["of"][0]["missing"] = "skip"
    board = runs.board(suite)
    assert percent(board) == pytest.approx(40)  # as SEA-HELM has it, and it says so
    found = cell(board, "id", "tr")
    assert "mean of 1 of 2, id-tr-b (no run)" in str(found.score.flag)
    assert (found.scored, board.root.children[0].children[0].datasets) == (1, 2)


@known_result
def test_a_failed_task_is_no_zero(runs: Any, oracle: Any) -> None:
    assert oracle("aggregate-005")["output"]["total"] == 45.0  # the task counts as 0
    runs.share("id-tr-a", 90)
    with pytest.raises(AlignmentError):
        runs.add("id-abs", "11-")
    board = runs.board({"missing": "skip", "of": ["id-tr-a", "id-abs"]})
    assert percent(board) == pytest.approx(90)
    found = cell(board, "id-abs")
    assert (found.score.value, found.scored) == (None, 0)
    assert "refused" in str(found.score.reason)
    assert "refused" in str(cell(board).score.flag)
    assert runs.board({"of": ["id-tr-a", "id-abs"]}).root.cells["m"].score.value is None


@known_result
def test_a_score_that_is_missing_or_null_does_not_take_the_rest(
    runs: Any, oracle: Any
) -> None:
    for number in ("004", "007"):
        assert oracle(f"aggregate-{number}")["verdict"] == "differ"
    runs.share("id-tr-a", 90)
    runs.share("id-abs", 20)
    leaf = {"data": "id-abs", "metric": "f1:label=neutral"}
    board = runs.board({"of": [{"name": "a", "of": ["id-tr-a"]}, leaf]})
    assert percent(board, "a") == pytest.approx(90)
    reason = str(cell(board).score.reason)
    assert "id-abs (the run" in reason
    assert "has no score f1:label=neutral" in reason


def test_nothing_that_was_run_is_an_error_in_words(runs: Any) -> None:
    with pytest.raises(DataError, match="there are no runs"):
        runs.board()
    with pytest.raises(DataError, match=r"no score: no complete run"):
        runs.board({"of": ["id-abs"]})


PHENOMENA = ("scalar_implicatures", "presuppositions")
PRAGMATICS = {
    "name": "pragmatics",
    "normalise": {"low": 0.5, "at": "mean"},
    "of": [
        {
            "name": name,
            "mean": "pooled",
            "of": [
                {"data": data, "metric": "accuracy", "tag": f"phenomenon:{name}"}
                for data in ("pragmatic-single", "pragmatic-pair")
            ],
        }
        for name in PHENOMENA
    ],
}


@known_result
@pytest.mark.parametrize("number", ["001", "006"])
def test_seahelm_pools_pragmatics_and_normalises_the_mean(
    runs: Any, oracle: Any, number: str
) -> None:
    case = oracle(f"aggregate_lindsea-{number}")
    tasks = case["input"]["metrics"]["id"]["linguistic-diagnostics"]
    runs.share("mp-r", tasks["mp-r"]["normalized_accuracy"])
    for task in ("pragmatic-single", "pragmatic-pair"):
        right, names = "", []
        for name, (correct, total) in tasks[task]["subcategories"].items():
            right += "1" * correct + "0" * (total - correct)
            names += [name] * total
        if right:
            runs.add(task, right, tags={"phenomenon": names})
    nodes = json.loads(json.dumps(PRAGMATICS))
    nodes["of"][0]["missing"] = nodes["of"][1]["missing"] = "skip"
    board = runs.board({"of": ["mp-r", nodes]})
    expected = case["output"]["id"]["linguistic-diagnostics"]
    assert percent(board) == pytest.approx(expected["lindsea"]["normalized_score"])
    found = percent(board, "pragmatics")
    assert found == pytest.approx(expected["pragmatics"]["normalized_accuracy"])
    for name in PHENOMENA:
        subset = expected["pragmatics"]["subcategories"][name]
        own = cell(board, "pragmatics", name).score
        assert own.value == pytest.approx(subset["accuracy"])
        assert own.n == subset["total_count"]
    # the mean has an interval, also below the floor
    assert cell(board, "pragmatics").score.ci is not None


@known_result
def test_the_leaderboard_of_seahelm(runs: Any, oracle: Any) -> None:
    case = oracle("leaderboard-011")
    scores = case["input"]
    for task, score in scores["id"]["nlg"].items():
        runs.share(task, score)
    runs.share("n-id", scores["id"]["nlr"]["n"])
    runs.share("n-en", scores["en"]["nlr"]["n"])
    group = {"name": "group", "of": ["tr-a", "tr-b"]}
    nlg = {"name": "nlg", "of": [group, "abs"]}
    board = runs.board(
        {
            "of": [
                {"name": "id", "of": [nlg, {"name": "nlr", "of": ["n-id"]}]},
                {"name": "en", "of": ["n-en"]},
            ]
        }
    )
    expected = case["output"]
    assert percent(board, "id", "nlg", "group") == pytest.approx(expected["group"])
    assert percent(board, "id", "nlg") == pytest.approx(expected["nlg"])
    assert percent(board, "id") == pytest.approx(expected["sea_mean"])
    assert percent(board) == pytest.approx(expected["mean"])
    # leaderboard-003: a deterministic model has an error, too
    score = cell(board, "id", "nlr", "n-id").score
    assert score.se is not None
    assert score.se > 0


def test_lm_eval_averages_leaf_tasks_at_each_level(runs: Any) -> None:
    scores = {"a": (90, 10), "b": (50, 20), "c": (20, 40), "d": (40, 10)}
    for task, (score, n) in scores.items():
        runs.share(task, score, n=n)
    nodes = [
        {"name": "x", "of": ["a", {"name": "z", "of": ["b", "c"]}]},
        {"name": "y", "of": ["d"]},
    ]
    tree = runs.board({"of": nodes})
    assert percent(tree) == pytest.approx(((90 + 35) / 2 + 40) / 2)
    flat = runs.board({"of": nodes, "flatten": True})
    assert percent(flat) == pytest.approx((90 + 50 + 20 + 40) / 4)
    assert percent(flat, "x") == pytest.approx((90 + 50 + 20) / 3)
    sized = runs.board({"of": nodes, "flatten": True, "mean": "size"})
    weighted = sum(score * n for score, n in scores.values())
    assert percent(sized) == pytest.approx(weighted / 80)


def test_helm_averages_subjects_before_it_ranks(runs: Any) -> None:
    scores = {"a": (60, 60, 90), "b": (20, 80, 80), "c": (90, 10, 70)}
    for model, own in scores.items():
        for data, score in zip(("law", "math", "boolq"), own, strict=True):
            runs.share(data, score, model=model)
    rank = {"method": "win-rate"}
    mmlu = {"name": "mmlu", "of": ["law", "math"]}
    board = runs.board({"of": [mmlu, "boolq"], "rank": rank})
    assert board.rating is not None
    rates = {model: score.value for model, score in board.rating.scores.items()}
    assert rates == {"a": 1.0, "b": 0.375, "c": 0.125}  # b and c tie on mmlu
    assert (board.models, board.sorted_by) == (("a", "b", "c"), "win-rate")


def test_suites_that_ship_say_what_is_missing(runs: Any) -> None:
    runs.share("film", 50)
    sizes = {"tweeteval": 7, "seahelm": 7, "helm-lite": 10, "lm-eval-mmlu": 4}
    for name, members in {**sizes, "dynaboard-nli": 5}.items():
        suite = find_suite(name)
        assert len(suite.labels) == members
        with pytest.raises(DataError, match=r"no score: no complete run"):
            runs.board(suite.model_dump(exclude_unset=True))
