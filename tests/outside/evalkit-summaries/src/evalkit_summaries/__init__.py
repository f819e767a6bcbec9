"""Summaries with several references, and ROUGE over them."""

import re
from pathlib import Path

from pydantic import BaseModel
from rouge_score.rouge_scorer import RougeScorer

import evalkit

FOLDER = Path(__file__).parent


class Reference(BaseModel):
    """A summary that somebody wrote: how good it is (1 to 3), and its tags."""

    text: str
    grade: int = 3
    tags: list[str] = []


class Document(BaseModel):
    uid: str
    document: str
    references: list[Reference]


class Summary(BaseModel):
    id: str
    summary: str


class Summaries(evalkit.TaskIO):
    """Say in one line what a text says."""

    Input = Document
    Output = Summary
    answer_field = "summary"
    answer_kind = "any-of"
    input_keys = ("document",)
    perturb_fields = ("document",)
    perf_metric = "graded-rouge"
    example = {
        "uid": "1",
        "document": "The bridge is closed until Friday.",
        "references": [
            {"text": "Bridge closed until Friday", "tags": ["style:headline"]}
        ],
    }

    def label_field_converter(self, example):
        texts = [reference["text"] for reference in example["references"]]
        return {"id": example["uid"], "answer": texts, "tags": example.get("tags", [])}


class Notices(evalkit.Dataset):
    """Eight notices from a small town's board."""

    name = "notices"
    task = "summaries"
    license = "CC0-1.0"
    languages = ("en", "de", "el", "fr")
    cluster = "place"

    def load(self, split):
        return FOLDER / "notices.jsonl"


class Words:
    """A tokenizer for rouge-score that keeps letters beyond ASCII."""

    def tokenize(self, text):
        return re.findall(r"\w+", text.casefold())


class Rouge(evalkit.Metric):
    """ROUGE-1, ROUGE-2 and ROUGE-L, each the F of the best reference.

    Only references of at least `least_grade` count, and with `tag` only those with it.
    Where the best summary is an empty one, only an empty one is right.
    """

    class Parameters(evalkit.Parameters):
        least_grade: int = 2
        tag: str | None = None

    unit = "%"
    scale = 100
    bounds = (0, 1)
    higher_is_better = True
    interval = "t"
    answer_kinds = ("any-of",)
    columns = ("references",)
    worst_value = 0.0
    scores = {
        "": {},
        "1": {},
        "2": {},
        "missed": {"higher_is_better": False, "worst_value": 1.0},
        "words": {
            "unit": "words",
            "scale": 1,
            "bounds": (0, None),
            "higher_is_better": None,
            "worst_value": None,
        },
    }
    _scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=Words())

    def score_example(self, prediction, fields):
        texts = self._choose(fields["references"])
        if not texts:
            return evalkit.NotScored(
                f"no reference of grade {self.parameters.least_grade}"
            )
        found = self._scorer.score_multi(texts, prediction)
        words = len(Words().tokenize(prediction))
        empty = float(words == 0 and not all(map(Words().tokenize, texts)))
        return {
            "": max(found["rougeL"].fmeasure, empty),
            "1": max(found["rouge1"].fmeasure, empty),
            "2": max(found["rouge2"].fmeasure, empty),
            "missed": 1 - max(found["rouge1"].recall, empty),
            "words": words,
        }

    def _choose(self, references):
        least, tag = self.parameters.least_grade, self.parameters.tag
        return [
            reference["text"]
            for reference in references
            if reference["grade"] >= least and (tag is None or tag in reference["tags"])
        ]
