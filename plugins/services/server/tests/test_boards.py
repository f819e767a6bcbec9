"""Leaderboards: what is ranked, what is not, and what of private datasets is shown."""

import csv
from typing import Any
from urllib.parse import parse_qs

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, Table, insert, update

from evalkit.scoring import Interval, mean_of_intervals
from evalkit_services_server.access import Principal
from evalkit_services_server.accounts import save_account
from evalkit_services_server.api import TASKS
from evalkit_services_server.app import make_app
from evalkit_services_server.boards import Board, read_board, write_csv
from evalkit_services_server.database import now, reading, writing
from evalkit_services_server.filters import Filters
from evalkit_services_server.settings import Settings
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
            **dict(delta_metrics=["fairness"], weights={}),
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
        return read_board(connection, task, Filters(**filters), exact=exact)


def ranks(board: Board) -> dict[str, int | None]:
    return {line.model: line.rank for line in board.models}


RANKS: list[tuple[dict[str, Any], dict[str, int | None]]] = [
    ({}, {"beta": 1, "alpha": 2, "gamma": 3, "delta": None}),
    ({"reverse": True}, {"gamma": 3, "alpha": 2, "beta": 1, "delta": None}),
    ({"w.th": 0.1}, {"alpha": 1, "beta": 2, "gamma": 3, "delta": None}),
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


def test_a_missing_score_has_a_reason_and_never_counts_as_0(filled: Engine) -> None:
    with writing(filled) as connection:
        connection.execute(update(TASK).values(weights={"th": 3}))
    lines = {line.model: line for line in shown(filled).models}
    delta, beta = lines["delta"], lines["beta"]
    assert (delta.mean.value, delta.mean.reason) == (None, "1 of 2 scores")
    assert delta.scores[0].reason == "waiting for predictions"
    assert [column.weight for column in shown(filled, **{"w.th": 2}).columns] == [2, 1]
    parts = [Interval(0.76, 0.82), Interval(0.76, 0.82)]
    with writing(filled) as connection:
        connection.execute(update(TASK).values(weights={}))
    beta = next(line for line in shown(filled).models if line.model == "beta")
    mean = mean_of_intervals([0.8, 0.8], parts)
    found = beta.mean.value, beta.mean.ci_low, beta.mean.ci_high
    assert found == pytest.approx((0.8, mean.low, mean.high))
    tied = {line.model: line.may_equal_best for line in shown(filled, sort="en").models}
    assert tied == {"delta": False, "alpha": True, "beta": False, "gamma": False}


def test_refused_predictions_link_to_their_run(filled: Engine) -> None:
    with writing(filled) as connection:
        job = dict(
            key="x", metrics=["accuracy"], state="refused", requested=now(connection)
        )
        job_id = add(connection, JOB, model_id=4, dataset_id=2, **job)
        run = dict(folder="/no/x", comparison_key="2", counts={})
        run_id = add(connection, RUN, job_id=job_id, **run)
    cell = shown(filled).models[-1].scores[0]
    assert (cell.run_id, cell.reason) == (run_id, "predictions refused")


def test_runs_that_are_not_comparable_are_shown_and_not_ranked(filled: Engine) -> None:
    with writing(filled) as connection:
        connection.execute(update(RUN).where(RUN.c.id == 1).values(comparison_key="x"))
    board = shown(filled, sort="en")
    [line] = [line for line in board.models if line.model == "alpha"]
    assert (line.rank, line.scores[1].is_comparable) == (None, False)
    assert line.scores[1].value == 0.9
    assert board.notices[0].startswith("en: 1 of 4 scores are not comparable")


def test_private_datasets_have_rounded_scores_and_no_small_tags(filled: Engine) -> None:
    with writing(filled) as connection:
        connection.execute(update(DATASET).values(access="labels-private"))
    private = shown(filled, dataset=("en",), by="tag")
    assert private.choices.tags == ["=tag"]
    cell = private.models[0].scores[0]
    assert (cell.value, cell.ci_low, cell.ci_high) == (0.91, 0.87, 0.93)
    assert shown(filled, tag="rare").models[0].scores[0].value is None
    exact = shown(filled, exact=True, dataset=("en",), by="tag")
    assert exact.choices.tags == ["=tag", "rare"]
    assert exact.models[0].scores[0].value == 0.91234


def test_csv_has_exact_numbers_means_and_no_formulas(filled: Engine) -> None:
    text = write_csv(shown(filled, dataset=("en",), by="tag"))
    assert text.splitlines()[2].startswith("delta,1,'=tag,en,1,accuracy,0.91234,")
    rows = [*csv.DictReader(write_csv(shown(filled)).splitlines())]
    [mean] = [r for r in rows if (r["model"], r["column"]) == ("alpha", "mean")]
    assert float(mean["value"]) == pytest.approx(0.75)
    assert float(mean["ci_low"]) < 0.75 < float(mean["ci_high"])


def test_an_address_says_what_a_leaderboard_shows() -> None:
    weights: Any = {"w.x:y=z": 2.5}
    filters = Filters(
        tag="a&b", dataset=("x:y=z", "q"), round=(0, 2), reverse=True, page=3, **weights
    )
    pairs: Any = parse_qs(filters.query()[1:])
    one = {
        name: x if name in ("dataset", "round") else x[0] for name, x in pairs.items()
    }
    assert Filters(**one, metric="", model="") == filters


WRONG = [
    ("round=x", "round: Input should be a valid integer"),
    ("page=" + "9" * 30, "page: Input should be less than or equal to 1000000"),
    ("w.en=-1", "w.en: Input should be greater than or equal to 0"),
    ("w.en=nan", "w.en: Input should be"),
    ("by=model", "by: Input should be &#39;dataset&#39; or &#39;tag&#39;"),
    ("colour=x", "unknown parameter &#39;colour&#39;"),
    ("metric=bleu", "metric: unknown &#39;bleu&#39;. Known: accuracy, loss"),
    ("dataset=fr", "dataset: unknown &#39;fr&#39;. Known: th, en"),
    ("sort=fr", "sort: unknown &#39;fr&#39;. Known: model, mean, "),
    ("by=tag", "by: columns of tags need exactly one dataset"),
]


def test_wrong_filters_are_named(filled: Engine, settings: Settings) -> None:
    app = make_app(settings)
    client = TestClient(app)
    for query, message in WRONG:
        page = client.get(f"/tasks/nli?{query}")
        assert (page.status_code, message in page.text) == (422, True), page.text
        assert client.get(f"/api/v1/tasks/nli/board?{query}").status_code == 422
    app.state.engine.dispose()
