import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

import evalkit
from evalkit.base.terms import Source
from evalkit.errors import DataError, PluginContractError, PluginError, SchemaError
from evalkit.examples import fingerprints
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind


class Statement(BaseModel):
    uid: str
    text: str


class Label(BaseModel):
    id: str
    label: str


class LabelTask(evalkit.TaskIO):
    Input: type[BaseModel] = Statement
    Output = Label
    answer_field = "label"
    perf_metric = "accuracy"
    example = {"uid": "1", "text": "x"}


ORIGIN = "datasets/letters (letters-dist 1.0)"


def task(**attributes: Any) -> Bound:
    component = Component("tasks", "label", "m:T", "label-dist", "2.0")
    return bind(component, type("Task", (LabelTask,), attributes))


def dataset(loaded: Any, **attributes: Any) -> Bound:
    def load(self: Any, split: str) -> Any:
        if isinstance(loaded, BaseException):
            raise loaded
        return loaded

    members = {"name": "letters", "task": "label", "load": load, **attributes}
    component = Component("datasets", "letters", "m:D", "letters-dist", "1.0")
    return bind(component, type("Letters", (evalkit.Dataset,), members))


def load(
    loaded: Any, of_task: Mapping[str, Any] | None = None, **attributes: Any
) -> Examples:
    return load_examples(dataset(loaded, **attributes), task(**of_task or {}), "test")


def row(uid: Any, label: Any = "a", **more: Any) -> dict[str, Any]:
    return {"uid": uid, "text": f"text of {uid}", "label": label, **more}


def refused(error: type[Exception], loaded: Any, **options: Any) -> str:
    with pytest.raises(error) as caught:
        load(loaded, **options)
    return str(caught.value)


def as_file(folder: Path, *lines: Any) -> Path:
    path = folder / "letters.jsonl"
    texts = [x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines]
    path.write_bytes(b"\n".join(texts))
    return path


class TestLoading:
    ROWS: Sequence[dict[str, Any]] = [
        row("1", tags=["t"], n=1),
        row("2", "b", tags=[], n=2),
    ]

    @pytest.mark.parametrize(
        ("loaded", "cause"),
        [
            (ValueError("boom"), "ValueError: boom"),
            (SystemExit(3), "SystemExit: 3"),
            ((1 // 0 for _ in "x"), "ZeroDivisionError: "),
            (pl.LazyFrame({"a": [1]}).select("zzz"), "ColumnNotFoundError: "),
        ],
        ids=["error", "exit", "generator", "lazy"],
    )
    def test_whatever_load_raises_names_data_set_and_cause(
        self, loaded: Any, cause: str
    ) -> None:
        message = refused(DataError, loaded)
        assert message.startswith(f"{ORIGIN}: load('test') failed with {cause}")

    def test_every_broken_line_of_a_file_is_named_up_to_five(
        self, tmp_path: Path
    ) -> None:
        path = as_file(tmp_path, row(1), b"\xff", b"", *[b"{"] * 6)
        message = refused(SchemaError, path)
        assert message.startswith(f"{ORIGIN}: {path}: it is not UTF-8: it was probably")
        assert "; line 2: (line): must be UTF-8" in message
        assert "line 4: (line): must be JSON" in message
        assert message.endswith("; and 2 more")

    @pytest.mark.parametrize(
        "value", ["\ud800", 10**5000, ["a", "\udfff"]], ids=["text", "digits", "list"]
    )
    def test_a_value_that_cannot_be_stored_names_example_and_field(
        self, value: Any
    ) -> None:
        message = refused(SchemaError, [row(1, note="x"), row(2, note=value)])
        assert f"{ORIGIN}: example 2 (uid '2'): note: must be a value" in message


class TestIds:
    def test_ids_may_be_decimals_without_places(self) -> None:
        frame = pl.DataFrame([row("7"), row("8")])
        whole = frame.with_columns(pl.col("uid").cast(pl.Decimal(10, 0)))
        assert load(whole).frame["id"].to_list() == ["7", "8"]
        twice = pl.concat([whole, whole[:1]])
        assert "uid '7' was given before" in refused(SchemaError, twice)
        with_places = frame.with_columns(pl.col("uid").cast(pl.Decimal(10, 1)))
        assert "must be a text that is not empty" in refused(SchemaError, with_places)

    def test_id_is_an_alias_of_uid(self) -> None:
        rows = [{"id": k, "text": "x", "label": "a"} for k in (1, 2)]
        assert load(rows).frame["id"].to_list() == ["1", "2"]
        assert load(pl.DataFrame(rows)).frame["id"].to_list() == ["1", "2"]

    def test_a_bad_id_of_a_frame_is_refused_by_number(self) -> None:
        message = refused(SchemaError, pl.DataFrame([row(1.5), row(None)]))
        assert "example 1: uid: must be" in message
        assert "found 1.5; example 2: uid: must be" in message

    def test_a_bad_id_of_a_file_is_refused_by_line(self, tmp_path: Path) -> None:
        path = as_file(tmp_path, row("1"), b"", {"text": "x"})
        message = refused(SchemaError, path)
        assert message == f"{ORIGIN}: {path}: line 3: uid: is required"

    def test_examples_without_ids_are_told_the_key(self) -> None:
        message = refused(SchemaError, [{"case": 1, "text": "x"}])
        assert message == (
            f"{ORIGIN}: no example has an id ('uid' or 'id') or 'label' (the right "
            "answer, by tasks/label (label-dist 2.0)); the data has the columns "
            "'case', 'text'; --map FIELD=COLUMN (map= in Python) says which column is "
            "meant"
        )

    def test_an_id_given_twice_names_both_places(self, tmp_path: Path) -> None:
        path = as_file(tmp_path, row("1"), row("2"), b"", row(1), row("1"))
        message = refused(SchemaError, path)
        assert "line 4: uid '1' was given before, at line 1" in message
        assert "line 5: uid '1' was given before, at line 1" in message
        in_memory = refused(SchemaError, pl.DataFrame([row("1"), row("1")]))
        assert "example 2: uid '1' was given before, at example 1" in in_memory


class Strict(Statement):
    model_config = ConfigDict(extra="forbid")


class Short(BaseModel):
    model_config = ConfigDict(str_max_length=6)
    uid: str
    text: str


class Constrained(BaseModel):
    uid: str
    text: str = Field(max_length=6)


class Validated(Statement):
    @field_validator("text")
    @classmethod
    def is_short(cls, text: str) -> str:
        if len(text) > 6:
            raise ValueError("must be short")
        return text


class Aliased(BaseModel):
    uid: str
    body: str = Field(alias="text")


class TestInputs:
    @pytest.mark.parametrize("model", [Constrained, Short, Validated])
    @pytest.mark.parametrize("make", [list, pl.DataFrame])
    def test_a_rule_beyond_the_type_is_checked_for_every_row(
        self, model: type[BaseModel], make: Any
    ) -> None:
        rows = [row("1", text="short"), row("2", text="too long")]
        message = refused(SchemaError, make(rows), of_task={"Input": model})
        assert message.startswith(
            f"{ORIGIN}: 1 of 2 examples break the input of the task label: "
            "example 2 (uid '2'): text: "
        )
        assert message.endswith("found 'too long'")

    def test_undeclared_keys_are_refused_where_the_task_forbids_them(self) -> None:
        message = refused(SchemaError, [row("1")], of_task={"Input": Strict})
        assert "label: is not declared, and undeclared keys are forb" in message

    @pytest.mark.parametrize(
        ("broken", "problem"),
        [
            ({"uid": 3}, "text: is required"),
            ({"uid": 3, "text": None}, "text: must be a valid string, found None"),
            ({"uid": 3, "text": 5}, "text: must be a valid string, found 5"),
        ],
    )
    def test_a_broken_row_names_file_line_id_field_and_rule(
        self, tmp_path: Path, broken: dict[str, Any], problem: str
    ) -> None:
        path = as_file(tmp_path, row("1"), b"", {**broken, "label": "a"})
        assert refused(SchemaError, path) == (
            f"{ORIGIN}: {path}: 1 of 2 examples break the input of the task label: "
            f"line 3 (uid '3'): {problem}"
        )

    def test_a_field_that_no_row_has_is_named_once_with_the_columns(self) -> None:
        rows = [{"uid": uid, "statement": "x", "label": "a"} for uid in "12"]
        assert refused(SchemaError, rows) == (
            f"{ORIGIN}: no example has 'text'; the data has the columns 'statement', "
            "'label', 'uid'; if they are meant: --map text=statement "
            "(map={'text': 'statement'} in Python)"
        )

    def test_fields_are_found_by_their_alias(self) -> None:
        assert load([row("1")], of_task={"Input": Aliased}).frame.height == 1
        message = refused(
            SchemaError,
            pl.DataFrame([{"uid": "1", "body": "x", "label": "a"}]),
            of_task={"Input": Aliased},
        )
        assert "text: is required" in message

    def test_a_validator_that_fails_is_the_tasks_error(self) -> None:
        class Failing(Statement):
            @field_validator("text")
            @classmethod
            def fail(cls, text: str) -> str:
                if text != "x":
                    raise KeyError("boo")
                return text

        message = refused(
            PluginError, [{**row("1"), "text": "y"}], of_task={"Input": Failing}
        )
        assert message == (
            "tasks/label (label-dist 2.0): Input failed for the example '1' with "
            "KeyError: 'boo'"
        )


class TestAnswers:
    @pytest.mark.parametrize("make", [list, pl.DataFrame])
    def test_stored_labels_are_mapped_to_the_tasks(self, make: Any) -> None:
        rows = make([row("1", 0), row("2", 2)])
        found = load(rows, labels={"0": "no", "1": "maybe", "2": "yes"})
        assert found.frame["answer"].to_list() == ["no", "yes"]
        assert found.labels == ("no", "maybe", "yes")

    def test_several_stored_labels_may_mean_one_of_the_tasks(self) -> None:
        mapping = {"e": "entailed", "n": "not", "c": "not"}
        found = load([row("1", ["n", "e"]), row("2", "c")], labels=mapping)
        assert found.labels == ("entailed", "not")
        assert found.frame["answer"].to_list() == [["not", "entailed"], ["not"]]

    def test_a_data_sets_labels_win_over_the_tasks(self) -> None:
        of_task = {"labels": ("a", "b")}
        assert load([row("1")], of_task=of_task).labels == ("a", "b")
        assert load([row("1")], of_task=of_task, labels=["a"]).labels == ("a",)
        assert load([row("1")]).labels is None

    def test_an_answer_that_is_no_label_names_line_id_and_labels(
        self, tmp_path: Path
    ) -> None:
        path = as_file(tmp_path, row("1"), row("2", "c"), row("3", ["a", "d"]))
        message = refused(SchemaError, path, labels=("a", "b"))
        assert message == (
            f"{ORIGIN}: {path}: line 2 (uid '2'): label: must be one of the labels a, "
            "b, found 'c'; line 3 (uid '3'): label: must be one of the labels a, b, "
            "found 'd'"
        )

    def test_an_answer_that_is_not_in_the_mapping_is_told_what_is(self) -> None:
        message = refused(SchemaError, [row("1", 2)], labels={"0": "no", "1": "yes"})
        assert "label: must be one of the labels 0, 1, found 2" in message

    @pytest.mark.parametrize("answer", [None, [], [None], ["a", None]])
    @pytest.mark.parametrize("labels", [None, ("a", "b")])
    def test_an_example_without_answer_is_refused(
        self, answer: Any, labels: Any
    ) -> None:
        message = refused(SchemaError, [row("1"), row("2", answer)], labels=labels)
        assert message == f"{ORIGIN}: example 2 (uid '2'): label: is required"

    def test_a_label_that_no_row_has_is_told_the_columns(self) -> None:
        message = refused(DataError, [{"uid": "1", "text": "x"}])
        assert message == (
            f"{ORIGIN}: no example has 'label' (the right answer, by tasks/label "
            "(label-dist 2.0)); the data has the columns 'text', 'uid'; --map "
            "FIELD=COLUMN (map= in Python) says which column is meant"
        )

    @pytest.mark.parametrize("several", [["a", "b"], ("a", "b")])
    def test_a_list_where_one_is_asked_for_makes_every_answer_a_list(
        self, several: Any
    ) -> None:
        found = load([row("1", several), row("2", "b")])
        assert found.answer_kind == "any-of"
        assert found.frame["answer"].to_list() == [["a", "b"], ["b"]]

    def test_acceptable_answers_must_be_texts(self) -> None:
        rows = [row("1"), row("2", ["a", 1]), row("3", [1, "b"]), row("4", 4)]
        message = refused(SchemaError, rows)
        rule = "must be a text, or a list of texts where several are acceptable"
        assert f"example 2 (uid '2'): label: {rule}" in message
        assert f"example 3 (uid '3'): label: {rule}" in message
        assert "uid '1'" not in message
        assert "uid '4'" not in message

    @pytest.mark.parametrize("make", [list, pl.DataFrame])
    @pytest.mark.parametrize(
        ("stored", "scored"),
        [
            ([18, 0], ["18", "0"]),
            ([0.5, -1.0], ["0.5", "-1.0"]),
            ([True, False], ["true", "false"]),
            ([[1, 2], [3]], [["1", "2"], ["3"]]),
        ],
    )
    def test_answers_are_texts_where_predictions_are(
        self, make: Any, stored: list[Any], scored: list[Any]
    ) -> None:
        found = load(make([row("1", stored[0]), row("2", stored[1])]))
        assert found.frame["answer"].to_list() == scored

    @pytest.mark.parametrize("wrong", ["1", True, [1]])
    def test_an_answer_that_is_no_number_is_refused(self, wrong: Any) -> None:
        rows = [row("1", 1), row("2", wrong)]
        message = refused(SchemaError, rows, of_task={"answer_kind": "number"})
        expected = f"example 2 (uid '2'): label: must be a number, found {wrong!r}"
        assert message == f"{ORIGIN}: {expected}"


class TestTags:
    @pytest.mark.parametrize("make", [list, pl.DataFrame])
    def test_a_tag_repeated_on_a_row_counts_once_in_its_first_place(
        self, make: Any
    ) -> None:
        rows = [row("1", tags=["b", "a", "b"]), row("2", tags=None)]
        assert load(make(rows)).frame["tags"].to_list() == [["b", "a"], []]

    @pytest.mark.parametrize(
        "tags", ["a", [1], [""], [None], {"a": 1}, 3, ["ok", ["x"]]]
    )
    def test_tags_must_be_lists_of_texts_even_beside_good_ones(self, tags: Any) -> None:
        message = refused(SchemaError, [row("1", tags=["ok"]), row("2", tags=tags)])
        assert message == (
            f"{ORIGIN}: example 2 (uid '2'): tags: must be a list of texts that are "
            f"not empty, found {tags!r}"
        )

    @pytest.mark.parametrize("column", [["a", "b"], [[1], [2]]])
    def test_a_tags_column_of_another_type_is_refused(self, column: Any) -> None:
        rows = pl.DataFrame([row("1"), row("2")]).with_columns(
            pl.Series("tags", column)
        )
        assert "tags: must be a list of texts" in refused(SchemaError, rows)


class TestClusters:
    ROWS: Sequence[dict[str, Any]] = [
        row("1", t=3, u="x"),
        row("2", t=1, u="x"),
        row("3", t=3, u="y"),
        row("4", t=3, u="x"),
    ]

    @pytest.mark.parametrize(
        ("cluster", "expected"),
        [
            ("t", [[0, 2, 3], [1]]),
            (["t"], [[0, 2, 3], [1]]),
            (("t", "u"), [[0, 3], [1], [2]]),
        ],
    )
    def test_rows_that_agree_in_the_columns_are_one_cluster(
        self, cluster: Any, expected: list[list[int]]
    ) -> None:
        found = load(self.ROWS, cluster=cluster)
        assert found.clustered
        members: dict[int, list[int]] = {}
        for position, number in enumerate(found.frame["cluster"]):
            members.setdefault(number, []).append(position)
        assert sorted(members.values()) == expected


class TestFingerprint:
    def test_it_does_not_tell_how_a_frame_was_built(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = [row(str(k), "ab"[k % 2], n=k, x=k / 3, w=["v"]) for k in range(7)]
        whole = pl.DataFrame(rows)
        same = load(whole).identity.key
        parts = pl.concat([whole[:2], whole[2:3], whole[3:]], rechunk=False)
        assert parts.n_chunks() == 3
        backwards = whole.reverse()
        narrow = whole.with_columns(pl.col("n").cast(pl.Int8))
        category = whole.with_columns(pl.col("text").cast(pl.Categorical))
        built = [parts, whole.lazy(), whole.to_arrow(), backwards.reverse(), narrow]
        assert {load(frame).identity.key for frame in [*built, category]} == {same}
        assert load(rows).identity.key == same
        monkeypatch.setattr(fingerprints, "_HASHED_ROWS", 2)
        assert load(parts).identity.key == same

    @pytest.mark.parametrize(
        "change",
        [
            pl.DataFrame.reverse,
            lambda frame: frame.rename({"x": "y"}),
            lambda frame: frame.with_columns(x=pl.Series([0.5, None, math.inf])),
            lambda frame: frame.with_columns(x=pl.Series([0.5, math.nan, -math.inf])),
            lambda frame: frame.with_columns(b=pl.lit(b"\x01")),
        ],
    )
    def test_it_changes_with_order_names_and_values(self, change: Any) -> None:
        rows = [row(str(k)) for k in range(3)]
        frame = pl.DataFrame(rows).with_columns(
            x=pl.Series([0.5, math.nan, math.inf]), b=pl.lit(b"\xff\x00")
        )
        assert load(change(frame)).identity.key != load(frame).identity.key

    def test_a_column_that_cannot_be_hashed_is_named(self) -> None:
        column = pl.Series("odd", [object()], dtype=pl.Object)
        assert refused(DataError, pl.DataFrame([row("1")]).with_columns(column)) == (
            f"{ORIGIN}: the column 'odd' holds values of the type Object, by which "
            "data cannot be identified"
        )

    @pytest.mark.parametrize("wrap", [lambda b: [b], lambda b: [{"a": b}]])
    def test_bytes_within_other_values_tell_data_apart(self, wrap: Any) -> None:
        frames = [
            pl.DataFrame([row("1")]).with_columns(pl.Series("odd", [wrap(given)]))
            for given in (b"x", b"\xff")
        ]
        assert load(frames[0]).identity.key == load(frames[0]).identity.key
        assert load(frames[0]).identity.key != load(frames[1]).identity.key

    def test_it_is_of_the_files_for_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "letters"
        folder.mkdir()
        (folder / "a.txt").write_bytes(b"mine")
        monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path))
        mine = hashlib.sha256(b"mine").hexdigest()
        theirs = "0" * 64
        sources = {"a.txt": Source("https://example.org/a.txt", theirs)}
        found = load([row("1")], sources=sources)
        assert found.identity.files == ({"name": "a.txt", "sha256": mine},)
        expected = f"a.txt is not the published file (its SHA-256 is {mine[:12]}…)"
        assert found.notices == (expected,)
        (folder / "a.txt").write_bytes(b"changed")
        assert load([row("1")], sources=sources).identity.key != found.identity.key


def test_a_converter_declared_by_nobody_is_an_error_of_the_task() -> None:
    message = refused(PluginContractError, [row("1")], of_task={"answer_field": None})
    assert message == (
        "tasks/label (label-dist 2.0) has neither `answer_field` nor "
        "label_field_converter, and the data set has none either"
    )
