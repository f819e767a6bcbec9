"""Runs with perturbed copies, later: rescored, verified, compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_runs import seal_again, write_record
from pydantic import BaseModel

import evalkit
from evalkit import Result
from evalkit.errors import StorageError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry
from evalkit.runs.stored import read_run
from evalkit.workflows.rescoring import rescore
from evalkit.workflows.verification import verify
from evalkit_analysis_compare import compare

from ..perturbed_plugins import (
    REGISTRY,
    Clustered,
    Data,
    Distance,
    Task,
    answers,
    copy,
    evaluate,
    example,
    get_share,
)

ROWS = [
    example("1", "a", "x", page="p"),
    example("2", "b", page="p"),
    example("3", "a", "x", page="q"),
    example("4", "c", page="r"),
]
SAID = answers(**{"1": "a", "2": "b", "3": "b", "4": "c"})
COPIES = [
    copy("1_i", ROWS[0]),
    copy("1_j", ROWS[0]),
    copy("2_i", ROWS[1]),
    copy("3_d", ROWS[2], "directed", label="b"),
    copy("1_b", ROWS[0], "doubtful"),
]
SAID_OF_COPIES = answers(
    **{"1_i": "a", "1_j": "b", "2_i": "c", "3_d": "a", "1_b": "b"},
)
METRICS = ["right", "distance", "macro-recall"]


def score(*, stated: bool = True, **options: Any) -> Result:
    effects = {
        "invariant": "invariant",
        "directed": "transforms",
        "doubtful": "uncertain",
    }
    copies = COPIES
    if stated:
        copies = [
            {
                **row,
                "label_effect": effects[row["perturbation"]],
                "families": ["robustness"],
            }
            for row in COPIES
        ]
    return evaluate(ROWS, SAID, copies, SAID_OF_COPIES, **options)


def as_rows(result: Result) -> list[tuple[Any, ...]]:
    """Give the scores under perturbation in an order of their own, rounded."""

    def plain(value: Any) -> Any:
        return round(value, 9) if isinstance(value, float) else value

    return sorted(
        (tuple(map(plain, score)) for score in result.under_perturbation), key=repr
    )


class TestRescoring:
    @pytest.mark.parametrize(
        ("added", "options"),
        [
            (["distance", "macro-recall"], {"weight": "copy"}),
            (["distance"], {"dataset": Clustered, "confidence": 0.9}),
            (["distance"], {"stated": False}),
        ],
    )
    @pytest.mark.slow
    def test_it_gives_what_an_evaluation_with_all_metrics_gives(
        self, tmp_path: Path, added: list[str], options: dict[str, Any]
    ) -> None:
        parent = score(metrics=["right"], out=tmp_path, **options)
        assert parent.path is not None
        again = rescore(read_run(parent.path), added, registry=REGISTRY)
        whole = score(metrics=["right", *added], **options)
        assert as_rows(again) == as_rows(whole)
        assert again.perturbed_examples is not None
        assert whole.perturbed_examples is not None
        assert again.perturbed_examples.equals(whole.perturbed_examples)
        assert "not computed under perturbation" not in " ".join(again.notices)

    def test_flips_are_of_one_metric(self) -> None:
        again = rescore(score(metrics=["right"]), [get_share], registry=REGISTRY)
        judged = {s.metric for s in again.scores if s.computed_on == "right-to-wrong"}
        assert judged == {"right"}

    @pytest.mark.slow
    def test_a_new_metric_tells_right_from_wrong_where_none_did(self) -> None:
        parent = score(metrics=["distance"])
        again = rescore(parent, ["right"], registry=REGISTRY)
        assert as_rows(again) == as_rows(score(metrics=["distance", "right"]))

    def test_a_function_of_lists_is_computed_too(self) -> None:
        again = rescore(score(metrics=["right"]), [get_share], registry=REGISTRY)
        assert as_rows(again) == as_rows(score(metrics=["right", get_share]))

    def test_without_the_copies_it_says_so(self, tmp_path: Path) -> None:
        parent = score(metrics=["right"], out=tmp_path)
        assert parent.path is not None
        (parent.path / "perturbed.parquet").unlink()
        seal_again(parent.path)
        again = rescore(parent.path, ["distance"], registry=REGISTRY)
        assert len(again.under_perturbation) == len(parent.under_perturbation)
        assert again.notices[-1].startswith("distance: not computed under perturbation")

    def test_copies_of_other_examples_are_refused(self, tmp_path: Path) -> None:
        parent = score(metrics=["right"], out=tmp_path)
        assert parent.path is not None
        path = parent.path / "perturbed.parquet"
        pl.read_parquet(path).with_columns(input_id=pl.lit("9")).write_parquet(path)
        seal_again(parent.path)
        with pytest.raises(StorageError, match="copies of examples that it does not"):
            rescore(parent.path, ["distance"], registry=REGISTRY)

    def test_no_copy_may_be_left(self) -> None:
        parent = score(metrics=["right"], filters={"uid": ["2"]})
        assert parent.perturbed_examples is not None
        parent.perturbed_examples = parent.perturbed_examples.clear()
        again = rescore(parent, ["distance"], registry=REGISTRY)
        assert len(again.under_perturbation) == len(parent.under_perturbation)


class Certain(evalkit.Metric):
    """Reads a scored field of responses."""

    columns = ("conf",)
    higher_is_better = True

    def score_example(self, prediction: str, fields: Any) -> float | None:
        conf = fields["conf"]
        return None if conf is None else float(sum(conf.values()))


class Reads(evalkit.Metric):
    """Reads a field of the input."""

    columns = ("text",)
    higher_is_better = True

    def score_example(self, prediction: str, fields: Any) -> float:
        return float(len(fields["text"]))


class Listed(Data):
    """Can be loaded by name."""

    def load(self, split: str) -> list[Any]:
        return ROWS


class ManySaid(BaseModel):
    id: str
    label: str | None = None
    conf: dict[str, float] | None = None


class ManyTask(Task):
    Output = ManySaid


class ManyData(Data):
    task = "many"


MORE = Registry(
    Catalog(
        (
            *REGISTRY.catalog.components,
            Component("tasks", "many", f"{__name__}:ManyTask", "more", "1"),
            Component("datasets", "listed", f"{__name__}:Listed", "more", "1"),
        ),
        (),
    )
)


class TestSeveralFiles:
    ODD = {"a": 0.5, "b": 0.25}

    def pair(self, first: Any, second: Any, metrics: Any, **options: Any) -> Result:
        """Score two files, of which the responses have these values of `conf`."""
        said = [
            [{**row, "conf": first} for row in SAID_OF_COPIES[:2]],
            [{**row, "conf": second} for row in SAID_OF_COPIES[2:3]],
        ]
        return evalkit.evaluate(
            ManyData(ROWS),
            [{**row, "conf": self.ODD} for row in SAID],
            metrics=metrics,
            perturbed=[COPIES[:2], COPIES[2:3]],
            perturbed_predictions=said,
            registry=MORE,
            **options,
        )

    @pytest.mark.parametrize("turned", [False, True])
    def test_a_field_that_one_lacks_stays_what_it_is(
        self, tmp_path: Path, turned: bool
    ) -> None:
        values = (None, self.ODD) if turned else (self.ODD, None)
        parent = self.pair(*values, ["right"], out=tmp_path)
        assert parent.path is not None
        again = rescore(read_run(parent.path), [Certain], registry=MORE)
        assert as_rows(again) == as_rows(self.pair(*values, ["right", Certain]))
        assert again.perturbed_examples is not None
        told = again.perturbed_examples["conf"].to_list()
        assert told == ([None, None, self.ODD] if turned else [self.ODD] * 2 + [None])
        assert not [notice for notice in parent.notices if "one kind" in notice]

    def test_values_of_two_kinds_are_json_as_those_of_one_file(self) -> None:
        result = self.pair(self.ODD, {"c": 1.0}, ["right"])
        assert result.perturbed_examples is not None
        told = result.perturbed_examples["conf"].to_list()
        assert [json.loads(text) for text in told] == [self.ODD, self.ODD, {"c": 1.0}]
        [notice] = [n for n in result.notices if "not of one kind" in n]
        assert notice.startswith("conf: is not of one kind in answers to perturbed row")

    def test_numbers_are_numbers(self) -> None:
        said = [
            [{**row, "conf": conf} for row in rows]
            for rows, conf in ((SAID_OF_COPIES[:2], 1), (SAID_OF_COPIES[2:3], 0.5))
        ]
        result = evalkit.evaluate(
            Data(ROWS),
            SAID,
            metrics=["right"],
            perturbed=[COPIES[:2], COPIES[2:3]],
            perturbed_predictions=said,
            registry=REGISTRY,
        )
        assert result.perturbed_examples is not None
        assert result.perturbed_examples["conf"].to_list() == [1.0, 1.0, 0.5]

    def test_a_metric_called_like_a_column_has_one_name(self) -> None:
        class Conf(evalkit.Metric):
            higher_is_better = True

            def score_example(self, prediction: str) -> float:
                return 1.0

        result = self.pair(self.ODD, None, [Conf])
        assert result.perturbed_examples is not None
        assert result.perturbed_examples.columns[-1] == "metrics/conf"
        assert result.perturbed_examples["metrics/conf"].to_list() == [1.0] * 3


class TestVerification:
    def test_what_an_earlier_version_did_not_keep_is_no_difference(
        self, tmp_path: Path
    ) -> None:
        def forget(record: dict[str, Any]) -> None:
            for each in record["perturbations"]:
                del each["expects"]

        result = score(metrics=["right"], out=tmp_path)
        assert any(s.computed_on == "expected" for s in result.scores)
        path = edited(result, forget)
        pairs = pl.read_parquet(path / "perturbed.parquet")
        pairs.drop("as expected").write_parquet(path / "perturbed.parquet")
        seal_again(path)
        verified = verify(path, registry=REGISTRY)
        assert verified.differences == ()
        assert "`expect`" in verified.unverified["scores under perturbation"]
        again = rescore(path, ["distance"], registry=REGISTRY)
        assert {s.metric for s in again.under_perturbation} == {"right", "distance"}

    def test_a_metric_that_reads_the_input_has_a_reason(self) -> None:
        result = evalkit.evaluate(
            "listed",
            SAID,
            metrics=["right"],
            perturbed=[COPIES],
            perturbed_predictions=[SAID_OF_COPIES],
            registry=MORE,
        )
        again = rescore(result, [Reads], registry=MORE)
        [reason] = {s.reason for s in again.under_perturbation if s.metric == "reads"}
        assert f"'text', and the run {result.run_id} holds no texts" in str(reason)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"weight": "copy", "dataset": Clustered, "metrics": ["right"]},
            {"stated": False, "metrics": ["distance"]},
        ],
    )
    def test_a_fresh_run_agrees(self, tmp_path: Path, options: dict[str, Any]) -> None:
        result = score(**{"metrics": METRICS, "out": tmp_path, **options})
        assert result.path is not None
        found = verify(result.path, registry=REGISTRY)
        assert found.agrees
        assert found.unverified == {}
        assert found.scores == len(result.scores)

    def test_a_number_that_was_tampered_with_is_named(self, tmp_path: Path) -> None:
        def change(record: dict[str, Any]) -> None:
            for stored in record["scores"]:
                is_drop = stored["computed_on"] == "drop"
                if is_drop and (stored["tag"], stored["perturbation"]) == (
                    "x",
                    "invariant",
                ):
                    stored["value"] = 0.123

        found = verify(edited(score(out=tmp_path), change), registry=REGISTRY)
        assert not found.agrees
        [difference] = found.differences
        assert difference.stored == 0.123
        assert (difference.perturbation, difference.computed_on, difference.tag) == (
            *("invariant", "drop", "x"),
        )

    def test_what_cannot_be_computed_again_is_named(self, tmp_path: Path) -> None:
        result = score(out=tmp_path)
        assert result.path is not None
        plain = sum(s.perturbation is None for s in result.scores)
        path = result.path / "perturbed.parquet"
        whole = pl.read_parquet(path)
        whole.drop("pred").write_parquet(path)
        seal_again(result.path)
        found = verify(result.path, registry=REGISTRY)
        assert (
            "holds no answers and predictions, as"
            in found.unverified["scores under perturbation"]
        )
        assert (found.agrees, found.scores) == (True, plain)
        path.unlink()
        seal_again(result.path)
        found = verify(result.path, registry=REGISTRY)
        assert found.unverified == {
            "scores under perturbation": "the run has no perturbed.parquet"
        }

    def test_a_field_of_the_input_that_copies_lack_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        result = score(metrics=["right", "distance"], out=tmp_path)
        monkeypatch.setattr(Distance, "columns", ("conf",))
        assert result.path is not None
        path = result.path / "perturbed.parquet"
        pl.read_parquet(path).drop("conf").write_parquet(path)
        seal_again(result.path)
        found = verify(result.path, registry=REGISTRY)
        assert found.agrees
        assert list(found.unverified) == ["distance under perturbation"]
        of_right = [s for s in result.under_perturbation if s.metric == "right"]
        plain = [s for s in result.scores if s.perturbation is None]
        assert found.scores == len(of_right) + len(plain)


def edited(result: Result, edit: Callable[[dict[str, Any]], None]) -> Path:
    """Edit the `run.json` of a run."""
    assert result.path is not None
    path = result.path / "run.json"
    record = json.loads(path.read_text("utf-8"))
    edit(record)
    write_record(result.path, record)
    return result.path


@pytest.mark.slow
def test_a_comparison_says_that_it_is_not_of_perturbed_scores() -> None:
    plain = evalkit.evaluate(Data(ROWS), SAID, metrics=["right"], registry=REGISTRY)
    compared = compare(score(), plain, registry=REGISTRY)
    assert {row.metric for row in compared.rows} == {"right"}
    assert "scores under perturbation are not compared" in " ".join(compared.notices)


@pytest.mark.slow
def test_nothing_was_expected_where_nobody_was_asked() -> None:
    copies = [
        {**row, "label_effect": "invariant", "families": []} for row in COPIES[:3]
    ]
    said = SAID_OF_COPIES[:3]
    parent = evaluate(ROWS, SAID, copies, said, metrics=["right"])
    again = rescore(parent, ["distance"], registry=REGISTRY)
    assert as_rows(again) == as_rows(
        evaluate(ROWS, SAID, copies, said, metrics=["right", "distance"])
    )
