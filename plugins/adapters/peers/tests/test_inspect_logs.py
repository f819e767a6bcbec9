"""Logs that Inspect wrote; `made_by/make_inspect.py` made them."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_adapters_rows import Rows, as_pipeline

FOLDER = Path(__file__).parent / "inspect"
LOG = FOLDER / "word_problems.json"
ARCHIVE = FOLDER / "word_problems.eval"
EPOCHS = FOLDER / "two_epochs.json"


def adapted(path: Path, adapter: str) -> list[Any]:
    through = as_pipeline(adapter)
    assert through is not None
    rows = through.read_file(path)
    assert rows is not None
    return list(through(dict(row.values or {}) for row in rows))


@pytest.mark.parametrize("path", [LOG, ARCHIVE])
def test_answers_are_read(path: Path) -> None:
    assert adapted(path, "inspect-log") == [
        {"id": "m1", "answer": "8"},
        {"id": "m2", "answer": "So the answer is 5."},
        {"id": "m3", "answer": "13"},
    ]
    by_scorer = adapted(path, "inspect-log:scorer=match,field=text")
    assert [row["text"] for row in by_scorer] == ["8", "So the answer is 5.", "13"]


def test_epochs_are_replications() -> None:
    found = adapted(EPOCHS, "inspect-log")
    replications = [(row["id"], row["_replication_"]) for row in found]
    assert sorted(replications) == [(f"m{n}", e) for n in (1, 2, 3) for e in (1, 2)]
    assert len(adapted(EPOCHS, "inspect-samples")) == 3


@pytest.mark.parametrize("path", [LOG, ARCHIVE])
def test_samples_are_examples(path: Path) -> None:
    found = adapted(path, "inspect-samples")
    assert found[0] == {
        "operation": "add",
        "uid": "m1",
        "input": "Ann has 3 eggs and buys 5. How many eggs has she?",
        "target": "8",
    }
    assert found[2]["target"] == ["12", "twelve"]


@pytest.mark.parametrize("path", [LOG, ARCHIVE, EPOCHS])
def test_a_log_is_scored(path: Path, tmp_path: Path) -> None:
    names = {"input": "question", "target": "answer"}
    data = [{"kind": "inspect-samples"}, {"kind": "Rename", "configuration": names}]
    result = evalkit.evaluate(
        path,
        path,
        task="math-qa",
        rows=Rows(adapters={"data": data, "predictions": "inspect-log"}),
        out=tmp_path,
    )
    assert result["exact-match"].value == pytest.approx(1 / 3, abs=0.17)
    assert result.status == "complete"
    assert evalkit.verify(result.path, predictions=path).agrees


@pytest.mark.parametrize("name", ["0.3.30.json", "0.3.100.eval", "0.3.285.eval"])
def test_logs_of_all_versions_are_read(name: str) -> None:
    path = FOLDER / f"questions-{name}"
    assert adapted(path, "inspect-log") == [
        {"id": 1, "answer": "I think\nANSWER: B"},
        {"id": 2, "error": "ValueError('no memory')"},
        {"id": 3, "answer": "I do not know."},
    ]
    assert adapted(path, "inspect-samples")[0] == {
        "subject": "rivers",
        "uid": 1,
        "input": "Which town is on the Seine?",
        "choices": ["Rome", "Paris"],
        "target": "B",
    }


def log_of(**changes: Any) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(LOG.read_text())
    log["samples"][0].update(changes)
    return log


def write(tmp_path: Path, log: Any) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    return path


def test_a_scorer_that_found_no_answer_gives_none(tmp_path: Path) -> None:
    path = write(tmp_path, log_of(scores={"match": {"value": "I", "answer": None}}))
    found = adapted(path, "inspect-log:scorer=match")
    assert found[0] == {"id": "m1", "responses": []}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}", "is no log of Inspect with samples"),
        ("[1]", "is no log of Inspect with samples"),
        ('{"samples": []}', "the log has no samples"),
        ('{"samples": [1]}', "must be an object with fields, is a number"),
        ('{"samples": [], "eval": [1]}', "log.json: .*'eval' must be an object, got"),
        ("{", "invalid JSON"),
        ("[" * 100_000, "nesting is too deep|invalid JSON"),
        ('{"samples": [{"id": 1}]}', "there is no 'output'"),
    ],
)
def test_files_that_are_no_logs_are_refused(
    tmp_path: Path, content: str, problem: str
) -> None:
    path = tmp_path / "log.json"
    path.write_text(content)
    with pytest.raises((evalkit.DataError, evalkit.AdapterError), match=problem):
        adapted(path, "inspect-log")


def test_an_input_with_an_image_keeps_its_parts(tmp_path: Path) -> None:
    text = {"type": "text", "text": "What is it?"}
    image = {"type": "image", "image": "cat.png"}
    for parts, wanted in (([text], "What is it?"), ([text, image], None)):
        messages = [{"role": "user", "content": parts}]
        path = write(tmp_path, log_of(input=messages))
        assert adapted(path, "inspect-samples")[0]["input"] == (wanted or messages)


def archive(tmp_path: Path, members: dict[str, str]) -> Path:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"header.json": "{}"}, "the log has no samples"),
        ({"samples/a.json": "{}"}, "its evaluation has not ended"),
        ({"samples/a.json": "{", "header.json": "{}"}, "samples/a.json: invalid JSON"),
    ],
)
def test_archives_that_are_no_logs_are_refused(
    tmp_path: Path, members: dict[str, str], problem: str
) -> None:
    with pytest.raises(evalkit.DataError, match=problem):
        adapted(archive(tmp_path, members), "inspect-log")


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(b"no archive")
    with pytest.raises(evalkit.DataError, match="invalid archive"):
        adapted(path, "inspect-log")
    with pytest.raises(evalkit.DataError, match="cannot be read: No such file"):
        adapted(tmp_path / "none.eval", "inspect-log")
    content = bytearray(ARCHIVE.read_bytes())
    start = content.index(b"samples/m1_epoch_1.json") + 60
    content[start : start + 40] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(evalkit.DataError, match=r"m1_epoch_1\.json: (cannot be|is no)"):
        adapted(path, "inspect-log")
