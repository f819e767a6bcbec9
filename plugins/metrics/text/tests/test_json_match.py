import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from row_groups import rows_by_group
from share_intervals import share_interval

import evalkit
from evalkit import Result

NAME = "json-match"

leaves = st.one_of(
    st.none(), st.booleans(), st.sampled_from([0, 1, 1.0, 2.5]), st.sampled_from("ab")
)
values = st.recursive(
    leaves,
    lambda part: (
        st.lists(part, max_size=2)
        | st.dictionaries(st.sampled_from("ab"), part, max_size=2)
    ),
    max_leaves=6,
)
tags = st.lists(st.sampled_from(["t", "u:v"]), unique=True)


def is_same(one: Any, other: Any) -> bool:
    """Compare JSON values by the rules of JSON, not of Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            is_same(one[key], other[key]) for key in one
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def paths(value: Any, path: str = "$") -> Iterator[tuple[str, str]]:
    """Yield a line for each value that stands alone."""
    if value and isinstance(value, dict):
        for key, part in value.items():
            yield from paths(part, f"{path}.{key}")
    elif value and isinstance(value, list):
        for number, part in enumerate(value):
            yield from paths(part, f"{path}[{number}]")
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        yield path, str(float(value)) if is_number else json.dumps(value)


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def expected(rows: list[tuple[Any, Any]]) -> dict[str, float | None]:
    """Return what the scores of values are; UNREADABLE and None are no JSON."""
    same, hits, total, asked, right, valid = [], 0, 0, 0, 0, 0
    for said, answer in rows:
        is_json = said is not None and said != UNREADABLE
        valid += is_json
        same.append(is_json and is_same(said[0], answer))
        wanted = {*paths(answer)}
        found = {*paths(said[0])} if is_json else set()
        hits += len(wanted & found)
        total += len(wanted) + len(found)
        if isinstance(answer, dict) and "a" in answer:
            asked += 1
            holds = is_json and isinstance(said[0], dict) and "a" in said[0]
            right += holds and is_same(said[0]["a"], answer["a"])
    count = len(rows)
    return {
        "": sum(same) / count,
        "#fields": 2 * hits / total,
        "#valid": valid / count,
        "#a": ratio(right, asked),
    }


UNREADABLE = "{'a': 1}"
predictions = st.none() | st.just(UNREADABLE) | st.tuples(values)


@given(
    rows=st.lists(
        st.tuples(predictions, values, tags)
        | st.tuples(values, tags).map(lambda row: ((row[0],), *row)),
        min_size=1,
        max_size=6,
    )
)
@pytest.mark.slow
def test_it_is_the_definition_for_the_set_and_every_tag(rows: Any) -> None:
    said = [json.dumps(p[0]) if isinstance(p, tuple) else p for p, *_ in rows]
    wanted = [json.dumps(answer, indent=1) for _, answer, _ in rows]
    name = f"{NAME}:fields=a"
    result = evalkit.score(name, said, wanted, tags=[row[2] for row in rows])
    for tag, group in rows_by_group(rows).items():
        found = {each.metric: each for each in result.scores if each.tag == tag}
        for part, value in expected(group).items():
            score = found[name + part]
            assert score.value == (value if value is None else pytest.approx(value))
            assert score.n == len(group)


def parts(said: Any, wanted: Any, fields: str = "") -> dict[str, float | None]:
    name = f"{NAME}:fields={fields}" if fields else NAME
    result = evalkit.score(name, [said], [wanted])
    return {each.metric.removeprefix(name): each.value for each in result.scores}


@pytest.mark.parametrize(
    ("said", "wanted", "same", "fields"),
    [
        ('{"a": 1, "b": 2}', '{"b":2,"a":1.0}', 1, 1),
        ('{"a": true}', '{"a": 1}', 0, 0),
        ('{"a": null}', "{}", 0, 0),
        ("[1, 2]", "[2, 1]", 0, 0),
        ("[1, 2]", "[1]", 0, 2 / 3),
        ('{"a": {"b": [1, {"c": "x"}]}}', '{"a": {"b": [1, {"c": "y"}]}}', 0, 0.5),
        ('"x"', '"x"', 1, 1),
        ("{}", "{}", 1, 1),
        ("[]", "{}", 0, 0),
        ('{"a": "X"}', '{"a": "x"}', 0, 0),
        ('{"\u00e9": 1}', '{"\\u00e9": 1}', 1, 1),
        ("NaN", "1", 0, 0),
        ("```json\n{}\n```", "{}", 0, 0),
        ("", "{}", 0, 0),
        ("[" * 100_000, "{}", 0, 0),
        (None, "{}", 0, 0),
        ('{"a": 1, "a": 2}', '{"a": 2}', 1, 1),
        ('{"a": 1}', ['{"a": 2, "b": 3}', '{"a": 1, "b": 3}'], 0, 2 / 3),
        ('{"a": 1}', ["no JSON", '{"a": 1}'], 1, 1),
    ],
)
def test_single_cases(said: Any, wanted: Any, same: float, fields: float) -> None:
    found = parts(said, wanted)
    assert (found[""], found["#fields"]) == (same, pytest.approx(fields))


def test_the_order_of_acceptable_answers_changes_nothing() -> None:
    answers = ['{"a": 1, "b": 3}', '{"a": 2, "b": 2}', '{"c": 1}']
    one = parts('{"a": 1, "b": 2}', answers, "a")
    assert one == parts('{"a": 1, "b": 2}', answers[::-1], "a")


def test_an_answer_that_is_no_json_is_not_scored() -> None:
    result = evalkit.score(NAME, ["{}"] * 10, ["{"] + ["{}"] * 9)
    assert (result[NAME].value, result[NAME].n, result.status) == (1.0, 9, "partial")
    assert result.problems[0].reason == "no acceptable answer is JSON"


def test_the_main_score_has_wilsons_interval_and_the_others_the_deltas() -> None:
    said, wanted = ['{"a": 1, "b": 2}'] * 4, ['{"a": 1, "b": 2}'] * 3 + ['{"a": 1}']
    result = evalkit.score(NAME, said, wanted)
    assert result[NAME].ci == pytest.approx(share_interval(3, 4), abs=1e-12)
    assert result[f"{NAME}#fields"].ci_method == "delta"


class Document(BaseModel):
    uid: str


class Place(BaseModel):
    city: str
    year: int | None = None
    names: dict[str, str] = {}


class Extracted(BaseModel):
    id: str
    place: Place


class Extraction(evalkit.TaskIO):
    Input = Document
    Output = Extracted
    answer_field = "place"
    perf_metric = NAME
    example: Mapping[str, Any] = {"uid": "1"}


def evaluate(rows: list[dict[str, Any]]) -> Result:
    paris = {"city": "Paris", "year": 1889, "names": {"fr": "Tour", "de": "Turm"}}
    data = [{"uid": "1", "place": paris}, {"uid": "2", "place": {"city": "Rome"}}]
    name = f"{NAME}:fields=city/names"
    return evalkit.evaluate(
        data, rows, task=Extraction, metrics=[name], on_missing="wrong"
    )


def test_objects_of_a_task_are_compared_as_they_are() -> None:
    paris = {"city": "Paris", "year": 1888, "names": {"fr": "Tour", "en": "Tower"}}
    rows = [{"id": "1", "place": paris}, {"id": "2", "place": {"city": "Rome"}}]
    result = evaluate(rows)
    name = f"{NAME}:fields=city/names"
    assert result[name].value == 0.5
    # city, names.fr of 4 and 4; city, year and names of 3 and 3
    assert result[f"{name}#fields"].value == pytest.approx(2 * 5 / 14)
    assert result[f"{name}#city"].value == 1.0
    assert result[f"{name}#names"].value == 0.5


def test_a_missing_object_is_wrong() -> None:
    result = evaluate([{"id": "2", "place": {"city": "Rome"}}])
    name = f"{NAME}:fields=city/names"
    assert (result[name].value, result[f"{name}#valid"].value) == (0.5, 0.5)
    assert result[f"{name}#fields"].value == pytest.approx(2 * 3 / 10)
