"""The format of a benchmark file: one closed pydantic model, which holds no code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"

ComponentName = Annotated[str, Field(pattern=_NAME, max_length=62)]
"""Name of a component, an axis or an extractor."""

Text = Annotated[str, Field(min_length=1)]
Integer = Annotated[int, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1)]
Amount = Annotated[int, Field(strict=True, ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]

FieldType = Annotated[str, Field(pattern=r"^(texts?|number|integer|boolean)\??$")]
"""Type of an input field; a trailing `?` makes the field optional."""

AnswerType = Literal[
    "label", "choice", "text", "number", "spans", "labels", "ranking", "none"
]
"""What a right answer is: one of `labels`, one of the example's own options, a text,
a number, spans of a text, several of `labels`, or the relevant items of a ranking;
`none` for texts whose probability is asked (`method: language-modelling`)."""

ModelKind = Literal["base", "instruct", "reasoning"]
"""Kind of model that a prompt is for."""

Position = Annotated[
    dict[Literal["index", "letter", "text"], Text], Field(min_length=1, max_length=1)
]
"""Expression for a right option: its position, from 0, its letter, or its text."""

AxisValue = Annotated[str, Field(pattern=r"^[^,/\s]([^,/]*[^,/\s])?$")]
"""Value of an axis; references cannot hold `,` and `/`."""

Overrides = Annotated[dict[AxisValue, dict[str, JsonValue]], Field(min_length=1)]

Stages = Text | list[Text | dict[str, JsonValue]]
"""Extractor stages, as for `--extract`."""


class Declared(BaseModel):
    """Base of all parts of a benchmark file: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Task(Declared):
    """A task that is declared in place."""

    input: Annotated[dict[Text, FieldType], Field(min_length=1)]
    """Type by field: `text`, `texts`, `number`, `integer`, `boolean`; `?`: optional."""
    answer: AnswerType
    labels: Annotated[list[Text], Field(min_length=2)] | None = None
    """For the answers `label` and `labels`."""

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        needs_labels = self.answer in ("label", "labels")
        if needs_labels == (self.labels is None):
            verb = "needs" if needs_labels else "has no"
            raise ValueError(f"an answer of the type {self.answer!r} {verb} labels")
        return self


class Sample(Declared):
    """A random sample of the examples, in their order."""

    count: Count
    seed: Integer = 0


class Data(Declared):
    """Where the examples come from, and which column is which field.

    An *expression* is a column, a path within one (`meta.topic`, `options[0]`) or, if
    it holds `{`, a template in the language that `templates` names.
    """

    path: Text | dict[ComponentName, Text | list[Text]] | None = None
    """Path from the benchmark file, or URI. `{split}` stands for the stored split."""
    hub: Annotated[str, Field(pattern=r"^[\w.-]+(/[\w.-]+)?$")] | None = None
    """Dataset on the Hugging Face hub: `OWNER/NAME`."""
    format: Literal["jsonl", "json", "csv", "tsv", "parquet", "arrow"] | None = None
    """Format of the files. Default: by their suffix."""
    config: Text | None = None
    """Configuration of the dataset on the hub."""
    revision: Text | None = None
    """Commit or tag of the dataset on the hub."""
    sha256: str | dict[str, str] | None = None
    """SHA-256 of the file; by path, if there are several."""
    splits: dict[ComponentName, Text | list[Text]] | None = None
    """Split: its stored split or splits. Default: the keys of `path`, else `test`."""
    split: ComponentName | None = None
    """Split that is evaluated. Default: `test`, or the first one."""
    where: dict[Text, JsonValue] = {}
    """Expression: the value that it must have, or a list of values."""
    sample: Sample | None = None
    """Random sample of the split that is evaluated."""
    adapters: list[dict[str, JsonValue]] = []
    """Adapters that change the stored rows first."""
    id: Text | None = None
    """Expression; `#row` numbers the rows from 1. Default: the column `id` or `uid`."""
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
        if (self.path is None) == (self.hub is None):
            got = "none" if self.path is None else "both"
            raise ValueError(f"name exactly one of path and hub, got {got}")
        sources = {"config": "hub", "revision": "hub", "sha256": "path"}
        for name, source in sources.items():
            if getattr(self, name) is not None and getattr(self, source) is None:
                raise ValueError(f"{name} is for data with {source}")
        return self


class Shots(Declared):
    """Examples with answers that a prompt shows."""

    count: Amount | dict[ModelKind, Amount | None] | None = None
    """How many; by kind of model, if they differ. Default: that of `instruct`, or 0."""
    source: ComponentName | None = None
    """Split that they come from. Default: the split `train`."""
    draw: Literal["first", "random", "balanced", "lm-eval", "helm"] | None = None
    """`lm-eval` draws anew for each example; `helm` is HELM's sampler."""
    match: ComponentName | None = None
    """Facet, such as `language`, in which shots agree with the example."""
    spare: bool | None = None
    """Draw one more for `lm-eval`, to omit the example. Default: in its own split."""
    examples: list[dict[str, JsonValue]] | None = None
    """The shots themselves: input fields, and `answer`."""
    fewer: bool = False
    """Whether all are shown, with a notice, where there are fewer than `count`."""
    seed: Integer | None = None


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

    low: Literal["chance"] | Finite = "chance"
    """`chance`: 1 / the number of declared labels or of the example's options."""
    high: Finite | None = None
    """Default: the best value of the metric."""
    floor: bool = True
    """Whether values below `low` become 0."""

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.low == self.high:
            raise ValueError("low and high must differ")
        return self


class Headline(MetricUse):
    """The score that stands for the benchmark."""

    extract: ComponentName | None = None
    """Extractor that is used unless another is named. Default: the first."""
    normalise: Normalisation | None = None


class Perturbation(Declared):
    """A perturbation whose effect is measured with each evaluation."""

    name: Text
    options: dict[str, JsonValue] = {}
    variants: Count = 1
    """Perturbed examples for each original."""
    seed: Integer = 0


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
    variants: dict[ComponentName, Overrides] = {}
    """Axis, such as `language`: value: keys of this file that differ, also dotted."""
    aggregate: Annotated[str, Field(pattern=r"^macro:\S+$")] | None = None
    """`macro:AXIS` or `macro:FACET`: the mean over variants or tags is the headline."""

    @model_validator(mode="after")
    def _check_prompt(self) -> Self:
        if self.perturbations and self.trials * self.replications > 1:
            raise ValueError("perturbations: trials and replications must be 1")
        for key in {"trials", "replications"} & self.model_fields_set:
            if self.prompt is None:
                raise ValueError(f"{key}: there is no prompt. Write prompt")
        if self.extract and "extract" in (
            (self.prompt and self.prompt.model_extra) or ()
        ):
            raise ValueError(
                "prompt.extract: the key extract has a value, too. Remove one"
            )
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if "extract" in self.variants:
            raise ValueError("variants.extract: the key `extract` makes this axis")
        for axis, values in self.variants.items():
            for value, overrides in values.items():
                for key in {"benchmark", "name", "variants"} & overrides.keys():
                    place = f"variants.{axis}.{value}.{key}"
                    raise ValueError(f"{place}: the same for all variants. Remove it")
        facet = (self.aggregate or "").removeprefix("macro:")
        names = list(self.extract) if isinstance(self.extract, Mapping) else []
        named = [("aggregate", facet or None, [*self.variants, *self.data.tags])]
        for number, use in enumerate([*self.metrics, self.headline]):
            key = f"metrics.{number}" if number < len(self.metrics) else "headline"
            if isinstance(use, MetricUse):
                named.append((f"{key}.extract", use.extract, names))
                named.append((f"{key}.judge", use.judge, [*self.judges]))
        for key, name, choices in named:
            if name is not None and name not in choices:
                listed = ", ".join(choices) or "none"
                raise ValueError(f"{key}: unknown name {name!r}. Names: {listed}")
        return self
