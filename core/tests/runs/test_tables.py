from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from engine_runs import install, predictions

import evalkit
from evalkit import EvalkitError, PluginError, Result, StorageError
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs.tables import (
    load_data,
    load_metrics,
    measured_run,
    stored_scoring_table,
)

from ..engine_tables import bound


@pytest.fixture
def run(fake_distribution: Callable[..., Any], tmp_path: Path) -> Callable[..., Result]:
    install(fake_distribution)

    def evaluate(dataset: str = "posts", **options: Any) -> Result:
        result = evalkit.evaluate(
            dataset,
            options.pop("rows", None) or predictions(),
            metrics=["accuracy"],
            out=tmp_path / "runs",
            **options,
        )
        assert result.path is not None
        return evalkit.read_run(result.path)

    return evaluate


def test_all_examples_are_there_and_those_that_count(
    run: Callable[..., Result],
) -> None:
    rows = predictions()[:100]
    result = run("clustered", rows=rows, on_missing="skip")
    measured = measured_run(result)
    assert len(measured.everything.ids) == measured.everything.frame.height == 120
    assert measured.counted.sum() == measured.table.frame.height == 100
    assert measured.everything.clusters is not None
    assert measured.everything.context[:2] == (("hateful", "neutral", "other"), "one")
    assert measured.everything.replications == ()
    assert measured.everything.frame.columns == [
        "position",
        "prediction",
        "target",
        "conf",
    ]
    assert stored_scoring_table(result).frame.equals(measured.table.frame)
    wrong = measured_run(run(rows=rows, on_missing="wrong"))
    assert wrong.counted.all()
    assert wrong.everything.clusters is None


def test_runs_without_examples_or_scores_are_refused(
    run: Callable[..., Result],
) -> None:
    result = run()
    record = result.to_dict()
    del record["scores"]
    empty = Result(record, result.scores, (), None)
    with pytest.raises(
        StorageError, match=f"^the run {result.run_id}: has no examples"
    ):
        measured_run(empty)
    with pytest.raises(evalkit.AlignmentError) as caught:
        run(rows=predictions()[:3])
    refused = caught.value.result
    for function in (measured_run, stored_scoring_table):
        with pytest.raises(StorageError, match="was refused, so that there is nothing"):
            function(refused)


def words(result: Result) -> pl.DataFrame:
    measured, _, errors = load_metrics(result, [bound("words")], Resolver(Registry()))
    if errors:
        raise errors["words"]
    return measured.everything.frame


def test_inputs_are_joined_by_id(run: Callable[..., Result]) -> None:
    frame = words(run(rows=predictions(2), filters={"part": ["3", "4"]}))
    assert frame.columns[-1] == "text"
    ids = [f"e{i:03}" for i in range(120) if i * 13 % 10 in (3, 4)]
    expected = ["word " * (1 + int(uid[1:]) * 7 % 11) for uid in ids for _ in range(2)]
    assert frame["text"].to_list() == expected


def change_dataset(result: Result, **changes: Any) -> Result:
    record = result.to_dict()
    del record["scores"]
    record["components"][0] |= changes
    return Result(record, result.scores, (), result.examples)


def test_data_that_cannot_be_read_again_say_so(run: Callable[..., Result]) -> None:
    result = run()
    other = change_dataset(result, distribution="elsewhere")
    resolver = Resolver(Registry())
    with pytest.raises(PluginError, match="elsewhere"):
        load_data(other, resolver, {"text"})
    with pytest.raises(EvalkitError) as caught:
        words(other)
    assert str(caught.value).startswith(
        f"the run {result.run_id} does not hold the field 'text': "
    )
    given = change_dataset(result, distribution="given as an object")
    with pytest.raises(
        EvalkitError, match="only installed data sets can be loaded again"
    ):
        load_data(given, resolver, {"text"})


def test_data_are_loaded_with_the_columns_that_are_asked_for(
    run: Callable[..., Result],
) -> None:
    examples = load_data(run(), Resolver(Registry()), {"text", "number"})
    assert {"uid", "text", "number"} <= set(examples.inputs.columns)
    assert "template" not in examples.inputs.columns
