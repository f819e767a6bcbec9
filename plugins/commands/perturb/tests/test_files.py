import json
import resource
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import evalkit
from evalkit.errors import (
    DataError,
    EvalkitError,
    PluginContractError,
    SchemaError,
    StorageError,
)
from evalkit_commands_perturb import perturb, perturb_dataset
from evalkit_commands_perturb.originals import SourceExamples
from evalkit_commands_perturb.summary import PerturbationSummary

CODE = '''
import os
import re

import evalkit
from evalkit import Parameters


class Mangle(evalkit.Perturbation):
    """Turns some words around."""

    class Parameters(Parameters):
        preset: str = "medium"

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def find_edits(self, texts, rng):
        limit = os.environ.get("MANGLE_DIES_AT")
        if limit and any(limit in text for text in texts):
            os._exit(9)
        chance = {"mild": 0.1, "medium": 0.3, "hard": 1.0}[self.parameters.preset]
        return [
            [
                (*found.span(), found.group()[::-1])
                for found in re.finditer("[a-z]+", text)
                if rng.random() < chance
            ]
            for text in texts
        ]


class Shout(evalkit.Perturbation):
    families = {"robustness", "loud"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text):
        return text.upper()


class Picky(Shout):
    def __init__(self):
        raise ValueError("needs a lexicon")


class Rename(Shout):
    label_effect = {"*": "transforms"}


class Labelled(evalkit.Dataset):
    task = "text-classification"
    labels = ("a", "b")

    def load(self, split):
        return [{"uid": "1", "statement": "a b", "label": "a"}]


class Marked(evalkit.Dataset):
    task = "sentiment"
    content_warning = "insults"

    def label_field_converter(self, example):
        tags = [f"about:{example['about']}"]
        return {"id": example["uid"], "answer": example["gold"], "tags": tags}

    def load(self, split):
        return [
            {"uid": "1", "statement": "a b", "gold": "neutral", "about": "x"},
            {"uid": "2", "statement": "A", "gold": "positive", "about": "y"},
        ]
'''

ENTRY_POINTS = {
    "evalkit.perturbations": {
        **{"mangle": "Mangle", "shout": "Shout", "picky": "Picky"},
        "rename": "Rename",
    },
    "evalkit.datasets": {"marked": "Marked", "labelled": "Labelled"},
}


@pytest.fixture(autouse=True)
def mangling(
    fake_distribution: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    monkeypatch.chdir(tmp_path)
    return fake_distribution(CODE, ENTRY_POINTS, name="mangling", version="1.0")


def statements(count: int) -> list[dict[str, Any]]:
    rng = Random(3)
    words = ["the", "film", "was", "not", "bad", "at", "all", "really"]
    return [
        {"uid": f"r{n}", "statement": " ".join(rng.choices(words, k=8)), "n": n}
        for n in range(count)
    ]


def write(name: str, rows: Sequence[Any]) -> Path:
    path = Path(name)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run(data: Any, out: Any = "out.jsonl", **options: Any) -> PerturbationSummary:
    options.setdefault("perturbations", ["mangle"])
    if str(data).endswith("l"):
        options.setdefault("task", "sentiment")
    return perturb_dataset(data, out, **options)


def read(path: str = "out.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_a_file_becomes_a_file() -> None:
    rows = statements(50)
    rows[3]["statement"] = "5 6"
    data = write("data.jsonl", rows)
    summary = run(data, perturbations=["mangle:preset=hard", "shout"])
    copies = read()
    assert [each.changed for each in summary.perturbations] == [49, 49]
    assert summary.examples == 50
    assert summary.out == Path("out.jsonl")
    assert [copy["perturbation"] for copy in copies[:4]] == [
        "mangle:preset=hard",
        "shout",
    ] * 2
    assert copies[1]["statement"] == rows[0]["statement"].upper()
    assert copies[1]["n"] == 0
    assert [*copies[1]] == [
        *("uid", "statement", "n", "input_id"),
        *("perturbation", "label_effect", "families"),
    ]
    expected = [*perturb(rows, ["mangle:preset=hard", "shout"], task="sentiment")]
    assert copies == expected


def test_a_data_set_keeps_its_tags_and_its_warning() -> None:
    summary = run("marked", perturbations=["shout"])
    assert summary.sensitive
    assert read() == [
        {
            "uid": "1_Shout",
            "statement": "A B",
            "gold": "neutral",
            "about": "x",
            "tags": ["about:x"],
            "input_id": "1",
            "perturbation": "shout",
            "label_effect": "invariant",
            "families": ["loud", "robustness"],
        }
    ]
    assert not run("sample-nli", "nli.jsonl", perturbations=["shout"]).sensitive
    assert run("sample-hs", "hs.jsonl", perturbations=["shout"]).sensitive


def test_families_and_presets() -> None:
    data = write("data.jsonl", statements(5))
    summary = run(data, perturbations=[], families=["robustness"], preset="hard")
    names = [each.perturbation for each in summary.perturbations]
    assert "mangle:preset=hard" in names
    assert "shout" in names
    assert any("needs a lexicon" in notice for notice in summary.notices)
    with pytest.raises(EvalkitError, match=r"no installed perturbation is of the fam"):
        run(data, "2.jsonl", perturbations=[], families=["odd"])
    own = run(data, "3.jsonl", perturbations=["mangle:preset=mild"], preset="hard")
    assert own.perturbations[0].perturbation == "mangle:preset=mild"


def test_a_preset_that_changes_nothing_is_said() -> None:
    data = write("data.jsonl", statements(5))
    named = ["mangle", "shout", "shout+mangle", "shout+rename"]
    summary = run(data, perturbations=named, preset="mild")
    assert summary.notices == (
        "shout, shout+rename have no presets; 'mild' changes nothing there",
    )


@pytest.fixture(scope="module")
def many() -> list[dict[str, Any]]:
    return statements(3_500)


@pytest.mark.slow
def test_workers_and_order_change_nothing(many: list[dict[str, Any]]) -> None:
    alone = run(write("data.jsonl", many), "alone.jsonl", edits=True)
    together = run(write("data.jsonl", many), "together.jsonl", edits=True, jobs=4)
    assert Path("alone.jsonl").read_bytes() == Path("together.jsonl").read_bytes()
    assert alone.perturbations == together.perturbations
    shuffled = Random(1).sample(many, len(many))
    other = run(write("data.jsonl", shuffled), "shuffled.jsonl", edits=True)
    assert other.perturbations == alone.perturbations
    lines = Path("alone.jsonl").read_text().splitlines()
    assert sorted(Path("shuffled.jsonl").read_text().splitlines()) == sorted(lines)


@pytest.mark.slow
def test_a_dead_worker_is_reported(
    many: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*many[:2_500], {"uid": "last", "statement": "fatal"}]
    data = write("data.jsonl", rows)
    monkeypatch.setenv("MANGLE_DIES_AT", "fatal")
    with pytest.raises(EvalkitError, match=r"worker process ended .* to 'last'"):
        run(data, jobs=2)
    assert not Path("out.jsonl").exists()
    assert not [*Path().glob(".out*")]


def test_a_place_that_cannot_be_written_to() -> None:
    data = write("data.jsonl", statements(1))
    with pytest.raises(StorageError, match=r"out.jsonl: cannot be written: \w+"):
        run(data, "data.jsonl/out.jsonl")


def test_an_interrupted_command_leaves_nothing(many: list[dict[str, Any]]) -> None:
    def stop(text: str, share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    data = write("data.jsonl", many)
    with pytest.raises(KeyboardInterrupt):
        run(data, progress=stop)
    assert [*Path().glob("*out*")] == [*Path().glob(".*out*")] == []


def test_a_file_that_is_there_is_not_replaced_unless_asked() -> None:
    data = write("data.jsonl", statements(3))
    run(data)
    with pytest.raises(StorageError, match=r"out.jsonl is there already"):
        run(data)
    before = Path("out.jsonl").read_bytes()
    run(data, overwrite=True)
    assert Path("out.jsonl").read_bytes() == before
    Path("folder.jsonl").mkdir()
    with pytest.raises(StorageError, match="is there already"):
        run(data, "folder.jsonl", overwrite=True)


def test_only_json_lines_are_written() -> None:
    with pytest.raises(StorageError, match=r"give it a name that ends in .jsonl"):
        run(write("data.jsonl", statements(3)), "out.csv")


@pytest.mark.slow
def test_a_full_disk_is_an_error_that_leaves_nothing(
    many: list[dict[str, Any]],
) -> None:
    data = write("data.jsonl", many)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"out.jsonl: cannot be written: File"):
            run(data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [*Path().glob("*out*")] == [*Path().glob(".*out*")] == []


def test_dates_are_written_as_texts_and_bytes_are_refused() -> None:
    from datetime import date

    import polars as pl

    frame = pl.DataFrame(statements(1)).with_columns(
        pl.lit(date(2026, 1, 2)).alias("d")
    )
    frame.write_parquet("data.parquet")
    run("data.parquet", task="sentiment", perturbations=["shout"])
    assert read()[0]["d"] == "2026-01-02"
    frame.with_columns(pl.lit(b"x").alias("b")).write_parquet("b.parquet")
    with pytest.raises(DataError, match="'r0' cannot be written as JSON: bytes is no"):
        run("b.parquet", "b.jsonl", task="sentiment", perturbations=["shout"])


def test_some_examples_only() -> None:
    rows = [
        {**row, "label": "positive" if row["n"] % 2 else "negative"}
        for row in statements(10)
    ]
    data = write("data.jsonl", rows)
    run(data, perturbations=["shout"], limit=2, filters={"answer": "positive"})
    assert [row["n"] for row in read()] == [1, 3]
    plain = write("plain.jsonl", statements(10))
    run(plain, "plain-out.jsonl", perturbations=["shout"], limit=4)
    assert len(read("plain-out.jsonl")) == 4
    with pytest.raises(EvalkitError, match=r"without answers \(label\) cannot be filt"):
        run(plain, "3.jsonl", filters={"n": "1"})


def test_data_that_are_perturbed_already() -> None:
    run(write("data.jsonl", statements(3)), perturbations=["shout"])
    with pytest.raises(SchemaError, match=r"line 1: uid 'r0_Shout' is perturbed alre"):
        run("out.jsonl", "again.jsonl")
    run(
        "out.jsonl",
        "again.jsonl",
        again=True,
        perturbations=["picky"][:0] or ["shout+mangle"],
    )
    assert not read("again.jsonl")
    mixed = write("mixed.jsonl", [{**statements(1)[0], "input_id": None}])
    assert run(mixed, "mixed-out.jsonl", perturbations=["shout"]).examples == 1


def test_uids_that_copies_would_get_are_refused() -> None:
    rows = [
        {"uid": "a", "statement": "x"},
        {"uid": "a_Shout_2", "statement": "y"},
        {"uid": "b_Shout", "statement": "y"},
    ]
    with pytest.raises(SchemaError, match=r"'a_Shout_2' is taken: a copy of 'a'"):
        run(write("data.jsonl", rows), perturbations=["shout"])
    fine = run(write("fine.jsonl", rows[1:]), perturbations=["shout"])
    assert fine.perturbations[0].changed == 2


class Loud(evalkit.Perturbation):
    families = set()
    version = "1"
    label_effect = {}

    def perturb(self, text: str) -> str:
        return text.upper()


def test_perturbations_whose_copies_would_have_one_uid_are_refused() -> None:
    data = write("data.jsonl", statements(1))
    first, second = (type("X", (Loud,), {"name": name}) for name in ("a-1", "a1"))
    with pytest.raises(EvalkitError, match=r"the same uid \(…_A1\)"):
        run(data, perturbations=[first, second])
    other = type("Shout", (Loud,), {})
    with pytest.raises(PluginContractError, match="two perturbations are called 'shou"):
        run(data, perturbations=["shout", other])
    assert len(run(data, perturbations=["shout", "shout"]).perturbations) == 1


def test_the_originals_are_not_overwritten() -> None:
    data = write("data.jsonl", statements(2))
    with pytest.raises(StorageError, match="holds the originals"):
        run(data, Path("../") / Path.cwd().name / "data.jsonl", overwrite=True)
    assert len(data.read_text().splitlines()) == 2


@pytest.mark.parametrize("change", ["shorter", "turned around"])
def test_data_that_change_meanwhile_are_refused(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = statements(20)
    data = write("data.jsonl", rows)
    check = SourceExamples.refuse_taken_uids

    def alter(*arguments: Any) -> None:
        check(*arguments)
        write("data.jsonl", rows[:9] if change == "shorter" else rows[::-1])

    monkeypatch.setattr(SourceExamples, "refuse_taken_uids", alter)
    with pytest.raises(DataError, match=r"data.jsonl: was changed while it was read"):
        run(data)
    assert not Path("out.jsonl").exists()


def test_a_field_that_there_is_not_is_refused() -> None:
    data = write("data.jsonl", statements(1))
    with pytest.raises(EvalkitError, match=r"'statment'; did you mean 'statement'\?"):
        run(data, fields=["statment"])
    with pytest.raises(EvalkitError, match=r"'qqq'; there are: uid, statement, n"):
        run(data, fields=["qqq"])
    assert not [*Path().glob("*out*")]
