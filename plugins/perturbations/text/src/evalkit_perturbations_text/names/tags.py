"""Tags of a copy that tell whose names it has now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from evalkit_perturbations_text.copy_texts import texts_of
from evalkit_perturbations_text.grammar.tokens import Tokens
from evalkit_perturbations_text.names.groups import NameGroup, group_problem, name_group

NAME_GROUP = "name-group:"
"""Beginning of the tag that names a group."""


def with_name_groups(
    tags: Sequence[str],
    original: Mapping[str, Any],
    copy: Mapping[str, Any],
    targets: Iterable[str],
    own: Mapping[str, NameGroup],
) -> list[str]:
    """Return the tags of a copy whose names were replaced."""
    changed = {**original, **copy}
    new = _capital_words(changed) - _all_words(original)
    left = _capital_words(original) & _all_words(changed)
    added = [
        NAME_GROUP + group
        for group in targets
        if not new.isdisjoint(_words_of(group, own))
    ]
    kept = [tag for tag in tags if tag not in added and _may_hold(tag, left, own)]
    return [*kept, *added]


def _may_hold(tag: str, words: frozenset[str], own: Mapping[str, NameGroup]) -> bool:
    """Tell whether a tag is of another kind, or of a group that has such a word."""
    group = tag.removeprefix(NAME_GROUP)
    if group == tag:
        return True
    is_known = group in own or not group_problem(group)
    return is_known and not words.isdisjoint(_words_of(group, own))


def _all_words(row: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(word for text in texts_of(row) for word in Tokens(text).lower)


def _capital_words(row: Mapping[str, Any]) -> frozenset[str]:
    """Return the words that may be names, in lower case."""
    forms = [form for text in texts_of(row) for form in Tokens(text).forms]
    capital = [form for form in forms if form[0].isupper()]
    return frozenset(form.lower() for form in capital or forms)


def _words_of(group: str, own: Mapping[str, NameGroup]) -> frozenset[str]:
    return _words_in(own[group] if group in own else name_group(group))


@lru_cache(maxsize=16)
def _words_in(names: NameGroup) -> frozenset[str]:
    """Return the words of all names of a group, in lower case."""
    return frozenset(
        word
        for name in (*names.female, *names.male, *names.last, *names.either)
        for word in Tokens(name).lower
        if word.isalpha()
    )
