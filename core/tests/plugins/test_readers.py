"""Data sets that an installed reader makes of files, and kinds of data sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import EvalkitError, Registry, UnknownPluginError
from evalkit.catalog import find_components, is_file_name, iter_kinds
from evalkit.workflows.validation import validate

READER = '''
import json
from pathlib import Path
from typing import Literal

import evalkit
from evalkit.catalog import Kind, ReadPlugin
from evalkit.plugins.bound import DATASETS
from dataclasses import replace
from pydantic import BaseModel

QUIZZES = replace(DATASETS, name="quizzes", word="quiz")


def read(text):
    path = Path(text.partition(":")[2].partition("#")[0] or text)
    if not path.is_file():
        raise evalkit.DataError(f"{path}: file not found")
    if path.read_text() == "broken":
        raise LookupError("no quiz")
    if path.read_text() == "nothing":
        return None
    told = json.loads(path.read_text())

    class Quiz(evalkit.Dataset):
        """A quiz."""

        task = "mini"
        name = told["name"]
        version = "3"

        class Parameters(BaseModel):
            language: Literal["en", "th"] = "en"

        def load(self, split):
            for row in told["rows"]:
                yield {**row, "text": f"{self.parameters.language} {row['uid']}"}

    return ReadPlugin(told["name"], Quiz, [path])
'''

ROWS = [{"uid": "1", "label": "yes"}, {"uid": "2", "label": "no"}]
PREDICTIONS = [{"id": "1", "label": "yes"}, {"id": "2", "label": "yes"}]


@pytest.fixture
def quizzes(
    mini: Any, fake_distribution: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Install a reader of `.quiz` and of `quiz:…`, and go to a folder with one."""
    fake = fake_distribution(
        READER,
        {
            "evalkit.readers": {"quiz": "read"},
            "evalkit.kinds": {"quizzes": "QUIZZES [datasets, packaged]"},
        },
    )
    folder = Path(fake.folder) / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write(folder / "one.quiz")
    return folder


def write(path: Path, name: str = "one", rows: Any = ROWS) -> None:
    path.write_text(json.dumps({"name": name, "rows": rows}))


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("one.quiz", {}),
        ("./one.quiz:language=th", {"language": "th"}),
        ("quiz:one.quiz", {}),
        ("quiz:./one.quiz#part/two:language=th", {"language": "th"}),
    ],
)
def test_a_reference_names_a_file(
    quizzes: Path, text: str, parameters: dict[str, str]
) -> None:
    chosen = Registry().select("datasets", text)
    assert chosen.component.id == "datasets/one"
    assert chosen.component.value == text.removesuffix(":language=th")
    assert chosen.component.origin == "datasets/one (read from a file)"
    assert chosen.parameters == parameters
    assert not is_file_name(text)
    bound = Registry().load("datasets", text)
    assert bound.name == ("one:language=th" if parameters else "one")
    assert [*bound.files] == ["one.quiz"]


def test_a_path_may_look_like_parameters(quizzes: Path) -> None:
    folder = quizzes / "mmlu:subject=law"
    folder.mkdir()
    write(folder / "one.quiz")
    for text in ("mmlu:subject=law/one.quiz", str(folder / "one.quiz")):
        chosen = Registry().select("datasets", f"quiz:{text}")
        assert (chosen.component.value, chosen.parameters) == (f"quiz:{text}", {})
        assert not is_file_name(f"quiz:{text}")


@pytest.mark.parametrize(
    ("name", "is_file"),
    [
        (Path("one.quiz"), False),
        (Path("one"), True),
        ("one.jsonl", True),
        ("one.other", True),
        ("quiz", False),
        ("one.quiz.gz", True),
        ("s3://bucket/one.quiz", True),
    ],
)
def test_other_names_stay_what_they_are(
    quizzes: Path, name: Any, is_file: bool
) -> None:
    assert is_file_name(name) is is_file


def test_a_run_records_the_file_and_not_its_place(quizzes: Path) -> None:
    first = evalkit.evaluate("one.quiz:language=th", PREDICTIONS, out="runs")
    record = first.record.components[0]
    assert (record.id, record.read_from) == ("datasets/one", "one.quiz")
    assert record.distribution == "read from a file"
    assert record.parameters == {"language": "th"}
    assert list(record.resources or {}) == ["one.quiz"]
    assert first.dataset == "one:language=th"
    (quizzes / "sub").mkdir()
    write(quizzes / "sub" / "one.quiz")
    again = evalkit.evaluate(Path("sub/one.quiz"), PREDICTIONS, out="runs")
    other = evalkit.evaluate("./sub/one.quiz:language=th", PREDICTIONS)
    assert again.fingerprint != first.fingerprint == other.fingerprint
    write(quizzes / "one.quiz", rows=ROWS[::-1])
    changed = evalkit.evaluate("one.quiz:language=th", PREDICTIONS)
    assert changed.fingerprint != first.fingerprint


def test_a_run_is_evaluated_and_scored_again(quizzes: Path) -> None:
    first = evalkit.evaluate("one.quiz:language=th", PREDICTIONS, out="runs")
    assert first.path is not None
    same = evalkit.evaluate("one.quiz:language=th", first.path)
    assert [s.value for s in same.scores] == [s.value for s in first.scores]
    (quizzes / "one.quiz").unlink()
    rescored = evalkit.rescore(first.path, ["hits:weight=2"])
    assert rescored.record.metric_names == ["hits", "hits:weight=2.0"]


def test_examples_of_a_file_are_checked(quizzes: Path) -> None:
    assert validate("one.quiz").refusals == ()
    write(quizzes / "one.quiz", rows=[{"uid": "1", "label": "maybe"}])
    with pytest.raises(EvalkitError, match="maybe"):
        evalkit.evaluate("one.quiz", PREDICTIONS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("broken", r"reading one.quiz failed with LookupError: no quiz"),
        ("nothing", r"must return a ReadPlugin with a legal name, got None"),
        (None, "^one.quiz: file not found$"),
    ],
)
def test_what_cannot_be_read_is_said(
    quizzes: Path, content: str | None, message: str
) -> None:
    path = quizzes / "one.quiz"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(EvalkitError, match=message):
        Registry().load("datasets", "one.quiz")


def test_unknown_parameters_are_refused(quizzes: Path) -> None:
    with pytest.raises(EvalkitError, match="language must be 'en' or 'th', got 'vi'"):
        Registry().load("datasets", "one.quiz:language=vi")


def test_two_readers_of_one_suffix_are_an_error(
    quizzes: Path, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution("", {"evalkit.readers": {"quiz": "read"}})
    with pytest.raises(UnknownPluginError, match="Uninstall one"):
        Registry().load("datasets", "one.quiz")


@pytest.fixture
def shipped(quizzes: Path, fake_distribution: Callable[..., Any]) -> Any:
    """Install a quiz as a file beside a module, which is not imported."""
    fake = fake_distribution(
        "raise SystemExit('imported')",
        {"evalkit.quizzes": {"two": "two.quiz", "lost": "lost.quiz"}},
        name="some-quizzes",
    )
    write(Path(fake.folder) / "two.quiz", "two")
    return fake


def test_a_kind_of_data_sets_is_found_where_data_sets_are(shipped: Any) -> None:
    catalog = find_components()
    quizzes = [found.id for found in catalog.of_kind("quizzes")]
    assert quizzes == ["quizzes/lost", "quizzes/two"]
    assert {"quizzes/two", "datasets/mini"} <= {
        found.id for found in catalog.of_kind("datasets")
    }
    listed = [found.id for found in iter_kinds(catalog)]
    assert listed.count("quizzes/two") == 1
    for kind in ("datasets", "quizzes"):
        bound = Registry().load(kind, "two:language=th")
        assert bound.component.origin == "quizzes/two (some-quizzes 1.2.3)"
    result = evalkit.evaluate("two:language=th", PREDICTIONS)
    component = result.record.components[0]
    assert (component.id, component.distribution) == ("datasets/two", "some-quizzes")
    assert component.read_from is None
    assert list(component.resources or {}) == ["two.quiz"]


def test_a_file_that_a_package_lacks_is_named(shipped: Any) -> None:
    path = Path(shipped.folder) / "lost.quiz"
    with pytest.raises(EvalkitError, match=f"^{path}: file not found$"):
        Registry().load("datasets", "lost")


def test_a_file_and_its_entry_point_have_one_name(shipped: Any) -> None:
    write(Path(shipped.folder) / "two.quiz", "three")
    with pytest.raises(EvalkitError, match="its name is 'three', the entry point's"):
        Registry().load("datasets", "two")


def test_listing_reads_no_file(
    shipped: Any, run_evalkit: Callable[..., Any], quizzes: Path
) -> None:
    (Path(shipped.folder) / "two.quiz").write_text("broken")
    done = run_evalkit("list", "datasets", cwd=quizzes)
    assert done.returncode == 0, done.stderr
    assert "quizzes/two" in done.stdout
