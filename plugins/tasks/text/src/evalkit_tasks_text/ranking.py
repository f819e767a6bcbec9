"""Lists of items, the best first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from evalkit import TaskIO
from evalkit_tasks_text.rows import InputRow, OutputRow


class GradedReference(BaseModel):
    """A relevant item, and how relevant it is."""

    model_config = ConfigDict(strict=True)

    text: str
    grade: float


class QueryInput(InputRow):
    """What is looked for, and grades of what is relevant."""

    query: str
    references: list[GradedReference] | None = None


class RankingOutput(OutputRow):
    """Items, the best first; `scores` order them anew."""

    items: list[str]
    scores: list[float] | None = None


class Ranking(TaskIO):
    """Which items are relevant for the query, the best first?

    The field `items` lists the relevant ones in the data, in any order, and the ranking
    in a response. Where they are relevant in different degrees, `references` of the
    data says so, `[{"text": "d3", "grade": 2}]`, and `items` may be left out.
    """

    Input = QueryInput
    Output = RankingOutput
    input_keys = ("query",)
    answer_field = "items"
    answer_kind = "ranked"
    scored_fields = ("scores",)
    perf_metric = "ndcg"
    eval_metrics: ClassVar[tuple[str, ...]] = ("mrr", "map", "recall-at-k")
    delta_metrics = ("robustness",)
    perturb_fields = ("query",)
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "List what is relevant for the query, the best first, as a "
            "list of texts in JSON.",
            "query": "Query: {query}",
            "cue": "Items:",
            "answers": "json",
            "generate": {"max_tokens": 512},
        }
    }
    example: ClassVar[Mapping[str, Any]] = {"uid": "query-1", "query": "rain in Spain"}

    def label_field_converter(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Take the relevant items, or else the references that have a grade above 0."""
        items, references = example.get("items"), example.get("references")
        if items is None and references is not None:
            items = [each["text"] for each in references if each["grade"] > 0]
        return {"id": example["uid"], "answer": items, "tags": example.get("tags")}
