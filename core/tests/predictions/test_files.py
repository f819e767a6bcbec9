import csv
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel, ConfigDict

import evalkit
from evalkit.errors import DataError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry

LABELS = ("no", "yes", 'it, "may" be')
N = 300


class Question(BaseModel):
    uid: str


class Answer(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    label: str
    prob: dict[str, Any] | None = None
    sure: bool | None = None


class ByColumns(evalkit.TaskIO):
    Input = Question
    Output = Answer
    answer_field = "label"
    perf_metric = "hits"
    scored_fields = ("prob", "sure")
    labels = LABELS
    example = {"uid": "1"}


class ByRows(ByColumns):
    def verify_response(self, response: Mapping[str, Any]) -> None:
        """Find nothing wrong; but there is no telling from columns."""


class Bare(evalkit.TaskIO):
    Input = Question
    Output = Answer
    perf_metric = "hits"
    example = {"uid": "1"}

    def label_field_converter(self, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": example["uid"], "answer": example["label"], "tags": []}

    def pred_field_converter(self, response: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": response["id"], "pred": response["label"]}


def truth(number: int) -> str:
    return LABELS[number % 3]


def guess(number: int) -> str:
    if number % 7 == 0:
        return ""
    return truth(number) if number % 5 else truth(number + 1)


class Questions(evalkit.Dataset):
    name = "questions"

    def __init__(self, task: str) -> None:
        super().__init__()
        self.task = task

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {"uid": str(n), "label": truth(n), "tags": [f"third:{n % 3}"]}
            for n in range(N)
        ]


class Hits(evalkit.Metric):
    name = "hits"
    bounds = (0.0, 1.0)
    columns = ("prob", "sure")

    def score_example(
        self, prediction: Any, target: Any, fields: Mapping[str, Any]
    ) -> float:
        prob = fields["prob"] or {}
        if isinstance(prob, str):
            prob = json.loads(prob)
        return float(prediction == target) * (1 if fields["sure"] else prob["no"])


REGISTRY = Registry(
    Catalog(
        tuple(
            Component("tasks", name, f"{__name__}:{made}", "d", "1")
            for name, made in (
                ("columns", "ByColumns"),
                ("rows", "ByRows"),
                ("bare", "Bare"),
            )
        ),
        (),
    )
)

ROWS: list[dict[str, Any]] = [
    {
        "id": str(n),
        "label": guess(n),
        "prob": {
            label: 0.25 + 0.5 * (place == n % 2) for place, label in enumerate(LABELS)
        },
        "sure": n % 4 > 0,
    }
    for n in reversed(range(N))
]


def json_lines(path: Path, end: str = "\n") -> None:
    path.write_text(end.join(json.dumps(row) for row in ROWS), encoding="utf-8")


def numbered(path: Path) -> None:
    rows = [{**row, "id": int(row["id"]), "note": row["sure"]} for row in ROWS]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def mixed(path: Path) -> None:
    """Give ids as numbers and texts, and an extra key of changing type."""
    lines = []
    for number, row in enumerate(ROWS):
        uid = int(row["id"]) if number % 2 else row["id"]
        note: Any = [number, str(number), None, {"x": [number]}][number % 4]
        lines.append(json.dumps({"note": note, **row, "id": uid}))
    path.write_text("\n".join(lines), encoding="utf-8")


def packed(path: Path) -> None:
    json_lines(path)
    content = path.read_bytes()
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
        return
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(content)


def cells(path: Path) -> None:
    delimiter = "\t" if ".tsv" in path.name else ","
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerow(ROWS[0])
        for row in ROWS:
            writer.writerow(
                [
                    value if isinstance(value, str) else json.dumps(value)
                    for value in row.values()
                ]
            )


def table(path: Path | None = None) -> pl.DataFrame:
    frame = pl.DataFrame(ROWS)
    if path is None:
        return frame
    match path.suffix:
        case ".parquet":
            frame.cast({"id": pl.Int32}).write_parquet(path, row_group_size=50)
        case ".arrow":
            frame.cast({"label": pl.Categorical}).write_ipc(path)
        case _:
            frame.write_ipc_stream(path)
    return frame


FORMATS: dict[str, Callable[[Path], Any]] = {
    "p.jsonl": json_lines,
    "crlf.jsonl": lambda path: json_lines(path, "\r\n\n"),
    "numbered.jsonl": numbered,
    "mixed.jsonl": mixed,
    "p": json_lines,
    "p.jsonl.gz": packed,
    "p.json.zst": packed,
    "p.csv": cells,
    "p.tsv": cells,
    "p.parquet": table,
    "p.arrow": table,
    "p.arrows": table,
    "q": table,
}
GIVEN: dict[str, Callable[[], Any]] = {
    "dicts": lambda: ROWS,
    "iterator": lambda: iter(ROWS),
    "polars": table,
    "pandas": lambda: table().to_pandas(),
    "arrow": lambda: table().to_arrow(),
}


def evaluate(task: str, predictions: Any) -> evalkit.Result:
    return evalkit.evaluate(
        Questions(task), predictions, metrics=[Hits], registry=REGISTRY, model="m"
    )


def shown(result: evalkit.Result) -> tuple[Any, ...]:
    return dict(result.counts), result.status, result.scores, len(result.problems)


@pytest.fixture(scope="module")
def reference() -> tuple[Any, ...]:
    found = evaluate("rows", ROWS)
    by_hand = [
        (row["label"] == truth(int(row["id"])))
        * (1 if row["sure"] else row["prob"]["no"])
        for row in ROWS
    ]
    assert found["hits"].value == pytest.approx(sum(by_hand) / N)
    assert dict(found.counts)["scored"] == N
    return shown(found)


@pytest.mark.parametrize("task", ["columns", "rows"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.slow
def test_the_same_rows_in_any_file_have_the_same_scores(
    tmp_path: Path, name: str, task: str, reference: tuple[Any, ...]
) -> None:
    path = tmp_path / name
    FORMATS[name](path)
    assert shown(evaluate(task, path)) == reference


@pytest.mark.parametrize("task", ["columns", "rows"])
@pytest.mark.parametrize("name", GIVEN)
def test_the_same_rows_in_python_have_the_same_scores(
    name: str, task: str, reference: tuple[Any, ...]
) -> None:
    assert shown(evaluate(task, GIVEN[name]())) == reference


@pytest.mark.parametrize("task", ["columns", "rows"])
@pytest.mark.slow
def test_answers_as_plain_lines_have_the_counts_of_other_files(
    tmp_path: Path, task: str
) -> None:
    in_order: Iterator[dict[str, Any]] = reversed(ROWS)
    path = tmp_path / "p.txt"
    path.write_text("".join(f"{row['label']}\n" for row in in_order), encoding="utf-8")
    result = evalkit.evaluate(
        Questions(task), path, metrics=[by_label], registry=REGISTRY
    )
    right = sum(row["label"] == truth(int(row["id"])) for row in ROWS)
    assert dict(result.counts)["scored"] == N
    assert result["by-label"].value == right / N


def by_label(predictions: Sequence[Any], targets: Sequence[Any]) -> float:
    return sum(map(str.__eq__, predictions, targets)) / len(targets)


def test_plain_lines_need_a_field_to_stand_for(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("yes\n" * N, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        evaluate("bare", path)
    message = str(caught.value)
    assert message.startswith(f"{path}: plain lines need a task that names its ")
    assert "tasks/bare (d 1)" in message
    assert "Give JSON lines" in message
