"""Compiles the prompt of a benchmark file to prompts of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.errors import DataError
from evalkit_benchmarks_declared.schema import Benchmark, Task
from evalkit_benchmarks_declared.templates import (
    Evaluate,
    compile_expression,
    is_template,
    named,
)
from evalkit_models_base.prompts import checked_prompt


class CompiledPrompts(NamedTuple):
    """Prompts of the engine, and fields that they need."""

    prompts: dict[str, dict[str, Any]]
    """Keys of each prompt by its name: `default`, or the kinds of models."""
    computed: dict[str, str]
    """Jinja template by name of the input field that it is computed into."""
    shown: dict[str, str]
    """The same for columns of shots that are no input, as they hold answers."""


def compile_prompts(benchmark: Benchmark) -> CompiledPrompts:
    """Make the engine's prompts: one, or `instruct`, `base` and `reasoning`.

    With `templates: jinja` their templates name fields that the loader computes, as
    the engine knows no Jinja.
    """
    compiled = CompiledPrompts({}, {}, {})
    if benchmark.prompt is None:
        return compiled
    for name, values in _by_kind(benchmark).items():
        if benchmark.templates == "jinja":
            values = _without_jinja(values, name, benchmark, compiled)
        if values.get("method") == "joint" and benchmark.extract is not None:
            values = {**values, **_read_by_engine(values, benchmark)}
        where = "prompt" if name == "default" else f"prompt (kind {name})"
        checked_prompt(where, values)
        compiled.prompts[name] = values
    return compiled


def _read_by_engine(values: Mapping[str, Any], benchmark: Benchmark) -> dict[str, Any]:
    """Return what reads letters that only the prompt knows."""
    answer = getattr(benchmark.task, "answer", benchmark.task)
    if answer in ("choice", "multiple-choice") and not {"order", "letters"} & {
        *(values.get("choices") or ())
    }:
        return {}
    if isinstance(benchmark.extract, Mapping) or benchmark.null_label:
        raise DataError(
            "prompt.method: joint with labels, own letters or another order takes one "
            "extractor and no null_label"
        )
    return {"extract": benchmark.extract}


def _by_kind(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Return the keys of each prompt."""
    values = benchmark.model_dump(exclude_unset=True)["prompt"]
    overrides: dict[str, dict[str, Any]] = values.pop("by_kind", {})
    for key in ("trials", "replications"):
        if key in benchmark.model_fields_set:
            values.setdefault(key, getattr(benchmark, key))
    shots = values.get("shots") or {}
    counts = shots.get("count")
    if isinstance(counts, Mapping):
        values["shots"] = {**shots, "count": counts.get("instruct", 0)}
        for kind, count in counts.items():
            if count is not None:
                overrides[kind] = {"shots.count": count, **overrides.get(kind, {})}
    if not overrides:
        return {"default": values}
    # without one of its own, the engine takes `instruct` for `reasoning`
    kinds = ("instruct", "base", *(["reasoning"] if "reasoning" in overrides else []))
    found = {kind: dict(values) for kind in kinds}
    for kind, own in found.items():
        for key, override in overrides.get(kind, {}).items():
            override_at(own, key.split("."), override)
    return found


def _without_jinja(
    values: Mapping[str, Any],
    name: str,
    benchmark: Benchmark,
    compiled: CompiledPrompts,
) -> dict[str, Any]:
    """Replace Jinja templates by fields that are computed from each row."""
    made, evaluated = dict(values), dict[str, Evaluate]()
    shots = made.get("shots") or {}

    def field(key: str, text: Any, fields: dict[str, str]) -> Any:
        """Return the template that names the field of a Jinja template."""
        if not isinstance(text, str):
            return text  # which the engine refuses
        if not is_template(text):
            return _escaped(text)
        evaluate = _compiled(key, text)
        own = f"prompt_{key.replace('.', '_')}"
        if fields.get(own, text) != text:
            own = f"{own}_{name}"
        fields[own], evaluated[own] = text, evaluate
        return f"{{{own}}}"

    of_answers = {} if shots.get("examples") else compiled.shown
    for key, fields in (("query", compiled.computed), ("answer", of_answers)):
        if key in made:
            made[key] = field(key, made[key], fields)
    if isinstance(made.get("turns"), list):
        made["turns"] = [
            {**turn, "content": field(f"turn.{n}", turn["content"], compiled.computed)}
            if isinstance(turn, Mapping) and "content" in turn
            else turn
            for n, turn in enumerate(made["turns"], start=1)
        ]
    made |= _fixed(made, benchmark.task)
    if shots.get("examples"):
        examples = [
            {**each, **{own: evaluate(each) for own, evaluate in evaluated.items()}}
            for each in shots["examples"]
        ]
        made["shots"] = {**shots, "examples": examples}
    return made


def _fixed(values: Mapping[str, Any], task: str | Task) -> dict[str, str]:
    """Evaluate the templates that are the same for all, so without columns."""
    labels = task.labels if isinstance(task, Task) else None
    known = {"cue": values.get("cue", "")} | ({"labels": labels} if labels else {})
    return {
        key: _escaped(_compiled(key, text)(known) if is_template(text) else text)
        for key, text in values.items()
        if key in ("instructions", "system") and isinstance(text, str)
    }


def _compiled(key: str, text: str) -> Evaluate:
    """Compile a template to a function whose errors name the key."""
    with named(f"prompt.{key}"):
        evaluate = compile_expression(text, "jinja", native=False)
    return named(f"prompt.{key}")(evaluate)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def override_at(values: dict[str, Any], keys: Sequence[str], override: Any) -> None:
    """Put a value in place of another: mappings are merged, other values replaced."""
    first, *others = keys
    inner = values.get(first)
    if others:
        parts = [(others, override)]
    elif isinstance(override, Mapping) and isinstance(inner, Mapping):
        parts = [([key], value) for key, value in override.items()]
    else:
        values[first] = override
        return
    values[first] = inner = dict(inner) if isinstance(inner, Mapping) else {}
    for rest, value in parts:
        override_at(inner, rest, value)
