"""What perturbations may not touch stays, in thousands of texts of all sorts.

The checker shares nothing with the code that makes the edits: it builds each copy from
the original and the edits that are told, and looks for the pieces that the generator
put into the text.
"""

import contextlib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from evalkit import find_components
from evalkit.plugins.registry import Registry
from evalkit_commands_perturb import perturb

MANY = 3_000

PERTURBATIONS = sorted(
    component.name
    for component in find_components().components
    if component.kind == "perturbations"
)
PROTECTED = (
    *("3.5%", "10:30", "16", "2,000", "1984", "-4", "21st", "$4.50", "1/2", "B2B"),
    *("https://example.org/Is?this=1&That#it", "http://localhost:8000/a_b"),
    *("www.example.com/People", "anna.smith@example.org", "/usr/local/bin/her"),
    *("`is_not(she)`", "```\nfor he in him:\n    pass\n```"),
    *("<b>", "</b>", "<br/>", "&amp;", "&#39;", "\\textbf"),
    *("{name}", "{{her}}", "[MASK]", "<name>", "%s", "%(his)s", "$name", "@user"),
)
WORD_LIKE = ("isn't", "isn’t", "U.S.", "can't", "e.g.", "o'clock", "Dr.")
"""What is no gendered word, name of a person, or word that a dialect spells apart."""
LEAVE_WORD_LIKE = ("dialect", "gender-swap", "name-swap", "helm-gender-terms")
"""Those that have no reason to change these."""

ENGLISH = """
she he her him his hers herself himself Mrs Mr woman men girls father queen Anna John
Mary May Mark Will the The a an and of people because different received government
colour center big small do not cannot I am You are like think maybe apple car red LOUD
naïve Straße ΟΔΟΣ İstanbul ﬁne
"""
PHRASES = (
    *("They do not know that it is here.", "We are not in the small center, and I am."),
    *("They don't know. She isn't here.", "I'm sure that we can't. It's his."),
)
WORDS = (*ENGLISH.split(), *PHRASES, *PHRASES)
STRANGE = (
    *("\U0001f469\u200d\U0001f467", "\U0001f1fa\U0001f1f8", "❤️", "e\u0301", "\u0301"),
    *("\ud800", "\x00", "\u200b", "\ufeff", "שלום", "مرحبا", "日本", "\u202e", "ǅ"),
)
GAPS = (" ", " ", " ", " ", " ", "  ", "\n", "\t", "\u00a0", ", ", ". ", "? ", " — ")
AROUND = (" ", " ", "  ", "\n", ", ", " (")
"""What stands around the pieces that are looked for: they do not melt into others."""

FULL_STRENGTH: Mapping[str, str] = {
    **{name: ":prob=1.0" for name in ("dialect", "name-swap", "helm-typos")},
    "helm-filler-words": ":insert_prob=1.0",
    "suffix": ":suffix=pixel art",
    "helm-suffix": ":suffix=pixel art",
    "uppercase-words": ":every=1",
}
CONTRAST = {
    "contrast_inputs": ["It was bad.", {"statement": "He was there."}],
    "contrast_answers": ["negative", "neutral"],
}
WRITES_ANEW = ("checklist-minimum", "contrast-sets")
"""Those that put another text in the place of the original."""
AS_IN_HELM = "helm-"
"""Begins the names of those that protect nothing, as the program they come from."""


def any_unicode(random: Random) -> str:
    """Draw a few assigned code points, lone surrogates among them."""
    found: list[str] = []
    while len(found) < 4:
        sign = chr(random.randrange(0x11_0000))
        if unicodedata.category(sign) != "Cn" and sign not in "`<>{}[]%$@&\\/":
            found.append(sign)
    return "".join(found)


def draw_text(random: Random) -> tuple[str, list[str]]:
    """Draw a text, and give the pieces in it that are looked for, in order."""
    planted: list[str] = []
    text = ""
    for _ in range(random.randint(1, 12)):
        kind = random.random()
        if kind < 0.25:
            piece = random.choice((*PROTECTED, *WORD_LIKE))
            planted.append(piece)
            before = random.choice(AROUND[:-1] if piece.startswith("/") else AROUND)
            text += f"{before}{piece}{random.choice(AROUND)}"
        elif kind < 0.8:
            text += random.choice(WORDS) + random.choice(GAPS)
        elif kind < 0.95:
            text += random.choice(STRANGE) + random.choice(GAPS)
        else:
            text += f" {any_unicode(random)} "
    return text, planted


def draw_rows(count: int) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """Draw rows, and the planted pieces of each by uid."""
    random = Random(5)
    rows, planted = [], {}
    for number in range(count):
        text, pieces = draw_text(random)
        row = {"uid": str(number), "statement": text, "label": "positive"}
        rows.append({**row, **CONTRAST} if number % 10 == 0 else row)
        planted[str(number)] = pieces
    return rows, planted


def rebuild(text: str, edits: Sequence[Sequence[Any]]) -> str:
    """Build a copy: what is outside of the edits comes from the original."""
    starts = [start for start, _, _ in edits]
    ends = [end for _, end, _ in edits]
    assert all(0 <= start <= end <= len(text) for start, end, _ in edits)
    places = [place for start, end, _ in edits for place in (start, end)]
    assert all(one <= following for one, following in pairwise(places))
    between = zip([0, *ends], [*starts, len(text)], strict=True)
    kept = [text[last:first] for last, first in between]
    new = [*(piece for _, _, piece in edits), ""]
    return "".join(old + piece for old, piece in zip(kept, new, strict=True))


def missing(pieces: Sequence[str], text: str) -> Iterator[str]:
    """Give the pieces that are not in a text, in this order."""
    place = 0
    for piece in pieces:
        found = text.find(piece, place)
        if found < 0:
            yield piece
        else:
            place = found + len(piece)


def full_strength(name: str, lexicon: str) -> str:
    """Name a perturbation with the parameters that make it change the most."""
    if name in FULL_STRENGTH:
        return name + FULL_STRENGTH[name]
    parameter = {"synonyms": "lexicon", "word-swap": "mapping"}.get(name)
    own = {} if parameter is None else {parameter: lexicon}
    parameters = Registry().load("perturbations", name, own).parameters
    fields = {} if parameters is None else type(parameters).model_fields
    strong = {"prob": "1.0"} if "prob" in fields else {}
    given = ",".join(f"{key}={value}" for key, value in {**own, **strong}.items())
    return f"{name}:{given}" if given else name


def check(name: str, count: int, lexicon: str) -> None:
    """Perturb texts at full strength and check every copy."""
    rows, planted = draw_rows(count)
    before = {row["uid"]: dict(row) for row in rows}
    made = 0
    task, strong = "sentiment", full_strength(name, lexicon)
    for copy in perturb(rows, strong, task=task, edits=True):
        made += 1
        uid = copy["input_id"]
        original, changed = before[uid]["statement"], copy["statement"]
        edits = copy["edits"].get("statement", [])
        assert rebuild(original, edits) == changed, (original, changed, edits)
        if name in WRITES_ANEW:
            continue
        assert original != changed
        assert copy["label"] == before[uid]["label"]
        wanted = [
            piece
            for piece in planted[uid]
            if (piece in WORD_LIKE and name in LEAVE_WORD_LIKE)
            or (piece in PROTECTED and not name.startswith(AS_IN_HELM))
        ]
        assert not list(missing(wanted, changed)), (original, changed)
    assert {row["uid"]: row for row in rows} == before
    assert made >= count / 30, f"{name} changed only {made} of {count} texts"


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("lexicon")
    lines = ["big\tlarge,huge", "small\tlittle", "car\tvehicle", "is\texists"]
    (folder / "words.tsv").write_text("\n".join(lines), encoding="utf-8")
    # a slash in the name of a perturbation is between the items of a list
    with contextlib.chdir(folder):
        yield "words.tsv"


@pytest.mark.parametrize("name", PERTURBATIONS)
@pytest.mark.slow
def test_what_is_outside_of_the_edits_stays(name: str, lexicon: str) -> None:
    check(name, MANY, lexicon)


def test_the_checker_sees_what_it_should() -> None:
    assert rebuild("abc", [[0, 0, "x"], [1, 2, ""], [3, 3, "y"]]) == "xacy"
    assert list(missing(["3.5%", "16", "3.5%"], "3.5% and 16")) == ["3.5%"]
    assert not list(missing([], ""))
    for edits in ([[0, 2, "x"], [1, 2, "y"]], [[2, 9, ""]]):
        with pytest.raises(AssertionError):
            rebuild("abc", edits)


def test_the_texts_have_all_that_they_should() -> None:
    rows, planted = draw_rows(MANY)
    every = "".join(row["statement"] for row in rows)
    for piece in (*PROTECTED, *WORD_LIKE, *STRANGE, *WORDS):
        assert every.count(piece) > 20
    assert sum(map(len, planted.values())) > MANY
    assert all(not list(missing(planted[row["uid"]], row["statement"])) for row in rows)
    assert len(set(every)) > 2_000
