"""What is wrong in a benchmark file is named with file, line and what to do."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalkit.errors import EvalkitError
from evalkit_benchmarks_declared import dataset_class, read_benchmark

BENCH: dict[str, Any] = {
    "benchmark": 1,
    "name": "towns",
    "version": "1",
    "templates": "jinja",
    "task": {"input": {"question": "text"}, "answer": "choice"},
    "data": {
        "path": "towns.jsonl",
        "id": "key",
        "fields": {"question": "{{ q }}"},
        "choices": ["a", "b"],
        "answer": {"index": "gold"},
        "tags": {"level": "meta.level"},
    },
    "prompt": {"query": "{{ question }}", "cue": "Answer:"},
    "extract": {"strict": "after:Answer:|choice", "loose": "choice"},
    "metrics": ["accuracy"],
    "variants": {"language": {"en": {}, "th": {"data.sample": {"count": 1}}}},
}
ROW = {"key": "k1", "q": "Of Italy?", "a": "Rome", "b": "Bonn", "gold": 0}
ROW |= {"meta": {"level": "easy"}}
LABELS = {"input": {"question": "text"}, "answer": "label", "labels": ["x", "y"]}
GONE = object()

# what is changed (a dotted path, and the value), what the message says after the key
SCHEMA: list[tuple[str, Any, str]] = [
    ("benchmark", GONE, "benchmark: required key is missing"),
    ("benchmark", 2, "benchmark: input should be 1, got 2"),
    ("name", GONE, "name: required key is missing"),
    ("name", "Two Towns", "name: string should match pattern"),
    ("name", "a" * 70, "name: string should have at most 62 characters"),
    ("version", 1.1, "version: must be a text, got 1.1. Put it in quotes"),
    ("version", 2, "version: must be a text, got 2. Put it in quotes"),
    ("version", GONE, "version: required key is missing"),
    ("verison", "1", "verison: unknown key. Did you mean 'version'?"),
    ("zzz", 1, "zzz: unknown key. Keys: benchmark, name, version"),
    ("languages", "en", "languages: input should be a valid list, got 'en'"),
    ("languages", [True], "languages.0: must be a text, got True. Put it in quotes"),
    ("templates", "jinja2", "templates: input should be 'braces' or 'jinja'"),
    ("task", GONE, "task: required key is missing"),
    ("task.answer", "letter", "task.answer: input should be 'label', 'choice'"),
    ("task.labels", ["a", "b"], "task: an answer of the type 'choice' has no labels"),
    ("task.input", {}, "task.input: dictionary should have at least 1 item"),
    ("task.input.question", "string", "task.input.question: string should match"),
    ("task.inputs", {}, "task.inputs: unknown key. Did you mean 'input'?"),
    ("task.answer", "label", "task: an answer of the type 'label' needs labels"),
    ("data", GONE, "data: required key is missing"),
    ("data.path", GONE, "data: name exactly one of path and hub, got none"),
    ("data.hub", "a/b", "data: name exactly one of path and hub, got both"),
    ("data.revision", "main", "data: revision is for data with hub"),
    ("data.splitt", "test", "data.splitt: unknown key. Did you mean 'split'?"),
    ("data.format", "xlsx", "data.format: input should be 'jsonl'"),
    ("data.answer", {"indx": "gold"}, "data.answer.indx: input should be 'index'"),
    (
        "data.answer",
        {"index": "g", "letter": "l"},
        "data.answer: dictionary should have",
    ),
    ("data.sample", {"count": 0}, "data.sample.count: input should be greater than"),
    ("data.sample", {"count": "1"}, "data.sample.count: input should be a valid int"),
    ("data.sample", {"seed": 1}, "data.sample.count: required key is missing"),
    ("data.labels", {"a": 1}, "data.labels.a: must be a text, got 1"),
    ("data.tags", ["level"], "data.tags: input should be a valid dictionary"),
    ("data.fields", {"question": 3}, "data.fields.question: must be a text, got 3"),
    ("data.path", 3, "data.path: must be a text, got 3"),
    ("prompt.shots", {"count": -1}, "prompt.shots.count: input should be greater"),
    ("prompt.shots", {"draw": "helms"}, "prompt.shots.draw: input should be 'first'"),
    ("prompt.shots", {"conut": 1}, "prompt.shots.conut: unknown key. Did you mean"),
    ("prompt.shots", {"source": "shots.jsonl"}, "prompt.shots.source: string should"),
    ("prompt.by_kind", {"chat": {}}, "prompt.by_kind.chat: input should be 'base'"),
    ("metrics", "accuracy", "metrics: input should be a valid list"),
    ("metrics", [{"name": "accuracy"}], "metrics.0.metric: required key is missing"),
    (
        "metrics",
        [{"metric": "a", "extract": "x"}],
        "metrics.0.extract: unknown name 'x'",
    ),
    (
        "metrics",
        [{"metric": "a", "judge": "j"}],
        "metrics.0.judge: unknown name 'j'. Names: none",
    ),
    (
        "headline",
        {"metric": "a", "extract": "x"},
        "headline.extract: unknown name 'x'. Names",
    ),
    ("headline", {"metric": "a", "normalise": {"lo": 0}}, "headline.normalise.lo: un"),
    ("headline", {"metric": "a", "normalise": {"low": 1, "high": 1}}, "must differ"),
    ("variants.language", {}, "variants.language: dictionary should have at least 1"),
    ("variants.language", {"a,b": {}}, "string should match pattern"),
    ("variants.language.th", {"name": "x"}, "variants.language.th.name: the same for"),
    ("data", {"hub": "a/b", "sha256": "0"}, "data: sha256 is for data with path"),
    ("trials", 0, "trials: input should be greater than or equal to 1"),
    ("variants", ["th"], "variants: input should be a valid dictionary"),
    ("aggregate", "mean:language", "aggregate: string should match pattern"),
    ("perturbations", [{"name": "typos", "variant": 2}], "perturbations.0.variant: un"),
    ("variants.language.th", {"data.sample": {"count": 0}}, "data.sample.count: input"),
    ("variants.language.th", {"data.sampel": {"count": 1}}, "data.sampel: unknown key"),
    ("variants.language.th", {"version": 2}, "version: must be a text, got 2"),
]
EXPRESSIONS: list[tuple[str, Any, str]] = [
    ("data.answer", "gold", "data.answer: an option is named by its index, letter or"),
    ("data.fields.question", "{{ q", "data.fields.question: invalid Jinja template"),
    ("data.tags.level", "{% if %}", "data.tags.level: invalid Jinja template"),
    ("data.split", "dev", "data.split: unknown split 'dev'. Splits: test"),
    ("data.id", "a..b", "data.id: invalid expression 'a..b'"),
    ("requires", ["evalkit-nothing"], "requires: evalkit-nothing: No package"),
    ("requires", ["evalkit-core>=99"], "requires: evalkit-core>=99: got version"),
    ("requires", ["evalkit core!"], "requires: evalkit core!: "),
    ("variants.extract", {"a": {}}, "variants.extract: the key `extract` makes this"),
    ("aggregate", "macro:langs", "aggregate: unknown name 'langs'. Names: language"),
]
ROWS: list[tuple[str, Any, str]] = [
    ("variants.language.th", {"extract": "choice"}, "variants: cannot change extra"),
    (
        "data.splits",
        {"test": "x", "b": "y"},
        "data.path: must name {{split}}, as there",
    ),
    ("data.sha256", {"town.jsonl": "0"}, "towns.jsonl: must be declared, got"),
    ("data.path", "nowhere.jsonl", "data.path: {folder}/nowhere.jsonl: file not found"),
    ("data.sha256", "0" * 64, "data.sha256: {folder}/towns.jsonl: must be 000"),
    ("data.id", GONE, "towns.jsonl:1: data.id: must be a text or an integer, got None"),
    ("data.id", "kee", "towns.jsonl:1: data.id: no column 'kee'. Columns: 'key'"),
    ("data.where", {"lang": "en"}, "towns.jsonl:1: data.where: no column 'lang'"),
    ("data.fields.question", "{{ x }}", ":1: data.fields.question: the Jinja template"),
    ("data.fields.question", "{{ q.__class__ }}", "attribute '__class__' of 'str'"),
    ("data.choices", "a", ":1: data.choices: must be of the type texts, got 'Rome'"),
    ("data.answer", {"index": "q"}, ":1: data.answer.index: no option has the index"),
    ("data.answer", {"letter": "q"}, ":1: data.answer.letter: no option has the let"),
    ("data.answer", {"text": "q"}, ":1: data.answer.text: no option has the text 'Of"),
    ("data.answer", {"index": "nil"}, ":1: data.answer.index: no column 'nil'"),
    ("data.sample", {"count": 9}, "data.sample.count: must be at most 1, the number"),
    (
        "data.where",
        {"meta.topic": "x"},
        "towns.jsonl:1: data.where: no column 'meta.to",
    ),
    (
        "data.answer_extract",
        "choice",
        ":1: data.answer_extract: the stored answer must",
    ),
    ("data.adapters", [{"kind": "Drop", "configuration": {"fields": 1}}], "adapters"),
]


def _changed(path: str, value: Any) -> dict[str, Any]:
    bench = copy.deepcopy(BENCH)
    *outer, last = path.split(".")
    inner = bench
    for key in outer:
        inner = inner[key]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return bench


def _write(folder: Path, bench: dict[str, Any]) -> Path:
    (folder / "towns.jsonl").write_text(json.dumps(ROW) + "\n")
    path = folder / "bench.yaml"
    path.write_text(yaml.safe_dump(bench, sort_keys=False))
    return path


def _load(path: Path) -> None:
    benchmark = dataset_class(read_benchmark(path), path)
    for language in ("en", "th"):
        benchmark(benchmark.Parameters(language=language)).load("test")


@pytest.mark.parametrize(("path", "value", "message"), [*SCHEMA, *EXPRESSIONS])
def test_a_mistake_is_named_with_file_and_line(
    path: str, value: Any, message: str, tmp_path: Path
) -> None:
    file = _write(tmp_path, _changed(path, value))
    with pytest.raises(EvalkitError) as caught:
        _load(file)
    problem = str(caught.value)
    assert message in problem
    assert problem.startswith(str(file))
    if value is not GONE:
        line = int(problem.removeprefix(f"{file}:").partition(":")[0])
        around = file.read_text().splitlines()[max(0, line - 4) : line]
        assert any(key in text for key in path.split(".")[-2:] for text in around)


@pytest.mark.parametrize(("path", "value", "message"), ROWS)
def test_a_row_that_cannot_be_used_is_named_with_its_line(
    path: str, value: Any, message: str, tmp_path: Path
) -> None:
    file = _write(tmp_path, _changed(path, value))
    with pytest.raises(EvalkitError) as caught:
        _load(file)
    assert message.format(folder=tmp_path) in str(caught.value)


def test_all_mistakes_of_a_file_are_named(tmp_path: Path) -> None:
    bench = _changed("data.splitt", "x")
    bench["version"] = 1
    with pytest.raises(EvalkitError) as caught:
        read_benchmark(_write(tmp_path, bench))
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("benchmark: 1\nname: a\nname: b\n", "'name' is there twice"),
        ("benchmark: [1\n", "line 2"),
        ("- a\n", "must be a mapping with the key `benchmark`"),
        ("", "says nothing"),
        ("name: &a x\nversion: *a\n", "alias"),
        ("name: no\n", "line 1: no is no text in YAML"),
        ("variants:\n  language:\n    no: {}\n", "line 3: no is no text in YAML"),
        ("variants: {language: {true: {}}}\n", "the key True is no text"),
    ],
)
def test_a_file_that_is_no_benchmark_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bench.yaml"
    path.write_text(text)
    with pytest.raises(EvalkitError, match=message):
        read_benchmark(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 2, "perturbations": [{"name": "x"}]}, "perturbations: trials and"),
        ({"prompt": None, "trials": 2}, "trials: there is no prompt. Write prompt"),
        ({"prompt": {"query": "?", "extract": "choice"}}, "prompt.extract: the key"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(EvalkitError, match=message):
        read_benchmark(_write(tmp_path, {**BENCH, **changes}))
