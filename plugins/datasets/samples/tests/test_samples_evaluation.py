"""The sample data sets as evalkit sees them: what they say, and what they score."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import f1_score

import evalkit

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "evalkit_datasets_samples"
MODELS = {
    "sample-nli": ("rules", "overlap"),
    "sample-hs": ("keywords", "profanity"),
    "sample-sentiment": ("vader", "afinn"),
    "sample-qa": ("typed", "overlap"),
}
SYSTEMS = [(name, model) for name, models in MODELS.items() for model in models]

each_dataset = pytest.mark.parametrize("name", MODELS)
each_system = pytest.mark.parametrize(("name", "model"), SYSTEMS)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave nothing but the package to read from."""
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "none"))


def attributes(name: str) -> dict[str, Any]:
    return dict(evalkit.Registry().load("datasets", name).attributes)


def read(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [json.loads(line) for line in lines]


def file_of(name: str, model: str) -> Path:
    return PACKAGE / "predictions" / name / f"{model}.jsonl"


def outcomes(name: str, model: str) -> list[tuple[list[str], Any, str]]:
    """Return tags, gold answer and prediction of every example."""
    key = "answer" if name == "sample-qa" else "label"
    given = {row["id"]: row[key] for row in read(file_of(name, model))}
    rows = read(PACKAGE / "data" / f"{name}.jsonl")
    return [(row["tags"], row[key], given[row["uid"]]) for row in rows]


def share_right(found: list[tuple[list[str], Any, str]]) -> float:
    right = [
        given in gold if isinstance(gold, list) else given == gold
        for _, gold, given in found
    ]
    return sum(right) / len(right)


def by_tag(
    found: list[tuple[list[str], Any, str]],
) -> dict[str, list[tuple[list[str], Any, str]]]:
    groups = defaultdict(list)
    for outcome in found:
        for tag in outcome[0]:
            groups[tag].append(outcome)
    return groups


@each_dataset
def test_licence_language_and_description_are_given(name: str) -> None:
    found = attributes(name)
    assert found["license"] == "CC0-1.0"
    assert found["languages"] == ("en",)
    assert found["description"]
    assert found["task"] == name.removeprefix("sample-")
    assert found["sources"] == {}


def test_descriptions_differ_and_hateful_texts_are_announced() -> None:
    assert len({attributes(name)["description"] for name in MODELS}) == 4
    warned = [name for name in MODELS if attributes(name)["content_warning"]]
    assert warned == ["sample-hs"]


@each_dataset
def test_shipped_predictions_are_those_that_the_data_set_names(name: str) -> None:
    named = attributes(name)["example_predictions"]
    assert tuple(named) == MODELS[name]
    files = {path.resolve() for path in (PACKAGE / "predictions" / name).iterdir()}
    assert {Path(path).resolve() for path in named.values()} == files


@each_system
def test_shipped_predictions_are_all_scored(name: str, model: str) -> None:
    result = evalkit.evaluate(name, file_of(name, model))
    rows = len(read(PACKAGE / "data" / f"{name}.jsonl"))
    assert result.counts["examples"] == result.counts["scored"] == rows
    assert result.counts["predictions"] == rows
    assert (result.status, result.model) == ("complete", model)
    assert (result.problems, result.warnings) == ((), ())
    assert result.notices == ()


@each_system
def test_share_of_right_answers_is_that_of_a_plain_count(name: str, model: str) -> None:
    metric = "exact-match" if name == "sample-qa" else "accuracy"
    result = evalkit.evaluate(name, file_of(name, model), metrics=[metric])
    found = outcomes(name, model)
    assert result[metric].value == pytest.approx(share_right(found), abs=1e-12)
    assert {
        row["tag"]: (row["n"], row["value"])
        for row in result.by_tag.iter_rows(named=True)
    } == {
        tag: (len(group), pytest.approx(share_right(group), abs=1e-12))
        for tag, group in by_tag(found).items()
    }


@pytest.mark.parametrize(
    ("name", "model"), [pair for pair in SYSTEMS if pair[0] != "sample-qa"]
)
def test_macro_f1_is_scikit_learns_over_the_gold_labels(name: str, model: str) -> None:
    result = evalkit.evaluate(name, file_of(name, model), metrics=["macro-f1"])
    found = outcomes(name, model)
    groups = [score for score in result.scores if score.aggregate is None]
    values = {score.tag: score.value for score in groups if score.metric == "macro-f1"}
    assert len(values) == 1 + len(by_tag(found))
    for tag, group in {None: found, **by_tag(found)}.items():
        gold = [answer for _, answer, _ in group]
        given = [label for _, _, label in group]
        expected = f1_score(
            gold, given, labels=sorted(set(gold)), average="macro", zero_division=0
        )
        assert values[tag] == pytest.approx(expected, abs=1e-12), tag


@each_dataset
def test_headline_of_each_sample_has_an_interval(name: str) -> None:
    model = MODELS[name][0]
    headline = evalkit.evaluate(name, file_of(name, model)).headline
    assert headline is not None
    assert headline.ci is not None
    assert headline.value is not None
    assert 0 < headline.ci.low < headline.value < headline.ci.high < 1


def test_questions_about_one_passage_are_one_cluster() -> None:
    result = evalkit.evaluate("sample-qa", file_of("sample-qa", "typed"))
    passages = [row["context"] for row in read(PACKAGE / "data" / "sample-qa.jsonl")]
    assert result.headline is not None
    assert result.headline.n_clusters == len(set(passages)) < len(passages)
    assert result.examples is not None
    pairs = set(zip(result.examples["cluster"], passages, strict=True))
    assert len(pairs) == len(set(passages))
