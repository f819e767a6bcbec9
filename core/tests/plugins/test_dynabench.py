import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import BaseTaskIO, Violation
from evalkit.errors import DataError, SchemaError

DEMO = """
    from evalkit import BaseTaskIO

    data = {
        "uid": "id0",
        "context": "Old Trafford is a football stadium in Old Trafford.",
        "hypothesis": "There is no club football stadium in England.",
    }

    class TaskIO(BaseTaskIO):
        def __init__(self):
            BaseTaskIO.__init__(self, data)

        def verify_response(self, response):
            # required keys
            assert "id" in response and response["id"] == self.data["uid"]
            assert "pred" in response and isinstance(response["pred"], dict)
            assert "prob" in response, "prob must be in response"
"""
ASSERTIONS = [line.strip() for line in DEMO.splitlines() if "assert " in line]
YES, NO = {"label": "yes", "rank": 1}, {"label": "no", "rank": 1}


def example(uid: Any, answer: Any, *tags: str) -> dict[str, Any]:
    return {
        "uid": uid,
        "context": f"context {uid}",
        "hypothesis": "h",
        "answer": answer,
        "tags": list(tags),
    }


EXAMPLES = [
    example("id0", YES, "short"),
    example(1, NO, "short"),
    example("id2", YES),
    example("id3", NO),
]


class Demo(evalkit.Dataset):
    task = "demo"

    def __init__(self, rows: Any = EXAMPLES) -> None:
        super().__init__()
        self.rows = rows

    def load(self, split: str) -> Any:
        return self.rows


def get_share(predictions: list[Any], targets: list[Any]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(prediction == target for prediction, target in pairs) / len(targets)


def evaluate(predictions: Any, rows: Any = EXAMPLES, **options: Any) -> evalkit.Result:
    policies = {"on_missing": "skip", "on_invalid": "skip", **options}
    return evalkit.evaluate(Demo(rows), predictions, metrics=[get_share], **policies)


@pytest.fixture
def demo(fake_distribution: Any) -> None:
    fake_distribution(DEMO, {"evalkit.tasks": {"demo": "TaskIO"}}, name="demo-dist")


GOOD = [
    {"id": "id0", "pred": YES, "prob": {"yes": 1.0}},
    {"id": 1, "pred": YES, "prob": {"yes": 0.9}},
    {"id": "id2", "pred": {"rank": 1, "label": "yes"}, "prob": None, "signed": "x"},
    {"id": "id3", "pred": NO, "prob": 0.1},
]


@pytest.mark.usefixtures("demo")
def test_the_demo_of_dynabenchs_guide_scores_after_changing_only_its_import() -> None:
    result = evaluate(GOOD)
    assert result["share"].value == 0.75
    assert result["share"].n == 4
    by_tag = {score.tag: score.value for score in result.scores}
    assert by_tag == {None: 0.75, "short": 0.5, "(untagged)": 1.0}
    assert result.status == "complete"
    assert result.counts["scored"] == 4
    assert not [notice for notice in result.notices if "'pred'" in notice]


def test_its_file_names_the_task(tmp_path: Path) -> None:
    path = tmp_path / "my-task.py"
    path.write_text(textwrap.dedent(DEMO), encoding="utf-8")
    options = {"data": EXAMPLES, "task": f"{path}:TaskIO", "metrics": [get_share]}
    result = evalkit.evaluate(predictions=GOOD, **options)
    assert (result.task, result["share"].value) == ("my-task", 0.75)


@pytest.mark.usefixtures("demo")
def test_it_scores_from_files_of_examples_and_predictions_too(tmp_path: Path) -> None:
    files = tmp_path / "demo.jsonl", tmp_path / "model.jsonl"
    for path, rows in zip(files, (EXAMPLES, GOOD), strict=True):
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = evaluate(files[1], str(files[0]))
    assert result["share"].value == 0.75
    assert result.model == "model"


@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize(
    ("broken", "assertion", "message"),
    [
        ({"id": "id2", "prob": 1}, ASSERTIONS[1], ""),
        ({"id": "id2", "pred": "yes", "prob": 1}, ASSERTIONS[1], ""),
        ({"id": "id2", "pred": YES}, ASSERTIONS[2], " (prob must be in response)"),
    ],
)
@pytest.mark.slow
def test_a_failed_assertion_becomes_a_violation_that_quotes_it(
    broken: dict[str, Any], assertion: str, message: str
) -> None:
    result = evaluate([*GOOD[:2], broken, GOOD[3]])
    (problem,) = result.problems
    assert (problem.status, problem.line, problem.id) == ("invalid", 3, "id2")
    rule = f"`{assertion}` must hold{message}"
    assert problem.violations == (Violation("(response)", rule),)
    assert result["share"].n == 3
    assert result["share"].value == pytest.approx(2 / 3)


@pytest.mark.usefixtures("demo")
def test_each_response_is_checked_against_its_own_example_in_any_order() -> None:
    assert evaluate(GOOD[::-1]).counts["scored"] == 4


@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize("key", ["context", "hypothesis"])
def test_the_keys_of_the_input_handed_over_are_required(key: str) -> None:
    rows = [EXAMPLES[0], {k: v for k, v in EXAMPLES[1].items() if k != key}]
    with pytest.raises(SchemaError) as caught:
        evaluate(GOOD, rows)
    assert f"example 2 (uid '1'): {key}: is required" in str(caught.value)


@pytest.mark.usefixtures("demo")
def test_an_example_without_answer_is_named() -> None:
    rows = [EXAMPLES[0], {**EXAMPLES[1], "other": 1}]
    del rows[1]["answer"]
    with pytest.raises(DataError) as caught:
        evaluate(GOOD, rows)
    message = str(caught.value)
    assert "example 2 (uid '1'): answer" in message
    assert "label_field_converter of tasks/demo (demo-dist 1.2.3)): is req" in message


def with_verify(fake_distribution: Any, body: str, arguments: str = "response") -> None:
    code = f"""
    import evalkit

    class TaskIO(evalkit.BaseTaskIO):
        def __init__(self):
            super().__init__([{{"uid": "1", "text": "a"}}, {{"uid": "2", "text": "b"}}])

        def verify_response(self, {arguments}):
            {body}
    """
    fake_distribution(code, {"evalkit.tasks": {"demo": "TaskIO"}}, name="own-dist")


ROWS = [{"uid": "1", "text": "ab", "label": "x"}]


@pytest.mark.parametrize(
    "arguments", ["response, data", "response, example", "response, foo=None"]
)
def test_the_example_may_be_an_argument_too(
    fake_distribution: Any, arguments: str
) -> None:
    name = arguments.split()[1].partition("=")[0]
    body = f"assert {name}['text'] == self.data['text'] == 'ab' != response['label']"
    with_verify(fake_distribution, body, arguments)
    assert evaluate([{"id": "1", "label": "x"}], ROWS)["share"].value == 1.0
    (problem,) = evaluate([{"id": "1", "label": "ab"}], ROWS).problems[:1]
    assert problem.violations == (Violation("(response)", f"`{body}` must hold"),)


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("response['prob']['x']", "KeyError: 'prob'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_any_other_exception_is_a_violation_too(
    fake_distribution: Any, body: str, cause: str
) -> None:
    with_verify(fake_distribution, body)
    (problem,) = evaluate([{"id": "1", "label": "x"}], ROWS).problems
    rule = f"`{body}` must not raise {cause}"
    assert problem.violations == (Violation("(response)", rule),)


def test_violations_may_be_returned(fake_distribution: Any) -> None:
    with_verify(fake_distribution, "return [evalkit.Violation('label', 'is x', 1)]")
    (problem,) = evaluate([{"id": "1", "label": "x"}], ROWS).problems
    assert problem.violations == (Violation("label", "is x", 1),)


@pytest.mark.parametrize("key", ["label", "answer", "pred", "target"])
def test_the_prediction_is_found_under_any_of_dynabenchs_keys(
    fake_distribution: Any, key: str
) -> None:
    with_verify(fake_distribution, "pass")
    result = evaluate([{"id": "1", key: "x"}], ROWS)
    assert result["share"].value == 1.0


def test_a_response_without_any_of_them_is_invalid(fake_distribution: Any) -> None:
    with_verify(fake_distribution, "pass")
    (problem,) = evaluate([{"id": "1", "translation": "x"}], ROWS).problems
    (violation,) = problem.violations
    assert "one of the keys label, answer, pred, target" in violation.rule


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, {"uid": "example"}),
        ({"uid": "7", "text": "x"}, {"uid": "7", "text": "x"}),
        ([{"uid": "7"}, {"uid": "8", "text": "y"}], {"uid": "7"}),
        ([], {"uid": "example"}),
    ],
)
def test_the_first_input_is_the_example(data: Any, expected: dict[str, Any]) -> None:
    task = BaseTaskIO(data)
    assert task.example == expected
    assert set(task.Input.model_fields) == {"uid", *expected}
    assert task.data == (expected if data is None else data)


def test_a_subclass_without_checks_of_its_own_has_those_of_its_parent(
    fake_distribution: Any,
) -> None:
    code = DEMO + "\n    class Child(TaskIO):\n        pass\n"
    fake_distribution(code, {"evalkit.tasks": {"demo": "Child"}})
    statuses: Sequence[str] = [
        problem.status for problem in evaluate([{"id": "id0", "pred": 1}]).problems
    ]
    assert statuses == ["invalid", "missing", "missing", "missing"]


def test_a_subclass_may_call_its_parents_check(fake_distribution: Any) -> None:
    code = f"""{DEMO}
    class Child(TaskIO):
        def verify_response(self, response):
            super().verify_response(response)
            assert response["pred"]["rank"] == 1
    """
    fake_distribution(code, {"evalkit.tasks": {"demo": "Child"}})
    third = {**GOOD[2], "pred": {"rank": 2}}
    problems = evaluate([GOOD[0], {"id": 1}, third, GOOD[3]]).problems
    assert [problem.violations[0].rule for problem in problems] == [
        f"`{ASSERTIONS[1]}` must hold",
        '`assert response["pred"]["rank"] == 1` must hold',
    ]
