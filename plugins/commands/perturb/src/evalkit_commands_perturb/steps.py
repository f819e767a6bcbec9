"""Applies one perturbation to an example, in whichever way it is written."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from evalkit import Edit
from evalkit.base.copies import LabelEffect, effect_on
from evalkit.base.terms import storable
from evalkit.base.violations import shorten
from evalkit.catalog import BoundPerturbation
from evalkit.errors import PluginError
from evalkit.reporting import count_of
from evalkit_commands_perturb.checks import CopyChecks
from evalkit_commands_perturb.edits import checked_edits, find_difference, make_edits
from evalkit_commands_perturb.scopes import Scope
from evalkit_commands_perturb.spans import ProtectedKind, outside, protected_spans
from evalkit_commands_perturb.states import Changed, State
from evalkit_commands_perturb.texts import Place, find_texts, read_path

_LISTS = (list, tuple)

WAYS = ("perturb_example", "find_edits", "perturb_batch", "perturb")
"""The hooks of which a perturbation implements one; of several the first is called."""

BATCH = "perturb_batch"


TextRandom = Callable[[int, Place], Random]
"""Makes the generator of a text from the number of its example and its place."""


class Step:
    """One perturbation and the way in which it is written.

    Args:
        bound: The perturbation.
        scope: What it is told of the examples.

    Attributes:
        seeds_itself: Whether the perturbation seeds its own generator.
        checks: What a copy must keep.
    """

    def __init__(self, bound: BoundPerturbation, scope: Scope) -> None:
        self._bound = bound
        self._scope = scope
        self._protected: frozenset[ProtectedKind] = frozenset()
        if bound.protects:
            self._protected = scope.settings.protected
        self._fields = scope.fields
        answer = scope.answer_field
        effect = effect_of(bound, scope.task)
        # the answer is still that of the fields that are left as they are
        changes_answers = effect == "transforms" and scope.is_whole
        if answer and scope.answers_are_texts and changes_answers:
            self._fields = tuple(dict.fromkeys((*scope.fields, answer)))
        self._paths = [read_path(field) for field in self._fields]
        self.seeds_itself = bound.has("make_rng")
        self._hook = next(hook for hook in WAYS if bound.has(hook))
        self._call = bound.row_function(self._hook)
        self._call_on = _text_function(bound, self._hook, scope.task)
        self.checks = CopyChecks(bound, self._hook, scope, effect, self._paths)

    @property
    def batch_texts(self) -> int:
        """The most texts that it takes at a time; 0 where it takes single examples."""
        return self._bound.batch_texts if self._hook == BATCH else 0

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
        return not {"rng", "rngs"}.isdisjoint(self._bound.arguments_of(self._hook))

    def make_rng(self, uid: str, variant: int) -> Random:
        """Let the perturbation seed its own generator."""
        seed = self._scope.settings.seed
        offered = {"seed": seed, "uid": uid, "variant": variant}
        rng = self._bound.call("make_rng", ("example", uid), **offered)
        if not isinstance(rng, Random):
            raise _wrong(self._bound, "make_rng", "a random.Random", rng, uid)
        return rng

    def apply(self, state: State, rng: Random, uid: str) -> list[State]:
        """Return the changed state of an example; the same one if nothing changed."""
        if self._hook != "perturb_example":
            return [
                self._with_texts(state, self.changed_texts(state.row, rng, uid), uid)
            ]
        with self._bound.guard(self._hook, "example", uid):
            made = self._apply_to_example(state, rng, uid)
        for new in made:
            self.checks.refuse(state.row, new.row, uid)
        return made

    def _with_texts(self, state: State, changed: Sequence[Changed], uid: str) -> State:
        new = state.with_texts(changed)
        if changed and self.checks.concern_texts:
            self.checks.refuse(state.row, new.row, uid)
        return new

    def _apply_to_example(self, state: State, rng: Random, uid: str) -> list[State]:
        found = self._call(
            # it may change the lists and dicts in it, which are also the original's
            example=copy.deepcopy(dict(state.row)),
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
        for path in (key for each in given for key in each if key in self._fields):
            if path not in state.row and {*path} & {*".["}:
                raise self._wrong(f"whole fields and not {path!r}", found, uid)
        return [state.with_fields(each) for each in given] or [state]

    def changed_texts(
        self, row: Mapping[str, Any], rng: Random, uid: str
    ) -> list[Changed]:
        """Return the texts of an example that are changed, and what becomes of them."""
        with self._bound.guard(self._hook, "example", uid):
            found = find_texts(row, self._paths)
            if not found:
                return []
            if self._hook == "perturb":
                return [
                    change
                    for place, text in found
                    if (new := self._call_on(text, rng)) != text
                    if (change := self._rewritten(place, text, new, uid))
                ]
            edits = self._call_on([text for _, text in found], rng)
            if not isinstance(edits, _LISTS) or len(edits) != len(found):
                wanted = f"a list of edits for each of {len(found)} texts"
                raise self._wrong(wanted, edits, uid)
            changed: list[Changed] = []
            for (place, text), own in zip(found, edits, strict=True):
                if own:
                    after, kept = self._kept(text, self._edits_in(own, uid))
                    if kept:
                        self._refuse_half_pairs(text, after, uid)
                        changed.append((place, after, kept))
            return changed

    def apply_to_all(
        self, states: Sequence[State], uids: Sequence[str], rng_of: TextRandom
    ) -> list[State]:
        """Return what becomes of several examples, whose texts are given together."""
        found = [
            (number, place, text)
            for number, state in enumerate(states)
            for place, text in find_texts(state.row, self._paths)
        ]
        changed: list[list[Changed]] = [[] for _ in states]
        for start in range(0, len(found), self.batch_texts):
            some = found[start : start + self.batch_texts]
            first = uids[some[0][0]]
            subject = f"batch of {count_of(len(some), 'text')} from the example"
            with self._bound.guard(BATCH, subject, first):
                texts = [text for _, _, text in some]
                rngs = [rng_of(number, place) for number, place, _ in some]
                given = self._call_on(texts, rngs if self.draws else ())
                if not isinstance(given, _LISTS) or len(given) != len(some):
                    wanted = f"a list of {count_of(len(some), 'text')}"
                    raise self._wrong(wanted, given, first)
            for (number, place, text), new in zip(some, given, strict=True):
                change = self._rewritten(place, text, new, uids[number])
                if change:
                    changed[number].append(change)
        return [
            self._with_texts(*each) for each in zip(states, changed, uids, strict=True)
        ]

    def _rewritten(self, place: Place, text: str, new: Any, uid: str) -> Changed | None:
        """Return what becomes of a text; None where nothing that may be changed is."""
        if not isinstance(new, str):
            raise self._wrong("a text (as it is where nothing changes)", new, uid)
        self._refuse_half_pairs(text, new, uid)
        if new == text:
            return None
        if not protected_spans(text, self._protected):
            return place, new, None
        after, kept = self._kept(text, find_difference(text, new))
        return (place, after, kept) if kept else None

    def _refuse_half_pairs(self, text: str, new: str, uid: str) -> None:
        """Refuse a text that no file can hold, unless the original is one."""
        if not new.isascii() and storable(new) != new and storable(text) == text:
            raise self._wrong("a text without half surrogate pairs", new, uid)

    def _kept(self, text: str, edits: Iterable[Edit]) -> tuple[str, list[Edit]]:
        """Make the edits that touch nothing protected."""
        if spans := protected_spans(text, self._protected):
            edits = outside(checked_edits(text, edits), spans)
        return make_edits(text, edits)

    def _edits_in(self, given: Any, uid: str) -> list[Edit]:
        """Return edits, each of two integers and a text, as far as types say it."""
        edits = [*given]
        for edit in edits:
            if len(edit) != len(Edit._fields) or not isinstance(edit[2], str):
                raise self._wrong("edits of start, end and text", edit, uid)
        return edits

    def _wrong(self, wanted: str, found: Any, uid: str) -> PluginError:
        return _wrong(self._bound, self._hook, wanted, found, uid)


def changed_tags(bound: BoundPerturbation, uid: str, **offered: Any) -> list[str]:
    """Ask a perturbation for the tags of a changed example."""
    found = bound.call("change_tags", ("example", uid), **copy.deepcopy(offered))
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
    if names[1:] in (("rng",), ("rngs",)) and names[0] in ("text", "texts"):
        return function
    if len(names) == 1 and names[0] in ("text", "texts"):
        return lambda what, _rng: function(what)
    call = bound.row_function(hook)
    return lambda what, rng: call(text=what, texts=what, rng=rng, rngs=rng, task=task)


def effect_of(perturbation: BoundPerturbation, task: str) -> LabelEffect:
    """Return what a perturbation says that it does to the answers of a task.

    Args:
        perturbation: The perturbation.
        task: Name of the task.

    Returns:
        Its `label_effect` for the task or else for `*`; `uncertain` if there is
        neither.
    """
    return effect_on(perturbation.label_effect, task)
