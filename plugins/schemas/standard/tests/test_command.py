"""`evalkit schema` on the command line."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from evalkit.errors import SchemaError
from evalkit_schemas_standard.command import schema_command


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def schema(*arguments: str) -> Result:
    return CliRunner().invoke(schema_command, arguments, catch_exceptions=False)


def write_lines(*rows: Any, name: str = "rows.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def test_list_names_the_distributions() -> None:
    shown = schema("list").output.splitlines()
    assert shown[0].split() == ["schema", "distribution"]
    assert "text.Text evalkit-schemas-standard" in " ".join(" ".join(shown).split())
    found = {each["name"]: each for each in json.loads(schema("list", "--json").output)}
    assert found["text.Text"]["distribution"] == "evalkit-schemas-standard"
    assert found["text.Text"]["problem"] == ""


class TestCheck:
    def test_rows_that_keep_the_schema_are_ok(self) -> None:
        done = schema("check", write_lines({"text": "a"}), "--schema", "text.Text")
        assert (done.exit_code, done.output) == (0, "1 row checked: ok\n")

    def test_each_problem_has_file_line_field_and_rule(self) -> None:
        path = write_lines({"text": "a"}, {"text": 5}, {}, {"text": "b", "more": 1})
        with Path(path).open("a") as stream:
            stream.write("{oops\n")
        done = schema("check", path, "--schema", "text.Text")
        assert done.exit_code == 1
        assert done.output.splitlines() == [
            "rows.jsonl: line 2: text: must be a valid string, found 5",
            "rows.jsonl: line 3: text: is required",
            "rows.jsonl: line 4: more: is not declared, and undeclared keys are "
            "forbidden, found 1",
            "rows.jsonl: line 5: (line): must be JSON (Expecting property name "
            "enclosed in double quotes: column 2), found '{oops'",
            "5 rows checked, 4 failed",
        ]

    def test_many_problems_are_counted_and_few_shown(self) -> None:
        path = write_lines(*[{"label": 1, "text": 2}] * 30)
        names = ("--schema", "classification.Label", "--schema", "text.Text")
        done = schema("check", path, *names, "--limit", "3")
        assert len(done.output.splitlines()) == 5
        assert "… and 57 more problems\n30 rows checked, 30 failed\n" in done.output
        found = json.loads(schema("check", path, *names, "-n", "1", "--json").output)
        assert found == {
            "file": "rows.jsonl",
            "rows": 30,
            "failed": 30,
            "problems": 60,
            "first": [
                {
                    "line": 1,
                    "field": "label",
                    "rule": "must be a valid string",
                    "text": "label: must be a valid string, found 1",
                }
            ],
            "undeclared": [],
        }

    @pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
    def test_keys_that_the_schema_does_not_have_are_named(self, suffix: str) -> None:
        Path("shape.py").write_text(
            "from pydantic import AliasChoices, BaseModel, Field\n\n\n"
            "class Row(BaseModel):\n"
            "    text: str\n"
            "    note: str = Field('', validation_alias=AliasChoices('note', 'n'))\n"
            "    mood: str = ''\n"
        )
        path = f"rows.{suffix}"
        rows = pl.DataFrame({"text": ["a", "b"], "n": ["c", "d"], "moood": ["x", "y"]})
        if suffix == "parquet":
            rows.write_parquet(path)
        elif suffix == "csv":
            rows.write_csv(path)
        else:
            rows.write_ndjson(path)
        wanted = f"{path}: not in the schema, and not checked: moood"
        with pytest.warns(UserWarning, match=re.escape(wanted)):
            done = schema("check", path, "--schema", "shape.py:Row", "--json")
        assert done.exit_code == 0
        assert json.loads(done.output)["undeclared"] == ["moood"]

    def test_an_index_that_is_there_twice_is_named(self) -> None:
        rows = [{"_index_": n, "_replication_": r} for n, r in ((0, "a"), (1, "a"))]
        path = write_lines(*rows, {"_index_": 0, "_replication_": "b"}, rows[0])
        assert schema("check", path, "--schema", "ReplicatedItem").output == (
            "rows.jsonl: line 4: _index_: must be unique, row 1 has it too, found 0\n"
            "4 rows checked, 1 failed\n"
        )
        with pytest.raises(SchemaError, match=r"line 4: .*0, 'a' was given before"):
            schema("write", path, "-o", "out", "--schema", "ReplicatedItem")

    def test_a_schema_may_be_of_a_task_or_of_a_file(self) -> None:
        path = write_lines({"id": "1", "label": "entailed", "prob": {"entailed": 1.0}})
        assert schema("check", path, "--schema", "tasks/nli:Output").exit_code == 0
        with pytest.warns(UserWarning, match="not in the schema"):
            assert schema("check", path, "--schema", "tasks/nli:Input").exit_code == 1
        code = "import pydantic\nclass M(pydantic.BaseModel):\n    id: int = 0\n"
        Path("own.py").write_text(code)
        with pytest.warns(UserWarning, match="not checked: label, prob"):
            assert schema("check", path, "--schema", "own.py:M").exit_code == 0

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("own.py:Missing", r"own\.py: Missing is no pydantic model there"),
            ("bad.py:M", r"bad\.py: importing it failed with SystemExit: 3"),
            ("none.py:M", "there is no such file"),
            ("tasks/nli:Score", "Input and Output, not 'Score'"),
        ],
    )
    def test_a_schema_that_is_not_there_is_an_error(
        self, name: str, message: str
    ) -> None:
        Path("own.py").write_text("M = 7\n")
        Path("bad.py").write_text("raise SystemExit(3)\n")
        with pytest.raises(SchemaError, match=message):
            schema("check", write_lines({"text": "a"}), "--schema", name)


class TestShow:
    def test_a_product_is_shown_in_each_view(self) -> None:
        names = ("Item", "text.Text")
        assert schema("show", *names).output == SOURCE
        document = json.loads(schema("show", *names, "--as", "json").output)
        assert document["required"] == ["_index_", "text"]
        fields = schema("show", *names, "--as", "arrow").output
        assert fields.startswith("_index_: int64 not null\n  -- field metadata --\n")
        assert "\ntext: string not null\n" in fields

    def test_a_schema_without_an_arrow_type_is_an_error(self) -> None:
        with pytest.raises(SchemaError, match="value"):
            schema("show", "run.Problem", "--as", "arrow")


SOURCE = """\
from typing import Annotated
from pydantic import BaseModel, ConfigDict, Field
from evalkit_schemas_standard import Int64


class Product(BaseModel):
    model_config = ConfigDict(extra="forbid")
    field_0: Annotated[Int64, Field(ge=0)] = Field(alias="_index_", \
description="The index of the item in the dataset")
    text: str = Field(description="Text data")
"""
