"""Ratings by several people or judges, of which none is the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit import TaskIO
from evalkit_tasks_text.regression import OptionalTextInput
from evalkit_tasks_text.rows import OutputRow


class RatingOutput(OutputRow):
    """What one rater says, in a row for each rater; `_replication_` names the rater."""

    rating: str | float


class Rating(TaskIO):
    """How far do raters agree on a text? There is no right answer.

    A row of predictions holds the `rating` by one rater, whom `_replication_` names, or
    those of all raters in a list `ratings`, in which null is no rating.
    """

    Input = OptionalTextInput
    Output = RatingOutput
    input_keys = ("text",)
    answer_field = "rating"
    answer_kind = "none"
    scored_fields = ("responses",)
    perf_metric = "krippendorff-alpha"
    perturb_fields = ("text",)
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Rate the text from 1 to 5. Write the number only.",
            "query": "Text: {text}",
            "cue": "Rating:",
            "extract": "final-number",
            "generate": {"max_tokens": 16},
        }
    }
    example: ClassVar[Mapping[str, Any]] = {"uid": "rated-1", "text": "It is fine."}
    label_field_converter: ClassVar[Mapping[str, str]] = {"id": "uid"}
    pred_field_converter: ClassVar[Mapping[str, str]] = {"id": "id", "pred": "rating"}

    def adapt_response(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make alternatives of a list of ratings."""
        if not isinstance(response.get("ratings"), list):
            return response
        given = {key: value for key, value in response.items() if key != "ratings"}
        ratings = [each for each in response["ratings"] if each is not None]
        return {**given, "responses": [{"rating": each} for each in ratings]}
