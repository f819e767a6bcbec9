"""Perplexity and bits, against plain sums."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import evalkit

from .values_alone import same, values_by_tag

COUNTS = {
    "perplexity": "num_tokens",
    "bits-per-byte": "num_bytes",
    "bits-per-character": "num_characters",
}
every_metric = pytest.mark.parametrize("name", COUNTS)


class Passage(BaseModel):
    uid: str
    text: str


class Probability(BaseModel):
    id: str
    logprob: float | None = None
    num_tokens: int | None = None
    num_bytes: int | None = None
    num_characters: int | None = None


class LanguageModelling(evalkit.TaskIO):
    Input = Passage
    Output = Probability
    answer_kind = "none"
    scored_fields = ("logprob", "num_tokens", "num_bytes", "num_characters")
    perf_metric = "bits-per-byte"
    eval_metrics = ("perplexity", "bits-per-character")
    example = {"uid": "1", "text": "It rains."}
    label_field_converter = {"id": "uid"}
    pred_field_converter = {"id": "id", "pred": "logprob"}


def by_hand(name: str, rows: list[tuple[float, int]]) -> float | None:
    logprob, count = math.fsum(r[0] for r in rows), sum(r[1] for r in rows)
    if not count:
        return None
    nats = -logprob / count
    return math.exp(nats) if name == "perplexity" else nats / math.log(2)


def evaluate(rows: list[Any], **options: Any) -> evalkit.Result:
    data = [
        {"uid": str(n), "text": "Rain.", "tags": ["even"] * (n % 2 == 0)}
        for n in range(len(rows))
    ]
    responses = [
        {"id": str(n), "logprob": row[0], **dict.fromkeys(COUNTS.values(), row[1])}
        for n, row in enumerate(rows)
        if row is not None
    ]
    return evalkit.evaluate(
        data=data, predictions=responses, task=LanguageModelling, **options
    )


rows_of_texts = st.lists(
    st.tuples(st.floats(-9, 0).map(lambda x: round(x, 4)), st.integers(0, 50)),
    min_size=1,
    max_size=20,
)


@every_metric
@given(rows=rows_of_texts)
@pytest.mark.slow
def test_the_set_and_its_tags_are_ratios_of_sums(
    name: str, rows: list[tuple[float, int]]
) -> None:
    logprobs, counts = map(list, zip(*rows, strict=True))
    texts = [""] * len(rows)
    tags = [["even"] * (n % 2 == 0) for n in range(len(rows))]
    fields = {"logprob": logprobs, COUNTS[name]: counts}
    found = values_by_tag(name, texts, texts, tags=tags, fields=fields)
    for tag, part in ((None, rows), ("even", rows[::2])):
        assert same(found[tag].value, by_hand(name, part))
        assert found[tag].n == len(part)


@every_metric
def test_nothing_counted_is_nothing_by_nothing(name: str) -> None:
    found = evaluate([(0.0, 0), (0.0, 0)])[name]
    assert (found.value, found.reason) == (None, f"the sum of `{COUNTS[name]}` is 0")


def test_a_uniform_model_has_the_perplexity_of_its_choices() -> None:
    rows = [(n * math.log(1 / 50), n) for n in range(1, 30)]
    found = evaluate(rows)["perplexity"]
    assert found.value == pytest.approx(50)
    assert found.ci is None  # nothing varies
    rows[0] = (-1.0, 1)
    found = evaluate(rows)["perplexity"]
    assert found.ci_method == "delta-log"
    assert found.ci is not None
    assert found.ci.low < found.value < found.ci.high


@pytest.mark.parametrize(
    ("row", "lacking"),
    [
        ((None, 3), "logprob"),
        ((0.5, 3), "logprob"),
        ((-1.0, None), "num_bytes"),
        ((-1.0, -3), "num_bytes"),
    ],
)
def test_what_cannot_be_is_not_scored(row: Any, lacking: str) -> None:
    found = evaluate([row, *([(-2.0, 4)] * 19)])
    assert found["bits-per-byte"].value == pytest.approx(0.5 / math.log(2))
    assert found["bits-per-byte"].n == 19
    assert found.status == "partial"
    reasons = [each.reason for each in found.problems if each.metric == "bits-per-byte"]
    assert len(reasons) == 1
    assert f"holds no `{lacking}` that is a number" in str(reasons[0])


@every_metric
def test_a_missing_response_that_counts_leaves_no_score(name: str) -> None:
    rows = [(-2.0, 4), None, (-2.0, 4)]
    found = evaluate(rows, on_missing="wrong")[name]
    assert found.value is None
    assert "examples without a response" in str(found.reason)
    assert found.n == 3
    skipped = evaluate(rows, on_missing="skip")[name]
    assert skipped.value is not None
    assert (skipped.n, skipped.coverage) == (2, pytest.approx(2 / 3))


def test_fields_that_no_response_has_are_named() -> None:
    found = evalkit.evaluate(
        data=[{"uid": "1", "statement": "Good.", "label": "positive"}],
        predictions=[{"id": "1", "label": "positive"}],
        task="sentiment",
        metrics=["perplexity"],
    )
    assert found["perplexity"].value is None
    assert "logprob" in str(found["perplexity"].reason)


lists_of_tokens = st.lists(
    st.tuples(st.booleans(), st.lists(st.floats(-9, 0), max_size=6)),
    min_size=1,
    max_size=9,
)


@every_metric
@given(texts=lists_of_tokens)
@pytest.mark.slow
def test_a_list_of_tokens_is_its_sum_and_count(
    name: str, texts: list[tuple[bool, list[float]]]
) -> None:
    tokens = [[None] * starts + values for starts, values in texts]
    # of nothing but nulls there is no type
    tokens.append([-1.0])
    known = [math.fsum(value for value in each if value is not None) for each in tokens]
    lengths = [sum(value is not None for value in each) for each in tokens]
    empty = [""] * len(tokens)
    counts = {} if name == "perplexity" else {COUNTS[name]: lengths}
    fields = {"token_logprobs": tokens, **counts}
    found = values_by_tag(name, empty, empty, fields=fields)[None]
    assert same(found.value, by_hand(name, list(zip(known, lengths, strict=True))))


def score_tokens(*tokens: Any, **fields: Any) -> evalkit.Score:
    given = {"token_logprobs": list(tokens), **fields}
    empty = [""] * len(tokens)
    return evalkit.score("perplexity", empty, empty, fields=given)["perplexity"]


def test_numbers_beside_the_list_must_be_those_of_the_list() -> None:
    tokens = [None, -1.0, -2.0], [-3.0, -1.0]
    expected = math.exp(7 / 4)
    same_numbers = {"num_tokens": [2, None], "logprob": [-3.0001, None]}
    assert score_tokens(*tokens).value == pytest.approx(expected)
    found = score_tokens(*tokens, **same_numbers).value
    assert found == pytest.approx(expected, rel=1e-3)
    with pytest.raises(
        evalkit.MetricError, match=r"'num_tokens' 3 beside .* makes it 2"
    ):
        score_tokens(*tokens, num_tokens=[3, 2])
    with pytest.raises(evalkit.MetricError, match=r"'logprob' -3.1 beside .* it -3 "):
        score_tokens(*tokens, logprob=[-3.1, None])


@pytest.mark.parametrize("name", ["bits-per-byte", "bits-per-character"])
@pytest.mark.parametrize("bare", [[None], []])
def test_text_that_no_token_tells_of_is_not_scored(name: str, bare: Any) -> None:
    given = {"token_logprobs": [bare, [-8 * math.log(2)]], COUNTS[name]: [100, 4]}
    found = evalkit.score(name, ["", ""], ["", ""], fields=given)
    assert (found[name].value, found[name].n) == (2.0, 1)
    [problem] = found.problems
    assert "holds no number" in str(problem.reason)
    given[COUNTS[name]] = [0, 4]
    assert evalkit.score(name, ["", ""], ["", ""], fields=given)[name].n == 2


@pytest.mark.parametrize("value", [[[-1.0]], {"-1": -1.0}, "-1", -1.0, [["a"]]])
def test_what_is_no_list_of_numbers_is_refused(value: Any) -> None:
    with pytest.raises(evalkit.MetricError, match="'token_logprobs' of each response"):
        score_tokens(value)


@pytest.mark.parametrize("bad", [[-1.0, None], [0.5], [-math.inf], [None, None]])
def test_lists_that_hold_no_probabilities_are_not_scored(bad: list[Any]) -> None:
    found = evalkit.evaluate(
        data=[
            {"uid": str(n), "statement": "Good.", "label": "positive"}
            for n in range(20)
        ],
        predictions=[
            {"id": str(n), "label": "positive", "token_logprobs": each}
            for n, each in enumerate([bad, *([[-1.0, -2.0]] * 19)])
        ],
        task="sentiment",
        metrics=["perplexity"],
    )
    assert found["perplexity"].n == 19
    assert found["perplexity"].value == pytest.approx(math.exp(1.5))
    [problem] = found.problems
    assert "`token_logprobs`" in str(problem.reason)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_files_hold_lists_of_tokens(kind: str, tmp_path: Path) -> None:
    tokens = [[None, -1.0, -2.0], [-3.0, -1.0]]
    rows = [
        {"id": str(n), "label": "positive", "token_logprobs": each}
        for n, each in enumerate(tokens)
    ]
    path = tmp_path / f"p.{kind}"
    if kind == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif kind == "csv":
        as_text = [
            {**row, "token_logprobs": json.dumps(row["token_logprobs"])} for row in rows
        ]
        pl.DataFrame(as_text).write_csv(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = evalkit.evaluate(
        data=[
            {"uid": each["id"], "statement": "x", "label": "positive"} for each in rows
        ],
        predictions=path,
        task="sentiment",
        metrics=["perplexity"],
    )
    assert found["perplexity"].value == pytest.approx(math.exp(7 / 4))
