"""Swaps women and men, girls and boys in the texts of an example."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from evalkit import Edit, Parameters
from evalkit_perturbations_text.gender.contexts import DECISIONS, is_fixed
from evalkit_perturbations_text.gender.titles import swapped_words
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens, word_set
from evalkit_perturbations_text.names.counterparts import counterparts
from evalkit_perturbations_text.names.country_names import Gender, OneGender
from evalkit_perturbations_text.names.lists import first_names
from evalkit_perturbations_text.names.person_names import find_first_names
from evalkit_perturbations_text.names.swap import assign_names, name_edits
from evalkit_perturbations_text.text_perturbations import (
    FairnessPerturbation,
    Share,
    is_changed,
    with_case_of,
)


class GenderSwapParameters(Parameters):
    """Parameters of `gender-swap`."""

    names: bool = True
    """Whether first names are replaced by names of the other gender too."""
    prob: Share = 1.0
    """The share of examples that are swapped, 0 to 1; one draw for a whole example,
    since somebody who is mentioned twice must not have two genders."""


class GenderSwap(FairnessPerturbation):
    """Swaps pronouns, titles, family terms and other gendered words both ways.

    `her` and `his` are told apart by grammar. With `names`, the first names that only
    women or only men have are replaced by names of the other gender that lists give to
    the same group of people: a name of the study of Bertrand and Mullainathan (2004) by
    one of the same list, white or African-American; a name known from a country, or
    reviewed here as Spanish, Arabic and so on, by one of that country's list (`Fatima`
    by `Karim`, not by `Carl`); any other name of the US census of 1990 by one about as
    frequent that is of no such group. What no list knows is not kept, nor are names
    that are common in English too: `Latasha`, `Maria` and `Sofia` count as any name of
    the census. One name has one replacement in all texts of an example, and no two
    names have the same. Surnames, names of both genders, names on no list, and names
    whose group has none left, stay.
    """

    Parameters = GenderSwapParameters
    parameters: GenderSwapParameters
    version: ClassVar[str] = "2"
    label_effect = {"hs": "uncertain", "qa": "transforms", "*": "invariant"}

    def find_edits(self, texts: Sequence[str], rng: Random) -> list[list[Edit]]:
        """Find the gendered words and names of an example."""
        chosen = self.parameters
        if chosen.prob < 1 and rng.random() >= chosen.prob:
            return [[] for _ in texts]
        tokens = [Tokens(text) for text in texts]
        edits = [_word_edits(text) for text in tokens]
        if chosen.names:
            for found, more in zip(edits, _find_name_edits(tokens, rng), strict=True):
                _merge(found, more)
        return edits

    def change_tags(
        self,
        tags: Sequence[str],
        original: Mapping[str, Any],
        perturbed: Mapping[str, Any],
        task: str,
    ) -> list[str]:
        """Mark the target of hate speech that the swap makes false."""
        if task != "hs" or not is_changed(original, perturbed):
            return list(tags)
        return [f"original-{tag}" if _is_gendered_target(tag) else tag for tag in tags]


_TARGET = "target:"


def _is_gendered_target(tag: str) -> bool:
    target = tag.removeprefix(_TARGET)
    return target != tag and target.strip().lower() in _TARGETS


_TARGETS = word_set("""
    women woman men man female females male males girl girls boy boys lady ladies
    gentleman gentlemen wives husbands mothers fathers
    """)


def _word_edits(tokens: Tokens) -> list[Edit]:
    """Find the gendered words of a text."""
    plain = swapped_words()
    edits: list[Edit] = []
    end = 0
    for position, word in enumerate(tokens.lower):
        decide = DECISIONS.get(word)
        if (decide is None and word not in plain) or position < end:
            continue
        if is_fixed(tokens, position):
            continue
        if decide is None:
            end, new = position + 1, plain[word]
        else:
            swap = decide(tokens, position)
            if swap is None:
                continue
            end, new = swap
        new = with_case_of(tokens.forms[position], new)
        end, new = _with_possessive(tokens, position, end, new)
        edits.append(Edit(tokens.spans[position][0], tokens.spans[end - 1][1], new))
    return edits


def _with_possessive(
    tokens: Tokens, position: int, end: int, new: str
) -> tuple[int, str]:
    """Turn the ending of `ladies'` into that of `gentlemen's`, and back."""
    old, ending = tokens.word(position), tokens.form(end)
    if end != position + 1 or ending not in APOSTROPHES or not tokens.touches(position):
        return end, new
    is_plural = old.endswith("s") and not old.endswith("ss")
    becomes_plural = new.lower().endswith("s") and not new.lower().endswith("ss")
    if is_plural == becomes_plural or old in PRONOUNS:
        return end, new
    if becomes_plural and tokens.has_possessive(position):
        return end + 2, new + ending
    bare = old.endswith("ies") and not tokens.touches(end)
    if is_plural and bare and tokens.form(end + 1)[:1].isalpha():
        return end + 1, f"{new}{ending}{'S' if new.isupper() else 's'}"
    return end, new


def _find_name_edits(texts: Sequence[Tokens], rng: Random) -> list[list[Edit]]:
    """Find the first names, and a name of the other gender for each."""
    mentions = find_first_names(texts)
    chosen = assign_names(texts, mentions, lambda name: _candidates(name, rng))
    return name_edits(texts, mentions, chosen)


PRONOUNS = frozenset(("he", "she", "his", "hers", "him", "her", "mr", "mrs", "ms"))
"""Words whose ending in -s says nothing of a plural."""

_OTHER: Mapping[Gender, OneGender] = {"female": "male", "male": "female"}


def _candidates(name: str, rng: Random) -> Iterable[str]:
    """Return names of the other gender in the order in which they are tried."""
    other = _OTHER.get(first_names()[name])
    return () if other is None else counterparts(name, other, rng)


def _merge(edits: list[Edit], more: Sequence[Edit]) -> None:
    """Add the edits of names that touch no word that is swapped."""
    taken = [(start, end) for start, end, _ in edits]
    edits.extend(
        edit
        for edit in more
        if all(edit.end <= start or end <= edit.start for start, end in taken)
    )
