"""Says what would be asked, and what that might take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalkit import Registry
from evalkit_models_base.input_plans import InputPlan
from evalkit_models_base.inputs import load_inputs
from evalkit_models_base.models import bind_model, identity_of, names_of
from evalkit_models_base.preparing import Wording, prepare
from evalkit_models_base.prices import Price, price_of
from evalkit_models_base.prompts import Prompt
from evalkit_models_base.requests import Request
from evalkit_models_base.shots import Origin

SHOWN = 3
"""How many requests a plan shows."""

_CHARACTERS = 4
"""About so many are a token of English: an estimate, and called so."""


def plan_requests(
    dataset: Any = None,
    model: Any = None,
    *,
    prompt: str | Path | Mapping[str, Any] | Prompt | None = None,
    generate: Mapping[str, Any] | None = None,
    shots: int | None = None,
    trials: int | None = None,
    replications: int | None = None,
    model_kind: str | None = None,
    count_tokens: Callable[[str], int] | None = None,
    copies_of: Mapping[str, Any] | None = None,
    price: str | Path | Mapping[str, Any] | None = None,
    registry: Registry | None = None,
    **chosen: Any,
) -> dict[str, Any]:
    """Say what would be asked, and ask nothing.

    All arguments are those of `predict`, and `price` is that of `Asked`.

    Returns:
        `first`, the first requests; `requests`, how many there would be;
        `input_tokens_about`, an estimate at four characters a token;
        `output_tokens_most`, None where replies may have any length; and, where there
        is a price, `input_cost_about`, `output_cost_most` and `currency`; `notices`,
        what a user should know.

    Raises:
        EvalkitError: As for `predict`.
    """
    inputs = load_inputs(dataset, registry=registry, **chosen)
    bound = bind_model(model, registry, model_kind)
    wording = Wording(prompt, generate, shots, trials, replications, count_tokens)
    named = {name: chosen.get(name) for name in ("data", "task", "rows")}
    origin = Origin(dataset, **named, registry=registry)
    plan = prepare(bound, inputs, wording, origin, copies_of)
    if isinstance(plan, InputPlan):
        rows = [dict(row) for row in inputs.rows[:SHOWN]]
        told = [*inputs.notices, *plan.notices]
        figures = _figures(None, None, None)
        return {"first": rows, "requests": plan.total, **figures, "notices": told}
    called = names_of(bound, model, identity_of(bound, model)) if price else []
    first: list[dict[str, Any]] = []
    characters = 0
    output: int | None = 0
    for question in plan.questions():
        request = question.request
        assert isinstance(request, Request)
        texts = [request.prompt or "", *(m.content for m in request.messages)]
        # each continuation is read after the prompt
        times = max(1, len(request.continuations))
        characters += times * sum(map(len, texts)) + sum(
            map(len, request.continuations)
        )
        most = _most(request)
        output = None if output is None or most is None else output + most
        if len(first) < SHOWN:
            first.append(request.model_dump(mode="json", exclude_defaults=True))
    figures = _figures(-(-characters // _CHARACTERS), output, price_of(price, called))
    told = [*inputs.notices, *plan.notices]
    return {"first": first, "requests": plan.total, **figures, "notices": told}


def _most(request: Request) -> int | None:
    """Return the most tokens of a reply; None where it may have any length."""
    if request.continuations:
        return 0
    if request.max_tokens is None:
        return None
    return request.max_tokens * request.completions


def _figures(
    about: int | None, most: int | None, price: Price | None
) -> dict[str, Any]:
    figures: dict[str, Any] = {"input_tokens_about": about, "output_tokens_most": most}
    if price is None or about is None:
        return figures
    return {
        **figures,
        "input_cost_about": about * price.input / 1e6,
        "output_cost_most": None if most is None else most * price.output / 1e6,
        "currency": price.currency,
    }
