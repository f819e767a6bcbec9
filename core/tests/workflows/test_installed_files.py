"""The files of plugins' distributions: what a run records and `verify` compares."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import py_compile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.plugins.installations import describe_installation

CODE = """
def get_closeness(predictions, targets):
    return 1.0
"""
ENTRY_POINTS = {"evalkit.metrics": {"closeness": "get_closeness"}}
TABLE = "lists/words.bin"


def record(folder: Path) -> Path:
    """Write a `RECORD` of all files of a folder; give its path."""
    [info] = folder.glob("*.dist-info")
    lines = []
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            raw = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
            digest = raw.decode().rstrip("=")
            name = file.relative_to(folder).as_posix()
            lines.append(f"{name},sha256={digest},{file.stat().st_size}")
    lines += [f"{info.name}/RECORD,,", "__pycache__/gone.cpython-311.pyc,,"]
    (info / "RECORD").write_text("\n".join(lines) + "\n", "utf-8")
    return info / "RECORD"


@pytest.fixture
def closer(fake_distribution: Callable[..., Any]) -> Path:
    """Install a metric with a package of data beside it; give the folder."""
    fake = fake_distribution(CODE, ENTRY_POINTS, name="closer", version="1.0")
    folder: Path = fake.folder
    (folder / "lists").mkdir()
    (folder / "lists" / "__init__.py").write_text("", "utf-8")
    (folder / TABLE).write_bytes(b"\0words")
    record(folder)
    return folder


def evaluate(out: Path) -> evalkit.Result:
    class Given(evalkit.Dataset):
        task = "sentiment"
        eval_metrics = ("closeness",)
        perf_metric = "closeness"

        def load(self, split: str) -> list[dict[str, Any]]:
            return [
                {"uid": str(n), "statement": "x", "label": "positive"} for n in "ab"
            ]

    rows = [{"id": each, "label": "positive"} for each in "ab"]
    return evalkit.evaluate(Given, rows, out=out)


def installation(result: evalkit.Result) -> dict[str, Any]:
    [metric] = result.record.metrics
    found: dict[str, Any] = metric.to_dict()["installation"]
    return found


def changes(result: evalkit.Result) -> list[tuple[str, str | None, str | None]]:
    found = evalkit.verify(result).changes
    return [tuple(each) for each in found if "closer" in each.what]


def test_a_distribution_as_it_was_installed_is_said_to_be_so(closer: Path) -> None:
    found = describe_installation("closer")
    assert len(found.pop("sha256")) == 64
    assert found == {
        "kind": "installed",
        "source": None,
        "differing": [],
        "missing": [],
        "unnamed": [],
    }


def test_a_run_names_files_that_are_not_as_record_says(
    closer: Path, tmp_path: Path
) -> None:
    (closer / TABLE).write_bytes(b"\0worse")
    (closer / "lists" / "more.py").write_text("", "utf-8")
    (closer / "closer-1.0.dist-info" / "METADATA").touch()
    found = installation(evaluate(tmp_path / "runs"))
    assert found["differing"] == [TABLE]
    assert found["unnamed"] == ["lists/more.py"]
    (closer / TABLE).unlink()
    assert describe_installation("closer")["missing"] == [TABLE]


def test_verify_names_distribution_and_file(closer: Path, tmp_path: Path) -> None:
    result = evaluate(tmp_path / "runs")
    assert changes(result) == []
    (closer / TABLE).write_bytes(b"\0worse")
    (closer / "lists" / "more.py").write_text("", "utf-8")
    assert changes(result) == [
        ("lists/more.py of closer", "as in RECORD", "not in RECORD"),
        (f"{TABLE} of closer", "as in RECORD", "changed"),
    ]


def test_verify_sees_a_record_that_was_changed_with_its_file(
    closer: Path, tmp_path: Path
) -> None:
    result = evaluate(tmp_path / "runs")
    (closer / TABLE).write_bytes(b"\0worse")
    record(closer)
    [(what, then, now)] = changes(result)
    assert what == "files of closer"
    assert then != now


def test_files_make_no_other_run(closer: Path, tmp_path: Path) -> None:
    run = evaluate(tmp_path / "runs").run_id
    (closer / TABLE).write_bytes(b"\0worse")
    assert evaluate(tmp_path / "others").run_id == run


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            {"vcs_info": {"vcs": "git", "commit_id": "a1b2"}},
            {"kind": "git", "commit": "a1b2"},
        ),
        (
            {"archive_info": {"hashes": {"sha256": "c3"}}},
            {"kind": "archive", "hash": "sha256=c3"},
        ),
        ({"dir_info": {}}, {"kind": "folder"}),
    ],
)
def test_the_source_is_recorded_without_its_address(
    closer: Path, tmp_path: Path, written: dict[str, Any], expected: dict[str, str]
) -> None:
    address = {"url": "file:///home/secret-name/closer", **written}
    file = closer / "closer-1.0.dist-info" / "direct_url.json"
    file.write_text(json.dumps(address), "utf-8")
    result = evaluate(tmp_path / "runs")
    assert installation(result)["source"] == expected
    assert result.path is not None
    for each in result.path.rglob("*"):
        assert not each.is_file() or b"secret-name" not in each.read_bytes()


def test_a_path_in_record_is_not_kept(closer: Path) -> None:
    listed = closer / "closer-1.0.dist-info" / "RECORD"
    listed.write_text(f"{listed.read_text('utf-8')}/home/secret-name/file.py,,\n")
    found = describe_installation("closer")
    assert found["missing"] == ["file.py"]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("editable", "installed as editable, so that RECORD does not name the code"),
        ("unrecorded", "it has no RECORD"),
        ("unreadable", "its metadata cannot be read"),
    ],
)
def test_what_cannot_be_checked_is_no_change(
    closer: Path, tmp_path: Path, kind: str, why: str
) -> None:
    info = closer / "closer-1.0.dist-info"
    if kind == "unrecorded":
        (info / "RECORD").unlink()
    else:
        text = '{"url": "file:///x", "dir_info": {"editable": true}}'
        broken = "[" if kind == "unreadable" else text
        (info / "direct_url.json").write_text(broken, "utf-8")
    result = evaluate(tmp_path / "runs")
    assert installation(result)["kind"] == kind
    found = evalkit.verify(result)
    said = next(text for text in found.unchecked if "closer" in text.split(":")[0])
    assert said.startswith("files of ")
    assert said.endswith(f": {why} (when the run was made)")
    assert changes(result) == []


def test_byte_code_that_is_not_of_its_source_is_recorded(
    closer: Path, tmp_path: Path
) -> None:
    [source] = closer.glob("*.py")
    cached = Path(importlib.util.cache_from_source(str(source)))
    py_compile.compile(str(source), str(cached), doraise=True)
    status = source.stat()
    source.write_text(CODE.replace("1.0", "0.5"), "utf-8")
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))

    result = evaluate(tmp_path / "runs")

    assert result["closeness"].value == 1.0
    [metric] = result.record.metrics
    assert metric.other_byte_code == (source.stem,)
    assert metric.identity["other_byte_code"] == [source.stem]
    [notice] = [each for each in result.notices if "byte code" in each]
    assert notice.startswith(f"the module {source.stem} ran from byte code that is not")
    assert evalkit.verify(result).changes == ()
    cached.unlink()
    assert evalkit.verify(result).changes == (
        (
            f"byte code of {source.stem}",
            "not made of its source",
            "made of its source",
        ),
    )
