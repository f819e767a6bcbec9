"""Files of perturbed copies: what is read of them, and what is refused."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import Result
from evalkit.errors import AlignmentError, EvalkitError, SchemaError
from evalkit.runs.stored import read_run
from evalkit_analysis_robustness import evaluate_perturbed, find_effects, record_of

from .perturbed_plugins import (
    REGISTRY,
    Data,
    Faceted,
    SelfScored,
    answers,
    copy,
    evaluate,
    example,
    found,
    scores_of,
)

ROWS = [example("1", "a", "x"), example("2", "b", "y"), example("3", "a")]
SAID = answers(**{"1": "a", "2": "b", "3": "b"})
COPIES = [copy("1_i", ROWS[0]), copy("2_i", ROWS[1])]
SAID_OF_COPIES = answers(**{"1_i": "a", "2_i": "a"})


def score(copies: Any = COPIES, said: Any = SAID_OF_COPIES, **options: Any) -> Result:
    return evaluate(ROWS, SAID, copies, said, **options)


def changed(row: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    kept = {**row, **changes}
    return {name: value for name, value in kept.items() if value is not ...}


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"input_id": ...}, SchemaError, "has no column 'input_id'"),
            ({"perturbation": ...}, SchemaError, "has no column 'perturbation'"),
            ({"input_id": None}, SchemaError, "uid '2_i': input_id: is required"),
            ({"input_id": ""}, SchemaError, "must be a text that is not empty"),
            ({"input_id": 2.5}, SchemaError, "must be a text that is not empty"),
            ({"input_id": ["1"]}, SchemaError, "must be a text that is not empty"),
            ({"perturbation": True}, SchemaError, "perturbation: must be a text"),
            ({"input_id": "9"}, AlignmentError, r"rows are copies .*'2_i' of '9'"),
            ({"uid": "3"}, AlignmentError, "have the uids of examples of .*'3'"),
            ({"text": ...}, SchemaError, "no example has 'text'; the data has"),
            ({"label": "Z"}, SchemaError, "must be one of the labels A, B, C"),
            ({"tags": "x"}, SchemaError, "tags"),
            ({"tags": [1]}, SchemaError, "tags"),
        ],
    )
    def test_a_row_that_is_no_copy_is_refused(
        self, change: dict[str, Any], error: type[EvalkitError], message: str
    ) -> None:
        second = changed(COPIES[1], **change)
        first = COPIES[0]
        if ... in change.values():
            first = changed(first, **change)
        with pytest.raises(error, match=message) as caught:
            score([first, second])
        assert str(caught.value).startswith("perturbed rows 1: ")

    def test_copies_of_other_data_are_refused_as_a_whole(self) -> None:
        rows = [changed(row, input_id=f"other-{row['uid']}") for row in COPIES]
        with pytest.raises(AlignmentError, match="all of its rows are copies of"):
            score(rows)

    def test_files_must_be_paired(self) -> None:
        with pytest.raises(EvalkitError, match="2 perturbed files and 1 file of"):
            evaluate_perturbed(
                Data(ROWS),
                SAID,
                perturbed=[COPIES, COPIES],
                perturbed_predictions=[SAID_OF_COPIES],
                registry=REGISTRY,
            )

    def test_a_uid_is_in_one_file_only(self) -> None:
        with pytest.raises(AlignmentError, match="the same uid: '1_i'"):
            evaluate_perturbed(
                Data(ROWS),
                SAID,
                perturbed=[COPIES, COPIES[:1]],
                perturbed_predictions=[SAID_OF_COPIES, SAID_OF_COPIES[:1]],
                registry=REGISTRY,
            )

    def test_answers_of_another_shape_are_refused(self) -> None:
        rows = [COPIES[0], changed(COPIES[1], label=["A", "B"])]
        with pytest.raises(SchemaError, match="of the kind 'any-of', those of the"):
            score(rows)

    @pytest.mark.parametrize("of_copies", [False, True])
    def test_replications_are_refused(self, of_copies: bool) -> None:
        def repeated(rows: Any) -> list[dict[str, Any]]:
            return [{**row, "_replication_": r} for row in rows for r in (1, 2)]

        said = SAID if of_copies else repeated(SAID)
        said_of_copies = repeated(SAID_OF_COPIES) if of_copies else SAID_OF_COPIES
        with pytest.raises(AlignmentError, match="one response for each"):
            evaluate(ROWS, said, COPIES, said_of_copies)


class TestPolicies:
    def test_a_refusal_names_file_rows_and_problems(self, tmp_path: Path) -> None:
        copies = [*COPIES, copy("2_j", {**ROWS[1], "text": "no c"})]
        copies[-1]["text"] = "no c"
        path = lines(
            tmp_path / "said.jsonl",
            [
                {"id": "1_i", "label": "a"},
                {"id": "1_i", "label": "b"},
                {"id": "2_j", "label": "c"},
                {"id": "7", "label": "a"},
                *({"id": f"x{n}", "label": "a"} for n in range(4)),
            ],
        )
        with pytest.raises(AlignmentError) as caught:
            score(copies, path, out=tmp_path / "runs")
        message = str(caught.value)
        assert f"{path} (invariant): " in message
        assert "1 example without a prediction" in message
        assert "1 invalid prediction" in message
        assert "missing: id '2_i'" in message
        assert "2 more unknown" in message
        result = caught.value.result
        assert result is not None
        # if one side is refused, both are
        [run] = result.perturbed
        for each in (result, run):
            assert (each.status, each.scores) == ("refused", ())
            assert each.path is not None
        assert record_of(result)["perturbed"][0]["counts"]["missing"] == 1
        assert list(read_run(run.path).problems) == list(run.problems)

    def test_when_no_copy_counts_all_is_null(self) -> None:
        result = score(said=[], on_missing="skip")
        for computed_on in ("original", "perturbed", "drop"):
            null = found(result, computed_on)
            assert (null.value, null.reason) == (None, "no perturbed copy was scored")


class TestSelection:
    def test_copies_of_examples_that_are_not_evaluated_are_left_out(self) -> None:
        result = score(limit=1)
        assert found(result, "perturbed").n == 1
        [perturbed] = record_of(result)["perturbed"]
        assert perturbed["counts"]["examples"] == 1
        assert "perturbed rows 1: 1 copy of examples that are not evaluated; left " in (
            " ".join(result.notices)
        )

    def test_all_of_them_may_be_left_out(self) -> None:
        result = score(filters={"uid": ["3"]})
        assert scores_of(result) == []
        assert "2 copies of examples that are not" in " ".join(result.notices)


class TestTags:
    @pytest.mark.slow
    def test_a_copy_has_its_own_tags_or_its_originals(self) -> None:
        rows = [changed(COPIES[0], tags=["z", "z"]), changed(COPIES[1], tags=...)]
        result = score(rows)
        tags = {s.tag for s in scores_of(result) if s.computed_on == "drop"}
        assert tags == {None, "z", "y"}

    def test_stored_tags_that_are_not_the_scored_ones_are_no_change(self) -> None:
        rows = [changed(row, kind=row["tags"][0], tags="stored") for row in ROWS[:2]]
        copies = [
            changed(row, kind="other", tags="stored")
            for row in (copy("1_i", rows[0]), copy("2_i", rows[1]))
        ]
        result = evaluate(rows, SAID[:2], copies, SAID_OF_COPIES, dataset=Faceted)
        tags = {s.tag for s in scores_of(result) if s.computed_on == "drop"}
        assert tags == {None, "kind:x", "kind:y"}

    def test_tags_that_are_no_lists_of_texts_are_refused(self) -> None:
        rows = [changed(row, kind=row["tags"][0], tags="stored") for row in ROWS[:2]]
        copies = [copy("1_i", rows[0], tags="new"), copy("2_i", rows[1])]
        with pytest.raises(SchemaError, match="tags: must be lists of texts, are Str"):
            evaluate(rows, SAID[:2], copies, SAID_OF_COPIES, dataset=Faceted)

    def test_a_data_set_that_scores_itself_has_no_own_score_of_copies(self) -> None:
        result = evaluate(ROWS, SAID, COPIES, SAID_OF_COPIES, dataset=SelfScored)
        assert result["self-scored#rows"].value == 3
        assert {s.metric for s in scores_of(result)} == {"right"}


class TestFiles:
    def files(self, folder: Path) -> dict[str, Any]:
        return {
            "copies": lines(folder / "robustness-invariant.jsonl", COPIES),
            "said": lines(folder / "said.jsonl", SAID_OF_COPIES),
        }

    def test_a_run_folder_holds_the_copies_and_their_scores(
        self, tmp_path: Path
    ) -> None:
        result = score(
            **self.files(tmp_path), out=tmp_path / "runs", metrics=["right", "distance"]
        )
        assert result.path is not None
        stored = read_run(result.path)
        assert stored.scores == result.scores
        assert scores_of(stored) == scores_of(result)
        [run] = find_effects(stored).runs
        assert run.examples is not None
        assert run.examples.equals(result.perturbed[0].examples)
        assert run.examples["right"].to_list() == [1.0, 0.0]
        assert run.examples["input_id"].to_list() == ["1", "2"]
        assert {score.perturbation for score in run.scores} == {"invariant"}
        record = run.to_dict()
        assert record["original"] == result.fingerprint
        assert record["perturbation"]["name"] == "invariant"
        assert record["data"]["files"][0]["name"] == "robustness-invariant.jsonl"
        assert record["predictions"]["name"] == "said.jsonl"
        ids = [component["id"] for component in record["components"]]
        assert "perturbations/invariant" in ids
        assert stored.examples is not None
        assert stored.examples["perturbation"].null_count() == 3

    @pytest.mark.slow
    def test_files_and_rows_give_the_same_scores(self, tmp_path: Path) -> None:
        of_files = score(**self.files(tmp_path))
        assert scores_of(of_files) == scores_of(score())
        frame = pl.DataFrame(COPIES)
        of_frames = evaluate_perturbed(
            Data(ROWS),
            SAID,
            metrics=["right"],
            perturbed=frame,
            perturbed_predictions=[pl.DataFrame(SAID_OF_COPIES)],
            registry=REGISTRY,
        )
        assert scores_of(of_frames) == scores_of(of_files)

    @pytest.mark.slow
    def test_the_fingerprint_covers_copies_and_predictions(
        self, tmp_path: Path
    ) -> None:
        base = score()
        alone = evalkit.evaluate(Data(ROWS), SAID, metrics=["right"], registry=REGISTRY)
        others = [
            score([*COPIES[:1], changed(COPIES[1], text="other")]),
            score(said=answers(**{"1_i": "a", "2_i": "b"})),
        ]
        ids = {result.perturbed[0].fingerprint for result in (base, *others)}
        assert len(ids) == 3
        assert score().perturbed[0].fingerprint == base.perturbed[0].fingerprint
        # the originals are evaluated as they are without perturbed examples
        assert base.fingerprint == alone.fingerprint

    @pytest.mark.slow
    def test_without_examples_there_are_no_answers(self, tmp_path: Path) -> None:
        result = score(include_examples=False, out=tmp_path)
        [run] = result.perturbed
        assert {"answer", "pred"}.isdisjoint(run.examples.columns)
        undeclared = [{**row, "secret": "x"} for row in SAID_OF_COPIES]
        hidden = score(said=undeclared, include_examples=False)
        assert "secret" not in " ".join(hidden.perturbed[0].notices)
        assert "secret" in " ".join(score(said=undeclared).perturbed[0].notices)

    def test_a_perturbation_is_in_one_file_only(self) -> None:
        with pytest.raises(AlignmentError, match="both hold examples of the pert"):
            evaluate_perturbed(
                Data(ROWS),
                SAID,
                perturbed=[COPIES[:1], COPIES[1:]],
                perturbed_predictions=[SAID_OF_COPIES[:1], SAID_OF_COPIES[1:2]],
                registry=REGISTRY,
            )

    def test_merged_runs_have_no_scores_under_perturbation(
        self, tmp_path: Path
    ) -> None:
        runs = [score(filters={"uid": uids}, model="m") for uids in (["1"], ["2", "3"])]
        merged = evalkit.merge(runs, registry=REGISTRY)
        assert scores_of(merged) == []


class TestStaleAnswers:
    def test_another_answer_than_the_originals_is_told(self) -> None:
        copies = [COPIES[0], changed(COPIES[1], label="c")]
        notices = " ".join(score(copies).perturbed[0].notices)
        assert "is another one in 1 row, such as '2_i'" in notices
