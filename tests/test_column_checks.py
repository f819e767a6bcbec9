import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit.base.label_fields import SUM_TOLERANCE
from evalkit.examples.table import load_examples
from evalkit.plugins.components import Component
from evalkit.plugins.registry import Registry, bind
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.json_lines import read_json_blocks
from evalkit_tasks_text.nli import Nli

LABEL_TASKS = ("nli", "hs", "sentiment", "text-classification")


def make_reader(task: str, labels: Sequence[str] = ("x", "y")) -> ResponseReader:
    class Data(evalkit.Dataset):
        name = "data"

        def load(self, split: str) -> list[dict[str, Any]]:
            row = dict(bound_task.attributes["example"])
            answer = bound_task.attributes["answer_field"]
            return [
                {**row, answer: next(iter(bound_task.attributes["labels"] or labels))}
            ]

    Data.task = task
    if task == "text-classification":
        Data.labels = tuple(labels)
    resolver = Resolver(Registry())
    dataset = resolver.dataset(Data)
    bound_task = resolver.task(dataset)
    return ResponseReader(
        bound_task, dataset, load_examples(dataset, bound_task, "test")
    )


@pytest.mark.parametrize("task", [*LABEL_TASKS, "math-qa"])
def test_responses_of_the_task_are_read_as_columns(task: str) -> None:
    assert make_reader(task).plan is not None


def test_answers_that_depend_on_the_example_are_read_one_by_one() -> None:
    assert make_reader("qa").plan is None


def test_a_subclass_with_a_rule_of_its_own_is_read_one_by_one() -> None:
    class Stricter(Nli):
        def verify_response(
            self, response: Mapping[str, Any], labels: Sequence[str] | None
        ) -> list[evalkit.Violation]:
            return [evalkit.Violation("label", "is never right")]

    task = bind(Component("tasks", "nli", "m:T", "d", "1"), Stricter)
    dataset = Resolver(Registry()).dataset("sample-nli")
    reader = ResponseReader(task, dataset, load_examples(dataset, task, "test"))
    assert reader.plan is None


LABELS = Nli.labels
NUMBERS = st.one_of(
    st.floats(-0.01, 1.01),
    st.sampled_from([0, 1, 0.0, 1.0, 1 / 3, 0.3333, 0.5, 0.001, 1e-10, 1 + 1e-10]),
)


@st.composite
def near_one(draw: st.DrawFn) -> dict[str, Any]:
    first = draw(st.floats(0, 1))
    second = draw(st.floats(0, 1)) * (1 - first)
    off = draw(
        st.sampled_from(
            [0, 1e-4, -1e-4, SUM_TOLERANCE, -SUM_TOLERANCE, 0.00101, -0.0011]
        )
    )
    return dict(zip(LABELS, (first, second, 1 - first - second + off), strict=True))


PROBS = st.one_of(
    st.none(),
    near_one(),
    st.fixed_dictionaries({label: NUMBERS for label in LABELS}),
    st.dictionaries(st.sampled_from([*LABELS, "other"]), NUMBERS | st.none()),
    st.fixed_dictionaries({**{label: NUMBERS for label in LABELS}, "more": NUMBERS}),
)
RESPONSES = st.fixed_dictionaries(
    {"label": st.sampled_from([*LABELS, "Neutral", "", "other"])},
    optional={"prob": PROBS},
)


def _is_near_the_limit(prob: Any) -> bool:
    """Tell whether rounding decides about the sum or the bounds."""
    numbers = list((prob or {}).values())
    if None in numbers or len(numbers) != len(LABELS):
        return False
    off = abs(abs(math.fsum(numbers) - 1) - SUM_TOLERANCE)
    return off < 1e-8 or any(-1e-8 < p < 0 or 1 < p < 1 + 1e-8 for p in numbers)


@given(responses=st.lists(RESPONSES, min_size=1, max_size=30))
@pytest.mark.slow
def test_a_whole_block_is_judged_like_its_rows(
    tmp_path_factory: pytest.TempPathFactory, responses: list[dict[str, Any]]
) -> None:
    reader = make_reader("nli")
    assert reader.plan is not None
    path = tmp_path_factory.getbasetemp() / "block.jsonl"
    path.write_text(
        "".join(json.dumps({"id": "nli-1", **row}) + "\n" for row in responses),
        encoding="utf-8",
    )
    seen = 0
    rows = [{"id": "nli-1", **row} for row in responses]
    results = [reader.read(row, "nli-1", 0) for row in rows]
    for block in read_json_blocks(path, reader.plan):
        seen += len(block.lines) + sum(1 for _ in block.rows)
        if not block.frame.height:
            continue
        accepted = reader.accept(block.frame)
        converted = reader.convert(block.frame.filter(accepted))
        for line in block.lines[(~accepted).to_numpy()]:
            prob = responses[int(line) - 1].get("prob")
            assert results[int(line) - 1][2] or _is_near_the_limit(prob)
        for index, place in enumerate(accepted.arg_true()):
            prediction, fields, violations = results[int(block.lines[place]) - 1]
            assert violations == ()
            assert converted["prediction"][index] == prediction
            assert converted["field prob"][index] == fields["prob"]
    assert seen == len(responses)


ORDINARY: dict[str, Iterable[dict[str, Any]]] = {
    "labels": ({"label": label} for label in LABELS),
    "probabilities": (
        {"label": label, "prob": {label: float(label == other) for label in LABELS}}
        for other in LABELS
        for label in LABELS
    ),
    "sometimes none": [
        {"label": "neutral", "prob": None},
        {"label": "neutral", "prob": dict.fromkeys(LABELS, 1 / 3)},
    ],
}


@pytest.mark.parametrize("rows", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_responses_are_all_accepted(
    tmp_path: Path, rows: Iterable[dict[str, Any]]
) -> None:
    reader = make_reader("nli")
    path = tmp_path / "p.jsonl"
    path.write_text(
        "".join(json.dumps({"id": 1, **row}) + "\n" for row in rows), encoding="utf-8"
    )
    (block,) = read_json_blocks(path, reader.plan)
    assert list(block.rows) == []
    assert reader.accept(block.frame).all()
