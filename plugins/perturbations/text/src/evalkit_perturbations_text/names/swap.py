"""Swaps people's names for names of another group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, model_validator

from evalkit import DataError, Edit, Parameters
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens, article_edits
from evalkit_perturbations_text.names.country_names import Gender
from evalkit_perturbations_text.names.groups import (
    CENSUS,
    PAIRED,
    NameGroup,
    group_problem,
    name_group,
    read_names,
    with_name_groups,
)
from evalkit_perturbations_text.names.lists import first_names
from evalkit_perturbations_text.names.person_names import (
    Mention,
    find_first_names,
    find_last_names,
)
from evalkit_perturbations_text.names.recognition import (
    first_names_in,
    last_names_in,
    person_spans,
)
from evalkit_perturbations_text.text_perturbations import (
    FairnessPerturbation,
    Share,
    with_case_of,
)


def assign_names(
    texts: Sequence[Tokens],
    mentions: Sequence[Sequence[Mention]],
    candidates: Callable[[str], Iterable[str]],
) -> dict[str, str]:
    """Choose a replacement for each name."""
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for found in mentions:
        for mention in found:
            if mention.name in chosen:
                continue
            if not taken:
                taken.update(*(text.lower for text in texts))
            for name in candidates(mention.name):
                if name.lower() not in taken:
                    chosen[mention.name] = name
                    taken.add(name.lower())
                    break
    return chosen


def name_edits(
    texts: Sequence[Tokens],
    mentions: Sequence[Sequence[Mention]],
    chosen: Mapping[str, str],
) -> list[list[Edit]]:
    """Make the edits that replace names."""
    edits: list[list[Edit]] = []
    for text, found in zip(texts, mentions, strict=True):
        made: list[Edit] = []
        for mention in found:
            if mention.name in chosen:
                made += _edits_of(text, mention.position, chosen[mention.name])
        edits.append(made)
    return edits


def _edits_of(text: Tokens, position: int, name: str) -> list[Edit]:
    start, end = text.spans[position]
    form = text.forms[position]
    new = name.lower() if form.islower() else with_case_of(form, name)
    edits = article_edits(text, position, name)
    if _has_bare_apostrophe(text, position) and not new.lower().endswith("s"):
        end = text.spans[position + 1][1]
        new += text.forms[position + 1] + ("S" if new.isupper() else "s")
    return [*edits, Edit(start, end, new)]


def _has_bare_apostrophe(text: Tokens, position: int) -> bool:
    """Tell whether `James' book` has a possessive, and not the end of a quotation."""
    if not text.word(position).endswith("s") or not text.touches(position):
        return False
    if text.form(position + 1) not in APOSTROPHES or text.touches(position + 1):
        return False
    opened = any(
        text.forms[place] in "'‘" and not text.touches(place - 1)
        for place in range(position)
    )
    return not opened and text.form(position + 2)[:1].isalpha()


RULES = "rules"
"""Name of the recogniser that is built in."""


class NameSwapParameters(Parameters):
    """Parameters of `name-swap`."""

    source: str | None = None
    """The group whose names are replaced: `bertrand-mullainathan-2004-white` or
    `-black`, `us-census-1990`, or `country:` and one of Faker's locales, such as
    `country:en_IN`; without one every name that is recognised."""
    target: str | None = None
    """The group that replacements are from, one of the same. Without one: for first
    names one of the two groups of Bertrand and Mullainathan (2004), the one that no
    name of the example is in, else drawn; for surnames `us-census-1990`."""
    source_names: Path | None = None
    """A file with the names that are replaced, in place of `source`: one in each line,
    a first name with a tab and `female` or `male` behind it where that is not known."""
    target_names: Path | None = None
    """A file with the names that replacements are from, in place of `target`, of the
    same form; the group is called as the file is, without its ending."""
    kind: Literal["first", "last"] = "first"
    """Whether first names are replaced or surnames."""
    preserve_gender: bool = True
    """Whether a first name is replaced by one of the same gender only. A name of both
    genders goes by the example's pronouns, and stays if they do not tell."""
    prob: Share = 1.0
    """The share of names that are replaced, 0 to 1, one draw for each name."""
    recogniser: str = RULES
    """`rules`, or the name of an installed recogniser, which then finds the people."""

    @model_validator(mode="after")
    def _check_groups(self) -> NameSwapParameters:
        for group in (self.source, self.target):
            problem = "" if group is None else group_problem(group)
            if problem:
                raise ValueError(problem)
            if group and self.kind == "last" and not name_group(group).last:
                raise ValueError(
                    f"the group {group!r} has no surnames; choose {CENSUS!r} or a "
                    "country that has"
                )
        pairs = (("source", self.source, self.source_names),)
        for name, group, file in (*pairs, ("target", self.target, self.target_names)):
            if group is not None and file is not None:
                raise ValueError(f"{name} and {name}_names are two lists; give one")
            if file is not None and not group_problem(file.stem):
                raise ValueError(
                    f"{name}_names: {file.stem!r} is a group of this package; give the "
                    "file another name"
                )
        return self


class NameSwap(FairnessPerturbation):
    """Replaces the names of people by names of a group.

    A name has one replacement in all texts of an example, two names have two, and none
    is a word that is there already; names for which the group has none left, and names
    of the target group, stay. A copy has the tag `name-group:GROUP` of the group that
    its new names are from. Groups are published lists, countries, or files of your own:
    `name-swap:source_names=ours.txt,target_names=theirs.txt`, whose content is part of
    the identity of copies and runs.

    Raises:
        DataError: A file of names cannot be read, or a line of it is wrong.
    """

    Parameters = NameSwapParameters
    parameters: NameSwapParameters

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        self._own: dict[str, NameGroup] = {}
        needs_gender = chosen.kind == "first" and chosen.preserve_gender
        self._source = self._named(chosen.source, chosen.source_names)
        self._target = self._named(chosen.target, chosen.target_names, needs_gender)
        self._known = _known_names(
            *(self._group(name) for name in (self._source, self._target) if name)
        )

    def _named(
        self, group: str | None, file: Path | None, needs_gender: bool = False
    ) -> str | None:
        """Name a group, after reading it if it is a file of the user's."""
        if file is None:
            return group
        read = read_names(file, self.parameters.kind, needs_gender=needs_gender)
        if self._own.setdefault(file.stem, read) != read:
            raise DataError(
                f"{file}: both lists would be the group {file.stem!r}; give one of the "
                "files another name"
            )
        return file.stem

    def _group(self, name: str) -> NameGroup:
        return self._own[name] if name in self._own else name_group(name)

    def find_edits(self, texts: Sequence[str], rng: Random) -> list[list[Edit]]:
        """Find the names of an example, and a replacement for each."""
        tokens = [Tokens(text) for text in texts]
        mentions = self._find(tokens)
        named = sorted({mention.name for found in mentions for mention in found})
        if not named:
            return [[] for _ in texts]
        target = self._choose_target(named, rng)
        genders = _genders(tokens, mentions)
        wanted = {name for name in named if self._is_wanted(name, target, rng)}
        chosen = assign_names(
            tokens,
            mentions,
            lambda name: (
                self._candidates(genders[name], target, rng) if name in wanted else []
            ),
        )
        return name_edits(tokens, mentions, chosen)

    def change_tags(
        self,
        tags: Sequence[str],
        original: Mapping[str, Any],
        perturbed: Mapping[str, Any],
        task: str,
    ) -> list[str]:
        """Say whose names a copy has now."""
        return with_name_groups(tags, original, perturbed, self._targets(), self._own)

    def _targets(self) -> Sequence[str]:
        """Return the groups that replacements may be from."""
        if self._target is not None:
            return (self._target,)
        return (CENSUS,) if self.parameters.kind == "last" else PAIRED

    def _find(self, tokens: Sequence[Tokens]) -> list[list[Mention]]:
        chosen = self.parameters
        names = self._known
        if chosen.recogniser == RULES:
            if chosen.kind == "last":
                return find_last_names(tokens, names)
            return find_first_names(tokens, names)
        spans = person_spans(chosen.recogniser, [text.text for text in tokens])
        if chosen.kind == "last":
            places = [
                last_names_in(text, found)
                for text, found in zip(tokens, spans, strict=True)
            ]
            return [
                [Mention(place, text.word(place), "either") for place in found]
                for text, found in zip(tokens, places, strict=True)
            ]
        return [
            first_names_in(text, found, names)
            for text, found in zip(tokens, spans, strict=True)
        ]

    def _choose_target(self, named: Sequence[str], rng: Random) -> NameGroup:
        targets = self._targets()
        if len(targets) == 1:
            return self._group(targets[0])
        free = [
            group
            for group in targets
            if group != self._source
            and not set(named) & set(_first(self._group(group)))
        ]
        return self._group(rng.choice(free or targets))

    def _is_wanted(self, name: str, target: NameGroup, rng: Random) -> bool:
        chosen = self.parameters
        is_last = chosen.kind == "last"
        if not is_last and name in _first(target):
            return False
        if self._source is not None:
            group = self._group(self._source)
            names = _lower(group.last) if is_last else _first(group)
            if name not in names:
                return False
        return chosen.prob >= 1 or rng.random() < chosen.prob

    def _candidates(
        self, gender: Gender, target: NameGroup, rng: Random
    ) -> Sequence[str]:
        chosen = self.parameters
        names: Sequence[str]
        if chosen.kind == "last":
            names = target.last
        elif not chosen.preserve_gender:
            names = (*target.female, *target.male, *target.either)
        elif gender == "either":
            return ()
        else:
            names = target.female if gender == "female" else target.male
        return rng.sample(names, len(names))


@lru_cache(maxsize=16)
def _known_names(*groups: NameGroup) -> Mapping[str, Gender]:
    """Return who has which first name, with the names of groups."""
    known: dict[str, Gender] = {}
    for group in groups:
        known.update(dict.fromkeys(_lower(group.either), "either"))
        known.update(dict.fromkeys(_lower(group.female), "female"))
        known.update(dict.fromkeys(_lower(group.male), "male"))
    known.update(first_names())
    return known


def _lower(names: Sequence[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


@lru_cache(maxsize=16)
def _first(group: NameGroup) -> frozenset[str]:
    return _lower(group.female) | _lower(group.male) | _lower(group.either)


_FEMALE = frozenset(("she", "her", "hers", "herself"))
_MALE = frozenset(("he", "him", "his", "himself"))


def _genders(
    tokens: Sequence[Tokens], mentions: Sequence[Sequence[Mention]]
) -> dict[str, Gender]:
    """Return who has each name; the pronouns tell for a name of both genders."""
    words = frozenset().union(*(text.lower for text in tokens))
    female, male = not words.isdisjoint(_FEMALE), not words.isdisjoint(_MALE)
    fallback: Gender = "either"
    if female != male:
        fallback = "female" if female else "male"
    return {
        mention.name: fallback if mention.gender == "either" else mention.gender
        for found in mentions
        for mention in found
    }
