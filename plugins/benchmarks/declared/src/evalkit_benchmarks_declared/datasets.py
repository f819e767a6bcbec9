"""Makes a dataset of a benchmark file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Literal

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import BaseModel, create_model, model_validator

from evalkit import Dataset, Parameters
from evalkit.base.names import score_name
from evalkit.catalog import Registry, Resolver
from evalkit.errors import EvalkitError, PluginLoadError, SchemaError
from evalkit_adapters_rows.written_extractors import split_stages
from evalkit_benchmarks_declared.prompts import (
    CompiledPrompts,
    compile_prompts,
    override_at,
)
from evalkit_benchmarks_declared.reading import check_benchmark, located, variant_lines
from evalkit_benchmarks_declared.rows import Examples
from evalkit_benchmarks_declared.schema import Benchmark, Headline, MetricUse
from evalkit_benchmarks_declared.sources import (
    Rows,
    default_split,
    splits_of,
    stored_rows,
)
from evalkit_benchmarks_declared.tasks import task_of

EXTRACT = "extract"
"""Parameter that names one of several extractors."""

_DESCRIBING = {
    *("version", "changes", "description", "license", "citation", "source_url"),
    *("languages", "tags", "content_warning"),
}
"""Keys that are attributes of the dataset as they are."""


class DeclaredDataset(Dataset):
    """Base of the datasets of benchmark files.

    Attributes:
        benchmark: The benchmark file.
        path: Path of the file, or the name of the benchmark and its folder.
        variant: The benchmark for the chosen values of the axes.
        perturbations: Arguments of `evalkit.perturb` for each perturbation.
    """

    benchmark: ClassVar[Benchmark]
    path: ClassVar[Path]
    _rows: ClassVar[Rows | None] = None

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = {} if parameters is None else parameters.model_dump()
        extract = chosen.pop(EXTRACT, None)
        find_lines = partial(variant_lines, self.path, chosen)
        values = _variant(self.benchmark, chosen)
        self.variant = check_benchmark(values, str(self.path), find_lines)
        if extractors_of(self.variant) != extractors_of(self.benchmark):
            raise SchemaError(f"{self.path}: variants: cannot change extractors' names")
        extract = extract or next(iter(extractors_of(self.variant)), None)
        try:
            _refuse_lacking(self.variant.requires)
            compiled = compile_prompts(self.variant)
            vars(self).update(_attributes(self.variant, compiled, extract))
            task = Resolver(Registry()).bind("tasks", self.task)
            answer = task.attributes["answer_field"] or "answer"
            fields = compiled.computed | compiled.shown
            self._examples = Examples(self.variant, answer, fields)
        except EvalkitError as error:
            keys = str(error).partition(":")[0].split(".")
            place = located(str(self.path), find_lines(), keys)
            raise type(error)(f"{place}: {error}") from error

    def load(self, split: str) -> list[dict[str, Any]]:
        """Return the examples of a split; numbers as ids differ between splits."""
        source = type(self)._rows
        rows = stored_rows(self.variant.data, self.path.parent, split, source)
        is_main = split == default_split(self.variant.data)
        return self._examples.examples(rows, "" if is_main else split)


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
        "Parameters": _parameters(benchmark),
        "_rows": None if rows is None else staticmethod(rows),
        **benchmark.model_dump(include=_DESCRIBING, exclude_none=True),
    }
    if languages := [*benchmark.variants.get("language", ())]:
        attributes["languages"] = languages
    return type("DeclaredBenchmark", (DeclaredDataset,), attributes)


def axes_of(benchmark: Benchmark) -> dict[str, tuple[str, ...]]:
    """Return the values of each axis, that of the extractors last."""
    axes = {axis: tuple(values) for axis, values in benchmark.variants.items()}
    names = extractors_of(benchmark)
    return axes | ({EXTRACT: names} if len(names) > 1 else {})


def extractors_of(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the names of the extractors, the default one first."""
    names = benchmark.extract if isinstance(benchmark.extract, Mapping) else ()
    main = getattr(benchmark.headline, "extract", None)
    return tuple(sorted(names, key=lambda name: name != main))


def _parameters(benchmark: Benchmark) -> type[BaseModel]:
    """Make the parameters; the only value of an axis may be left out, but is kept."""
    axes = axes_of(benchmark)
    only = {axis: values[0] for axis, values in axes.items() if len(values) == 1}
    fill: Any = model_validator(mode="before")(lambda values: only | values)
    fields: dict[str, Any] = {"__validators__": {"fill": fill}}
    for axis, values in axes.items():
        kind = Literal.__getitem__(values)
        fields[axis] = (kind, values[0] if axis == EXTRACT else ...)
    return create_model("Parameters", __base__=Parameters, **fields)


def _variant(benchmark: Benchmark, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return what the file says of the variant with these values of the axes."""
    values = benchmark.model_dump(exclude_unset=True)
    axes = [f"macro:{axis}" for axis in values.pop("variants", {})]
    if values.get("aggregate") in axes:  # a mean over variants
        del values["aggregate"]
    for axis, value in chosen.items():
        if axis == "language":
            values["languages"] = [value]
        for key, override in benchmark.variants[axis][value].items():
            override_at(values, key.split("."), override)
    return values


def _refuse_lacking(requirements: Sequence[str]) -> None:
    """Refuse a benchmark that requires what is not installed."""
    for text in requirements:
        try:
            requirement = Requirement(text)
            found = version(requirement.name)
        except (InvalidRequirement, PackageNotFoundError) as error:
            hint = f"Install it: pip install '{text}'"
            raise PluginLoadError(f"requires: {text}: {error}. {hint}") from error
        if not requirement.specifier.contains(found, prereleases=True):
            raise PluginLoadError(f"requires: {text}: got version {found}")


def _attributes(
    benchmark: Benchmark, compiled: CompiledPrompts, extract: str | None
) -> dict[str, Any]:
    """Return the dataset's attributes that follow from what a variant says."""
    found: dict[str, Any] = {
        **benchmark.model_dump(include=_DESCRIBING, exclude_none=True),
        "task": task_of(benchmark, compiled.computed),
        "prompts": compiled.prompts,
        "splits": tuple(splits_of(benchmark.data)),
        "default_split": default_split(benchmark.data),
        "extract": _stages(benchmark, extract),
        "aggregate": benchmark.aggregate,
        "cluster": benchmark.data.cluster,
        "perturbations": [
            {"perturbations": [reference(each.name, each.options)]}
            | each.model_dump(include={"variants", "seed"})
            for each in benchmark.perturbations
        ],
    }
    uses = [use for use in (benchmark.headline, *benchmark.metrics) if use is not None]
    own = [use for use in uses if getattr(use, "extract", None) in (None, extract)]
    if metrics := dict.fromkeys(_metric(use, benchmark) for use in own or uses[:1]):
        found["perf_metric"], *found["eval_metrics"] = metrics
    return found


def _stages(benchmark: Benchmark, extract: str | None) -> Any:
    """Return the extractor stages; those of `null_label` come last."""
    stages = benchmark.extract
    if isinstance(stages, Mapping):
        stages = stages[extract or ""]
    if benchmark.null_label is None:
        return stages
    configuration = {"mapping": {benchmark.null_label: ""}, "otherwise": "text"}
    last = {"kind": "map-values", "configuration": configuration}
    written = split_stages(stages) if isinstance(stages, str) else stages or []
    return [*written, last]


def _metric(use: str | MetricUse, benchmark: Benchmark) -> str:
    if isinstance(use, str):
        return use
    of = {} if use.judge is None else {"of": use.judge}
    name = reference(use.metric, {**use.options, **of})
    rescale = use.normalise if isinstance(use, Headline) else None
    if rescale is None:
        return name
    chance: Any = rescale.low
    if chance == "chance":
        answer = getattr(benchmark.task, "answer", benchmark.task)
        chance, options = "labels", benchmark.data.choices
        if answer in ("choice", "multiple-choice"):
            chance = 1 / len(options) if isinstance(options, list) else "choices"
    scale = {"metric": name, "chance": chance, "best": rescale.high}
    scale |= {} if rescale.floor else {"floor": False}
    scale = {key: value for key, value in scale.items() if value is not None}
    return reference("above-chance", scale)


def reference(name: str, options: Mapping[str, Any]) -> str:
    """Write a metric as `NAME:KEY=VALUE,…` if all values are plain, else as JSON."""
    if all(re.fullmatch(r"[\w.-]+", str(value)) for value in options.values()):
        return score_name(name, options)
    return f"{name}:{json.dumps(options, ensure_ascii=False, sort_keys=True)}"
