"""Observers: told everything, and never able to change it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

THREE = ("positive", "negative", "positive", "positive")


@pytest.fixture
def observed(
    plugins: Any, predict: Callable[..., str], invoke: Invoke, tmp_path: Path
) -> Callable[..., tuple[Any, list[Any]]]:
    """Evaluate under observers; gives run.json and what the recorder noted."""
    file = predict("three.jsonl", THREE)
    log = tmp_path / "observed.jsonl"

    def run(*options: str, **variables: str) -> tuple[Any, list[Any]]:
        log.write_text("", encoding="utf-8")
        done = invoke(
            *("eval", "tiny", "-p", file, "-m", "accuracy", "--json", *options),
            OBSERVED=str(log),
            **variables,
        )
        assert done.exit_code == 0, done.stderr
        lines = log.read_text("utf-8").splitlines()
        return json.loads(done.stdout), [json.loads(line) for line in lines]

    return run


def without_timings(record: Any) -> Any:
    return {key: value for key, value in record.items() if key != "timings"}


def test_an_observer_is_told_each_step_in_order(observed: Callable[..., Any]) -> None:
    record, notes = observed("--observer", "recorder")
    run_id = record["fingerprint"][:8]
    [path] = Path("runs/tiny").iterdir()
    assert notes == [
        ["before_load", {"dataset": "tiny", "split": "test"}],
        ["after_load", {"dataset": "tiny", "split": "test", "n_examples": 4}],
        [
            "before_scoring",
            {"dataset": "tiny", "model": "three", "metrics": ["accuracy"]},
        ],
        [
            "after_scoring",
            {"dataset": "tiny", "model": "three", "scores": record["scores"]},
        ],
        ["before_writing", {"run_id": run_id}],
        ["after_writing", {"run_id": run_id, "path": str(path)}],
    ]
    assert record["warnings"] == []


def test_observers_are_named_by_a_variable_too(observed: Callable[..., Any]) -> None:
    record, notes = observed(EVALKIT_OBSERVERS="recorder faulty")
    assert len(notes) == 6
    assert len(record["warnings"]) == 2


def test_no_observer_is_loaded_unless_it_is_named(observed: Callable[..., Any]) -> None:
    record, notes = observed()
    assert (notes, record["warnings"]) == ([], [])


def test_an_observer_changes_neither_the_run_nor_what_the_next_is_told(
    observed: Callable[..., Any],
) -> None:
    alone, _ = observed("-o", "one")
    meddled, notes = observed(
        *("--observer", "meddler", "--observer", "recorder", "-o", "two")
    )
    assert without_timings(meddled) == without_timings(alone)
    told = dict(notes)
    assert told["before_scoring"]["metrics"] == ["accuracy"]
    assert told["after_scoring"]["scores"] == alone["scores"]


def test_what_an_observer_raises_becomes_a_warning_in_the_run_file(
    observed: Callable[..., Any], invoke: Invoke, tmp_path: Path
) -> None:
    record, _ = observed("--observer", "faulty")
    assert record["status"] == "complete"
    assert record["warnings"] == [
        "observers/faulty (tiny-plugins 4.5.6): before_load failed with RuntimeError: "
        "cannot observe tiny",
        "observers/faulty (tiny-plugins 4.5.6): before_writing failed with "
        "SystemExit: 3; raise an error, as a plugin must not end the process",
    ]
    [path] = tmp_path.glob("runs/tiny/*/run.json")
    assert json.loads(path.read_text("utf-8"))["warnings"] == record["warnings"]
    shown = invoke(
        *("eval", "tiny", "-p", "three.jsonl", "-m", "accuracy"),
        *("--observer", "faulty"),
    ).stdout
    assert f"warning: {record['warnings'][0]}\n" in shown
