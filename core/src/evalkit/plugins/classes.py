"""Base classes of tasks, data sets, metrics, perturbations and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.base.terms import Extractors, Source
from evalkit.plugins.plugin import Plugin

if TYPE_CHECKING:
    from evalkit.base.terms import AnswerKind, IntervalKind, MergeKind


class Perturbation(Plugin):
    """A change of a text or an example, made to see what a model does about it.

    A subclass sets `families`, `version` and `label_effect` and implements one of
    `perturb`, `perturb_batch`, `find_edits` and `perturb_example`.
    `evalkit.hookspecs.PerturbationAttributes` says what each attribute means.

    Example:
        ```python
        class Shout(evalkit.Perturbation):
            families = {"robustness"}
            version = "1"
            label_effect = {"*": "invariant"}

            def perturb(self, text):
                return text.upper()
        ```
    """

    protects: ClassVar[bool] = True
    batch_texts: ClassVar[int] = 64


class TaskIO(Plugin):
    """A task: the shape of input and output, and how answers are scored by default.

    A subclass sets `Input`, `Output`, `example` and `perf_metric`, and either
    `answer_field` or converters. `evalkit.hookspecs.TaskIOAttributes` says what each
    attribute means.
    """

    eval_metrics: ClassVar[Sequence[str]] = ()
    delta_metrics: ClassVar[Sequence[str]] = ()
    labels: Sequence[str] | None = None
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    annotators: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    answer_kind: ClassVar[AnswerKind] = "one"
    choices_field: ClassVar[str | None] = None
    only_choices: ClassVar[bool] = False
    answer_field: ClassVar[str | None] = None
    input_keys: ClassVar[Sequence[str] | None] = None
    scored_fields: ClassVar[Sequence[str]] = ()
    verify_fields: ClassVar[Sequence[str] | None] = None
    perturb_fields: ClassVar[Sequence[str]] = ()
    extract: ClassVar[Extractors | None] = None
    content_warning: ClassVar[str | None] = None


def default_label_converter(answer_field: str) -> Mapping[str, Any]:
    """Declare the converter that reads `uid`, the answer field and `tags`."""
    return {"id": "uid", "answer": answer_field, "tags": "tags"}


def default_pred_converter(answer_field: str) -> Mapping[str, Any]:
    """Declare the converter that reads `id` and the answer field."""
    return {"id": "id", "pred": answer_field}


class DatasetDefaults(Plugin):
    """What a data set need not say of itself; `evalkit.Dataset` has methods beside."""

    name: ClassVar[str | None] = None
    round_id: ClassVar[int] = 0
    splits: ClassVar[Sequence[str]] = ("test",)
    default_split: ClassVar[str] = "test"
    labels: ClassVar[Sequence[str] | Mapping[str, str] | None] = None
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    scored_fields: ClassVar[Sequence[str]] = ()
    perf_metric: ClassVar[str | None] = None
    eval_metrics: ClassVar[Sequence[str] | None] = None
    aggregate: ClassVar[str | None] = None
    cluster: ClassVar[Sequence[str] | str | None] = None
    tags: ClassVar[Sequence[str]] = ()
    version: ClassVar[str] = "1"
    changes: ClassVar[Mapping[str, str]] = {}
    license: ClassVar[str | None] = None
    source_url: ClassVar[str | None] = None
    citation: ClassVar[str | None] = None
    languages: ClassVar[Sequence[str]] = ()
    content_warning: ClassVar[str | None] = None
    description: ClassVar[str | None] = None
    sources: ClassVar[Mapping[str, Source]] = {}
    files_folder: str | Path | None = None
    example_predictions: ClassVar[Mapping[str, str | Path]] = {}
    adapters: ClassVar[Sequence[Mapping[str, Any]]] = ()
    extract: ClassVar[Extractors | None] = None
    located_files: Mapping[str, Path] = {}
    """The files that were asked for so far, which the run records."""


class Metric(Plugin):
    """A metric, written in one of several ways (see `evalkit.hookspecs.MetricSpec`).

    `evalkit.hookspecs.MetricAttributes` says what each attribute means.

    Example:
        ```python
        class Length(evalkit.Metric):
            unit = "characters"

            def score_example(self, prediction, target):
                return float(len(prediction))
        ```
    """

    unit: ClassVar[str] = ""
    bounds: ClassVar[tuple[float | None, float | None] | None] = None
    higher_is_better: ClassVar[bool | None] = None
    scale: ClassVar[float] = 1.0
    answer_kinds: ClassVar[Sequence[AnswerKind]] = ("one", "any-of", "number")
    interval: ClassVar[IntervalKind | None] = None
    columns: ClassVar[Sequence[str]] = ()
    optional_columns: ClassVar[Sequence[str]] = ()
    keys: ClassVar[Sequence[str]] = ()
    merges: ClassVar[Mapping[str, MergeKind]] = {}
    per_example: ClassVar[str | None] = None
    worst_value: ClassVar[float | None] = None
    accepts_no_prediction: ClassVar[bool] = False
    joins_replications: ClassVar[bool] = False
    has_possible_range: ClassVar[bool] = True
    whole_only: ClassVar[bool] = False
    scores: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    most_not_scored: ClassVar[float] = 0.1
    batch_rows: ClassVar[int | None] = None
    shares_work: ClassVar[bool] = True
    costly: ClassVar[bool | None] = None
    deterministic: ClassVar[bool] = True
