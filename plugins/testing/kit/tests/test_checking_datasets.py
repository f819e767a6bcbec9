"""Data sets that break one law each are found, and good ones are let pass."""

import itertools
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

import evalkit
from evalkit import EvalkitError, Source
from evalkit_testing import DATASET_LAWS, DatasetLawError, check_dataset, dataset_sha256
from evalkit_testing.laws import MissingOption

ROWS = [
    {"uid": "1", "statement": "Fun!", "label": "positive", "film": "a", "tags": ["x"]},
    {"uid": "2", "statement": "Dull.", "label": "negative", "film": "a", "tags": []},
]
RUNS = itertools.count()


class Films(evalkit.Dataset):
    """Reviews of films."""

    name = "films"
    task = "sentiment"
    splits = ("dev", "test")
    cluster = ("film",)

    def load(self, split: str) -> Any:
        return ROWS


class Empty(Films):
    def load(self, split: str) -> Any:
        return ROWS if split == "test" else []


class Failing(Films):
    def load(self, split: str) -> Any:
        if split == "dev":
            raise RuntimeError("no file")
        return ROWS


class Turning(Films):
    def load(self, split: str) -> Any:
        return [{**ROWS[0], "statement": f"Fun {next(RUNS)}"}, ROWS[1]]


class Shrinking(Films):
    def load(self, split: str) -> Any:
        return ROWS[: 1 if next(RUNS) < 2 else 2]


class Calling(Films):
    def load(self, split: str) -> Any:
        from evalkit.places import is_offline

        if is_offline():
            raise evalkit.DataError("a file is fetched each time")
        return ROWS


class Dialling(Films):
    def load(self, split: str) -> Any:
        with socket.socket() as dialled, suppress(ConnectionRefusedError):
            dialled.connect(("127.0.0.1", 9))
        return ROWS


class Unscored(Films):
    """Names a metric that always fails."""

    perf_metric = "accuracy"

    def evaluate(self, frame: Any) -> Any:
        raise ValueError("no")


class Twins(Films):
    def load(self, split: str) -> Any:
        return [ROWS[0], ROWS[0]]


class Unclustered(Films):
    def load(self, split: str) -> Any:
        return [{**ROWS[0], "film": None}, ROWS[1]]


class Blank(Films):
    def load(self, split: str) -> Any:
        return [{**ROWS[0], "tags": [" x"]}, ROWS[1]]


class Misread(Films):
    """Takes what a model says for something else."""

    def pred_field_converter(self, response: Any) -> Any:
        other = {"positive": "negative", "negative": "neutral"}
        return {"id": response["id"], "pred": other.get(response["label"])}


@pytest.mark.parametrize(
    ("dataset", "law", "said"),
    [
        (Empty, "loads", "split 'dev' has no examples"),
        (Failing, "loads", "the split 'dev' cannot be loaded"),
        (Turning, "repeatable", "and loaded again"),
        (Shrinking, "repeatable", "has 1 examples, and loaded again 2"),
        (Calling, "offline", "a file is fetched each time"),
        (Dialling, "offline", "a connection is made"),
        (Unscored, "best", "no"),
        (Twins, "loads", "'1'"),
        (Unclustered, "clusters", "'1' of the split 'dev' has no 'film'"),
        (Blank, "tags", "has the tag ' x'"),
        (Misread, "best", "the right answers of the split 'dev' score"),
    ],
)
def test_a_broken_law_is_named(dataset: Any, law: str, said: str) -> None:
    global RUNS
    RUNS = itertools.count()
    with pytest.raises(DatasetLawError) as caught:
        check_dataset(dataset)
    assert caught.value.law == law
    assert said in str(caught.value)
    assert "breaks the law" in str(caught.value)


@pytest.mark.slow
def test_a_good_one_passes_each_law() -> None:
    check_dataset(Films)
    known = {"1": dataset_sha256(Films)}
    for law in DATASET_LAWS:
        check_dataset(Films, laws=[law.name], sha256=known)


def test_a_law_that_needs_more_is_no_law_that_is_kept() -> None:
    with pytest.raises(DatasetLawError, match="'version' was not tried: give sha256"):
        check_dataset(Films, laws=["version"])
    with pytest.raises(EvalkitError, match="laws: none is named"):
        check_dataset(Films, laws=[])


@pytest.mark.parametrize(
    "name", ["sample-sentiment", "sample-nli", "sample-qa", "sample-hs"]
)
def test_ours_pass(name: str) -> None:
    check_dataset(name)


@pytest.mark.slow
def test_data_that_changed_under_an_old_version_are_found() -> None:
    known = {"1": dataset_sha256(Films)}
    check_dataset(Films, sha256=known)

    class Changed(Films):
        def load(self, split: str) -> Any:
            return [{**ROWS[0], "statement": "Fun"}, ROWS[1]]

    told = "raise `version` .* or, if nobody has that version yet, write the latter in"
    with pytest.raises(DatasetLawError, match=told) as caught:
        check_dataset(Changed, sha256=known)
    assert caught.value.law == "version"

    class New(Changed):
        version = "2"

    with pytest.raises(DatasetLawError, match="nothing is known of the version '2'"):
        check_dataset(New, sha256=known)
    check_dataset(New, sha256={**known, "2": dataset_sha256(New)})


def test_a_right_response_may_be_told() -> None:
    def respond(row: Any, answer: Any) -> dict[str, Any]:
        return {"id": row["uid"], "label": answer}

    check_dataset(Films, respond=respond)
    with pytest.raises(DatasetLawError, match="are refused"):
        check_dataset(Films, respond=lambda row, answer: {"id": row["uid"]})


def test_a_task_with_a_converter_needs_to_be_told() -> None:
    class Odd(evalkit.TaskIO):
        """Nobody knows where its answer stands."""

        from pydantic import BaseModel

        class Input(BaseModel):
            uid: str

        class Output(BaseModel):
            id: str
            said: str

        example = {"uid": "1"}
        perf_metric = "accuracy"

        def pred_field_converter(self, response: Any) -> Any:
            return {"id": response["id"], "pred": response["said"]}

        def label_field_converter(self, example: Any) -> Any:
            return {"id": example["uid"], "answer": example["gold"]}

    class Set(evalkit.Dataset):
        """Of that task."""

        task = Odd

        def load(self, split: str) -> Iterator[Any]:
            yield {"uid": "1", "gold": "x"}

    with pytest.raises(DatasetLawError, match="give respond="):
        check_dataset(Set)
    check_dataset(Set, respond=lambda row, answer: {"id": row["uid"], "said": answer})


def test_a_file_that_nobody_can_fetch_is_not_the_data_set_s_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Far(Films):
        """Films from elsewhere."""

        sources: ClassVar[Mapping[str, Any]] = {
            "far.jsonl": Source(url="http://127.0.0.1:1/far.jsonl", sha256="0" * 64)
        }

        def load(self, split: str) -> Any:
            return self.file("far.jsonl")

    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingOption, match=r"needs the file far\.jsonl"):
        check_dataset(Far)


def test_a_right_answer_that_counts_as_none_is_named() -> None:
    class Sums(evalkit.Dataset):
        """Sums, of which one has no number for an answer."""

        name = "sums"
        task = "math-qa"
        extract = "final-number"

        def load(self, split: str) -> Any:
            rows = [("1", "7"), ("2", "seven")]
            return [{"uid": uid, "question": "?", "answer": text} for uid, text in rows]

    told = "'test' 1 count as none, such as 'seven' of '2': final-number: there is no n"
    with pytest.raises(DatasetLawError, match=told):
        check_dataset(Sums)
