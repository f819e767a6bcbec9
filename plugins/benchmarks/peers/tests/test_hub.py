"""Tasks of `eval.yaml`: each field, solver and scorer, and what is refused."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import evalkit
from evalkit import DataError
from evalkit_benchmarks_peers.hub import read
from evalkit_models_base import Asked, Model, Reply, Request, predict
from evalkit_models_base import text_reply as text

ROWS = [
    {"q": "Which town is on the Seine?", "a": "Paris", "at": 1, "level": "easy"},
    {"q": "Which {river} is in Rome?", "a": "Tiber", "at": 0, "level": "hard"},
]
OPTIONS = [["Rome", "Paris", "Oslo"], ["Tiber", "Po"]]
GENERATE = {"name": "generate"}
CHOICE = {"name": "multiple_choice"}


class Keeping(Model):
    """A model that keeps what it is asked."""

    abilities = ("chat", "text")

    def __init__(self, said: str = "ANSWER: B") -> None:
        self.asked: list[Request] = []
        self.said = said

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        return [text(self.said)] * len(requests)


def task(**more: Any) -> dict[str, Any]:
    return {
        "field_spec": {"input": "q", "target": "a"},
        "solvers": [GENERATE],
        "scorers": [{"name": "match"}],
        **more,
    }


def chosen(*solvers: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    fields = {"input": "q", "target": "at", "choices": "options"}
    scorers = [{"name": "choice"}]
    return task(field_spec=fields, solvers=solvers, scorers=scorers, **more)


def file_of(folder: Path, *tasks: Mapping[str, Any], **more: Any) -> str:
    """Write an `eval.yaml` with its data, and return the reference to it."""
    rows = [{**row, "options": own} for row, own in zip(ROWS, OPTIONS, strict=True)]
    folder.mkdir(exist_ok=True)
    lines = "\n".join(map(json.dumps, rows))
    (folder / "test.jsonl").write_text(lines, encoding="utf-8")
    path = folder / "eval.yaml"
    path.write_text(yaml.safe_dump({**more, "tasks": [*tasks]}), encoding="utf-8")
    return f"hub:{path}"


def asked(reference: str) -> list[list[tuple[str, str]]]:
    """Return the messages of each request."""
    model = Keeping()
    predict(reference, model, asked=Asked(is_cached=False))
    return [
        [(each.role, each.content) for each in request.messages]
        for request in model.asked
    ]


def scored(reference: str, said: str) -> evalkit.Result:
    replies = predict(reference, Keeping(said), asked=Asked(is_cached=False))
    return evalkit.evaluate(reference, predictions=replies.rows)


def test_solvers_become_a_prompt(tmp_path: Path) -> None:
    steps = [
        ("system_message", {"template": "Be {tone}. {x}", "tone": "brief"}),
        ("prompt_template", {"template": "{{{level}}} {prompt} {unknown} {n}", "n": 3}),
        ("chain_of_thought", {"template": "{prompt}\nWhy?"}),
        ("user_message", {"template": "Answer {level}."}),
        ("generate", {"temperature": 0.5, "stop_seqs": ["\n"]}),
    ]
    solvers = [{"name": name, "args": args} for name, args in steps]
    fields = {"input": "q", "target": "a", "metadata": ["level"]}
    first, second = asked(file_of(tmp_path, task(field_spec=fields, solvers=solvers)))
    assert first == [
        ("system", "Be brief. {x}"),
        ("user", f"{{easy}} {ROWS[0]['q']} {{unknown}} 3\nWhy?"),
        ("user", "Answer easy."),
    ]
    assert second[1] == ("user", f"{{hard}} {ROWS[1]['q']} {{unknown}} 3\nWhy?")


def test_options_are_listed(tmp_path: Path) -> None:
    template = "{question}\n{letters}\n{choices}"
    first, second = asked(
        file_of(tmp_path, chosen({**CHOICE, "args": {"template": template}}))
    )
    assert first[-1][1] == f"{ROWS[0]['q']}\nA,B,C\nA) Rome\nB) Paris\nC) Oslo"
    assert second[-1][1] == f"{ROWS[1]['q']}\nA,B\nA) Tiber\nB) Po"
    for args in ({}, {"cot": True}):
        reference = file_of(tmp_path, chosen({**CHOICE, "args": args}))
        [(_, said)], _ = asked(reference)
        assert "ANSWER: LETTER, in which LETTER is one of A,B,C." in said
        assert ("step by step" in said) == bool(args)
        told = "multiple_choice has no template, and gets evalkit's own"
        assert told in read(reference).plugin.notices


SCORES = [
    ("match", {}, "It is **Paris**.", 0.5),
    ("match", {"ignore_case": False}, "paris", 0.0),
    ("includes", {}, "In PARIS or by the Tiber", 1.0),
    ("exact", {}, "the paris!", 0.5),
    ("f1", {}, "Paris Tiber", 2 / 3),
    ("answer", {"pattern": "word"}, "ANSWER: Rome\nANSWER: tiber.", 0.5),
    ("pattern", {"pattern": "Par.s"}, "it is Paris", 0.5),
    ("math", {}, "Paris", 0.5),
]


@pytest.mark.parametrize(("name", "args", "said", "value"), SCORES)
def test_scorers_become_metrics(
    name: str, args: dict[str, Any], said: str, value: float, tmp_path: Path
) -> None:
    given = task(scorers=[{"name": name, "args": args}])
    result = scored(file_of(tmp_path, given), said)
    assert result.headline is not None
    assert result.headline.value == pytest.approx(value)


PIECES = [
    *("ANSWER: ", "answer :", "Answer", "A", "b", "C", "D", "B.", "(B)", "$A$"),
    *("**C**", "\n", "\n", " ", " ", ",", ".", "Paris", "paris", "The town is"),
    *("is Paris", "42", "$1,200", "3.0", "3", "(42)", "1e3", "-7%", "é"),
]
KINDS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("choice", {}, ["A", "B", "C"]),
    ("answer", {"pattern": "letter"}, ["A", "b"]),
    ("answer", {"pattern": "word"}, ["Paris", "42", "B"]),
    ("answer", {"pattern": "line"}, ["Paris", "The town is Paris", "b"]),
    ("pattern", {"pattern": r"is (\w+)"}, ["Paris"]),
    ("pattern", {"pattern": r"ANSWER: (\w)", "ignore_case": False}, ["A", "b"]),
    ("includes", {}, ["PARIS", "42"]),
    ("includes", {"ignore_case": False}, ["PARIS", "is Paris"]),
    *[
        ("match", {"location": where, **more}, ["paris", "B", "1200", "3", "42", "-7"])
        for where in ("begin", "end", "any", "exact")
        for more in ({}, {"numeric": True}, {"ignore_case": False})
    ],
]


@pytest.mark.known_result
def test_replies_are_scored_as_inspect_scores_them(tmp_path: Path) -> None:
    folder = os.environ.get("EVALKIT_INSPECT")
    if not folder:
        pytest.skip("EVALKIT_INSPECT names no folder of inspect_ai")
    rng = random.Random(41)
    cases = []
    for name, args, targets in KINDS:
        for _ in range(200):
            said = "".join(rng.choices(PIECES, k=rng.randint(1, 7))) or "."
            cases.append((name, args, said, rng.choice(targets), 3))
    command = [sys.executable, str(Path(__file__).with_name("inspect_own.py")), folder]
    lines = "\n".join(map(json.dumps, cases))
    done = subprocess.run(command, input=lines, stdout=-1, text=True, check=True)
    expected = [*map(float, done.stdout.split())]
    for number in range(len(KINDS)):
        own = slice(200 * number, 200 * (number + 1))
        found = scores_of(tmp_path / str(number), cases[own])
        wrong = [
            (case, value)
            for case, value, right in zip(cases[own], found, expected[own], strict=True)
            if value != right
        ]
        assert not wrong, (len(wrong), wrong[:5])


def scores_of(folder: Path, cases: Sequence[Any]) -> list[float]:
    """Return the score of each reply."""
    name, args = cases[0][:2]
    reference = file_of(folder, task(scorers=[{"name": name, "args": args}]))
    if name == "choice":
        reference = file_of(folder, chosen(CHOICE))
    options = {"q": "?", "options": ["x", "y", "z"]}
    rows = [{"a": case[3], "at": case[3], **options} for case in cases]
    lines = "\n".join(map(json.dumps, rows))
    (folder / "test.jsonl").write_text(lines, encoding="utf-8")
    replies = [{"id": str(n), "answer": case[2]} for n, case in enumerate(cases, 1)]
    result = evalkit.evaluate(reference, predictions=replies)
    assert result.examples is not None
    assert result.headline is not None
    frame = result.examples.with_columns(pl.col("id").cast(pl.Int64)).sort("id")
    return [float(each or 0.0) for each in frame[result.headline.metric].to_list()]


def test_a_target_may_be_a_literal_and_choices_columns(tmp_path: Path) -> None:
    fields = {"input": "q", "target": "literal:B", "choices": ["level", "a"]}
    given = {**chosen(CHOICE), "field_spec": fields}
    assert scored(file_of(tmp_path, given), "ANSWER: B")["accuracy"].value == 1.0


def test_several_scorers_read_replies_in_their_own_ways(tmp_path: Path) -> None:
    line = {"name": "answer", "args": {"pattern": "line"}}
    scorers = [line, {"name": "includes"}, {"name": "match", "args": {"numeric": True}}]
    benchmark = read(file_of(tmp_path, task(scorers=scorers))).plugin.benchmark
    assert len(benchmark.extract) == 2
    assert [each.metric for each in benchmark.metrics] == ["inspect-match"] * 2


def test_epochs_are_replications(tmp_path: Path) -> None:
    reference = file_of(tmp_path, chosen(CHOICE, epochs=3, epoch_reducer="mean"))
    assert len(asked(reference)) == 6
    result = scored(reference, "ANSWER: B")
    assert result["accuracy"].value == 0.5
    assert any("--generate temperature=1" in each for each in result.notices)


def test_a_copy_of_the_hub_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hub" / "somebody" / "towns"
    folder.parent.mkdir(parents=True)
    file_of(folder, task(id="one"), task(id="two", split="test"))
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match=r"tasks: has 2 tasks. Name one: #one, #two"):
        read("hub:somebody/towns")
    assert read("hub:somebody/towns#two").name == "hub-somebody-towns-two"
    assert len(asked("hub:somebody/towns#two")) == 2


IMAGES = {"input": "q", "target": "a", "input_image": "image"}
PARTS = {"pattern": "(a) (b)"}
WRONG = [
    ({"solvers": [{"name": "use_tools"}, GENERATE]}, "solvers.0.name: use_tools: eval"),
    (
        {"solvers": [{"name": "self_critique"}]},
        "solvers.0.name: self_critique: evalkit",
    ),
    ({"solvers": [GENERATE, GENERATE]}, "solvers.0.name: generate or multiple_choice "),
    ({"solvers": [{"name": "plan"}]}, "solvers.0.name: plan: must be one of chain_of"),
    ({"solvers": [CHOICE]}, "scorers: multiple_choice and the scorer choice go"),
    ({"field_spec": IMAGES}, "field_spec.input_image: evalkit does not have this"),
    ({"field_spec": {"inptu": "q"}}, "inptu: evalkit does not know this key. Did you"),
    ({"split": "test[:5]"}, "split: String should match pattern"),
    ({"split": "train"}, "split: no file of the split 'train' is beside the file"),
    ({"epochs": 2, "epoch_reducer": "mode"}, "epoch_reducer: Input should be 'mean'"),
    ({"epochs": 0}, "epochs: Input should be greater than or equal to 1"),
    ({"scorers": [{"name": "pattern", "args": PARTS}]}, "pattern: must have at most"),
    ({"scorers": [{"name": "answer"}]}, "args.pattern: must be one of letter, word"),
    ({"scorers": [{"name": "model_graded_fact"}]}, "model_graded_fact: not read. Decl"),
    ({"scorers": [{"name": "f1", "args": {"stop_words": ["x"]}}]}, "stop_words: evalk"),
    ({"sandbox": "docker"}, "sandbox: evalkit does not know this key. Leave it out"),
]


@pytest.mark.parametrize(("more", "said"), WRONG)
def test_what_evalkit_lacks_is_refused(
    more: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as error:
        read(file_of(tmp_path, task(**more)))
    assert said in str(error.value)
    assert "eval.yaml:" in str(error.value)


def test_a_target_names_one_option(tmp_path: Path) -> None:
    reference = file_of(tmp_path, chosen(CHOICE))
    row = {"q": "?", "at": "A,B", "options": ["x", "y"]}
    (tmp_path / "test.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(DataError, match=r"test.jsonl:1: at: must be the letter or"):
        read(reference).plugin().load("test")
