"""Texts around prompts, substitutions, trials of a prompt, and kinds of models."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalkit
from evalkit import DataError, EvalkitError
from evalkit_models_base import (
    Asked,
    Model,
    Predicted,
    Reply,
    Request,
    plan_requests,
    predict,
    text_reply,
)

DATA = [{"uid": "1", "statement": "So good!", "label": "positive"}]
SHOTS = [
    {"statement": "Bad.", "answer": "negative"},
    {"statement": "Fine.", "answer": "neutral"},
]


class Keeping(Model):
    """A model that keeps what it is asked."""

    abilities: Sequence[Any] = ("text", "chat")

    def __init__(self, kind: Any = None) -> None:
        self.asked: list[Request] = []
        self.kind = kind

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        return [text_reply("positive")] * len(requests)


def ask(
    prompt: Any, model: Keeping | None = None, **more: Any
) -> tuple[list[Request], Predicted]:
    model = model or Keeping()
    more = {"data": DATA, "task": "sentiment", **more}
    asked = Asked(is_cached=False)
    found = predict(model=model, prompt=prompt, asked=asked, **more)
    return model.asked, found


def text_of(prompt: Any, **more: Any) -> str:
    (request,), _ = ask({"form": "text", **prompt}, **more)
    assert request.prompt is not None
    return request.prompt


def messages_of(prompt: Any) -> list[str]:
    (request,), _ = ask({"form": "chat", **prompt})
    return [each.content for each in request.messages]


# --- texts around the prompt, and substitutions


def test_texts_around_a_text() -> None:
    prompt = {
        "query": "{statement}",
        "instructions": "Say it.",
        "prefix": "<s>{x}",
        "suffix": " [end]",
        "cue": "A:",
        "shots": {"examples": SHOTS[:1]},
    }
    assert text_of(prompt) == (
        "<s>{x}Say it.\n\nBad.\nA: negative\n\nSo good!\nA: [end]"
    )


def test_texts_around_the_messages_of_the_user() -> None:
    prompt = {
        "query": "{statement}",
        "instructions": "Say it.",
        "system": "You are a critic.",
        "prefix": "<s>",
        "suffix": "</s>",
        "shots": {"examples": SHOTS[:1]},
    }
    assert messages_of(prompt) == [
        "You are a critic.",
        "<s>Say it.\n\nBad.",
        "negative",
        "So good!</s>",
    ]
    alone = {**prompt, "shots": {}, "system": None}
    assert messages_of(alone) == ["<s>Say it.\n\nSo good!</s>"]


def test_substitutions_are_one_after_another_and_last() -> None:
    prompt = {
        "query": "{statement}",
        "prefix": "a",
        "suffix": "b$",
        "substitutions": [[r"(\w)So", r"[\1] So"], [r"\$", "1$"], ["1", "2"]],
    }
    assert text_of(prompt) == "[a] So good!b2$"
    assert messages_of(prompt) == ["[a] So good!b2$"]


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        ("(?=x)", "", "look-around"),
        (r"(x)\1", "", "backreferences"),
        ("(", "", "unclosed group"),
        ("x", r"\2", "has no group 2"),
    ],
)
def test_what_takes_no_linear_time_is_refused(
    pattern: str, replacement: str, said: str
) -> None:
    with pytest.raises(DataError, match="prompt: substitutions: ") as refused:
        ask({"query": "{statement}", "substitutions": [[pattern, replacement]]})
    assert said in str(refused.value)


@pytest.mark.parametrize("key", ["prefix", "suffix", "substitutions"])
def test_the_text_of_language_modelling_is_left_as_it_is(key: str) -> None:
    value = [["a", "b"]] if key == "substitutions" else "a"
    prompt = {"query": "{statement}", "method": "language-modelling", key: value}
    with pytest.raises(DataError, match=f"{key} changes the text"):
        ask(prompt)


@pytest.fixture(scope="module")
def helm_prompt() -> Any:
    """HELM's class of prompts alone, as the module needs the whole package."""
    folder = os.environ.get("EVALKIT_HELM")
    if folder is None:
        pytest.skip("EVALKIT_HELM names no folder of helm")
    name = "benchmark/adaptation/prompt.py"
    tree = ast.parse((Path(folder) / name).read_text(encoding="utf-8"))
    classes: list[ast.stmt] = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    scope: dict[str, Any] = {
        **{"re": re, "dataclass": dataclass, "__name__": __name__},
        **{"List": list, "Optional": Optional, "Substitution": Any},
    }
    exec(compile(ast.Module(classes, []), name, "exec"), scope)
    return scope["Prompt"]


WORDS = st.text("ab<>\n ", min_size=1, max_size=6)
RULES = st.lists(
    st.sampled_from(
        [("a", "<b>"), (r"\n", r"<br>\n"), (r"(a)(b)", r"\2\1"), ("b+", "")]
    ),
    max_size=3,
)


@settings(max_examples=80, deadline=None)
@given(WORDS, WORDS, WORDS, WORDS, RULES, st.integers(0, 2))
def test_texts_are_those_of_helm(
    helm_prompt: Any,
    instructions: str,
    before: str,
    prefix: str,
    suffix: str,
    rules: list[tuple[str, str]],
    count: int,
) -> None:
    """Instructions, shots and query between HELM's `instance_prefix`."""
    shots = SHOTS[:count]
    blocks = [f"{each['statement']}\nA: {each['answer']}" for each in shots]
    expected = helm_prompt(
        global_prefix=prefix,
        global_suffix=suffix,
        instance_prefix=before,
        substitutions=[SimpleNamespace(source=a, target=b) for a, b in rules],
        instructions_block=instructions,
        train_instance_blocks=blocks,
        eval_instance_block="So good!\nA:",
    ).text
    prompt = {
        "query": "{statement}",
        "instructions": instructions,
        "cue": "A:",
        "separators": {"instructions": before, "shots": before},
        "shots": {"examples": shots},
        **{"prefix": prefix, "suffix": suffix, "substitutions": rules},
    }
    assert text_of(prompt) == expected


# --- trials and replications of a prompt


def test_a_prompt_says_how_often_it_is_asked() -> None:
    prompt = {
        "query": "{statement}",
        "trials": 2,
        "replications": 2,
        "shots": {"examples": SHOTS, "count": 1},
    }
    _, found = ask(prompt)
    names = [row["_replication_"] for row in found.rows]
    assert names == ["1.1", "1.2", "2.1", "2.2"]
    assert found.system["prompt"]["trials"] == 2
    _, found = ask(prompt, trials=1, replications=1)
    assert len(found.rows) == 1
    assert not {"trials", "replications"} & found.system["prompt"].keys()
    _, found = ask(prompt, shots=0)
    assert [row["_replication_"] for row in found.rows] == ["1", "2"]


# --- kinds of models


def prompt_of(text: str) -> dict[str, Any]:
    return {"query": text + " {statement}", "generate": {"max_tokens": len(text)}}


class Kinds(evalkit.Dataset):
    """A dataset with prompts for kinds of models."""

    task = "sentiment"
    splits = ("test",)

    def __init__(self, *names: str) -> None:
        prompts = {name: prompt_of(name) for name in names}
        vars(self).update(prompts=prompts)

    def load(self, split: str) -> list[dict[str, Any]]:
        return DATA


@pytest.mark.parametrize(
    ("names", "kind", "expected"),
    [
        (("instruct", "base", "reasoning"), "base", "base"),
        (("instruct", "base", "reasoning"), "reasoning", "reasoning"),
        (("base", "instruct"), "reasoning", "instruct"),
        (("base", "instruct"), None, "instruct"),
        (("other", "base"), None, "other"),
        (("other", "base"), "reasoning", "other"),
        (("default", "instruct"), "base", "default"),
    ],
)
def test_the_kind_of_a_model_chooses_the_prompt(
    names: Sequence[str], kind: str | None, expected: str
) -> None:
    for said in ({"model_kind": kind}, {"model": Keeping(kind)}):
        more: dict[str, Any] = {"model": Keeping(), **said}
        found = predict(Kinds(*names), asked=Asked(is_cached=False), **more)
        assert found.system["prompt"]["name"] == expected
        assert found.system["model"].get("kind") == kind
        plan = plan_requests(Kinds(*names), **more)
        (first,) = plan["first"]
        assert first["max_tokens"] == len(expected)


def test_a_named_prompt_and_a_given_kind_come_first() -> None:
    model = Keeping("base")
    found = predict(
        Kinds("instruct", "base"),
        model,
        prompt="instruct",
        model_kind="reasoning",
        asked=Asked(is_cached=False),
    )
    assert found.system["prompt"]["name"] == "instruct"
    assert found.system["model"]["kind"] == "reasoning"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(EvalkitError, match="must be one of base, instruct, reasoning"):
        ask(prompt_of("x"), model_kind="chat")
