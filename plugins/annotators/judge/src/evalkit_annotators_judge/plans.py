"""Says what judges would be asked, and what that may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.errors import AnnotatorError
from evalkit.reporting import count_of
from evalkit_annotators_judge.declaration import Declaration
from evalkit_annotators_judge.questions import Asked
from evalkit_models_base import Request

SHOWN = 3
"""How many requests a plan shows."""

_CHARACTERS = 4
"""About so many are a token of English: an estimate, and called so."""


class Planned(AnnotatorError):
    """Ends an evaluation before anything is asked.

    Attributes:
        plan: `first`, the first requests; `requests`, how many there would be, about
            how many `responses`; `input_tokens_about` and `output_tokens_most`, None
            where replies may have any length; with `prices` also `input_cost_about`
            and `output_cost_most`; and `notices`, why responses would not be asked
            about.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.plan = plan
        super().__init__("nothing is asked in a dry run")


def plan_of(
    said: Declaration, asked: Sequence[Sequence[Asked]], problems: Sequence[str]
) -> dict[str, Any]:
    """Say what would be asked."""
    requests = [each.request for several in asked for each in several]
    texts = ["".join(_texts(each)) for each in requests]
    about = -(-sum(map(len, texts)) // _CHARACTERS)
    limits = [each.max_tokens for each in requests]
    most = sum(each or 0 for each in limits) if all(limits) else None
    plan: dict[str, Any] = {
        "first": [
            each.model_dump(mode="json", exclude_defaults=True)
            for each in requests[:SHOWN]
        ],
        "requests": len(requests),
        "responses": sum(map(bool, asked)),
        "input_tokens_about": about,
        "output_tokens_most": most,
        "notices": [
            f"{count_of(problems.count(each), 'response')} {each}"
            for each in dict.fromkeys(problems)
        ],
    }
    if said.prices is not None:
        plan["input_cost_about"] = about * said.prices.input / 1e6
        plan["output_cost_most"] = (
            None if most is None else most * said.prices.output / 1e6
        )
    return plan


def _texts(request: Request) -> list[str]:
    return [request.prompt or "", *(each.content for each in request.messages)]
