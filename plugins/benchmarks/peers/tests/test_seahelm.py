"""Task folders of SEA-HELM as datasets."""

from __future__ import annotations

import json
import math
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import evalkit
from evalkit import DataError
from evalkit.catalog import is_file_name
from evalkit_benchmarks_peers import seahelm
from evalkit_benchmarks_peers.seahelm_config import (
    SeahelmTask,
    config_files,
    find_task,
    read_config,
)
from evalkit_models_base import Continuation, Model, Reply, predict, text_reply

CONFIG = """
mood:
  metadata:
    version: 1.10
    changes:
      v1.10: Other words in the prompt
  name: sentiment_analysis
  competency: nlu
  aggregation_group: moods
  metric_file: src/metrics/f1_acc_metric.py
  metric_class: F1AccMetric
  metric: normalized_accuracy
  fewshot_num_examples: {instruct: 0, base: 2}
  languages:
    id:
      filepath: seahelm_tasks/mood/data/id.jsonl
      example_filepath: seahelm_tasks/mood/data/id_examples.jsonl
      max_tokens: 16
      prompt_template:
        preamble: |-
          Apa sentimennya?{fewshot_examples}
          "{answer_tag} ANSWER"
        task_template: |-
          Kalimat: {text}
        answer_template: "{answer_tag} {label}"
        answer_tag: "Jawaban:"
    th:
      filepath: seahelm_tasks/mood/data/id.jsonl
      example_filepath: null
      max_tokens: 32
      prompt_template: ${mood.languages.id.prompt_template}
mood-logprobs:
  metadata: ${mood.metadata}
  name: mood-logprobs
  competency: ${mood.competency}
  metric_file: src/metrics/logprob_metric.py
  metric_class: LogProbMetric
  metric: average_cumulative_probabilities
  use_logprobs: "true"
  max_n_runs: 1
  fewshot_num_examples: ${mood.fewshot_num_examples}
  languages: ${mood.languages}
"""
LABELS = ["Positif", "Negatif", "Netral"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a repository with one task folder."""
    folder = tmp_path / "seahelm_tasks" / "mood"
    (folder / "data").mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG, "utf-8")
    for name, count in (("id", 9), ("id_examples", 4)):
        rows = [
            {"id": n, "label": LABELS[n % 3], "prompts": [{"text": f"{name} {n}"}]}
            for n in range(count)
        ]
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / "data" / f"{name}.jsonl").write_text(lines, "utf-8")
    return tmp_path


def dataset_of(reference: str) -> Any:
    cls = seahelm.read(reference).plugin
    axes = cls.Parameters.model_fields
    lang = reference.rpartition("/")[2]
    return cls(cls.Parameters(language=lang) if "language" in axes else None)


class Keeping(Model):
    """Keeps what it is asked."""

    abilities = ("text", "chat")

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.texts, self.asked = texts, list[Any]()

    def generate(self, requests: list[Any]) -> list[Any]:
        self.asked += requests
        return [text_reply(self.texts[len(self.asked) % 2]) for _ in requests]


class Scoring(Model):
    """Gives each label a probability of its own."""

    abilities = ("text", "chat", "continuations")

    def __init__(self) -> None:
        super().__init__()
        self.asked = list[Any]()

    def generate(self, requests: list[Any]) -> list[Reply]:
        self.asked += requests
        return [Reply(continuations=self._scored(each)) for each in requests]

    def _scored(self, request: Any) -> list[Continuation]:
        found = {" Positif": 0.0, " Negatif": math.log(0.3), " Netral": math.log(0.2)}
        texts = request.continuations
        return [Continuation(logprob=found[text], tokens=1) for text in texts]


def headline_of(dataset: Any, rows: Any, **options: Any) -> float:
    result = evalkit.evaluate(dataset, rows, **options)
    assert result.headline is not None
    assert result.headline.value is not None
    return result.headline.value


def messages_of(dataset: Any, **options: Any) -> list[Any]:
    model = Keeping(["Jawaban: Positif"] * 2)
    predict(dataset, model, **options)
    return [[each.model_dump() for each in request.messages] for request in model.asked]


def test_a_task_is_a_dataset_with_languages_as_variants(root: Path) -> None:
    found = seahelm.read(f"seahelm:{root}#mood")
    assert found.name == "sea-mood"
    assert found.files == (root / "seahelm_tasks" / "mood" / "config.yaml",)
    cls = found.plugin
    assert cls.version == "1.10"  # as it is written
    assert cls.changes == {"1.10": "Other words in the prompt"}
    assert cls.tags == ["competency:nlu", "aggregation-group:moods"]
    dataset = cls(cls.Parameters(language="id"))
    assert [*dataset.prompts] == ["instruct", "base", "reasoning"]
    limits = {k: each["generate"]["max_tokens"] for k, each in dataset.prompts.items()}
    assert limits == {"instruct": 16, "base": 16, "reasoning": 20_016}
    assert dataset.prompts["base"]["generate"]["stop"] == ["\n\n"]
    assert list(cls(cls.Parameters(language="th")).languages) == ["th"]


def test_a_task_is_evaluated_by_its_reference(root: Path) -> None:
    reference = f"seahelm:{root}#mood/id"
    assert not is_file_name(reference)
    rows = [{"id": str(n), "answer": "Positif"} for n in range(9)]
    result = evalkit.evaluate(f"{reference}:language=id", rows)
    assert result.dataset == "sea-mood:language=id"
    assert result["balanced-accuracy"].value == pytest.approx(1 / 3)


def test_prompts_and_shots(root: Path) -> None:
    dataset = dataset_of(f"{root}#mood/id")
    first = 'Apa sentimennya?\n"Jawaban: ANSWER"\n\nKalimat: id'
    assert messages_of(dataset)[0] == [{"role": "user", "content": f"{first} 0"}]
    base = {**dataset.prompts["base"], "form": "chat"}
    assert messages_of(dataset, prompt=base)[8] == [
        {"role": "user", "content": f"{first}_examples 0"},
        {"role": "assistant", "content": "Jawaban: Positif"},
        {"role": "user", "content": "Kalimat: id_examples 1"},
        {"role": "assistant", "content": "Jawaban: Negatif"},
        {"role": "user", "content": "Kalimat: id 8"},
    ]


def test_shots_may_be_fewer_than_asked_for(root: Path) -> None:
    changed(root, "base: 2", "base: 9")
    dataset = dataset_of(f"{root}#mood/id")
    prompt = {**dataset.prompts["base"], "form": "chat"}
    predicted = predict(dataset, Keeping(["Positif"] * 2), prompt=prompt)
    assert "4 of 9 shots shown, as there are" in predicted.notices


def test_responses_are_read_and_scored_as_by_seahelm(root: Path) -> None:
    dataset = dataset_of(f"{root}#mood/id")
    said = ["Jawaban: **positif**, as", "netral.", "I like Netral"] * 3
    rows = [{"id": str(n), "answer": text} for n, text in enumerate(said)]
    result = evalkit.evaluate(dataset, rows)
    assert result["balanced-accuracy"].value == pytest.approx(1 / 3)
    assert headline_of(dataset, rows) == pytest.approx(0)
    extraction: Any = result.record.extraction
    assert (extraction.responses, extraction.unique, extraction.unparsed) == (9, 3, 3)
    part = headline_of(dataset, rows[:1], limit=1)
    assert part == pytest.approx(1)  # chance is that of all labels


def test_logprob_twins_score_the_labels_behind_the_tag(root: Path) -> None:
    dataset = dataset_of(f"{root}#mood-logprobs/id")
    prompt = dataset.prompts["instruct"]
    assert (prompt["method"], prompt["cue"], prompt["form"]) == (
        *("separate", "Jawaban:"),
        "chat",
    )
    assert dataset.perf_metric == "seahelm-logprob:of=answer"
    rows = [
        {
            "id": str(n),
            "responses": [{"answer": each, "logprob": -0.5} for each in LABELS],
        }
        for n in range(9)
    ]
    assert headline_of(dataset, rows) == pytest.approx(2.718281828459045**-0.5)


def changed(root: Path, old: str, new: str) -> str:
    file = root / "seahelm_tasks" / "mood" / "config.yaml"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    return f"{root}#mood"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "F1AccMetric",
            "TranslationMetric",
            "11: mood.metric_class: 'TranslationMetric': ",
        ),
        (
            "F1AccMetric",
            "MyMetric",
            "11: mood.metric_class: 'MyMetric' has no counterpart",
        ),
        ("normalized_accuracy", "bleu", "12: mood.metric: no counterpart of 'bleu'"),
        ("  max_n_runs", "  max_runs", "40: mood-logprobs.max_runs: unknown key. Did"),
        ("max_tokens: 16", "max_token: 16", "18: mood.languages.id.max_token: unknown"),
        ("{text}", "{text!r}", "23: mood.languages.id.prompt_template.task_template: "),
        ("{text}", "{text", "23: mood.languages.id.prompt_template.task_template: inv"),
        ("${mood.metadata}", "${oc.env:HOME}", "33: mood-logprobs.metadata: resolvers"),
        ("${mood.metadata}", "${mood.nothing}", "33: mood-logprobs.metadata: "),
        ("metadata:", "metadata: [", "5: invalid YAML: "),
        ("seahelm_tasks/mood/data/id.", "me/data.", "16: mood.languages.id.filepath: "),
        (
            "nlu",
            "nlu\n  task_modality: vision",
            "9: mood.task_modality: models are sent",
        ),
    ],
)
def test_what_cannot_be_expressed_is_refused_by_line_and_key(
    root: Path, old: str, new: str, problem: str
) -> None:
    changed(root, old, new)
    name = "mood-logprobs" if "mood-logprobs" in problem else "mood"
    with pytest.raises(DataError) as refused:
        seahelm.read(f"{root}#{name}")
    assert f"config.yaml:{problem}" in str(refused.value)


def test_the_spelling_of_the_guides_outline(root: Path) -> None:
    path = changed(root, "task_template", "template")
    changed(root, "answer_template", "fewshot_label")
    changed(root, "nlu", "nlu\n  temperature: 0.5\n  null_label: Netral")
    dataset = dataset_of(f"{path}/id")
    assert dataset.prompts["instruct"]["query"] == "Kalimat: {text}"
    assert dataset.prompts["base"]["generate"]["temperature"] == 0.5
    rows = [{"id": str(n), "answer": "Jawaban: Netral"} for n in range(9)]
    extraction: Any = evalkit.evaluate(dataset, rows).record.extraction
    assert extraction.ok == 0


def test_names_that_are_not_found(root: Path) -> None:
    for name, problem in (
        ("#mod", "'mod': task not found. Did you mean 'mood'?"),
        ("", "2 tasks, expected one. Name a task behind the path: #TASK"),
        ("#mood/xx", "unknown language 'xx'. Languages: id, th"),
    ):
        with pytest.raises(DataError) as refused:
            seahelm.read(f"{root}{name}")
        assert problem in str(refused.value)
    with pytest.raises(DataError, match=r"no config\.yaml found"):
        seahelm.read(f"{root}/nowhere")


BASE = """
from src.dataloaders.base_dataloader import AbstractDataloader


class SeaHelmMetric:
    def __init__(self, dataloader, task_config):
        self.dataloader, self.task = dataloader, task_config.task_name
        self.postprocessed_response_column = "cleaned_responses"

    def normalize_score(self, score, low, high):
        return (score - low) / (high - low)

    def evaluate_responses(self):
        frame = self.dataloader.dataframe
        frame["cleaned_responses"] = frame["responses"].map(lambda said: said[0])
        return {self.task: self.calculate_metrics()}
"""
METRIC = """
from src.metrics.seahelm_metric import SeaHelmMetric

class LengthMetric(SeaHelmMetric):
    def __init__(self, dataloader, task_config):
        super().__init__(dataloader=dataloader, task_config=task_config)
        self.most = task_config.config["most"]

    def calculate_metrics(self):
        said = self.inference_df[self.postprocessed_response_column]
        short = sum(len(each) <= self.most for each in said)
        share = self.normalize_score(short / len(said), 0, 1)
        nulls = int((said == "").sum())
        return {"short": 100 * share, "null_count": nulls}, self.inference_df
"""


def test_a_metric_class_of_the_users(root: Path) -> None:
    pytest.importorskip("pandas")
    (root / "seahelm_tasks" / "mood" / "short.py").write_text(textwrap.dedent(METRIC))
    (root / "src" / "metrics").mkdir(parents=True)
    (root / "src" / "metrics" / "seahelm_metric.py").write_text(BASE)
    changed(root, "src/metrics/f1_acc_metric.py", "seahelm_tasks/mood/short.py")
    changed(root, "normalized_accuracy", "short\n  most: 7")
    changed(root, "F1AccMetric", "LengthMetric")
    dataset = dataset_of(f"{root}#mood/id")
    said = ["", "short", "much longer"] * 3
    rows = [{"id": str(n), "answer": text} for n, text in enumerate(said)]
    result = evalkit.evaluate(dataset, rows)
    assert result["sea-mood:language=id#short"].value == pytest.approx(200 / 3)
    assert result["sea-mood:language=id#null_count"].value == 3


# --- the published cases


@pytest.fixture
def checkout() -> Path:
    folder = os.environ.get("EVALKIT_SEAHELM")
    if not folder:
        pytest.skip("EVALKIT_SEAHELM is not set")
    return Path(folder)


def cases_of(oracles: Path, *groups: str) -> list[Any]:
    lines = (oracles / "seahelm.jsonl").read_text("utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    return [case for case in cases if case["group"] in groups]


@pytest.mark.known_result
def test_how_many_tasks_load(checkout: Path) -> None:
    loaded, refused = 0, []
    for path in config_files(checkout):
        file = read_config(path)
        for name in file.values:
            task = SeahelmTask(file, name, checkout)
            try:
                langs = list(task.config["languages"])
                evalkit_name = seahelm.benchmark_of(task, langs)["name"]
                assert evalkit_name.startswith("sea-")
                loaded += 1
            except DataError as error:
                refused.append(str(error))
    assert loaded >= 380
    assert loaded + len(refused) == 487
    assert all(": " in each and "config.yaml:" in each for each in refused)


RESPONDERS = {
    "gold": "{tag} {gold}",
    "gold_bare": "{gold}",
    "gold_bold": "**{tag}** {gold}",
    "gold_paren": "{tag} ({gold})",
    "first_label": "{tag} {first}",
    "no_answer": "tidak tahu",
}
SCORES = {
    "accuracy": "balanced-accuracy",
    "macro_f1": "seahelm-macro-f1",
    "null_weighted_f1": "seahelm-null-weighted-f1",
    "normalized_accuracy": "above-chance:chance=choices",
    "normalized_f1": "seahelm-qa",
    "exact_match": "seahelm-qa#exact-match",
    "found_in_prediction": "seahelm-qa#found",
}
BETTER = {"e2e-035": 100.0, "e2e-036": 100 / 9, "e2e-037": 100.0, "e2e-038": 100.0}
"""Headlines where SEA-HELM takes chance from some rows, or fails."""


@pytest.mark.known_result
@pytest.mark.slow
def test_whole_evaluations(checkout: Path, oracles: Path) -> None:
    seen = set()
    for case in cases_of(oracles, "e2e"):
        given, wanted = case["input"], (case["output"] or {}).get("task_result", {})
        if "data" not in given:
            continue
        dataset = dataset_of(f"{checkout}#{given['task']}/{given['lang']}")
        rows = dataset.load("test")
        golds = [row["answer"] for row in rows]
        golds = [each[0] if isinstance(each, list) else each for each in golds]
        form = RESPONDERS[given["responder"]]
        first = min(golds)
        predictions = [
            {
                "id": row["uid"],
                "answer": form.format(tag=dataset.block.tag, gold=gold, first=first),
            }
            for row, gold in zip(rows, golds, strict=True)
        ]
        limit = min(given.get("limit", len(rows)), len(rows))
        result = evalkit.evaluate(
            dataset, predictions[:limit], limit=limit if limit < len(rows) else None
        )
        values = {key: wanted[key] for key in SCORES if key in wanted}
        if case["id"] in BETTER:
            values["normalized_accuracy"] = BETTER[case["id"]]
        for key, value in values.items():
            name = SCORES[key]
            metric = next(
                each for each in result.scores if same_metric(each.metric, name)
            )
            assert metric.value is not None
            assert 100 * metric.value == pytest.approx(value, abs=1e-9), (
                case["id"],
                key,
            )
        if "null_count" in wanted:
            assert sum(result.record.unparsed.values()) == wanted["null_count"]
        seen.add(case["id"])
    assert len(seen) == 26


def same_metric(found: str, name: str) -> bool:
    return found.replace(":words=jieba", "").replace(":words=newmm", "") == name


def task_with(root: Path, config: Mapping[str, Any]) -> SeahelmTask:
    file = root / "seahelm_tasks" / "mood" / "config.yaml"
    file.write_text(yaml.safe_dump({"mood": config}), "utf-8")
    return find_task(file, "mood")


@pytest.mark.known_result
def test_prompts_of_the_cases(root: Path, oracles: Path) -> None:
    data = root / "seahelm_tasks" / "mood" / "data"
    for case in cases_of(oracles, "prompt"):
        given = case["input"]
        shown = given.get("examples") or []
        row = {"id": "r", "label": "A", "prompts": [given["values"]]}
        (data / "id.jsonl").write_text(json.dumps(row), "utf-8")
        lines = "\n".join(json.dumps(each) for each in shown)
        (data / "id_examples.jsonl").write_text(lines, "utf-8")
        block = {
            "filepath": "seahelm_tasks/mood/data/id.jsonl",
            "example_filepath": "seahelm_tasks/mood/data/id_examples.jsonl",
            "prompt_template": given["prompt_template"],
        }
        task_with(
            root,
            {
                "metric": "normalized_accuracy",
                "metric_class": "F1AccMetric",
                "fewshot_num_examples": {"instruct": len(shown)},
                "languages": {"id": block},
            },
        )
        reference = f"{root}#mood"
        if case["id"] == "prompt-007":  # a value that a row lacks
            with pytest.raises(DataError, match="field text: the value is missing"):
                messages_of(dataset_of(reference))
            continue
        [messages] = messages_of(dataset_of(reference))
        if case["verdict"] == "match":
            assert messages == case["output"], case["id"]
        else:  # SEA-HELM fails
            assert case["raises"] is not None
            assert (
                messages[-1]["content"].endswith(str(given["values"]["text"]))
                or "Answer:" in messages[-1]["content"]
            )


@pytest.mark.known_result
def test_settings_of_the_cases(root: Path, oracles: Path) -> None:
    for case in cases_of(oracles, "taskconfig", "fewshot"):
        given = case["input"]
        kind = "base" if given.get("is_base_model") else "instruct"
        kind = "reasoning" if given.get("is_reasoning_model") else kind
        template = {
            "preamble": "",
            "task_template": "{text}",
            "answer_template": given.get("answer_template", "{answer_tag} {label}"),
            "answer_tag": "Answer:",
        }
        is_asked = given.get("use_logprobs", False)
        block = {
            "filepath": "seahelm_tasks/mood/data/id.jsonl",
            "example_filepath": "seahelm_tasks/mood/data/id_examples.jsonl",
            "max_tokens": given.get("max_tokens", 32),
            "prompt_template": template,
        }
        keys = {"average_cumulative_probabilities", "normalized_accuracy"}
        config = {
            "metric": max(keys) if not is_asked else min(keys),
            "metric_class": "LogProbMetric" if is_asked else "F1AccMetric",
            "fewshot_num_examples": {"instruct": 0, "base": 0},
            "languages": {"id": block},
        }
        if case["group"] == "fewshot":
            count = given["fewshot_num_examples"]
            config["fewshot_num_examples"] = count
            if count is None:
                del config["fewshot_num_examples"]
        task_with(root, config)
        if "judge" in given or "max_n_runs" in given:
            continue  # test_seahelm_judges.py; a run is one here
        prompts = dataset_of(f"{root}#mood").prompts
        prompt = prompts.get(kind, prompts["instruct"])
        if case["group"] == "fewshot":
            shown = prompt.get("shots", {}).get("count", 0)
            assert shown == (case["output"] or 0), case["id"]
            continue
        generate, more = case["output"]
        if is_asked:
            assert prompt["separators"]["answer"] == more["answer_tag_separator"]
            assert prompt["cue"] == more["answer_tag"]
        else:
            assert prompt["generate"]["max_tokens"] == generate["max_tokens"]
            assert prompt["generate"].get("stop") == generate.get("stop")
