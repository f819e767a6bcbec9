"""Writes `../inspect/`: logs that Inspect itself wrote, as JSON and as an archive.

Run once in an environment for each of the versions 0.3.30, 0.3.100 and 0.3.285 of
`inspect_ai`; the last writes all files:

    python make_inspect.py

The logs are read and written again by Inspect without the events of each sample, which
are most of a log.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import inspect_ai
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import choice, match
from inspect_ai.solver import generate, multiple_choice, solver

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "inspect"

VERSION = inspect_ai.__version__

SAMPLES = [
    Sample(
        id="m1",
        input="Ann has 3 eggs and buys 5. How many eggs has she?",
        target="8",
        metadata={"operation": "add"},
    ),
    Sample(
        id="m2",
        input="Bob has 9 apples and eats 4. How many are left?",
        target="5",
        metadata={"operation": "subtract"},
    ),
    Sample(
        id="m3",
        input="Two boxes hold 6 pens each. How many pens?",
        target=["12", "twelve"],
        metadata={"operation": "multiply"},
    ),
]
ANSWERS = ["8", "So the answer is 5.", "13"]


QUESTIONS = [
    Sample(
        id=1,
        input=[ChatMessageUser(content="Which town is on the Seine?")],
        choices=["Rome", "Paris"],
        target="B",
        metadata={"subject": "rivers"},
    ),
    Sample(id=2, input="What is 2 + 2?", choices=["3", "4"], target="B"),
    Sample(id=3, input="Which are odd?", choices=["1", "2", "3"], target=["A", "C"]),
]
PARTS = ModelOutput.from_content("mockllm/model", "")
PARTS.choices[0].message = ChatMessageAssistant(
    content=[ContentText(text="I think"), ContentText(text="ANSWER: B")],
    source="generate",
)


@solver
def failing():
    """Fail at the second sample."""

    async def solve(state, _generate):
        if "2 + 2" in state.input_text:
            raise ValueError("no memory")
        return state

    return solve


def write(name: str, form: str, epochs: int) -> None:
    """Evaluate the samples with a model that answers in their order."""
    task = Task(dataset=SAMPLES, solver=generate(), scorer=match(), name="problems")
    answers = [ModelOutput.from_content("mockllm/model", each) for each in ANSWERS]
    evaluate(
        name, form, task, [each for each in answers for _ in range(epochs)], epochs
    )


def evaluate(
    name: str, form: str, task: Task, outputs: list[ModelOutput], epochs: int = 1
) -> None:
    """Write the log of a task under a name."""
    for output in outputs:
        # else Inspect fetches a tokeniser to count them
        output.usage = ModelUsage(input_tokens=9, output_tokens=3, total_tokens=12)
    with tempfile.TemporaryDirectory() as folder:
        eval(
            task,
            model=get_model("mockllm/model", custom_outputs=outputs),
            log_dir=folder,
            epochs=epochs,
            max_samples=1,
            fail_on_error=False,
            **({} if VERSION == "0.3.30" else {"log_format": form, "display": "none"}),
        )
        [log] = Path(folder).glob(f"*.{form}")
        found = read_eval_log(str(log))
        for sample in found.samples or []:
            has_events = "events" in type(sample).model_fields
            (sample if has_events else sample.transcript).events = []
            if sample.error:
                sample.error.traceback = sample.error.traceback_ansi = ""
        found.eval.revision = None  # of the repository that this script is in
        write_eval_log(found, str(TARGET / f"{name}.{form}"))


def main() -> None:
    """Write a log of each format, one of two epochs, and one of this version."""
    TARGET.mkdir(exist_ok=True)
    is_old = VERSION == "0.3.30"
    form = "json" if is_old else "eval"
    steps = {"plan" if is_old else "solver": [failing(), multiple_choice()]}
    task = Task(dataset=QUESTIONS, scorer=choice(), **steps)
    outputs = [PARTS, ModelOutput.from_content("mockllm/model", "I do not know.")]
    evaluate(f"questions-{VERSION}", form, task, outputs)
    if VERSION == "0.3.285":
        write("word_problems", "json", 1)
        write("word_problems", "eval", 1)
        write("two_epochs", "json", 2)


if __name__ == "__main__":
    main()
