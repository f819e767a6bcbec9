"""Baselines, and programs."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evalkit
import evalkit_models_base
from evalkit_models_base import Asked, name_in_runs

ROWS = [
    {"uid": f"é-{n}", "statement": f"text {n}", "label": "neutral"} for n in range(300)
]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))


def predict(model: str, rows: list[dict[str, Any]] = ROWS, **limits: Any) -> Any:
    asked = Asked(**limits)
    return evalkit_models_base.predict(
        data=rows, task="sentiment", model=model, asked=asked
    )


def test_a_constant_is_one() -> None:
    found = predict("constant:answer=positive")
    assert {row["label"] for row in found.rows} == {"positive"}
    assert found.system["model"]["parameters"] == {"answer": "positive"}


def test_random_answers_are_drawn_by_the_id_alone() -> None:
    found = predict("random:answers=a/b/c").rows
    counts = Counter(row["label"] for row in found)
    assert all(70 < counts[name] < 130 for name in "abc")  # 100 each; sd 8.2
    backwards = predict("random:answers=a/b/c", ROWS[::-1][:50]).rows
    by_id = {row["id"]: row["label"] for row in found}
    assert all(by_id[row["id"]] == row["label"] for row in backwards)
    other = predict("random:answers=a/b/c,seed=1").rows
    assert other != found


def test_an_echo_is_the_prompt() -> None:
    found = evalkit_models_base.predict(
        data=ROWS[:1], task="sentiment", model="echo", prompt={"query": "{statement}?"}
    )
    assert found.rows == [{"id": "é-0", "label": "text 0?"}]


def program(folder: Path, code: str) -> str:
    path = folder / "program.py"
    path.write_text(f"import json, sys\n{code}", encoding="utf-8")
    return f"command:run={sys.executable} {path}"


EACH = "for line in sys.stdin:\n    row = json.loads(line)\n"


@pytest.mark.parametrize(
    "said",
    [
        'json.dumps(row["statement"].upper())',
        'json.dumps({"id": row["uid"], "label": row["statement"].upper()})',
    ],
)
def test_a_program_answers_line_by_line(tmp_path: Path, said: str) -> None:
    model = program(tmp_path, f"{EACH}    print({said}, flush=True)\n")
    found = predict(model)
    assert found.rows[7] == {"id": "é-7", "label": "TEXT 7"}
    assert len(found.rows) == 300


def test_a_program_may_say_that_it_has_no_answer(tmp_path: Path) -> None:
    code = (
        f"{EACH}    print(json.dumps({{'id': row['uid'], 'error': 'no'}}), flush=True)"
    )
    found = predict(program(tmp_path, code), ROWS[:2], max_errors=2)
    assert found.rows == [{"id": "é-0", "error": "no"}, {"id": "é-1", "error": "no"}]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit('lost')", "the program ended with 1 before it answered 'é-0'"),
        (f"{EACH}    print('x', flush=True)", "with what is no JSON: 'x"),
        (
            f"{EACH}    print(json.dumps({{'id': 'other'}}), flush=True)",
            "predict answered 'other' in place of 'é-0'",
        ),
    ],
)
def test_a_program_that_fails_is_named(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(evalkit.PluginError, match=message) as caught:
        predict(program(tmp_path, code))
    assert "models/command" in str(caught.value)


@pytest.mark.slow
def test_a_program_that_takes_too_long_is_ended_and_started_anew(
    tmp_path: Path,
) -> None:
    code = (
        "import os, time\n"
        f"from pathlib import Path\nmark = Path({str(tmp_path / 'mark')!r})\n"
        f"{EACH}    if row['uid'] == 'é-1' and not mark.exists():\n"
        "        mark.write_text(str(os.getpid()))\n        time.sleep(60)\n"
        "    print(json.dumps('neutral'), flush=True)\n"
    )
    found = predict(program(tmp_path, code), ROWS[:3], seconds=0.5)
    assert [row["label"] for row in found.rows] == ["neutral"] * 3
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "mark").read_text()), 0)
    (tmp_path / "mark").unlink()
    limits = {"seconds": 0.5, "retries": 0, "max_errors": 3, "is_cached": False}
    (reason,) = predict(program(tmp_path, code), ROWS[:3], **limits).errors
    assert reason == "no reply in time: the program was ended, having answered too late"


def test_what_is_no_text_is_said(tmp_path: Path) -> None:
    model = program(tmp_path, "sys.stdout.buffer.write(b'\\xff\\n')\n")
    with pytest.raises(evalkit.PluginError, match="no JSON: 'bytes that are no UTF-8'"):
        predict(model)


def test_what_is_no_program_is_named() -> None:
    with pytest.raises(evalkit.PluginError, match="no-such-program: No such file"):
        predict("command:run=no-such-program")


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("python mine.py", "mine"),
        ("/usr/bin/env python3 -u mine.py --weights weights.bin", "mine"),
        ("python3 -m my_package.answers --fast", "my_package.answers"),
        ("./start.sh mine.py", "start"),
        ("my-program weights.bin", "my-program"),
        ("my-program no-such-file.py", "my-program"),
    ],
)
def test_a_program_is_called_by_its_script(
    run: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("mine.py", "weights.bin"):
        Path(file).touch()
    assert name_in_runs(f"command:run={run}") == name
