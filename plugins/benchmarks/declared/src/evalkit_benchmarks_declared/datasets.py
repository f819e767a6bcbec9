"""Makes a dataset of a benchmark file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from evalkit import Dataset, TaskIO
from evalkit.base.names import score_name
from evalkit.catalog import Registry, Resolver
from evalkit.errors import EvalkitError
from evalkit_adapters_rows.written_extractors import split_stages
from evalkit_benchmarks_declared.prompts import CompiledPrompts, compile_prompts
from evalkit_benchmarks_declared.reading import (
    Lines,
    check_benchmark,
    lines_of,
    located,
)
from evalkit_benchmarks_declared.rows import Examples, Rows, Target
from evalkit_benchmarks_declared.schema import (
    Benchmark,
    Headline,
    MetricUse,
    Task,
)
from evalkit_benchmarks_declared.sources import (
    default_split,
    splits_of,
    stored_rows,
)
from evalkit_benchmarks_declared.tasks import SHAPES, input_types, task_class
from evalkit_benchmarks_declared.variants import (
    EXTRACT,
    extractors_of,
    parameters_of,
    variant_lines,
    variant_of,
)

_DESCRIBING = (
    *("version", "changes", "description", "license", "citation", "source_url"),
    *("languages", "tags", "content_warning"),
)
"""Keys that are attributes of the dataset as they are."""


class DeclaredDataset(Dataset):
    """Base of the datasets of benchmark files.

    Attributes:
        benchmark: The benchmark file.
        path: Path of the file, or the name of the benchmark and its folder.
        variant: The benchmark for the chosen values of the axes.
    """

    benchmark: ClassVar[Benchmark]
    path: ClassVar[Path]
    _rows: ClassVar[Rows | None] = None

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = {} if parameters is None else parameters.model_dump()
        extract = chosen.pop(EXTRACT, None) if extractors_of(self.benchmark) else None

        def find_lines() -> Lines:
            lines = lines_of(self.path) if self.path.is_file() else {}
            return variant_lines(lines, chosen)

        values = variant_of(self.benchmark, chosen)
        self.variant = check_benchmark(values, str(self.path), find_lines)
        try:
            compiled = compile_prompts(self.variant)
            vars(self).update(attributes_of(self.variant, compiled, extract))
            target = target_of(self.variant, compiled)
            data, templates = self.variant.data, self.variant.templates
            self._examples = Examples(data, target, templates)
        except EvalkitError as error:
            keys = str(error).partition(":")[0].split(".")
            place = located(str(self.path), find_lines(), keys)
            raise type(error)(f"{place}: {error}") from error

    def load(self, split: str) -> list[dict[str, Any]]:
        """Return the examples of a split.

        Where ids are numbers of rows, those of other splits than the default one
        begin with the split's name, so that shots differ from what is evaluated.
        """
        source = type(self)._rows
        rows = stored_rows(self.variant.data, self.path.parent, split, source)
        is_main = split == default_split(self.variant.data)
        return self._examples.examples(rows, "" if is_main else f"{split}-")


def dataset_class(
    benchmark: Benchmark, path: Path, rows: Rows | None = None
) -> type[DeclaredDataset]:
    """Make the dataset of a benchmark.

    Args:
        benchmark: What the file says.
        path: The file; paths in it go from its folder.
        rows: Function of a stored split that replaces the file's data.

    Returns:
        A subclass of `evalkit.Dataset` whose parameters are the axes of the variants.
    """
    attributes: dict[str, Any] = {
        "__doc__": benchmark.description or f"The benchmark {benchmark.name}.",
        "name": benchmark.name,
        "benchmark": benchmark,
        "path": path,
        "Parameters": parameters_of(benchmark),
        **_described(benchmark),
    }
    if rows is not None:
        attributes["_rows"] = staticmethod(rows)
    return type("DeclaredBenchmark", (DeclaredDataset,), attributes)


def _described(benchmark: Benchmark) -> dict[str, Any]:
    found = {name: getattr(benchmark, name) for name in _DESCRIBING}
    return {name: value for name, value in found.items() if value is not None}


def attributes_of(
    benchmark: Benchmark, compiled: CompiledPrompts, extract: str | None = None
) -> dict[str, Any]:
    """Return the dataset's attributes that follow from what a variant says.

    Args:
        benchmark: The variant.
        compiled: Its prompts.
        extract: Name of the extractor; None for the first or only one.
    """
    names = extractors_of(benchmark)
    extract = extract or next(iter(names), None)
    found: dict[str, Any] = {
        **_described(benchmark),
        "task": _task(benchmark, compiled.computed),
        "prompts": compiled.prompts,
        "splits": tuple(splits_of(benchmark.data)),
        "default_split": default_split(benchmark.data),
        "extract": stages_of(benchmark, extract),
        "aggregate": benchmark.aggregate,
        "cluster": benchmark.data.cluster,
    }
    axes = benchmark.aggregate or ""
    if axes.removeprefix("macro:") not in benchmark.data.tags:
        found["aggregate"] = None  # it is a mean over variants
    headline, metrics = scores_of(benchmark, extract)
    if headline is not None:
        found["perf_metric"] = headline
        found["eval_metrics"] = metrics
    elif metrics:
        found["perf_metric"], *others = metrics
        found["eval_metrics"] = tuple(others)
    return found


def _task(benchmark: Benchmark, computed: Mapping[str, str]) -> str | type[TaskIO]:
    task = benchmark.task
    if isinstance(task, str):
        return task
    return task_class(
        task,
        benchmark.name,
        computed,
        benchmark.judges,
        has_answers=benchmark.data.answer is not None,
    )


def stages_of(benchmark: Benchmark, extract: str | None) -> Any:
    """Return the extractor stages; those of `null_label` come last."""
    stages = benchmark.extract
    if isinstance(stages, Mapping):
        stages = stages[extract] if extract is not None else None
    if stages is None or benchmark.null_label is None:
        return stages
    last = {
        "kind": "map-values",
        "configuration": {"mapping": {benchmark.null_label: ""}, "otherwise": "text"},
    }
    return [*(stages if isinstance(stages, list) else split_stages(stages)), last]


def scores_of(
    benchmark: Benchmark, extract: str | None = None
) -> tuple[str | None, tuple[str, ...]]:
    """Return the reference of the headline, and those of the other metrics."""
    headline = benchmark.headline
    main = (
        headline
        if headline is None or isinstance(headline, str)
        else (_headline(headline, benchmark))
    )
    others = [
        each if isinstance(each, str) else _metric(each)
        for each in benchmark.metrics
        if isinstance(each, str) or each.extract in (None, extract)
    ]
    return main, tuple(name for name in dict.fromkeys(others) if name != main)


def _metric(use: MetricUse) -> str:
    options = dict(use.options)
    if use.judge is not None:
        options["of"] = use.judge
    return reference(use.metric, options)


def _headline(headline: Headline, benchmark: Benchmark) -> str:
    name = reference(headline.metric, headline.options)
    rescale = headline.normalise
    if rescale is None:
        return name
    chance: Any = rescale.low
    if chance == "chance":
        task = benchmark.task
        is_choice = isinstance(task, Task) and task.answer == "choice"
        chance = "choices" if is_choice or task == "multiple-choice" else "labels"
    options: dict[str, Any] = {"metric": name, "chance": chance}
    if rescale.high is not None:
        options["best"] = rescale.high
    if not rescale.floor:
        options["floor"] = False
    return reference("above-chance", options)


def reference(name: str, options: Mapping[str, Any]) -> str:
    """Write a metric with its parameters as one text.

    Args:
        name: The metric.
        options: Its parameters.

    Returns:
        `NAME:KEY=VALUE,…` if all values are plain, else `NAME:{JSON}`.
    """
    if all(re.fullmatch(r"[\w.-]+", str(value)) for value in options.values()):
        return score_name(name, options)
    return f"{name}:{json.dumps(options, ensure_ascii=False, sort_keys=True)}"


def target_of(benchmark: Benchmark, compiled: CompiledPrompts) -> Target:
    """Return the fields of the examples of a variant."""
    computed = {**compiled.computed, **compiled.shown}
    task = benchmark.task
    if isinstance(task, Task):
        answer = SHAPES[task.answer].answer_field
        return Target(input_types(task), answer, task.answer, computed)
    bound = Resolver(Registry()).bind("tasks", task)
    fields = bound.attributes["Input"].model_fields
    types = {name: ("", True) for name in fields if name != "uid"}
    return Target(types, bound.attributes["answer_field"] or "answer", "", computed)
