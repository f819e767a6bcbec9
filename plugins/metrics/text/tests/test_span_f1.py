from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from row_groups import rows_by_group
from scipy.optimize import linear_sum_assignment

import evalkit
from evalkit import MetricError, Result
from evalkit_metrics_text.span_f1 import count_overlapping

NAME = "span-f1"
Span = dict[str, Any]


def span(start: int, end: int, label: str | None = "x") -> Span:
    return {"start": start, "end": end, "label": label}


spans = st.lists(
    st.builds(
        lambda start, length, label: span(start, start + length, label),
        st.integers(0, 5),
        st.integers(0, 4),
        st.sampled_from(["x", "y", None]),
    ),
    max_size=4,
)
tags = st.lists(st.sampled_from(["t", "u:v"]), unique=True)
Rows = list[tuple[list[Span] | None, list[Span], list[str]]]


def credit_of(one: Span, other: Span) -> float:
    if one["label"] != other["label"]:
        return 0.0
    if one == other:
        return 1.0
    shared = {*range(one["start"], one["end"])} & {*range(other["start"], other["end"])}
    return 0.5 if shared else 0.0


def best_pairing(found: list[Span], wanted: list[Span], partial: bool) -> float:
    """Return the greatest credit of all ways to pair spans."""
    credits = np.array([[credit_of(f, w) for w in wanted] for f in found])
    if not credits.size:
        return 0.0
    if not partial:
        credits = np.floor(credits)
    return float(credits[linear_sum_assignment(-credits)].sum())


def expected_f1(rows: list[tuple[Any, Any]], partial: bool = False) -> float:
    credit = sum(best_pairing(found or [], wanted, partial) for found, wanted in rows)
    total = sum(
        len(wanted) + (len(found) if found is not None else not wanted)
        for found, wanted in rows
    )
    return 2 * credit / total if total else 1.0


def of_type(name: str | None, rows: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return [
        tuple([one for one in part or [] if one["label"] == name] for part in row)
        for row in rows
    ]


def score(rows: list[tuple[Any, Any]], **options: Any) -> Result:
    predictions, targets = ([row[side] for row in rows] for side in (0, 1))
    return evalkit.score(NAME, predictions, targets, answer_kind="spans", **options)


@given(rows=st.lists(st.tuples(st.none() | spans, spans, tags), min_size=1, max_size=6))
@pytest.mark.slow
def test_it_is_the_definition_for_the_set_and_every_tag(rows: Rows) -> None:
    pairs = [row[:2] for row in rows]
    result = score(pairs, tags=[row[2] for row in rows])
    for tag, group in rows_by_group(rows).items():
        found = {each.metric: each for each in result.scores if each.tag == tag}
        assert found[NAME].value == pytest.approx(expected_f1(group), abs=1e-12)
        assert found[NAME].n == len(group)
        partial = expected_f1(group, partial=True)
        assert found[f"{NAME}#partial"].value == pytest.approx(partial, abs=1e-12)
        for name in ("x", "y"):
            part = of_type(name, group)
            if any(found or wanted for found, wanted in part):
                value = found[f"{NAME}#{name}"].value
                assert value == pytest.approx(expected_f1(part), abs=1e-12)
            else:
                assert f"{NAME}#{name}" not in found or (
                    found[f"{NAME}#{name}"].value is None
                )


places = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3)).map(lambda s: (s[0], sum(s))),
    max_size=6,
)


@given(found=places, wanted=places)
def test_the_most_pairs_are_found(found: Any, wanted: Any) -> None:
    def overlap(one: Any, other: Any) -> bool:
        return bool({*range(*one)} & {*range(*other)})

    pairs = np.array([[overlap(f, w) for w in wanted] for f in found], dtype=float)
    most = pairs[linear_sum_assignment(-pairs)].sum() if pairs.size else 0
    assert count_overlapping(found, wanted) == most


def test_precision_and_recall() -> None:
    rows = [([span(0, 3), span(5, 6)], [span(0, 3)]), ([], [span(1, 2)])]
    result = score(rows)
    assert result[f"{NAME}#precision"].value == 0.5
    assert result[f"{NAME}#recall"].value == 0.5
    nothing = score([([], [span(1, 2)])])
    assert nothing[f"{NAME}#precision"].reason == "no span was predicted"
    assert nothing[NAME].value == 0.0
    invented = score([([span(1, 2)], [])])
    assert invented[f"{NAME}#recall"].reason == "no answer has a span"
    assert invented[NAME].value == 0.0


def test_texts_without_spans_are_right_and_the_score_says_so() -> None:
    found = score([([], []), ([], [])])[NAME]
    assert (found.value, found.n) == (1.0, 2)
    assert "no answer and no prediction has a span" in (found.flag or "")


@pytest.mark.parametrize("target", [[], [span(0, 1)]])
def test_a_missing_prediction_is_never_right(target: list[Span]) -> None:
    found = score([(None, target)])[NAME]
    assert (found.value, found.n) == (0.0, 1)


def test_fields_may_have_other_names() -> None:
    given = [{"from": 0, "to": 2, "kind": "x"}]
    name = f"{NAME}:start=from,end=to,label=kind"
    found = evalkit.score(name, [given], [given], answer_kind="spans")
    assert found.headline.value == 1.0
    with pytest.raises(MetricError, match="must have the fields 'start' and 'end'"):
        score([(given, given)])


class Text(BaseModel):
    uid: str


class Entity(BaseModel):
    start: int
    end: int
    label: str = "person"


class Entities(BaseModel):
    id: str
    entities: list[Entity]


class Recognition(evalkit.TaskIO):
    Input = Text
    Output = Entities
    answer_field = "entities"
    answer_kind = "spans"
    perf_metric = NAME
    example: Mapping[str, Any] = {"uid": "1"}


def test_a_task_says_what_spans_are() -> None:
    ann = {"start": 0, "end": 3}
    data = [{"uid": "1", "entities": [ann]}, {"uid": "2", "entities": []}]
    rows = [{"id": "1", "entities": [{**ann, "label": "person"}]}]
    result = evalkit.evaluate(data, rows, task=Recognition, on_missing="wrong")
    assert result[NAME].value == pytest.approx(2 / 3)
    assert result[f"{NAME}#person"].value == 1.0


tagged = st.lists(
    st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B", "E-A", "S-B", "B", "I"]),
    min_size=1,
    max_size=6,
)


@given(pairs=st.lists(st.tuples(tagged, tagged), min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore:.*seems not to be NE tag", "ignore:.*ill-defined")
@pytest.mark.slow
def test_tags_are_read_as_seqeval_reads_them(
    pairs: list[tuple[list[str], list[str]]],
) -> None:
    from seqeval.metrics import classification_report

    said = [one[: len(other)] for one, other in pairs]
    gold = [other[: len(one)] for one, other in pairs]
    found = evalkit.score(NAME, said, gold, answer_kind="spans")
    if found[NAME].flag is not None:
        return  # without any span seqeval gives 0
    report = classification_report(gold, said, output_dict=True)
    whole = report.pop("micro avg")
    assert found[NAME].value == pytest.approx(whole["f1-score"])
    for part in ("precision", "recall"):
        if (value := found[f"{NAME}#{part}"].value) is not None:
            assert value == pytest.approx(whole[part])
    for label in {"A", "B"} & {*report}:
        value = found[f"{NAME}#{label}"].value
        assert value == pytest.approx(report[label]["f1-score"])


def test_a_task_may_answer_with_tags() -> None:
    class Text(BaseModel):
        uid: str

    class Tags(BaseModel):
        id: str
        tags: list[str]

    class Tagging(evalkit.TaskIO):
        Input = Text
        Output = Tags
        answer_field = "tags"
        answer_kind = "spans"
        perf_metric = NAME
        example: ClassVar[Mapping[str, Any]] = {"uid": "1"}

    data = [
        {"uid": "1", "tags": ["B-A", "I-A", "O", "B-B"]},
        {"uid": "2", "tags": ["O"]},
    ]
    said = [{"id": "1", "tags": ["I-A", "I-A", "O", "B-A"]}, {"id": "2", "tags": ["O"]}]
    found = evalkit.evaluate(data=data, predictions=said, task=Tagging)
    assert found[NAME].value == 0.5
    said[1]["tags"] = ["O", "O"]
    longer = evalkit.evaluate(data=data, predictions=said, task=Tagging)
    assert "2 tags, expected 1" in f"{longer.notices}"
    said[1]["tags"] = ["PER"]
    broken = evalkit.evaluate(data=data, predictions=said, task=Tagging)
    assert "expected a tag such as B-PER, I-PER or O, got 'PER'" in broken.errors[0]
