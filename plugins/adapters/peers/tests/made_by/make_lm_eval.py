"""Writes `../lm_eval/`: samples that lm-evaluation-harness itself wrote, and its data.

Run once in an environment for each of the versions 0.4.1, 0.4.7 and 0.4.13 of `lm_eval`
(0.4.1 with `datasets==2.19.2`), offline; the last writes all files:

    HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 python make_lm_eval.py

The model is one that answers by rules; all else is the harness's own.
"""

import json
import math
import os
import re
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import evaluate

VERSION = version("lm_eval")
if VERSION == "0.4.1":  # it fetches this metric from the Hub as soon as it is imported
    evaluate.load = lambda _name: SimpleNamespace(compute=None)

from lm_eval.__main__ import cli_evaluate  # noqa: E402
from lm_eval.api.model import LM  # noqa: E402
from lm_eval.api.registry import register_model  # noqa: E402

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "lm_eval"
TASKS = HERE / "lm_eval_tasks"
NAMES = ("word_problems", "word_problems_repeated", "reviews")
OF_VERSIONS = ("numbers", "several")

ANSWERS = {
    "Ann": [" 8", " 7"],
    "Bob": [" So the answer is 5.", " 5"],
    "Two": [" 12", " 12"],
    "rope": [" 4", " It is 5."],
}


@register_model("rules")
class Rules(LM):
    """Answers that depend on the prompt alone, or on how often it came."""

    def __init__(self, **_kwargs: Any) -> None:
        super().__init__()
        self.asked: dict[str, int] = {}

    @classmethod
    def create_from_arg_string(cls, *_args: Any, **_kwargs: Any) -> "Rules":
        """Make one; it takes no arguments."""
        return cls()

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        """Return an answer to each prompt."""
        found = []
        for request in requests:
            prompt = request.args[0]
            word = next(word for word in ANSWERS if word in prompt)
            number = self.asked.get(prompt, 0)
            self.asked[prompt] = number + 1
            found.append(ANSWERS[word][number % 2])
        return found

    def loglikelihood(
        self, requests: Any, disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Return the log-likelihood of each continuation: positive for "like"."""
        found = []
        for request in requests:
            prompt, label = request.args[0], request.args[1].strip()
            if "the largest" in prompt or "the smallest" in prompt:
                value = -math.inf if "largest" in prompt else math.nan
                found.append((value, False))
                continue
            guess = "positive" if re.search("like|phone", prompt) else "negative"
            guess = "2" if "even" in prompt else guess
            found.append((-0.5 if label == guess else -2.25, label == guess))
        return found

    def loglikelihood_rolling(
        self, requests: Any, disable_tqdm: bool = False
    ) -> list[float]:
        """Return nothing: no task asks for it."""
        raise NotImplementedError


def main() -> None:
    """Evaluate the tasks, and keep the samples under names without a time."""
    TARGET.mkdir(exist_ok=True)
    os.chdir(TASKS)  # the tasks name their files from there
    is_last = VERSION == "0.4.13"
    names = (*OF_VERSIONS, *(NAMES if is_last else ()))
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = [
            "lm_eval",
            *(["run"] if is_last else []),
            *("--model", "rules"),
            *("--tasks", ",".join(names)),
            *("--include_path", str(TASKS)),
            "--log_samples",
            *("--output_path", folder),
        ]
        cli_evaluate()
        for name in names:
            pattern = re.compile(rf".*_{name}(_20[-T0-9.]+)?\.jsonl")
            [found] = [p for p in Path(folder).rglob("*") if pattern.match(p.name)]
            suffix = f"-{VERSION}" if name in OF_VERSIONS else ""
            shutil.copyfile(found, TARGET / f"samples_{name}{suffix}.jsonl")
        if is_last:
            [results] = Path(folder).rglob("results_*.json")
            scores = json.loads(results.read_text())["results"]
            kept = {name: scores[name] for name in NAMES}
            (TARGET / "results.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
