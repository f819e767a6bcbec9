"""Prompts of benchmark files: by kind of model, with Jinja, and their mistakes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalkit import DataError
from evalkit_benchmarks_declared import Benchmark, dataset_class
from evalkit_benchmarks_declared.prompts import CompiledPrompts, compile_prompts
from evalkit_models_base import Asked, Model, Reply, Request, predict, text_reply

ROWS = [
    {"id": f"{n}", "q": f"Is {n} odd?", "a": "no" if n % 2 == 0 else "yes"}
    for n in range(8)
]


def benchmark(prompt: Any, **more: Any) -> Benchmark:
    return Benchmark.model_validate(
        {
            "benchmark": 1,
            "name": "odd",
            "version": "1",
            "task": {
                "input": {"q": "text"},
                "answer": "label",
                "labels": ["yes", "no"],
            },
            "data": {
                "path": {"test": "test.jsonl", "train": "train.jsonl"},
                "answer": "a",
            },
            "prompt": prompt,
            **more,
        }
    )


def compiled(prompt: Any, **more: Any) -> CompiledPrompts:
    return compile_prompts(benchmark(prompt, **more))


class Keeping(Model):
    """A model that keeps what it is asked."""

    abilities = ("text", "chat")

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        return [text_reply("yes")] * len(requests)


def asked(folder: Path, prompt: Any, kind: str | None = None, **more: Any) -> Any:
    """Ask about the examples 0 and 1, and return requests and predictions."""
    for split, rows in (("test", ROWS[:2]), ("train", ROWS[2:])):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    model = Keeping()
    dataset = dataset_class(benchmark(prompt, **more), folder / "odd.yaml")
    found = predict(dataset, model, model_kind=kind, asked=Asked(is_cached=False))
    return model.asked, found


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        ({"instruct": 0, "base": 5}, {"instruct": 0, "base": 5}),
        ({"instruct": 3}, {"instruct": 3, "base": 3}),
        ({"base": 2}, {"instruct": 0, "base": 2}),
        ({"instruct": 0, "base": None}, {"instruct": 0, "base": 0}),
        (
            {"instruct": 1, "base": 5, "reasoning": 0},
            {"instruct": 1, "base": 5, "reasoning": 0},
        ),
    ],
)
def test_shots_by_kind(count: Any, expected: Any) -> None:
    found = compiled({"query": "{q}", "cue": "A:", "shots": {"count": count}}).prompts
    assert {name: each["shots"]["count"] for name, each in found.items()} == expected
    assert [*found] == [*expected]


def test_keys_by_kind() -> None:
    prompt = {
        "query": "{q}",
        "generate": {"max_tokens": 8, "stop": ["x"]},
        "by_kind": {
            "base": {"query": "Q: {q}", "generate": {"max_tokens": 4}},
            "reasoning": {"generate.max_tokens": 20_000},
        },
    }
    found = compiled(prompt).prompts
    assert [*found] == ["instruct", "base", "reasoning"]
    assert {name: each["generate"] for name, each in found.items()} == {
        "instruct": {"max_tokens": 8, "stop": ["x"]},
        "base": {"max_tokens": 4, "stop": ["x"]},
        "reasoning": {"max_tokens": 20_000, "stop": ["x"]},
    }
    assert found["base"]["query"] == "Q: {q}"
    assert found["reasoning"]["query"] == "{q}"


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (None, "instruct", "Is 0 odd?"),
        ("reasoning", "instruct", "Is 0 odd?"),
        ("base", "base", "Is 2 odd?\nA: no\n\nIs 0 odd?\nA:"),
    ],
)
def test_the_kind_of_the_model_decides(
    tmp_path: Path, kind: str | None, name: str, text: str
) -> None:
    prompt = {
        "query": "{q}",
        "shots": {"count": {"instruct": 0, "base": 1}, "draw": "first"},
        "by_kind": {"base": {"cue": "A:"}},
    }
    requests, found = asked(tmp_path, prompt, kind)
    assert found.system["prompt"]["name"] == name
    first = requests[0]
    assert (first.prompt or first.messages[-1].content) == text


def test_templates_in_jinja(tmp_path: Path) -> None:
    prompt = {
        "system": "{cue} of {{ labels | join('/') }}",
        "instructions": "Say {{ cue }}",
        "turns": [
            {"role": "user", "content": "{% if q %}Hello {id}{% endif %}"},
            {"role": "assistant", "content": "Hi {x}"},
        ],
        "query": "{{ q | upper }}",
        "answer": "<{{ a }}>",
        "cue": "A:",
        "shots": {"count": 1, "draw": "first"},
    }
    more = {"templates": "jinja"}
    found = compiled(prompt, **more)
    assert found.computed == {
        "prompt_query": "{{ q | upper }}",
        "prompt_turn_1": "{% if q %}Hello {id}{% endif %}",
    } | {"prompt_turn_2": "Hi {x}"}
    assert found.shown == {"prompt_answer": "<{{ a }}>"}
    (request, _), predicted = asked(tmp_path, prompt, **more)
    assert [each.content for each in request.messages] == [
        "{cue} of yes/no",
        "Say A:\n\nHello {id}",
        "Hi {x}",
        "IS 2 ODD?\nA:",
        "<no>",
        "Hello {id}",
        "Hi {x}",
        "IS 0 ODD?\nA:",
    ]
    assert "prompt_answer" not in predicted.system["prompt"]["query"]


def test_a_template_that_differs_by_kind_has_a_field_of_its_own() -> None:
    prompt = {
        "query": "{{ q }}",
        "cue": "A:",
        "by_kind": {"base": {"query": "Q: {{ q }}"}, "reasoning": {"cue": "B:"}},
    }
    found = compiled(prompt, templates="jinja")
    assert found.computed == {
        "prompt_query": "{{ q }}",
        "prompt_query_base": "Q: {{ q }}",
    }
    assert found.prompts["base"]["query"] == "{prompt_query_base}"
    assert found.prompts["reasoning"]["query"] == "{prompt_query}"


def test_written_shots_are_filled_too(tmp_path: Path) -> None:
    prompt = {
        "query": "{{ q }}!",
        "answer": "{{ answer }}.",
        "shots": {"examples": [{"q": "Is 9 odd?", "answer": "yes"}]},
    }
    (request, _), _ = asked(tmp_path, prompt, templates="jinja")
    assert [each.content for each in request.messages] == [
        "Is 9 odd?!",
        "yes.",
        "Is 0 odd?!",
    ]


@pytest.mark.parametrize(
    ("prompt", "templates", "said"),
    [
        (
            {"quary": "{q}"},
            "braces",
            "prompt: there is no key 'quary'; did you mean 'q",
        ),
        (
            {"query": "{q}", "by_kind": {"base": {"qeury": "x"}}},
            "braces",
            "prompt (kind base): there is no key 'qeury'; did you mean 'query'?",
        ),
        ({"query": "{{ q"}, "jinja", "prompt.query: "),
        ({"query": "{{ q }}", "system": "{{ q }}"}, "jinja", "prompt.system: "),
        (
            {"query": "{q}", "substitutions": [["(?=x)", ""]]},
            "braces",
            "prompt: substitutions: ",
        ),
    ],
)
def test_mistakes_are_named(prompt: Any, templates: str, said: str) -> None:
    with pytest.raises(DataError) as refused:
        compiled(prompt, templates=templates)
    assert str(refused.value).startswith(said)
