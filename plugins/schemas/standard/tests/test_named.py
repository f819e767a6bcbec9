import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalkit.errors import (
    PluginContractError,
    PluginLoadError,
    SchemaError,
    UnknownPluginError,
)
from evalkit_schemas_standard import (
    arrow_schema,
    json_schema,
    named_schema,
    schema_identity,
    schema_names,
)

ROWS = {
    "Item": {"_index_": 0},
    "ReplicatedItem": {"_index_": 0, "_replication_": "a"},
    "ResponseItem": {"_response_index_": 3},
    "binary.Media": {"data": b"\x00", "mediaType": "image/png"},
    "classification.Label": {"label": "a"},
    "text.TaggedSpan": {"start": 0, "end": 2, "tag": "PER"},
    "text.TaggedSpans": {"spans": [{"start": 0, "end": 2, "tag": "PER"}]},
    "text.Text": {"text": "a"},
    "text.Tokens": {"tokens": ["a", "b"]},
    "vision.Image": {"bytes": b"\x00", "format": "image/png"},
}

VERSIONS = {
    ("Item", "1"): "aabc7b3402be",
    ("ReplicatedItem", "1"): "8e40eb4ddb70",
    ("ResponseItem", "1"): "f992634c27c4",
    ("binary.Media", "1"): "0a11c653b8f9",
    ("classification.Label", "1"): "8e8703d38df3",
    ("text.TaggedSpan", "1"): "8b97141474e6",
    ("text.TaggedSpans", "1"): "83374228e1b9",
    ("text.Text", "1"): "aa951717a125",
    ("text.Tokens", "1"): "5fc530ee3515",
    ("vision.Image", "1"): "be97484fe86f",
}
"""Identities by name and version: a change of fields raises the version."""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return what installs a distribution that declares schemas."""

    def add(name: str, schemas: dict[str, str], code: str = "") -> Path:
        folder = tmp_path / name
        metadata = folder / f"{name}-2.1.dist-info"
        metadata.mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.1\n"
        metadata.joinpath("METADATA").write_text(text)
        lines = ["[evalkit.schemas]", *(f"{k} = {v}" for k, v in schemas.items())]
        metadata.joinpath("entry_points.txt").write_text("\n".join(lines))
        folder.joinpath(f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return folder

    return add


def test_every_name_stands_for_a_model_that_takes_its_rows() -> None:
    for name, row in ROWS.items():
        model = named_schema(name)
        assert model.model_validate(row).model_dump(by_alias=True) == row
        with pytest.raises(ValidationError, match="Extra inputs"):
            model.model_validate({**row, "other": 1})
    assert {*ROWS} <= {*schema_names()}


def test_a_schema_of_other_fields_has_another_version() -> None:
    models = {name: named_schema(name) for name in ROWS}
    found = {
        (name, json_schema(model)["x-evalkit"]["version"]): schema_identity(model)[:12]
        for name, model in models.items()
    }
    assert found == VERSIONS


def test_an_unknown_name_is_an_error_with_the_names_there_are() -> None:
    with pytest.raises(
        UnknownPluginError, match=r"no schema is called 'text\.Txt'.*text\.Text"
    ):
        named_schema("text.Txt")
    with pytest.raises(UnknownPluginError, match=r"did you mean 'text\.Text'\?"):
        named_schema("text.Txt")
    with pytest.raises(UnknownPluginError, match=r"is written models\.py:MODEL"):
        named_schema("models.py")


def test_a_name_of_two_distributions_needs_the_distribution(install: Install) -> None:
    for name in ("rival_a", "rival_b"):
        code = f"import pydantic\nclass Text(pydantic.BaseModel):\n    {name}: str\n"
        install(name, {"rival.Text": f"{name}:Text"}, code)
    assert "rival.Text" not in schema_names()
    with pytest.raises(
        UnknownPluginError, match=r"distributions: rival_a 2\.1, rival_b 2\.1"
    ):
        named_schema("rival.Text")
    assert [*named_schema("rival.Text@rival_b").model_fields] == ["rival_b"]


@pytest.mark.parametrize(
    ("value", "code", "error", "message"),
    [
        (
            "broken:Text",
            "raise SystemExit(3)",
            PluginLoadError,
            "importing broken:Text",
        ),
        ("broken:Text", "import nowhere", PluginLoadError, "importing broken:Text"),
        ("broken:Text", "", PluginLoadError, "importing broken:Text"),
        ("no value!", "", PluginLoadError, "is not of the form"),
        ("broken:Text", "Text = 7", PluginContractError, "of the type int"),
        ("broken:Text", "class Text: pass", PluginContractError, "the class Text"),
        ("pydantic:BaseModel", "", PluginContractError, "the class BaseModel"),
    ],
)
def test_an_entry_that_gives_no_model_names_its_distribution(
    install: Install, value: str, code: str, error: type[Exception], message: str
) -> None:
    install("broken", {"broken.Text": value}, code)
    with pytest.raises(
        error, match=rf"schemas/broken\.Text \(broken 2\.1\): .*{message}"
    ):
        named_schema("broken.Text")


def test_a_hidden_schema_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "schemas/text.Text")
    assert "text.Text" not in schema_names()
    with pytest.raises(UnknownPluginError, match="disabled by EVALKIT_DISABLE_PLUGINS"):
        named_schema("text.Text")


def test_every_named_schema_has_an_arrow_schema_but_problems() -> None:
    for name in schema_names():
        if name == "run.Problem":  # what breaks a rule may be anything
            with pytest.raises(SchemaError, match="value: it says no type"):
                arrow_schema(named_schema(name))
        else:
            assert arrow_schema(named_schema(name)).names


def test_the_page_for_authors_shows_a_package_that_works(
    fake_distribution: Callable[..., Any],
) -> None:
    page = Path(__file__).parents[4] / "docs" / "authoring" / "schemas.md"
    text = page.read_text(encoding="utf-8")
    (toml,) = re.findall(r"(?ms)^```toml\n(.*?)^```$", text)
    code, use, beside_ids = re.findall(r"(?ms)^```python\n(.*?)^```$", text)
    project = tomllib.loads(toml)["project"]
    (group,) = project["entry-points"]
    ((name, value),) = project["entry-points"][group].items()
    assert value.partition(":")[0] == project["name"].replace("-", "_")
    points = {group: {name: value.partition(":")[2]}}
    fake_distribution(code, points, name=project["name"])
    exec(use, {})
    made: dict[str, Any] = {}
    exec(beside_ids, made)
    assert next(iter(made["Row"].model_fields)) == "id"


def test_listing_names_imports_no_library() -> None:
    code = (
        "import sys\n"
        "import evalkit_schemas_standard.command\n"
        "from evalkit_schemas_standard import schema_names\n"
        "assert 'text.Text' in schema_names()\n"
        "print({'polars', 'pyarrow', 'pydantic', 'numpy'} & {*sys.modules})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "set()\n"
