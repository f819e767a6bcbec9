"""`name-swap`: groups, genders, recognisers, and what holds on any text."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from evalkit import PluginError
from evalkit_commands_perturb import apply_edits, checked_edits, perturb
from evalkit_perturbations_text.names.country_names import country_names
from evalkit_perturbations_text.names.groups import (
    CENSUS,
    PAIRED,
    group_problem,
    name_group,
)
from evalkit_perturbations_text.names.recognition import GROUP, load_recogniser
from evalkit_perturbations_text.names.swap import NameSwap, NameSwapParameters

WHITE, BLACK = (name_group(group) for group in PAIRED)


def swap(*texts: str, seed: int = 0, **parameters: Any) -> list[str]:
    plugin = NameSwap(NameSwapParameters(**parameters))
    found = plugin.find_edits(list(texts), Random(seed))
    return [
        apply_edits(text, checked_edits(text, edits))
        for text, edits in zip(texts, found, strict=True)
    ]


def test_groups_of_the_study() -> None:
    for group in (WHITE, BLACK):
        assert (len(group.female), len(group.male), group.last) == (9, 9, ())
    names = [*WHITE.female, *WHITE.male, *BLACK.female, *BLACK.male]
    assert len(set(names)) == 36


@pytest.mark.parametrize("seed", range(10))
def test_gender_is_kept(seed: int) -> None:
    (text,) = swap("Mary told James that Mary left.", seed=seed, target=PAIRED[1])
    first, _, second, _, third, _ = text.rstrip(".").split()
    assert first == third
    assert first in BLACK.female
    assert second in BLACK.male


def test_gender_may_change() -> None:
    names = {
        swap("Mary left.", seed=seed, target=PAIRED[1], preserve_gender=False)[0]
        for seed in range(60)
    }
    assert {name.split()[0] for name in names} & set(BLACK.male)


@pytest.mark.parametrize("seed", range(10))
def test_default_target_is_the_group_that_the_names_are_not_in(seed: int) -> None:
    (text,) = swap("Emily met Todd.", seed=seed)
    first, _, second = text.rstrip(".").split()
    assert first in BLACK.female
    assert second in BLACK.male
    (text,) = swap("Lakisha met Mary.", seed=seed)
    first, _, second = text.rstrip(".").split()
    assert {first, second} <= set(WHITE.female)


def test_only_the_source_is_replaced() -> None:
    assert swap("Mary left.", source=PAIRED[0]) == ["Mary left."]
    (text,) = swap("Emily left Mary.", source=PAIRED[0])
    assert text.endswith(" left Mary.")
    assert text.split()[0] in BLACK.female


def test_names_of_the_target_stay() -> None:
    assert swap("Lakisha left.", target=PAIRED[1]) == ["Lakisha left."]


def test_one_name_has_one_replacement_in_all_texts() -> None:
    question, answer = swap("Mary saw Ann. Mary's dog saw Mary.", "Mary")
    assert question.count(answer) == 3
    assert answer != "Mary"


@pytest.mark.parametrize(
    "text", ["Will you come in May?", "Mark the date.", "", "An apple", "mary"]
)
def test_words_are_no_names(text: str) -> None:
    assert swap(text) == [text]


def test_countries() -> None:
    (text,) = swap("Keisha met Jamal.", target="country:de_DE")
    first, _, second = text.rstrip(".").split()
    german = country_names("de_DE")
    assert first in german.female
    assert second in german.male
    (text,) = swap("Sieglinde left.", source="country:de_DE", target=PAIRED[1])
    assert text.split()[0] in BLACK.female


def test_surnames() -> None:
    (text,) = swap("Mary Smith met Dr. Brown; Smith left.", kind="last")
    words = text.rstrip(".").replace(";", "").split()
    assert words[0] == "Mary"
    assert words[1] == words[5]
    assert "Smith" not in text
    assert "Brown" not in text
    kept = "King Charles III and Mr President and Mary Chairman left."
    assert swap(kept, kind="last") == [kept]
    assert {"McCartney", "Mack"} <= set(name_group("us-census-1990").last)
    (text,) = swap("Mary Smith left.", kind="last", target="country:fr_FR")
    assert text.split()[1] in country_names("fr_FR").last


TAGS = ["functionality:f1", "name-group:us-census-1990", "name-group:french", "x"]


@pytest.mark.parametrize(
    ("text", "group", "parameters"),
    [
        ("Keisha met Mary.", PAIRED[0], {}),
        ("Emily met Mary.", PAIRED[1], {}),
        ("Emily met Mary.", PAIRED[1], {"target": PAIRED[1]}),
        ("Keisha met Jamal.", "country:de_DE", {"target": "country:de_DE"}),
        ("Mary Smith met Dr. Brown.", CENSUS, {"kind": "last"}),
    ],
)
def test_a_copy_has_the_tag_of_its_group(
    text: str, group: str, parameters: dict[str, Any]
) -> None:
    row = {"uid": "1", "statement": text, "tags": TAGS}
    (copy,) = perturb([row], _named(parameters), task="sentiment")
    kept = [tag for tag in TAGS if not tag.startswith("name-group:")]
    assert copy["tags"] == [*kept, f"name-group:{group}"]


def _named(parameters: dict[str, Any]) -> str:
    joined = ",".join(f"{name}={value}" for name, value in parameters.items())
    return f"name-swap:{joined}" if joined else "name-swap"


def test_tags_tell_the_two_groups_apart() -> None:
    rows = [{"uid": str(uid), "statement": "Mary left."} for uid in range(40)]
    found: dict[str, set[str]] = {}
    for copy in perturb(rows, "name-swap", task="sentiment"):
        (tag,) = copy["tags"]
        found.setdefault(tag, set()).add(copy["statement"].split()[0])
    assert {*found} == {f"name-group:{group}" for group in PAIRED}
    for group in PAIRED:
        assert found[f"name-group:{group}"] <= {*name_group(group).female}


def test_tags_after_other_perturbations() -> None:
    row = {"uid": "1", "statement": "Mary met Jamal by the sea.", "tags": ["x"]}
    for other in ("lowercase", "extra-space"):
        name = f"name-swap:target={PAIRED[0]}+{other}"
        (copy,) = perturb([row], name, task="sentiment")
        assert copy["tags"] == ["x", f"name-group:{PAIRED[0]}"]
    name = f"name-swap:target={PAIRED[0]}+name-swap:target={PAIRED[1]}"
    (copy,) = perturb([row], name, task="sentiment")
    assert copy["tags"] == ["x", f"name-group:{PAIRED[1]}"]
    plain = [{"uid": "1", "statement": "It rained by the sea.", "tags": ["x"]}]
    (copy,) = perturb(plain, "name-swap+lowercase", task="sentiment")
    assert copy["tags"] == ["x"]


def test_the_tag_of_a_name_that_is_left_stays() -> None:
    plugin = NameSwap(NameSwapParameters(target="country:de_DE", source=PAIRED[1]))
    original = {"uid": "1", "statement": "Keisha met Brad.", "answers": ["Brad", 3]}
    copy = {"statement": "Sieglinde met Brad."}
    tags = [f"name-group:{group}" for group in PAIRED]
    assert plugin.change_tags(tags, original, copy, "qa") == [
        f"name-group:{PAIRED[0]}",
        "name-group:country:de_DE",
    ]


def test_share_of_names() -> None:
    assert swap("Mary met Ann.", prob=0) == ["Mary met Ann."]
    replaced = sum(
        swap("Mary left.", seed=s, prob=0.5) != ["Mary left."] for s in range(200)
    )
    assert 60 < replaced < 140


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("french", "there is no group of names 'french'"),
        ("country:xx_YY", "no locale 'xx_YY'"),
        ("country:ko_KR", "not in Latin script"),
        ("country:ar_BH", "no names of its own"),
    ],
)
def test_groups_that_do_not_exist(group: str, words: str) -> None:
    assert words in group_problem(group)
    with pytest.raises(ValidationError, match="groups are"):
        NameSwapParameters(target=group)


def test_a_group_without_surnames() -> None:
    with pytest.raises(ValidationError, match="has no surnames"):
        NameSwapParameters(kind="last", target=PAIRED[0])
    assert NameSwapParameters(kind="last", target=CENSUS).target == CENSUS


RECOGNISER = """
import re

class Capitals:
    def __init__(self, place="Paris"):
        self.place = place

    def find_entities(self, texts):
        pattern = re.compile(r"(?:Mr\\\\. )?[A-Z][a-z]+(?: [A-Z][a-z]+)?(?:'s)?")
        return [
            [(*match.span(), "person" if self.place not in match[0] else "place")
             for match in pattern.finditer(text)]
            for text in texts
        ]
"""


@pytest.fixture
def recogniser(fake_distribution: Callable[..., Any]) -> str:
    load_recogniser.cache_clear()
    code = RECOGNISER.replace("\\\\", "\\")
    fake_distribution(code, {GROUP: {"capitals": "Capitals"}})
    return "capitals"


def test_recogniser(recogniser: str) -> None:
    text = "in Paris, Mary Smith and Mr. Jones saw Will with Zzyzx's dog, Mary's"
    (swapped,) = swap(text, recogniser=recogniser, target=PAIRED[1])
    words = swapped.split()
    assert words[:2] == ["in", "Paris,"]
    assert words[2] in BLACK.female
    assert words[3:7] == ["Smith", "and", "Mr.", "Jones"]
    assert words[8] in BLACK.male
    assert words[10] == "Zzyzx's"
    assert words[-1] == words[2] + "'s"
    (free,) = swap(text, recogniser=recogniser, preserve_gender=False)
    assert "Zzyzx" not in free


def test_recogniser_and_surnames(recogniser: str) -> None:
    text = "Mary Smith and Mr. Jones saw Will"
    (swapped,) = swap(text, recogniser=recogniser, kind="last")
    words = swapped.split()
    assert (words[0], words[-1]) == ("Mary", "Will")
    assert words[1] != "Smith"
    assert words[4] != "Jones"


@pytest.mark.parametrize("kind", ["PERSON", "PER", "people"])
def test_a_recogniser_that_calls_people_otherwise(
    kind: str, fake_distribution: Callable[..., Any]
) -> None:
    load_recogniser.cache_clear()
    code = RECOGNISER.replace("\\\\", "\\").replace('"person"', repr(kind))
    fake_distribution(code, {GROUP: {"capitals": "Capitals"}})
    message = f"capitals .*gave the kind '{kind}': that of a person is 'person'"
    with pytest.raises(PluginError, match=message):
        swap("Mary", recogniser="capitals")


def test_a_recogniser_takes_parameters(recogniser: str) -> None:
    assert swap("Mary", recogniser=f"{recogniser}:place=Mary") == ["Mary"]
    message = r"capitals \(fake-0 1.2.3\): loading failed with TypeError: .*'size'"
    with pytest.raises(PluginError, match=message):
        swap("Mary", recogniser=f"{recogniser}:size=3")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('a bug')", "find_entities failed with ValueError: a bug"),
        *(
            (f"return {value}", r"must return for each of 1 texts .*, got ")
            for value in ("None", "[]", "'text'", "[[(0, 99, 'person')]]", "[[7]]")
        ),
    ],
)
def test_a_recogniser_that_fails_is_named(
    body: str, message: str, fake_distribution: Callable[..., Any]
) -> None:
    load_recogniser.cache_clear()
    code = f"class Fails:\n    def find_entities(self, texts):\n        {body}"
    fake_distribution(code, {GROUP: {"fails": "Fails"}}, name="failing")
    with pytest.raises(PluginError, match=rf"fails \(failing 1.2.3\): .*{message}"):
        swap("Mary", recogniser="fails")


def test_a_recogniser_of_two_distributions_names_both(
    recogniser: str, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution(RECOGNISER, {GROUP: {"capitals": "Capitals"}})
    with pytest.raises(PluginError, match=r"several .*: fake-1 .*, fake-0 "):
        swap("Mary", recogniser="capitals")


def test_a_recogniser_that_is_not_installed(recogniser: str) -> None:
    message = "no recogniser 'nobody-has-this' .*Installed: capitals, rules"
    with pytest.raises(PluginError, match=message):
        swap("Mary", recogniser="nobody-has-this")
