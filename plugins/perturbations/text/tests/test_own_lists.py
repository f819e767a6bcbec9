"""Words and names of users' own files: `word-swap`, and the lists of `name-swap`."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalkit import DataError
from evalkit_commands_perturb import apply_edits, checked_edits, perturb
from evalkit_perturbations_text.names.swap import NameSwap, NameSwapParameters
from evalkit_perturbations_text.wording.word_mappings import (
    WordSwap,
    WordSwapParameters,
)

Written = Callable[[str, str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def swap(plugin: WordSwap | NameSwap, *texts: str, seed: int = 0) -> list[str]:
    found = plugin.find_edits(list(texts), Random(seed))
    return [
        apply_edits(text, checked_edits(text, edits))
        for text, edits in zip(texts, found, strict=True)
    ]


def words(path: Path, **options: Any) -> WordSwap:
    return WordSwap(WordSwapParameters(mapping=path, **options))


def names(**options: Any) -> NameSwap:
    return NameSwap(NameSwapParameters(**options))


MAPPING = """# religion
mosque\tchurch
Imam\tpriest

New York\tParis
York\tLyon
don\tben
"""


def test_listed_words_and_nothing_else(written: Written) -> None:
    plugin = words(written("words.tsv", "\ufeff" + MAPPING))
    assert swap(
        plugin, "A mosque, the MOSQUE’s imam; Mosque.", "An Imam in New York"
    ) == ["A church, the CHURCH’s priest; Church.", "An Priest in Paris"]
    assert swap(plugin, "new york, York, Yorkshire") == ["Paris, Lyon, Yorkshire"]


@pytest.mark.parametrize(
    "text",
    [
        *("I don't.", "O'Don", "@don", "#mosque", "don.com", "a.don", "mosques"),
        *("xmosque", ""),
    ],
)
def test_a_word_inside_a_larger_one_is_none(text: str, written: Written) -> None:
    assert swap(words(written("words.tsv", MAPPING)), text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don's don’ll, 'don' (don)", "ben's ben’ll, 'ben' (ben)"),
        ("pro-don don-like don.", "pro-ben ben-like ben."),
    ],
)
def test_a_word_before_an_ending_or_a_sign(
    text: str, expected: str, written: Written
) -> None:
    assert swap(words(written("words.tsv", MAPPING)), text) == [expected]


def test_a_share_of_words(written: Written) -> None:
    path = written("words.tsv", "a\tx\nb\ty\n")
    assert swap(words(path, prob=0), "a b") == ["a b"]
    half = words(path, prob=0.5)
    found = {swap(half, "a b a", seed=seed)[0] for seed in range(30)}
    assert found == {"a b a", "x b x", "a y a", "x y x"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.tsv", "a\tb\nc\n", "w.tsv, line 2: has 1 columns"),
        ("w.tsv", "a\tb\tc\n", "w.tsv, line 1: has 3 columns"),
        ("w.tsv", "# x\n\n \tb\n", "w.tsv, line 3: a word to replace is empty"),
        ("w.tsv", "big\t \n", "w.tsv, line 1: nothing stands for 'big'"),
        ("w.tsv", "# only\n", "w.tsv: the mapping of words is empty"),
        ("w.json", '{"a": "b",\n "c" "d"}', "w.json, line 2: is not valid JSON"),
        ("w.json", '{"a": "b", "a": "c"}', "w.json: 'a' is there twice"),
        ("w.json", '{"a": {"a": 1, "a": 2}}', "w.json: 'a' is there twice"),
        ("w.json", '{"a": []}', r"w.json: 'a' has \[\]"),
        ("w.json", '{"a": ""}', "w.json: nothing stands for 'a'"),
        ("w.json", "[]", "w.json: holds list"),
    ],
)
def test_a_wrong_mapping_names_file_and_line(
    name: str, text: str, message: str, written: Written
) -> None:
    with pytest.raises(DataError, match=message):
        words(written(name, text))


@given(
    st.lists(
        st.sampled_from(
            [
                *("mosque", "Imam", "New", "York", "don", "'", "’", ".", "-", "@", ","),
                "\n",
                "s",
                "t",
            ]
        )
    )
)
def test_twice_restores_and_other_words_stay(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "twice.tsv"
    path.write_text("mosque\tchurch\ndon\tben\nNew York\tParis\n", encoding="utf-8")
    plugin = words(path, both_ways=True)
    text = " ".join(parts)
    # what stands between the words of an entry comes back as one blank
    assume("New \n" not in text)
    once = swap(plugin, text)
    assert swap(plugin, *once) == [text]
    kept = [part for part in parts if part not in ("mosque", "don", "New", "York")]
    assert [part for part in once[0].split(" ") if part in kept] == kept


ROWS = [{"uid": "1", "statement": "Alice met Aalto at the mosque.", "label": "neutral"}]


def test_names_of_ones_own_lists(written: Written) -> None:
    ours = written("ours.txt", "Alice\nAalto\tmale\n# nobody\n")
    theirs = written("theirs.txt", "Zsazsa\tfemale\nZoltan\tmale\nRobert\n")
    plugin = names(source_names=ours, target_names=theirs)
    texts = {
        swap(plugin, "Alice met Aalto and Mary.", seed=seed)[0] for seed in range(9)
    }
    assert texts == {"Zsazsa met Zoltan and Mary.", "Zsazsa met Robert and Mary."}
    copy = {**ROWS[0], "statement": "Zsazsa met Zoltan."}
    tags = ["x", "name-group:ours", "name-group:theirs"]
    assert plugin.change_tags(tags, ROWS[0], copy, "sentiment") == [
        "x",
        "name-group:theirs",
    ]


def test_names_without_a_gender(written: Written) -> None:
    path = written("theirs.txt", "Mary\nZq\n")
    with pytest.raises(DataError, match=r"theirs\.txt, line 2: the gender of 'Zq'"):
        names(target_names=path)
    plugin = names(target_names=path, preserve_gender=False)
    found = {swap(plugin, "Alice left.", seed=seed)[0] for seed in range(20)}
    assert found == {"Mary left.", "Zq left."}
    one_way = names(source_names=path, target_names=written("t.txt", "Anna\nBen\n"))
    # she tells the gender of a name of which nobody else does
    assert swap(one_way, "I met Zq and she left.") == ["I met Anna and she left."]


def test_surnames_of_ones_own_list(written: Written) -> None:
    path = written("last.txt", "Kowalska\nNowak\n")
    plugin = names(kind="last", target_names=path)
    assert swap(plugin, "Mary Smith left.")[0] in (
        "Mary Kowalska left.",
        "Mary Nowak left.",
    )


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("Ann\nBob\nann\n", {}, r"n\.txt, line 3: 'ann' is on line 1 already"),
        ("Ann\tboth\n", {}, r"n\.txt, line 1: 'both' is neither 'female' nor 'male'"),
        ("Ann Lee\n", {}, r"n\.txt, line 1: 'Ann Lee' is not one word"),
        ("#\n4\n", {}, r"n\.txt, line 2: '4' is not one word"),
        ("\n", {}, r"n\.txt: the list of names is empty"),
        ("Lee\tmale\n", {"kind": "last"}, r"n\.txt, line 1: surnames stand alone"),
    ],
)
def test_a_wrong_list_names_file_and_line(
    text: str, options: dict[str, Any], message: str, written: Written
) -> None:
    with pytest.raises(DataError, match=message):
        names(target_names=written("n.txt", text), **options)


def test_lists_that_contradict_each_other(written: Written, tmp_path: Path) -> None:
    path = written("n.txt", "Ann\n")
    with pytest.raises(ValueError, match="source and source_names are two lists"):
        names(source="us-census-1990", source_names=path)
    with pytest.raises(ValueError, match="is a group of this package"):
        names(target_names=written("us-census-1990.txt", "Ann\n"))
    (tmp_path / "b").mkdir()
    with pytest.raises(DataError, match="both lists would be the group 'n'"):
        names(source_names=path, target_names=written("b/n.txt", "Eve\n"))
    with pytest.raises(DataError, match="the list of names cannot be read"):
        names(source_names=tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("named", "first", "second"),
    [
        ("word-swap:mapping={}", "mosque\tchurch\n", "mosque\ttemple\n"),
        ("name-swap:target_names={}", "Zoe\n", "Eve\n"),
    ],
)
def test_the_content_of_the_file_is_part_of_the_identity(
    named: str, first: str, second: str, tmp_path: Path
) -> None:
    path = tmp_path / "list.txt"
    found = []
    for text in (first, second, first):
        path.write_text(text, encoding="utf-8")
        (copy,) = perturb(ROWS, named.format(path), task="sentiment")
        found.append(copy)
    assert found[0] == found[2]
    assert found[0]["statement"] != found[1]["statement"]
    # predictions for copies of the one list are never taken for those of the other
    assert found[0]["uid"] != found[1]["uid"]
