"""Annotators give metrics their columns, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from edited_runs import seal_again

import evalkit
from evalkit.base import failures
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs.recording import recorded_component
from evalkit_analysis_robustness import find_effects
from evalkit_annotators_columns import annotations
from evalkit_annotators_columns.bound import BoundAnnotator
from evalkit_commands_perturb import perturb

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bench

TEXTS = ["good", "odd", "bad film", "good", "bug"]


def test_a_metric_reads_what_an_annotator_says(bench: Bench) -> None:
    result = bench.evaluate(["a b", "c", "a b"], ["words", "times"])
    assert result["words"].value == pytest.approx(5 / 3)
    assert result["times"].value == pytest.approx(50 / 3)
    assert bench.asked() == ["length"] * 4  # twice each for two distinct texts
    assert result.examples is not None
    assert result.examples["length"].to_list() == [2, 1, 2]
    used = [each for each in result.record.components if each.kind == "annotators"]
    assert [each.parameters for each in used] == [{}, {"factor": 10}]
    assert result.status == "complete"


def test_rows_fail_on_their_own(bench: Bench) -> None:
    result = bench.evaluate(TEXTS, ["accuracy", "judged", "listed"])
    assert result["accuracy"].n == 5
    for name in ("judged", "listed"):
        assert result[name].n == 3
    assert (result["judged"].value, result["listed"].value) == (1.0, 3.0)
    assert result.record.not_scored == {"judged": 2, "listed": 2}
    failed = "annotators/judge (judges 2.0): annotate_batch failed with LookupError"
    reasons = {
        (each.metric, each.id): each.reason
        for each in result.problems
        if each.reason is not None
    }
    assert reasons["judged", "1"] == reasons["listed", "1"] == "judge.score: odd"
    assert str(reasons["judged", "4"]).startswith(failed)
    assert result.status == "partial"
    assert all(failed in text for text in result.errors)
    assert len(result.errors) == 2
    (told,) = result.record.columns
    assert (told.rows, told.details["cost"]) == (5, 2.0)  # the two `good` are one
    assert dict(told.without_value)["odd"] == 1
    # two at a time; the two after the failure one by one
    first = ["judge good,odd", "judge bad film,bug"]
    assert bench.asked() == [*first, "judge bad film", "judge bug"]


def test_a_server_that_is_down_is_not_asked_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotations, "MOST_FAILURES", 4)
    rows = [
        {"uid": str(n), "statement": f"down {n}", "label": "positive"}
        for n in range(20)
    ]
    for row in rows:
        row["statement"] = "down"
    rows[0]["statement"] = "good"
    for number, row in enumerate(rows[1:]):
        row["label"] = ("positive", "negative")[number % 2]
    said = [
        {"id": row["uid"], "label": ("positive", "negative", "neutral")[n % 3]}
        for n, row in enumerate(rows)
    ]
    result = bench.evaluate([], ["accuracy", "judged"], rows=rows, said=said)
    assert result["accuracy"].n == 20
    assert result["judged"].value is None
    (told,) = result.record.columns
    reasons = dict(told.without_value)
    hung_up = "ConnectionError: hung up (asked 4 times)"
    assert {hung_up, f"not asked, after 4 failures in a row: {hung_up}"} == {*reasons}


@pytest.mark.parametrize(
    "odd",
    [
        "Decimal('1e999')",
        "evalkit.Annotation(1.0, cost=10**400)",
        "(lambda a: (a.append(a), a)[1])([])",
        "type('Odd', (float,), {'__float__': lambda self: stop(OSError())})(1)",
        "stop(evalkit.TryAgain('busy', after=float('nan')))",
        "stop(evalkit.TryAgain('busy', after='soon'))",
        "evalkit.NotScored('half a pair: \\ud83d')",
    ],
)
def test_what_no_column_holds_is_the_failure_of_one_row(
    bench: Bench, odd: str, tmp_path: Path
) -> None:
    result = bench.evaluate(["1.0", odd, "0.5"], ["said"], out=tmp_path / "runs")
    assert (result["said"].n, result["said"].value) == (2, 0.75)
    assert result.status == "partial"
    assert [p.id for p in result.problems if p.metric] == ["1"]


@pytest.mark.slow
def test_half_a_surrogate_pair_in_a_verdict_is_escaped(
    bench: Bench, tmp_path: Path
) -> None:
    verdict = "evalkit.Annotation(1.0, text='yes \\ud83d')"
    result = bench.evaluate([verdict], ["said"], out=tmp_path / "runs")
    assert result["said"].value == 1
    assert result.column_details["says"]["text"].to_list() == ["yes \\ud83d"]
    for half, whole in ("'\\ud83d'", "'a'"), ("['\\ud83d']", "['a']"):
        result = bench.evaluate([half, whole], ["said"])
        assert [each.id for each in result.problems] == ["0"]


def test_a_value_of_another_kind_takes_no_other(bench: Bench) -> None:
    result = bench.evaluate(["'n/a'", "1.0", "0.5"], ["said"])
    assert (result["said"].n, result["said"].value) == (2, 0.75)
    (error,) = result.errors
    assert error.startswith("metrics/said (judges 2.0): 1 of 3 examples left out: ann")
    assert "annotate_example: it gave a text where it is a number" in error


def test_an_annotator_that_changes_its_fields_is_asked_again_with_the_same(
    bench: Bench,
) -> None:
    asking = "stop(evalkit.TryAgain('busy'))"
    result = bench.evaluate([asking, "1.0"], ["said"])
    assert bench.asked() == [f"says {asking!r}"] * 2 + ["says '1.0'"]
    (problem,) = result.problems
    assert problem.reason == "says: busy (asked 2 times)"


def test_what_is_raised_names_the_place_and_what_was_raised(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        failures, "_BETWEEN", frozenset({"evalkit", "evalkit_annotators_columns"})
    )
    result = bench.evaluate(["[][1]", "1.0"], ["said"])
    assert "IndexError: list index out of range (<string>:1)" in result.errors[0]
    bug = "handled(ConnectionError('gone'), LookupError('a bug'))"
    (problem,) = bench.evaluate([bug, "1.0"], ["said"]).problems
    assert problem.reason == "says: LookupError: a bug (asked 2 times)"
    result = bench.evaluate(["down", "odd"], ["judged"])
    reasons = {each.id: each.reason for each in result.problems}
    assert reasons["0"] == "judge.score: ConnectionError: hung up (asked 4 times)"


@pytest.mark.slow
def test_several_processes_give_the_same(bench: Bench) -> None:
    texts = [f"{'a ' * n}b" for n in range(12)]
    alone = bench.evaluate(texts, ["words"])
    assert len(bench.asked()) == 12
    shared = bench.evaluate(texts, ["words"], jobs=2)
    assert len(bench.asked()) == 12
    assert shared["words"] == alone["words"]
    assert shared.run_id == alone.run_id


def test_no_examples_keeps_the_value_only(bench: Bench, tmp_path: Path) -> None:
    result = bench.evaluate(
        TEXTS, ["judged"], include_examples=False, out=tmp_path / "runs"
    )
    assert result.examples is not None
    assert "judge.score" in result.examples.columns
    assert "pred" not in result.examples.columns
    assert not result.column_details
    assert result.path is not None
    assert not (result.path / "columns").exists()
    written = (result.path / "run.json").read_text()
    written += (result.path / "problems.jsonl").read_text()
    assert "no such word" not in written
    assert "odd" not in written


def test_a_column_of_the_data_wins(bench: Bench) -> None:
    rows = [
        {"uid": str(n), "statement": "a b", "label": "positive", "length": 7}
        for n in range(3)
    ]
    result = bench.evaluate([], ["words"], rows=rows)
    assert result["words"].value == 7
    assert bench.asked() == []
    assert any("'length' that metrics ask for is one of" in n for n in result.notices)


def test_what_is_wrong_with_a_name_is_told(bench: Bench) -> None:
    with pytest.raises(evalkit.PluginContractError, match=r"gives judge\.score, judge"):
        bench.evaluate(["a"], ["wrong"])
    with pytest.raises(
        evalkit.UnknownPluginError,
        match=r"asks for the column 'toxicity': .* it is part of the distribution",
    ):
        bench.evaluate(["a"], ["elsewhere"])


@pytest.mark.slow
def test_rescore_verify_and_merge_ask_nothing_twice(
    bench: Bench, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    first = bench.evaluate(TEXTS[:4], ["accuracy", "judged"], out=runs)
    bench.asked()
    assert first.path is not None
    stored = evalkit.read_run(first.path)
    more = evalkit.rescore(stored, ["listed"])
    assert (more["listed"].n, more["listed"].value) == (3, 3.0)
    checked = evalkit.verify(stored)
    assert checked.agrees
    assert not checked.unverified
    assert "columns of judge: taken from the run" in checked.unchecked
    assert [each.what for each in checked.changes] == []
    assert bench.asked() == []
    used = [
        each.model_copy(update={"version": "1.9"}) if each.name == "judge" else each
        for each in stored.record.components
    ]
    older = evalkit.read_run(first.path)
    older._record = older.record.changed(components=tuple(used))
    (change,) = evalkit.verify(older).changes
    assert (change.what, change.then) == ("annotators/judge version", "1.9")

    rows = [
        {"uid": f"b{n}", "statement": text, "label": "positive"}
        for n, text in enumerate(["odd", "new"])
    ]
    second = bench.evaluate([], ["accuracy", "judged"], rows=rows)
    bench.asked()
    joined = evalkit.merge([stored, second], dataset="both")
    assert (joined["judged"].n, joined["judged"].value) == (4, 1.0)
    assert joined.record.not_scored == {"judged": 2}
    (told,) = joined.record.columns
    assert (told.rows, dict(told.without_value)) == (6, {"odd": 2})
    assert bench.asked() == []
    assert first.path is not None
    table = first.path / "columns" / "judge.parquet"
    pl.read_parquet(table).with_columns(failed=pl.lit("no")).write_parquet(table)
    seal_again(first.path)
    with pytest.raises(evalkit.EvalkitError, match="its column 'failed' is of the typ"):
        evalkit.verify(evalkit.read_run(first.path))


def test_copies_are_annotated_too(bench: Bench) -> None:
    rows = [
        {"uid": str(n), "statement": f"Text {n}", "label": "positive"} for n in range(3)
    ]
    copies = [*perturb(rows, "lowercase", task="sentiment")]
    assert len(copies) == 3
    answers = [{"id": row["uid"], "label": "positive"} for row in copies]
    result = bench.evaluate(
        [], ["words"], rows=rows, perturbed=[copies], perturbed_predictions=[answers]
    )
    assert len(bench.asked()) == 6
    for run in (result, *result.perturbed):
        (told,) = run.record.columns
        assert told.rows == 3
        assert run.examples["length"].to_list() == [2, 2, 2]
    values = {s.computed_on: s.value for s in find_effects(result).scores}
    assert (values["original"], values["perturbed"]) == (2, 2)


def test_a_word_list_of_an_annotator_is_part_of_a_run(tmp_path: Path) -> None:
    class Listing(evalkit.Annotator):
        version = "1"

        class Parameters(evalkit.Parameters):
            words: str

        def annotate_example(self, prediction: str) -> bool:
            return True

    words, found = tmp_path / "words.txt", []
    for content in ("a", "b"):
        words.write_text(content)
        resolver = Resolver(Registry())
        bound = resolver.bind("annotators", Listing, {"words": str(words)})
        found.append(recorded_component(BoundAnnotator.of(bound)).model_dump())
    assert found[0] != found[1]


def test_no_examples_withholds_why_no_row_has_what_a_metric_asks_for(
    bench: Bench,
) -> None:
    secret = "evalkit.NotScored('a secret of the data')"
    result = bench.evaluate([secret, secret], ["said"], include_examples=False)
    told = [*map(str, result.scores), str(result.to_dict())]
    assert "secret" not in "".join(told)
