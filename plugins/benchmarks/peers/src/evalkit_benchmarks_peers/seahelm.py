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
import yaml

from evalkit.catalog import ReadPlugin
from evalkit_adapters_peers.seahelm_rows import LOADERS, Loader
from evalkit_benchmarks_declared import check_benchmark, dataset_class
from evalkit_benchmarks_declared.datasets import DeclaredDataset
from evalkit_benchmarks_declared.schema import Data
from evalkit_benchmarks_declared.sources import StoredRow, stored_rows
from evalkit_benchmarks_peers.seahelm_config import SeahelmTask, find_task
from evalkit_benchmarks_peers.seahelm_metrics import (
    COUNTERPARTS,
    REFUSED,
    Counterpart,
    judge_of,
)
from evalkit_benchmarks_peers.seahelm_shim import (
    class_file,
    rows_by_class,
    scores_by_class,
)

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
_THINKING_TOKENS = 20_000
"""Tokens more that a reasoning model may generate."""


@dataclass(frozen=True)
class Block:
    """A task in one language; a class without a counterpart is the user's own."""

    task: SeahelmTask
    lang: str

    @property
    def loader(self) -> Loader | None:
        """Counterpart of the dataloader class."""
        return LOADERS.get(self.task.config.get("dataloader_class", _FILES))

    @property
    def metric(self) -> Counterpart | None:
        """Counterpart of the metric class."""
        return COUNTERPARTS.get(str(self.task.config["metric_class"]))

    @property
    def config(self) -> Mapping[str, Any]:
        """The block of the language."""
        found: Mapping[str, Any] = self.task.config["languages"][self.lang]
        return found

    @property
    def tag(self) -> str:
        """The answer tag."""
        return str(self.config["prompt_template"].get("answer_tag") or "")

    @property
    def asks_probabilities(self) -> bool:
        """Whether the probabilities of the labels are asked for."""
        return self.metric is not None and self.metric.reads == "probability"

    def template(self, name: str) -> str:
        """Return a template with the answer tag filled in, and names of fields."""
        found = self.config["prompt_template"]
        text = str(found.get(name, found.get(_GUIDE.get(name, name))) or "")
        tag = self.tag.replace("{", "{{").replace("}", "}}")
        text = _filled(text, {"fewshot_examples": "", "answer_tag": tag})
        own = {each: f"{{{field_of(each)}}}" for each in _fields(text)}
        return _filled(text, own | dict.fromkeys(_LABELS, "{answer}"))

    def shots(self) -> dict[str, int]:
        """Return the number of shots by kind of model."""
        usual = {"instruct": 0, "base": 5}
        count = self.task.config.get("fewshot_num_examples", usual) or {}
        has_examples = bool(self.config.get("example_filepath"))
        return {kind: int(count.get(kind) or 0) * has_examples for kind in usual}

    def cued(self) -> tuple[str, str, str]:
        """Take an answer's template apart: the tag, what follows it, and the rest."""
        answer = self.template("answer_template")
        tag = self.tag.replace("{", "{{").replace("}", "}}")
        rest = re.fullmatch(re.escape(tag) + r"([^{}]*)(\{.*)", answer, re.DOTALL)
        if tag and rest:
            return self.tag, rest.group(1), rest.group(2)
        if self.asks_probabilities and not any(self.shots().values()):
            said = self.config["prompt_template"].get("answer_tag_separator", " ")
            return self.tag, str(said), "{answer}"
        return "", " ", answer

    def check(self) -> None:
        """Refuse what no benchmark can express."""
        task, loader, keys = self.task, self.loader, ("languages", self.lang)
        if self.lang not in task.config["languages"]:
            known = ", ".join(map(str, task.config["languages"]))
            task.refuse(f"unknown language {self.lang!r}. Languages: {known}", keys[0])
        task.refuse_unknown(self.config, _LANGUAGE_KEYS, *keys)
        template = self.config.get("prompt_template")
        task.refuse_unknown(template, _TEMPLATE_KEYS, *keys, "prompt_template")
        self._check_templates(template, (*keys, "prompt_template"))
        file = str(self.config.get("filepath") or "")
        if loader is not None and not file:
            task.refuse("missing", *keys, "filepath")
        folder = task.root / file.partition("/")[0]
        if loader is not None and not loader.is_hub and not folder.exists():
            problem = f"the dataloader reads files, and there is no {folder}"
            task.refuse(problem, *keys, "filepath")

    def _check_templates(self, template: Any, keys: tuple[str, ...]) -> None:
        task, query = self.task, template.get("task_template", template.get("template"))
        if not isinstance(query, str):
            task.refuse("missing", *keys, "task_template")
        if template.get("fewshot_example", query) != query:
            problem = "shots are asked as the example is: expected the text of template"
            task.refuse(problem, *keys, "fewshot_example")
        for key in ("answer_template", "answer_tag"):
            if f"{key}:" in query and key not in template:
                problem = "missing; it is part of the text of task_template"
                task.refuse(f"{problem}. Move it to the left", *keys, key)
        for key in ("preamble", "task_template", "answer_template"):
            try:
                parsed = [*Formatter().parse(str(template.get(key) or ""))]
            except ValueError as error:
                task.refuse(f"invalid template: {error}", *keys, key)
            for _, name, form, conversion in parsed:
                if name is not None and (form or conversion or not name.isidentifier()):
                    task.refuse(f"unsupported placeholder {name!r}", *keys, key)
        has_shots = any(self.shots().values())
        if self.asks_probabilities and has_shots and not self.cued()[0]:
            problem = "expected the answer tag first, as labels are scored behind it"
            task.refuse(problem, *keys, "answer_template")


def field_of(name: str) -> str:
    """Return the name of the field that holds a value of a template."""
    return f"{name}_text" if name in _RESERVED else name


def benchmark_of(task: SeahelmTask, langs: Iterable[str]) -> dict[str, Any]:
    """Turn a task into what a benchmark file says.

    Args:
        task: The task.
        langs: Its languages, which become variants if it has several.

    Raises:
        DataError: It has a key or class that has no counterpart.
    """
    _check_task(task)
    blocks = [Block(task, lang) for lang in langs]
    for block in blocks:
        block.check()
    metric = blocks[0].metric
    named = [dict.fromkeys(_fields(each.template("task_template"))) for each in blocks]
    fields = {name: all(name in each for each in named) for of in named for name in of}
    kinds = {
        name: "text" if is_always else "text?" for name, is_always in fields.items()
    }
    parts = {each.lang: _parts(each) for each in blocks}
    found = {
        "benchmark": 1,
        "name": f"sea-{re.sub('[^a-z0-9]+', '-', task.name.lower()).strip('-')}",
        **_description(task),
        "task": {"input": kinds, "answer": metric.answer if metric else "text"},
        **parts[blocks[0].lang],
    }
    if metric is not None and metric.is_judged:
        query = blocks[0].template("task_template")
        found["judges"] = {"criteria": judge_of(task, query)}
    if len(task.config["languages"]) > 1:
        found["variants"] = {"language": parts}
    if task.config.get("null_label") is not None:
        found["null_label"] = str(task.config["null_label"])
    return found


def _description(task: SeahelmTask) -> dict[str, Any]:
    """Return what a task says of itself: version, changes and tags."""
    config = task.config
    said = config.get("metadata")
    metadata: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    version = str(task.text("metadata", "version") or metadata.get("version") or "1")
    changes: dict[str, str] = {}
    for each in (metadata.get("changes"), config.get("changes")):
        if isinstance(each, Mapping):
            changes |= {str(v).removeprefix("v"): str(text) for v, text in each.items()}
        elif each:
            changes[version] = str(each)
    facets = ("competency", "aggregation_group")
    tags = [f"{x.replace('_', '-')}:{config[x]}" for x in facets if config.get(x)]
    description = f"SEA-HELM: {config.get('name', task.name)}"
    described = {"version": version, "changes": changes, "description": description}
    return {**described, "tags": tags}


def _check_task(task: SeahelmTask) -> None:
    config = task.config
    if not isinstance(config, Mapping) or not isinstance(config.get("languages"), dict):
        task.refuse("expected a task with languages")
    for key in ("metric", "metric_class"):
        if not config.get(key):
            task.refuse("missing", key)
    if config.get("task_modality") not in (None, "text"):
        task.refuse("models are sent text alone", "task_modality")
    if config["metric_class"] in REFUSED:
        name = config["metric_class"]
        task.refuse(f"{name!r}: {REFUSED[name]}", "metric_class")
    if not own_files(task):  # classes of the user's may read keys of their own
        task.refuse_unknown(config, _TASK_KEYS)


def own_files(task: SeahelmTask) -> list[Path]:
    """Return the files of classes that have no counterpart."""
    loader = task.config.get("dataloader_class", _FILES)
    kinds = {"metric": task.config["metric_class"] in COUNTERPARTS}
    kinds["dataloader"] = loader in LOADERS
    return [class_file(task, kind) for kind, is_known in kinds.items() if not is_known]


def _parts(block: Block) -> dict[str, Any]:
    """Return what differs between the languages of a task."""
    metric = block.metric
    found: dict[str, Any] = {
        "languages": ["zh-Hant" if block.lang == "zh_t" else block.lang],
        "data": _data(block),
        "prompt": _prompt(block),
    }
    if metric is None:  # its class gives its scores
        return {**found, "headline": "length", "metrics": []}
    if stages := metric.extract(block.tag):
        found["extract"] = stages
    key = str(block.task.config["metric"])
    if key not in metric.scores:
        known = ", ".join(metric.scores)
        block.task.refuse(f"no counterpart of {key!r}. Known: {known}", "metric")
    package, option = metric.options.get(block.lang, ("evalkit", ""))
    option = option if find_spec(package) else ""
    scores = {
        name: each + option if isinstance(each, str) else each
        for name, each in metric.scores.items()
    }
    found["headline"] = scores[key]
    texts = [each for each in scores.values() if isinstance(each, str)]
    found["metrics"] = [each for each in dict.fromkeys(texts) if each != scores[key]]
    if metric.is_macro:
        found["aggregate"] = f"macro:{metric.tags[0].replace('_', '-')}"
    return found


def _data(block: Block) -> dict[str, Any]:
    metric, loader = block.metric, block.loader or LOADERS[_FILES]
    has_shots = any(block.shots().values())
    found: dict[str, Any] = {"id": "uid", "splits": {"test": "test"}}
    if has_shots:
        found["splits"]["examples"] = "examples"
    found["hub" if loader.is_hub else "path"] = str(block.config.get("filepath"))
    tags = (*(metric.tags if metric else ()), *([loader.match] if loader.match else ()))
    found["tags"] = {facet.replace("_", "-"): facet for facet in tags}
    if metric is not None and metric.answer == "choice":
        return {**found, "answer": {"text": "label"}, "choices": "choices"}
    has_answers = has_shots if metric is None else not metric.is_judged
    return {**found, "answer": "label"} if has_answers else found


def _prompt(block: Block) -> dict[str, Any]:
    cue, separator, answer = block.cued()
    found: dict[str, Any] = {
        "instructions": block.template("preamble"),
        "query": block.template("task_template"),
        "cue": cue,
        "cue_by": "model",
        "answer": answer or "{answer}",
        "separators": {"answer": separator},
        "trim": "first",
    }
    shots, loader = block.shots(), block.loader
    if any(shots.values()):
        found["shots"] = {"count": shots, "source": "examples", "draw": "first"}
        found["shots"] |= {"fewer": True, "match": loader.match if loader else None}
    # SEA-HELM joins the messages to base models by blank lines
    base: dict[str, Any] = {"separators": {"cue": "\n\n"}}
    if block.asks_probabilities:
        chat = {"form": "chat"}
        kinds = {"instruct": chat, "reasoning": chat, "base": base}
        return {**found, "method": "separate", "by_kind": kinds}
    if any(shots.values()) and not cue:
        base["form"] = "chat"
    most, temperature = (
        block.config.get("max_tokens"),
        block.task.config.get("temperature"),
    )
    generate = {"temperature": temperature, "max_tokens": most}
    generate = {key: value for key, value in generate.items() if value is not None}
    base["generate"] = {**generate, "stop": ["\n\n"]}
    kinds = {"base": base}
    if most is not None:
        most += _thinking_tokens(block.task.root)
        kinds["reasoning"] = {"generate": {"max_tokens": most}}
    return {**found, "generate": generate, "by_kind": kinds}


def _thinking_tokens(root: Path) -> int:
    """Return how many tokens a reasoning model may think."""
    file = root / "seahelm_tasks" / "reasoning_generation_config.yaml"
    said = yaml.safe_load(file.read_text("utf-8")) if file.is_file() else None
    settings = (said or {}).get("reasoning_generation_kwargs") or {}
    return int(settings.get("max_think_tokens", _THINKING_TOKENS))


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
        """Return the examples of a split."""
        rows = examples_of(self.block, split)
        places = (StoredRow(f"{split}: row {n}", row) for n, row in enumerate(rows, 1))
        return self._examples.examples(places)


class ScoredDataset(SeahelmDataset):
    """Base of datasets that a metric class of the user's scores."""

    def evaluate(self, frame: pl.DataFrame) -> dict[str, float | None]:
        """Return the scores that the class gives to the responses."""
        said = dict(zip(frame["id"], frame["pred"], strict=True))
        scored = [
            {**row, "responses": [said[uid]], "errors": [None]}
            for uid, row in seahelm_rows(self.block).items()
            if uid in said
        ]
        return scores_by_class(self.block.task, self.block.lang, scored)


def seahelm_rows(block: Block, shots: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the rows of a task in SEA-HELM's format, by their ids.

    Rows are numbered if their ids are not unique.

    Args:
        block: The task in one language.
        shots: Number of rows to show; None for the rows to evaluate.
    """
    task, loader = block.task, block.loader
    if loader is None:
        rows = rows_by_class(task, block.lang, shots)
    else:
        names = {"lang": block.lang, "category": loader.category(task.name)}
        split = loader.split if shots is None else loader.examples
        place = str(block.config["filepath" if shots is None else "example_filepath"])
        data = Data(path=place)
        if loader.is_hub and split is not None:
            config = None if loader.config is None else loader.config.format(**names)
            splits = {"test": split.format(**names)}
            data = Data(hub=place, config=config, splits=splits)
        stored = stored_rows(data, task.root, "test")
        rows = loader.rows((row.values for row in stored), task.name, shots)
    ids = [str(row.get("id", row.get("question_id"))) for row in rows]
    if "None" in ids or len({*ids}) < len(ids):
        ids = [str(number) for number in range(len(rows))]
    return dict(zip(ids, rows, strict=True))


def examples_of(block: Block, split: str) -> list[dict[str, Any]]:
    """Return the examples of a split: a field for each value of the prompt."""
    is_shown = split == "examples"
    try:
        rows = seahelm_rows(block)
        labels = {str(row.get("label")) for row in rows.values()}
        if is_shown:
            rows = seahelm_rows(block, max(block.shots().values()))
            labels |= {str(row.get("label")) for row in rows.values()}
        prefix = "example-" if is_shown else ""
        return [
            {"uid": f"{prefix}{uid}", **_example(block, row, sorted(labels))}
            for uid, row in rows.items()
        ]
    except KeyError as error:
        key = "example_filepath" if is_shown else "filepath"
        block.task.refuse(f"rows have no column {error}", "languages", block.lang, key)


def _example(block: Block, row: Mapping[str, Any], labels: list[str]) -> dict[str, Any]:
    prompts, metric = row.get("prompts") or [{}], block.metric
    if len(prompts) > 1:
        block.task.refuse(f"rows have {len(prompts)} turns, and models are asked once")
    # a null is written as SEA-HELM writes it: None
    values = {field_of(name): str(each) for name, each in {**row, **prompts[0]}.items()}
    named = _fields(block.template("task_template") + block.template("answer_template"))
    found: dict[str, Any] = {name: values[name] for name in named if name in values}
    label = row.get("label")
    found["label"] = str(label)
    if metric is None:
        return found
    if isinstance(label, list) and metric.answer == "text":
        found["label"] = label
    metadata = row.get("metadata") or {}
    found |= {facet: metadata.get(facet) for facet in metric.tags}
    if block.loader is not None and block.loader.match is not None:
        found[block.loader.match] = row.get(block.loader.match)
    if metric.is_judged:
        texts = [
            str(each["criterion"]).format(**prompts[0]) for each in row["criteria"]
        ]
        found["criteria"] = [{"rubric": text} for text in texts]
    return {**found, "choices": labels} if metric.answer == "choice" else found


def read(text: str) -> ReadPlugin:
    """Read a task of SEA-HELM.

    Args:
        text: `[seahelm:]PATH[#TASK[/LANGUAGE]]`; the path is a task folder, its
            `config.yaml` or the repository.

    Raises:
        DataError: It cannot be expressed; the message names file, line and key.
    """
    path, _, wanted = text.removeprefix("seahelm:").partition("#")
    name, _, lang = wanted.partition("/")
    task = find_task(Path(path).expanduser(), name or None)
    _check_task(task)
    langs = [lang] if lang else [str(each) for each in task.config["languages"]]
    said = benchmark_of(task, langs)
    benchmark = check_benchmark(said, str(task.file.path))
    made = dataset_class(benchmark, task.root / benchmark.name)
    blocks = {each: Block(task, each) for each in langs}
    base = ScoredDataset if blocks[langs[0]].metric is None else SeahelmDataset
    made = type("SeahelmTaskDataset", (base, made), {"blocks": blocks})
    return ReadPlugin(benchmark.name, made, (task.file.path, *own_files(task)))
