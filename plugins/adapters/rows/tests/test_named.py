"""Adapters that are named, and adapters that read files themselves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import evalkit
from evalkit_adapters_rows import AdapterSettings, Rows, as_pipeline
from evalkit_analysis_robustness import evaluate_perturbed

SAID = [{"id": f"sent-{n:03}", "label": "positive"} for n in range(1, 136)]


class Words:
    """Reads `id label` separated by a blank; leaves other files to evalkit."""

    version = "1"

    class Parameters(AdapterSettings):
        shift: int = 0
        names: list[str] = []

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def read_file(self, path: Path) -> Iterator[Any] | None:
        return self.rows(path) if path.suffix == ".words" else None

    def rows(self, path: Path) -> Iterator[Any]:
        for line in path.read_text().splitlines():
            if " " not in line:
                raise evalkit.AdapterError(f"{line!r} has no blank")
            name, label = line.split(" ")
            yield {"id": name, "label": label}

    def adapt_row(self, row: Any) -> Iterator[Any]:
        yield row


class Tables(Words):
    """Reads a folder as a table."""

    made: ClassVar[Any] = None

    def read_file(self, path: Path) -> Any:
        return self.made

    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame


def words(tmp_path: Path, rows: list[dict[str, str]]) -> Path:
    path = tmp_path / "said.words"
    path.write_text("".join(f"{row['id']} {row['label']}\n" for row in rows))
    return path


def evaluate(path: Path, kind: Any, **options: Any) -> evalkit.Result:
    adapters = {"predictions": [{"kind": kind}]}
    return evalkit.evaluate(
        "sample-sentiment", path, rows=Rows(adapters=adapters), **options
    )


def test_an_adapter_reads_a_file_itself(tmp_path: Path) -> None:
    result = evaluate(words(tmp_path, SAID), Words)
    assert result.counts["scored"] == 135
    plain = evalkit.evaluate("sample-sentiment", SAID)
    assert result["accuracy"].value == plain["accuracy"].value


def test_a_file_that_cannot_be_read_names_file_and_adapter(tmp_path: Path) -> None:
    path = tmp_path / "said.words"
    path.write_text("sent-001\n")
    with pytest.raises(evalkit.DataError, match=r"said\.words: .*: 'sent-001' has no"):
        evaluate(path, Words)


def test_a_folder_is_read_as_a_table_and_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "said"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "part").write_text("1")
    monkeypatch.setattr(Tables, "made", pl.DataFrame(SAID))
    result = evaluate(folder, Tables)
    assert result.counts["scored"] == 135
    before = result.record.predictions.sha256
    (folder / "below" / "part").write_text("2")
    assert evaluate(folder, Tables).record.predictions.sha256 != before


def test_only_an_adapter_makes_a_folder_predictions(tmp_path: Path) -> None:
    with pytest.raises(evalkit.DataError, match="is a folder"):
        evalkit.evaluate("sample-sentiment", tmp_path)


@pytest.mark.parametrize("made", ["text", {"id": "1"}, 7])
def test_an_adapter_that_reads_something_else_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Any
) -> None:
    monkeypatch.setattr(Tables, "made", made)
    with pytest.raises(evalkit.PluginError, match="read_file must return rows"):
        evaluate(words(tmp_path, SAID), Tables)


def test_a_row_that_is_no_object_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tables, "made", [*SAID, 7])
    result = evaluate(words(tmp_path, SAID), Tables)
    assert result.counts["unreadable"] == 1
    assert result.problems[0].line == 136


def test_examples_are_read_by_an_adapter(tmp_path: Path) -> None:
    path = tmp_path / "data.words"
    path.write_text("1 positive\n2 negative\n")
    statement = {"kind": "TransformJSON", "configuration": {"uid": "$.id"}}
    statement["configuration"] |= {"label": "$.label", "statement": "text"}
    said = [{"id": "1", "label": "positive"}, {"id": "2", "label": "positive"}]
    result = evalkit.evaluate(
        path,
        said,
        task="sentiment",
        rows=Rows(adapters={"data": [{"kind": Words}, statement]}),
    )
    assert result["accuracy"].value == 0.5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("renam", "renam"),
        ("rename:text", "is not of the form KEY=VALUE"),
        ("number-rows:fild=n", "has no key 'fild'; it takes: field, first"),
        ("number-rows", "number-rows: .*field"),
        ("fix.yaml", "No such file"),
        ("./fix", "No such file"),
    ],
)
def test_names_that_are_wrong_are_refused(text: str, problem: str) -> None:
    with pytest.raises(evalkit.EvalkitError, match=problem):
        as_pipeline(text)


def test_adapters_of_copies_need_copies() -> None:
    adapters = {"perturbed": "drop:fields=x"}
    with pytest.raises(evalkit.EvalkitError, match="no file of perturbed copies"):
        evaluate_perturbed(
            "sample-sentiment", SAID, perturbed=(), rows=Rows(adapters=adapters)
        )


class Labels(Words):
    """Knows only lower-case labels."""

    def adapt_row(self, row: Any) -> Iterator[Any]:
        if row["label"] == "?":
            raise evalkit.AdapterError("must be a label", field="label")
        yield {**row, "label": {"positive": "positive"}[row["label"]]}


def test_a_row_that_an_adapter_fails_for_is_named(tmp_path: Path) -> None:
    path = words(tmp_path, [*SAID[:2], {"id": "sent-003", "label": "POS"}])
    said = r"adapt_row failed for the row 3 with KeyError: 'POS'; raise evalkit.Adap"
    with pytest.raises(evalkit.PluginError, match=said):
        evaluate(path, Labels)
