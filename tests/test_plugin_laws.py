"""Our models, adapters, stores, schemas and commands keep the laws of their kinds."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from memory_store import MemoryStore

from evalkit import find_components
from evalkit_testing import (
    check_adapter,
    check_command,
    check_model,
    check_schema,
    check_storage,
)

PROGRAM = """
import json, sys

for line in sys.stdin:
    row = json.loads(line)
    bad = "bad" in row["statement"]
    said = {"error": "it is bad"} if bad else {"label": "positive"}
    print(json.dumps({"id": row["uid"], **said}), flush=True)
"""

ROWS = [
    {"id": "1", "l": [{"b": 1}, {"b": 2}], "c": "x", "n": {"m": 1}},
    {"id": "2", "l": [{"b": 3}], "c": "y", "n": {"m": None}},
]
PARTS = [{"id": "1", "responses": [{"_response_index_": 0, "start": 3}]}]
DROP = {"kind": "Drop", "configuration": {"fields": ["b"]}}
RENAME = {"kind": "Rename", "configuration": {"c": "d"}}


def of_rows(configuration: Any = None, **more: Any) -> dict[str, Any]:
    return {"rows": ROWS, "configuration": configuration, **more}


def of_texts(*texts: str, configuration: Any = None, **more: Any) -> dict[str, Any]:
    return {"texts": texts, "configuration": configuration, **more}


ADAPTERS: Mapping[str, Mapping[str, Any]] = {
    "check-argmax": of_rows(broken=[{"label": "a", "prob": {"a": 0.1, "b": 0.9}}]),
    "drop": of_rows({"fields": ["c"]}, broken=[3]),
    "embed-index": of_rows(
        {"collections": ["l"], "index": {"k": None}}, broken=[{"l": 3}]
    ),
    "explode-collections": of_rows({"collections": ["l"]}, broken=[{"l": 3}]),
    "flatten-hierarchy": of_rows(),
    "gather-responses": of_rows(broken=[{"responses": [3]}]) | {"rows": PARTS},
    "map": of_rows({"collections": ["l"], "adapter": DROP}, broken=[{"l": {}}]),
    "map-fields": of_rows({"c": "d"}, broken=[3]),
    "normalise-labels": of_rows({"field": "c"}),
    "number-rows": of_rows({"field": "number"}, broken=[None]),
    "pipeline": of_rows([RENAME], broken=[{"c": 1, "d": 2}]),
    "rename": of_rows({"c": "d"}, broken=[{"c": 1, "d": 2}]),
    "select": of_rows({"fields": ["id", "c"]}, broken=[[]]),
    "transform-json": of_rows({"c": "$.c"}, broken=[{"id": "3"}]),
    "after": of_texts("Answer: 3", configuration={"cue": "Answer:"}),
    "boxed": of_texts("It is \\boxed{3}."),
    "choice": of_texts("The answer is B.", choices=["A", "B"]),
    "final-number": of_texts("It is 3."),
    "first": of_texts("a"),
    "json-path": of_texts('{"a": 1}', configuration={"path": "$.a"}),
    "labels": of_texts("It is positive.", labels=["positive", "negative"]),
    "majority": of_texts("a"),
    "map-values": of_texts("a", configuration={"mapping": {"a": "b"}}),
    "regex": of_texts("It is 3.", configuration={"pattern": r"(\d+)"}),
    "seahelm-answer": of_texts("Tag: A", choices=["A"], configuration={"tag": "Tag:"}),
    "strip": of_texts(" a "),
    "without-thinking": of_texts("<think>a</think> b"),
}
OF_FILES = ("dynabench", "file-upload", "helm", "hf-dataset", "inspect", "lm-eval")
"""Beginnings of the names of those that need files, or whose rows hold bytes."""


def names(kind: str) -> list[str]:
    found = find_components().components
    return sorted({each.name for each in found if each.kind == kind})


def test_each_adapter_is_checked() -> None:
    installed = {name for name in names("adapters") if not name.startswith(OF_FILES)}
    assert installed == {*ADAPTERS}


@pytest.mark.parametrize(("name", "options"), ADAPTERS.items(), ids=ADAPTERS)
def test_an_adapter_keeps_the_laws(name: str, options: Mapping[str, Any]) -> None:
    check_adapter(name, **options)


MODELS: Mapping[str, Mapping[str, Any]] = {
    "echo": {},
    "constant:answer=neutral": {"task": "sentiment"},
    "random:answers=positive/negative,seed=3": {"task": "sentiment"},
}


@pytest.mark.parametrize(("name", "options"), MODELS.items(), ids=MODELS)
def test_a_model_keeps_the_laws(name: str, options: Mapping[str, Any]) -> None:
    check_model(name, **options)


def test_a_program_keeps_the_laws(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    check_model(
        f"command:run={sys.executable} {program}",
        task="sentiment",
        failing=[{"uid": "9", "statement": "bad"}],
    )


def test_the_store_of_our_tests_keeps_the_laws() -> None:
    check_storage("memory://bucket/", store=MemoryStore)


def _values(model: Any) -> dict[str, Any]:
    """Return a row of a schema that has the least that it takes."""
    simple = {"int": 1, "str": "x", "bool": True, "float": 0.5, "bytes": b"x"}
    row = {}
    for name, info in model.model_fields.items():
        text = getattr(info.annotation, "__name__", str(info.annotation))
        value = simple.get(text, [] if text == "list" else None)
        if info.is_required():
            row[info.alias or name] = "scored" if name == "status" else value
    return row


MADE_BY_HAND: Mapping[str, Any] = {
    "run.Score": {"ci_method": "none", "computed_on": "all"},
    "run.Problem": {"status": "missing"},
    "vision.Image": {"format": "png"},
    "binary.Media": {"mediaType": "image/png"},
}


@pytest.mark.parametrize("name", names("schemas"))
def test_a_schema_keeps_the_laws(name: str) -> None:
    from evalkit_schemas_standard import named_schema

    row = {**_values(named_schema(name)), **MADE_BY_HAND.get(name, {})}
    # a value that broke a rule may be anything, which no column can be
    laws = ["documented", "rows", "damaged"] if name == "run.Problem" else None
    check_schema(name, [row], laws=laws)


@pytest.mark.slow
@pytest.mark.parametrize("name", names("commands"))
def test_every_command_keeps_the_laws(name: str) -> None:
    check_command(name, runs=[["--json"], ["no-such-thing"]])


PEERS = Path(__file__).parents[1] / "plugins" / "adapters" / "peers" / "tests"


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("inspect-log", ["inspect/word_problems.json", "inspect/word_problems.eval"]),
        ("inspect-samples", ["inspect/word_problems.json"]),
        ("hf-dataset", ["hf_datasets/reviews"]),
        ("helm-state", ["helm/scenario_state.json"]),
        ("helm-stats", ["helm/per_instance_stats.json"]),
    ],
)
def test_an_adapter_of_files_keeps_the_laws(name: str, files: list[str]) -> None:
    check_adapter(name, files=[PEERS / file for file in files])


def test_the_adapter_of_lm_eval_keeps_the_laws() -> None:
    lines = (PEERS / "lm_eval" / "samples_reviews.jsonl").read_text().splitlines()
    check_adapter("lm-eval", rows=[json.loads(line) for line in lines[:3]])
