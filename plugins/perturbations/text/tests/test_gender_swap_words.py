"""`gender-swap` without names: pairs of sentences, most of which hold both ways."""

from pathlib import Path
from random import Random

import pytest

from evalkit_commands_perturb import apply_edits, checked_edits
from evalkit_perturbations_text.gender.swap import GenderSwap, GenderSwapParameters

PLUGIN = GenderSwap(GenderSwapParameters(names=False))


def swap(text: str) -> str:
    (edits,) = PLUGIN.find_edits([text], Random(0))
    return apply_edits(text, checked_edits(text, edits))


UNCHANGED = """
I miss you.
Miss the bus and you walk.
I MISS YOU
We will miss Monday's class.
Man the boats!
They must man the lifeboats.
They had to man up.
Man, that hurts.
Oh man, it rains.
Yeah, man!
Boy, that hurt.
Oh boy!
Hey guys, listen.
You guys are great.
God and the Lord
Praise the Lord.
a manager, a human and a snowman
all mankind
the manhole, the mandate, the mandarin
Burger King and Dairy Queen
Stephen King wrote it.
King wrote it.
Martin Luther King, Jr. spoke.
Spider-Man and Iron Man
a man-made lake
no man's land
the Isle of Man
a bachelor's degree
a king-size bed
Mother Nature
We live in Queens.
The Kings lost again at Cowboys Stadium, and the Dallas Cowboys won.
They will groom the dog.
5 ms later
MS is a disease.
s/he
(s)he
he_2 and she3
he\u0301 and s\u200bhe
the cheetah, the theme, shell, where, this, history
Guy Fawkes met my friend Guy.
Notre Dame
MR scan
the Lord Mayor
ma and pa
It is theirs and ours.

123 !? …
"""


SENTENCES = Path(__file__).with_name("gender_swap_sentences.tsv")
ROWS = [
    tuple(line.replace("\\n", "\n").split("\t"))
    for line in SENTENCES.read_text("utf-8").splitlines()
]
"""A sentence, `=` where it swaps both ways and `>` where not, and what it becomes."""


def test_swaps() -> None:
    assert {first: swap(first) for first, _, _ in ROWS} == {
        first: second for first, _, second in ROWS
    }


def test_swaps_back() -> None:
    back = {first: swap(second) == first for first, _, second in ROWS}
    assert back == {first: kind == "=" for first, kind, _ in ROWS}


@pytest.mark.parametrize("text", UNCHANGED.strip("\n").split("\n"))
def test_leaves_alone(text: str) -> None:
    assert swap(text) == text
