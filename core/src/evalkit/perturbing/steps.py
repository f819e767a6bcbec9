"""Applies one perturbation to an example, in whichever way it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from evalkit.base.violations import shorten
from evalkit.edits import Edit, checked_edits, compose, find_difference, make_edits
from evalkit.errors import PluginError
from evalkit.perturbing.spans import (
    PROTECTED_KINDS,
    ProtectedKind,
    outside,
    protected_spans,
)
from evalkit.perturbing.texts import Place, find_texts, text_at, with_text
from evalkit.plugins.bound import BoundPerturbation

LabelEffect = Literal["invariant", "transforms", "uncertain"]

_LISTS = (list, tuple)

_EFFECTS: tuple[LabelEffect, ...] = ("invariant", "transforms", "uncertain")
"""From the one that says most about the answer to the one that says least."""


class Settings(NamedTuple):
    """How examples are perturbed; the same for all perturbations of a command."""

    seed: int = 0
    variants: int = 1
    """How many copies are made of each example, as far as they differ."""
    fields: tuple[str, ...] | None = None
    """Fields to change; None for the task's."""
    unprotected: tuple[ProtectedKind, ...] = ()
    """What may be changed although it is protected otherwise."""

    @property
    def protected(self) -> frozenset[ProtectedKind]:
        """What is not changed."""
        return frozenset(PROTECTED_KINDS) - {*self.unprotected}


class Scope(NamedTuple):
    """What the perturbations of a command are told of the examples."""

    task: str
    """Name of the task; "" where there is none."""
    fields: tuple[str, ...]
    """Fields to change."""
    is_whole: bool
    """Whether these are all fields that the task names."""
    answer_field: str | None
    """The field that holds the answer, where there is one."""
    answers_are_texts: bool
    """Whether answers are written in words of the text, and not labels of a set."""
    settings: Settings


class State(NamedTuple):
    """An example between two steps."""

    row: Mapping[str, Any]
    original: Mapping[str, Any]
    edits: Mapping[Place, Sequence[Edit] | None]
    """Edits of the original's texts so far; None where only the texts are known."""

    def with_fields(self, changed: Mapping[str, Any]) -> State:
        """Return the state after some fields were set as a whole."""
        row = {**self.row, **changed}
        edits = {
            place: found
            for place, found in self.edits.items()
            if place.field not in changed
        }
        for field in changed:
            for place in _same_places(field, self.original.get(field), row[field]):
                edits[place] = None
        return State(row, self.original, edits)


def _same_places(field: str, before: Any, after: Any) -> Iterator[Place]:
    """Return the places of texts that a field had and has."""
    if isinstance(before, str) and isinstance(after, str):
        yield Place(field)
    is_list = isinstance(before, list | tuple) and isinstance(after, list | tuple)
    if is_list and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if isinstance(old, str) and isinstance(new, str):
                yield Place(field, number)


Changed = tuple[Place, str, Sequence[Edit] | None]
"""What a step makes of a text: its place, the new text, and the edits; None where only
the text is known. A plain tuple, as it takes a third of the time of a named one."""


class Step:
    """One perturbation and the way in which it is written.

    Args:
        bound: The perturbation.
        scope: What it is told of the examples.

    Attributes:
        seeds_itself: Whether the perturbation seeds its own generator.
    """

    def __init__(self, bound: BoundPerturbation, scope: Scope) -> None:
        self._bound = bound
        self._scope = scope
        self._protected: frozenset[ProtectedKind] = frozenset()
        if bound.protects:
            self._protected = scope.settings.protected
        self._fields = scope.fields
        answer = scope.answer_field
        changes_answers = effect_of(bound, scope.task) == "transforms"
        # the answer is still that of the fields that are left as they are
        changes_answers = changes_answers and scope.is_whole
        if answer and scope.answers_are_texts and changes_answers:
            self._fields = tuple(dict.fromkeys((*scope.fields, answer)))
        self._places = [Place(field) for field in self._fields]
        self.seeds_itself = bound.has("make_rng")
        ways = ("perturb_example", "find_edits", "perturb")
        self._hook = next(hook for hook in ways if bound.has(hook))
        self._call = bound.row_function(self._hook)
        self._call_on = _text_function(bound, self._hook, scope.task)

    @property
    def may_branch(self) -> bool:
        """Whether it may give several copies of an example."""
        return self._hook == "perturb_example"

    @property
    def edits_answers(self) -> bool:
        """Whether the answer is among the texts that it edits."""
        return self._scope.answer_field in self._fields

    @property
    def draws(self) -> bool:
        """Whether the perturbation takes a generator."""
        return "rng" in self._bound.arguments_of(self._hook)

    def make_rng(self, uid: str, variant: int) -> Random:
        """Let the perturbation seed its own generator.

        Args:
            uid: The example's id.
            variant: Which copy of it is made.

        Returns:
            The generator.

        Raises:
            PluginError: The perturbation failed, or returned something else.
        """
        seed = self._scope.settings.seed
        offered = {"seed": seed, "uid": uid, "variant": variant}
        rng = self._bound.ask("make_rng", "example", uid, offered)
        if not isinstance(rng, Random):
            raise _wrong(self._bound, "make_rng", "a random.Random", rng, uid)
        return rng

    def apply(self, state: State, rng: Random, uid: str) -> list[State]:
        """Return what becomes of an example; the same state where nothing is changed.

        Args:
            state: The example.
            rng: Where the perturbation's draws come from.
            uid: The example's id, for messages.

        Returns:
            One state, or several where the perturbation makes several copies.

        Raises:
            PluginError: The perturbation failed, or returned something else.
        """
        with self._bound.guard(self._hook, "example", uid):
            if self._hook == "perturb_example":
                return self._apply_to_example(state, rng, uid)
            return [self._apply_to_texts(state, rng, uid)]

    def _apply_to_example(self, state: State, rng: Random, uid: str) -> list[State]:
        found = self._call(
            example=dict(state.row),
            rng=rng,
            fields=self._fields,
            answer_field=self._scope.answer_field,
            task=self._scope.task,
        )
        if found is None:
            return [state]
        given = [found] if isinstance(found, Mapping) else found
        if not isinstance(given, list | tuple) or not all(
            isinstance(each, Mapping) for each in given
        ):
            raise self._wrong("a dict, a list of dicts or None", found, uid)
        return [state.with_fields(each) for each in given] or [state]

    def changed_texts(
        self, row: Mapping[str, Any], rng: Random, uid: str
    ) -> list[Changed]:
        """Return the texts of an example that are changed, and what becomes of them.

        Args:
            row: The example.
            rng: Where the perturbation's draws come from.
            uid: The example's id, for messages.

        Returns:
            What becomes of each changed text.

        Raises:
            PluginError: The perturbation failed, or returned something else.
        """
        with self._bound.guard(self._hook, "example", uid):
            found = find_texts(row, self._places)
            if not found:
                return []
            if self._hook == "perturb":
                return self._rewritten(found, rng, uid)
            edits = self._call_on([text for _, text in found], rng)
            if not isinstance(edits, _LISTS) or len(edits) != len(found):
                wanted = f"a list of edits for each of {len(found)} texts"
                raise self._wrong(wanted, edits, uid)
            changed: list[Changed] = []
            for (place, text), own in zip(found, edits, strict=True):
                if own:
                    after, kept = self._kept(text, own)
                    if kept:
                        changed.append((place, after, kept))
            return changed

    def _apply_to_texts(self, state: State, rng: Random, uid: str) -> State:
        changed = self.changed_texts(state.row, rng, uid)
        if not changed:
            return state
        row = dict(state.row)
        edits = dict(state.edits)
        for place, after, made in changed:
            with_text(row, place, after)
            edits[place] = _since_original(state, place, made)
        return State(row, state.original, edits)

    def _rewritten(
        self, found: Sequence[tuple[Place, str]], rng: Random, uid: str
    ) -> list[Changed]:
        changed: list[Changed] = []
        for place, text in found:
            new = self._call_on(text, rng)
            if not isinstance(new, str):
                raise self._wrong("a text", new, uid)
            if new == text:
                continue
            if not protected_spans(text, self._protected):
                changed.append((place, new, None))
                continue
            after, kept = self._kept(text, find_difference(text, new))
            if kept:
                changed.append((place, after, kept))
        return changed

    def _kept(self, text: str, edits: Iterable[Edit]) -> tuple[str, list[Edit]]:
        """Make the edits that touch nothing protected."""
        if spans := protected_spans(text, self._protected):
            edits = outside(checked_edits(text, edits), spans)
        return make_edits(text, edits)

    def _wrong(self, wanted: str, found: Any, uid: str) -> PluginError:
        return _wrong(self._bound, self._hook, wanted, found, uid)


def changed_tags(bound: BoundPerturbation, uid: str, **offered: Any) -> list[str]:
    """Ask a perturbation for the tags of a changed example.

    Args:
        bound: The perturbation.
        uid: The example's id.
        **offered: What its `change_tags` is called with.

    Returns:
        The changed example's tags.

    Raises:
        PluginError: The perturbation failed, or returned something else.
    """
    found = bound.ask("change_tags", "example", uid, offered)
    if not isinstance(found, _LISTS) or not all(isinstance(tag, str) for tag in found):
        raise _wrong(bound, "change_tags", "a list of texts", found, uid)
    return list(found)


def _wrong(
    bound: BoundPerturbation, hook: str, wanted: str, found: Any, uid: str
) -> PluginError:
    return PluginError(
        f"{bound.component.origin}: {hook} must return {wanted}, returned "
        f"{shorten(found)} for the example {uid!r}"
    )


def _text_function(
    bound: BoundPerturbation, hook: str, task: str
) -> Callable[..., Any]:
    """Return a hook as a function of texts and generator, by the shortest way."""
    function: Callable[..., Any] = getattr(bound.plugin, hook)
    names = bound.arguments_of(hook)
    if names[1:] == ("rng",):
        return function
    if len(names) == 1 and names[0] in ("text", "texts"):
        return lambda what, _rng: function(what)
    call = bound.row_function(hook)
    return lambda what, rng: call(text=what, texts=what, rng=rng, task=task)


def _since_original(
    state: State, place: Place, new: Sequence[Edit] | None
) -> Sequence[Edit] | None:
    """Join the edits of a step with those of the steps before it."""
    if place not in state.edits:
        return new
    earlier = state.edits[place]
    if earlier is None or new is None:
        return None
    return compose(text_at(state.original, place), earlier, new)


def effect_of(perturbation: BoundPerturbation, task: str) -> LabelEffect:
    """Return what a perturbation says that it does to the answers of a task.

    Args:
        perturbation: The perturbation.
        task: Name of the task.

    Returns:
        Its `label_effect` for the task or else for `*`; `uncertain` where it says
        nothing.
    """
    effects = perturbation.label_effect
    found: LabelEffect = effects.get(task, effects.get("*", "uncertain"))
    return found


def read_effect(found: Any) -> LabelEffect:
    """Read an effect that a row names; `uncertain` where it names none."""
    return next((effect for effect in _EFFECTS if effect == found), "uncertain")


def joint_effect(effects: Sequence[LabelEffect]) -> LabelEffect:
    """Return what several steps do to the answer together: the least certain."""
    return max(effects, key=_EFFECTS.index)
