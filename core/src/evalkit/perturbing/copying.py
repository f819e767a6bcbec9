"""Makes the changed copies of an example, by one perturbation or several in a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.base.violations import shorten
from evalkit.edits import Edit, find_difference
from evalkit.errors import EvalkitError, PluginError, SchemaError
from evalkit.perturbing.names import identity_of, row_suffix
from evalkit.perturbing.rng import LazyRandom
from evalkit.perturbing.steps import (
    Changed,
    LabelEffect,
    Scope,
    Settings,
    State,
    Step,
    changed_tags,
    effect_of,
    joint_effect,
    read_effect,
)
from evalkit.perturbing.texts import Place, text_at, with_text
from evalkit.plugins.bound import BoundPerturbation, BoundTask


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
        """Return what was done to each changed text, by where it is.

        Returns:
            By the name of the field, with the place in a list of texts in brackets.
        """
        found = {}
        for place, edits in self.edits.items():
            before, after = text_at(self.original, place), text_at(self.row, place)
            if before != after:
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
        has_labels: Whether the data set says itself which labels its answers are.

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
        has_labels: bool = False,
    ) -> None:
        self.steps = tuple(steps)
        named = _named_settings(steps, settings)
        self.identity = identity_of(
            [(step.component.name, step.changed_parameters) for step in steps],
            {key: named[key] for key in ("fields", "unprotected") if key in named},
        )
        self.suffix = row_suffix([step.component.name for step in steps], named)
        self._settings = settings
        scope = _scope(task, settings, answer_field, has_labels)
        self._task = scope.task
        self._is_whole = scope.is_whole
        self._answer_field = answer_field
        self._steps = [Step(step, scope) for step in steps]
        self._is_one_copy = settings.variants == 1 and not any(
            step.may_branch for step in self._steps
        )
        self._seeding = [step.seeds_itself for step in self._steps]
        self._drawing = [step.draws for step in self._steps]
        self._edits_answers = any(step.edits_answers for step in self._steps)
        self._is_plain = self._is_one_copy and len(self._steps) == 1
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

    def copies(
        self, example: Mapping[str, Any], uid: str, tags: Sequence[str] | None = None
    ) -> Iterable[Copy]:
        """Make the changed copies of an example.

        Args:
            example: Its fields; they are not changed.
            uid: Its id.
            tags: Its tags, where they are not a field.

        Returns:
            Copies that differ from the original and from each other.

        Raises:
            PluginError: A perturbation failed, or returned something else; it may be
                raised while the copies are taken.
        """
        if not self._is_plain:
            return self._all_copies(example, uid, tags)
        # what most commands do, by a shorter way
        changed = self._steps[0].changed_texts(example, self._rng_of(0, uid, 0), uid)
        if not changed or (self._edits_answers and self._is_of_answer(changed)):
            return ()
        return (self._plain_copy(example, uid, tags, changed),)

    def _is_of_answer(self, changed: Sequence[Changed]) -> bool:
        """Tell whether the answer is all that is changed."""
        return all(place.field == self._answer_field for place, *_ in changed)

    def _all_copies(
        self, example: Mapping[str, Any], uid: str, tags: Sequence[str] | None
    ) -> Iterator[Copy]:
        seen: list[Mapping[str, Any]] = [example]
        number = 0
        start = State(example, example, {})
        for variant in range(self._settings.variants):
            for state in self._states(start, uid, variant):
                number += 1
                if state is start or state.row in seen:
                    continue
                if self._is_answer_only(state.row, example):
                    continue
                if not self._is_one_copy:
                    seen.append(state.row)
                yield self._finish(state, uid, tags, number)

    def _is_answer_only(
        self, row: Mapping[str, Any], example: Mapping[str, Any]
    ) -> bool:
        """Tell whether nothing is changed that a model is asked."""
        names = {*row, *example} - {self._answer_field}
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
            if place.item is None:
                row[place.field] = after
            else:
                with_text(row, place, after)
            edits[place] = made
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
        if earlier is None and not _COLUMNS.isdisjoint(example):
            _refuse_own_columns(example, uid)
        name = f"{uid}_{self.suffix}"
        row["uid"] = name if number == 1 else f"{name}_{number}"
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
        before = read_effect(earlier.get("label_effect"))
        row["label_effect"] = joint_effect([before, self._label_effect])
        families = earlier.get("families")
        known = families if isinstance(families, list | tuple) else ()
        row["families"] = [family for family in self._families if family in known]


_COLUMNS = frozenset(("perturbation", "label_effect", "families"))
_OTHER_COLUMNS = ("input_id", "tags", "edits")


def _refuse_own_columns(example: Mapping[str, Any], uid: str) -> None:
    """Refuse to write over what an original calls like the columns of copies."""
    for name in sorted(_COLUMNS):
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


def _scope(
    task: BoundTask | None,
    settings: Settings,
    answer_field: str | None,
    has_labels: bool,
) -> Scope:
    name = "" if task is None else task.component.name
    own = () if task is None else task.perturb_fields
    fields = tuple(own) if settings.fields is None else settings.fields
    if not fields:
        raise PluginError(
            f"the task {name or '(none)'} does not say which fields a perturbation "
            "changes; name them (fields=, --fields)"
        )
    _refuse_fields(settings.fields or (), answer_field)
    is_whole = set(own) <= {*fields}
    has_labels = has_labels or task is None or task.labels is not None
    return Scope(name, fields, is_whole, answer_field, not has_labels, settings)


def _refuse_fields(fields: Sequence[str], answer_field: str | None) -> None:
    """Refuse what is no input of a model."""
    for name in fields:
        if name == answer_field:
            raise EvalkitError(
                f"the field {name!r} holds the answer, which only a perturbation that "
                "changes answers may change, by itself; name fields of the input"
            )
        if name in (*EXAMPLE_ID_KEYS, *_OTHER_COLUMNS, *_COLUMNS):
            raise EvalkitError(
                f"the field {name!r} is not part of what a model is asked; name fields "
                "of the input"
            )


def _named_settings(
    steps: Sequence[BoundPerturbation], settings: Settings
) -> dict[str, Any]:
    """Return all settings that are not at their default, as JSON values."""
    parameters = [dict(step.changed_parameters) for step in steps]
    named = {
        "parameters": parameters if any(parameters) else None,
        "fields": None if settings.fields is None else list(settings.fields),
        "seed": settings.seed or None,
        "unprotected": sorted(settings.unprotected) or None,
    }
    return {name: value for name, value in named.items() if value is not None}
