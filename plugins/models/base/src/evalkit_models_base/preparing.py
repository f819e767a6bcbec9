"""From what a user says of a prompt to all that is asked, checked beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.errors import DataError, EvalkitError
from evalkit_models_base.bound import BoundModel
from evalkit_models_base.checks import renderer
from evalkit_models_base.fitting import CountTokens
from evalkit_models_base.input_plans import InputPlan
from evalkit_models_base.inputs import ModelInputs, load_inputs
from evalkit_models_base.plans import Plan
from evalkit_models_base.prompts import Prompt, checked_prompt, read_prompt
from evalkit_models_base.rendering import Renderer
from evalkit_models_base.shots import Origin, draw_shots


@dataclass(frozen=True)
class Wording:
    """What a user says of how a model is asked, as for `predict`."""

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
                raise EvalkitError(f"{name} must be {least} or more, is {value}")

    @property
    def is_said(self) -> bool:
        """Whether anything is said that only a prompt can take."""
        trials = None if self.trials == 1 else self.trials
        others = {"replications": None, "count_tokens": None}
        return replace(self, trials=trials, **others) != Wording()

    def chosen(self, inputs: ModelInputs, kind: str | None) -> tuple[str, Prompt]:
        """Return the prompt, with what is said in place of its own."""
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


def prepare(
    model: BoundModel,
    inputs: ModelInputs,
    wording: Wording,
    origin: Origin,
    copies_of: Mapping[str, Any] | None = None,
) -> Plan | InputPlan:
    """Check all that can be checked before the first request."""
    if model.way == "predict":
        if wording.is_said:
            raise EvalkitError(
                f"{model.component.id} answers inputs without a prompt: it takes "
                "neither a prompt nor shots, nor how to generate"
            )
        return InputPlan(inputs, wording.replications or 1)
    if copies_of is None:
        return _planned(model, inputs, wording, origin)
    originals = load_inputs(**copies_of, registry=origin.registry)
    names = ("dataset", "data", "task", "rows")
    named = {name: copies_of.get(name) for name in names}
    of_originals = Origin(**named, registry=origin.registry)
    plan = _planned(model, originals, wording, of_originals)
    return plan.of_copies(inputs, origin)


def _planned(
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
    wanted: list[str] = [] if prompt.method == "language-modelling" else [makes.form]
    if prompt.uses_continuations:
        wanted.append("continuations")
    if prompt.generate.logprobs is not None and not prompt.uses_continuations:
        wanted.append("logprobs")
    length, most = model.context_length, prompt.generate.max_tokens
    if length is not None and most is not None and most >= length:
        raise DataError(
            f"{most} tokens (max_tokens) leave no room for a prompt: the context of "
            f"{model.component.id} has {length}"
        )
    for ability in wanted:
        if ability not in model.abilities:
            raise DataError(
                f"{makes.name}: {model.component.id} cannot be asked for {ability}, "
                f"which the prompt needs (method {prompt.method}, form {makes.form}); "
                f"it can: {', '.join(model.abilities)}"
            )
