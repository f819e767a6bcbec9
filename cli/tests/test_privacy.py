"""That runs hold what `docs/privacy.md` says, and nothing else: every file is read."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]


def texts_of(runs: Path) -> str:
    """Return the bytes of all files below a folder, tables also as they are read."""
    texts = []
    for path in sorted(runs.rglob("*")):
        texts.append(str(path.relative_to(runs)))
        if path.is_file():
            texts.append(path.read_bytes().decode("latin-1"))
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            texts.append(repr([frame.schema, frame.to_dicts()]))
    return "\n".join(texts)


@pytest.fixture
def data(write_rows: Write) -> tuple[str, ...]:
    """Evaluate a file of examples whose answers, texts and folder are secret."""
    rows = [
        {
            "uid": str(number),
            "statement": f"xqtext{number}",
            "label": f"xqlabel{number % 2}",
            "kept": f"kept{number % 3}",
        }
        for number in range(6)
    ]
    said = [{"id": str(number), "label": f"xqlabel{number % 3}"} for number in range(6)]
    files = write_rows("data.jsonl", rows), write_rows("said.jsonl", said)
    data, predictions = (str(Path(each).resolve()) for each in files)
    task = ("--task", "text-classification", "-m", "accuracy")
    return ("eval", "--data", data, "-p", predictions, *task)


@pytest.mark.parametrize("names", ["answer", "pred", "label", "kept,answer"])
def test_no_groups_are_named_after_answers_without_examples(
    invoke: Invoke, data: tuple[str, ...], tmp_path: Path, names: str
) -> None:
    done = invoke(*data, "--no-examples", "--by", names)
    assert done.exit_code == 1
    hidden = names.rpartition(",")[2]
    assert f"--by {names}: groups by {hidden!r} would be named after" in done.stderr
    assert "xq" not in texts_of(tmp_path / "runs")
    assert invoke(*data, "--by", names).exit_code == 0  # with examples it does


def test_columns_are_kept_only_with_examples(
    invoke: Invoke, data: tuple[str, ...], tmp_path: Path
) -> None:
    assert invoke(*data, "--no-examples").exit_code == 0
    assert "kept2" not in texts_of(tmp_path / "runs")
    assert invoke(*data, "--keep", "none").exit_code == 0
    assert "kept2" not in texts_of(tmp_path / "runs")
    assert invoke(*data).exit_code == 0
    found = texts_of(tmp_path / "runs")
    assert "kept2" in found
    assert "xqtext" not in found


def test_no_file_of_a_run_holds_folders(
    invoke: Invoke, data: tuple[str, ...], write_rows: Write, tmp_path: Path
) -> None:
    """Neither in notices about copies nor in problems."""
    copies = [
        {
            "uid": f"{number}_c",
            "input_id": str(number),
            "perturbation": "swap",
            "label_effect": "invariant",
            "families": ["robustness"],
            "statement": "changed",
            "label": "another",
        }
        for number in (0, 1)
    ]
    said = [{"id": "0_c", "label": "a", "more": 1}, {"id": "1_c"}]
    options = [
        *("--perturbed", str(Path(write_rows("copies.jsonl", copies)).resolve())),
        *("--perturbed-predictions", str(Path(write_rows("sc.jsonl", said)).resolve())),
    ]
    done = invoke(*data, *options, "--on-invalid", "skip", "--on-missing", "skip")
    assert done.exit_code == 0, done.stderr
    found = texts_of(tmp_path / "runs")
    assert '"name":"sc.jsonl"' in found.replace('": "', '":"')
    assert "copies.jsonl: the answer should be the original's" in found
    assert str(tmp_path) not in found
