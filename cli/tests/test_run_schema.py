"""`docs/schema/run.schema.json` describes every `run.json`, and nothing else."""

import copy
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator, FormatChecker

import evalkit
from evalkit import Score

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


def test_the_schema_itself_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_it_is_what_the_record_and_the_scores_are_made_of() -> None:
    spec = importlib.util.spec_from_file_location("maker", DOCS / "make_run_schema.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.run_schema() == SCHEMA, "run docs/make_run_schema.py"


def test_it_names_exactly_the_fields_of_a_score() -> None:
    score = SCHEMA["$defs"]["score"]
    assert set(score["properties"]) == set(score["required"]) == set(Score._fields)


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


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), "refused"),
        (("-n", "3"), "refused"),
        (("-n", "2"), "partial"),
        (("--on-missing", "skip"), "complete"),
        (("--on-missing", "wrong"), "complete"),
        (("--on-missing", "wrong", "-m", "label-length"), "complete"),
    ],
)
def test_runs_without_all_predictions_are_valid(
    record: Record, options: tuple[str, ...], status: str
) -> None:
    found = record(*options, file="two.jsonl")
    assert found["status"] == status
    assert problems(found) == []


def test_a_run_with_unscored_rows_of_every_kind_is_valid(
    record: Record, write_rows: Callable[..., str]
) -> None:
    rows = [
        {"id": "1", "label": "positive", "note": "x"},
        {"id": "1", "label": "positive"},
        {"id": "2", "label": "no"},
        {"id": "7", "label": "positive"},
        "?",
    ]
    file = write_rows("odd.jsonl", rows)
    skip = ("--on-missing", "skip", "--on-invalid", "skip", "--on-duplicate", "last")
    found = record(*skip, file=file)
    assert all(found["counts"][k] for k in ("invalid", "missing", "duplicate"))
    assert problems(found) == []
    assert problems(record(file=file)) == []


def test_a_task_without_labels_is_valid(
    record: Record, write_rows: Callable[..., str]
) -> None:
    rows = [{"id": "1", "answer": "one"}, {"id": "2", "answer": "two"}]
    found = record(dataset="questions", file=write_rows("qa.jsonl", rows))
    assert (found["status"], found["labels"], found["baselines"]) == (
        "complete",
        None,
        None,
    )
    assert problems(found) == []


@pytest.mark.parametrize("dataset", ["sample-nli", "sample-qa", "sample-hs"])
def test_runs_of_the_sample_sets_are_valid(
    invoke: Callable[..., Result], dataset: str
) -> None:
    for found in json.loads(invoke("eval", dataset, "--json").stdout):
        assert problems(found) == []


@pytest.fixture(scope="module")
def valid() -> Any:
    predictions = [
        {"id": f"hs-{number:03}", "label": "hateful"} for number in range(1, 4)
    ]
    result = evalkit.evaluate(
        "sample-hs", predictions, metrics=["accuracy"], on_missing="skip"
    )
    record = json.loads(json.dumps(result.to_dict()))
    assert problems(record) == []
    return record


def change(record: Any, path: str, value: Any) -> Any:
    changed = copy.deepcopy(record)
    *parents, last = path.split("/")
    target = changed
    for key in parents:
        target = target[int(key) if key.isdigit() else key]
    target[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("extra", 1),
        ("counts/extra", 1),
        ("counts/scored", -1),
        ("counts/scored", 1.5),
        ("data/extra", None),
        ("data/sha256", "abc"),
        ("components/0/extra", 1),
        ("components/0/id", "models/x"),
        ("environment/os", "x"),
        ("timings/extra", 1),
        ("policies/on_missing", "first"),
        ("policies/on_duplicate", "skip"),
        ("format", 3),
        ("fingerprint", "XYZ"),
        ("status", "done"),
        ("status", "refused"),
        ("status", "partial"),
        ("errors", ["failed"]),
        ("selection", {}),
        ("selection/limit", 1),
        ("selection/limit", 0),
        ("selection/filters", {"a": "b"}),
        ("selection/extra", 1),
        ("counts/unselected", 0),
        ("headline", None),
        ("scores", []),
        ("confidence", 1),
        ("seed", "0"),
        ("scores/0/extra", 1),
        ("scores/0/value", "75"),
        ("scores/0/value", None),
        ("scores/0/ci_low", None),
        ("scores/0/computed_on", "some"),
        ("scores/0/ci_method", "magic"),
        ("scores/0/coverage", 1.5),
    ],
)
def test_what_no_run_holds_is_refused(valid: Any, path: str, value: Any) -> None:
    assert problems(change(valid, path, value)) != []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", "complete"),
        ("counts/unselected", None),
        ("selection/limit", None),
        ("selection/filters/topic", "film"),
        ("selection", {"limit": None, "filters": {}}),
    ],
)
def test_what_no_run_of_a_selection_holds_is_refused(
    record: Record, path: str, value: Any
) -> None:
    partial = record("-n", "2")
    assert problems(partial) == []
    assert problems(change(partial, path, value)) != []


@pytest.mark.parametrize("key", SCHEMA["required"])
def test_every_key_is_needed(valid: Any, key: str) -> None:
    assert problems({name: valid[name] for name in valid if name != key}) != []


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
