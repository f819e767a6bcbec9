"""Violations of the laws of tasks."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

TASK = "hookspecs.TaskIOAttributes"
TASK_HOOKS = "hookspecs.TaskIOSpec"

VIOLATIONS = (
    Violation(
        "tasks-01",
        "tasks/nli",
        "`example` is one valid input",
        TASK,
        (
            change(
                "nli.py",
                '        "hypothesis": "No club football stadium in England '
                'is larger.",\n',
                "",
            ),
        ),
    ),
    Violation(
        "tasks-02",
        "tasks/regression",
        "`perf_metric` names a metric that takes the task's answers",
        TASK,
        (change("regression.py", 'perf_metric = "mae"', 'perf_metric = "mean-error"'),),
    ),
    Violation(
        "tasks-04",
        "tasks/qa",
        "`verify_response` only looks: it changes no response",
        f"{TASK_HOOKS}.verify_response",
        (change("qa.py", 'response.get("answer")', 'response.pop("answer", None)'),),
    ),
    Violation(
        "tasks-05",
        "tasks/qa",
        "what `verify_response` raises beside an assertion ends the evaluation: a "
        "response may lack what `Output` does not require",
        f"{TASK_HOOKS}.verify_response",
        (
            change(
                "qa.py",
                'answer = response.get("answer")',
                'answer = response["conf"] and response.get("answer")',
            ),
        ),
    ),
    Violation(
        "tasks-06",
        "tasks/rating",
        "the id of a response is `id`",
        TASK,
        (
            change(
                "rating.py",
                '{"id": "id", "pred": "rating"}',
                '{"id": "uid", "pred": "rating"}',
            ),
        ),
    ),
    Violation(
        "tasks-07",
        "tasks/rating",
        "`adapt_response` must not change the response that it is given",
        "hookspecs.DatasetSpec.adapt_response",
        (
            change(
                "rating.py",
                "given = {key: value for key, value in response.items() "
                'if key != "ratings"}\n',
                "given = response\n",
            ),
            change(
                "rating.py",
                'for each in response["ratings"] if each',
                'for each in response.pop("ratings") if each',
            ),
        ),
    ),
    Violation(
        "tasks-08",
        "tasks/multiple-choice",
        "`label_field_converter` returns `id`, `answer` and `tags`, and no other key",
        "hookspecs.DatasetSpec.label_field_converter",
        (
            change(
                "multiple_choice.py",
                '"answer": answer, "tags": example.get("tags")}',
                '"answer": answer, "tags": example.get("tags"), "cluster": None}',
            ),
        ),
    ),
    Violation(
        "tasks-09",
        "tasks/qa",
        "nothing is kept from one response to the next: each is judged by itself",
        f"{TASK_HOOKS}.verify_response",
        (
            change(
                "qa.py",
                '        answer = response.get("answer")\n',
                '        answer = response.get("answer")\n'
                '        if response.get("id") in _SEEN:\n'
                '            return [Violation("id", "is there twice", '
                'response["id"])]\n'
                '        _SEEN.add(response.get("id"))\n',
            ),
            change(
                "qa.py",
                "class QuestionInput(InputRow):",
                "_SEEN: set[Any] = set()\n\n\nclass QuestionInput(InputRow):",
            ),
        ),
    ),
    Violation(
        "tasks-10",
        "tasks/qa",
        "`verify_response` returns violations",
        f"{TASK_HOOKS}.verify_response",
        (
            change(
                "qa.py",
                'Violation("answer", "must be a part of the context", answer)',
                '"answer must be a part of the context"',
            ),
        ),
    ),
)
