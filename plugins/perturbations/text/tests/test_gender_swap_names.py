"""`gender-swap`: names, tags of hate speech, and what holds on any text."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_commands_perturb import apply_edits, checked_edits
from evalkit_perturbations_text.gender.contexts import gendered_words
from evalkit_perturbations_text.gender.swap import GenderSwap, GenderSwapParameters
from evalkit_perturbations_text.names.counterparts import (
    counterparts,
    group_of,
    nearest_in_rank,
    region_of,
    unmarked_names,
)
from evalkit_perturbations_text.names.country_names import country_names
from evalkit_perturbations_text.names.groups import PAIRED, name_group
from evalkit_perturbations_text.names.lists import (
    common_first_names,
    first_names,
    rank_of,
)

PLUGIN = GenderSwap()
WORDS_ONLY = GenderSwap(GenderSwapParameters(names=False))


def swap(*texts: str, plugin: GenderSwap = PLUGIN, seed: int = 0) -> list[str]:
    found = plugin.find_edits(list(texts), Random(seed))
    return [
        apply_edits(text, checked_edits(text, edits))
        for text, edits in zip(texts, found, strict=True)
    ]


def test_name_of_the_other_gender() -> None:
    (text,) = swap("Mary lost her hat.")
    name, rest = text.split(" ", 1)
    assert rest == "lost his hat."
    assert first_names()[name.lower()] == "male"
    (back,) = swap("James lost his hat.")
    assert first_names()[back.split()[0].lower()] == "female"


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("name", "locale", "rest"),
    [
        ("Tomasz", "pl_PL", "lost his keys."),
        ("Inês", "pt_PT", "lost her keys."),
        ("Priya", "en_IN", "lost her keys."),
        ("Jurgen", "de_DE", "lost his keys."),
        ("Wanjiku", "en_KE", "lost her keys."),
    ],
)
def test_name_of_the_same_country(name: str, locale: str, rest: str, seed: int) -> None:
    women, men, _ = country_names(locale)
    (text,) = swap(f"{name} {rest}", seed=seed)
    new, after = text.split(" ", 1)
    assert new in (men if "her" in rest else women)
    assert after == rest.replace("her", "*").replace("his", "her").replace("*", "his")


def test_every_replacement_is_of_the_group_of_its_name() -> None:
    rng = Random(5)
    for name, gender in first_names().items():
        if gender == "either":
            continue
        group = region_of(group_of(name))
        first = next(
            counterparts(name, "male" if gender == "female" else "female", rng)
        )
        if group in PAIRED:
            assert first in {*name_group(group).female, *name_group(group).male}
        else:
            assert region_of(group_of(first.lower())) == group, (name, first)


def test_all_names_of_a_country_are_offered_once() -> None:
    found = [*counterparts("tomasz", "female", Random(3))]
    assert len(found) == len(set(found)) > 30
    assert set(found) <= set(country_names("pl_PL").female)
    assert all(first_names()[name.lower()] == "female" for name in found)


def test_one_name_has_one_replacement_in_all_texts() -> None:
    question, answer, lower = swap(
        "Mary saw Ann. MARY and Mary's dog, Republican Mary ran.", "Mary", "mary"
    )
    assert question.count(answer) == 3
    assert question.count(answer.upper()) == 1
    assert lower == answer.lower()
    assert f"{answer} saw {answer}" not in question


def test_capitals_are_kept() -> None:
    (text,) = swap("MARY LOVES HER DOG")
    assert text.isupper()
    assert "MARY" not in text
    assert text.endswith("LOVES HIS DOG")


def test_replacements_depend_on_the_seed() -> None:
    assert len({swap("Mary left.", seed=seed)[0] for seed in range(50)}) > 5
    assert swap("Mary left.", seed=7) == swap("Mary left.", seed=7)


def test_replacements_are_about_as_frequent() -> None:
    first = next(nearest_in_rank("mary", "male", Random(1)))
    assert first in unmarked_names("male")[:20]
    assert rank_of("mary") == 0
    assert rank_of("liam") > 190
    order = list(nearest_in_rank("brenda", "male", Random(2)))
    assert sorted(order) == sorted(unmarked_names("male"))


@pytest.mark.parametrize("name", ["Taylor", "Jordan", "Alex", "Kim", "Casey", "Zzyzx"])
def test_names_of_both_genders_stay(name: str) -> None:
    assert swap(f"{name} lost her hat.") == [f"{name} lost his hat."]


def test_share_of_examples() -> None:
    half = GenderSwap(GenderSwapParameters(names=False, prob=0.5))
    texts = ["He saw her.", "She saw him."]
    found = [swap(*texts, plugin=half, seed=seed) for seed in range(200)]
    assert all(new in (texts, ["She saw him.", "He saw her."]) for new in found)
    assert 60 < sum(new == texts for new in found) < 140


def test_tag_of_the_target() -> None:
    original = {"uid": "1", "statement": "I like women.", "tags": []}
    perturbed = {**original, "statement": "I like men."}
    tags = ["functionality:f1", "target:women", "target:Muslims", "target:", "women"]
    assert PLUGIN.change_tags(tags, original, perturbed, "hs") == [
        "functionality:f1",
        "original-target:women",
        "target:Muslims",
        "target:",
        "women",
    ]
    assert PLUGIN.change_tags(tags, original, perturbed, "nli") == tags
    assert PLUGIN.change_tags(tags, original, dict(original), "hs") == tags


def test_declarations() -> None:
    assert PLUGIN.families == {"fairness"}
    assert PLUGIN.label_effect == {
        "hs": "uncertain",
        "qa": "transforms",
        "*": "invariant",
    }
    assert not common_first_names() & gendered_words() - {"guy"}


PRONOUN_SENTENCES = st.lists(
    st.sampled_from(
        [
            "He saw her.",
            "She lost her keys.",
            "His is red; hers is blue.",
            "I gave him the book and told her that it was his.",
            "HE HURT HIMSELF.",
            "Their mother and his father left.",
            "Is it hers?",
            "It rained.",
            "Himself? No, herself!",
        ]
    ),
    min_size=1,
).map(" ".join)


@given(PRONOUN_SENTENCES)
def test_twice_restores(text: str) -> None:
    once = swap(text, plugin=WORDS_ONLY)
    assert swap(*once, plugin=WORDS_ONLY) == [text]


MIXED = st.lists(
    st.sampled_from(
        [
            *("her", "his", "Her", "HIS", "he", "him", "Mary", "James'", "Will", "May"),
            *("Mr", ".", ",", "'", "’", "-", "/", "(", '"', "“", "\n", "and", "or"),
            *("own", "last", "week", "3", "man", "miss", "Sir", "ma'am", "Lord"),
            *("guys", "will", "be", "home", "to", "very", "É", "İ", "ﬁ"),
        ]
    ),
    max_size=12,
)


@given(MIXED, st.sampled_from(["", " "]))
def test_any_sequence_has_valid_edits(words: list[str], blank: str) -> None:
    text = blank.join(words)
    (edits,) = PLUGIN.find_edits([text], Random(0))
    assert len(checked_edits(text, edits)) == len(edits)


PLAIN = st.text(alphabet="abcdefghijklmnopqrstuvwxyz ,.'-\n", max_size=80)


@given(PLAIN)
def test_no_gendered_word_no_edit(text: str) -> None:
    import re

    words = set(re.findall(r"\w+", text))
    if words & gendered_words():
        return
    assert PLUGIN.find_edits([text], Random(0)) == [[]]
