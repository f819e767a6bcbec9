"""What holds for every perturbation of this distribution, on any text."""

import tomllib
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_commands_perturb import apply_edits, checked_edits
from evalkit_perturbations_text.text_perturbations import RandomPerturbation

PROJECT = tomllib.loads(
    (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)
TARGETS: dict[str, str] = PROJECT["project"]["entry-points"]["evalkit.perturbations"]

LEXICON = "big\tlarge,huge\nsmall\tlittle\nis\texists\n"

COMMON = (
    "The people of a big small town do not like it is isn't I'm can't she her his Mark "
    "May will John U.S. 3.5% 10:30 16th e.g. I You're because different government "
    "received a an http://x.org/A don’t WON'T it's @user naïve"
)

SIGNS = (
    *(" ", ".", ", ", "?", "\n", "'", "’", "\U0001f469\u200d\U0001f467", "cafe\u0301"),
    *("ǅ", "ﬁ", "İ", "ΟΔΟΣ", "\ud800", "\u200d"),
)

WORDS = st.sampled_from([*COMMON.split(), *SIGNS])
ENGLISH = st.lists(WORDS, max_size=30).map(" ".join)

TEXTS = st.one_of(st.text(min_size=1), ENGLISH.filter(bool))

WITHOUT_LETTERS = st.text(
    st.characters(categories=("N", "P", "S", "Z", "M"), exclude_characters=" "),
    min_size=1,
).filter(lambda text: text.lower() == text == text.upper())

ADDS_TO_ANY_TEXT = {"suffix", "helm-suffix", "checklist-direction", "helm-filler-words"}
"""Those for which each text, also one without a letter, is a site."""


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lexicon") / "words.tsv"
    path.write_text(LEXICON, encoding="utf-8")
    return str(path)


def build(name: str, lexicon: str, **values: Any) -> Any:
    module, _, attribute = TARGETS[name].partition(":")
    kind = getattr(import_module(module), attribute)
    values |= {"lexicon": lexicon, "mapping": lexicon if name == "word-swap" else None}
    if name.endswith("suffix"):
        values["suffix"] = "pixel art"
    fields = kind.Parameters.model_fields
    return kind(kind.Parameters(**{k: v for k, v in values.items() if k in fields}))


def changed(perturbation: Any, texts: list[str], rng: Random) -> list[str]:
    """Perturb texts, and check what every perturbation promises."""
    task = "sentiment"
    if hasattr(perturbation, "find_edits"):
        arguments = perturbation.find_edits.__code__.co_varnames
        extra = (task,) if "task" in arguments[:4] else ()
        found = perturbation.find_edits(list(texts), rng, *extra)
        assert len(found) == len(texts)
        checked = [
            checked_edits(text, edits) for text, edits in zip(texts, found, strict=True)
        ]
        for edits, given_edits in zip(checked, found, strict=True):
            assert len(edits) == len(given_edits), "an edit changes nothing"
        return [
            apply_edits(text, edits) for text, edits in zip(texts, checked, strict=True)
        ]
    if hasattr(perturbation, "perturb"):
        return [perturbation.perturb(text, rng) for text in texts]
    example = {f"text{place}": text for place, text in enumerate(texts)}
    names = perturbation.perturb_example.__code__.co_varnames
    values: dict[str, Any] = {
        "example": {**example, "uid": "1", "label": "neutral"},
        "rng": rng,
        "fields": list(example),
        "answer_field": "label",
        "task": task,
    }
    count = perturbation.perturb_example.__code__.co_argcount
    arguments_of = {name: values[name] for name in names[1:count]}
    new = perturbation.perturb_example(**arguments_of)
    copies = [] if new is None else new if isinstance(new, list) else [new]
    return [str({**example, **copy}[name]) for copy in copies for name in example]


@pytest.mark.parametrize("name", TARGETS)
@given(texts=st.lists(TEXTS, min_size=1, max_size=3), seed=st.integers(0, 99))
@pytest.mark.slow
def test_nothing_is_raised_and_the_same_seed_gives_the_same(
    name: str, lexicon: str, texts: list[str], seed: int
) -> None:
    for prob in (1.0, 0.5):
        perturbation = build(name, lexicon, prob=prob, hedges=True)
        first = changed(perturbation, texts, Random(seed))
        assert changed(perturbation, texts, Random(seed)) == first


@pytest.mark.parametrize(
    "name", sorted(TARGETS.keys() - ADDS_TO_ANY_TEXT - {"checklist-minimum"})
)
@given(text=WITHOUT_LETTERS)
def test_a_text_without_letters_and_blanks_stays(
    name: str, lexicon: str, text: str
) -> None:
    assert changed(build(name, lexicon, prob=1.0), [text], Random(1)) in ([text], [])


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("text", [" ", "a", "I", "\n", "🙂", "'", "\u0301", "\ud800"])
def test_the_shortest_texts_work(name: str, lexicon: str, text: str) -> None:
    for new in changed(build(name, lexicon, prob=1.0), [text], Random(1)):
        assert isinstance(new, str)


RANDOM = [
    name
    for name, target in TARGETS.items()
    if issubclass(
        getattr(import_module(target.partition(":")[0]), target.partition(":")[2]),
        RandomPerturbation,
    )
    and name != "mild-mix"
]


@pytest.mark.parametrize("name", RANDOM)
@given(text=TEXTS, seed=st.integers(0, 99))
def test_a_share_of_nothing_changes_nothing(
    name: str, lexicon: str, text: str, seed: int
) -> None:
    assert changed(build(name, lexicon, prob=0), [text], Random(seed)) == [text]


@pytest.mark.parametrize("name", RANDOM)
def test_the_presets_change_more_and_more_and_a_share_of_one_most(
    name: str, lexicon: str
) -> None:
    texts = ["The big people received another different letter because they like it."]
    counts = []
    for values in (
        {"preset": "mild"},
        {"preset": "medium"},
        {"preset": "hard"},
        {"preset": "mild", "prob": 1.0},
    ):
        perturbation = build(name, lexicon, **values)
        found = [perturbation.find_edits(texts * 50, Random(seed)) for seed in range(4)]
        counts.append(sum(len(edits) for lists in found for edits in lists))
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[1] < counts[2]
    assert counts[3] > counts[2] or perturbation.strengths["hard"] == 1
    assert build(name, lexicon).prob == perturbation.strengths["medium"]


@pytest.mark.parametrize("name", TARGETS)
def test_the_attributes_are_those_of_the_contract(name: str, lexicon: str) -> None:
    perturbation = build(name, lexicon)
    assert perturbation.version == ("2" if name == "gender-swap" else "1")
    assert set(perturbation.label_effect.values()) <= {
        "invariant",
        "transforms",
        "uncertain",
    }
    assert "*" in perturbation.label_effect
    (family,) = set(perturbation.families)
    known = {
        "robustness",
        "fairness",
        "style",
        "contrast",
        "checklist",
        "helm",
        "words",
    }
    assert family in known
    assert (family == "helm") == name.startswith("helm-")
