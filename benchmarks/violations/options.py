"""What an author gives to the kit's check of a plugin, which knows no data for it.

Nothing here is chosen by a violation: it is what the plugin needs to be tried.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

_PROGRAM = """
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    said = {"error": "what?"} if row.get("statement") == "?" else "positive"
    print(json.dumps(said), flush=True)
"""


def _spans(folder: Path) -> Mapping[str, Any]:
    from hypothesis import strategies as st

    start = st.integers(0, 3)
    span = st.builds(
        lambda first, length, label: {
            "start": first,
            "end": first + length,
            "label": label,
        },
        start,
        st.integers(1, 3),
        st.sampled_from(["person", "place"]),
    )
    spans = st.lists(span, max_size=3)
    return {"examples": st.tuples(spans, spans), "task": _span_task()}


def _span_task() -> Any:
    from pydantic import BaseModel

    import evalkit

    class Text(BaseModel):
        uid: str

    class Span(BaseModel):
        start: int
        end: int
        label: str

    class Spans(BaseModel):
        id: str
        spans: list[Span]

    class Found(evalkit.TaskIO):
        """Spans in texts."""

        Input = Text
        Output = Spans
        answer_field = "spans"
        answer_kind = "spans"
        perf_metric = "span-f1"
        example: ClassVar[Any] = {"uid": "1"}

    return Found


def _ranked(folder: Path) -> Mapping[str, Any]:
    from hypothesis import strategies as st

    items = st.lists(st.sampled_from("abcd"), max_size=4, unique=True)
    return {"examples": st.tuples(items, items), "answer_kind": "ranked"}


def _graded(folder: Path) -> Mapping[str, Any]:
    from hypothesis import strategies as st

    items = st.lists(st.sampled_from("abcd"), max_size=4, unique=True)
    grades = st.lists(st.integers(0, 3), min_size=4, max_size=4)

    def example(ranked: list[str], given: list[int]) -> tuple[Any, ...]:
        graded = zip("abcd", given, strict=True)
        references = [{"text": text, "grade": grade} for text, grade in graded]
        relevant = [each["text"] for each in references if each["grade"]]
        return ranked, relevant, {"references": references}

    examples = st.builds(example, items, grades)
    return {"examples": examples, "task": "ranking"}


def _contrast(folder: Path) -> Mapping[str, Any]:
    example = {
        "statement": "It is good.",
        "label": "positive",
        "contrast_inputs": ["It is not good."],
        "contrast_answers": ["negative"],
    }
    return {"task": "sentiment", "examples": [example]}


def _command(folder: Path) -> Mapping[str, Any]:
    program = folder / "program.py"
    program.write_text(_PROGRAM, "utf-8")
    return {
        "plugin": f"command:run={sys.executable} {program}",
        "task": "sentiment",
        "failing": [{"uid": "9", "statement": "?"}],
    }


def _given(**options: Any) -> Callable[[Path], Mapping[str, Any]]:
    return lambda folder: options


_ROWS = [{"id": "1", "text": "Hello!", "n": 1}, {"id": "2", "text": "Hi.", "n": 0}]
_LISTS = [{"id": "1", "said": ["a", "b"]}, {"id": "2", "said": ["c"]}]
_NESTED = [{"id": "1", "said": {"label": "a", "p": {"a": 1}}}]
_CHOICE = [{"answer": "Paris"}, {"answer": "Rome"}]

OPTIONS: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
    "metrics/span-f1": _spans,
    "metrics/rouge": _given(perfect=None),
    "metrics/mrr": _ranked,
    "metrics/ndcg": _graded,
    "metrics/mae": _given(answer_kind="number"),
    "metrics/rmse": _given(answer_kind="number"),
    "metrics/pearson": _given(answer_kind="number"),
    "metrics/spearman": _given(answer_kind="number"),
    "metrics/kendall": _given(answer_kind="number"),
    "tasks/qa": _given(responses=[{"answer": "a place"}, {"answer": "book or movie"}]),
    "tasks/rating": _given(responses=[{"rating": 3}, {"ratings": [1, None, 4]}]),
    "tasks/regression": _given(responses=[{"value": 2.5}]),
    "tasks/multiple-choice": _given(responses=_CHOICE),
    "tasks/text-classification": _given(responses=[{"label": "sports"}]),
    "perturbations/contrast-sets": _contrast,
    "perturbations/name-swap": _given(
        task="nli",
        examples=[
            {
                "context": "Emily met Greg, and Emily left.",
                "hypothesis": "Greg saw Emily.",
                "label": "entailed",
            }
        ],
    ),
    "adapters/drop": _given(rows=_ROWS, configuration={"fields": ["text"]}),
    "adapters/select": _given(
        rows=_ROWS, broken=[{"id": "3"}], configuration={"fields": ["text"]}
    ),
    "adapters/number-rows": _given(rows=_ROWS, configuration={"field": "number"}),
    "adapters/flatten-hierarchy": _given(rows=_NESTED),
    "adapters/explode-collections": _given(
        rows=_LISTS,
        broken=[{"id": "3"}],
        configuration={"collections": ["said"], "index": {"place": None}},
    ),
    "adapters/strip": _given(texts=["**B**", "```\nB\n```"]),
    "adapters/final-number": _given(texts=["It is 3.", "So 4, and then 5."]),
    "adapters/boxed": _given(texts=[r"So \boxed{3}.", r"It is \boxed{x + 1}."]),
    "template annotators/my-thing": _given(examples=[("Thanks!", ""), ("No.", "")]),
    "template schemas/my_thing.MyThing": _given(
        rows=[{"celsius": 20.5, "station": "Oslo"}]
    ),
    "template commands/my-thing": _given(runs=[["--json"], []]),
    "template storage/my-thing": _given(place="my-thing://tried/"),
    "example storage/memory": _given(place="memory://tried/"),
    "models/constant": _given(plugin="constant:answer=positive", task="sentiment"),
    "models/random": _given(
        plugin="random:answers=positive/negative/neutral", task="sentiment"
    ),
    "models/command": _command,
}
"""By plugin; the others need nothing."""
