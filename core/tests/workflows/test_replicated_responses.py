"""Responses that name a replication, and those with ranked alternatives, from files."""

import csv
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

import evalkit
from evalkit.examples.selection import Selection
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.observers import Observers
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import Alignment, OnDuplicate
from evalkit.predictions.preparation import Prepared, prepare
from evalkit.predictions.problems import Problem
from evalkit.reading import json_lines

Row = dict[str, Any]


class Statement(BaseModel):
    uid: str
    text: str = ""


class Label(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    label: str | None = None
    conf: float | None = None


class ColumnTask(evalkit.TaskIO):
    """Judged as columns."""

    Input = Statement
    Output = Label
    answer_field = "label"
    perf_metric = "share"
    scored_fields = ("conf",)
    example = {"uid": "1"}


class RowTask(ColumnTask):
    """The same, judged one by one."""

    def verify_response(self, response: Mapping[str, Any]) -> None:
        assert "_replication_" not in response
        assert "responses" not in response
        assert response.get("label") != "bad"


class ClosedLabel(Label):
    model_config = ConfigDict(extra="forbid")


class ClosedTask(ColumnTask):
    """One that allows no other keys."""

    Output = ClosedLabel


class SpanTask(RowTask):
    """One whose answers have several parts."""

    answer_kind = "all-of"


class OwnLabel(Label):
    responses: list[str] | None = None


class OwnTask(ColumnTask):
    """One that has its own idea of `responses`."""

    Output = OwnLabel
    scored_fields = ("responses",)


class NumberLabel(BaseModel):
    id: str
    label: float


class NumberTask(ColumnTask):
    Output = NumberLabel
    answer_kind = "number"
    scored_fields = ()


TASKS = {
    "columns": ColumnTask,
    "rows": RowTask,
    "closed": ClosedTask,
    "spans": SpanTask,
    "own": OwnTask,
    "numbers": NumberTask,
}
REGISTRY = Registry(
    Catalog(
        tuple(
            Component("tasks", name, f"{__name__}:{kind.__name__}", "d", "1")
            for name, kind in TASKS.items()
        ),
        (),
    )
)


class Letters(evalkit.Dataset):
    name = "letters"

    def __init__(self, task: str, ids: Sequence[str] = ("a", "b")) -> None:
        super().__init__()
        self.task = task
        self.ids = ids

    def load(self, split: str) -> list[dict[str, Any]]:
        label: Any = 1.0 if self.task == "numbers" else "x"
        return [{"uid": uid, "label": label, "tags": [uid]} for uid in self.ids]


class Adapted(Letters):
    """Maps responses to new ones, and knows nothing of replications."""

    def adapt_response(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"id": response["id"], "label": response["label"].lower()}


def prepared(
    data: Letters,
    given_rows: Any,
    policy: OnDuplicate = "error",
    selection: Selection = Selection(),  # noqa: B008
) -> Prepared:
    resolver = Resolver(REGISTRY)
    dataset = resolver.dataset(data)
    return prepare(
        dataset,
        resolver.task(dataset),
        given_rows,
        "test",
        selection,
        policy,
        "model",
        Observers(REGISTRY, ()),
        lambda _text, _share: None,
    )


def write_lines(path: Path, rows: Iterable[Row]) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_cells(path: Path, rows: Sequence[Row]) -> Path:
    path = path.with_suffix(".csv")
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows(
            {
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in row.items()
                if value is not None
            }
            for row in rows
        )
    return path


def write_table(path: Path, rows: Sequence[Row]) -> Path:
    path = path.with_suffix(".parquet")
    pl.DataFrame(list(rows), infer_schema_length=None).write_parquet(path)
    return path


FORMATS: dict[str, Callable[[Path, Sequence[Row]], Any]] = {
    "lines": write_lines,
    "cells": write_cells,
    "table": write_table,
    "dicts": lambda _, rows: rows,
    "frame": lambda _, rows: pl.DataFrame(rows, infer_schema_length=None),
}
each_format = pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
each_task = pytest.mark.parametrize("task", ["columns", "rows", "closed"])


def assert_identities(counts: Mapping[str, int]) -> None:
    assert counts["predictions"] == sum(
        counts[status]
        for status in ("scored", "invalid", "duplicate", "unknown", "unreadable")
    )
    assert counts["examples"] == sum(
        counts[status] for status in ("scored", "invalid", "missing")
    )


def listed(alignment: Alignment) -> list[tuple[Any, ...]]:
    return [
        (p.status, p.line, p.id, p.replication, [v.field for v in p.violations])
        for p in alignment.problems
    ]


class TestReplications:
    @each_task
    @each_format
    @pytest.mark.parametrize("names", [(1, 2, 10), ("one", "two", "2")], ids=str)
    def test_there_is_one_outcome_for_each_example_and_replication(
        self, tmp_path: Path, write: Any, task: str, names: Sequence[Any]
    ) -> None:
        rows = [
            {"id": uid, "_replication_": name, "label": f"{uid}{name}"}
            for name in names
            for uid in ("b", "a")
        ]
        examples, alignment, *_ = prepared(Letters(task), write(tmp_path / "p", rows))
        order = ("1", "2", "10") if names[0] == 1 else ("2", "one", "two")
        assert alignment.replications == order
        cells = [(uid, name) for uid in "ab" for name in order]
        assert alignment.predictions.to_list() == [uid + name for uid, name in cells]
        assert alignment.statuses.to_list() == ["scored"] * 6
        assert examples.frame["id"].to_list() == [uid for uid, _ in cells]
        assert examples.frame["tags"].to_list() == [[uid] for uid, _ in cells]
        assert examples.inputs["uid"].to_list() == [uid for uid, _ in cells]
        assert alignment.counts["replications"] == 3
        assert alignment.counts["examples"] == 6
        assert_identities(alignment.counts)
        assert not alignment.undeclared
        assert not alignment.problems

    def test_without_the_key_nothing_changes(self, tmp_path: Path) -> None:
        rows = [{"id": "a", "label": "x"}, {"id": "b", "_replication_": None}]
        path = write_lines(tmp_path / "p", rows)
        examples, alignment, *_ = prepared(Letters("columns"), path)
        assert alignment.replications == ()
        assert "replications" not in alignment.counts
        assert examples.frame.height == 2

    @each_format
    def test_problems_name_the_replication(self, tmp_path: Path, write: Any) -> None:
        rows = [
            {"id": "a", "_replication_": "1", "label": "x"},
            {"id": "a", "_replication_": "1", "label": "y"},
            {"id": "b", "_replication_": "2", "label": "bad"},
            {"id": "c", "_replication_": "3", "label": "x"},
            {"id": "b", "_replication_": "1", "label": "z"},
        ]
        alignment = prepared(Letters("rows"), write(tmp_path / "p", rows)).alignment
        first = 2 if write is write_cells else 1
        assert listed(alignment) == [
            ("duplicate", first + 1, "a", "1", ["id"]),
            ("invalid", first + 2, "b", "2", ["(response)"]),
            ("unknown", first + 3, "c", "3", ["id"]),
            ("missing", None, "a", "2", ["id"]),
        ]
        assert alignment.replications == ("1", "2")
        assert alignment.statuses.to_list() == [
            "scored",
            "missing",
            "scored",
            "invalid",
        ]
        assert_identities(alignment.counts)

    @each_task
    def test_once_one_row_has_it_all_must(self, tmp_path: Path, task: str) -> None:
        rows = [
            {"id": "a", "_replication_": 1, "label": "x"},
            {"id": "a", "label": "y"},
            {"id": "b", "_replication_": 1, "label": "x"},
            {"id": "b", "_replication_": 2, "label": "x"},
            {"id": "b", "_replication_": None, "label": "x"},
        ]
        path = write_lines(tmp_path / "p", rows)
        alignment = prepared(Letters(task), path).alignment
        assert listed(alignment) == [
            ("invalid", 2, "a", None, ["_replication_"]),
            ("duplicate", 5, "b", None, ["_replication_"]),
        ]
        rules = {v.rule for p in alignment.problems for v in p.violations}
        assert rules == {"must be given, as other rows have it"}
        assert alignment.statuses.to_list() == ["scored", "invalid", "scored", "scored"]
        assert_identities(alignment.counts)

    @pytest.mark.parametrize("value", [1.5, True, "", ["1"], {"a": 1}], ids=str)
    @each_task
    def test_what_is_no_text_or_integer_is_invalid(
        self, tmp_path: Path, task: str, value: Any
    ) -> None:
        rows = [
            {"id": "a", "_replication_": value, "label": "x"},
            {"id": "b", "_replication_": 7, "label": "x"},
        ]
        path = write_lines(tmp_path / "p", rows)
        alignment = prepared(Letters(task), path).alignment
        assert listed(alignment) == [("invalid", 1, "a", None, ["_replication_"])]
        assert alignment.statuses.to_list() == ["invalid", "scored"]
        assert alignment.replications == ("7",)

    def test_an_unusable_value_alone_makes_no_replications(self) -> None:
        rows = [{"id": "a", "_replication_": 0.5, "label": "bad"}, {"id": "b"}]
        alignment = prepared(Letters("rows"), rows).alignment
        assert alignment.replications == ()
        fields = ["_replication_", "(response)"]
        assert listed(alignment) == [("invalid", 1, "a", None, fields)]

    def test_an_adapter_may_leave_the_key_out(self) -> None:
        rows = [
            {"id": uid, "_replication_": n, "label": "X"}
            for uid in "ab"
            for n in (1, 2)
        ]
        alignment = prepared(Adapted("columns"), rows).alignment
        assert alignment.replications == ("1", "2")
        assert alignment.predictions.to_list() == ["x"] * 4

    def test_only_selected_examples_have_cells(self) -> None:
        rows = [{"id": "a", "_replication_": "1"}, {"id": "b", "_replication_": "2"}]
        chosen = Selection.of(None, {"tag": "b"})
        examples, alignment, *_ = prepared(Letters("columns"), rows, selection=chosen)
        assert alignment.replications == ("2",)
        assert examples.frame["id"].to_list() == ["b"]
        assert alignment.counts["unselected"] == 1
        assert_identities(alignment.counts)

    @given(
        rows=st.lists(
            st.builds(
                lambda uid, name, label, note: {
                    "id": uid,
                    **({} if name == "absent" else {"_replication_": name}),
                    "label": label,
                    **({"note": note} if note else {}),
                },
                st.sampled_from(["a", "b", "c", "z"]),
                st.sampled_from([1, 2, "1", "two", None, "absent", 1.5, ""]),
                st.sampled_from(["x", "y", None, 3, "bad"]),
                st.sampled_from([None, "n", 1]),
            ),
            max_size=25,
        ),
        policy=st.sampled_from(["error", "first", "last"]),
        seed=st.randoms(use_true_random=False),
    )
    @pytest.mark.slow
    def test_files_and_single_rows_agree_and_so_does_any_order(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        rows: list[Row],
        policy: OnDuplicate,
        seed: Any,
    ) -> None:
        data = Letters("columns", ("a", "b", "c"))
        by_row = prepared(data, rows, policy).alignment
        assert_identities(by_row.counts)
        path = write_lines(tmp_path_factory.mktemp("p") / "p", rows)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_lines, "FEW_LINES", 3)
            by_column = prepared(data, path, policy).alignment
        assert by_column.counts == by_row.counts
        assert by_column.replications == by_row.replications
        assert by_column.statuses.to_list() == by_row.statuses.to_list()
        assert by_column.predictions.to_list() == by_row.predictions.to_list()
        assert listed(by_column) == listed(by_row)
        assert by_column.undeclared == by_row.undeclared
        seed.shuffle(rows)
        shuffled = prepared(data, rows, policy).alignment
        assert shuffled.counts["examples"] == by_row.counts["examples"]
        for status in ("missing", "duplicate", "unknown", "unreadable"):
            assert shuffled.counts[status] == by_row.counts[status]


class TestAlternatives:
    @pytest.mark.parametrize("task", ["columns", "rows", "closed"])
    @pytest.mark.parametrize(
        "write", [write_lines, write_table, FORMATS["dicts"], write_cells]
    )
    def test_the_first_is_scored_and_all_are_kept(
        self, tmp_path: Path, write: Any, task: str
    ) -> None:
        rows = [
            {"id": "a", "responses": [{"label": "x", "conf": 0.5}, {"label": "y"}]},
            {"id": "b", "label": "z", "conf": 0.25},
        ]
        alignment = prepared(Letters(task), write(tmp_path / "p", rows)).alignment
        assert not list(alignment.problems)
        assert alignment.predictions.to_list() == ["x", "z"]
        assert alignment.fields["conf"].to_list() == [0.5, 0.25]
        assert alignment.fields["responses"].to_list() == [["x", "y"], ["z"]]
        assert alignment.fields["responses"].dtype == pl.List(pl.String)
        assert not alignment.undeclared

    def test_keys_of_the_row_hold_for_every_alternative(self) -> None:
        rows = [
            {"id": "a", "conf": 1.0, "responses": [{"label": "x"}, {"label": "y"}]},
            {"id": "b", "label": "w", "responses": [{"conf": 0.5, "label": "v"}]},
        ]
        alignment = prepared(Letters("columns"), rows).alignment
        assert alignment.predictions.to_list() == ["x", "v"]
        assert alignment.fields["conf"].to_list() == [1.0, 0.5]

    @pytest.mark.parametrize("task", ["columns", "rows"])
    def test_an_empty_list_is_an_answer(self, tmp_path: Path, task: str) -> None:
        rows = [{"id": "a", "responses": []}, {"id": "b", "label": "x"}]
        path = write_lines(tmp_path / "p", rows)
        alignment = prepared(Letters(task), path).alignment
        assert alignment.statuses.to_list() == ["scored", "scored"]
        assert alignment.predictions.to_list() == [None, "x"]
        assert alignment.fields["responses"].to_list() == [[], ["x"]]
        assert alignment.counts["unparsed"] == 1

    def test_objects_of_one_index_are_one_answer(self) -> None:
        rows = [
            {
                "id": "a",
                "responses": [
                    {"_response_index_": 4, "label": "x"},
                    {"_response_index_": 0, "label": "y"},
                    {"_response_index_": 4, "label": "z"},
                    {"label": "w"},
                ],
            },
            {"id": "b", "responses": [{"_response_index_": 0, "label": "x"}]},
        ]
        alignment = prepared(Letters("spans"), rows).alignment
        assert alignment.predictions.to_list() == [["x", "z"], ["x"]]
        assert alignment.fields["responses"].to_list() == [
            ['["x", "z"]', '["y"]', '["w"]'],
            ['["x"]'],
        ]
        rows = rows[:1]
        alignment = prepared(Letters("rows", ["a"]), rows).alignment
        assert alignment.predictions.to_list() == [["x", "z"]]
        assert alignment.fields["responses"].to_list() == [['["x", "z"]', "y", "w"]]

    def test_numbers_stay_numbers(self) -> None:
        rows = [
            {"id": "a", "responses": [{"label": 1}, {"label": 2.5}]},
            {"id": "b", "responses": []},
        ]
        alignment = prepared(Letters("numbers"), rows).alignment
        assert alignment.predictions.to_list() == [1.0, None]
        assert alignment.fields["responses"].to_list() == [[1.0, 2.5], []]
        assert alignment.fields["responses"].dtype == pl.List(pl.Float64)

    def test_every_alternative_must_keep_the_rules(self) -> None:
        rows = [
            {"id": "a", "responses": [{"label": "x"}, {"label": "bad"}, {"label": 3}]},
            {
                "id": "b",
                "responses": [
                    3,
                    {"label": "x", "_response_index_": -1},
                    {"error": "e"},
                ],
            },
        ]
        alignment = prepared(Letters("rows"), rows).alignment
        assert listed(alignment) == [
            *(
                ("invalid", 1, "a", None, ["responses.1.(response)", *rest])
                for rest in [["responses.2.label"]]
            ),
            (
                "invalid",
                2,
                "b",
                None,
                ["responses.0", "responses.1._response_index_", "responses.2.error"],
            ),
        ]
        assert alignment.fields.keys() == {"conf"}

    def test_a_reported_error_makes_the_row_invalid(self) -> None:
        rows = [{"id": "a", "error": "late", "responses": []}, {"id": "b"}]
        alignment = prepared(Letters("rows"), rows).alignment
        assert listed(alignment) == [("invalid", 1, "a", None, ["error"])]

    @pytest.mark.parametrize(
        "given_value", ["x", 3, ["x", "y"], {"label": "x"}], ids=str
    )
    def test_another_value_is_a_key_that_nobody_declared(
        self, tmp_path: Path, given_value: Any
    ) -> None:
        rows = [{"id": uid, "label": uid, "responses": given_value} for uid in "ab"]
        for given_rows in (rows, write_lines(tmp_path / "p", rows)):
            alignment = prepared(Letters("columns"), given_rows).alignment
            assert alignment.predictions.to_list() == ["a", "b"]
            assert alignment.undeclared == {"responses": 2}
            assert "responses" not in alignment.fields

    def test_undeclared_keys_of_alternatives_are_counted_once_a_row(self) -> None:
        items = [{"label": "x", "text": "t"}, {"label": "y", "text": "u", "n": None}]
        rows = [{"id": uid, "responses": items} for uid in "ab"]
        alignment = prepared(Letters("columns"), rows).alignment
        assert alignment.undeclared == {"text": 2}

    def test_a_task_may_have_its_own_responses(self) -> None:
        rows = [{"id": "a", "label": "x", "responses": ["p", "q"]}, {"id": "b"}]
        alignment = prepared(Letters("own"), rows).alignment
        assert alignment.predictions.to_list() == ["x", None]
        assert alignment.fields["responses"].to_list() == [["p", "q"], None]

    def test_alternatives_may_be_replicated(self, tmp_path: Path) -> None:
        rows = [
            {"id": uid, "_replication_": str(n), "responses": [{"label": f"{uid}{n}"}]}
            for n in range(2)
            for uid in "ab"
        ]
        path = write_lines(tmp_path / "p", rows)
        alignment = prepared(Letters("columns"), path).alignment
        assert alignment.predictions.to_list() == ["a0", "a1", "b0", "b1"]
        assert alignment.fields["responses"].to_list() == [
            ["a0"],
            ["a1"],
            ["b0"],
            ["b1"],
        ]


def test_a_problem_is_written_with_its_replication_only_where_there_is_one() -> None:
    from evalkit.runs.folders import problem_line

    with_one = json.loads(problem_line(Problem("missing", None, "a", (), "1")))
    assert with_one["replication"] == "1"
    assert "replication" not in json.loads(
        problem_line(Problem("missing", None, "a", ()))
    )


class Indexed(Letters):
    """Data whose rows have an index and no other id."""

    def load(self, split: str) -> list[dict[str, Any]]:
        return [{"_index_": index, "label": "x", "tags": []} for index in (0, 1)]


class TestIndexes:
    @each_task
    @each_format
    def test_an_index_is_the_id_of_data_and_of_responses(
        self, tmp_path: Path, write: Any, task: str
    ) -> None:
        rows = [{"_index_": 1, "label": "b"}, {"_index_": 0, "label": "a"}]
        found = prepared(Indexed(task), write(tmp_path / "p", rows))
        assert found.examples.frame["id"].to_list() == ["0", "1"]
        assert found.alignment.predictions.to_list() == ["a", "b"]
        assert found.alignment.counts["invalid"] == 0
        assert not found.alignment.undeclared

    @each_task
    def test_id_and_uid_come_first(self, task: str) -> None:
        rows = [{"_index_": 7, "id": "b", "label": "x"}]
        rows += [{"_index_": 7, "uid": "a", "label": "y"}]
        _, alignment, *_ = prepared(Letters(task), rows)
        assert alignment.predictions.to_list() == ["y", "x"]

    def test_a_header_with_an_index_tells_the_format(self, tmp_path: Path) -> None:
        path = tmp_path / "answers"
        path.write_text("_index_,label\n1,b\n0,a\n")
        _, alignment, *_ = prepared(Indexed("columns"), path)
        assert alignment.predictions.to_list() == ["a", "b"]

    @pytest.mark.parametrize("index", [None, 0.5, True, ""])
    def test_an_index_that_is_no_id_is_refused(self, index: Any) -> None:
        _, alignment, *_ = prepared(Indexed("columns"), [{"_index_": index}])
        ((status, _, _, _, fields), *_) = listed(alignment)
        assert (status, fields) == ("unreadable", ["_index_"])

    @each_task
    @pytest.mark.parametrize(
        "write", [write_lines, write_table], ids=["lines", "table"]
    )
    def test_rows_as_dyff_writes_them_are_several_answers(
        self, tmp_path: Path, write: Any, task: str
    ) -> None:
        rows = [
            {
                "_index_": index,
                "_replication_": uuid.uuid5(uuid.UUID(int=0), str(number)).hex,
                "responses": [
                    {"_response_index_": 0, "label": f"first {index} {number}"},
                    {"_response_index_": 1, "label": f"second {index} {number}"},
                ],
            }
            for index in (0, 1)
            for number in (0, 1)
        ]
        _, alignment, *_ = prepared(Indexed(task), write(tmp_path / "p", rows))
        assert len(alignment.replications) == 2
        assert alignment.statuses.to_list() == ["scored"] * 4
        found = sorted(map(tuple, alignment.fields["responses"].to_list()))
        assert found == [
            (f"first {index} {number}", f"second {index} {number}")
            for index in (0, 1)
            for number in (0, 1)
        ]
