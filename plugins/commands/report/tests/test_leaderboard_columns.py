"""What tables, pages and JSON show of a leaderboard."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest

from evalkit import Score
from evalkit_analysis_ratings.records import Cell, Ranks, Rating
from evalkit_analysis_suites.records import Board, Member
from evalkit_commands_report.leaderboard_columns import (
    board_rows,
    explanations,
    notices_of,
    sort_keys,
    sort_models,
)
from evalkit_commands_report.leaderboard_page import board_page
from evalkit_commands_report.leaderboard_values import as_json, csv_rows

from .conftest import HOSTILE, Page

GPT, QWEN = "gpt", HOSTILE


def score(value: float | None, **fields: Any) -> Score:
    """Make a score with an interval of ± 0.05, if it has a value."""
    ends = {} if value is None else {"ci_low": value - 0.05, "ci_high": value + 0.05}
    defaults: dict[str, Any] = dict.fromkeys(Score._fields)
    defaults |= {"metric": "accuracy", "split": "all", "computed_on": "all", "n": 100}
    defaults |= {"ci_method": "wilson", "unit": "%", "scale": 100.0}
    return Score(
        **{**defaults, "higher_is_better": True, "value": value, **ends, **fields}
    )


def dataset(*path: str, **cells: Score) -> Member:
    named = {GPT: cells.get("gpt"), QWEN: cells.get("qwen")}
    return Member(
        path[-1], path, {m: Cell(s, (), 1) for m, s in named.items() if s is not None}
    )


def mean(
    *path: str, cells: Mapping[str, Cell], of: list[Member], **ranks: Any
) -> Member:
    name = path[-1] if path else "suite"
    count = sum(each.datasets for each in of)
    return Member(name, path, cells, count, children=tuple(of), **ranks)


@pytest.fixture
def board() -> Board:
    """Return a leaderboard with two levels, of which one model lacks a dataset."""
    film = dataset("opinion", "film", gpt=score(0.9), qwen=score(0.5))
    wer = {"metric": "wer", "higher_is_better": False}
    speech = dataset("opinion", "speech", gpt=score(0.3, **wer))
    why = "the run 1234 is refused"
    empty = dataset("empty", gpt=score(None, metric="", unit="", reason=why))
    no_runs = dataset("absent")
    joint = {"ci_method": "joint-bootstrap"}
    cells = {GPT: Cell(score(0.6, **joint), (), 2), QWEN: Cell(score(0.5), (), 1)}
    ranks = {"ranks": {GPT: Ranks(1, 1), QWEN: Ranks(1, 2)}}
    opinion = mean("opinion", cells=cells, of=[film, speech], **ranks)
    refused = {GPT: Cell(score(None, reason="empty is missing"), (), 0)}
    lost = mean(
        "lost", cells=refused, of=[dataset("lost", "one"), dataset("lost", "two")]
    )
    members = [opinion, empty, no_runs, lost]
    root = mean(cells=cells, of=members, no_ranks="two datasets share examples")
    rates = {GPT: score(1.0, unit="", scale=1.0), QWEN: score(0.0, unit="", scale=1.0)}
    rating = Rating("win-rate", rates, {GPT: Ranks(1, 2), QWEN: Ranks(1, 2)})
    return Board("bench", root, (GPT, QWEN), rating, 0.95, (f"film: {why}, a notice",))


def test_a_table_has_the_total_the_rating_and_the_levels_of_its_depth(
    board: Board,
) -> None:
    total = ["bench", "win-rate", "rank"]
    first = [*total, "opinion", "rank", "empty", "lost"]
    deep = ["opinion/film: accuracy", "opinion/speech: wer"]
    every = [*first[:-2], *deep, "empty", "lost"]
    for depth, header in ((0, total), (1, first), (None, every)):
        assert board_rows(board, depth)[0] == ["model", *header]
    gpt, qwen = board_rows(board, None)[1:]
    assert gpt[:4] == [
        *("gpt", "60.0 [55, 65] (2 of 6 datasets)", "1.000 [0.950, 1.050]", "1–2")
    ]
    assert gpt[4:] == [
        *("60.0 [55, 65]", "1", "90.0 [85.0, 95.0]"),
        *("30.0 [25.0, 35.0]", "–", "–"),
    ]
    assert qwen[4:] == [
        *("50.0 [45.0, 55.0] (1 of 2 datasets)", "1–2", "50.0 [45.0, 55.0]", *"–––")
    ]


def test_notes_explain_numbers_and_name_what_is_missing(board: Board) -> None:
    lines = explanations(board)
    assert lines[0] == (
        "accuracy, wer (lower is better) in %, with 95 % intervals; sorted by bench"
    )
    assert [line.partition(":")[0] for line in lines[1:]] == [
        *("bench", "intervals of means of shared examples", "win-rate", "rank")
    ]
    assert notices_of(board) == [
        "film: the run 1234 is refused, a notice",
        "bench: no ranks: two datasets share examples",
        "empty: no value for gpt: the run 1234 is refused",
        "lost: no value for gpt: empty is missing",
    ]


def test_models_are_sorted_by_any_column(board: Board) -> None:
    names = ["bench", "win-rate", "opinion", "opinion/film", "opinion/speech", "empty"]
    assert [*sort_keys(board)] == [*names, "lost", "model"]
    turned = board._replace(models=(QWEN, GPT))
    for by in names[:5]:
        found = sort_models(turned, by)
        assert (found.models, found.sorted_by) == ((GPT, QWEN), by)
    assert sort_models(board, "model").models == (QWEN, GPT)
    worse = {GPT: Cell(score(0.3), (), 1), QWEN: Cell(score(0.2), (), 1)}
    for higher, best in ((True, GPT), (False, QWEN)):
        cells = {
            model: cell._replace(score=cell.score._replace(higher_is_better=higher))
            for model, cell in worse.items()
        }
        lower = board._replace(root=board.root._replace(cells=cells))
        assert sort_models(lower, "bench").models[0] == best


def test_json_and_csv_have_every_number_of_all_levels(board: Board) -> None:
    found = as_json(board)
    assert found["suite"] == "bench"
    assert [column["path"] for column in found["columns"]] == [
        *([], ["win-rate"], ["opinion"], ["opinion", "film"], ["opinion", "speech"]),
        *(["empty"], ["absent"], ["lost"], ["lost", "one"], ["lost", "two"]),
    ]
    assert found["columns"][0]["no_ranks"] == "two datasets share examples"
    total, rating, opinion, film, *_ = found["models"][0]["scores"]
    assert (total["scored"], total["datasets"], rating["rank_worst"]) == (2, 6, 2)
    assert (opinion["kind"], film["kind"], film["metric"]) == (
        "mean",
        "dataset",
        "accuracy",
    )
    header, *rows = csv_rows(board)
    first = dict(zip(header, rows[0], strict=True))
    assert (first["ci_low"], first["ci_method"]) == (0.6 - 0.05, "joint-bootstrap")
    reasons = [dict(zip(header, row, strict=True))["reason"] for row in rows]
    assert reasons.count("the run 1234 is refused") == 1
    assert len(rows) == sum(len(model["scores"]) for model in found["models"])


def test_a_page_holds_every_number_and_escapes_names(board: Board) -> None:
    html = board_page(board, None)
    page = Page(html)
    assert HOSTILE in page.text
    assert not re.search("https?:|url[(]", html)
    assert "default-src 'none'" in unescape(html)
    assert [value for value, _ in page.elements].count("script") == 1
    numbers = [(about["value"], shown) for about, shown in page.numbers]
    assert ("0.9", "90.0") in numbers
    assert ("1", "1–2") in numbers
    assert {
        about.get("data-best") for about, shown in page.numbers if shown == "30.0"
    } == {"low"}
    scopes = [about.get("scope") for name, about in page.elements if name == "th"]
    assert (scopes.count("col"), scopes.count("row")) == (10, 2)
    assert "rank by opinion" in page.text
    sorted_by = [
        about["aria-sort"] for _, about in page.elements if "aria-sort" in about
    ]
    assert sorted_by == ["descending"]
