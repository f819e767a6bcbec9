"""The JSON Schema for editors is up to date, and takes what evalkit takes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "schema" / "benchmark.schema.json"
TEMPLATE = (
    ROOT / "plugins/commands/authoring/src/evalkit_commands_authoring/templates"
    "/benchmarks/my_thing.yaml"
)
SCHEMA = json.loads(PAGE.read_text(encoding="utf-8"))


def test_it_is_what_the_model_gives() -> None:
    script = ROOT / "docs" / "make_benchmark_schema.py"
    spec = importlib.util.spec_from_file_location("make_benchmark_schema", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for model in (module.Benchmark, module.Suite):
        page = PAGE.with_name(f"{model.__name__.lower()}.schema.json")
        written = json.loads(page.read_text(encoding="utf-8"))
        assert json.loads(json.dumps(module.schema_of(model))) == written


def test_it_checks_benchmark_files() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    values = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    assert not [*validator.iter_errors(values)]
    for key, value in {"verison": "1", "version": 1, "task": {}}.items():
        assert [*validator.iter_errors({**values, key: value})]
