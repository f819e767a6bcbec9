"""From a data set to predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import Registry
from evalkit.catalog import DataSource
from evalkit.errors import EvalkitError
from evalkit_models_base.asking import Asker
from evalkit_models_base.bound import BoundModel
from evalkit_models_base.cache import ReplyCache, closed_after
from evalkit_models_base.input_plans import InputPlan
from evalkit_models_base.inputs import ModelInputs, load_inputs
from evalkit_models_base.loops import run
from evalkit_models_base.models import (
    bind_model,
    close,
    identity_of,
    names_of,
    places_of,
    run_name,
)
from evalkit_models_base.plans import Plan
from evalkit_models_base.preparing import Wording, prepare
from evalkit_models_base.prices import Price, price_of, refuse_unknown_cost
from evalkit_models_base.progress import Progress, Told
from evalkit_models_base.prompts import Prompt
from evalkit_models_base.responses import Responses
from evalkit_models_base.saving import save
from evalkit_models_base.settings import Asked
from evalkit_models_base.shots import Origin
from evalkit_models_base.usage import Usage


@dataclass
class Predicted:
    """Predictions, with what is known of how they came.

    Attributes:
        dataset: Name of the data set.
        task: Name of its task.
        model: What the model is called in runs: its own name, but for signs that mean
            other things there.
        rows: A response for each example, in the data's order; one that failed has
            `error`.
        system: The model and how it was asked.
        usage: What that took.
        notices: What a user should know.
        from_cache: How many answers were there already.
    """

    dataset: str
    task: str
    model: str
    rows: list[dict[str, Any]]
    system: dict[str, Any]
    usage: dict[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    from_cache: int = 0

    @property
    def errors(self) -> dict[str, int]:
        """How many examples failed for each reason, the most frequent first."""
        errors = (row.get("error") for row in self.rows)
        found = Counter(str(error) for error in errors if error is not None)
        return dict(found.most_common())

    @property
    def failed(self) -> int:
        """How many examples have no answer."""
        return sum(row.get("error") is not None for row in self.rows)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the predictions as JSON lines, and beside them what made them.

        Raises:
            StorageError: It is there already, or cannot be written.
        """
        return save(path, self.rows, self.system, self.usage, overwrite=overwrite)


def predict(
    dataset: Any = None,
    model: Any = None,
    *,
    data: Any = None,
    task: Any = None,
    split: str | None = None,
    limit: int | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    rows: DataSource | None = None,
    prompt: str | Path | Mapping[str, Any] | Prompt | None = None,
    generate: Mapping[str, Any] | None = None,
    shots: int | None = None,
    trials: int | None = None,
    replications: int | None = None,
    model_kind: str | None = None,
    count_tokens: Callable[[str], int] | None = None,
    copies_of: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    progress: Progress | None = None,
    registry: Registry | None = None,
) -> Predicted:
    """Ask a model about each example of a data set.

    Args:
        dataset: As for `load_inputs`.
        model: `NAME[:KEY=VALUE,…]`, `FILE.py:FUNCTION`, a function from a list of
            inputs to a list of answers, or an instance of a model.
        data: As for `load_inputs`.
        task: As for `load_inputs`.
        split: As for `load_inputs`.
        limit: As for `load_inputs`.
        filters: As for `load_inputs`.
        rows: As for `load_inputs`.
        prompt: Name of a prompt that the data set or task declares, a file, or what it
            says; the first declared one by default.
        generate: How the model generates, in place of what the prompt says.
        shots: How many examples with answers are shown, in place of what the prompt
            says.
        trials: How often all are asked, each time with other shots, in place of what
            the prompt says.
        replications: How often the same is asked anew in each trial, likewise; each
            pair of trial and repetition is a `_replication_` of the rows.
        model_kind: What the model was made for, in place of what it says itself:
            `base`, `instruct` or `reasoning`. It chooses among declared prompts.
        count_tokens: Says how many tokens a text has, where prompts may be too long
            for the model; by default one is three bytes of UTF-8.
        copies_of: What the examples are copies of: arguments of `load_inputs`.
            They are asked with the prompt and the shots of these.
        asked: Limits.
        progress: Told of it.
        registry: Where plugins are found.

    Returns:
        The predictions.

    Raises:
        AskingEnded: Asking ended early; what was answered is in the cache.
        DataError: The data cannot be read, or the prompt does not fit them.
        PluginError: A plugin is unknown or broken.
    """
    inputs = load_inputs(
        dataset,
        data=data,
        task=task,
        split=split,
        limit=limit,
        filters=filters,
        rows=rows,
        registry=registry,
    )
    bound = bind_model(model, registry, model_kind)
    asked = asked or Asked()
    wording = Wording(prompt, generate, shots, trials, replications, count_tokens)
    origin = Origin(dataset, data, task, rows, registry)
    plan = prepare(bound, inputs, wording, origin, copies_of)
    if bound.way == "predict":
        _refuse_what_needs_tokens(bound, asked)
    told = Told(progress, bound.component.id, plan.total)
    try:
        identity = identity_of(bound, model)
        price = price_of(asked.price, names_of(bound, model, identity))
        refuse_unknown_cost(bound.component.id, asked.cost_limit, price)
        is_kept = asked.is_cached and bound.has("describe_request")
        cache = ReplyCache() if is_kept else None
    except BaseException:
        run(lambda: close(bound))
        raise
    return _asked(_Model(bound, identity, price, cache), inputs, plan, asked, told)


def _refuse_what_needs_tokens(model: BoundModel, asked: Asked) -> None:
    """Refuse limits that cannot be kept of a model that answers inputs."""
    for name in ("tokens_per_minute", "token_limit", "cost_limit"):
        if getattr(asked, name) is not None:
            raise EvalkitError(
                f"{model.component.id} answers inputs and says nothing of tokens, so "
                f"that --{name.replace('_', '-')} means nothing: leave it out, or ask "
                "it in a command of its own"
            )


class _Model(NamedTuple):
    bound: BoundModel
    identity: dict[str, Any]
    price: Price | None
    cache: ReplyCache | None


def _asked(
    asks: _Model, inputs: ModelInputs, plan: Plan | InputPlan, asked: Asked, told: Told
) -> Predicted:
    model, identity, price, cache = asks
    usage = Usage(price)
    responses = Responses(model, inputs) if model.way == "predict" else None
    rows: list[dict[str, Any]] = []

    asker = Asker(model, asked, cache, plan.total, responses, price)

    async def ask_all() -> None:
        try:
            async with aclosing(asker.answers(plan.questions())) as answers:
                async for answer in answers:
                    usage.add(answer)
                    row = plan.take(answer)
                    rows.extend([row] if row is not None else [])
                    told.count(usage.answers, asker.budget)
        finally:  # in the loop in which it was asked
            await close(model)

    with closed_after(cache):
        run(ask_all)
    system: dict[str, Any] = {"model": identity}
    said = plan.said
    extract = said.pop("extract", None)
    if said:
        system["prompt"] = said
    if extract is not None:
        system["extract"] = extract
    notices = [*inputs.notices, *plan.notices, *asker.notices]
    if asked.is_cached and model.uses_network and cache is None:
        notices.append(
            f"replies are not cached: {model.component.id} does not describe its "
            "requests (describe_request)"
        )
    notices += usage.notices
    notices += _of_limits(asks, asked, usage)
    return Predicted(
        inputs.dataset,
        inputs.task,
        run_name(model, identity),
        rows,
        system,
        {"examples": len(rows), **usage.figures},
        tuple(notices),
        usage.from_cache,
    )


def _of_limits(asks: _Model, asked: Asked, usage: Usage) -> Iterator[str]:
    """Say which of what the user says about asking could not be done."""
    name = run_name(asks.bound, asks.identity)
    if asked.price is not None and usage.figures["cost"] is None:
        why = f"{name} does not say all tokens"
        if asks.price is None:
            why = f"the prices say nothing of {name}"
        yield f"{why}, so that its cost is not known"
    most = places_of(asks.bound, asked)
    if asked.concurrency is not None and asked.concurrency > most:
        yield (
            f"{asks.bound.component.id} takes {most} at once, and no more "
            f"(concurrency {asked.concurrency})"
        )
