"""Checks the laws of `evalkit_testing` for every perturbation that is installed."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evalkit import find_components
from evalkit_testing import PERTURBATION_LAWS, check_perturbation

TEXTS = 3

PERTURBATIONS = sorted(
    component.name
    for component in find_components().components
    if component.kind == "perturbations"
)

SUFFIX = {"suffix": "pixel art"}
PARAMETERS: Mapping[str, Mapping[str, Any]] = {"suffix": SUFFIX, "helm-suffix": SUFFIX}

LISTS = {"synonyms": "lexicon", "word-swap": "mapping"}
"""What takes a file of words in which parameter."""

SENTENCES = {
    "context": "John can't tell the girl that his father is not in the small center.",
    "question": "Isn't he the king? The big people of the government can not do it.",
}
IN_TASK: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "": ({"text": SENTENCES["context"], "context": SENTENCES["question"]},),
    "qa": (
        {**SENTENCES, "answer": "his father"},
        {**SENTENCES, "answer": ["John", "he", "the small center"]},
        {**SENTENCES, "answer": "He told his father so."},
    ),
    "nli": (
        {
            "context": SENTENCES["context"],
            "hypothesis": SENTENCES["question"],
            "label": "entailed",
        },
        {"context": "He is here.", "hypothesis": "", "label": "neutral"},
        {"context": "Is he?", "hypothesis": "No.", "label": "contradictory"},
    ),
    "hs": (
        {
            "statement": SENTENCES["context"],
            "label": "hateful",
            "tags": ["target:women", "target:black people"],
        },
    ),
    "sentiment": tuple(
        {"statement": SENTENCES["context"], "label": label}
        for label in ("positive", "negative", "neutral")
    ),
}
CONTRASTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "sentiment": (
        {
            "statement": "It was a good film.",
            "label": "positive",
            "contrast_inputs": ["It was a bad film.", {"statement": "It was a film."}],
            "contrast_answers": ["negative", "neutral"],
        },
    )
}
EXAMPLES = {"contrast-sets": CONTRASTS}
TASKS = {
    "contrast-sets": ("sentiment",),
    "checklist-minimum": ("sentiment", "nli"),
    "checklist-direction": ("", "sentiment"),
}
WRITES_ANEW = ("checklist-minimum", "contrast-sets")
"""Those that put a text of people in an example's place."""


def options(name: str, task: str, lexicon: str) -> dict[str, Any]:
    """Give what a perturbation is checked with."""
    parameters = dict(PARAMETERS.get(name, {}))
    if name in LISTS:
        parameters[LISTS[name]] = lexicon
    laws = [law.name for law in PERTURBATION_LAWS]
    if name in WRITES_ANEW or name.startswith("helm-"):
        laws.remove("protected")
    return {
        "task": task or None,
        "parameters": parameters,
        "examples": EXAMPLES.get(name, IN_TASK)[task],
        "laws": laws,
    }


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("lexicon")
    words = "big\tlarge,huge\nsmall\tlittle\ncan\tmay\n"
    (folder / "words.tsv").write_text(words, encoding="utf-8")
    # named without its folder, so that names in messages stay the same
    with contextlib.chdir(folder):
        yield "words.tsv"


CASES = [
    pytest.param(name, task, id=f"{name}-{task or 'none'}")
    for name in PERTURBATIONS
    for task in TASKS.get(name, ("", "hs"))
]


def test_perturbations_are_found_and_every_exception_is_of_one() -> None:
    assert len(PERTURBATIONS) >= 38
    named = {*PARAMETERS, *EXAMPLES, *TASKS, *WRITES_ANEW, *LISTS}
    assert named <= set(PERTURBATIONS)


@pytest.mark.parametrize(("name", "task"), CASES)
@pytest.mark.slow
def test_a_perturbation_keeps_the_laws(name: str, task: str, lexicon: str) -> None:
    check_perturbation(name, max_examples=TEXTS, **options(name, task, lexicon))


PERTURB_ALL = """
import json, sys
import evalkit
from evalkit_commands_perturb import perturb

rows, names = json.load(sys.stdin)
for name in names:
    for row in perturb(rows, name, task="qa", seed=3, variants=2, edits=True):
        print(json.dumps(row))
"""


@pytest.mark.slow
def test_the_order_of_sets_plays_no_part(lexicon: str) -> None:
    rows = [
        {**example, "uid": str(number), "tags": ["a", "b"], "answer": "his father"}
        for number, example in enumerate([*IN_TASK["qa"]] * 3)
    ]
    needs = {
        **{name: f":{parameter}={lexicon}" for name, parameter in LISTS.items()},
        "suffix": ":suffix=pixel art",
        "helm-suffix": ":suffix=pixel art",
    }
    names = [name + needs.get(name, "") for name in PERTURBATIONS]
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PERTURB_ALL],
            input=json.dumps([rows, names]),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) > 3 * len(PERTURBATIONS)
        found.add(hashlib.sha256(done.stdout.encode()).hexdigest())
    assert len(found) == 1
