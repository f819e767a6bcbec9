"""Compiles the prompt of a benchmark file to prompts of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from evalkit.catalog import is_file_name
from evalkit.errors import DataError
from evalkit_benchmarks_declared.schema import Benchmark, Task
from evalkit_benchmarks_declared.templates import (
    Evaluate,
    compile_expression,
    is_template,
)
from evalkit_benchmarks_declared.variants import override_at
from evalkit_models_base.prompts import checked_prompt


class CompiledPrompts(NamedTuple):
    """Prompts of the engine, and fields that they need.

    Attributes:
        prompts: Keys of each prompt by its name: `default`, or the kinds of models.
        computed: Jinja template by name of the input field that it is computed into.
        shown: The same for columns of shots that are no input, as they hold answers.
    """

    prompts: dict[str, dict[str, Any]]
    computed: dict[str, str]
    shown: dict[str, str]


def compile_prompts(benchmark: Benchmark) -> CompiledPrompts:
    """Make the engine's prompts.

    Args:
        benchmark: A variant of a benchmark.

    Returns:
        One prompt `default`; or `instruct`, `base` and, if declared, `reasoning`, where
        they differ by the kind of the model. With `templates: jinja` their templates
        name fields that the loader computes, as the engine knows no Jinja.

    Raises:
        DataError: A key is unknown or has a wrong value.
    """
    compiled = CompiledPrompts({}, {}, {})
    if benchmark.prompt is None:
        return compiled
    for name, values in _by_kind(benchmark).items():
        if benchmark.templates == "jinja":
            values = _without_jinja(values, name, benchmark, compiled)
        where = "prompt" if name == "default" else f"prompt (kind {name})"
        checked_prompt(where, values)
        compiled.prompts[name] = values
    return compiled


def _by_kind(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Return the keys of each prompt."""
    values = benchmark.model_dump(exclude_unset=True)["prompt"]
    overrides: dict[str, dict[str, Any]] = values.pop("by_kind", {})
    for key in ("trials", "replications"):
        if key in benchmark.model_fields_set:
            values.setdefault(key, getattr(benchmark, key))
    source = values.get("shots", {}).get("source")
    if source is not None and is_file_name(source):
        raise DataError(
            f"prompt.shots.source: must be a split, got {source!r}. Write the file as "
            "a split of data.path"
        )
    counts = values.get("shots", {}).get("count")
    counts = counts if isinstance(counts, Mapping) else {}
    if not overrides and not counts:
        return {"default": values}
    found: dict[str, dict[str, Any]] = {}
    for kind in ("instruct", "base", "reasoning"):
        is_declared = kind in overrides or counts.get(kind) is not None
        if kind == "reasoning" and not is_declared:
            continue  # the engine takes that of `instruct`
        own = dict(values)
        if counts:
            usual = counts.get("instruct", 0)
            count = usual if counts.get(kind) is None else counts[kind]
            own["shots"] = {**own["shots"], "count": count}
        for key, override in overrides.get(kind, {}).items():
            override_at(own, key.split("."), override)
        found[kind] = own
    return found


def _without_jinja(
    values: Mapping[str, Any],
    name: str,
    benchmark: Benchmark,
    compiled: CompiledPrompts,
) -> dict[str, Any]:
    """Replace Jinja templates by fields that are computed from each row."""
    made, evaluated = dict(values), dict[str, Evaluate]()

    def field(key: str, text: str, fields: dict[str, str]) -> str:
        """Return the template that names the field of a Jinja template."""
        if not is_template(text):
            return _escaped(text)
        evaluate = _compiled(key, text)
        own = f"prompt_{key.replace('.', '_')}"
        if fields.get(own, text) != text:
            own = f"{own}_{name}"
        fields[own], evaluated[own] = text, evaluate
        return f"{{{own}}}"

    if isinstance(made.get("query"), str):
        made["query"] = field("query", made["query"], compiled.computed)
    if isinstance(made.get("turns"), list):
        made["turns"] = [
            {**turn, "content": field(f"turn.{n}", turn["content"], compiled.computed)}
            if isinstance(turn, Mapping) and isinstance(turn.get("content"), str)
            else turn
            for n, turn in enumerate(made["turns"], start=1)
        ]
    shots = made.get("shots") or {}
    if isinstance(made.get("answer"), str):
        of_rows = {} if shots.get("examples") else compiled.shown
        made["answer"] = field("answer", made["answer"], of_rows)
    task = benchmark.task
    labels = task.labels if isinstance(task, Task) else None
    known = {"cue": made.get("cue", ""), "labels": labels}
    for key in ("instructions", "system"):  # the same for all, so without columns
        text = made.get(key)
        if isinstance(text, str):
            fixed = _compiled(key, text)(known) if is_template(text) else text
            made[key] = _escaped(str(fixed))
    if shots.get("examples"):
        examples = [
            {**each, **{own: evaluate(each) for own, evaluate in evaluated.items()}}
            for each in shots["examples"]
        ]
        made["shots"] = {**shots, "examples": examples}
    return made


@contextmanager
def _named(key: str) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(f"prompt.{key}: {error}") from error


def _compiled(key: str, text: str) -> Evaluate:
    """Compile a template to a function whose errors name the key."""
    with _named(key):
        evaluate = compile_expression(text, "jinja", native=False)
    return _named(key)(evaluate)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
