"""The script that makes prediction files of GSM8K's example solutions."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "gsm8k_predictions.py"


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT), *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def solved(**solutions: str) -> dict[str, Any]:
    return {
        "question": "How many?",
        "ground_truth": "A: 1",
        **{
            model.replace("_", "-"): {"is_correct": True, "solution": solution}
            for model, solution in solutions.items()
        },
    }


ROWS = [
    solved(small="one\nA: 1", large_x="caf\u00e9\u2028\U0001f600 A: 1"),
    solved(small="", large_x="A: 2"),
]


def as_lines(*rows: Any) -> bytes:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode()


def predictions(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "content",
    [
        as_lines(*ROWS),
        as_lines(*ROWS).removesuffix(b"\n"),
        b"\xef\xbb\xbf" + as_lines(*ROWS).replace(b"\n", b"\r\n") + b"\n\n",
    ],
    ids=["plain", "no last newline", "byte-order mark, CRLF and blank lines"],
)
def test_each_model_gets_a_file_of_ids_and_answers(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "all.jsonl").write_bytes(content)
    done = run("all.jsonl", "-o", "made/here", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "made" / "here"
    assert done.stdout.splitlines() == [
        f"{Path('made/here/small.jsonl')}: 2 predictions",
        f"{Path('made/here/large-x.jsonl')}: 2 predictions",
    ]
    assert sorted(file.name for file in folder.iterdir()) == [
        "large-x.jsonl",
        "small.jsonl",
    ]
    assert predictions(folder / "small.jsonl") == [
        {"id": "1", "answer": "one\nA: 1"},
        {"id": "2", "answer": ""},
    ]
    assert predictions(folder / "large-x.jsonl") == [
        {"id": "1", "answer": "caf\u00e9\u2028\U0001f600 A: 1"},
        {"id": "2", "answer": "A: 2"},
    ]


def test_blank_line_is_skipped_and_counted_as_the_data_set_does(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_bytes(as_lines(ROWS[0]) + b"\n" + as_lines(ROWS[1]))
    assert run("all.jsonl", cwd=tmp_path).returncode == 0
    assert [row["id"] for row in predictions(tmp_path / "small.jsonl")] == ["1", "3"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "all.jsonl: has no solutions"),
        (b'{"question": "How?"', "line 1: is not JSON in UTF-8: Expecting"),
        (as_lines(ROWS[0]) + b"caf\xe9\n", "line 2: is not JSON in UTF-8: 'utf-8'"),
        (as_lines(ROWS[0], ["a"]), "line 2: must be a JSON object, is b'[\"a\"]'"),
        (as_lines(solved()), "line 1: has solutions of no model"),
        (
            as_lines(ROWS[0], solved(small="A: 1")),
            "line 2: has solutions of small; the lines before have small, large-x",
        ),
        (
            as_lines({**ROWS[0], "small": {"solution": 1}}),
            'line 1: small must be an object with the text `solution`, is {"solution"',
        ),
        (
            as_lines({**ROWS[0], "../up": {"solution": "A: 1"}}),
            "line 1: '../up' cannot be the name of a file",
        ),
    ],
)
def test_bad_input_is_named_with_file_and_line_and_nothing_is_written(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "all.jsonl").write_bytes(content)
    done = run("all.jsonl", "-o", "made", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gsm8k_predictions.py: error: all.jsonl")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "made").exists()


@pytest.mark.known_result
def test_publishers_file_gives_four_files_of_1319_predictions(
    external_data: Path, tmp_path: Path
) -> None:
    source = external_data / "gsm8k" / "example_model_solutions.jsonl"
    assert run(source, "-o", tmp_path / "made", cwd=tmp_path).returncode == 0
    lines = source.read_text("utf-8").removesuffix("\n").split("\n")
    published = [json.loads(line) for line in lines]
    names = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
    files = {file.stem: file for file in (tmp_path / "made").iterdir()}
    assert set(files) == set(names)
    for name in names:
        assert predictions(files[name]) == [
            {"id": str(number), "answer": row[name]["solution"]}
            for number, row in enumerate(published, start=1)
        ]
