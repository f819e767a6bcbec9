"""Tasks of lm-evaluation-harness as benchmarks, on stand-ins of our own."""

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import DataError
from evalkit_benchmarks_peers.lm_eval import read
from evalkit_benchmarks_peers.lm_eval_files import task_files
from evalkit_models_base import Model, Predicted, Reply, Request, predict
from evalkit_models_base.requests import Completion, Continuation


class Scripted(Model):
    """Gives what a test says, and keeps what it is asked."""

    abilities = ("text", "continuations")

    def __init__(self, answers: Sequence[Any]) -> None:
        self.answers, self.asked = [*answers], list[Request]()

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        made = []
        for request in requests:
            answer = self.answers[len(self.asked)]
            self.asked.append(request)
            if request.continuations:
                scores = [Continuation(logprob=each, tokens=1) for each in answer]
                made.append(Reply(continuations=tuple(scores)))
            else:
                made.append(Reply(completions=(Completion(text=answer),)))
        return made


def write(
    folder: Path, text: str, rows: Any = (), shots: Any = (), code: str = ""
) -> str:
    """Write a task with its data; return its path."""
    for name, each in (("test", rows), ("dev", shots)):
        lines = "".join(json.dumps(row) + "\n" for row in each)
        (folder / f"{name}.jsonl").write_text(lines)
    (folder / "utils.py").write_text(code)
    data = "dataset_path: json\ndataset_kwargs:\n  data_files:\n"
    data += f"    test: {folder}/test.jsonl\n    dev: {folder}/dev.jsonl\n"
    base = "" if "dataset_path" in text else data
    (folder / "task.yaml").write_text(f"task: colors\n{base}{text}")
    return str(folder / "task.yaml")


def dataset(path: str, **parameters: Any) -> Any:
    plugin = read(path).plugin
    return plugin(plugin.Parameters(**parameters))


def ask(path: str, answers: Sequence[Any], **more: Any) -> tuple[Scripted, Predicted]:
    model = Scripted(answers)
    return model, predict(dataset(path), model, **more)


def scores(path: str, predicted: Predicted, **parameters: Any) -> dict[str, Any]:
    result = evalkit.evaluate(dataset(path, **parameters), predicted.rows)
    return {each.metric: each.value for each in result.scores if not each.tag}


CHOICE = """
output_type: multiple_choice
test_split: test
fewshot_split: dev
num_fewshot: 1
fewshot_config: {sampler: first_n}
description: "Say {it}.\\n\\n"
doc_to_text: "Q: {{question|trim}}\\nA:"
doc_to_choice: "{{[right, wrong]}}"
doc_to_target: "{{0 if first else 1}}"
metric_list:
  - {metric: acc, aggregation: mean}
  - {metric: acc_norm}
metadata: {version: 2.0}
tag: [colors]
"""
COLORS = [
    {"question": " sky? ", "right": "blue", "wrong": "greenish", "first": True},
    {"question": "grass?", "right": "blue", "wrong": "greenish", "first": False},
]
BLOOD = [{"question": "blood?", "right": "red", "wrong": "azure", "first": True}]


def test_options_are_compared_behind_one_prompt(tmp_path: Path) -> None:
    path = write(tmp_path, CHOICE, COLORS, BLOOD)
    model, predicted = ask(path, [[-3.0, -4.0], [-3.0, -4.0]])
    assert [each.prompt for each in model.asked] == [
        "Say {it}.\n\nQ: blood?\nA: red\n\nQ: sky?\nA:",
        "Say {it}.\n\nQ: blood?\nA: red\n\nQ: grass?\nA:",
    ]
    assert model.asked[0].continuations == (" blue", " greenish")
    # by length 3 / 4 is less likely than 4 / 8
    assert scores(path, predicted) == {"accuracy": 0.5, "lm-eval-accuracy": 0.5}
    named = evalkit.evaluate(f"lm-eval:{path}", predicted.rows)
    assert named.dataset == "colors"
    read_again = read(path)
    assert read_again.name == "colors"
    assert read_again.plugin.version == "2.0"
    assert [each.name for each in read_again.files] == ["task.yaml"]


def test_the_document_itself_is_left_out_of_the_first_ones(tmp_path: Path) -> None:
    text = CHOICE.replace("fewshot_split: dev", "fewshot_split: test")
    path = write(tmp_path, text.replace("description:", "task_alias:"), COLORS)
    model, _ = ask(path, [[-1.0, -2.0]] * 2)
    assert [each.prompt for each in model.asked] == [
        "Q: grass?\nA: greenish\n\nQ: sky?\nA:",
        "Q: sky?\nA: blue\n\nQ: grass?\nA:",
    ]


GENERATE = """
output_type: generate_until
test_split: test
doc_to_text: prompt
doc_to_target: answer
gen_prefix: "The answer is"
fewshot_config:
  sampler: first_n
  samples: [{prompt: "1+1?", answer: 2}]
generation_kwargs: {until: ["\\n", ""], do_sample: false, temperature: 0.7}
filter_list:
  - name: Strict_Match
    filter: [{function: regex, regex_pattern: "is (\\\\d+)"}, {function: take_first}]
  - name: last
    filter:
      - {function: regex, regex_pattern: "(-?[0-9]+)", group_select: -1}
      - {function: take_first}
metric_list:
  - {metric: exact_match, aggregation: mean, ignore_punctuation: true}
"""
SUMS = [{"prompt": "2+2?", "answer": 4}, {"prompt": "3+3? ", "answer": "6."}]


def test_replies_are_filtered_in_several_ways(tmp_path: Path) -> None:
    path = write(tmp_path, GENERATE, SUMS)
    model, predicted = ask(path, ["it is 4, not 5", "1 is 6"], shots=1)
    shot = "1+1? The answer is 2\n\n"
    assert [each.prompt for each in model.asked] == [
        f"{shot}2+2? The answer is",
        f"{shot}3+3? The answer is",
    ]
    request = model.asked[0]
    settings = request.stop, request.temperature, request.max_tokens
    assert settings == (("\n",), 0.0, 256)
    name = "exact-match:ignore_punctuation=true"
    assert scores(path, predicted, extract="strict-match") == {name: 1.0}
    assert scores(path, predicted, extract="last") == {name: 0.5}


def test_texts_are_measured_by_words_and_bytes(tmp_path: Path) -> None:
    text = "output_type: loglikelihood_rolling\ntest_split: test\n"
    path = write(tmp_path, text + "doc_to_target: '{{text}}'\n", [{"text": "a  bé"}])
    _, predicted = ask(path, [[-6.0]])
    found = scores(path, predicted)
    assert found["perplexity:by=words"] == pytest.approx(2.718281828459045**3)
    assert found["perplexity:by=bytes"] == pytest.approx(2.718281828459045 ** (6 / 6))


CODE = '''
import datasets
import re
from functools import partial

KINDS = ["warm & dry", "cold"]


def process_docs(dataset: datasets.Dataset, kind) -> datasets.Dataset:
    return dataset.filter(lambda row: row["kind"] == kind).map(_helper)


def _helper(doc):
    """Make the columns."""
    options = [each.strip() for each in doc["options"].split(",")]
    return {"query": f"{doc['question']}?", "options": options}


def doc_to_text(doc):
    return re.sub(r"\\s+", " ", doc["query"])


functions = {
    f"process_{kind.replace(' & ', '_')}": partial(process_docs, kind=kind)
    for kind in KINDS
}
globals().update(functions)


def unused():
    return datasets.load_dataset("x")
'''
KINDS = """
output_type: multiple_choice
test_split: test
process_docs: !function utils.process_warm_dry
doc_to_text: !function utils.doc_to_text
doc_to_choice: options
doc_to_target: gold
metric_list: [{metric: acc}]
"""


def test_functions_of_texts_are_run(tmp_path: Path) -> None:
    rows = [
        {"kind": kind, "question": f"what  {n}", "options": "a, b", "gold": n % 2}
        for n, kind in enumerate(["cold", "warm & dry", "cold", "warm & dry"])
    ]
    path = write(tmp_path, KINDS, rows, code=CODE)
    model, predicted = ask(path, [[-1.0, -2.0], [-2.0, -1.0]])
    assert [each.prompt for each in model.asked] == ["what 1?", "what 3?"]
    assert scores(path, predicted) == {"accuracy": 0.5}
    assert [each.name for each in read(path).files] == ["task.yaml", "utils.py"]


F = "def process_warm_dry(d):\n    return"
OTHERS = {
    f"import os\n{F} d.map(os)": "os: it is imported from os",
    f"{F} open('x')": "open: it is not available",
    f"{F} eval('d')": "eval: it is not available",
    f"{F} d.__class__": "it uses __class__",
    f"{F} [1] * 9": "it uses Mult",
    f"{F} [*d, *d]": "it uses Starred",
    f"{F} (lambda f: f(f))(d)": "it uses Call",
    f"{F} f'{{d:>9}}'": "it uses FormattedValue",
    f"{F} process_warm_dry(d)": "maximum recursion depth",
    f"{F} [1]": "does not return the dataset",
    "def process_warm_dry(d):\n    while True: pass": "it uses While",
    "from random import choice\nprocess_warm_dry = choice": "choice: it is imported",
    f"def _f(r):\n    return other(r)\nother = open('x')\n{F} d.map(_f)": "open: it is",
    "x = 1": "process_warm_dry: it is not available",
    "def process_warm_dry(:": "cannot be read as Python",
}


@pytest.mark.parametrize(("body", "problem"), OTHERS.items())
def test_other_functions_are_refused(tmp_path: Path, body: str, problem: str) -> None:
    path = write(
        tmp_path, KINDS, code=body + "\ndef doc_to_text(doc):\n    return 'x'\n"
    )
    with pytest.raises(DataError, match=r"process_docs|doc_to_text") as caught:
        read(path)
    assert problem in str(caught.value)
    assert f"{path}:" in str(caught.value)


REFUSED = {
    "process_results": "process_results: !function utils.x\n",
    "output_type": "output_type: loglikelihood\n",
    "doc_to_image": "doc_to_image: image\n",
    "repeats": "repeats: 3\n",
    "description": "description: '{{subject}}'\n",
    "dataset_kwargs.name_of_it": "dataset_path: a/b\ndataset_kwargs: {name_of_it: 1}\n",
    "dataset_path": "dataset_path: a/b/c\n",
    "generation_kwargs.num_beams": "generation_kwargs: {num_beams: 4}\n",
    "fewshot_config.sampler": "fewshot_config: {sampler: balanced}\n",
    "fewshot_config.doc_to_choice": "fewshot_config: {doc_to_choice: [a]}\n",
    "filter_list.0.filter": "filter_list: [{name: a, filter: [{function: custom}]}]\n",
    "metric_list.0.metric": "metric_list: [{metric: rouge}]\n",
    "metric_list.1.aggregation": "metric_list:\n- metric: bleu\n"
    "- metric: ter\n  aggregation: median\n",
    "metric_list.0.kind": "metric_list: [{metric: bleu, kind: b}]\n",
    "doc_to_text": "doc_to_text: '{{ x '\n",
    "test_split": "test_split: null\n",
}


@pytest.mark.parametrize("key", REFUSED)
def test_what_cannot_be_run_is_refused_by_file_line_and_key(
    tmp_path: Path, key: str
) -> None:
    (tmp_path / "base").write_text("test_split: test\ndoc_to_target: answer\n")
    path = write(tmp_path, f"include: base\n{REFUSED[key]}")
    lines = Path(path).read_text().splitlines()
    word = [part for part in key.split(".") if not part.isdigit()][-1]
    line = next(n for n, text in enumerate(lines, start=1) if f"{word}:" in text)
    if key == "filter_list.0.filter":
        word = "filter"
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value).startswith(
        f"{tmp_path.resolve()}/task.yaml:{line}: {key}: "
    )


def test_a_row_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, CHOICE, [{"question": "x", "right": "b"}], BLOOD)
    with pytest.raises(DataError, match=r"row 1 of 'test': doc_to_\w+: .* undefined"):
        dataset(path).load("test")
    text = CHOICE.replace("{{0 if first else 1}}", "{{7}}")
    path = write(tmp_path, text, COLORS, BLOOD)
    with pytest.raises(DataError, match="doc_to_target: no option 7, there are 2"):
        dataset(path).load("test")
    numbers = CHOICE.replace('"Q: {{question|trim}}\\nA:"', '"{{1}}"')
    path = write(tmp_path, numbers, COLORS, BLOOD)
    with pytest.raises(DataError, match="Tasks whose options stand in the prompt"):
        dataset(path).load("test")


def test_tasks_are_found_by_name_and_groups_and_tags_listed(tmp_path: Path) -> None:
    write(tmp_path, CHOICE)
    group = "group: all_colors\ntask: [colors, {task: shades}, {group: more}]\n"
    (tmp_path / "group.yaml").write_text(group)
    assert read(f"{tmp_path}#colors").name == "colors"
    with pytest.raises(
        DataError, match="all_colors is a group of colors, shades, more"
    ):
        read(f"{tmp_path}#all_colors")
    with pytest.raises(DataError, match="all_colors is a group"):
        read(f"{tmp_path}/group.yaml")
    (tmp_path / "task.yaml").write_text("task: colors\ntag: [bright]\n")
    with pytest.raises(DataError, match="bright is a tag of colors"):
        read(f"{tmp_path}#bright")
    with pytest.raises(DataError, match="no task, group or tag is named 'dark'"):
        read(f"{tmp_path}#dark")
    with pytest.raises(DataError, match="name a task of this folder"):
        read(str(tmp_path))


def test_most_tasks_of_the_harness_load() -> None:
    folder = os.environ.get("EVALKIT_LM_EVAL")
    if not folder:
        pytest.skip("EVALKIT_LM_EVAL names no folder of lm_eval")
    paths = task_files(Path(folder) / "tasks")
    loaded = tasks = 0
    for path in random.Random(41).sample(paths, 200):
        try:
            loaded += bool(read(str(path)))
            tasks += 1
        except DataError as error:
            tasks += " is a group of " not in str(error)
    assert loaded / tasks > 0.65
