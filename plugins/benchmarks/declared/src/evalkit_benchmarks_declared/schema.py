"""The format of a benchmark file: one closed pydantic model.

A benchmark file names what evalkit has already: a task, data with adapters, prompts,
extractors, metrics and judges. It holds no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

EDITION = 1
"""Edition of the format that this version reads."""

ComponentName = Annotated[
    str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=62)
]
"""Name of a component, an axis or an extractor."""

Text = Annotated[str, Field(min_length=1)]

Count = Annotated[int, Field(strict=True, ge=1)]

FieldType = Annotated[str, Field(pattern=r"^(texts?|number|integer|boolean)\??$")]
"""Type of an input field; a trailing `?` makes the field optional."""

AnswerType = Literal["label", "choice", "text", "number", "spans", "labels", "ranking"]
"""What a right answer is: one of `labels`, one of the example's own options, a text,
a number, spans of a text, several of `labels`, or the relevant items of a ranking."""

ModelKind = Literal["base", "instruct", "reasoning"]
"""Kind of model that a prompt is for."""

Stages = Text | list[Text | dict[str, JsonValue]]
"""Extractor stages, as for `--extract`."""


class Declared(BaseModel):
    """Base of all parts of a benchmark file: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Task(Declared):
    """A task that is declared in place."""

    input: Annotated[dict[Text, FieldType], Field(min_length=1)]
    """Type of each input field: `text`, `texts` (a list), `number`, `integer` or
    `boolean`; with `?` behind it if examples may lack the field."""
    answer: AnswerType
    labels: Annotated[list[Text], Field(min_length=2)] | None = None
    """The labels, for the answers `label` and `labels`."""

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        takes_labels = self.answer in ("label", "labels")
        if takes_labels and self.labels is None:
            raise ValueError(f"an answer of the type {self.answer!r} needs labels")
        if not takes_labels and self.labels is not None:
            raise ValueError(f"an answer of the type {self.answer!r} has no labels")
        return self


class Position(Declared):
    """A right option by its position, its letter or its text."""

    index: str | None = None
    """Expression for the position of the option, from 0."""
    letter: str | None = None
    """Expression for the letter of the option, from A."""
    text: str | None = None
    """Expression for the text of the option."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("name exactly one of index, letter and text")
        return self


class Sample(Declared):
    """A random sample of the examples, in their order."""

    count: Count
    seed: Annotated[int, Field(strict=True)] = 0


class Generator(Declared):
    """A function that makes the examples: `function(split, **arguments)`."""

    function: Annotated[str, Field(pattern=r"^[\w./-]+:\w+$")]
    """`package.module:function`, or `file.py:function` beside the benchmark file."""
    arguments: dict[str, JsonValue] = {}


class Data(Declared):
    """Where the examples come from, and which column is which field.

    An *expression* is the name of a column, a path within one (`meta.topic`,
    `options[0]`), or a template in the language that `templates` names. A text with
    `{` is a template.
    """

    path: Text | dict[ComponentName, Text | list[Text]] | None = None
    """File beside the benchmark file or URI; by split, if there are several. `{split}`
    in a path stands for the split."""
    hub: Annotated[str, Field(pattern=r"^[\w.-]+(/[\w.-]+)?$")] | None = None
    """Dataset on the Hugging Face hub: `OWNER/NAME`."""
    generator: Generator | None = None
    """Function that makes the examples."""
    format: Literal["jsonl", "json", "csv", "tsv", "parquet", "arrow"] | None = None
    """Format of the files. Default: by their suffix."""
    config: Text | None = None
    """Configuration of the dataset on the hub."""
    revision: Text | None = None
    """Commit or tag of the dataset on the hub."""
    sha256: str | dict[str, str] | None = None
    """SHA-256 of the file; by path, if there are several."""
    splits: dict[ComponentName, Text | list[Text]] | None = None
    """Split, and the stored split or splits that it is made of. Default: for `path`
    its keys, else `test`."""
    split: ComponentName | None = None
    """Split that is evaluated by default. Default: `test`, or the only one."""
    where: dict[Text, JsonValue] = {}
    """Value that a column must have, or a list of such values."""
    sample: Sample | None = None
    """Evaluate a random sample of this size."""
    adapters: list[dict[str, JsonValue]] = []
    """Adapters that change the stored rows first."""
    id: Text | None = None
    """Expression for the id; `#row` numbers the rows from 1. Default: the column `id`
    or `uid`."""
    fields: dict[Text, Text | list[Text]] = {}
    """Expression for each input field. Default: the column of the same name."""
    answer: Text | list[Text] | Position | None = None
    """Expression for the answer. Options are named by index, letter or text."""
    answer_extract: Stages | None = None
    """Extractor stages that take the answer out of the stored text."""
    labels: dict[str, Text] | None = None
    """Stored label, and the task's label that it stands for."""
    choices: Text | list[Text] | None = None
    """Expression for the list of options, or a list of one expression for each."""
    tags: dict[ComponentName, Text] = {}
    """Facet, and the expression for its value."""
    cluster: Text | list[Text] | None = None
    """Columns whose rows are not independent."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        sources = [name for name in ("path", "hub", "generator") if getattr(self, name)]
        if len(sources) != 1:
            found = " and ".join(sources) or "none"
            raise ValueError(
                f"name exactly one of path, hub and generator, got {found}"
            )
        for name in ("config", "revision"):
            if getattr(self, name) is not None and self.hub is None:
                raise ValueError(f"{name} is for data on the hub (hub)")
        return self


class ShotCount(Declared):
    """Number of shots by kind of model."""

    instruct: Annotated[int, Field(strict=True, ge=0)] = 0
    base: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Default: that of `instruct`."""
    reasoning: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Default: that of `instruct`."""


class Shots(Declared):
    """Examples with answers that a prompt shows."""

    count: Annotated[int, Field(strict=True, ge=0)] | ShotCount | None = None
    """How many; by kind of model, if they differ."""
    source: Text | None = None
    """Split that they come from. Default: the split `train`."""
    draw: Literal["first", "random", "balanced", "lm-eval", "helm"] | None = None
    """How they are drawn. `lm-eval`: anew for each example, by one generator over all
    examples. `helm`: by HELM's sampler, balanced by answer."""
    match: ComponentName | None = None
    """Facet, such as `language`, in which shots agree with the example."""
    spare: bool | None = None
    """With `lm-eval`, whether one shot more is drawn, to leave out the example itself.
    Default: where the source is the split that is evaluated."""
    examples: list[dict[str, JsonValue]] | None = None
    """The shots themselves: input fields, and `answer`."""
    seed: Annotated[int, Field(strict=True)] | None = None


class Prompt(Declared):
    """A prompt: the keys of `evalkit_models_base.Prompt`, and those below."""

    model_config = ConfigDict(extra="allow")

    shots: Shots | None = None
    prefix: str | None = None
    """Text before the whole prompt."""
    suffix: str | None = None
    """Text behind the whole prompt."""
    substitutions: list[tuple[str, str]] = []
    """Regular expressions and their replacements, applied to the whole prompt."""
    by_kind: dict[ModelKind, dict[str, JsonValue]] = {}
    """Keys of the prompt that differ for a kind of model."""


class MetricUse(Declared):
    """A metric with its options, or with the extractor or judge that it scores."""

    metric: Text
    options: dict[str, JsonValue] = {}
    """Parameters of the metric."""
    extract: ComponentName | None = None
    """Extractor whose answers it scores. Default: all."""
    judge: ComponentName | None = None
    """Judge whose verdicts it is of."""


class Normalisation(Declared):
    """Rescaling of the headline: `low` becomes 0 and `high` becomes 1."""

    low: Literal["chance"] | Annotated[float, Field(allow_inf_nan=False)] = "chance"
    """`chance`: 1 / the number of declared labels or of the example's options."""
    high: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Default: the best value of the metric."""
    floor: bool = True
    """Whether values below `low` become 0."""


class Headline(Declared):
    """The score that stands for the benchmark."""

    metric: Text
    options: dict[str, JsonValue] = {}
    extract: ComponentName | None = None
    """Extractor whose answers it scores. Default: the first."""
    normalise: Normalisation | None = None


class Perturbation(Declared):
    """A perturbation whose effect is measured with each evaluation."""

    name: Text
    options: dict[str, JsonValue] = {}
    variants: Count = 1
    """Perturbed examples for each original."""
    seed: Annotated[int, Field(strict=True)] = 0


class Benchmark(Declared):
    """A benchmark file."""

    benchmark: Literal[1]
    """Edition of the format."""
    name: ComponentName
    version: Text
    """Raised by any change of data, prompt or metric."""
    changes: dict[Text, Text] = {}
    """What changed, by version."""
    description: Text | None = None
    license: Text | None = None
    citation: Text | None = None
    source_url: Text | None = None
    languages: list[Text] = []
    tags: list[Text] = []
    content_warning: Text | None = None
    requires: list[Text] = []
    """Distributions that it needs, such as `evalkit-metrics-generation`."""
    templates: Literal["braces", "jinja"] = "braces"
    """Language of the templates."""
    task: ComponentName | Task
    data: Data
    prompt: Prompt | None = None
    extract: Stages | dict[ComponentName, Stages] | None = None
    """What takes the answer out of a reply; several, by name."""
    null_label: Text | None = None
    """Extracted answer that stands for no answer."""
    metrics: list[Text | MetricUse] = []
    headline: Text | Headline | None = None
    judges: dict[ComponentName, dict[str, JsonValue]] = {}
    """Judges, as `--annotate` takes them, by name."""
    trials: Count = 1
    """Evaluations with other shots."""
    replications: Count = 1
    """Replies to each request."""
    perturbations: list[Perturbation] = []
    variants: dict[ComponentName, dict[str, dict[str, JsonValue]]] = {}
    """Axis, such as `language`; its values; and the keys of this file that differ, as
    nested or dotted keys."""
    aggregate: Annotated[str, Field(pattern=r"^macro:\S+$")] | None = None
    """`macro:AXIS` or `macro:FACET`: the mean over variants or tags is the headline."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        facets = [*self.variants, *self.data.tags]
        if self.aggregate and self.aggregate.removeprefix("macro:") not in facets:
            raise ValueError(
                f"aggregate: no axis or facet of this name, got {self.aggregate!r}. "
                f"Names: {', '.join(facets) or 'none'}"
            )
        names = list(self.extract) if isinstance(self.extract, Mapping) else []
        uses: dict[str, Any] = {
            f"metrics.{n}": use for n, use in enumerate(self.metrics)
        }
        for key, use in {**uses, "headline": self.headline}.items():
            for field, known in (("extract", names), ("judge", [*self.judges])):
                name = getattr(use, field, None)
                if name is not None and name not in known:
                    raise ValueError(
                        f"{key}.{field}: unknown name {name!r}. Names: "
                        f"{', '.join(known) or 'none'}"
                    )
        return self
