"""Every task that ships has a prompt, whose extractor reads what it asks for."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

import evalkit
from evalkit.catalog import Registry, find_components
from evalkit_adapters_rows import Rows
from evalkit_models_base import (
    Asked,
    Model,
    Reply,
    Request,
    load_inputs,
    predict,
    text_reply,
)


class Told(NamedTuple):
    """What a model writes that follows the prompt, and what is meant by it."""

    texts: Sequence[str]
    answer: Any
    data: Mapping[str, Any]
    """The answer in the data."""


def label_of(label: str) -> Told:
    forms = (label, f"{label}.", f" {label}\n", label.capitalize(), f"**{label}**")
    return Told(forms, label, {"label": label})


ANSWERS: Mapping[str, Told] = {
    "hs": label_of("not-hateful"),
    "nli": label_of("entailed"),
    "sentiment": label_of("positive"),
    "text-classification": label_of("sport"),
    "multiple-choice": Told(("B", "B.", "(B)", "B. Paris"), "Paris", {"answer": "B"}),
    "math-qa": Told(
        ("Ann had 3 and ate 1.\nAnswer: 2", "3 - 1 = 2.\n**Answer:** 2.", "Answer: 2"),
        "2",
        {"answer": "2"},
    ),
    "qa": Told(("a place", " a place\n"), "a place", {"answer": "a place"}),
    "ranking": Told(
        ('["d1", "d2"]', '```json\n["d1", "d2"]\n```'), ["d1", "d2"], {"items": ["d1"]}
    ),
    "rating": Told(("4", "4.", " 4\n"), "4", {}),
    "regression": Told(("4.5", "4.5\n"), 4.5, {"value": 4.5}),
    "text-generation": Told(("It rains.", " It rains.\n"), "It rains.", {"text": "a"}),
}
"""By task."""


class Saying(Model):
    """A model that says one thing."""

    abilities: Sequence[str] = ("text", "chat")

    def __init__(self, text: str) -> None:
        self._text = text
        self.asked: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        return [text_reply(self._text)] * len(requests)


class Continuing(Saying):
    """One that continues texts."""

    abilities = ("text",)


def shipped_tasks() -> list[str]:
    components = find_components()[0]
    return sorted(each.name for each in components if each.kind == "tasks")


def test_every_task_has_a_prompt() -> None:
    without_reply = ["language-modelling"]
    assert shipped_tasks() == sorted([*ANSWERS, *without_reply])


def example_of(name: str) -> tuple[dict[str, Any], Any]:
    """Return an example with an answer, and the task."""
    from evalkit.catalog import Resolver

    task = Resolver(Registry()).bind("tasks", name)
    given: Any = {**task.plugin.example, **ANSWERS[name].data}
    return given, task.plugin


@pytest.mark.parametrize("name", sorted(ANSWERS))
@pytest.mark.parametrize("kind", [Saying, Continuing])
def test_the_default_prompt_renders_the_example(name: str, kind: type[Saying]) -> None:
    row, _ = example_of(name)
    model = kind(ANSWERS[name].texts[0])
    data = dataset_of(name, [row])
    found = predict(data, model, asked=Asked(is_cached=False))
    (request,) = model.asked
    text = request.prompt or request.messages[-1].content
    sent = [each for key, each in row.items() if key in found_inputs(name, row)]
    assert sent
    for each in sent:
        for part in each if isinstance(each, list) else [each]:
            assert str(part) in text
    assert bool(request.messages) == (kind is Saying)
    assert "{" not in text
    assert request.max_tokens is not None
    assert found.failed == 0


def found_inputs(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    return load_inputs(dataset_of(name, [row])).keys


def dataset_of(name: str, rows: list[dict[str, Any]]) -> Any:
    """Return a data set of a task, with labels where it has none."""

    class Examples(evalkit.Dataset):
        task = name
        splits = ("train", "test")
        default_split = "test"
        labels = ("sport", "news") if name == "text-classification" else None

        def load(self, split: str) -> list[dict[str, Any]]:
            if split == "test":
                return rows
            return [{**row, "uid": f"{row['uid']}-shot", **_other(row)} for row in rows]

    return Examples()


def _other(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields that say something else than those of a row."""
    inputs = ("statement", "context", "question", "query", "text", "source")
    return {key: f"Not this: {row[key]}" for key in inputs if key in row}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_the_extractor_reads_what_the_prompt_asks_for(name: str) -> None:
    row, _ = example_of(name)
    data = dataset_of(name, [row])
    for text in ANSWERS[name].texts:
        found = predict(data, Saying(text), asked=Asked(is_cached=False))
        result = evalkit.evaluate(
            data,
            predictions=found.rows,
            rows=Rows(extract=found.system.get("extract")),
            model="m",
        )
        assert result.counts["scored"] == 1, (text, result.problems)
        assert result.examples["pred"].to_list() == [ANSWERS[name].answer], text


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() - {"rating", "text-generation"}))
@pytest.mark.parametrize("kind", [Saying, Continuing])
def test_the_extractor_reads_the_answer_of_a_shot(
    name: str, kind: type[Saying]
) -> None:
    """What a shot shows as an answer is what a model will write."""
    row, _ = example_of(name)
    data, model = dataset_of(name, [row]), kind("")
    prompt: dict[str, Any] = {"shots": {"source": "train", "count": 1}}
    declared = load_inputs(data).prompts["default"]
    predict(data, model, prompt={**declared, **prompt}, asked=Asked(is_cached=False))
    (request,) = model.asked
    if request.messages:
        said = request.messages[-2].content
    else:
        before = str(request.prompt).rpartition(declared.get("separators", "\n\n"))[0]
        said = before.rpartition(str(declared["cue"]))[2]
    found = predict(data, Saying(said), asked=Asked(is_cached=False))
    result = evalkit.evaluate(
        data,
        predictions=found.rows,
        rows=Rows(extract=declared.get("extract")),
        model="m",
    )
    wanted = ["d1"] if name == "ranking" else ANSWERS[name].answer
    assert result.examples["pred"].to_list() == [wanted]
