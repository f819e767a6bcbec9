"""`docs/schema/run.schema.json` describes every `run.json`, and nothing else."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator, FormatChecker

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "schema" / "run.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=FormatChecker())
THREE = ("positive", "negative", "positive", "positive")

Record = Callable[..., Any]


def problems(record: Any) -> list[str]:
    return [f"{list(e.path)}: {e.message}" for e in VALIDATOR.iter_errors(record)]


@pytest.fixture
def record(
    plugins: Any, predict: Callable[..., str], invoke: Callable[..., Result]
) -> Record:
    """Give the run.json of an evaluation."""
    predict("three.jsonl", THREE)
    predict("two.jsonl", THREE[:2])

    def run(*options: str, dataset: str = "tiny", file: str = "three.jsonl") -> Any:
        done = invoke("eval", dataset, "-p", file, "--json", *options)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    return run


def test_it_is_what_the_record_and_the_scores_are_made_of() -> None:
    spec = importlib.util.spec_from_file_location("maker", DOCS / "make_run_schema.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.run_schema() == SCHEMA, "run docs/make_run_schema.py"


def test_every_object_forbids_unknown_keys_and_requires_all_known_ones() -> None:
    def check(schema: Any) -> None:
        if isinstance(schema, list):
            for part in schema:
                check(part)
        if not isinstance(schema, dict):
            return
        if schema.get("type") == "object" and "properties" in schema:
            assert schema["additionalProperties"] is False
            counts = "unselected" in schema["properties"]
            optional = {"unselected", "replications"} if counts else set()
            if "fingerprint" in schema["properties"]:  # what is only in the file
                optional |= {"files", "headline_score"}
                optional |= {"scores"}  # what is only printed
            if "unnamed" in schema["properties"]:  # what only an installed one has
                optional |= {"source", "sha256", "differing", "missing", "unnamed"}
            if "commit" in schema["properties"]:
                optional |= {"commit", "hash"}
            optional |= {"read_from"}  # what only a file that was read has
            optional |= {"job", "system"}  # what files beside predictions tell
            required = set(schema["properties"]) - optional
            assert set(schema["required"]) == required
        for part in schema.values():
            check(part)

    check(SCHEMA)


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), "complete"),
        (("--no-examples",), "complete"),
        (("-m", "label-length:factor=2", "-m", "agreement"), "complete"),
        (("--observer", "faulty"), "complete"),
        (("-m", "accuracy", "-m", "failing"), "partial"),
        (("-m", "failing"), "partial"),
        (("-n", "2"), "partial"),
        (("-n", "9"), "partial"),
        (("--filter", "topic=film", "--filter", "uid=1"), "partial"),
        (("-n", "3", "-m", "failing"), "partial"),
    ],
)
def test_complete_and_partial_runs_are_valid(
    record: Record, options: tuple[str, ...], status: str
) -> None:
    found = record(*options)
    assert found["status"] == status
    assert problems(found) == []


@pytest.mark.parametrize("dataset", ["sample-nli", "sample-qa", "sample-hs"])
def test_runs_of_the_sample_sets_are_valid(
    invoke: Callable[..., Result], dataset: str
) -> None:
    for found in json.loads(invoke("eval", dataset, "--json").stdout):
        assert problems(found) == []


def test_a_run_that_knows_its_job_fits(
    record: Record, predict: Callable[..., str], invoke: Callable[..., Result]
) -> None:
    job = Path(predict("three.jsonl", THREE)).with_name("three.job.json")
    job.write_text('{"examples": 4, "seconds": 2.5}', encoding="utf-8")
    found = record()
    assert found["predictions"]["job"]["seconds"] == 2.5
    assert not problems(found)
    job.write_text('{"seconds": -1}', encoding="utf-8")
    done = invoke("eval", "tiny", "-p", "three.jsonl")
    assert done.exit_code == 1
    assert "three.job.json: seconds: must be greater" in done.stderr
