"""From what a user says of a prompt to all requests, checked before the first one.

`predict` sends them, `plan_requests` only counts them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from evalkit import Registry
from evalkit.errors import DataError, EvalkitError
from evalkit_models_base.checks import renderer
from evalkit_models_base.fitting import CountTokens
from evalkit_models_base.inputs import ModelInputs, load_inputs
from evalkit_models_base.limits import Price, price_of
from evalkit_models_base.model import BoundModel
from evalkit_models_base.models import bind_model, identity_of, names_of, without_keys
from evalkit_models_base.plans import InputPlan, Plan
from evalkit_models_base.prompts import Prompt, checked_prompt, read_prompt
from evalkit_models_base.rendering import Renderer
from evalkit_models_base.shots import Origin, draw_shots

SHOWN = 3
"""Number of requests that a plan shows."""

_CHARACTERS = 4
"""Characters in a token of English: an estimate."""


@dataclass(frozen=True)
class Wording:
    """How a model is asked, as for `predict`."""

    prompt: str | Path | Mapping[str, Any] | Prompt | None = None
    generate: Mapping[str, Any] | None = None
    shots: int | None = None
    trials: int | None = None
    replications: int | None = None
    count_tokens: CountTokens | None = None

    def __post_init__(self) -> None:
        for name, least in (("shots", 0), ("trials", 1), ("replications", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise EvalkitError(f"{name} must be {least} or more, got {value}")

    @property
    def needs_prompt(self) -> bool:
        """Whether anything is set that only a prompt can take."""
        trials = None if self.trials == 1 else self.trials
        others = {"replications": None, "count_tokens": None}
        return replace(self, trials=trials, **others) != Wording()

    def chosen(self, inputs: ModelInputs, kind: str | None) -> tuple[str, Prompt]:
        """Return the prompt with the user's settings in place of its own."""
        name, prompt = read_prompt(self.prompt, inputs.prompts, inputs.asker, kind)
        said = prompt.model_dump(mode="json", exclude_defaults=True)
        changes = []
        if self.generate:
            said["generate"] = {**said.get("generate", {}), **self.generate}
            changes.append("--generate")
        if self.shots is not None:
            said["shots"] = {**said.get("shots", {}), "count": self.shots}
            changes.append("--shots")
        if not changes:
            return name, prompt
        return name, checked_prompt(f"{name}, with {' and '.join(changes)}", said)


@dataclass(frozen=True)
class Planned:
    """All that a model is asked, before it is asked."""

    model: BoundModel
    inputs: ModelInputs
    plan: Plan | InputPlan

    @property
    def notices(self) -> list[str]:
        """What a user should know, once all questions were made."""
        return [*self.inputs.notices, *self.plan.notices]


_ORIGIN = ("data", "task", "rows")


def plan_all(
    dataset: Any,
    model: Any,
    *,
    copies_of: Mapping[str, Any] | None = None,
    model_kind: str | None = None,
    registry: Registry | None = None,
    **how: Any,
) -> Planned:
    """Check all that can be checked before the first request; see `predict`."""
    names = [each.name for each in fields(Wording)]
    chosen = {name: value for name, value in how.items() if name not in names}
    inputs = load_inputs(dataset, registry=registry, **chosen)
    bound = bind_model(model, registry, model_kind)
    wording = Wording(**{name: how[name] for name in names if name in how})
    if bound.way == "predict":
        if wording.needs_prompt:
            raise EvalkitError(
                f"{bound.component.id} answers inputs without a prompt: it takes "
                "neither a prompt nor shots, nor how to generate"
            )
        return Planned(bound, inputs, InputPlan(inputs, wording.replications or 1))
    named = {name: chosen.get(name) for name in _ORIGIN}
    origin = Origin(dataset, **named, registry=registry)
    if copies_of is None:
        return Planned(bound, inputs, _plan(bound, inputs, wording, origin))
    originals = load_inputs(**copies_of, registry=registry)
    named = {name: copies_of.get(name) for name in ("dataset", *_ORIGIN)}
    plan = _plan(bound, originals, wording, Origin(**named, registry=registry))
    return Planned(bound, inputs, plan.of_copies(inputs, origin))


def _plan(
    model: BoundModel, inputs: ModelInputs, wording: Wording, origin: Origin
) -> Plan:
    name, prompt = wording.chosen(inputs, model.kind)
    mapped = None if origin.rows is None else origin.rows.mapped
    fits = (model.abilities, origin.registry, mapped, model.kind)
    makes = renderer(prompt, name, inputs, *fits)
    _refuse_unable(model, makes)
    trials = wording.trials or (1 if wording.shots == 0 else prompt.trials)
    drawn = draw_shots(makes, origin, trials)
    replications = wording.replications or prompt.replications
    limits = (model.context_length, wording.count_tokens)
    return Plan(makes, drawn, replications, *limits)


def _refuse_unable(model: BoundModel, makes: Renderer) -> None:
    prompt = makes.prompt
    needed: list[str] = [] if prompt.method == "language-modelling" else [makes.form]
    if prompt.uses_continuations:
        needed.append("continuations")
    if prompt.generate.logprobs is not None and not prompt.uses_continuations:
        needed.append("logprobs")
    length, most = model.context_length, prompt.generate.max_tokens
    if length is not None and most is not None and most >= length:
        raise DataError(
            f"{most} tokens (max_tokens) leave no room for a prompt: the context of "
            f"{model.component.id} has {length}"
        )
    for ability in needed:
        if ability not in model.abilities:
            raise DataError(
                f"{makes.name}: {model.component.id} cannot be asked for {ability}, "
                f"which the prompt needs (method {prompt.method}, form {makes.form}); "
                f"it can: {', '.join(model.abilities)}"
            )


def plan_requests(
    dataset: Any = None,
    model: Any = None,
    *,
    price: str | Path | Mapping[str, Any] | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Return what would be asked, and ask nothing.

    Args:
        dataset: As for `predict`, like all arguments but `price`.
        model: As for `predict`.
        price: As for `Asked`.
        **how: Further arguments of `predict`.

    Returns:
        What `estimate` returns, its `title`, `model` and `dataset`, and `notices`, what
        a user should know; of a model that answers inputs nothing is known of tokens.

    Raises:
        EvalkitError: As for `predict`.
    """
    planned = plan_all(dataset, model, **how)
    bound, plan, inputs = planned.model, planned.plan, planned.inputs
    if isinstance(plan, InputPlan):
        first = [dict(row) for row in inputs.rows[:SHOWN]]
        unknown = {"input_tokens_about": None, "output_tokens_most": None}
        found = {"first": first, "requests": plan.total, **unknown}
    else:
        called = names_of(bound, model, identity_of(bound, model)) if price else []
        requests = (question.request for question in plan.questions())
        found = estimate(requests, price_of(price, called))
    shown = without_keys(model if isinstance(model, str) else bound.component.name)
    names = {"title": f"{shown} on {inputs.dataset}", "model": shown}
    return {**names, "dataset": inputs.dataset, **found, "notices": planned.notices}


def estimate(requests: Iterable[Any], price: Price | None = None) -> dict[str, Any]:
    """Estimate what requests take.

    Returns:
        `first`, the first requests; `requests`, how many there are;
        `input_tokens_about`, an estimate at four characters a token;
        `output_tokens_most`, None if replies may have any length; and with a price
        `input_cost_about`, `output_cost_most` and `currency`.
    """
    first: list[dict[str, Any]] = []
    count, characters, most = 0, 0, 0.0
    for count, request in enumerate(requests, start=1):
        if count <= SHOWN:
            first.append(request.model_dump(mode="json", exclude_defaults=True))
        texts = [request.prompt or "", *(each.content for each in request.messages)]
        # each continuation is read after the prompt
        characters += max(1, len(request.continuations)) * sum(map(len, texts))
        characters += sum(map(len, request.continuations))
        most += request.texts and request.texts * (request.max_tokens or math.inf)
    about, longest = -(-characters // _CHARACTERS), None if most == math.inf else most
    found: dict[str, Any] = {"first": first, "requests": count}
    found |= {"input_tokens_about": about}
    found |= {"output_tokens_most": None if longest is None else int(longest)}
    if price is None:
        return found
    return {
        **found,
        "input_cost_about": about * price.input / 1e6,
        "output_cost_most": None if longest is None else longest * price.output / 1e6,
        "currency": price.currency,
    }
