"""Makes the changed copies of an example, by one perturbation or several in a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from evalkit import Edit
from evalkit.base.copies import LABEL_EFFECTS, LabelEffect, joint_effect
from evalkit.base.violations import shorten
from evalkit.catalog import BoundPerturbation, BoundTask
from evalkit.errors import SchemaError
from evalkit.plugins.bound import Converting
from evalkit.plugins.provenance import parameter_files
from evalkit_commands_perturb.edits import find_difference
from evalkit_commands_perturb.names import identity_of, row_suffix
from evalkit_commands_perturb.rng import LazyRandom
from evalkit_commands_perturb.scopes import OF_COPIES, Settings, scope_of
from evalkit_commands_perturb.states import Changed, State
from evalkit_commands_perturb.steps import Step, TextRandom, changed_tags, effect_of
from evalkit_commands_perturb.texts import Place, text_at, with_text


class Example(NamedTuple):
    """An example that is to be perturbed."""

    uid: str
    row: Mapping[str, Any]
    tags: Sequence[str] | None = None
    """Its tags, where they are not a field of the row."""


class Change(NamedTuple):
    """What was done to one text."""

    before: str
    after: str
    edits: Sequence[Edit]


class Copy(NamedTuple):
    """A changed copy of an example."""

    row: dict[str, Any]
    """The original's fields, some changed, with `uid`, `input_id`, `perturbation`."""
    original: Mapping[str, Any]
    edits: Mapping[Place, Sequence[Edit] | None]

    def changes(self) -> dict[str, Change]:
        """Return what was done to each changed text, by where it is."""
        found = {}
        for place, edits in self.edits.items():
            before, after = text_at(self.original, place), text_at(self.row, place)
            if before is not None and after is not None and before != after:
                known = find_difference(before, after) if edits is None else edits
                found[str(place)] = Change(before, after, known)
        return found


class Perturber:
    """One perturbation, or several one after the other, bound to a task.

    Args:
        steps: The perturbations.
        task: The task of the examples; None where they have none.
        settings: Seed, variants, fields and what is not protected.
        answer_field: The field that holds the answer, where there is one.
        labels: The answers that the data set says itself that its examples may have, as
            they are stored; None for the task's labels.
        converter: Whose method makes the answers, where no field holds them.

    Attributes:
        steps: The same.
        identity: The names of the steps with those parameters that are not at their
            default, joined by `+`, then in braces the fields and what is not protected
            where the user chose them; what the column `perturbation` holds.
        suffix: What is appended to an original's uid.

    Raises:
        PluginError: Neither the settings nor the task say which fields to change.
    """

    def __init__(
        self,
        steps: Sequence[BoundPerturbation],
        task: BoundTask | None,
        settings: Settings,
        answer_field: str | None = None,
        labels: Sequence[str] | None = None,
        converter: Converting | None = None,
    ) -> None:
        self.steps = tuple(steps)
        named = _named_settings(steps, settings)
        self.identity = identity_of(
            [(step.component.name, step.changed_parameters) for step in steps],
            {key: named[key] for key in ("fields", "unprotected") if key in named},
        )
        self.suffix = row_suffix([step.component.name for step in steps], named)
        self._settings = settings
        scope = scope_of(task, settings, answer_field, labels, converter)
        self._task = scope.task
        self._is_whole = scope.is_whole
        self._answer_field = answer_field
        self._input = None if task is None else frozenset(task.Input.model_fields)
        self._steps = [Step(step, scope) for step in steps]
        self._is_one_copy = settings.variants == 1 and not any(
            step.may_branch for step in self._steps
        )
        self._seeding = [step.seeds_itself for step in self._steps]
        self._drawing = [step.draws for step in self._steps]
        self._edits_answers = any(step.edits_answers for step in self._steps)
        self._is_batched = any(step.batch_texts for step in self._steps)
        is_single = self._is_one_copy and len(self._steps) == 1
        self._is_plain = is_single and not self._is_batched
        self._checks = self._steps[0].checks
        self._retagging = [step for step in steps if step.has("change_tags")]
        self._rng = LazyRandom()
        self._families = sorted(self.families)
        self._label_effect = self.label_effect

    @property
    def families(self) -> frozenset[str]:
        """The families that all steps belong to."""
        found = [frozenset(step.families) for step in self.steps]
        return frozenset.intersection(*found)

    @property
    def label_effect(self) -> LabelEffect:
        """What it does to the answer: the least certain that a step says.

        Where fields of the task are left as they are, nobody knows whether an answer
        changes with the others.
        """
        found = joint_effect([effect_of(step, self._task) for step in self.steps])
        return found if self._is_whole or found == "invariant" else "uncertain"

    @property
    def batch(self) -> int:
        """How many examples are best perturbed together; 1 where none are."""
        return max(1, *(step.batch_texts for step in self._steps))

    def copies_of(self, examples: Sequence[Example]) -> list[Iterable[Copy]]:
        """Make the changed copies of some examples."""
        if self._is_plain:
            return [self._copies_of_plain(*example) for example in examples]
        if self._is_batched:
            return self._copies_together(examples)
        return [self._all_copies(example) for example in examples]

    def _copies_of_plain(
        self, uid: str, example: Mapping[str, Any], tags: Sequence[str] | None
    ) -> Sequence[Copy]:
        """Make what most commands make, by a shorter way."""
        changed = self._steps[0].changed_texts(example, self._rng_of(0, uid, 0), uid)
        if not changed or (self._edits_answers and self._is_of_answer(changed)):
            return ()
        return (self._plain_copy(example, uid, tags, changed),)

    def _is_of_answer(self, changed: Sequence[Changed]) -> bool:
        """Tell whether the answer is all that is changed."""
        return all(place.field == self._answer_field for place, *_ in changed)

    def _all_copies(self, example: Example) -> Iterator[Copy]:
        start = State(example.row, example.row, {})
        variants = range(self._settings.variants)
        made = (self._states(start, example.uid, variant) for variant in variants)
        return self._distinct(example, start, made)

    def _copies_together(self, examples: Sequence[Example]) -> list[Iterable[Copy]]:
        """Make copies of which a step wants the texts of all examples at once."""
        starts = [State(example.row, example.row, {}) for example in examples]
        made: list[list[list[State]]] = [[] for _ in examples]
        for variant in range(self._settings.variants):
            states = [[start] for start in starts]
            for place, step in enumerate(self._steps):
                if step.batch_texts:
                    states = self._apply_to_all(place, examples, states, variant)
                    continue
                for number, (uid, *_) in enumerate(examples):
                    rng = self._rng_of(place, uid, variant)
                    before = states[number]
                    states[number] = [
                        new for each in before for new in step.apply(each, rng, uid)
                    ]
            for found, new_ones in zip(made, states, strict=True):
                found.append(new_ones)
        return [
            self._distinct(example, start, found)
            for example, start, found in zip(examples, starts, made, strict=True)
        ]

    def _apply_to_all(
        self,
        place: int,
        examples: Sequence[Example],
        states: Sequence[Sequence[State]],
        variant: int,
    ) -> list[list[State]]:
        """Let a step change the texts of all states of all examples."""
        owners = [
            (examples[number].uid, branch)
            for number, own in enumerate(states)
            for branch in range(len(own))
        ]
        flat = [state for own in states for state in own]
        rng_of = self._text_random(place, owners, variant)
        uids = [uid for uid, _ in owners]
        changed = iter(self._steps[place].apply_to_all(flat, uids, rng_of))
        return [[next(changed) for _ in own] for own in states]

    def _text_random(
        self, place: int, owners: Sequence[tuple[str, int]], variant: int
    ) -> TextRandom:
        """Return what makes the generator of a text, whatever else is in its batch."""
        step = self._steps[place]

        def rng_of(number: int, text: Place) -> Random:
            uid, branch = owners[number]
            if self._seeding[place]:
                return step.make_rng(uid, variant)
            rng = LazyRandom()
            key = (self._settings.seed, self.identity, place, uid, variant)
            rng.start(*key, str(text), branch)
            return rng

        return rng_of

    def _distinct(
        self, example: Example, start: State, made: Iterable[Sequence[State]]
    ) -> Iterator[Copy]:
        """Return the copies that differ from their original and each other."""
        uid, row, tags = example
        seen: list[Mapping[str, Any]] = [row]
        number = 0
        for states in made:
            for state in states:
                number += 1
                if state is start or state.row in seen:
                    continue
                if self._is_answer_only(state.row, row):
                    continue
                if not self._is_one_copy:
                    seen.append(state.row)
                yield self._finish(state, uid, tags, number)

    def _is_answer_only(
        self, row: Mapping[str, Any], example: Mapping[str, Any]
    ) -> bool:
        """Tell whether nothing is changed that a model is asked."""
        # a field that neither the example has nor the task knows is asked of nobody
        added = row.keys() - example.keys()
        names = {*example} | (added if self._input is None else added & self._input)
        names -= {self._answer_field}
        return all(row.get(name) == example.get(name) for name in names)

    def _states(self, start: State, uid: str, variant: int) -> list[State]:
        states = [start]
        for place, step in enumerate(self._steps):
            rng = self._rng_of(place, uid, variant)
            states = [new for state in states for new in step.apply(state, rng, uid)]
        return states

    def _rng_of(self, step: int, uid: str, variant: int) -> Random:
        if self._seeding[step]:
            return self._steps[step].make_rng(uid, variant)
        if self._drawing[step]:
            self._rng.start(self._settings.seed, self.identity, step, uid, variant)
        return self._rng

    def _finish(
        self, state: State, uid: str, tags: Sequence[str] | None, number: int
    ) -> Copy:
        row = self._named(dict(state.row), state.original, uid, tags, number)
        return Copy(row, state.original, state.edits)

    def _plain_copy(
        self,
        example: Mapping[str, Any],
        uid: str,
        tags: Sequence[str] | None,
        changed: Sequence[Changed],
    ) -> Copy:
        row = {**example}
        edits = {}
        for place, after, made in changed:
            if place.path:
                with_text(row, place, after)
            else:
                row[place.field] = after
            edits[place] = made
        if self._checks.concern_texts:
            self._checks.refuse(example, row, uid)
        return Copy(self._named(row, example, uid, tags, 1), example, edits)

    def _named(
        self,
        row: dict[str, Any],
        example: Mapping[str, Any],
        uid: str,
        tags: Sequence[str] | None,
        number: int,
    ) -> dict[str, Any]:
        """Return a changed row its own id and tags, and its original's id."""
        if tags is not None:
            row["tags"] = list(tags)
        for step in self._retagging:
            now = changed_tags(
                step,
                uid,
                tags=_tags_of(row, uid),
                original=example,
                perturbed=row,
                task=self._task,
            )
            if now or "tags" in row:
                row["tags"] = now
        earlier = example.get("input_id")
        if earlier is None and not OF_COPIES.isdisjoint(example):
            _refuse_own_columns(example, uid)
        name = f"{uid}_{self.suffix}"
        row["uid"] = name if number == 1 else f"{name}_{number}"
        if str(row.get("id")) == uid:  # what a model echoes has to name the copy
            row["id"] = row["uid"]
        row["input_id"] = uid if earlier is None else earlier
        row["perturbation"] = self.identity
        row["label_effect"] = self._label_effect
        row["families"] = [*self._families]
        if earlier is not None:
            self._join(row, example)
        return row

    def _join(self, row: dict[str, Any], earlier: Mapping[str, Any]) -> None:
        """Say what this and an earlier command did together."""
        if not earlier.get("perturbation"):
            return
        row["perturbation"] = f"{earlier['perturbation']}+{self.identity}"
        known_effects = [e for e in LABEL_EFFECTS if e == earlier.get("label_effect")]
        before = known_effects[0] if known_effects else "uncertain"
        row["label_effect"] = joint_effect([before, self._label_effect])
        families = earlier.get("families")
        known = families if isinstance(families, list | tuple) else ()
        row["families"] = [family for family in self._families if family in known]


def _refuse_own_columns(example: Mapping[str, Any], uid: str) -> None:
    """Refuse to write over what an original calls like the columns of copies."""
    for name in sorted(OF_COPIES):
        if example.get(name) is not None:
            raise SchemaError(
                f"the example {uid!r}: {name}: copies say under this name what "
                "perturbed them, and the example has something else there; give the "
                "field another name"
            )


def _tags_of(row: Mapping[str, Any], uid: str) -> list[str]:
    tags = row.get("tags")
    if tags is None:
        return []
    if not isinstance(tags, list | tuple) or not all(isinstance(t, str) for t in tags):
        raise SchemaError(
            f"the example {uid!r}: tags: must be a list of texts, found {shorten(tags)}"
        )
    return list(tags)


def _named_settings(
    steps: Sequence[BoundPerturbation], settings: Settings
) -> dict[str, Any]:
    """Return all settings that are not at their default, as JSON values."""
    parameters = [dict(step.changed_parameters) for step in steps]
    files = [parameter_files(step) for step in steps]
    named = {
        "parameters": parameters if any(parameters) else None,
        "files": files if any(files) else None,
        "fields": None if settings.fields is None else list(settings.fields),
        "seed": settings.seed or None,
        "unprotected": sorted(settings.unprotected) or None,
    }
    return {name: value for name, value in named.items() if value is not None}
