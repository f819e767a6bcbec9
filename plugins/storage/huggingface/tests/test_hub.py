"""The place of `hf://`, against a hub on loopback."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit.errors import StorageError, TransferError
from evalkit.places import Place, local_file, local_folder, place_of
from evalkit_storage_huggingface.place import Hub
from evalkit_testing import check_storage

NAME = "owner/name"
ROOT = f"hf://datasets/{NAME}"
TOKEN = "hf_a_secret_that_nobody_may_see"

ROWS = [
    {"uid": str(n), "statement": f"text {n}", "label": ("positive", "negative")[n % 2]}
    for n in range(40)
]
ANSWERS = [{"id": row["uid"], "label": "positive"} for row in ROWS]


def as_lines(rows: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_parquet(rows: list[dict[str, str]]) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame(rows).write_parquet(stream)
    return stream.getvalue()


FILES = {
    "README.md": b"about it",
    "test.parquet": as_parquet(ROWS),
    "data/test.jsonl": as_lines(ROWS),
    "data/ä b?#%20.txt": b"x" * 1000,
}


@pytest.fixture
def commit(hub: Any) -> str:
    made: str = hub.commit(NAME, FILES, "main")
    return made


def test_it_is_found_by_its_scheme(hub: Any) -> None:
    place: Place = place_of(f"{ROOT}/f")
    assert isinstance(place, Hub)


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("revision", ["", "@main", "@{commit}"])
def test_a_file_is_read_in_its_commit(commit: str, path: str, revision: str) -> None:
    uri = f"{ROOT}{revision.format(commit=commit)}/{path}"
    found: Any = local_file(uri)
    assert found is not None
    assert str(found) == uri
    assert found.permanent == f"{ROOT}@{commit}/{path}"
    assert found.read_bytes() == FILES[path]
    (entry,) = Hub().list(uri)
    assert (entry.uri, entry.permanent) == (uri, found.permanent)


@pytest.mark.parametrize("path", ["absent", "data", "data/absent.txt", ""])
def test_there_is_no_such_file(commit: str, path: str) -> None:
    assert Hub().local(f"{ROOT}/{path}") is None
    assert path == "" or [*Hub().list(f"{ROOT}/{path}")] == []


def test_files_are_listed(commit: str) -> None:
    found = sorted(Hub().list(f"{ROOT}@main/"))
    assert [each.uri for each in found] == [f"{ROOT}@main/{p}" for p in sorted(FILES)]
    below = sorted(Hub().list(f"{ROOT}/data/"))
    assert [each.uri for each in below] == [
        f"{ROOT}/data/test.jsonl",
        f"{ROOT}/data/ä b?#%20.txt",
    ]
    assert [*Hub().list(f"{ROOT}/dat/")] == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("v1.0", "v1.0"),
        ("refs/convert/parquet", "refs/convert/parquet"),
        ("refs/pr/7", "refs/pr/7"),
        ("a%2Fbranch", "a/branch"),
    ],
)
def test_revisions_have_names(hub: Any, commit: str, written: str, name: str) -> None:
    other = hub.commit(NAME, {"f": b"other"}, name)
    found: Any = Hub().local(f"{ROOT}@{written}/f")
    assert found is not None
    assert found.permanent == f"{ROOT}@{other}/f"
    assert Hub().local(f"{ROOT}/f") is None


def test_a_branch_that_moved_is_read_anew(hub: Any, commit: str) -> None:
    first: Any = local_file(f"{ROOT}/README.md")
    moved = hub.commit(NAME, {"README.md": b"anything"}, "main")
    second: Any = local_file(f"{ROOT}/README.md")
    assert (first.read_bytes(), second.read_bytes()) == (b"about it", b"anything")
    assert second.permanent == f"{ROOT}@{moved}/README.md"
    hub.status = 503  # what is kept is not taken for what is there now
    with pytest.raises(TransferError):
        local_file(f"{ROOT}/README.md")


# Faults


def message(uri: str) -> str:
    with pytest.raises(StorageError) as caught:
        Hub().local(uri)
    with pytest.raises(type(caught.value)):
        [*Hub().list(f"{uri}/")]
    text = str(caught.value)
    assert text.startswith(uri)
    return text


def test_a_data_set_that_is_not_there(commit: str) -> None:
    text = message("hf://datasets/owner/absent/f")
    assert "the hub has no such dataset, or it is private" in text
    assert "hf auth login" in text


def test_a_revision_that_is_not_there(commit: str) -> None:
    assert "has no such revision" in message(f"{ROOT}@absent/f")


def test_a_data_set_that_is_gated(hub: Any, commit: str) -> None:
    hub.gated.add(NAME)
    assert "gated: ask for access" in message(f"{ROOT}/f")


@pytest.mark.parametrize(
    "uri", ["hf://owner/name/f", "hf://datasets/name", "hf://datasets/a@b/c/f"]
)
def test_what_names_no_data_set(hub: Any, uri: str) -> None:
    assert "write hf://datasets/OWNER/NAME[@REVISION][/PATH]" in message(uri)
    assert not hub.requests


@pytest.mark.parametrize(
    ("status", "part"),
    [
        (401, "access is denied"),
        (403, "access is denied"),
        (418, "unexpected answer (status 418)"),
    ],
)
def test_a_status_says_what_to_do(
    hub: Any, commit: str, status: int, part: str
) -> None:
    hub.status = status
    assert part in message(f"{ROOT}/f")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_hub_that_is_busy_may_answer_later(
    hub: Any, commit: str, status: int
) -> None:
    hub.status = status
    with pytest.raises(TransferError, match=f"is busy, failing .*status {status}"):
        Hub().local(f"{ROOT}/f")


def test_a_hub_that_is_not_there(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(TransferError, match=r"not reached .*HF_ENDPOINT"):
        Hub().local(f"{ROOT}/f")


def test_its_own_client_may_be_offline(
    commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE forbids" in message(f"{ROOT}/f")


def test_nothing_is_written(hub: Any, commit: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"hf://.*: cannot be written: .*only reads"):
        evalkit.evaluate("sample-nli", ANSWERS, out=f"{ROOT}/runs")
    with pytest.raises(StorageError, match="evalkit only reads hf://"):
        Hub().put(tmp_path / "f", f"{ROOT}/f", overwrite=True)
    assert not hub.requests


def test_a_download_goes_on_after_a_cut(hub: Any, commit: str) -> None:
    hub.cuts = 1
    found = local_file(f"{ROOT}/test.parquet")
    assert found is not None
    assert found.read_bytes() == FILES["test.parquet"]


def test_a_token_opens_what_is_private_and_is_nowhere_else(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.guarded.add(NAME)
    assert "private" in message(f"{ROOT}/f")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    found = local_file(f"{ROOT}/README.md")
    assert found is not None
    assert found.read_bytes() == b"about it"
    hub.status = 403
    assert TOKEN not in message(f"{ROOT}/f")
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not any(TOKEN.encode() in content for content in written)


# What it is for


def evaluated(uri: str, tmp_path: Path) -> Any:
    return evalkit.evaluate(
        data=uri, task="sentiment", predictions=ANSWERS, out=tmp_path / "run"
    )


@pytest.mark.parametrize("path", ["test.parquet", "data/test.jsonl"])
def test_a_file_is_scored_and_the_run_names_the_commit(
    hub: Any, commit: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = evaluated(f"{ROOT}/{path}", tmp_path)
    assert result["accuracy"].value == 0.5
    (written,) = (tmp_path / "run").rglob("run.json")
    data = json.loads(written.read_bytes())["data"]
    assert data["source_url"] == f"{ROOT}@{commit}/{path}"
    assert [file["name"] for file in data["files"]] == [path.rpartition("/")[2]]

    # offline from the cache, with the same commit
    count = len(hub.requests)
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    again = evaluated(f"{ROOT}/{path}", tmp_path / "again")
    assert again.record.run_id == result.record.run_id
    assert again.record.data.source_url == data["source_url"]
    assert len(hub.requests) == count
    with pytest.raises(StorageError, match="not in the cache"):
        evaluated(f"{ROOT}/README.md", tmp_path / "other")


def test_a_data_set_of_one_file_is_scored(hub: Any, tmp_path: Path) -> None:
    files = {"README.md": b"about it", "data/0.parquet": FILES["test.parquet"]}
    commit = hub.commit("owner/one", files, "main")
    uri = "hf://datasets/owner/one"
    result = evaluated(uri, tmp_path)
    assert result["accuracy"].value == 0.5
    assert result.record.data.source_url == f"{uri}@{commit}/data/0.parquet"


def test_shards_are_scored_as_one_in_one_commit(
    hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = {
        f"data/test-{n:05}-of-00002.parquet": as_parquet(ROWS[n * 20 : n * 20 + 20])
        for n in range(2)
    }
    others = {"README.md": b"about it", "data/train-00000-of-00001.parquet": b"x"}
    commit = hub.commit("owner/shards", {**shards, **others}, "v1")
    root = "hf://datasets/owner/shards"
    result = evaluated(f"{root}@v1/data/test-*.parquet", tmp_path)
    data = result.record.data
    assert result["accuracy"].value == 0.5
    assert data.source_url == f"{root}@{commit}/data/test-*-of-00002.parquet"
    assert [(file.name, file.sha256) for file in data.files] == [
        (name.removeprefix("data/"), hashlib.sha256(content).hexdigest())
        for name, content in shards.items()
    ]
    assert (
        sum(
            "/resolve/" in request and request.startswith("GET")
            for request in hub.requests
        )
        == 2
    )

    # the run says what gives it again, also offline
    evaluated(data.source_url, tmp_path / "once")
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    again = evaluated(data.source_url, tmp_path / "again")
    assert again.record.run_id == result.record.run_id
    assert again.record.data.source_url == data.source_url


def test_a_shard_that_is_not_there_is_named(hub: Any, tmp_path: Path) -> None:
    names = [f"test-0000{n}-of-00003.parquet" for n in (0, 2)]
    hub.commit("owner/gap", {name: FILES["test.parquet"] for name in names}, "main")
    for place in ("hf://datasets/owner/gap", "hf://datasets/owner/gap/test-*"):
        message = "a shard is missing: test-00001-of-00003.parquet$"
        with pytest.raises(evalkit.DataError, match=message):
            evaluated(place, tmp_path)
    assert not any(
        "/resolve/" in request and request.startswith("GET") for request in hub.requests
    )


def test_files_that_rows_name_are_of_the_same_commit(hub: Any) -> None:
    class Pictures(evalkit.TaskIO):
        class Input(BaseModel):
            uid: str
            image: evalkit.FilePath

        class Output(BaseModel):
            id: str
            label: str

        example: ClassVar[dict[str, Any]] = {"uid": "1", "image": "a.png"}
        answer_field = "label"
        perf_metric = "accuracy"

    class Size(evalkit.Metric):
        columns = ("image",)

        def score_example(self, fields: dict[str, Any]) -> float:
            return float(len(Path(fields["image"]).read_bytes()))

    row = {"uid": "0", "image": "images/a.png", "label": "positive"}
    files = {"data/test.jsonl": as_lines([row]), "data/images/a.png": b"12"}
    hub.commit(NAME, files, "v1")
    hub.commit(NAME, {"data/images/a.png": b"1234"}, "main")
    result = evalkit.evaluate(
        f"{ROOT}@v1/data/test.jsonl", ANSWERS[:1], task=Pictures, metrics=[Size]
    )
    assert result["size"].value == 2
    assert result.record.data.attached_sha256 is not None


def test_a_data_set_declares_a_file_of_a_hub(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256 = hashlib.sha256(FILES["test.parquet"]).hexdigest()
    uri = f"{ROOT}@{commit}/test.parquet"

    class Published(evalkit.Dataset):
        name = "published"
        task = "sentiment"
        sources = {"test.parquet": evalkit.Source(uri, sha256)}

        def load(self, split: str) -> Path:
            return self.file("test.parquet")

    for offline in ("", "1"):
        monkeypatch.setenv("EVALKIT_OFFLINE", offline)
        result = evalkit.evaluate(Published, predictions=ANSWERS)
        assert result["accuracy"].value == 0.5
    assert (
        sum(
            "/resolve/" in request and request.startswith("GET")
            for request in hub.requests
        )
        == 1
    )


def test_a_folder_is_one_commit(commit: str) -> None:
    found = local_folder(f"{ROOT}/data", lambda name: name.endswith(".jsonl"))
    assert found is not None
    assert found.permanent == f"{ROOT}@{commit}/data"
    assert (found / "test.jsonl").permanent == f"{ROOT}@{commit}/data/test.jsonl"


def test_it_keeps_the_laws_of_places_that_only_read(commit: str) -> None:
    known = {f"{ROOT}/{path}": content for path, content in FILES.items()}
    check_storage(f"{ROOT}/", known=known, secrets=[TOKEN])
