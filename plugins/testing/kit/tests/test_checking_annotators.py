"""`check_annotator` passes sound annotators, and names the law that others break."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import evalkit
from evalkit_testing import ANNOTATOR_LAWS, AnnotatorLawError, check_annotator

EXAMPLES = [
    ("a", "a", {"statement": "one"}),
    ("b", "a", {"statement": "two words"}),
    ("a", "b", {"statement": "three more words", "other": 1}),
]


class Words(evalkit.Annotator):
    version = "1"
    reads = ("statement",)
    pause = 0.0
    retries = 1

    def annotate_example(self, prediction: str, fields: Mapping[str, Any]) -> Any:
        return self.said(fields["statement"].split())

    def said(self, words: Sequence[str]) -> Any:
        return len(words)


class Batched(evalkit.Annotator):
    version = "1"
    columns = ("same", "why")
    batch_rows = 2

    def annotate_batch(self, predictions: list[str], targets: list[str]) -> list[Any]:
        return [
            evalkit.NotScored("b") if target == "b" else {"same": p == "a", "why": p}
            for p, target in zip(predictions, targets, strict=True)
        ]


class Bug(Words):
    def said(self, words: Sequence[str]) -> Any:
        return 1 / (len(words) - 2)


class Busy(Words):
    def said(self, words: Sequence[str]) -> Any:
        raise evalkit.TryAgain("busy")


class Mixed(Words):
    def said(self, words: Sequence[str]) -> Any:
        return len(words) if len(words) < 3 else "many"


class Random(Words):
    def said(self, words: Sequence[str]) -> Any:
        return random.random()


class Counts(Words):
    def __init__(self) -> None:
        super().__init__()
        self._asked = 0

    def said(self, words: Sequence[str]) -> Any:
        self._asked += 1
        return self._asked


class Named(Words):
    def said(self, words: Sequence[str]) -> Any:
        return str(id(self))


class Place(Batched):
    batch_rows = 9

    def annotate_batch(self, predictions: list[str], targets: list[str]) -> list[Any]:
        return [{"same": n, "why": "x"} for n in range(len(predictions))]


class Whole(Batched):
    batch_rows = 9

    def annotate_batch(self, predictions: list[str], targets: list[str]) -> list[Any]:
        return [{"same": len(predictions), "why": "x"} for _ in predictions]


@pytest.mark.parametrize("annotator", [Words, Words(), Batched])
def test_sound_ones_pass(annotator: Any) -> None:
    check_annotator(annotator, EXAMPLES)


@pytest.mark.parametrize(
    ("annotator", "law", "found"),
    [
        (Bug, "answers", "ZeroDivisionError.*'two words'"),
        (Busy, "answers", r"busy \(asked 2 times\), for prediction 'a'"),
        (Mixed, "kinds", "number for .*'one'.*, str for .*'three more words'"),
        (Random, "repeatable", "asked again"),
        (Counts, "repeatable", "asked again .*4"),
        (Named, "stateless", "by another instance"),
        (Place, "order", "asked in the other order"),
        (Whole, "alone", "'same': 3.*asked for it alone .*'same': 1"),
    ],
)
def test_a_broken_law_is_named(annotator: Any, law: str, found: str) -> None:
    with pytest.raises(
        AnnotatorLawError, match=f"(?s)breaks the law '{law}'.*{found}"
    ) as e:
        check_annotator(annotator, EXAMPLES)
    assert e.value.law == law
    others = [each.name for each in ANNOTATOR_LAWS if each.name != law]
    if law == "kinds":
        check_annotator(annotator, EXAMPLES, laws=others)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(evalkit.EvalkitError, match="reads the field 'statement'"):
        check_annotator(Words, [("a", "b")])
    with pytest.raises(evalkit.EvalkitError, match="not empty"):
        check_annotator(Words, [])
    with pytest.raises(
        evalkit.EvalkitError, match="'kind' is no law; there are answers"
    ):
        check_annotator(Words, EXAMPLES, laws=["kind"])
