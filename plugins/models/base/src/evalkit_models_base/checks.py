"""Refuses prompts that do not fit the data or the model, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from evalkit import Registry
from evalkit.errors import DataError
from evalkit_models_base.choosing import NO_EXTRACTOR, Shown, choices_name
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.prompts import OWN_FIELDS, Form, Prompt
from evalkit_models_base.rendering import Renderer
from evalkit_models_base.templates import fields_of, value_at, written

_MOST = 0.5
"""Share of the examples without a value from which on a user is told."""


def refuse_fields_of_nobody(
    names: Iterable[str],
    rows: Sequence[Mapping[str, Any]],
    mapped: Mapping[str, str] | None = None,
) -> None:
    """Refuse fields of a template that no example has a value for."""
    for name in names:
        if not rows or _lacking(name, rows) < len(rows):
            continue
        why = "".join(
            f", as --map {field}={column} reads that column as {field!r}"
            for field, column in (mapped or {}).items()
            if column == name
        )
        raise DataError(
            f"no example has a value for {{{name}}}{why}; `evalkit inputs` shows what "
            "there is to name"
        )


def notices_of_empty(
    names: Iterable[str], rows: Sequence[Mapping[str, Any]], what: str
) -> tuple[str, ...]:
    """Say which fields most examples have no value for."""
    found = [(name, _lacking(name, rows)) for name in names]
    return tuple(
        f"{name!r}, which {what}, is empty in {count:,} of {len(rows):,} examples"
        for name, count in found
        if count > _MOST * len(rows)
    )


def _lacking(name: str, rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(_is_empty(name, row) for row in rows)


def _is_empty(name: str, row: Mapping[str, Any]) -> bool:
    found = value_at(name, row)
    if isinstance(found, str):
        return not found.strip()
    return found is None or found == [] or found == {}


_COMMON = ("labels", "cue")


def renderer(
    prompt: Prompt,
    name: str,
    inputs: ModelInputs,
    abilities: Sequence[str],
    registry: Registry | None = None,
    mapped: Mapping[str, str] | None = None,
    kind: str | None = None,
) -> Renderer:
    """Check that a prompt fits a data set, and return what makes requests."""
    form = prompt.form or _form_for(prompt, abilities, kind)
    try:
        _check_fields(prompt, inputs)
        _check_parts(prompt, inputs, form)
        _check_cue(prompt, form)
        refuse_fields_of_nobody(prompt.fields(), inputs.rows, mapped)
    except DataError as error:
        raise DataError(f"{name}: {error}") from error
    made = Renderer(prompt, name, form, inputs)
    check_rows(made)
    _check_extractor(made, registry)
    return made


def _form_for(prompt: Prompt, abilities: Sequence[str], kind: str | None) -> Form:
    if prompt.uses_continuations or kind == "base":
        return "text" if "text" in abilities or "chat" not in abilities else "chat"
    return "chat" if "chat" in abilities else "text"


def _check_fields(prompt: Prompt, inputs: ModelInputs) -> None:
    """Refuse templates that name what there is not."""
    own = {*OWN_FIELDS} - {"letter", "choice"}
    own |= {"choice"} if prompt.method == "ranking" else set()
    known = list(dict.fromkeys((*inputs.keys, *sorted(own))))
    templates = {"query": prompt.query}
    for number, turn in enumerate(prompt.turns):
        templates[f"turns.{number}.content"] = turn.content
    for key, template in templates.items():
        _refuse_unknown(key, template, known)
    for key, text in (
        ("instructions", prompt.instructions),
        ("system", prompt.system or ""),
    ):
        _refuse_unknown(key, text, _COMMON, "is the same for all examples, and ")
    fields_of(prompt.answer)
    # an option may be the whole text
    is_scored = prompt.uses_continuations and choices_name(prompt, inputs) is not None
    if not is_scored and not any(name not in _COMMON for name in prompt.named()):
        raise DataError(
            "query names no field of the input, so that all examples would be asked "
            f"the same; write one of {_listed(f'{{{key}}}' for key in inputs.keys)}"
        )


def _refuse_unknown(
    key: str, template: str, known: Sequence[str], why: str = ""
) -> None:
    from difflib import get_close_matches

    for field in fields_of(template):
        root = field.partition(".")[0]
        if root not in known:
            near = get_close_matches(root, known, n=1)
            hint = f"; did you mean {{{near[0]}}}?" if near else ""
            raise DataError(
                f"{key} {why}names {{{field}}}, and there is "
                f"{_listed(f'{{{name}}}' for name in known)}{hint}"
            )


def _check_parts(prompt: Prompt, inputs: ModelInputs, form: Form) -> None:
    named = prompt.named()
    if "labels" in named and inputs.labels is None:
        raise DataError(
            f"it names {{labels}}, and {inputs.task} has none; write them out"
        )
    asks_options = prompt.method not in ("generation", "language-modelling")
    if asks_options or "choices" in named:
        _check_options(prompt, inputs)
    if prompt.turns and (form == "text" or prompt.one_message):
        raise DataError(
            "turns are of a chat, and the model is sent one text; write them into the "
            "query, or say form: chat for a model that can chat"
        )
    if "cue" in named and not prompt.cue:
        raise DataError("it names {cue}, and there is none; write it in cue")
    if prompt.method == "joint" and "choices" not in named:
        raise DataError(
            "the method joint asks for a letter, and the query does not list the "
            "options; write {choices} into it"
        )
    if prompt.method == "ranking" and "choice" not in named:
        raise DataError(
            "the method ranking asks about one option at a time, and the query does "
            "not show it; write {choice} into it"
        )
    if prompt.method == "joint" and "{letter}" not in prompt.choices.line:
        raise DataError(
            "the method joint asks for a letter, and choices.line writes none; write "
            "{letter} into it"
        )
    _check_generation(prompt)
    if prompt.method == "calibrated" and not (prompt.calibration or prompt.cue):
        raise DataError(
            "the method calibrated compares with the cue alone, and there is none; "
            "write it in cue, or another text in calibration"
        )


def _check_generation(prompt: Prompt) -> None:
    """Refuse what would change nothing of what is asked, or be read in part only."""
    said = prompt.generate.model_dump(exclude_defaults=True)
    if prompt.uses_continuations and said:
        raise DataError(
            f"generate says {_listed(said)}, and the method {prompt.method} generates "
            "nothing; leave it out"
        )
    if prompt.method == "language-modelling":
        for key in ("prefix", "suffix", "substitutions"):
            if getattr(prompt, key):
                raise DataError(
                    f"{key} changes the text whose probability is asked for by the "
                    f"method {prompt.method}; leave it out"
                )
    if prompt.method != "joint" or not prompt.generate.logprobs:
        return
    if prompt.generate.completions > 1:
        raise DataError(
            f"generate.completions is {prompt.generate.completions}, and letters by "
            "their probability are read of one; leave out generate.completions or "
            "generate.logprobs"
        )


def _check_options(prompt: Prompt, inputs: ModelInputs) -> None:
    name = choices_name(prompt, inputs)
    if name is None and inputs.labels is None:
        raise DataError(
            f"it asks for choices, and {inputs.task} has neither labels nor options; "
            "name the field that holds a list of texts in choices.field"
        )
    if name is not None and name not in inputs.keys:
        raise DataError(
            f"choices.field is {name!r}, and there is {_listed(inputs.keys)}"
        )


def _check_cue(prompt: Prompt, form: Form) -> None:
    if prompt.cue or form == "chat" or prompt.uses_continuations:
        return
    if prompt.shots.spare is not None:  # as in lm-eval, whose queries hold a cue
        return
    if prompt.method == "joint" or prompt.shots.wanted:
        what = "a letter is asked for" if prompt.method == "joint" else "it has shots"
        raise DataError(
            f"cue is missing: {what} in a text that a model continues, and nothing "
            "tells where an answer begins; write, for example, cue: 'Answer:'"
        )


def _check_extractor(made: Renderer, registry: Registry | None) -> None:
    """Refuse an extractor that the task does not fit, or whose cue nobody says."""
    prompt, inputs = made.prompt, made.inputs
    if prompt.extract in (None, NO_EXTRACTOR):
        return
    if prompt.uses_continuations:
        raise DataError(
            f"{made.name}: extract takes an answer out of a text, and the method "
            f"{prompt.method} has no text to read; leave it out"
        )
    from evalkit_adapters_rows import extraction

    has_own, has_labels = inputs.choices_field is not None, inputs.labels is not None
    try:
        found = extraction(prompt.extract, registry)
        found.refuse_unfit(inputs.task, choices=has_own, labels=has_labels)
    except DataError as error:
        raise DataError(f"{made.name}: extract: {error}") from error
    parts = [part for row in inputs.rows[:1] for part in made.render(row).parts]
    said = [prompt.cue, *parts]
    plain = " ".join(" ".join(said).split()).casefold()
    for stage in found.specification:
        cue = (stage.get("configuration") or {}).get("cue")
        if stage["kind"] != "after" or not isinstance(cue, str):
            continue
        if " ".join(cue.split()).casefold() not in plain:
            raise DataError(
                f"{made.name}: extract looks for {cue!r}, and the prompt never asks "
                f"for it; write {cue!r} into the instructions, or take the stage out "
                "of extract"
            )


def check_rows(made: Renderer) -> None:
    """Refuse a prompt that cannot be filled for some example."""
    prompt, asks_options = made.prompt, made.shows_options
    fields = prompt.fields()
    for row in made.inputs.rows:
        shown = made.shown(row) if asks_options else None
        try:
            for field in fields:
                written(field, row)
            if prompt.method == "joint" and shown is not None:
                _check_choice(prompt, shown)
            if prompt.method == "language-modelling" and not made.query(row):
                raise DataError("its text is empty, and has no probability")
        except DataError as error:
            raise made.about(row, error) from error


def _check_choice(prompt: Prompt, shown: Shown) -> None:
    if len(shown.options) < 2:
        raise DataError("it has one option, and a choice needs two")
    if not prompt.generate.logprobs:
        return
    letters = sorted(letter.strip() for letter in shown.letters)
    for letter, further in pairwise(letters):
        if further.startswith(letter):
            raise DataError(
                f"the first token of {further!r} may be {letter!r}, so that the "
                "probability of either is not known; use other choices.letters, or "
                "leave out generate.logprobs"
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
