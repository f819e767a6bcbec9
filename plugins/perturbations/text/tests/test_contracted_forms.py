"""Contractions and expansions, and what they leave alone."""

from random import Random
from typing import Any

import pytest

from evalkit_commands_perturb import apply_edits, checked_edits
from evalkit_perturbations_text.wording.contractions import Contractions, Expansions


def change(kind: Any, text: str) -> str:
    (edits,) = kind().find_edits([text], Random(0))
    return apply_edits(text, checked_edits(text, edits))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She is a doctor, and I am a student.", "She's a doctor, and I'm a student."),
        ("He does not know. I do not.", "He doesn't know. I don't."),
        ("It is not good, and we will not go.", "It's not good, and we'll not go."),
        ("That will not do.", "That won't do."),
        ("Can not he? WILL NOT JOHN?", "Can't he? WON'T JOHN?"),
        ("He can not go.", "He can't go."),
        ("You cannot, she can not.", "You can't, she can't."),
        ("WE CANNOT GO. THEY WILL NOT.", "WE CAN'T GO. THEY WON'T."),
        ("Will not it rain? Do not go.", "Won't it rain? Don't go."),
        ("IT IS A DOG. I AM NOT.", "IT'S A DOG. I AM NOT."),
        (
            "They have been there and had not seen it.",
            "They've been there and hadn't seen it.",
        ),
        (
            "They would have gone, he has already eaten.",
            "They'd have gone, he's already eaten.",
        ),
        (
            "He will never be late. You are called.",
            "He'll never be late. You're called.",
        ),
        ("I asked what it is called.", "I asked what it's called."),
        ("Who is going? There is the car.", "Who's going? There's the car."),
        ("I’d say it is the end.", "I’d say it’s the end."),
        ("I'd say “it is the end”, didn’t I?", "I'd say “it's the end”, didn’t I?"),
    ],
)
def test_full_forms_are_drawn_together(text: str, expected: str) -> None:
    assert change(Contractions, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I know you are.",
        "She said that she is.",
        "He is taller than he is wide, and than you are good.",
        "Is he? Yes he is, and I am too.",
        "I know what he is today.",
        "This is NOT good.",
        "She IS a doctor.",
        "This is not only good, but cheap.",
        "Not so, and a not-so-good, is not-so-good thing.",
        "They have a car. She had a dog.",
        "How many loaves did they have left? He spent what he had left.",
        "Doing it is a mistake. The rest of it is the same.",
        "The need not to fail, the will not to eat.",
        "It  is a dog, it\nis a dog.",
        "I may not go. Am I not?",
        "We will see to it as you will tomorrow. Will, you would.",
    ],
)
def test_what_grammar_or_stress_forbids_stays(text: str) -> None:
    expected = text.replace("We will see", "We'll see")
    assert change(Contractions, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It isn't, isn't it?", "It is not, isn't it?"),
        (
            "He won't go. He can't. He shan't.",
            "He will not go. He cannot. He shall not.",
        ),
        ("WE WON'T GO AND CAN'T.", "WE WILL NOT GO AND CANNOT."),
        ("Don't go, please don't stop.", "Do not go, please do not stop."),
        ("I’m here and you’re not.", "I am here and you are not."),
        ("I'M HERE. IT'S THE DOG.", "I AM HERE. IT IS THE DOG."),
        (
            "They've gone; he'll come; John'll too.",
            "They have gone; he will come; John will too.",
        ),
        (
            "I should've known, and we shouldn't've gone.",
            "I should have known, and we should not have gone.",
        ),
        (
            "He can't've known. We won't've seen it.",
            "He cannot have known. We will not have seen it.",
        ),
        (
            "He's been there, it's raining, she's a friend.",
            "He has been there, it is raining, she is a friend.",
        ),
        (
            "He's never been there. That's not the end.",
            "He has never been there. That is not the end.",
        ),
        ("What's your name?", "What is your name?"),
        (
            "I'd better go. I'd like it. I'd seen it. I'd never go.",
            "I had better go. I would like it. I had seen it. I would never go.",
        ),
        ("Let's go. Let's not.", "Let us go. Let us not."),
        (
            "The car isn't the best, and Ann doesn't know.",
            "The car is not the best, and Ann does not know.",
        ),
        (
            "People who don't like it say it isn't that bad.",
            "People who do not like it say it is not that bad.",
        ),
        (
            "There isn't any. Which doesn't help.",
            "There is not any. Which does not help.",
        ),
        ("I went and didn't know.", "I went and did not know."),
        (
            "It's not good, and I don't care. He's not here. That's true.",
            "It is not good, and I do not care. He is not here. That is true.",
        ),
        ("They're not late, and it's not.", "They are not late, and it is not."),
        (
            "It's in town. She's happy. It's because he's late.",
            "It is in town. She is happy. It is because he is late.",
        ),
        ("She's got a car. It's very good.", "She has got a car. It is very good."),
        (
            "He so often isn't here; he's quite certainly not.",
            "He so often is not here; he's quite certainly not.",
        ),
        (
            "He's quite really going. PEOPLE CAN'T WAIT.",
            "He is quite really going. PEOPLE CANNOT WAIT.",
        ),
        ("The people who won't, John can't", "The people who will not, John cannot"),
    ],
)
def test_contractions_are_written_in_full(text: str, expected: str) -> None:
    assert change(Expansions, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Isn't it red?",
        "Why don't you come? Why isn't John here?",
        "Won't he come? Aren't the boys here? Isn't that good?",
        "How many cars aren't the boys buying? What doesn't John like?",
        "And didn't the man know?",
        "John's dog is Ann's. John's running.",
        "He's gone. He'd put it there. He's.",
        "He's not gone. It's not done. She's not become old. He's not even seen it.",
        "It's to go. That's John. It's gone.",
        "What's he doing? Where's she?",
        "Don't Stop Me Now",
        "And don't they know? Don't! So isn't it.",
        "Which doesn't the man like? Who won't John see?",
        "He ain't here, y'all, at six o'clock, rock 'n' roll, the '90s.",
        "I'd've gone. She'd a dog. Let's. It'm.",
        "No apostrophe is here.",
        "You know, don't you?",
    ],
)
def test_questions_possessives_and_what_is_not_certain_stay(text: str) -> None:
    assert change(Expansions, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "She is a doctor, and I am a student.",
        "They do not know what it is. It is a car.",
        "WE WILL NOT GO.",
        "You are the best, and he will be late.",
    ],
)
def test_there_and_back_again(text: str) -> None:
    short = change(Contractions, text)
    assert short != text
    assert change(Expansions, short) == text
