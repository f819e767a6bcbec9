"""Prompts of HELM and SEA-HELM, letter by letter."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import evalkit
from evalkit import DataError
from evalkit_models_base import ModelInputs, Prompt
from evalkit_models_base.checks import renderer
from evalkit_models_base.fitting import Fitter
from evalkit_models_base.rendering import Renderer, Shot
from evalkit_models_base.shots import Origin, draw_shots


def inputs_of(
    *rows: Mapping[str, Any], labels: Sequence[str] | None = None, split: str = "test"
) -> ModelInputs:
    """Make inputs of rows."""
    keys = tuple(dict.fromkeys(key for row in rows for key in row if key != "uid"))
    field = "choices" if "choices" in keys else None
    numbered = [{"uid": f"q{n}", **row} for n, row in enumerate(rows)]
    return ModelInputs(
        *("data", "task", split, keys, numbered, len(rows)),
        labels=None if labels is None else tuple(labels),
        choices_field=field,
        answer_field="answer",
    )


# --- HELM: the prompts of its adapters' tests, with the settings that it has by default

ORDINALS = ["First", "Second", "Third"]
TRAIN: Sequence[tuple[str, list[str]]] = [
    ("Second reference is correct", ["Second"]),
    ("First and second references are correct", ["First", "Second"]),
]
EVAL = "First reference is correct"
HELM_GENERATION = {"query": "Input: {input}", "cue": "Output:", "form": "text"}
HELM_JOINT = {
    **HELM_GENERATION,
    "method": "joint",
    "query": "Input: {input}\n{choices}",
}


def helm(
    prompt: Mapping[str, Any],
    *,
    choices: bool = False,
    train: Sequence[tuple[str, list[str]]] = TRAIN,
) -> str:
    """Return the text that is sent for the last example, after the two before it."""
    more = {"choices": ORDINALS} if choices else {}
    shown = [{"input": text, **more, "answer": gold} for text, gold in train]
    said = Prompt.model_validate({**prompt, "shots": {"examples": shown}})
    inputs = inputs_of({"input": EVAL, **more})
    made = renderer(said, "helm", inputs, ("text",))
    shots = draw_shots(made, Origin()).trials[0][""]
    return str(made.render(inputs.rows[0], shots).text)


def test_a_generation_prompt_of_helm() -> None:
    assert helm(HELM_GENERATION) == (
        "Input: Second reference is correct\nOutput: Second\n\n"
        "Input: First and second references are correct\nOutput: First\n\n"
        "Input: First reference is correct\nOutput:"
    )


def test_several_answers_of_helm() -> None:
    assert helm({**HELM_GENERATION, "answers": "all"}) == (
        "Input: Second reference is correct\nOutput: Second\n\n"
        "Input: First and second references are correct\nOutput: First, Second\n\n"
        "Input: First reference is correct\nOutput:"
    )


LISTED = "A. First\nB. Second\nC. Third"


@pytest.mark.parametrize(("answers", "second"), [("first", "A"), ("all", "A, B")])
def test_a_multiple_choice_prompt_of_helm(answers: str, second: str) -> None:
    assert helm({**HELM_JOINT, "answers": answers}, choices=True) == (
        f"Input: Second reference is correct\n{LISTED}\nOutput: B\n\n"
        f"Input: First and second references are correct\n{LISTED}\n"
        f"Output: {second}\n\n"
        f"Input: First reference is correct\n{LISTED}\nOutput:"
    )


def test_numbers_for_letters_of_helm() -> None:
    """HELM has the prefix `  1: ` of the first option, and outputs without blanks."""
    choices = {"letters": "123456", "line": "  {letter}: {choice}"}
    listed = "  1: First\n  2: Second\n  3: Third"
    train = [TRAIN[0], ("Third reference is correct", ["Third"])]
    prompt = {**HELM_JOINT, "choices": choices}
    assert helm(prompt, choices=True, train=train) == (
        f"Input: Second reference is correct\n{listed}\nOutput: 2\n\n"
        f"Input: Third reference is correct\n{listed}\nOutput: 3\n\n"
        f"Input: First reference is correct\n{listed}\nOutput:"
    )


def stub_tokens(text: str) -> int:
    """Count tokens as GPT-2 does of `eval` and `train`: four letters, or five."""
    return text.count("eval") + text.count("train")


def test_truncation_of_helm() -> None:
    """Of 2 049 tokens 924 are left beside 100 of the reply, and no shot."""
    prompt = Prompt(query="{input}", form="text")
    inputs = inputs_of({"input": "eval" * 2049})
    made = renderer(prompt, "helm", inputs, ("text",))
    fitter = Fitter(made, 1024, stub_tokens)
    shots = [Shot({"uid": str(n), "input": "train" * 400}, "train") for n in range(3)]
    text = str(fitter.fitted(inputs.rows[0], shots, 100)[0].text)
    assert text.count("eval") == 924
    assert text.count("train") == 0
    assert [notice.partition(",")[0] for notice in fitter.notices] == [
        "1 of 1 prompt had shots left out",
        "1 of 1 prompt had the end of the input cut off",
    ]


def test_the_last_shots_are_left_out_first() -> None:
    prompt = Prompt(query="{input}", cue=":", form="text")
    inputs = inputs_of({"input": "eval" * 500})
    made = renderer(prompt, "helm", inputs, ("text",))
    fitter = Fitter(made, 1024, stub_tokens)
    shots = [
        Shot({"uid": str(n), "input": f"{n}" + "train" * 200}, "") for n in range(4)
    ]
    text = str(fitter.fitted(inputs.rows[0], shots, 100)[0].text)
    assert (text.count("eval"), text.count("train")) == (500, 400)
    assert ("0train" in text, "1train" in text, "2train" in text) == (True, True, False)


def test_balance_is_of_letters_where_the_texts_of_options_differ() -> None:
    """In HELM shots whose answers differ may all show the letter A (its issue 2224)."""

    class Quiz(BaseModel):
        uid: str
        question: str
        choices: list[str]

    class Said(BaseModel):
        id: str
        answer: str

    class QuizTask(evalkit.TaskIO):
        Input, Output = Quiz, Said
        answer_field, choices_field, perf_metric = "answer", "choices", "accuracy"
        example = {"uid": "1", "question": "?", "choices": ["a", "b"]}

    pool = [
        {
            "question": f"Which is number {n}?",
            "choices": [f"{n}-{m}" for m in range(3)],
            # the letter A is right nine times in twelve
            "answer": f"{n}-{n % 3 if n < 4 else 0}",
        }
        for n in range(12)
    ]
    prompt = {
        **HELM_JOINT,
        "query": "{question}\n{choices}",
        "shots": {"examples": pool, "count": 3, "draw": "balanced"},
    }
    inputs = inputs_of({"question": "Which?", "choices": ["x", "y", "z"]})
    made = renderer(Prompt.model_validate(prompt), "helm", inputs, ("text",))
    for shots in (trial[""] for trial in draw_shots(made, Origin(), 5).trials):
        assert sorted(map(made.written, shots)) == ["A", "B", "C"]


# --- SEA-HELM


def seahelm_prompt(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write a prompt of SEA-HELM as one of ours: its answer tag is our cue."""
    said = case["input"]["prompt_template"]

    def with_cue(template: str) -> str:
        return str(template).replace("{answer_tag}", "{cue}")

    shown = [
        {**row, **row["prompts"][0], "answer": row["label"]}
        for row in case["input"].get("examples") or ()
    ]
    return {
        "instructions": with_cue(said["preamble"]),
        "query": with_cue(said["task_template"]),
        "answer": said["answer_template"]
        .replace("{answer_tag} ", "")
        .replace("{label}", "{answer}"),
        "cue": said["answer_tag"],
        "cue_by": "model",
        "trim": "first",
        **({"shots": {"examples": shown}} if shown else {}),
    }


def seahelm_messages(case: Mapping[str, Any]) -> list[dict[str, str]]:
    inputs = inputs_of(case["input"]["values"])
    prompt = Prompt.model_validate(seahelm_prompt(case))
    made: Renderer = renderer(prompt, "seahelm", inputs, ("chat",))
    shots = draw_shots(made, Origin()).trials[0][""]
    return [
        {"role": each.role, "content": each.content}
        for each in made.render(inputs.rows[0], shots).messages
    ]


def seahelm_cases(oracles: Path, group: str) -> dict[str, Any]:
    lines = (oracles / "seahelm.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    return {case["id"]: case for case in cases if case["group"] == group}


BETTER: Mapping[str, Any] = {
    # a field that nothing fills is named before anything is asked
    "prompt-003": "instructions is the same for all examples, and names "
    "{fewshot_examples}",
    # the cue can be written into the query, and columns may be called like fields
    "prompt-004": [
        {"role": "user", "content": 'Classify.\nUse "Answer: ANSWER".\n\nx Answer:'}
    ],
    "prompt-008": [
        {"role": "user", "content": 'Classify.\nUse "Answer: ANSWER".\n\nText:\ngood'},
        {"role": "assistant", "content": "Answer: A"},
        {"role": "user", "content": "Text:\nx"},
    ],
}
"""What comes of cases in which SEA-HELM fails."""


@pytest.mark.known_result
def test_prompts_of_seahelm(oracles: Path) -> None:
    cases = seahelm_cases(oracles, "prompt")
    assert cases.keys() >= BETTER.keys()
    for name, case in cases.items():
        wanted = BETTER.get(name, case["output"])
        if isinstance(wanted, list):
            assert seahelm_messages(case) == wanted, name
        else:
            # what lacks a value is refused by both
            assert case["raises"] is not None
            with pytest.raises(DataError) as refused:
                seahelm_messages(case)
            assert (wanted or "query names {text}") in str(refused.value), name


@pytest.mark.known_result
def test_how_many_shots_seahelm_has(oracles: Path) -> None:
    """A number that is null or absent is none, where SEA-HELM fails."""
    cases = seahelm_cases(oracles, "fewshot")
    assert {n for n, c in cases.items() if c["verdict"] != "info"} == {
        "fewshot-004",
        "fewshot-005",
    }
    null = Prompt.model_validate({"query": "{text}", "shots": {"count": None}})
    absent = Prompt.model_validate({"query": "{text}", "shots": {}})
    assert null.shots.wanted == absent.shots.wanted == 0
