"""GSM8K, read from the publisher's own file."""

from __future__ import annotations

from typing import Any

from evalkit import Dataset, Source
from evalkit_datasets_gsm8k.given_answers import GivenAnswer
from evalkit_datasets_gsm8k.publisher import read_problems

FILE = "test.jsonl"


class Gsm8k(Dataset):
    """1 319 word problems of grade school mathematics.

    Scored is the final answer alone: the text after the last `A:` or `####` of the
    response. A response without one is unparsed, which counts as wrong.
    """

    name = "gsm8k"
    task = "math-qa"
    # the share of solved problems, which the paper calls the test solve rate
    perf_metric = "exact-match"
    version = "1"
    license = "MIT"
    source_url = "https://github.com/openai/grade-school-math"
    languages = ("en",)
    description = "Word problems of grade school mathematics"
    citation = """@article{cobbe-etal-2021-gsm8k,
  title = {Training Verifiers to Solve Math Word Problems},
  author = {Cobbe, Karl and Kosaraju, Vineet and Bavarian, Mohammad and Chen, Mark and
            Jun, Heewoo and Kaiser, Lukasz and Plappert, Matthias and Tworek, Jerry and
            Hilton, Jacob and Nakano, Reiichiro and Hesse, Christopher and Schulman,
            John},
  journal = {arXiv preprint arXiv:2110.14168},
  year = {2021}
}"""
    sources = {
        FILE: Source(
            url="https://raw.githubusercontent.com/openai/grade-school-math/master/"
            "grade_school_math/data/test.jsonl",
            sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
            license="MIT",
            citation=citation,
        )
    }
    label_field_converter = {
        "id": "uid",
        "answer": "answer",
        "tags": {"steps": "steps"},
    }

    extract = ({"kind": GivenAnswer},)

    def load(self, split: str) -> list[dict[str, Any]]:
        """Read the problems; the id is the number of the line."""
        return read_problems(self.file(FILE))
