"""Runs of perturbed copies, given in place of the copies and their predictions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import Result
from evalkit.errors import AlignmentError, EvalkitError, SchemaError, StorageError
from evalkit.runs.stored import read_run
from evalkit_analysis_robustness import evaluate_perturbed, record_of

from .perturbed_plugins import (
    REGISTRY,
    Clustered,
    Data,
    answers,
    copy,
    example,
    found,
    scores_of,
)

ROWS = [
    example("1", "a", "x", page="p"),
    example("2", "b", page="p"),
    example("3", "a", page="q"),
]
SAID = answers(**{"1": "a", "2": "b", "3": "b"})


def made(uid: str, row: dict[str, Any], name: str = "invariant", **more: Any) -> Any:
    said = {"label_effect": "invariant", "families": ["robustness"], **more}
    return copy(uid, row, name, **said)


COPIES = [
    made("1_i", ROWS[0]),
    made("1_j", ROWS[0], tags=["y"]),
    made("2_i", ROWS[1], "elsewhere", label_effect="transforms", label="c"),
]
SAID_OF_COPIES = answers(**{"1_i": "a", "1_j": "b", "2_i": "c"})


def run_of(copies: Any = COPIES, said: Any = SAID_OF_COPIES, **options: Any) -> Result:
    """Evaluate copies as if they were a data set."""
    options = {"metrics": ["right"], "registry": REGISTRY, "model": "m", **options}
    return evalkit.evaluate(Data(copies), said, **options)


def score(*perturbed: Any, said: Any = (), **options: Any) -> Result:
    options = {"metrics": ["right"], "registry": REGISTRY, "model": "m", **options}
    dataset = options.pop("dataset", Data)
    rows = options.pop("rows", ROWS)
    return evaluate_perturbed(
        dataset(rows),
        options.pop("predictions", SAID),
        perturbed=list(perturbed),
        perturbed_predictions=list(said),
        **options,
    )


class TestInPlaceOfFiles:
    @pytest.mark.parametrize(
        "options",
        [
            {"metrics": ["right", "distance"]},
            {"dataset": Clustered, "metrics": ["right", "macro-recall"]},
        ],
    )
    @pytest.mark.slow
    def test_the_scores_are_the_same(
        self, tmp_path: Path, options: dict[str, Any]
    ) -> None:
        path = run_of(out=tmp_path).path
        assert path is not None
        of_run = score(path, **options)
        of_rows = score(COPIES, said=[SAID_OF_COPIES], **options)
        assert scores_of(of_run) == scores_of(of_rows)
        pairs = zip(of_run.perturbed, of_rows.perturbed, strict=True)
        for one, other in pairs:
            assert one.scores == other.scores
            assert one.counts["scored"] == other.counts["scored"]
            assert one.record.perturbation == other.record.perturbation

    @pytest.mark.slow
    def test_it_is_called_in_many_ways(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        run = run_of(out="runs")
        assert run.path is not None
        expected = scores_of(score(run))
        record = str(run.path / "run.json")
        for name in (run.path, record, run.run_id[:6], "m", "latest"):
            assert scores_of(score(name)) == expected
        assert scores_of(score("m", out="runs")) == expected
        alone = evaluate_perturbed(
            Data(ROWS), SAID, metrics=["right"], perturbed=run, registry=REGISTRY
        )
        assert scores_of(alone) == expected

    def test_files_are_recorded_by_name_and_hash(self, tmp_path: Path) -> None:
        (copies := tmp_path / "copies.jsonl").write_text(
            "".join(
                json.dumps({**row, "label": row["label"].lower()}) + "\n"
                for row in COPIES
            )
        )
        (said := tmp_path / "said.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in SAID_OF_COPIES)
        )
        run = evalkit.evaluate(
            copies, said, task="letters", metrics=["right"], registry=REGISTRY
        )
        of_run = record_of(score(run))["perturbed"]
        of_files = record_of(score(copies, said=[said]))["perturbed"]
        for one, other in zip(of_run, of_files, strict=True):
            assert one["data"]["files"] == other["data"]["files"]
            assert one["data"]["files"][0]["name"] == "copies.jsonl"
            assert one["predictions"] == other["predictions"]

    def test_expect_is_not_asked_as_there_are_no_texts(self) -> None:
        copies = [made("1_i", ROWS[0], "directed")]
        result = score(run_of(copies, SAID_OF_COPIES[:1]))
        assert not any(s.computed_on == "expected" for s in scores_of(result))
        [run] = result.perturbed
        [notice] = (text for text in run.notices if "expect" in text)
        assert "`expect` was not asked, as a run holds no texts" in notice


BROKEN = [None, 1.5, True, ["a", 1], {"k": 1}, [""]]


class TestTheSameAsItsFile:
    @pytest.mark.parametrize(
        ("tags", "original"),
        [
            ([None, ["y"], None], ["x"]),
            ([None, ["y"], None], []),
            ([None, ["y"], None], None),
            ([[], [], []], ["x"]),
            ([[], ["y"], None], None),
            ([None, None, None], ["x"]),
            ([["x"], ["x", "x"], []], ["x"]),
            ([["y"], [], ["x"]], []),
        ],
    )
    @pytest.mark.slow
    def test_tags(
        self, tags: list[list[str] | None], original: list[str] | None
    ) -> None:
        rows = [{**row, "tags": original} for row in ROWS]
        copies = [{**row, "tags": own} for row, own in zip(COPIES, tags, strict=True)]
        of_file = score(copies, said=[SAID_OF_COPIES], rows=rows)
        assert scores_of(score(run_of(copies), rows=rows)) == scores_of(of_file)

    @pytest.mark.parametrize(
        "field", ["input_id", "perturbation", "label_effect", "families"]
    )
    @pytest.mark.parametrize("rows", [slice(0, 1), slice(None)], ids=["one", "all"])
    @pytest.mark.slow
    def test_errors(self, field: str, rows: slice) -> None:
        for value in BROKEN:
            copies = [dict(row) for row in COPIES]
            for row in copies[rows]:
                row[field] = value
            messages = []
            run = run_of(copies)
            for given, said, name in (
                (copies, [SAID_OF_COPIES], "perturbed rows 1: "),
                (run, [], f"the run {run.run_id}: "),
            ):
                try:
                    message = str(scores_of(score(given, said=said)))
                except EvalkitError as error:
                    message = str(error).removeprefix(name)
                messages.append(message.removeprefix("its rows were no sound copies: "))
            assert messages[0] == messages[1]

    def test_a_column_of_two_is_one_too_few(self) -> None:
        copies = [{k: v for k, v in r.items() if k != "families"} for r in COPIES]
        with pytest.raises(SchemaError, match="were no sound copies: has a column 'la"):
            score(run_of(copies))

    def test_without_examples_no_value_is_kept(self) -> None:
        copies = [{**row, "families": "secret"} for row in COPIES]
        run = run_of(copies, include_examples=False)
        assert run.examples is not None
        assert not [name for name in run.examples.columns if "input/" in name]


class TestSelection:
    def test_a_run_of_some_copies_says_so(self) -> None:
        run = run_of(limit=2, filters={"perturbation": ["invariant"]})
        result = score(run)
        [part] = result.perturbed
        [notice] = [n for n in part.notices if "was made of" in n]
        assert notice.endswith("was made of only 2 rows of its data")

    def test_copies_of_other_examples_are_left_out_and_counted(self) -> None:
        said = [
            *SAID_OF_COPIES[:1],
            {"id": "9", "label": "a"},
            {"id": "2_i", "label": 3},
        ]
        run = run_of(said=said, on_missing="skip", on_invalid="skip")
        both = [
            score(run, limit=1, on_missing="skip", on_invalid="skip"),
            score(COPIES, said=[said], limit=1, on_missing="skip", on_invalid="skip"),
        ]
        counts = [record_of(each)["perturbed"][0] for each in both]
        assert counts[0]["counts"] == counts[1]["counts"]
        assert scores_of(both[0]) == scores_of(both[1])
        statuses = [[p.status for p in each.perturbed[0].problems] for each in both]
        assert statuses[0] == statuses[1] == ["unknown", "missing"]

    def test_a_missing_answer_is_refused_now_too(self) -> None:
        run = run_of(said=SAID_OF_COPIES[:2], on_missing="skip")
        with pytest.raises(AlignmentError, match="1 example without a prediction"):
            score(run)
        result = score(run, on_missing="wrong")
        assert found(result, "perturbed", "elsewhere").value == 0.0

    def test_what_a_run_settled_stays(self) -> None:
        said = [*SAID_OF_COPIES, {"id": "1_i", "label": "c"}]
        run = run_of(said=said, on_duplicate="last")
        with pytest.raises(AlignmentError, match="holds the last of 1 row with a rep"):
            score(run)
        result = score(run, on_duplicate="last")
        assert found(result, "perturbed").value == 0.0
        counts = [run.counts["duplicate"] for run in result.perturbed]
        assert sum(counts) == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("run", "error", "message"),
        [
            (
                lambda: evalkit.evaluate(
                    Data(ROWS), SAID, metrics=["right"], registry=REGISTRY
                ),
                SchemaError,
                "its data have no column 'input_id' or none 'perturbation'",
            ),
            (
                lambda: run_of(include_examples=False),
                StorageError,
                "made with --no-examples",
            ),
            (
                lambda: run_of([made("1_i", example("7", "a"))], SAID_OF_COPIES[:1]),
                AlignmentError,
                "all of its rows are copies of examples that are not in data",
            ),
            (
                lambda: run_of(
                    said=[{**row, "_replication_": 1} for row in SAID_OF_COPIES]
                ),
                AlignmentError,
                "several responses per perturbed example",
            ),
        ],
    )
    def test_what_is_no_run_of_copies_of_this_data_is_refused(
        self, run: Callable[[], Result], error: type[EvalkitError], message: str
    ) -> None:
        made_run = run()
        with pytest.raises(error, match=f"run {made_run.run_id}.*{message}"):
            score(made_run)

    def test_of_another_task(self) -> None:
        run = run_of()
        run._record = run.record.model_copy(update={"task": "words"})
        with pytest.raises(AlignmentError, match="is of the task 'words', data"):
            score(run)

    def test_one_that_was_refused(self) -> None:
        with pytest.raises(AlignmentError) as caught:
            run_of(said=[])
        assert caught.value.result is not None
        with pytest.raises(StorageError, match="was refused, so that there is nothing"):
            score(caught.value.result)

    def test_no_file_and_no_run(self, tmp_path: Path) -> None:
        with pytest.raises(
            StorageError, match=r"nobody: file not found\. As a run: th"
        ):
            score("nobody", out=tmp_path)
        with pytest.raises(EvalkitError, match=r"gone\.jsonl"):
            score("gone.jsonl", said=[SAID_OF_COPIES], out=tmp_path)
        with pytest.raises(StorageError, match="is no run folder"):
            score(tmp_path)

    def test_predictions_for_a_run(self) -> None:
        with pytest.raises(EvalkitError, match="a run holds its predictions and takes"):
            score(run_of(), said=[SAID_OF_COPIES])


class TestWhatAMayGive:
    @pytest.mark.parametrize(
        ("copies", "said", "message"),
        [
            (
                7,
                [],
                "^perturbed must be a list of paths, tables or lists of dicts, fou",
            ),
            ({"uid": "1"}, [], "^perturbed must be a list of paths"),
            ([7], [SAID], "^perturbed copies, number 1, must be a path, a polars"),
            ([COPIES, {"uid": "1"}], [], "^perturbed copies, number 2, must be"),
            ([COPIES], [7], "^predictions for perturbed copies, number 1, must be"),
            ([COPIES], 7, "^perturbed_predictions must be a list of paths"),
        ],
    )
    def test_anything_else_is_named(self, copies: Any, said: Any, message: str) -> None:
        with pytest.raises(EvalkitError, match=message):
            evaluate_perturbed(
                Data(ROWS),
                SAID,
                perturbed=copies,
                perturbed_predictions=said,
                registry=REGISTRY,
            )


class TestWhatARunKeeps:
    def test_without_examples_the_ids_stay(self, tmp_path: Path) -> None:
        path = run_of(include_examples=False, out=tmp_path).path
        assert path is not None
        examples = read_run(path).examples
        assert examples is not None
        assert examples["input_id"].to_list() == ["1", "1", "2"]
