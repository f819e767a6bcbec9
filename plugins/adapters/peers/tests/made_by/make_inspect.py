"""Writes `../inspect/questions-VERSION`: a log that Inspect itself wrote.

Run once in an environment for each of the versions 0.3.30, 0.3.100 and 0.3.285 of
`inspect_ai`:

    python make_inspect.py

The log is read and written again by Inspect without the events of each sample, which
are most of a log. `word_problems` and `two_epochs` were made so with 0.3.285, of three
samples and the scorer `match`.
"""

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
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice, solver

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "inspect"

VERSION = inspect_ai.__version__

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


def main() -> None:
    """Write the log of this version."""
    TARGET.mkdir(exist_ok=True)
    is_old = VERSION == "0.3.30"
    form = "json" if is_old else "eval"
    steps = {"plan" if is_old else "solver": [failing(), multiple_choice()]}
    outputs = [PARTS, ModelOutput.from_content("mockllm/model", "I do not know.")]
    for output in outputs:
        # else Inspect fetches a tokeniser to count them
        output.usage = ModelUsage(input_tokens=9, output_tokens=3, total_tokens=12)
    with tempfile.TemporaryDirectory() as folder:
        eval(
            Task(dataset=QUESTIONS, scorer=choice(), **steps),
            model=get_model("mockllm/model", custom_outputs=outputs),
            log_dir=folder,
            max_samples=1,
            fail_on_error=False,
            **({} if is_old else {"log_format": form, "display": "none"}),
        )
        [log] = Path(folder).glob(f"*.{form}")
        found = read_eval_log(str(log))
        for sample in found.samples or []:
            has_events = "events" in type(sample).model_fields
            (sample if has_events else sample.transcript).events = []
            if sample.error:
                sample.error.traceback = sample.error.traceback_ansi = ""
        found.eval.revision = None  # of the repository that this script is in
        write_eval_log(found, str(TARGET / f"questions-{VERSION}.{form}"))


if __name__ == "__main__":
    main()
