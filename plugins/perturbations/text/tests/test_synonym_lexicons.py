"""Synonyms, from a user's lexicon and from WordNet."""

import sys
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from evalkit import PluginContractError
from evalkit_commands_perturb import apply_edits
from evalkit_perturbations_text.wording.filler_words import Synonyms, read_lexicon

LINES = """# word and synonyms
big\tlarge, huge

Old\tancient,old
apple\tfruit,orange
small\t
"""


def changes(lexicon: str | None, text: str) -> set[str]:
    perturbation = Synonyms(Synonyms.Parameters(lexicon=lexicon, prob=1))
    drawn = set()
    for seed in range(40):
        (edits,) = perturbation.find_edits([text], Random(seed))
        drawn.add(apply_edits(text, edits))
    return drawn


@pytest.fixture
def lexicon(tmp_path: Path) -> str:
    path = tmp_path / "words.tsv"
    path.write_text(LINES, encoding="utf-8-sig")
    return str(path)


def test_a_lexicon_is_lines_or_json(lexicon: str, tmp_path: Path) -> None:
    expected = {
        "big": ["large", "huge"],
        "old": ["ancient"],
        "apple": ["fruit", "orange"],
        "small": [],
    }
    assert read_lexicon(lexicon) == expected
    path = tmp_path / "words.json"
    path.write_text('{"Big": ["large", "large", "BIG"], "old": "aged"}')
    assert read_lexicon(str(path)) == {"big": ["large"], "old": ["aged"]}


def test_synonyms_are_drawn_and_keep_capitals(lexicon: str) -> None:
    assert changes(lexicon, "Big and SMALL") == {"Large and SMALL", "Huge and SMALL"}
    assert changes(lexicon, "THE OLD one") == {"THE ANCIENT one"}


def test_an_article_stays_right(lexicon: str) -> None:
    assert changes(lexicon, "An apple, a big one") == {
        "An orange, a large one",
        "An orange, a huge one",
    }
    assert changes(lexicon, "an old one") == {"an ancient one"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.tsv", None, "none.tsv cannot be used"),
        ("words.tsv", b"big\tlarge\nsmall\n", "line 2 has no word before a tab"),
        ("words.tsv", b"\tlarge\n", "line 1 has no word"),
        ("words.tsv", b"\xff", "cannot be used"),
        ("words.json", b"[1]", "it is no object"),
        ("words.json", b"{", "cannot be used"),
        ("words.json", b'{"a": [1]}', "the synonyms of 'a' are no list of texts"),
        ("words.json", b'{"a": 1}', "the synonyms of 'a' are no list of texts"),
    ],
)
def test_a_lexicon_that_cannot_be_used_says_why(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PluginContractError, match=message):
        Synonyms(Synonyms.Parameters(lexicon=str(path)))


def test_without_wordnet_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(PluginContractError, match=r"lexicon=FILE.*nltk"):
        Synonyms()


class Meaning:
    def __init__(self, part: str, *names: str) -> None:
        self.part = part
        self.names = list(names)

    def pos(self) -> str:
        return self.part

    def lemma_names(self) -> list[str]:
        return self.names


class WordNet:
    """Stands in for nltk's reader, whose data is not installed for tests."""

    meanings = {
        "big": [Meaning("a", "large", "big"), Meaning("s", "adult")],
        "run": [Meaning("v", "run", "operate"), Meaning("n", "tally")],
        "dogs": [Meaning("n", "dog", "domestic_dog")],
        "dog": [Meaning("n", "dog", "domestic_dog", "hound")],
    }

    def __init__(self, loads: bool = True) -> None:
        self.loads = loads

    def ensure_loaded(self) -> None:
        if not self.loads:
            raise LookupError("Resource wordnet not found.")

    def synsets(self, word: str) -> list[Meaning]:
        return self.meanings.get(word, [])


def install(monkeypatch: pytest.MonkeyPatch, wordnet: WordNet) -> None:
    corpus = ModuleType("nltk.corpus")
    corpus.wordnet = wordnet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nltk", ModuleType("nltk"))
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)


def test_wordnet_gives_words_of_one_part_of_speech(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, WordNet())
    text = "The big dogs and the dog run far"
    assert changes(None, text) == {"The large dogs and the hound run far"}


def test_wordnet_without_its_data_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, WordNet(loads=False))
    with pytest.raises(PluginContractError, match=r"nltk\.downloader wordnet"):
        Synonyms()
