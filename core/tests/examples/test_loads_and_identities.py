"""What a data set is asked for, what identifies its rows, and files that rows name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from memory_store import MemoryStore
from pydantic import BaseModel, create_model

import evalkit
from evalkit.errors import PluginContractError, SchemaError
from evalkit.places import access
from evalkit_commands_perturb import perturb_dataset

Row = dict[str, Any]


class Words(evalkit.TaskIO):
    class Input(BaseModel):
        uid: str
        text: str
        page: str = ""

    class Output(BaseModel):
        id: str
        label: str

    example: ClassVar[Row] = {"uid": "1", "text": ""}
    labels = ("a", "b")
    answer_field = "label"
    perf_metric = "accuracy"
    perturb_fields = ("text",)


ROWS: list[Row] = [
    {
        "uid": str(n),
        "text": f"t{n}",
        "page": f"p{n // 3}",
        "label": "ab"[n % 2],
        "tags": ["even"] if n % 2 == 0 else [],
        "weight": n / 10,
        "long": "x" * 100,
        "group": f"g{n // 4}",
    }
    for n in range(12)
]
PREDICTIONS = [{"id": row["uid"], "label": "a"} for row in ROWS]


class Blind(evalkit.Dataset):
    task = Words
    cluster = "group"

    def load(self, split: str) -> Any:
        return ROWS


class Looking(Blind):
    asked: ClassVar[list[Any]] = []

    def load(self, split: str, columns: Sequence[str] | None, limit: int | None) -> Any:
        self.asked.append((columns, limit))
        rows = ROWS[:limit]
        if columns is None:
            return rows
        return [{key: row[key] for key in columns if key in row} for row in rows]


class Weighted(evalkit.Metric):
    columns = ("weight",)

    def score_example(self, fields: Row) -> float:
        return float(fields["weight"])


def scores(dataset: Any, **options: Any) -> list[Any]:
    options.setdefault("metrics", ["accuracy", Weighted])
    result = evalkit.evaluate(dataset, PREDICTIONS, **options)
    return [(score, result.counts) for score in result.scores]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 5},
        {"limit": 100},
        {"limit": 3, "filters": {"tag": "even"}},
        {"by": ["group"]},
        {"cluster": "page"},
        {"metrics": ["accuracy"]},
    ],
    ids=str,
)
def test_scores_are_the_same_whether_a_data_set_looks_or_not(options: Row) -> None:
    """`load` was told nothing but the split."""
    Looking.asked.clear()
    assert scores(Looking, **options) == scores(Blind, **options)
    (columns, limit), *_ = Looking.asked
    assert "long" not in columns
    assert {"uid", "text", "page", "label", "tags", "group"} <= {*columns}
    assert ("weight" in columns) is ("metrics" not in options)
    assert limit == (None if "filters" in options else options.get("limit"))


def identity(given: Any, **attributes: Any) -> tuple[str | None, ...]:
    class Given(Blind):
        def load(self, split: str) -> Any:
            return given

    for name, value in attributes.items():
        setattr(Given, name, value)
    data = evalkit.evaluate(Given, PREDICTIONS, metrics=["accuracy"]).record.data
    return data.rows_sha256, data.attached_sha256


def nested(**changes: Any) -> list[Row]:
    extra = {"who": {"name": "Ann", "age": 3}, "turns": [{"said": "x", "n": 1}]}
    return [{**row, **extra, **changes} for row in ROWS]


@pytest.mark.slow
def test_rows_have_one_identity_whatever_holds_them() -> None:
    """The order of keys and the kind of table made another one."""
    rows = nested()
    frame = pl.DataFrame(rows)
    same = identity(rows)
    turned = [dict(reversed(row.items())) for row in rows]
    inner = nested(who={"age": 3, "name": "Ann"})
    absent = [{**row, "nothing": None} for row in rows]
    for given in (frame, frame.lazy(), frame.to_arrow(), turned, inner, absent):
        assert identity(given) == same
    assert identity(frame.select(frame.columns[::-1])) == same
    assert identity(iter(rows)) == same


@pytest.mark.parametrize(
    "change",
    [
        {"page": "other"},
        {"page": 3},
        {"who": {"name": "Bea", "age": 3}},
        {"who": {"name": "Ann"}},
        {"who": {"name": "Ann", "age": "3"}},
        {"turns": [{"said": "x", "n": 1}, {"said": "y", "n": 2}]},
        {"weight": 0.25},
        {"tags": ["odd"]},
    ],
    ids=str,
)
def test_rows_have_another_identity_where_a_value_is_another(change: Row) -> None:
    class Loose(Words):
        perturb_fields = ()

        class Input(BaseModel):
            uid: str

    rows, same = nested(), identity(nested(), task=Loose)
    changed = [*rows[:-1], {**rows[-1], **change}]
    assert identity(changed, task=Loose) != same
    assert identity(rows[::-1], task=Loose) != same


def test_rows_are_hashed_beside_the_files_that_they_are_made_of(
    fake_distribution: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a data set has files, what it made of them was not looked at."""
    code = """
import os
import evalkit

class Made(evalkit.Dataset):
    name = "made"
    task = "sentiment"
    sources = {"a.txt": evalkit.Source("https://example.org/a.txt")}

    def load(self, split):
        text = self.file("a.txt").read_text() + os.environ.get("ADDED", "")
        return [{"uid": "1", "statement": text, "label": "neutral"}]
"""
    code = code.replace("evalkit.Source", "Source").replace(
        "import evalkit", "import evalkit\nfrom evalkit import Source"
    )
    fake_distribution(code, {"evalkit.datasets": {"made": "Made"}}, name="making")
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "a.txt").write_text("so")
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path))
    said = [{"id": "1", "label": "neutral"}]
    result = evalkit.evaluate("made", said, out=tmp_path / "runs")
    assert evalkit.verify(str(result.path)).data == "same"
    monkeypatch.setenv("ADDED", "!")
    assert evalkit.verify(str(result.path)).data == "changed"
    again = evalkit.evaluate("made", said, out=tmp_path / "runs")
    assert again.run_id != result.run_id


class Pictures(evalkit.TaskIO):
    class Input(BaseModel):
        uid: str
        image: evalkit.FilePath
        mask: evalkit.FilePath | None = None

    Output = Words.Output
    example: ClassVar[Row] = {"uid": "1", "image": "a.png"}
    answer_field = "label"
    perf_metric = "accuracy"


class Size(evalkit.Metric):
    columns = ("image", "mask")
    seen: ClassVar[list[Any]] = []

    def score_example(self, fields: Row) -> float:
        self.seen.append(dict(fields))
        return float(len(Path(fields["image"]).read_bytes()))


def pictures(folder: Path, *names: str, **more: Any) -> Path:
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "a.png").write_bytes(b"123")
    (folder / "sub" / "b.png").write_bytes(b"12345")
    path = folder / "data.jsonl"
    rows = [
        {"uid": str(n), "image": name, "label": "a", **more}
        for n, name in enumerate(names)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def looked_at(path: str | Path, count: int = 2, **options: Any) -> evalkit.Result:
    said = [{"id": str(n), "label": "a"} for n in range(count)]
    options.setdefault("metrics", [Size])
    return evalkit.evaluate(path, said, task=Pictures, **options)


def test_a_file_that_a_row_names_is_part_of_the_data(tmp_path: Path) -> None:
    """Another picture of the same name was the same data."""
    path = pictures(tmp_path, "a.png", "sub/b.png", mask=None)
    Size.seen.clear()
    result = looked_at(path)
    assert result["size"].value == 4.0
    assert [each["image"] for each in Size.seen] == [
        str(tmp_path / "a.png"),
        str(tmp_path / "sub" / "b.png"),
    ]
    assert Size.seen[0]["mask"] is None
    before = result.record.data.attached_sha256
    assert before is not None
    assert looked_at(path, metrics=["accuracy"]).record.data.attached_sha256 == before
    (tmp_path / "sub" / "b.png").write_bytes(b"12346")
    again = looked_at(path)
    assert again.record.data.attached_sha256 != before
    assert again.run_id != result.run_id
    assert again.record.data.sha256 == result.record.data.sha256


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.png", r"line 2 \(uid '1'\): image: there is no file 'c.png' in"),
        ("sub", "image: there is no file 'sub' in"),
        ("../secret.png", "image: must name a file inside of .*, found '../secret"),
        ("sub/../../secret.png", "image: must name a file inside of"),
        ("/etc/hosts", "image: must name a file inside of .* found '/etc/hosts'"),
        ("link.png", "image: leads out of .* by a link, found 'link.png'"),
        ("folder/secret.png", "image: leads out of .* by a link"),
        ("a\0b", "image: cannot be looked for"),
        ("", "image: there is no file '' in"),
    ],
)
def test_a_file_that_is_not_in_the_folder_is_refused(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "secret.png").write_bytes(b"!")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "folder").symlink_to(tmp_path)
    path = pictures(folder, "a.png", name)
    with pytest.raises(SchemaError, match=text):
        looked_at(path)
    with pytest.raises(SchemaError, match=text):
        perturb_dataset(
            path,
            tmp_path / "out.jsonl",
            task=Pictures,
            perturbations=["lowercase"],
            fields=["label"],
        )


def test_a_data_set_may_say_where_its_files_are(tmp_path: Path) -> None:
    pictures(tmp_path)

    class Shown(evalkit.Dataset):
        task = Pictures
        files_folder = tmp_path

        def load(self, split: str) -> list[Row]:
            return [{"uid": "0", "image": "a.png", "label": "a", "mask": "sub/b.png"}]

    Size.seen.clear()
    said = [{"id": "0", "label": "a"}]
    assert evalkit.evaluate(Shown, said, metrics=[Size])["size"].value == 3.0
    assert Size.seen[0]["mask"] == str(tmp_path / "sub" / "b.png")
    Shown.files_folder = None  # type: ignore[assignment]
    with pytest.raises(
        SchemaError, match=rf"no file 'a.png' in {Path(__file__).parent}"
    ):
        evalkit.evaluate(Shown, said, metrics=[Size])


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryStore:
    made = MemoryStore()
    monkeypatch.setattr(access, "_place", lambda scheme: ("storage/mem", made))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    return made


def test_files_beside_data_in_a_store_are_fetched(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = pictures(tmp_path, "./a.png", "sub//b.png", "sub/c[1]*.png")
    (tmp_path / "sub" / "c[1]*.png").write_bytes(b"1")
    for path in (here, *tmp_path.rglob("*.png")):
        store.add(f"mem://b/set/{path.relative_to(tmp_path)}", path.read_bytes())
    store.add("mem://b/set/sub/c1x.png", b"another")
    kept = looked_at(here, 3)
    Size.seen.clear()
    result = looked_at("mem://b/set/data.jsonl", 3)
    assert result["size"].value == 3.0
    assert result.run_id == kept.run_id
    assert result.record.data.attached_sha256 == kept.record.data.attached_sha256
    for each, content in zip(Size.seen, (b"123", b"12345", b"1"), strict=True):
        assert Path(each["image"]).is_absolute()
        assert Path(each["image"]).read_bytes() == content
    assert store.calls["read"] == 4

    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    store.calls.clear()
    assert looked_at("mem://b/set/data.jsonl", 3).run_id == kept.run_id
    assert not store.calls


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "c.png",
            r"line 2 \(uid '1'\): image: there is no file 'c.png' in mem://b/set",
        ),
        ("sub", "image: there is no file 'sub' in mem://b/set$"),
        ("*.png", r"image: there is no file '\*.png' in mem://b/set$"),
        ("../secret.png", "must name a file inside of mem://b/set, found '../secret"),
        ("/secret.png", "must name a file inside of mem://b/set, found '/secret"),
        ("mem://b/secret.png", "image: there is no file 'mem://b/secret.png' in mem:"),
        ("a\0b", "image: cannot be looked for"),
        ("", "image: there is no file '' in mem://b/set"),
    ],
)
@pytest.mark.parametrize("others", [["a.png"], []])
@pytest.mark.filterwarnings("ignore:.*files left out, because a folder cannot hold")
def test_a_file_that_is_not_below_the_folder_of_the_store_is_refused(
    name: str, text: str, others: list[str], tmp_path: Path, store: MemoryStore
) -> None:
    here = pictures(tmp_path, "a.png" if others else name, name)
    store.add("mem://b/set/data.jsonl", here.read_bytes())
    for path in ("secret.png", "set/a.png", "set/sub/b.png"):
        store.add(f"mem://b/{path}", b"!")
    text = text if others else text.replace("line 2", "line 1").replace("'1'", "'0'")
    with pytest.raises(SchemaError, match=text.rstrip("$")):
        looked_at("mem://b/set/data.jsonl")
    if name.startswith(".."):  # in a bucket that may be what an object is called
        store.add(f"mem://b/set/{name}", b"!")
        with pytest.raises(SchemaError, match=text.rstrip("$")):
            looked_at("mem://b/set/data.jsonl")


class Page(BaseModel):
    image: evalkit.FilePath


class Chapter(BaseModel):
    image: evalkit.FilePath
    inner: list[Chapter] = []


@pytest.mark.parametrize("model", [Page, Chapter])
def test_files_that_stand_in_a_model_are_refused_and_not_overlooked(
    tmp_path: Path, model: type[BaseModel]
) -> None:
    inputs = create_model("Input", uid=(str, ...), cover=(model | None, None))
    attributes = {"Input": inputs, "example": {"uid": "1"}}
    task = type("Book", (Pictures,), attributes)
    row = {"uid": "1", "cover": {"image": "a.png"}, "label": "a"}
    (tmp_path / "data.jsonl").write_text(json.dumps(row))
    said = [{"id": "1", "label": "a"}]
    with pytest.raises(PluginContractError, match="'cover' of its Input: FilePath"):
        evalkit.evaluate(tmp_path / "data.jsonl", said, task=task)


def test_files_that_stand_in_a_list_are_found_too(tmp_path: Path) -> None:
    class Pages(Pictures):
        class Input(BaseModel):
            uid: str
            pages: list[evalkit.FilePath]

        example: ClassVar[Row] = {"uid": "1", "pages": []}

    class Length(evalkit.Metric):
        columns = ("pages",)

        def score_example(self, fields: Row) -> float:
            return float(sum(len(Path(page).read_bytes()) for page in fields["pages"]))

    row = {"uid": "1", "pages": ["a.png", "b.png"], "label": "a"}
    (tmp_path / "data.jsonl").write_text(json.dumps(row))
    found = []
    for content in (b"12", b"123"):
        (tmp_path / "a.png").write_bytes(content)
        (tmp_path / "b.png").write_bytes(b"1")
        path, said = str(tmp_path / "data.jsonl"), [{"id": "1", "label": "a"}]
        found.append(evalkit.evaluate(path, said, task=Pages, metrics=[Length]))
    assert [result["length"].value for result in found] == [3, 4]
    assert found[0].run_id != found[1].run_id
