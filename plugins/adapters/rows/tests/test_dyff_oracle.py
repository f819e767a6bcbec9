"""Adapters give what Dyff's gave, but for its known defects."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from evalkit import EvalkitError
from evalkit_adapters_rows import pipeline

ADAPTERS = {
    *("Drop", "ExplodeCollections", "FlattenHierarchy", "Map", "Pipeline", "Rename"),
    *("Select", "TransformJSON", "create_pipeline", "transformjson"),
    *("twice:TransformJSON", "FileUpload", "direct:EmbedIndex"),
}
BETTER = {
    # what is there in place of a defect: rows, or None for an error
    "TransformJSON-38": [{"x": None}],
    "TransformJSON-44": [{"x": "$x"}],
    "TransformJSON-54": None,
    "ExplodeCollections-05": None,
    "ExplodeCollections-08": None,
    "ExplodeCollections-09": None,
    "ExplodeCollections-15": None,
    "ExplodeCollections-16": None,
    "ExplodeCollections-17": None,
    "ExplodeCollections-18": None,
    "ExplodeCollections-22": None,
    "ExplodeCollections-24": None,
    "ExplodeCollections-30": None,
    "FlattenHierarchy-02": [{"a.b": 1}],
    "FlattenHierarchy-04": [
        {"x": 1, "choices.label": "foo", "choices.metadata.value": 42}
    ],
    "FlattenHierarchy-10": None,
    "FlattenHierarchy-11": None,
    "FlattenHierarchy-12": [{"a": {}, "b": 1}],
    "FlattenHierarchy-19": None,
    "Rename-02": [{"b": 1, "c": 2}],
    "Rename-03": [{"b": 1, "a": 2}],
    "Rename-04": None,
    "Rename-10": None,
    "Rename-11": None,
    "Drop-05": None,
    "Pipeline-01": [{}],
    "Pipeline-02": None,
    "twice:TransformJSON-01": [{"x": ["p", "q"]}],
}

MORE: dict[str, Any] = {
    # what Dyff refuses, or leaves out where an index is too short
    "Map-15": [{"_index_": 1, "r": [{"i": 1}]}],
    "direct:EmbedIndex-04": None,
}


def decoded(value: Any) -> Any:
    """Return a value of the oracle: bytes and NaN are written as objects there."""
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if {*value} == {"$bytes"}:
        return base64.b64decode(value["$bytes"])
    if {*value} == {"$float"}:
        return float(value["$float"])
    return {key: decoded(each) for key, each in value.items()}


def stages_of(case: dict[str, Any]) -> list[Any]:
    """Return the pipeline of a case."""
    if case["adapter"] == "create_pipeline":
        stages: list[Any] = decoded(case["config"])
        return stages
    kind = case["adapter"].removeprefix("twice:").removeprefix("direct:")
    if not case["config_given"]:
        return [{"kind": kind}]
    return [{"kind": kind, "configuration": decoded(case["config"])}]


def written(value: Any) -> str:
    return json.dumps(value, default=lambda content: content.hex())


def outcome(stages: list[Any], rows: list[Any]) -> tuple[str, Any, list[Any]]:
    """Return the phase of an error, or the rows as text; and rows before an error."""
    try:
        adapt = pipeline(stages)
    except EvalkitError:
        return "construct", None, []
    found = []
    try:
        for row in adapt(rows):
            found.append(row)  # noqa: PERF402 - rows before an error count
    except EvalkitError:
        return "run", None, found
    return "", written(found), found


@pytest.mark.known_result
@pytest.mark.slow
def test_cases_of_dyff(oracles: Path) -> None:
    lines = (oracles / "dyff_adapters.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    asked = [case for case in cases if case["adapter"] in ADAPTERS]
    wrong = []
    for case in asked:
        before = json.dumps(case["input"])
        stages, rows = stages_of(case), decoded(case["input"])
        phase, text, found = outcome(stages, rows)
        if case.get("do_not_reproduce") or case["id"] in MORE:
            better = {**BETTER, **MORE}[case["id"]]
            is_right = bool(phase) if better is None else found == better and not phase
        elif "output" in case:
            is_right = text == written(decoded(case["output"]))
        else:
            expected = case["error"]["phase"]
            rows_before = decoded(case.get("rows_before_error", []))
            is_right = phase == "construct" or (
                phase == expected == "run" and found == rows_before
            )
        if not is_right or json.dumps(case["input"]) != before:
            wrong.append((case["id"], phase, found))
    assert not wrong
    assert len(asked) >= 100
    known = {case["id"] for case in asked if case.get("do_not_reproduce")}
    assert known == {*BETTER}
