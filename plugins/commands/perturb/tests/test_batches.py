"""Perturbations that take many texts at a time, and files that are written in steps."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import evalkit
from evalkit.errors import PluginError
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit_commands_perturb import files as perturbed_files
from evalkit_commands_perturb import perturb, perturb_dataset
from evalkit_commands_perturb.copying import Example, Perturber
from evalkit_commands_perturb.scopes import Settings

CODE = '''
import os

import evalkit


class Translated(evalkit.Perturbation):
    """Turns words around, as slowly as a model does."""

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}
    batch_texts = 7

    def perturb_batch(self, texts, rngs):
        limit = os.environ.get("DIES_AT")
        if limit and any(limit in text for text in texts):
            os._exit(9)
        return [
            " ".join(rng.sample(text.split(), len(text.split())))
            for text, rng in zip(texts, rngs)
        ]
'''


class Batched(evalkit.Perturbation):
    """Draws a word for each text."""

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}
    batch_texts = 64
    calls: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.calls = []

    def perturb_batch(
        self, texts: Sequence[str], rngs: Sequence[Random], task: str
    ) -> list[str]:
        self.calls.append(len(texts))
        # another order of draws than that of the texts
        drawn = [rng.choice("abcdefgh") for rng in reversed(rngs)][::-1]
        return [
            f"{text} {word} {task}" for text, word in zip(texts, drawn, strict=True)
        ]


class Shout(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text: str) -> str:
        return text.upper()


class Twice(Shout):
    def perturb_example(self, example: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"statement": example["statement"] + end} for end in (" x", " y")]


def statements(count: int) -> list[dict[str, Any]]:
    return [
        {"uid": f"r{n}", "statement": f"one two three {n} four", "label": "neutral"}
        for n in range(count)
    ]


def of_size(size: int) -> Batched:
    perturbation = Batched()
    perturbation.batch_texts = size  # type: ignore[misc]
    return perturbation


def test_a_batch_is_of_texts_and_not_of_examples() -> None:
    rows = [
        {"uid": str(n), "context": f"c{n}", "hypothesis": f"h{n}", "label": "neutral"}
        for n in range(5)
    ]
    perturbation = of_size(4)
    copies = [*perturb(rows, perturbation, task="nli")]
    assert perturbation.calls == [4, 4, 2]
    assert copies[4]["context"].startswith("c4 ")
    assert copies[4]["hypothesis"].startswith("h4 ")


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_what_becomes_of_a_text_does_not_depend_on_its_batch(size: int) -> None:
    rows = statements(23)
    options: dict[str, Any] = {"task": "sentiment", "variants": 3, "seed": 5}
    expected = [*perturb(rows, Batched(), **options)]
    found = [*perturb(rows, of_size(size), **options)]
    assert found == expected
    backwards = [*perturb(rows[::-1], of_size(size), **options)]
    assert sorted(backwards, key=str) == sorted(expected, key=str)
    assert len({copy["statement"] for copy in expected}) == len(expected)


def test_a_batch_may_be_one_of_several_steps() -> None:
    rows = statements(3)
    steps: list[Any] = [[Twice, Batched(), Shout]]
    found = [*perturb(rows, steps, task="sentiment")]
    assert len(found) == 6
    assert all(copy["statement"].isupper() for copy in found)
    one, other = found[0]["statement"], found[1]["statement"]
    assert one.startswith("ONE TWO THREE 0 FOUR X ")
    assert other.startswith("ONE TWO THREE 0 FOUR Y ")
    again = [*perturb(rows[1:2], steps, task="sentiment")]
    assert again == found[2:4]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda texts: texts[:-1], "must return a list of 3 texts, returned"),
        (lambda texts: "abc", "must return a list of 3 texts, returned 'abc'"),
        (
            lambda texts: [*texts[1:], None],
            r"must return a text \(as.*changes\), returned None for the",
        ),
        (lambda texts: texts[9], r"failed for the batch of 3 texts from the example"),
    ],
)
def test_a_failure_names_the_perturbation_and_an_example(
    made: Callable[[Any], Any], text: str
) -> None:
    class Broken(Batched):
        def perturb_batch(self, texts: Sequence[str]) -> Any:  # type: ignore[override]
            return made(texts)

    with pytest.raises(PluginError, match=rf"perturbations/broken .*{text}") as caught:
        [*perturb(statements(3), Broken, task="sentiment")]
    assert "example 'r" in str(caught.value)


@pytest.fixture
def translated(
    fake_distribution: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    monkeypatch.chdir(tmp_path)
    points = {"evalkit.perturbations": {"translated": "Translated"}}
    return fake_distribution(CODE, points, name="translating", version="1.0")


def written(name: str, count: int, **options: Any) -> Any:
    lines = map(json.dumps, statements(count))
    Path("data.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return perturb_dataset(
        "data.jsonl", name, perturbations=["translated"], task="sentiment", **options
    )


@pytest.mark.usefixtures("translated")
@pytest.mark.slow
def test_jobs_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written("alone.jsonl", 300)
    written("together.jsonl", 300, jobs=3)
    monkeypatch.setattr(perturbed_files, "CHUNK_EXAMPLES", 11)
    written("small.jsonl", 300)
    found = {Path(f"{n}.jsonl").read_bytes() for n in ("alone", "together", "small")}
    assert len(found) == 1


def test_a_perturbation_that_seeds_itself_seeds_every_text() -> None:
    class Seeded(Batched):
        def make_rng(self, seed: int, uid: str, variant: int) -> Random:
            return Random(f"{seed} {uid} {variant}")

    resolver = Resolver(Registry())
    bound = resolver.perturbation(Seeded)
    task: Any = resolver.bind("tasks", "nli")
    perturber = Perturber([bound], task, Settings())
    row = {"context": "a", "hypothesis": "b", "label": "neutral"}
    ((copy,),) = map(list, perturber.copies_of([Example("1", row)]))
    word = Random("0 1 0").choice("abcdefgh")
    assert (copy.row["context"], copy.row["hypothesis"]) == (
        f"a {word} nli",
        f"b {word} nli",
    )
