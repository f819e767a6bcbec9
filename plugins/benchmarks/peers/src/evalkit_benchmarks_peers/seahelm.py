"""Reads the task folders of SEA-HELM: `seahelm:PATH[#TASK[/LANGUAGE]]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

import polars as pl

from evalkit.catalog import ReadPlugin
from evalkit_adapters_peers.seahelm_rows import LOADERS, Loader
from evalkit_benchmarks_declared import check_benchmark, dataset_class
from evalkit_benchmarks_declared.datasets import DeclaredDataset
from evalkit_benchmarks_declared.schema import Data
from evalkit_benchmarks_declared.sources import StoredRow, stored_rows
from evalkit_benchmarks_peers.peer_files import component_name, escaped
from evalkit_benchmarks_peers.seahelm_config import SeahelmTask, find_task
from evalkit_benchmarks_peers.seahelm_metrics import (
    COUNTERPARTS,
    OWN,
    REFUSED,
    Counterpart,
    judge_of,
)
from evalkit_benchmarks_peers.seahelm_shim import metric_file, scores_by_class

_TASK_KEYS = (
    *("metadata", "name", "competency", "aggregation_group", "aggregation_type"),
    *("dataloader_file", "dataloader_class", "metric_file", "metric_class", "metric"),
    *("fewshot_num_examples", "use_logprobs", "max_n_runs", "inference_strategy"),
    *("use_judges", "judge", "judge_file", "judge_class", "languages", "changes"),
    *("temperature", "null_label", "task_modality"),
)
_LANGUAGE_KEYS = ("filepath", "example_filepath", "max_tokens", "prompt_template")
_TEMPLATE_KEYS = (
    *("preamble", "task_template", "answer_template", "answer_tag"),
    *("answer_tag_separator", "template", "fewshot_example", "fewshot_label"),
)
_GUIDE = {"task_template": "template", "answer_template": "fewshot_label"}
"""Keys of templates, and what the guide's outline calls them."""

_RESERVED = {
    *("uid", "id", "answer", "label", "labels", "tags", "choice", "choices"),
    *("cue", "letter", "stored", "criteria", "response", "reference", "rubric"),
}
"""Names that have a meaning of their own, so that no field has them."""

_LABELS = ("label", "prompt_label", "response_label")
_FILES = "SeaHelmLocalDataloader"
_THINKING_TOKENS = 20_000  # that a reasoning model may generate before it answers


@dataclass(frozen=True)
class Block:
    """A task in one language."""

    task: SeahelmTask
    lang: str

    @property
    def loader(self) -> Loader:
        """Counterpart of the dataloader class."""
        return LOADERS[self.task.config.get("dataloader_class", _FILES)]

    @property
    def metric(self) -> Counterpart:
        """Counterpart of the metric class; `OWN` if the class runs itself."""
        return COUNTERPARTS.get(str(self.task.config["metric_class"]), OWN)

    @property
    def config(self) -> Mapping[str, Any]:
        """The block of the language."""
        config: Mapping[str, Any] = self.task.config["languages"][self.lang]
        return config

    @property
    def tag(self) -> str:
        """The answer tag."""
        return str(self.config["prompt_template"].get("answer_tag") or "")

    def template(self, name: str) -> str:
        """Return a template with the answer tag filled in, and names of fields."""
        templates = self.config["prompt_template"]
        text = str(templates.get(name, templates.get(_GUIDE.get(name, name))) or "")
        text = _filled(text, {"fewshot_examples": "", "answer_tag": escaped(self.tag)})
        fields = {name: f"{{{_field(name)}}}" for name in _fields(text)}
        return _filled(text, fields | dict.fromkeys(_LABELS, "{answer}"))

    def shots(self) -> dict[str, int]:
        """Return the number of shots by kind of model; nothing if none has any."""
        usual = {"instruct": 0, "base": 5}
        count = self.task.config.get("fewshot_num_examples", usual) or {}
        shots = {kind: int(count.get(kind) or 0) for kind in usual}
        has_examples = self.config.get("example_filepath") and any(shots.values())
        return shots if has_examples else {}

    def cued(self) -> tuple[str, str, str]:
        """Take an answer's template apart: the tag, what follows it, and the rest."""
        answer, tag = self.template("answer_template"), re.escape(escaped(self.tag))
        rest = re.fullmatch(tag + r"([^{}]*)(\{.*)", answer, re.DOTALL)
        if tag and rest:
            return self.tag, rest.group(1), rest.group(2)
        if self.metric.reads == "probability" and not self.shots():
            separator = self.config["prompt_template"].get("answer_tag_separator", " ")
            return self.tag, str(separator), "{answer}"
        return "", " ", answer

    def check(self) -> None:
        """Refuse what no benchmark can express."""
        task, keys = self.task, ("languages", self.lang)
        if self.lang not in task.config["languages"]:
            known = f"Languages: {', '.join(map(str, task.config['languages']))}"
            task.refuse(f"unknown language {self.lang!r}. {known}", keys[0])
        task.refuse_unknown(self.config, _LANGUAGE_KEYS, *keys)
        template = self.config.get("prompt_template")
        task.refuse_unknown(template, _TEMPLATE_KEYS, *keys, "prompt_template")
        self._check_templates(template, (*keys, "prompt_template"))
        file = str(self.config.get("filepath") or "")
        folder = task.root / file.partition("/")[0]
        if not file or not (self.loader.is_hub or folder.exists()):
            problem = f"expected a dataset of the dataloader, and there is no {folder}"
            task.refuse(problem, *keys, "filepath")

    def _check_templates(self, template: Any, keys: tuple[str, ...]) -> None:
        task, query = self.task, template.get("task_template", template.get("template"))
        if not isinstance(query, str):
            task.refuse("missing", *keys, "task_template")
        if template.get("fewshot_example", query) != query:
            task.refuse("expected the text of template", *keys, "fewshot_example")
        for key in ("preamble", "task_template", "answer_template"):
            try:
                parts = [*Formatter().parse(str(template.get(key) or ""))]
            except ValueError as error:
                task.refuse(f"invalid template: {error}", *keys, key)
            for _, name, form, conversion in parts:
                if name is not None and (form or conversion or not name.isidentifier()):
                    task.refuse(f"unsupported placeholder {name!r}", *keys, key)
        is_scored = self.metric.reads == "probability" and self.shots()
        if is_scored and not self.cued()[0]:
            problem = "expected the answer tag first, as labels are scored behind it"
            task.refuse(problem, *keys, "answer_template")


def _field(name: str) -> str:
    return f"{name}_text" if name in _RESERVED else name


def benchmark_of(task: SeahelmTask, langs: Iterable[str]) -> dict[str, Any]:
    """Turn a task into what a benchmark file says; its languages become variants."""
    _check_task(task)
    blocks = [Block(task, lang) for lang in langs]
    for block in blocks:
        block.check()
    named = [{*_fields(block.template("task_template"))} for block in blocks]
    always, ever = set.intersection(*named), sorted(set.union(*named))
    fields = {name: "text" if name in always else "text?" for name in ever}
    first, parts = blocks[0], {block.lang: _parts(block) for block in blocks}
    benchmark = {
        "benchmark": 1,
        "name": component_name(f"sea-{task.name}"),
        **_description(task),
        "task": {"input": fields, "answer": first.metric.answer},
        **parts[first.lang],
    }
    if first.metric.is_judged:
        query = first.template("task_template")
        benchmark["judges"] = {"criteria": judge_of(task, query)}
    if len(task.config["languages"]) > 1:
        benchmark["variants"] = {"language": parts}
    if task.config.get("null_label") is not None:
        benchmark["null_label"] = str(task.config["null_label"])
    return benchmark


def _description(task: SeahelmTask) -> dict[str, Any]:
    """Return what a task says of itself: version, changes and tags."""
    config = task.config
    metadata: Mapping[str, Any] = config.get("metadata") or {}
    version = str(metadata.get("version") or "1")
    given = metadata.get("changes") or config.get("changes") or {}
    by_version = given if isinstance(given, Mapping) else {version: given}
    changes = {str(v).removeprefix("v"): str(text) for v, text in by_version.items()}
    facets = ("competency", "aggregation_group")
    return {
        "version": version,
        "changes": changes,
        "description": f"SEA-HELM: {config.get('name', task.name)}",
        "tags": [f"{x.replace('_', '-')}:{config[x]}" for x in facets if config.get(x)],
    }


def _check_task(task: SeahelmTask) -> None:
    config = task.config
    if not isinstance(config, Mapping) or not isinstance(config.get("languages"), dict):
        task.refuse("expected a task with languages")
    for key in ("metric", "metric_class"):
        if not config.get(key):
            task.refuse("missing", key)
    if config.get("task_modality") not in (None, "text"):
        task.refuse("models are sent text alone", "task_modality")
    metric, loader = config["metric_class"], config.get("dataloader_class", _FILES)
    if REFUSED.fullmatch(metric):
        problem = "needs more than the responses: models, programs, images or turns"
        task.refuse(f"{metric!r}: {problem}", "metric_class")
    if loader not in LOADERS:
        task.refuse(f"{loader!r} has no counterpart", "dataloader_class")
    if not own_files(task):  # a class of the user's may read keys of its own
        task.refuse_unknown(config, _TASK_KEYS)


def own_files(task: SeahelmTask) -> list[Path]:
    """Return the file of the metric class if it has no counterpart."""
    return [] if task.config["metric_class"] in COUNTERPARTS else [metric_file(task)]


def _parts(block: Block) -> dict[str, Any]:
    """Return what differs between the languages of a task."""
    metric = block.metric
    parts: dict[str, Any] = {
        "languages": ["zh-Hant" if block.lang == "zh_t" else block.lang],
        "data": _data(block),
        "prompt": _prompt(block),
    }
    if metric is OWN:  # its class gives its scores
        return {**parts, "headline": "length", "metrics": []}
    if stages := metric.extract(block.tag):
        parts["extract"] = stages
    key = str(block.task.config["metric"])
    if key not in metric.scores:
        known = ", ".join(metric.scores)
        block.task.refuse(f"no counterpart of {key!r}. Known: {known}", "metric")
    package, option = metric.options.get(block.lang, ("", ""))
    option = f":words={option}" if package and find_spec(package) else ""
    scores = [x + option if isinstance(x, str) else x for x in metric.scores.values()]
    parts["headline"] = scores[[*metric.scores].index(key)]
    others = [x for x in scores if isinstance(x, str) and x != parts["headline"]]
    parts["metrics"] = [*dict.fromkeys(others)]
    if metric.is_macro:
        parts["aggregate"] = f"macro:{metric.tags[0].replace('_', '-')}"
    return parts


def _data(block: Block) -> dict[str, Any]:
    metric, loader = block.metric, block.loader
    splits = ("test", "examples") if block.shots() else ("test",)
    tags = filter(None, (*metric.tags, loader.match))
    data = {
        "id": "uid",
        "splits": {split: split for split in splits},
        "hub" if loader.is_hub else "path": str(block.config["filepath"]),
        "tags": {facet.replace("_", "-"): facet for facet in tags},
    }
    if metric.answer == "choice":
        return {**data, "answer": {"text": "label"}, "choices": "choices"}
    has_answers = block.shots() if metric is OWN else not metric.is_judged
    return {**data, "answer": "label"} if has_answers else data


def _prompt(block: Block) -> dict[str, Any]:
    cue, separator, answer = block.cued()
    prompt: dict[str, Any] = {
        "instructions": block.template("preamble"),
        "query": block.template("task_template"),
        "cue": cue,
        "cue_by": "model",
        "answer": answer or "{answer}",
        "separators": {"answer": separator},
        "trim": "first",
    }
    shots, config = block.shots(), block.task.config
    if shots:
        prompt["shots"] = {"count": shots, "source": "examples", "draw": "first"}
        prompt["shots"] |= {"fewer": True, "match": block.loader.match}
    # SEA-HELM joins the messages to base models by blank lines
    kinds: dict[str, Any] = {"base": {"separators": {"cue": "\n\n"}}}
    if block.metric.reads == "probability":
        kinds |= {kind: {"form": "chat"} for kind in ("instruct", "reasoning")}
        return {**prompt, "method": "separate", "by_kind": kinds}
    if shots and not cue:
        kinds["base"]["form"] = "chat"
    most = block.config.get("max_tokens")
    generate = {"temperature": config.get("temperature"), "max_tokens": most}
    generate = {key: value for key, value in generate.items() if value is not None}
    kinds["base"]["generate"] = {**generate, "stop": ["\n\n"]}
    if most is not None:
        kinds["reasoning"] = {"generate": {"max_tokens": most + _THINKING_TOKENS}}
    return {**prompt, "generate": generate, "by_kind": kinds}


def _fields(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Replace placeholders of a template, and keep the others."""
    return re.sub(
        r"\{\{|\}\}|\{(\w+)\}",
        lambda match: values.get(match.group(1) or "", match.group()),
        template,
    )


class SeahelmDataset(DeclaredDataset):
    """Base of the datasets of SEA-HELM's tasks."""

    blocks: ClassVar[Mapping[str, Block]]

    @property
    def block(self) -> Block:
        """The task in the language of this dataset."""
        chosen = getattr(self.parameters, "language", None)
        return self.blocks[chosen or next(iter(self.blocks))]

    def load(self, split: str) -> list[dict[str, Any]]:
        """Return the examples of a split: a field for each value of the prompt."""
        block, is_shown = self.block, split == "examples"
        try:
            rows = seahelm_rows(block)
            labels = {str(row.get("label")) for row in rows.values()}
            if is_shown:
                rows = seahelm_rows(block, max(block.shots().values()))
                labels |= {str(row.get("label")) for row in rows.values()}
            examples = [_example(block, row, sorted(labels)) for row in rows.values()]
        except KeyError as error:
            problem = f"rows have no column {error}"
            key = "example_filepath" if is_shown else "filepath"
            block.task.refuse(problem, "languages", block.lang, key)
        prefix = "example-" if is_shown else ""
        pairs = enumerate(zip(rows, examples, strict=True), start=1)
        return self._examples.examples(
            StoredRow(f"{split}: row {n}", {"uid": f"{prefix}{uid}", **example})
            for n, (uid, example) in pairs
        )


class ScoredDataset(SeahelmDataset):
    """Base of datasets that a metric class of the user's scores."""

    def evaluate(self, frame: pl.DataFrame) -> dict[str, float | None]:
        """Return the scores that the class gives to the responses."""
        replies = dict(zip(frame["id"], frame["pred"], strict=True))
        rows = [
            {**row, "responses": [replies[uid]], "errors": [None]}
            for uid, row in seahelm_rows(self.block).items()
            if uid in replies
        ]
        return scores_by_class(self.block.task, self.block.lang, rows)


def seahelm_rows(block: Block, shots: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the rows to evaluate or to show by id, or number if ids are not unique."""
    task, loader = block.task, block.loader
    names = {"lang": block.lang, "category": loader.category(task.name)}
    split = loader.split if shots is None else loader.examples
    place = str(block.config["filepath" if shots is None else "example_filepath"])
    data = Data(path=place)
    if loader.is_hub and split is not None:
        config = None if loader.config is None else loader.config.format(**names)
        data = Data(hub=place, config=config, splits={"test": split.format(**names)})
    stored = stored_rows(data, task.root, "test")
    rows = loader.rows((row.values for row in stored), task.name, shots)
    ids = [str(row.get("id", row.get("question_id"))) for row in rows]
    if "None" in ids or len({*ids}) < len(ids):
        ids = [str(number) for number in range(len(rows))]
    return dict(zip(ids, rows, strict=True))


def _example(block: Block, row: Mapping[str, Any], labels: list[str]) -> dict[str, Any]:
    prompts, metric, match = (
        row.get("prompts") or [{}],
        block.metric,
        block.loader.match,
    )
    if len(prompts) > 1:
        block.task.refuse(f"rows have {len(prompts)} turns, and models are asked once")
    # a null is written as SEA-HELM writes it: None
    values = {_field(name): str(each) for name, each in {**row, **prompts[0]}.items()}
    named = _fields(block.template("task_template") + block.template("answer_template"))
    example: dict[str, Any] = {name: values[name] for name in named if name in values}
    label, is_text = row.get("label"), metric.answer == "text" and metric is not OWN
    example["label"] = label if isinstance(label, list) and is_text else str(label)
    metadata = row.get("metadata") or {}
    example |= {facet: metadata.get(facet) for facet in metric.tags}
    if match is not None:
        example[match] = row.get(match)
    if metric.is_judged:
        example["criteria"] = []
        for criterion in row["criteria"]:
            if criterion.get("include_reference"):
                problem = "criteria of rows with include_reference have no counterpart"
                keys = ("judge", "judge_prompts", "reference_prompt")
                block.task.refuse(problem, *keys)
            rubric = str(criterion["criterion"]).format(**prompts[0])
            example["criteria"].append({"rubric": rubric})
    return {**example, "choices": labels} if metric.answer == "choice" else example


def read(text: str) -> ReadPlugin:
    """Read a task of SEA-HELM.

    Args:
        text: `[seahelm:]PATH[#TASK[/LANGUAGE]]`; the path is a task folder, its
            `config.yaml` or the repository.

    Raises:
        DataError: It cannot be expressed; the message names file, line and key.
    """
    path, _, place = text.removeprefix("seahelm:").partition("#")
    name, _, lang = place.partition("/")
    task = find_task(Path(path).expanduser(), name or None)
    _check_task(task)
    langs = [lang] if lang else [str(each) for each in task.config["languages"]]
    benchmark = check_benchmark(benchmark_of(task, langs), str(task.file.path))
    made = dataset_class(benchmark, task.root / benchmark.name)
    blocks = {lang: Block(task, lang) for lang in langs}
    base = ScoredDataset if blocks[langs[0]].metric is OWN else SeahelmDataset
    made = type("SeahelmTaskDataset", (base, made), {"blocks": blocks})
    return ReadPlugin(benchmark.name, made, (task.file.path, *own_files(task)))
