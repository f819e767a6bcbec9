"""Named entities as spans of a text, and their F1."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

import evalkit

FOLDER = Path(__file__).parent


class Text(BaseModel):
    uid: str
    text: str


class Span(BaseModel):
    start: int
    end: int
    label: Literal["person", "place"]


class Found(BaseModel):
    id: str
    entities: list[Span]


class NamedEntities(evalkit.TaskIO):
    """Find the people and places that a text names.

    Spans count Unicode code points, and `end` is the place behind the last one. A model
    may also answer `{"offsets": [[start, length, label], …], "encoding": "utf-16"}`, in
    bytes of `utf-8` or in code units of `utf-16`.
    """

    Input = Text
    Output = Found
    answer_field = "entities"
    answer_kind = "spans"
    perf_metric = "entity-f1"
    perturb_fields = ()
    example = {"uid": "1", "text": "Ann left for Oslo."}

    def adapt_response(self, response, row):
        if "offsets" not in response:
            return response
        if isinstance(response["offsets"], str):
            return evalkit.Unparsed("offsets are a text")
        encoding = response.get("encoding", "utf-8")
        entities = [
            _read_span(row["text"], start, length, label, encoding)
            for start, length, label in response["offsets"]
        ]
        return {"id": response["id"], "entities": entities}

    def verify_response(self, response, example):
        length = len(example["text"])
        said = [
            (span["start"], span["end"], span["label"]) for span in response["entities"]
        ]
        rule = f"each must lie in the text, 0 <= start < end <= {length}"
        wrong = [span for span in said if not 0 <= span[0] < span[1] <= length]
        violations = [evalkit.Violation("entities", rule, span) for span in wrong]
        if len(set(said)) < len(said):
            violations.append(
                evalkit.Violation("entities", "none may come twice", said)
            )
        return violations


WIDTHS = {"utf-8": 1, "utf-16": 2}


def _read_span(text, start, length, label, encoding):
    coded = text.encode(encoding + "-le" if encoding == "utf-16" else encoding)
    width = WIDTHS[encoding]
    codec = "utf-16-le" if encoding == "utf-16" else encoding
    before = coded[: start * width].decode(codec)
    inside = coded[start * width : (start + length) * width].decode(codec)
    return {"start": len(before), "end": len(before) + len(inside), "label": label}


class Postcards(evalkit.Dataset):
    """Nine lines from postcards, four of them without a name."""

    name = "postcards"
    task = "named-entities"
    license = "CC0-1.0"
    languages = ("en", "de", "el", "fr")

    def label_field_converter(self, example):
        some = "some" if example["entities"] else "none"
        tags = [*example["tags"], f"entities:{some}"]
        return {"id": example["uid"], "answer": example["entities"], "tags": tags}

    def load(self, split):
        return FOLDER / "postcards.jsonl"


class EntityF1(evalkit.Metric):
    """Micro F1 of spans, with precision and recall: all three of exact matches."""

    unit = "%"
    scale = 100
    bounds = (0, 1)
    higher_is_better = True
    interval = "delta"
    answer_kinds = ("spans",)
    accepts_no_prediction = True
    scores = {"": {}, "precision": {}, "recall": {}}

    def example_statistics(self, prediction, target):
        gold = {_make_key(span) for span in target}
        if prediction is None:  # unlike an empty list, it is wrong of any text
            return {"right": 0, "said": 1, "gold": len(gold)}
        said = {_make_key(span) for span in prediction}
        return {"right": len(said & gold), "said": len(said), "gold": len(gold)}

    def finalize(self, sums):
        right, said, gold = sums["right"], sums["said"], sums["gold"]
        return {
            "": _divide(
                2 * right, said + gold, "no entities in answers or predictions"
            ),
            "precision": _divide(right, said, "no entities in predictions"),
            "recall": _divide(right, gold, "no entities in answers"),
        }


def _make_key(span):
    return span["start"], span["end"], span["label"]


def _divide(part, whole, reason):
    return part / whole if whole else evalkit.NotScored(reason)
