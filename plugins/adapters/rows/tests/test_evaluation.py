"""Predictions go through adapters before they are checked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.reading.file_parts import FilePart
from evalkit_adapters_rows import Rows, pipeline

DATA = [
    {"uid": str(number), "statement": f"text {number}", "label": label}
    for number, label in enumerate(["positive", "negative", "positive", "negative"])
]
PREDICTED = ["positive", "positive", "positive", "negative"]
RENAME = [{"kind": "Rename", "configuration": {"out": "label", "key": "id"}}]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in DATA), encoding="utf-8")
    return path


def rows() -> list[dict[str, Any]]:
    return [
        {"key": row["uid"], "out": label}
        for row, label in zip(DATA, PREDICTED, strict=True)
    ]


def evaluate(
    data: Path, predictions: Any, adapters: Any = RENAME, **options: Any
) -> Any:
    return evalkit.evaluate(
        data,
        predictions,
        task="text-classification",
        metrics=["accuracy"],
        rows=Rows(adapters=None if adapters is None else {"predictions": adapters}),
        **options,
    )


def as_file(folder: Path, kind: str) -> Path:
    path = folder / f"model.{kind}"
    frame = pl.DataFrame(rows())
    if kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_files_of_every_format(data: Path, tmp_path: Path, kind: str) -> None:
    result = evaluate(data, as_file(tmp_path, kind))
    assert result["accuracy"].value == 0.75
    assert result.model == "model"


@pytest.mark.slow
def test_rows_tables_and_all_ways_to_give_adapters(data: Path, tmp_path: Path) -> None:
    written = tmp_path / "fix.yaml"
    written.write_text(
        "- kind: Rename\n  configuration: {out: label, key: id}\n", encoding="utf-8"
    )
    for given in (rows(), pl.DataFrame(rows())):
        for adapters in (RENAME, pipeline(RENAME), written, str(written)):
            assert evaluate(data, given, adapters)["accuracy"].value == 0.75


@pytest.mark.slow
def test_adapters_are_recorded_and_part_of_the_identity(
    data: Path, tmp_path: Path
) -> None:
    plain = [{"id": row["key"], "label": row["out"]} for row in rows()]
    without = evaluate(data, plain, None)
    dropped = [{"kind": "Drop", "configuration": {"fields": ["x"]}}]
    adapted = evaluate(data, plain, dropped, out=tmp_path)
    assert without["accuracy"].value == adapted["accuracy"].value
    assert without.run_id != adapted.run_id
    other = [{"kind": "Drop", "configuration": {"fields": ["y"]}}]
    assert evaluate(data, plain, other).run_id != adapted.run_id
    assert evaluate(data, plain, pipeline(dropped)).run_id == adapted.run_id
    stored = evalkit.read_run(evalkit.find_run("latest", tmp_path))
    (adapter,) = stored.record.predictions.adapters
    assert (adapter.kind, adapter.distribution) == ("drop", "evalkit-adapters-rows")
    assert adapter.configuration == {"fields": ["x"]}
    assert without.to_dict()["predictions"]["adapters"] == []
    used = {each.id: each for each in stored.record.components}
    assert used["adapters/drop"].parameters == {"configuration": {"fields": ["x"]}}
    assert used["adapters/drop"].source_sha256 is not None
    verified = evalkit.verify(stored)
    assert verified.agrees


def test_a_row_that_an_adapter_cannot_use_is_an_invalid_prediction(
    data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.jsonl"
    lines = [json.dumps(row) for row in rows()]
    lines[2] = json.dumps({"key": "2", "text": "no label"})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(evalkit.AlignmentError) as caught:
        evaluate(data, path)
    problem = next(each for each in caught.value.result.problems if each.line == 3)
    assert "stage 1 (Rename): there is no field 'out'" in str(problem)
    skipped = evaluate(data, path, on_invalid="skip", on_missing="skip")
    assert skipped.record.counts.scored == 3


def test_several_answers_of_a_response_in_columns(data: Path) -> None:
    answers = [{"id": row["key"], "text": [row["out"], "negative"]} for row in rows()]
    adapters = [
        {
            "kind": "TransformJSON",
            "configuration": {"id": "$.id", "responses": "$.text"},
        },
        {
            "kind": "Map",
            "configuration": {
                "collections": ["responses"],
                "adapter": {"kind": "TransformJSON", "configuration": {"label": "$"}},
            },
        },
    ]
    result = evalkit.evaluate(
        data,
        answers,
        task="text-classification",
        metrics=["top-k-accuracy:k=2"],
        rows=Rows(adapters={"predictions": adapters}),
    )
    assert result.scores[0].value == 1.0


NUMBERED = [
    {"kind": "Select", "configuration": {"fields": ["out"]}},
    {"kind": "NumberRows", "configuration": {"field": "id", "first": 0}},
    {"kind": "Rename", "configuration": {"out": "label"}},
]
"""For predictions in the order of the data, whose ids count from 0."""


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_file_without_ids_is_scored(data: Path, tmp_path: Path, kind: str) -> None:
    path = as_file(tmp_path, kind)
    if kind == "jsonl":  # a blank line is no row
        path.write_text("\n" + path.read_text("utf-8"), "utf-8")
    assert evaluate(data, path, NUMBERED)["accuracy"].value == 0.75
    for given in (rows(), pl.DataFrame(rows())):
        assert evaluate(data, given, NUMBERED)["accuracy"].value == 0.75


@pytest.mark.slow
def test_rows_are_numbered_over_blocks_and_batches(tmp_path: Path) -> None:
    rows = [{"uid": str(n), "statement": f"{n}", "label": "x"} for n in range(1, 2502)]
    data = tmp_path / "data.parquet"
    pl.DataFrame(rows).write_parquet(data)
    answers = pl.DataFrame({"label": ["x"] * 2501, "more": [[1, 2]] * 2501})
    # a list of a template is built row by row
    template = {"id": "$.id", "label": "$.label", "n": ["$.more"]}
    adapters = [
        {"kind": "NumberRows", "configuration": {"field": "id"}},
        {"kind": "TransformJSON", "configuration": template},
    ]
    for given in (answers, answers.to_dicts()):
        for stages in (adapters, adapters[:1]):
            assert evaluate(data, given, stages).counts["scored"] == 2501


def test_rows_of_one_row_have_its_number() -> None:
    adapt = pipeline(
        [
            {"kind": "ExplodeCollections", "configuration": {"collections": ["t"]}},
            {"kind": "NumberRows", "configuration": {"field": "n", "first": 10}},
        ]
    )
    given = [{"t": ["a", "b"]}, {"t": ["c"]}]
    expected = [{"t": "a", "n": 10}, {"t": "b", "n": 10}, {"t": "c", "n": 11}]
    assert list(adapt(given)) == expected
    # a table does not know the rows that were there first
    frame, numbers = pl.DataFrame(given), pl.Series([1, 2])
    assert adapt.adapt_frame(frame, numbers) is None
    nested = pipeline(
        [
            {
                "kind": "Pipeline",
                "configuration": [
                    {"kind": "NumberRows", "configuration": {"field": "n"}}
                ],
            }
        ]
    )
    assert list(nested([{"a": 1}, {"a": 2}])) == [{"a": 1, "n": 1}, {"a": 2, "n": 2}]
    with pytest.raises(evalkit.AdapterError, match="has a field 'a' already"):
        list(
            pipeline([{"kind": "NumberRows", "configuration": {"field": "a"}}])(
                [{"a": 1}]
            )
        )


def test_other_places_and_plain_lines_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(evalkit.EvalkitError, match="cannot sit at 'answers'"):
        evalkit.evaluate(
            data,
            rows(),
            task="text-classification",
            rows=Rows(adapters={"answers": RENAME}),
        )
    plain = tmp_path / "model.txt"
    plain.write_text("positive\nnegative\n", encoding="utf-8")
    with pytest.raises(evalkit.DataError, match="plain lines have none"):
        evaluate(data, plain)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_outputs_of_dyff_with_other_names_of_fields(tmp_path: Path, kind: str) -> None:
    examples = [
        {"_index_": number, "statement": row["statement"], "label": row["label"]}
        for number, row in enumerate(DATA)
    ]
    data = tmp_path / "items.parquet"
    pl.DataFrame(examples).write_parquet(data)
    outputs = [
        {
            "_index_": number,
            "_replication_": replication,
            "responses": [
                {"_response_index_": 0, "text": label},
                {"_response_index_": 1, "text": "positive"},
            ],
        }
        for replication in ("6af613b6569c5c22", "0159d6c7973f5e7a")
        for number, label in enumerate(PREDICTED)
    ]
    predictions = tmp_path / f"model.{kind}"
    frame = pl.DataFrame(outputs)
    frame.write_ndjson(predictions) if kind == "jsonl" else frame.write_parquet(
        predictions
    )
    rename = {"kind": "Rename", "configuration": {"text": "label"}}
    each = {"collections": ["responses"], "adapter": rename}
    result = evaluate(data, predictions, [{"kind": "Map", "configuration": each}])
    assert result["accuracy"].value == 0.75
    assert result.counts["scored"] == 8
    assert result.counts["replications"] == 2
    assert result.examples is not None
    assert result.examples["id"].unique(maintain_order=True).to_list() == [*"0123"]


@pytest.mark.parametrize("returned", ["None", "3"])
def test_an_adapter_that_returns_no_rows_is_told_to(
    fake_distribution: Callable[..., Any], returned: str
) -> None:
    code = f"""
from evalkit_adapters_rows import AdapterSettings


class Forgets:
    version = "1"
    Parameters = AdapterSettings

    def __init__(self, parameters):
        pass

    def adapt_row(self, row):
        return {returned}
"""
    fake_distribution(code, {"evalkit.adapters": {"forgets": "Forgets"}}, name="lossy")
    adapt = pipeline([{"kind": "Forgets", "configuration": {}}])
    rule = f"adapt_row must return the rows, or yield them, not {returned}"
    with pytest.raises(evalkit.PluginError, match=rule):
        [*adapt([{"id": "1"}])]


@pytest.mark.parametrize("what", ["data", "predictions"])
def test_rows_of_a_part_have_the_numbers_of_the_file(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file.parquet"
    frame = pl.DataFrame(DATA).drop("uid")
    frame.write_parquet(path, row_group_size=2, use_pyarrow=True)
    given: dict[str, Any] = {"data": DATA[2:], "predictions": DATA[2:]}
    given[what] = FilePart.of_row_groups(path, [1], 3)
    number = {"kind": "MapFields", "configuration": {"id": "#row0"}}
    adapters = Rows(adapters={what: [number]})
    found = evalkit.evaluate(**given, task="text-classification", rows=adapters)
    assert found["accuracy"].value == 1.0
