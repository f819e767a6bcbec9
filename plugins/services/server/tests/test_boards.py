"""Boards: what is ranked, what is not, and what of private datasets is shown."""

from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, Table, insert, update

from evalkit.errors import DataError
from evalkit.scoring import Interval, mean_of_intervals
from evalkit_analysis_ratings import Columns
from evalkit_analysis_ratings.dynascore import rate_dynascore
from evalkit_services_server.access import Principal
from evalkit_services_server.accounts import save_account
from evalkit_services_server.api import TASKS
from evalkit_services_server.boards import Board, board
from evalkit_services_server.database import now, reading, writing
from evalkit_services_server.exports import board_csv, board_json
from evalkit_services_server.filters import Filters
from evalkit_services_server.tables import (
    BOARD,
    DATASET,
    JOB,
    METRIC,
    MODEL,
    ROUND,
    RUN,
    SCORE,
    TASK,
)

SCORES = {
    # model: (en, th, fair), each of all examples, =tag and rare
    "alpha": (0.90, 0.60, 0.80),
    "beta": (0.80, 0.80, 0.90),
    "gamma": (0.70, 0.75, 0.70),
    "delta": (0.91234, None, None),
}
N = {"": 100, "=tag": 50, "rare": 5}


def add(connection: Connection, table: Table, **values: Any) -> int:
    made = table.insert().values(values).returning(table.c.id)
    key: int = connection.execute(made).scalar_one()
    return key


@pytest.fixture
def filled(engine: Engine) -> Engine:
    with writing(engine) as connection:
        at = now(connection)
        task = add(
            connection,
            TASK,
            **dict(code="nli", component="nli", input_keys=["uid"]),
            **dict(perf_metric="accuracy", eval_metrics=["loss"]),
            **dict(delta_metrics=["fairness"], weights={"accuracy": 4}),
        )
        for name, up in (("accuracy", True), ("fairness", True), ("loss", False)):
            way = dict(name=name, unit="%", scale=100.0, higher_is_better=up)
            connection.execute(insert(METRIC).values(way))
        number = add(connection, ROUND, task_id=task, number=1, state="open")
        common = dict(task_id=task, version="1", fingerprint="f", uri="u", added=at)
        common |= dict(access="open", board="scoring")
        rows = (
            dict(name="en", languages=["en-GB"], round_id=number),
            dict(name="th", languages=["th"]),
            dict(name="fair", perturbation="fairness", languages=["en-GB"]),
        )
        data = [add(connection, DATASET, **common, **row) for row in rows]
        owner = save_account(connection, "ada")
        for model, values in SCORES.items():
            row = dict(task_id=task, account_id=owner, name=model)
            key = add(connection, MODEL, added=at, **row)
            metrics = "accuracy", "accuracy", "fairness"
            for dataset, metric, value in zip(data, metrics, values, strict=True):
                if value is not None:
                    _add_run(connection, task, key, dataset, metric, value)
    return engine


def _add_run(
    connection: Connection, task: int, model: int, dataset: int, metric: str, x: float
) -> None:
    at, pair = now(connection), dict(model_id=model, dataset_id=dataset)
    job = dict(key=f"{pair}", metrics=[metric], state="done", requested=at)
    job_id = add(connection, JOB, **pair, **job)
    run = dict(job_id=job_id, folder=f"/no/{job_id}", counts={})
    run |= dict(comparison_key=f"{dataset}")
    run_id = add(connection, RUN, **run)
    for tag, n in N.items():
        score = dict(run_id=run_id, metric=metric, tag=tag, n=n, value=x)
        score |= dict(ci_low=x - 0.04, ci_high=x + 0.02)
        connection.execute(insert(SCORE).values(score))
    row = dict(task_id=task, metric=metric, run_id=run_id, **pair)
    connection.execute(insert(BOARD).values(row))


def shown(engine: Engine, exact: bool = False, **filters: Any) -> Board:
    with reading(engine) as connection:
        task = TASKS.find(connection, Principal(), "nli")
        return board(connection, task, Filters(**filters), exact=exact)


def ranks(found: Board) -> dict[str, int | None]:
    return {line.model["name"]: line.total.rank for line in found.lines}


RANKS: list[tuple[dict[str, Any], dict[str, int | None]]] = [
    ({}, {"beta": 1, "alpha": 2, "gamma": 3, "delta": None}),
    ({"reverse": True}, {"gamma": 3, "alpha": 2, "beta": 1, "delta": None}),
    ({"weights": {"th": 0.1}}, {"alpha": 1, "beta": 2, "gamma": 3, "delta": None}),
    ({"sort": "en"}, {"delta": 1, "alpha": 2, "beta": 3, "gamma": 4}),
    ({"round": (1,)}, {"delta": 1, "alpha": 2, "beta": 3, "gamma": 4}),
    ({"language": ("en",)}, {"delta": 1, "alpha": 2, "beta": 3, "gamma": 4}),
    ({"dataset": ("th",)}, {"beta": 1, "gamma": 2, "alpha": 3, "delta": None}),
    ({"model": "GAMM"}, {"gamma": 3}),
    ({"metric": "fairness"}, {"beta": 1, "alpha": 2, "gamma": 3, "delta": None}),
    ({"page": 2}, {}),
]


def test_models_are_ranked_by_what_is_chosen(filled: Engine) -> None:
    for filters, expected in RANKS:
        found = ranks(shown(filled, **filters))
        assert [*found.items()] == [*expected.items()], filters


def test_a_missing_score_is_said_and_never_counts_as_0(filled: Engine) -> None:
    lines = {line.model["name"]: line for line in shown(filled).lines}
    delta, beta = lines["delta"], lines["beta"]
    assert (delta.total.number, delta.total.reason) == (None, "1 of 2 scores")
    assert delta.cells[0].reason == "waiting for predictions"
    parts = [Interval(0.76, 0.82), Interval(0.76, 0.82)]
    mean = mean_of_intervals([0.8, 0.8], parts)
    assert beta.total.number is not None
    assert beta.total.number[:] == pytest.approx((0.8, mean.low, mean.high))
    assert [lines[name].total.is_tied for name in ("alpha", "gamma")] == [False, False]
    tied = {x.model["name"]: x.total.is_tied for x in shown(filled, sort="en").lines}
    assert tied == {"delta": False, "alpha": True, "beta": False, "gamma": False}


def test_the_dynascore_counts_deltas_in_the_unit_of_the_main_metric(
    filled: Engine,
) -> None:
    found = shown(filled, sort="dynascore")
    assert ranks(found) == {"beta": 1, "alpha": 2, "gamma": 3, "delta": None}
    columns = Columns(
        ("alpha", "beta", "gamma"),
        ("accuracy", "fairness"),
        np.array([[0.75, 0.8, 0.725], [0.8, 0.9, 0.7]]),
        (True, True),
        "",
        [np.inf, np.inf],
    )
    rated = rate_dynascore(columns, "accuracy", {"accuracy": 4}, {}).scores
    for line in found.lines[:3]:
        assert line.dynascore is not None
        assert line.dynascore.number is not None
        expected = rated[line.model["name"]].value
        assert line.dynascore.number.value == pytest.approx(expected)
    assert not shown(filled, tag="=tag").has_dynascore


def test_runs_that_are_not_comparable_are_shown_and_not_ranked(filled: Engine) -> None:
    with writing(filled) as connection:
        connection.execute(update(RUN).where(RUN.c.id == 1).values(comparison_key="x"))
    found = shown(filled, sort="en")
    [line] = [line for line in found.lines if line.model["name"] == "alpha"]
    assert (line.total.rank, line.cells[1].is_apart) == (None, True)
    assert line.cells[1].number is not None
    assert found.notices[0].startswith("en: 1 of 4 scores are not comparable")


def test_private_datasets_have_rounded_scores_and_no_small_tags(filled: Engine) -> None:
    with writing(filled) as connection:
        connection.execute(update(DATASET).values(access="labels-private"))
    private = shown(filled, dataset=("en",), by="tag")
    assert private.tags == ["=tag"]
    number = private.lines[0].cells[0].number
    assert number is not None
    assert number[:] == (0.91, 0.87, 0.93)
    rare = shown(filled, tag="rare").lines[0].cells[0]
    assert (rare.number, rare.reason) == (None, "withheld below 20 examples")
    exact = shown(filled, exact=True, dataset=("en",), by="tag")
    assert exact.tags == ["=tag", "rare"]
    number = exact.lines[0].cells[0].number
    assert number is not None
    assert number.value == 0.91234


def test_exports_have_exact_numbers_and_no_formulas(filled: Engine) -> None:
    found = shown(filled, dataset=("en",), by="tag")
    values = [score["value"] for score in board_json(found)["models"][0]["scores"]]
    assert values == [0.91234] * 3
    row = board_csv(found).splitlines()[2]
    assert row.startswith("delta,1,'=tag,en,1,accuracy,0.91234,")


def test_an_address_says_what_a_board_shows() -> None:
    filters = Filters(
        tag="a&b", dataset=("x:y=z", "q"), round=(0, 2), weights={"x:y=z": 2.5}, page=3
    )
    pairs = parse_qsl(filters.query()[1:])
    assert Filters.parse([*pairs, ("metric", ""), ("model", "")]) == filters


WRONG = [
    ([("round", "x")], "round: Input should be a valid integer"),
    ([("page", "9" * 30)], "page: Input should be less than or equal to 1000000, got"),
    ([("w.en", "-1")], "w.en: Input should be greater than or equal to 0, got '-1'"),
    ([("w.en", "nan")], "w.en: Input should be"),
    ([("by", "model")], "by: Input should be 'dataset' or 'tag', got 'model'"),
    ([("colour", "x")], "colour: Extra inputs are not permitted, got 'x'"),
    ([("metric", "bleu")], "metric: the board has no 'bleu'. It has: accuracy, "),
    ([("dataset", "fr")], "dataset: the board has no 'fr'. It has: th, en"),
    ([("sort", "fr")], "sort: the board has no 'fr'. It has: model, mean, "),
    ([("by", "tag")], "by: columns of tags need exactly one dataset"),
]


def test_wrong_filters_are_named(filled: Engine) -> None:
    with reading(filled) as connection:
        task = TASKS.find(connection, Principal(), "nli")
        for pairs, message in WRONG:
            with pytest.raises(DataError) as caught:
                board(connection, task, Filters.parse(pairs))
            assert str(caught.value).startswith(message)
