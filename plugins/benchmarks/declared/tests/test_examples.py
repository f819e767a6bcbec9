"""What a benchmark file says of its data becomes examples that are scored."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_benchmarks_declared import check_benchmark, dataset_class
from evalkit_models_base import predict

ROWS: list[dict[str, Any]] = [
    {"id": "1", "q": "2 + 2", "a": "4", "b": "5", "gold": 0, "lang": "en", "doc": "x"},
    {"id": "2", "q": "2 + 3", "a": "4", "b": "5", "gold": 1, "lang": "en", "doc": "x"},
    {"id": "3", "q": "2 + 4", "a": "6", "b": "5", "gold": 0, "lang": "th", "doc": "y"},
]
CHOICE = {"input": {"question": "text"}, "answer": "choice"}


def benchmark(
    folder: Path, task: Any, data: dict[str, Any], rows: Any = ROWS, **keys: Any
) -> Any:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text)
    path = None if "hub" in data else "rows.jsonl"
    base = {"benchmark": 1, "name": "sums", "version": "1", "task": task}
    data = {"path": path, **data} if path else data
    found = check_benchmark({**base, "data": data, **keys}, "sums")
    return dataset_class(found, folder / "bench.yaml")


def choices(folder: Path, **data: Any) -> Any:
    fields = {"fields": {"question": "q"}, "choices": ["a", "b"]}
    return benchmark(folder, CHOICE, {**fields, "answer": {"index": "gold"}, **data})


def test_options_and_tags_are_taken_from_columns(tmp_path: Path) -> None:
    made = choices(tmp_path, tags={"lang": "lang"})().load("test")
    assert [row["choices"] for row in made] == [["4", "5"], ["4", "5"], ["6", "5"]]
    assert [row["answer"] for row in made] == ["4", "5", "6"]
    assert [row["tags"] for row in made] == [["lang:en"], ["lang:en"], ["lang:th"]]
    assert [row["uid"] for row in made] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ({"index": "k"}, [{"k": 1}, {"k": "1"}, {"k": 1.0}]),
        ({"letter": "k"}, [{"k": "B"}, {"k": "b"}, {"k": " B "}]),
        ({"text": "k"}, [{"k": "yes"}, {"k": "yes"}, {"k": ["yes"]}]),
    ],
)
def test_an_option_is_named_in_three_ways(
    answer: dict[str, str], rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    rows = [{**row, "question": "?", "o": ["no", "yes"]} for row in rows]
    data = {"id": "#row", "choices": "o", "answer": answer}
    made = benchmark(tmp_path, CHOICE, data, rows)().load("test")
    assert [row["answer"] in ("yes", ["yes"]) for row in made] == [True] * 3
    assert [row["uid"] for row in made] == ["1", "2", "3"]


def test_rows_are_chosen_and_sampled_in_their_order(tmp_path: Path) -> None:
    assert len(choices(tmp_path, where={"lang": "en"})().load("test")) == 2
    assert len(choices(tmp_path, where={"gold": [0, 7]})().load("test")) == 2
    rows = [{**row, "meta": {"keys": row["gold"]}} for row in ROWS]
    data = {"fields": {"question": "q"}, "choices": ["a", "b"], "answer": {"text": "a"}}
    nested = benchmark(tmp_path, CHOICE, {**data, "where": {"meta.keys": 0}}, rows)
    assert len(nested().load("test")) == 2
    for seed in range(5):
        made = choices(tmp_path, sample={"count": 2, "seed": seed})().load("test")
        assert [row["uid"] for row in made] in (["1", "2"], ["1", "3"], ["2", "3"])


@pytest.mark.parametrize(
    ("task", "data", "rows", "said", "scores"),
    [
        (
            {"input": {"q": "text"}, "answer": "label", "labels": ["yes", "no"]},
            {"answer": "k", "labels": {"1": "yes", "0": "no"}},
            [{"k": 1}, {"k": 0}, {"k": 0}],
            [{"label": "yes"}, {"label": "no"}, {"label": "yes"}],
            {"accuracy": 2 / 3, "macro-f1": 2 / 3},
        ),
        (
            {"input": {"q": "text"}, "answer": "text"},
            {"answer": "{k}", "answer_extract": "regex:#### (.+)"},
            [{"k": "so #### 4"}, {"k": "#### 5"}, {"k": "#### 6"}],
            [{"answer": "4"}, {"answer": "5"}, {"answer": "7"}],
            {"exact-match": 2 / 3},
        ),
        (
            {"input": {"q": "text"}, "answer": "text"},
            {"answer": "k"},
            [{"k": ["4", "four"]}, {"k": ["5"]}, {"k": ["6"]}],
            [{"answer": "four"}, {"answer": "5"}, {"answer": "7"}],
            {"exact-match": 2 / 3},
        ),
        (
            {"input": {"q": "text", "extra": "number?"}, "answer": "number"},
            {"answer": "k"},
            [{"k": 1}, {"k": "2.5"}, {"k": 3}],
            [{"answer": 1}, {"answer": 2}, {"answer": 4}],
            {"mae": 0.5},
        ),
        (
            {"input": {"q": "text"}, "answer": "labels", "labels": ["x", "y"]},
            {"answer": "k"},
            [{"k": ["x"]}, {"k": '["x", "y"]'}, {"k": []}],
            [{"labels": ["x"]}, {"labels": ["x"]}, {"labels": []}],
            {"multilabel-f1#micro": 0.8},
        ),
        (
            {"input": {"q": "text"}, "answer": "spans"},
            {"answer": "k"},
            [{"k": [{"start": 0, "end": 1, "label": "n"}]}, {"k": []}, {"k": "[]"}],
            [
                {"spans": [{"start": 0, "end": 1, "label": "n"}]},
                {"spans": []},
                {"spans": [{"start": 0, "end": 1}]},
            ],
            {"span-f1": 2 / 3},
        ),
    ],
)
def test_each_type_of_answer_is_scored(
    task: Any, data: Any, rows: Any, said: Any, scores: Any, tmp_path: Path
) -> None:
    stored = [{**given, **row} for given, row in zip(ROWS, rows, strict=True)]
    made = benchmark(tmp_path, task, data, stored)
    predictions = [{"id": str(n), **row} for n, row in enumerate(said, start=1)]
    result = evalkit.evaluate(made, predictions, model="m")
    assert result.record.counts.scored == 3
    for name, value in scores.items():
        found = result[name].value
        assert found == pytest.approx(value)


def test_an_installed_task_takes_fields_of_other_names(tmp_path: Path) -> None:
    data = {"fields": {"statement": "q"}, "answer": "lang"}
    data["labels"] = {"en": "positive", "th": "negative"}
    made = benchmark(tmp_path, "sentiment", data)
    said = [{"id": str(n), "label": "positive"} for n in (1, 2, 3)]
    assert evalkit.evaluate(made, said)["accuracy"].value == pytest.approx(2 / 3)


def test_languages_of_variants_are_those_of_the_benchmark(tmp_path: Path) -> None:
    made = choices(tmp_path)
    languages = {"language": {"en": {}, "th": {}}}
    found = check_benchmark(
        {**made.benchmark.model_dump(exclude_unset=True), "variants": languages}, "x"
    )
    several = dataset_class(found, tmp_path / "bench.yaml")
    assert several.languages == ["en", "th"]
    assert several(several.Parameters(language="th")).languages == ["th"]


def test_splits_are_made_of_several_files_and_hashed(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(json.dumps({**ROWS[0], "id": "9"}) + "\n")
    path = {"dev": "b.jsonl", "test": ["rows.jsonl", "b.jsonl"]}
    choices(tmp_path)
    names = ("rows.jsonl", "b.jsonl")
    hashes = {n: hashlib.sha256((tmp_path / n).read_bytes()).hexdigest() for n in names}
    made = choices(tmp_path, path=path, sha256=hashes)()
    assert (made.splits, made.default_split) == (("dev", "test"), "test")
    assert [row["uid"] for row in made.load("test")] == ["1", "2", "3", "9"]
    both = choices(tmp_path, path=path, splits={"all": ["test", "dev"]})()
    assert len(both.load("all")) == 5


def test_the_hub_is_read_from_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hub" / "owner" / "sums" / "en"
    folder.mkdir(parents=True)
    (folder / "validation.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path))
    hub = {"hub": "owner/sums", "config": "en", "splits": {"test": "validation"}}
    assert [row["uid"] for row in choices(tmp_path, **hub)().load("test")] == ["1"]


def test_a_sample_is_of_the_split_that_is_evaluated(tmp_path: Path) -> None:
    (tmp_path / "x-train.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    path = {"test": "rows.jsonl", "train": "x-{split}.jsonl"}
    made = choices(tmp_path, path=path, sample={"count": 2})()
    assert [len(made.load(split)) for split in ("test", "train")] == [2, 1]
    with pytest.raises(evalkit.DataError, match="at most 3, the number of examples"):
        choices(tmp_path, sample={"count": 4})().load("test")


def test_an_answer_is_extracted_before_it_is_read(tmp_path: Path) -> None:
    task = {"input": {"q": "text"}, "answer": "number"}
    stored = [{**row, "k": f"#### {row['a']}"} for row in ROWS]
    data = {"answer": "k", "answer_extract": "regex:#### (.+)"}
    made = benchmark(tmp_path, task, data, stored)().load("test")
    assert [row["answer"] for row in made] == [4, 4, 6]
    stored[1]["k"] = ["#### 1"]
    with pytest.raises(
        evalkit.DataError, match=r"2: data.answer_extract: .* \['#### 1"
    ):
        benchmark(tmp_path, task, data, stored)().load("test")


def test_the_headline_names_the_default_extractor_and_a_judge(tmp_path: Path) -> None:
    data = {"fields": {"question": "q"}, "choices": ["a", "b"]}
    keys: dict[str, Any] = {"extract": {"strict": "after:A:|choice", "loose": "choice"}}
    keys["headline"] = {"metric": "accuracy", "extract": "loose"}
    made = benchmark(tmp_path, CHOICE, {**data, "answer": {"index": "gold"}}, **keys)
    assert made.Parameters().extract == "loose"
    assert made(made.Parameters()).extract == "choice"
    assert made(made.Parameters(extract="strict")).perf_metric == "accuracy"
    keys = {"judges": {"size": {"model": "echo"}}}
    keys["headline"] = {"metric": "judge-mean", "judge": "size"}
    made = benchmark(tmp_path, CHOICE, {**data, "answer": {"index": "gold"}}, **keys)
    assert made().perf_metric == "judge-mean:of=size"


@pytest.mark.parametrize("extract", [None, "labels"])
def test_the_null_label_counts_as_unparsed(extract: Any, tmp_path: Path) -> None:
    task = {"input": {"q": "text"}, "answer": "label", "labels": ["4", "6", "none"]}
    keys = {"null_label": "none", **({"extract": extract} if extract else {})}
    made = benchmark(tmp_path, task, {"answer": "a"}, **keys)
    said = [{"id": str(n), "label": label} for n, label in enumerate("46", start=1)]
    said.append({"id": "3", "label": "none"})
    counts = evalkit.evaluate(made, said, model="m").record.counts
    assert (counts.scored, counts.unparsed) == (3, 1)


def test_headline_metrics_extractors_and_null_label_are_those_of_the_file(
    tmp_path: Path,
) -> None:
    data = {"fields": {"question": "q"}, "choices": ["a", "b"]}
    data["answer"] = {"index": "gold"}
    made = benchmark(
        tmp_path,
        CHOICE,
        data,
        extract={"strict": "after:Answer:|choice", "loose": "choice"},
        null_label="none",
        headline={"metric": "accuracy", "normalise": {"low": "chance"}},
        metrics=[
            "accuracy",
            {"metric": "exact-match", "options": {"ignore_case": True}},
            {"metric": "quasi-exact-match", "extract": "strict"},
        ],
    )
    loose = made(made.Parameters(extract="loose"))
    assert loose.perf_metric == "above-chance:chance=0.5,metric=accuracy"
    assert loose.eval_metrics == ["accuracy", "exact-match:ignore_case=true"]
    said = [{"id": "1", "answer": "Answer: A"}, {"id": "2", "answer": "5"}]
    said.append({"id": "3", "answer": "none"})
    results = {}
    for name in ("strict", "loose"):
        result = evalkit.evaluate(made(made.Parameters(extract=name)), said, model="m")
        results[name] = result["accuracy"].value, result.record.counts.unparsed
    assert results == {
        "strict": (pytest.approx(1 / 3), 2),
        "loose": (pytest.approx(2 / 3), 1),
    }


def test_a_prompt_with_jinja_and_shots_is_asked(tmp_path: Path) -> None:
    path = {"test": "rows.jsonl", "train": "train.jsonl"}
    (tmp_path / "train.jsonl").write_text(json.dumps({**ROWS[0], "q": "1 + 3"}) + "\n")
    made = benchmark(
        tmp_path,
        {"input": {"question": "text"}, "answer": "text"},
        {"path": path, "id": "#row", "fields": {"question": "q"}, "answer": "a"},
        templates="jinja",
        prompt={
            "query": "{{ question|replace('+', 'plus') }}",
            "cue": "=",
            "shots": {"count": {"instruct": 0, "base": 1}},
        },
    )
    asked = predict(made, "echo")
    assert asked.rows[0]["answer"] == "2 plus 2\n="
    base = predict(made, "echo", model_kind="base")
    assert base.rows[0]["answer"] == "1 plus 3\n= 4\n\n2 plus 2\n="


def test_rows_of_a_function_replace_the_data(tmp_path: Path) -> None:
    keys = {"benchmark": 1, "name": "sums", "version": "1", "task": CHOICE}
    data = {"hub": "owner/sums", "choices": "choices", "answer": {"letter": "k"}}
    found = check_benchmark({**keys, "data": data}, "sums")
    rows = [{"id": 1, "question": "?", "choices": ["a", "b"], "k": "B"}]
    made = dataset_class(found, tmp_path / "x.yaml", lambda _split: rows)
    assert made().load("test")[0]["answer"] == "b"


def test_a_clustered_and_aggregated_benchmark(tmp_path: Path) -> None:
    data = {"fields": {"question": "q"}, "choices": ["a", "b"], "cluster": "doc"}
    data |= {"answer": {"index": "gold"}, "tags": {"lang": "lang"}}
    made = benchmark(tmp_path, CHOICE, data, aggregate="macro:lang")
    said = [{"id": str(n), "answer": "4"} for n in (1, 2, 3)]
    result = evalkit.evaluate(made, said, model="m")
    assert result["accuracy"].value == pytest.approx(1 / 3)
    assert result["accuracy"].n_clusters == 2
    headline = result.headline
    assert headline.value == pytest.approx((1 / 2 + 0) / 2)


JUDGE = """
from evalkit_models_base import Model, text_reply

class Verdict(Model):
    abilities = ("text",)

    def generate(self, requests):
        return [text_reply(f"<score>{len(str(r.prompt))}</score>") for r in requests]
"""


@pytest.mark.parametrize("task", [{"input": {"q": "text"}, "answer": "text"}, "qa"])
def test_a_judge_of_the_file_scores_responses(task: Any, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(JUDGE)
    judge = {
        "model": f"{tmp_path / 'judge.py'}:Verdict",
        "rubric": "?",
        "prompt": {"user": "{rubric}{response}"},
        "verdict": {"kind": "number", "range": [0, 9], "tag": "score"},
    }
    data = {"fields": {"question": "q", "context": "a"}} if task == "qa" else {}
    data |= {"answer": "a"} if task == "qa" else {}
    metrics = [{"metric": "judge-mean", "judge": "size"}]
    made = benchmark(tmp_path, task, data, judges={"size": judge}, metrics=metrics)
    said = [{"id": str(n), "answer": "4"} for n in (1, 2)]
    said.append({"id": "3", "answer": "6" if task == "qa" else "46"})
    result = evalkit.evaluate(made, said, model="m")
    expected = 2 if task == "qa" else 7 / 3
    assert result["judge-mean:of=size"].value == pytest.approx(expected)


def test_perturbations_change_what_a_model_is_sent(tmp_path: Path) -> None:
    declared = [{"name": "keyboard-typos", "options": {"prob": 0.2}, "seed": 3}]
    task = {"input": {"q": "text", "n": "integer?"}, "answer": "text"}
    made = benchmark(tmp_path, task, {"answer": "a"}, perturbations=declared)
    name = "keyboard-typos:prob=0.2"
    expected = [{"perturbations": [name], "variants": 1, "seed": 3}]
    assert made().perturbations == expected
    assert made().task.perturb_fields == ("q",)
    prompt = {"query": "Q: {{ q }}"}
    keys = {"templates": "jinja", "prompt": prompt}
    assert benchmark(tmp_path, task, {}, **keys)().task.perturb_fields == (
        "prompt_query",
    )
