"""Laws of what a perturbation makes of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evalkit_commands_perturb import PROTECTED_KINDS, protected_spans
from evalkit_testing.laws import LawBroken
from evalkit_testing.perturbations.drawing import TAGS, UID
from evalkit_testing.perturbations.subjects import texts_by_name
from evalkit_testing.perturbations.trials import PerturbationTrial

_OF_CORE = (UID, TAGS, "input_id", "perturbation", "edits")
"""Fields of a copy that are no texts of its author."""


def check_works(trial: PerturbationTrial) -> None:
    """Any text gives a text, and nothing is raised."""
    for made in trial.copies:
        for field in trial.subject.target.fields:
            before, after = trial.example.get(field), made.get(field)
            for kind in (str, (list, tuple)):
                if isinstance(before, kind) and not isinstance(after, kind):
                    raise LawBroken(f"the field {field!r} became {after!r}")


def check_inputs(trial: PerturbationTrial) -> None:
    """What a hook is given is not changed."""
    subject = trial.subject
    instance = subject.fresh()
    arguments = instance.arguments(trial.example, trial.seed)
    if not arguments["texts"]:
        return
    instance.call(subject.hook, arguments)


class _Text(NamedTuple):
    """A text of a copy, and what is said of it."""

    name: str
    before: str
    after: str
    edits: list[tuple[int, int, str]]


def _texts(trial: PerturbationTrial, made: Mapping[str, Any]) -> Iterator[_Text]:
    """Return the texts of a copy whose edits are told, also those without any."""
    own = [name for name in trial.example if name not in _OF_CORE]
    fields = dict.fromkeys([*own, *trial.subject.target.fields])
    # perturb_example sets lists as a whole, of which edits are not told
    lists = trial.subject.hook != "perturb_example"
    after = texts_by_name(made, fields, lists)
    for name, before in texts_by_name(trial.example, fields, lists).items():
        if name in after:
            edits = [
                (start, end, new) for start, end, new in made["edits"].get(name, ())
            ]
            yield _Text(name, before, after[name], edits)


def check_edits(trial: PerturbationTrial) -> None:
    """Outside of the edits that are told a copy is its original."""
    for made in trial.copies:
        for text in _texts(trial, made):
            built = _rebuilt(text)
            if built != text.after:
                raise LawBroken(
                    f"the field {text.name} became {text.after!r}, but its edits "
                    f"{text.edits} give {built!r}"
                )


def _rebuilt(text: _Text) -> str:
    """Make a text of the original's pieces and the new ones, from the end."""
    built = text.before
    following = len(built)
    for start, end, new in reversed(text.edits):
        if not 0 <= start <= end <= following:
            raise LawBroken(
                f"the edits {text.edits} of the field {text.name} overlap, are not in "
                f"order, or are outside of its {len(text.before)} characters"
            )
        built = built[:start] + new + built[end:]
        following = start
    return built


def check_protected(trial: PerturbationTrial) -> None:
    """Numbers, addresses, code, mark-up and placeholders stay."""
    if not trial.subject.attributes["protects"]:
        return
    for made in trial.copies:
        for text in _texts(trial, made):
            if not text.edits:
                continue
            spans = protected_spans(text.before, frozenset(PROTECTED_KINDS))
            for start, end in spans:
                _refuse_edits_of(text, start, end)


def _refuse_edits_of(text: _Text, start: int, end: int) -> None:
    for first, last, new in text.edits:
        if first < end and last > start:
            raise LawBroken(
                f"{text.before[start:end]!r} in the field {text.name} is protected, "
                f"and {text.before[first:last]!r} became {new!r}; leave it alone, or "
                "set protects = False"
            )
