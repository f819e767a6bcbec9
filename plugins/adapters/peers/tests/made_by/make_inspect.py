"""Writes `../inspect/`: logs that Inspect itself wrote, as JSON and as an archive.

Run once, in an environment of its own (`pip install inspect_ai==0.3.285`):

    python make_inspect.py

The logs are read and written again by Inspect without the events of each sample, which
are most of a log.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "inspect"

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


def write(name: str, form: str, epochs: int) -> None:
    """Evaluate the samples with a model that answers in their order."""
    outputs = []
    for answer in ANSWERS:
        for _ in range(epochs):
            output = ModelOutput.from_content("mockllm/model", answer)
            # else Inspect fetches a tokeniser to count them
            output.usage = ModelUsage(input_tokens=9, output_tokens=3, total_tokens=12)
            outputs.append(output)
    with tempfile.TemporaryDirectory() as folder:
        eval(
            Task(dataset=SAMPLES, scorer=match(), name="word_problems"),
            model=get_model("mockllm/model", custom_outputs=outputs),
            log_dir=folder,
            log_format=form,
            epochs=epochs,
            max_samples=1,
            display="none",
        )
        [log] = Path(folder).glob(f"*.{form}")
        found = read_eval_log(str(log))
        for sample in found.samples or []:
            sample.events = []
        found.eval.revision = None  # of the repository that this script is in
        write_eval_log(found, str(TARGET / f"{name}.{form}"))


def main() -> None:
    """Write a log of each format, and one of two epochs."""
    TARGET.mkdir(exist_ok=True)
    write("word_problems", "json", 1)
    write("word_problems", "eval", 1)
    write("two_epochs", "json", 2)


if __name__ == "__main__":
    main()
