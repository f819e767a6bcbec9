"""How to cite what a run used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.catalog import Registry, Resolver
from evalkit_commands_cite.works import bibtex_entries, cited_works

ENTRY = "@article{doe-2020,\n  title = {On Hits},\n  year = {2020}\n}"

SOURCE = '''
import evalkit
from pydantic import BaseModel

class Question(BaseModel):
    uid: str

class Answer(BaseModel):
    id: str
    label: str

class Task(evalkit.TaskIO):
    Input = Question
    Output = Answer
    answer_field = "label"
    labels = ("yes", "no")
    example = {"uid": "1"}
    perf_metric = "hits"
    citation = "  "

class Data(evalkit.Dataset):
    task = "cited"
    version = "7"
    license = "CC0-1.0"
    source_url = "https://example.org/data"
    citation = """Doe & Roe: 100 % of_it.

    In a book."""

    def load(self, split):
        return [{"uid": "1", "label": "yes"}]

class Bare(Data):
    license = citation = source_url = None

class Hits(evalkit.Metric):
    citation = """
@article{doe-2020,
  title = {On Hits},
  year = {2020}
}
"""

    def score_example(self, prediction, target):
        return float(prediction == target)

def get_same(predictions, targets):
    return 1.0

get_same.citation = Hits.citation
'''

ENTRY_POINTS = {
    "evalkit.tasks": {"cited": "Task"},
    "evalkit.datasets": {"cited": "Data", "bare": "Bare"},
    "evalkit.metrics": {"hits": "Hits", "same": "get_same"},
}


@pytest.fixture(autouse=True)
def _plugins(fake_distribution: Callable[..., Any]) -> None:
    fake_distribution(SOURCE, ENTRY_POINTS, name="cited-plugins", version="2.5")


def evaluate(dataset: str = "cited", **options: Any) -> evalkit.Result:
    return evalkit.evaluate(dataset, [{"id": "1", "label": "yes"}], **options)


def works_of(result: evalkit.Result) -> Any:
    return cited_works(result, Resolver(Registry()))


def test_everything_that_a_run_used_is_named_in_order() -> None:
    works, remarks = works_of(evaluate(metrics=["hits", "same", "accuracy"]))
    assert [work[:2] for work in works] == [
        ("datasets/cited", "7"),
        ("tasks/cited", "2.5"),
        ("metrics/hits", "2.5"),
        ("metrics/same", "2.5"),
        ("metrics/accuracy", evalkit.__version__),
        ("evalkit", evalkit.__version__),
    ]
    assert [work.is_bibtex for work in works] == [False] * 2 + [True] * 2 + [False] * 2
    assert works[1].citation is None
    assert works[4].citation is None
    assert works[0].license == "CC0-1.0"
    assert works[4].license.startswith("Apache-2.0")
    assert works[5].license.startswith("Apache-2.0")
    assert remarks == ()


def test_entries_are_printed_as_they_are_and_once_and_texts_become_entries() -> None:
    works, _ = works_of(evaluate(metrics=["hits", "same"]))
    data, hits, core = bibtex_entries(works)
    assert hits == ENTRY
    assert data == (
        "@misc{datasets-cited,\n"
        "  title = {cited},\n"
        "  note = {Doe \\& Roe: 100 \\% of\\_it. In a book. Version 7},\n"
        "  url = {https://example.org/data}\n"
        "}"
    )
    assert core.startswith("@misc{evalkit,\n")
    assert f"Version {evalkit.__version__}" in core


def test_data_without_citation_or_licence_are_remarked() -> None:
    works, remarks = works_of(evaluate("bare"))
    assert works[0] == ("datasets/bare", "7", None, None, None)
    assert remarks == (
        "datasets/bare names no citation of its data",
        "datasets/bare names no licence of its data",
    )


def test_a_file_is_not_blamed_for_naming_no_licence(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"uid": "1", "statement": "x", "label": "positive"}', "utf-8")
    said = [{"id": "1", "label": "positive"}]
    result = evalkit.evaluate(file, said, task="sentiment", metrics=["accuracy"])
    assert works_of(result)[1] == (
        "mine was given as a file, whose citation is not known",
        "mine was given as a file, whose licence is not known",
    )


def test_a_plugin_that_is_gone_is_remarked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = evaluate(metrics=["hits", "accuracy"], out=tmp_path).path
    assert path is not None
    monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "metrics/hits")
    works, remarks = works_of(evalkit.read_run(path))
    assert [work.id for work in works][2:4] == ["metrics/hits", "metrics/accuracy"]
    assert works[2].citation is None
    [remark] = remarks
    assert remark.startswith("metrics/hits cannot be asked for a citation: ")


def test_an_object_and_a_distribution_that_are_gone_have_no_citation() -> None:
    def get_own(predictions: list[Any], targets: list[Any]) -> float:
        return 0.5

    works, remarks = works_of(evaluate(metrics=[get_own]))
    assert (works[2].id, works[2].citation, works[2].license) == (
        *("metrics/own", None, None),
    )
    assert remarks == (
        "metrics/own cannot be asked for a citation: metrics/own was given as an "
        "object when the run was made; only installed plugins can be loaded again",
    )
