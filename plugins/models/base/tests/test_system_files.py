"""Files beside predictions that say what made them, as odd as they may be."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import DataError

SYSTEM = {"model": {"id": "models/mine"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [{"id": "1", "label": "positive"}]
    path = tmp_path / "m.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def evaluated(file: Path) -> Any:
    data = [{"uid": "1", "statement": "Good.", "label": "positive"}]
    return evalkit.evaluate(data=data, task="sentiment", predictions=str(file))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "Expecting value"),
        (b"[]", "must be an object, got []"),
        (b'{"model": {"a": NaN}}', "not JSON compliant"),
        (b'{"model": {"a": 1e999}}', "not JSON compliant"),
        (b'{"model": {"a": 1, "a": 2}}', "the key 'a' is given twice"),
        (b'{"model": {"a": "\xff"}}', "can't decode byte 0xff"),
        (b'{"model": {"a": "\\ud800"}}', "surrogates not allowed"),
        (b'{"model": {"a": %s}}' % (b"[" * 99_999), "maximum recursion depth"),
        (b"{}", "model: is required"),
        (b'{"model": {}, "prompts": {}}', "prompts: is not declared"),
        (b'{"model": {}, "extract": "a.yaml"}', "extract: must be extractors, and not"),
        (b'{"model": {}, "extract": "s3://a/b.json"}', "extract: must be extractors"),
        (
            b'{"model": {}, "extract": "nosuch"}',
            "extract: stage 1: there is no adapter",
        ),
        (b'{"model": {}, "extract": []}', "extract: extract names no extractor"),
        (b'{"model": {}, "predictions_sha256": "0"}', "tells of other predictions"),
    ],
)
def test_the_file_and_what_is_wrong_with_it_are_named(
    file: Path, text: bytes, said: str
) -> None:
    (file.parent / "m.system.json").write_bytes(text)
    with pytest.raises(DataError) as refused:
        evaluated(file)
    assert str(refused.value).startswith(str(file.parent / "m.system.json"))
    assert said in str(refused.value)


def test_a_pipe_is_not_waited_for(file: Path) -> None:
    os.mkfifo(file.parent / "m.system.json")
    with pytest.raises(DataError, match="not a regular file"):
        evaluated(file)


@pytest.mark.parametrize(
    ("extract", "kinds"),
    [(None, None), ("none", None), ("strip:.json|labels", ["strip", "labels"])],
)
def test_extractors_are_those_of_the_prompt(
    file: Path, extract: Any, kinds: list[str] | None
) -> None:
    system = json.dumps({**SYSTEM, "extract": extract})
    (file.parent / "m.system.json").write_text(system)
    record = evaluated(file).record
    assert record.predictions.system is not None
    found = record.extraction and [each.kind for each in record.extraction.stages]
    assert found == kinds
