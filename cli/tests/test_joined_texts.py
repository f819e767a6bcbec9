"""`evalkit show RUN --wrong|--flips --data FILE`: texts beside the answers of a run."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]

TEXTS = {"1": "Lovely.", "2": "Awful, really.", "3": "A film."}
LABELS = {"1": "positive", "2": "negative", "3": "neutral"}


@pytest.fixture
def data(
    plugins: Any, invoke: Invoke, write_rows: Write, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Evaluate a model on a file, of which it gets the second and third wrong."""
    monkeypatch.setenv("EVALKIT_MIN_N", "1")
    rows = [
        {"uid": uid, "statement": text, "label": LABELS[uid]}
        for uid, text in TEXTS.items()
    ]
    data = write_rows("set.jsonl", rows)
    said = write_rows("m.jsonl", [{"id": uid, "label": "positive"} for uid in TEXTS])
    done = invoke("eval", "--data", data, "--task", "sentiment", "-p", said)
    assert done.exit_code == 0, done.stderr
    return data


def test_texts_stand_beside_wrong_answers(invoke: Invoke, data: str) -> None:
    done = invoke("show", "latest", "--wrong", "--data", data, "-m", "accuracy")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[2].split()[-1] == "statement"
    assert lines[3].endswith("  Awful, really.")
    assert len(lines) == 5
    command = ("show", "latest", "--wrong", "-m", "accuracy")
    plain = json.loads(invoke(*command, "--json").stdout)
    assert "input" not in plain["examples"][0]
    joined = json.loads(invoke(*command, "--json", "--data", data).stdout)
    assert [each.pop("input") for each in joined["examples"]] == [
        {"statement": TEXTS["2"]},
        {"statement": TEXTS["3"]},
    ]
    assert joined == plain
    shown = invoke(*command, "--format", "csv", "--data", data).stdout
    assert [row["statement"] for row in csv.DictReader(io.StringIO(shown))] == [
        TEXTS["2"],
        TEXTS["3"],
    ]


def test_another_file_is_said_to_be_another(
    invoke: Invoke, data: str, write_rows: Write
) -> None:
    rows = [{"uid": "2", "statement": "Edited.", "label": "negative"}]
    other = write_rows("other.jsonl", rows)
    done = invoke("show", "latest", "--wrong", "--data", other, "-m", "accuracy")
    assert "Edited." in done.stdout
    first, second = done.stdout.splitlines()[-2:]
    assert first.startswith(
        "notice: other.jsonl is not a file that the run was made from (set.jsonl): its "
    )
    assert second == "notice: other.jsonl has no row for 1 id shown"
    missing = invoke("show", "latest", "--wrong", "--data", "no.jsonl")
    assert missing.exit_code == 1
    assert "no.jsonl: there is no such file" in missing.stderr


def test_texts_of_originals_and_copies_stand_beside_flips(
    invoke: Invoke, data: str, write_rows: Write
) -> None:
    copy = {"uid": "1_l", "input_id": "1", "perturbation": "lower", "tags": []}
    copies = write_rows(
        "copies.jsonl", [copy | {"statement": "lovely.", "label": "positive"}]
    )
    said = write_rows("c.jsonl", [{"id": "1_l", "label": "negative"}])
    given = ("--perturbed", copies, "--perturbed-predictions", said)
    arguments = ("--data", data, "--task", "sentiment", "-p", "m.jsonl")
    assert invoke("eval", *arguments, *given).exit_code == 0
    for file, header, text in (
        (data, "original statement", TEXTS["1"]),
        (copies, "copy statement", "lovely."),
    ):
        done = invoke("show", "latest", "--flips", "--data", file)
        assert done.exit_code == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[2].endswith(header)
        assert lines[3].endswith(f"  {text}")
        assert "is not a file" not in done.stdout
    done = invoke("show", "latest", "--flips", "--data", data, "--json")
    [pair] = json.loads(done.stdout)["pairs"]
    assert (pair["original_input"], pair["input"]) == ({"statement": TEXTS["1"]}, {})
    shown = invoke("show", "latest", "--flips", "--data", data, "--format", "csv")
    [row] = csv.DictReader(io.StringIO(shown.stdout))
    assert (row["original statement"], row["copy statement"]) == (TEXTS["1"], "")


def test_hurtful_texts_are_masked(invoke: Invoke) -> None:
    done = invoke("eval", "sample-hs", "--json")
    run = json.loads(done.stdout)
    run_id = (run[0] if isinstance(run, list) else run)["fingerprint"]
    import evalkit_datasets_samples

    folder = Path(str(evalkit_datasets_samples.__file__)).parent / "data"
    command = ("show", run_id, "--wrong", "--data", str(folder / "sample-hs.jsonl"))
    masked = invoke(*command, "-n", "1").stdout
    assert "masked, as the texts may be hurtful; --show-text shows them" in masked
    assert "··" in masked
    assert "··" not in invoke(*command, "-n", "1", "--show-text").stdout
    assert json.loads(invoke(*command, "--json").stdout)["examples"][0]["input"] == {}


def test_data_need_a_view(invoke: Invoke, data: str) -> None:
    done = invoke("show", "latest", "--data", data)
    assert done.exit_code == 2
    assert "--data needs --wrong or --flips." in done.stderr
    done = invoke("show", "metrics/accuracy", "--data", data)
    assert "--data is about a run" in done.stderr
    done = invoke("show", "latest", "--show-text")
    assert "--show-text needs datasets/NAME and -n, or --data." in done.stderr


def test_copies_are_read_without_the_map_of_the_data(
    plugins: Any, invoke: Invoke, write_rows: Write
) -> None:
    rows = [{"id": "1", "text": "Lovely.", "label": "positive"}]
    own = ("--data", write_rows("own.jsonl", rows), "--task", "sentiment")
    own += ("--map", "statement=text")
    copy = {"uid": "1_l", "input_id": "1", "perturbation": "lower", "tags": []}
    copies = write_rows(
        "copies.jsonl", [copy | {"statement": "lovely.", "label": "positive"}]
    )
    right = write_rows("m.jsonl", [{"id": "1", "label": "positive"}])
    wrong = write_rows("c.jsonl", [{"id": "1_l", "label": "negative"}])
    given = ("--perturbed", copies, "--perturbed-predictions", wrong)
    assert invoke("eval", *own, "-p", right, *given).exit_code == 0
    for file, text in (("own.jsonl", "Lovely."), ("copies.jsonl", "lovely.")):
        done = invoke("show", "latest", "--flips", "--data", file)
        assert done.exit_code == 0, done.stderr
        assert done.stdout.splitlines()[3].endswith(f"  {text}")
    write_rows("other.jsonl", [{"uid": "1_l", "statment": "lovely."}])
    done = invoke("show", "latest", "--flips", "--data", "other.jsonl")
    assert "no row has 'text' (--map statement=text)" in done.stderr
    assert "evalkit: try:" not in done.stderr  # show has no --map
