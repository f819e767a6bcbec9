"""Wrong prompts are refused before anything is asked, and the message says how to mend.

The message names the prompt, the key, and what would do.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import evalkit
from evalkit import DataError
from evalkit_models_base import Asked, Model, Reply, Request, predict


class Untouched(Model):
    """A model that must not be asked."""

    abilities: Sequence[str] = ("text", "chat", "logprobs", "continuations")

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        raise AssertionError(f"{len(requests)} requests were made")


class Continuing(Untouched):
    """One that continues texts, and must not be asked."""

    abilities = ("text",)


class Whatever(BaseModel):
    uid: str
    source: Any


class Said(BaseModel):
    id: str
    text: str


class Anything(evalkit.TaskIO):
    Input, Output = Whatever, Said
    answer_field, perf_metric = "text", "accuracy"
    example = {"uid": "1", "source": "a"}


QUIZ = [
    {"uid": "1", "question": "Sun?", "choices": ["star", "planet"], "answer": "A"},
    {"uid": "2", "question": "Mars?", "choices": ["star", "planet"], "answer": "B"},
]
JOINT = {"method": "joint", "query": "{question}\n{choices}", "cue": "Answer:"}


def refusal(prompt: Mapping[str, Any] | str | Path, **more: Any) -> str:
    """Return why a prompt is refused."""
    given: dict[str, Any] = {
        "model": Untouched(),
        "data": QUIZ,
        "task": "multiple-choice",
        **more,
    }
    with pytest.raises(DataError) as refused:
        predict(prompt=prompt, asked=Asked(is_cached=False), **given)
    return str(refused.value)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        # the schema
        ({"qery": "{question}"}, "there is no key 'qery'; did you mean 'query'?"),
        ({}, "query: Field required"),
        (
            {"query": "{question}", "shots": {"cont": 3}},
            "there is no key 'shots.cont'; did you mean 'count'?",
        ),
        (
            {"query": "{question}", "choices": {"letters": "ABA"}},
            "choices.letters: the letter 'A' stands for two options",
        ),
        (
            {"query": "{question}", "choices": {"line": "{letter}"}},
            "choices.line: a line names {choice}",
        ),
        (
            {"query": "{question}", "shots": {"source": "a", "examples": []}},
            "shots: shots have either a source or examples",
        ),
        (
            {"query": "{question}", "shots": {"examples": [{"question": "?"}]}},
            "shots: the example 1 has no answer",
        ),
        (
            {"query": "{question}", "generate": {"temperature": -1}},
            "generate.temperature: Input should be greater than or equal to 0",
        ),
        # unknown fields
        (
            {"query": "{qestion}"},
            "query names {qestion}, and there is {question}, {choices}, {cue}, "
            "{labels}; did you mean {question}?",
        ),
        (
            {"query": "{question}", "instructions": "Say {question}"},
            "instructions is the same for all examples, and names {question}, and "
            "there is {labels}, {cue}",
        ),
        (
            {"query": "{question}", "turns": [{"role": "user", "content": "{x}"}]},
            "turns.0.content names {x}",
        ),
        ({"query": "{question} {"}, "is malformed"),
        ({"query": "What?"}, "query names no field of the input"),
        ({"query": "{question}", "choices": {"field": "options"}}, ""),
        ({**JOINT, "choices": {"field": "options"}}, "choices.field is 'options'"),
        ({"query": "{question} {labels}"}, "it names {labels}"),
        # a cue that is missing
        ({**JOINT, "cue": "", "form": "text"}, "cue is missing: a letter is asked for"),
        (
            {"query": "{question}{cue}"},
            "it names {cue}, and there is none; write it in cue",
        ),
        (
            {"query": "{question}", "extract": "after:Answer:"},
            "extract looks for 'Answer:', and the prompt never asks for it; write "
            "'Answer:' into the instructions",
        ),
        (
            {"query": "{question}", "method": "calibrated"},
            "the method calibrated compares with the cue alone, and there is none",
        ),
        # letters
        (
            {**JOINT, "choices": {"letters": "A"}},
            "the example '1': there are 2 options, and choices.letters has 1; add "
            "letters to it",
        ),
        (
            {**JOINT, "choices": {"line": "- {choice}"}},
            "choices.line writes none; write {letter} into it",
        ),
        (
            {**JOINT, "query": "{question}"},
            "the query does not list the options; write {choices} into it",
        ),
        ({"query": "{question}", "method": "ranking"}, "write {choice} into it"),
        ({"query": "{question}\ud800"}, "it holds half of a surrogate pair"),
        (
            {"query": "{question}", "generate": {"max_tokens": True}},
            "generate.max_tokens: must be a number, is True",
        ),
        (
            {"query": "{question}", "shots": {"count": True}},
            "shots.count: Input should be a valid integer",
        ),
        ({"query": "{question:>9}"}, "{question} takes neither : nor ! behind"),
        ({"query": "{question!r}"}, "{question} takes neither : nor ! behind"),
        # what would change nothing, or be read in part
        (
            {"query": "{question}", "method": "separate", "generate": {"seed": 3}},
            "generate says seed, and the method separate generates nothing",
        ),
        (
            {**JOINT, "generate": {"logprobs": 2, "completions": 2}},
            "generate.completions is 2, and letters by their probability are read of",
        ),
        (
            {**JOINT, "choices": {"letters": ["i", "ii"]}, "generate": {"logprobs": 2}},
            "the example '1': the first token of 'ii' may be 'i'",
        ),
        (
            {"query": "{question}", "method": "separate", "extract": "choice"},
            "extract takes an answer out of a text, and the method separate has no",
        ),
        # extractors
        ({"query": "{question}", "extract": "labels"}, "extract: "),
        # shots
        (
            {**JOINT, "shots": {"count": 2}},
            "shots.source is missing: 2 examples are to be shown",
        ),
        (
            {**JOINT, "shots": {"count": 2, "source": "train"}},
            "shots.source: datasets/data has no split 'train'",
        ),
        (
            {**JOINT, "shots": {"count": 2, "source": "all"}},
            "shots.source is 'all', the split that is asked",
        ),
    ],
    ids=lambda given: given[:40] if isinstance(given, str) else "",
)
def test_a_wrong_prompt_is_refused(prompt: Mapping[str, Any], said: str) -> None:
    if not said:  # choices are not asked for, so that nobody looks for them
        prompt = {**prompt, "query": "{question} {nothing}"}
    message = refusal(prompt)
    assert message.startswith("prompt: ")
    assert said in message


def shown(*rows: Mapping[str, Any], **shots: Any) -> Mapping[str, Any]:
    return {**JOINT, "shots": {"examples": rows, **shots}}


VENUS = {"question": "Venus?", "choices": ["star", "planet"], "answer": "planet"}


def test_shots_that_leak_by_their_text() -> None:
    message = refusal(shown(VENUS, {**QUIZ[1], "uid": "x", "question": " MARS? "}))
    assert message == (
        "prompt: shots: 'x' is among the examples that are asked, by its text, and "
        "would show its answer; take it out of shots.examples"
    )


def test_shots_of_a_file_that_leak(tmp_path: Path) -> None:
    """Drawn ones leave out what is asked; the first ones of a file are refused."""
    file = tmp_path / "shots.jsonl"
    rows = [{**QUIZ[1], "uid": "x"}, {**VENUS, "uid": "y"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = {**JOINT, "shots": {"count": 1, "source": str(file)}}
    assert "by its text" in refusal(
        {**said, "shots": {**said["shots"], "draw": "first"}}
    )
    assert "shots.count is 2, and 1 examples can be shown, 1 of 2 being asked" in (
        refusal(said, shots=2)
    )


def test_a_shot_that_is_no_option() -> None:
    message = refusal(shown({**VENUS, "answer": "moon"}))
    assert "its answer 'moon' is none of its options" in message


def test_a_shot_that_lacks_a_field() -> None:
    message = refusal(shown({"choices": ["star", "planet"], "answer": "star"}))
    assert "the example 'shot 1': {question} has no value" in message


def test_shots_need_a_cue_in_a_text() -> None:
    prompt = {"query": "{question}", "shots": {"examples": [VENUS]}}
    message = refusal(prompt, model=Continuing())
    assert "cue is missing: it has shots in a text that a model continues" in message
    assert "write, for example, cue: 'Answer:'" in message


def test_turns_are_of_chats() -> None:
    prompt = {"query": "{question}", "turns": [{"role": "user", "content": "Hello"}]}
    assert "turns are of a chat" in refusal(prompt, model=Continuing())


def test_trials_need_other_shots() -> None:
    assert "3 trials need shots" in refusal(JOINT, trials=3)
    message = refusal(shown(VENUS), trials=2)
    assert "2 trials of 1 other examples each cannot be drawn of 1" in message


def test_a_model_that_cannot_answer() -> None:
    said = {**JOINT, "method": "separate"}
    message = refusal(said, model=Continuing())
    assert "cannot be asked for continuations" in message
    assert "method separate" in message


def test_an_example_without_a_value_is_named() -> None:
    rows = [{"uid": "1", "source": "a", "text": "b"}, {"uid": "2", "text": "b"}]
    message = refusal({"query": "{source}"}, data=rows, task="text-generation")
    assert message == "prompt: the example '2': {source} has no value"


def test_a_prompt_of_a_file_is_called_like_the_file(tmp_path: Path) -> None:
    file = tmp_path / "prompt.yaml"
    file.write_text("query: '{qestion}'\n")
    assert refusal(file).startswith(f"{file}: query names {{qestion}}")


def test_a_value_that_nobody_would_write_is_found_before_all() -> None:
    rows = [{"uid": "1", "source": "a", "text": "b"}]
    rows += [{"uid": "2", "source": {"a": 1}, "text": "b"}]  # type: ignore[dict-item]
    message = refusal({"query": "{source}"}, data=rows, task=Anything)
    assert message.startswith("prompt: the example '2': {source} is no text, number")


def test_a_text_that_is_empty_has_no_probability() -> None:
    rows = [{"uid": "1", "source": "a", "text": ""}]
    rows += [{"uid": "2", "source": "", "text": ""}]
    prompt = {"query": "{source}", "method": "language-modelling"}
    message = refusal(prompt, data=rows, task=Anything)
    assert (
        message == "prompt: the example '2': its text is empty, and has no probability"
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"uid": 1}, "shots: 1 is among the examples that are asked, by its id"),
        ({"uid": "1 "}, "shots: '1 ' is among the examples that are asked, by its id"),
        ({"choices": "ab"}, "'choices' holds none"),
        ({"choices": 7}, "'choices' holds none"),
    ],
)
def test_odd_shots(more: Mapping[str, Any], said: str) -> None:
    example = {"question": "Io?", "choices": ["a", "b"], "answer": "a", **more}
    assert said in refusal({**JOINT, "shots": {"examples": [example]}})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it says nothing"),
        (
            "query: '{question}" + "x" * 1_000_000 + "'",
            "it has more than 1,000,000 bytes",
        ),
        ("extract: " + "[" * 5_000 + "]" * 5_000, "it is nested too deeply"),
        ("query: &a [*a]", "an alias (*) is not possible here"),
        ("query: !!python/object/apply:os.getcwd []", "could not determine a constr"),
        ("- query", "a prompt is an object, with a query at least"),
    ],
)
@pytest.mark.slow
def test_hostile_files_of_prompts(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "prompt.yaml"
    file.write_text(content)
    message = refusal(file)
    assert message.startswith(str(file))
    assert said in message
