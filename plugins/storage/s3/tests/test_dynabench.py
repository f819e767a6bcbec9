"""Data sets written for Dynabench's server run after changing their import."""

import json
from typing import Any

import pytest

import evalkit
from evalkit.errors import DataError
from evalkit_storage_s3.dynabench import BaseDataset

ROWS = [
    {"uid": "1", "context": "a", "hypothesis": "b", "label": "entailed"},
    {"uid": "2", "context": "c", "hypothesis": "d", "label": "neutral"},
]


class Small(BaseDataset):
    """As its author wrote it, but for the import."""

    answer = True
    calls = 0

    def __init__(self) -> None:
        super().__init__(task="nli", name="small-nli", round_id=0)

    def load(self) -> bool:  # type: ignore[override]
        type(self).calls += 1
        if not self.answer:
            return False
        self.s3_client.put_object(
            Body="".join(json.dumps(row) + "\n" for row in ROWS).encode(),
            Bucket=self.task.s3_bucket,
            Key=self._get_data_s3_path(),
        )
        return True

    def label_field_converter(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"id": example["uid"], "answer": example["label"], "tags": ["all"]}


@pytest.fixture
def small(bucket: str, monkeypatch: pytest.MonkeyPatch) -> type[Small]:
    monkeypatch.setenv("EVALKIT_S3_BUCKET", bucket)
    return type("Fresh", (Small,), {"calls": 0})


PREDICTIONS = [{"id": row["uid"], "label": "neutral"} for row in ROWS]


def test_its_examples_are_sent_once_and_read_from_there(
    small: type[Small], client: Any, bucket: str
) -> None:
    for _ in range(2):
        result = evalkit.evaluate(small(), PREDICTIONS, model="m")
        assert result["accuracy"].value == 0.5
        assert result.by_tag["tag"].to_list() == ["all"] * result.by_tag.height
    assert small.calls == 1
    head = client.head_object(Bucket=bucket, Key="datasets/nli/small-nli.jsonl")
    assert head["ContentLength"] > 0


def test_offline_the_cache_answers(
    small: type[Small], monkeypatch: pytest.MonkeyPatch
) -> None:
    evalkit.evaluate(small(), PREDICTIONS, model="m")
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    result = evalkit.evaluate(small(), PREDICTIONS, model="m")
    assert result["accuracy"].value == 0.5


def test_paths_are_dynabenchs(small: type[Small]) -> None:
    dataset = small()
    assert dataset._get_data_s3_path() == "datasets/nli/small-nli.jsonl"
    assert dataset._get_data_s3_path("fairness") == (
        "datasets/nli/fairness-small-nli.jsonl"
    )


def test_a_load_that_failed_is_said(small: type[Small]) -> None:
    small.answer = False
    with pytest.raises(DataError, match=r"load\(\) of small-nli said that it sent not"):
        evalkit.evaluate(small(), PREDICTIONS, model="m")


def test_a_load_that_sent_nothing_is_said(
    small: type[Small], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small, "load", lambda self: True)
    with pytest.raises(DataError, match=r"sent nothing to s3://"):
        evalkit.evaluate(small(), PREDICTIONS, model="m")


def test_a_bucket_is_needed(
    small: type[Small], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALKIT_S3_BUCKET")
    with pytest.raises(DataError, match="needs a bucket: set EVALKIT_S3_BUCKET"):
        evalkit.evaluate(small(), PREDICTIONS, model="m")
