"""Everything that a plugin may implement.

For each kind of plugin, and for observers, this module holds a spec class, whose
methods are the hooks, and a class with the attributes that core reads. A plugin need
not inherit anything: a method named like a hook is that hook, and it may take fewer
arguments than the spec offers, but no others, and none that is keyword-only. Base
classes with defaults are `evalkit.TaskIO`, `evalkit.Dataset`, `evalkit.Metric` and
`evalkit.Perturbation`.

An attribute with a value below is optional; the others are required.
Attributes are checked against the annotations below when a plugin is loaded.

A hook is called with those of the spec's arguments that the implementation names.

What touches a response, in this order: adapters that a user names, `adapt_response` of
the data set, `adapt_response` of the task, the extractor, the check of `Output` and
`verify_response`, `pred_field_converter`, annotators.

Each field of a task's `Input` and `Output` has one type as a column, which follows
from its annotation, whichever way the rows came. Metrics see columns of these types:
bytes are bytes, a nested model is a struct (a dict, in Python), a list of models a list
of them, and a map (`dict[str, T]`) a list of its entries, `{"key": …, "value": …}`, by
key. Converters, `verify_response` and perturbations see the values that pydantic
returns, after defaults, aliases and validators; there a map is a dict. A field whose
annotation names no one type (`Any`, a union, a dict of anything) is stored as its text,
number or boolean, and where it is none of these as JSON text.

Whatever a hook raises or returns that is not as it is said here is a failure of its
plugin, which is named with its distribution and version. It is never a reason to call a
response invalid, and never a 0. Two hooks may say on purpose that a response is bad:
`verify_response`, by violations or a bare assertion, and `adapt_response`, which sees
what nobody has checked, by a `ValueError`, a `TypeError` or a `LookupError`. Converters
see only what has passed all checks, so that what they raise ends the evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pluggy
from annotated_types import Ge, Le

from evalkit.base.terms import AnswerKind as AnswerKind
from evalkit.base.terms import Extractors as Extractors
from evalkit.base.terms import IntervalKind as IntervalKind
from evalkit.base.terms import MergeKind as MergeKind

if TYPE_CHECKING:
    import polars as pl
    from pydantic import BaseModel

    from evalkit.base.copies import Edit
    from evalkit.base.terms import MetricContext, Source, Unparsed
    from evalkit.base.violations import Violation

hookspec = pluggy.HookspecMarker("evalkit")
"""Marks a method of a spec class in `evalkit.hookspecs`."""

hookimpl = pluggy.HookimplMarker("evalkit")
"""Marks a method of a plugin; needed only to give options, as names suffice."""


class TaskIOAttributes:
    """Attributes of a task."""

    Input: type[BaseModel]
    """What an example holds beside its label: the id is `uid`."""
    Output: type[BaseModel]
    """What a response holds: the id is `id`."""
    perf_metric: str
    """Name of the metric that is the headline."""
    eval_metrics: ClassVar[Sequence[str]] = ()
    """Names of the metrics computed beside it."""
    delta_metrics: ClassVar[Sequence[str]] = ()
    """Families of perturbation whose effect is to be reported: of those without copies
    a notice says so where a run has copies of others. In `run.json`."""
    example: ClassVar[Mapping[str, Any]]
    """One valid input."""
    labels: Sequence[str] | None = None
    """The labels, where the output is one of a fixed set."""
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """How a model is asked, by name: prompts as `docs/prompts.md` describes them; the
    first one is used where the user names none."""
    annotators: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Annotators that are declared, by name: what a file of `--annotate` says."""
    answer_kind: ClassVar[AnswerKind] = "one"
    """What shape an answer has; `none` for a task without right answers, which metrics
    score that have `none` among their `answer_kinds`, and no others. An empty list is
    an answer for `all-of` and `spans`."""
    choices_field: ClassVar[str | None] = None
    """Name of the field of `Input` that lists an example's own options, in their order.
    Answers must be among them, and the baselines are of them; None for none."""
    only_choices: ClassVar[bool] = False
    """Whether a prediction that is none of the example's options is invalid; where not,
    it is wrong."""
    answer_field: ClassVar[str | None] = None
    """Name of the answer, both in the data and in a response; the default
    converters read it. None where the task or data set has converters of its own."""
    input_keys: ClassVar[Sequence[str] | None] = None
    """Fields of `Input` that a model is sent; None for those that it requires, without
    the id. In `run.json`, and what `evalkit show datasets/NAME -n 3` shows."""
    scored_fields: ClassVar[Sequence[str]] = ()
    """Fields of a response that are kept for metrics beside the prediction. Those that
    a metric asks for in `columns` are kept too, whether they stand here or not;
    `responses.NAME` is the field NAME of all ranked alternatives."""
    verify_fields: ClassVar[Sequence[str] | None] = None
    """Columns of the data that `verify_response` reads; None for all of `Input`."""
    perturb_fields: ClassVar[Sequence[str]] = ()
    """Fields of the input that a perturbation changes by default: texts, lists of
    texts, and paths to texts in a field (`context.title`, `messages[].content`)."""
    extract: ClassVar[Extractors | None] = None
    """What takes the answer out of a response's text, where neither the data set nor
    the user says it: `after:Answer:|choice`, or a list of stages; None for nothing."""
    content_warning: ClassVar[str | None] = None
    """What a reader of any data of this task should be warned of."""


class TaskIOSpec:
    """Hooks of a task: what a model is asked, and what it may answer."""

    @hookspec(firstresult=True)
    def verify_response(
        self,
        response: Mapping[str, Any],
        example: Mapping[str, Any],
        labels: Sequence[str] | None,
        data: Mapping[str, Any],
    ) -> Sequence[Violation] | None:
        """Check one response beyond what `Output` says.

        Called for each response that has the shape of `Output` and whose example
        exists. May be left out.

        Args:
            response: The response as the model wrote it, after the response
                adapters, with undeclared keys; its id is under `id`.
            example: The example's `verify_fields` and its `uid`.
            labels: The data set's labels, or the task's; None where it has none.
            data: The same as `example`, under the name that dynalab used.

        Returns:
            All violations; None or an empty list for a valid response. An
            `AssertionError` counts as one violation, which quotes the assertion;
            anything else that is raised ends the evaluation.
        """

    @hookspec(firstresult=True)
    def label_field_converter(self, example: Mapping[str, Any]) -> Mapping[str, Any]:
        """Turn an example into what is scored, where the data set does not.

        May be left out when `answer_field` is set, or be declared as a mapping.
        See `DatasetSpec.label_field_converter`.
        """

    @hookspec(firstresult=True)
    def adapt_response(
        self, response: Mapping[str, Any], row: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | Unparsed:
        """Map what models write to `Output`, after the data set's own adapter.

        May be left out. See `DatasetSpec.adapt_response`.
        """

    @hookspec(firstresult=True)
    def pred_field_converter(
        self,
        response: Mapping[str, Any],
        example: Mapping[str, Any],
        row: Mapping[str, Any] | None,
    ) -> Mapping[str, Any] | Unparsed:
        """Turn a response into what is scored, where the data set does not.

        May be left out when `answer_field` is set, or be declared as a mapping.
        See `DatasetSpec.pred_field_converter`.
        """


class DatasetAttributes:
    """Attributes of a data set."""

    task: Any
    """The task: its name, or the class or an instance of one that need not be
    installed. A run of such a data set says that the task was given as an object."""
    name: str | None = None
    """The data set's own name; where given it must equal the entry point's."""
    round_id: ClassVar[int] = 0
    """Round of a data collection; 0 for none. In `run.json`."""
    splits: ClassVar[Sequence[str]] = ("test",)
    """Names of the splits that `load` knows."""
    default_split: ClassVar[str] = "test"
    """The split that is evaluated unless another is asked for."""
    labels: ClassVar[Sequence[str] | Mapping[str, str] | None] = None
    """The labels, as the task spells them, or a mapping from stored to the task's,
    which core applies to the answers; None for the task's labels."""
    scored_fields: ClassVar[Sequence[str]] = ()
    """Fields of a response that its metrics, or `evaluate`, ask for beside those of the
    task; the task need not declare them."""
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """How a model is asked, in place of the task's prompts."""
    perf_metric: ClassVar[str | None] = None
    """The headline metric, where it differs from the task's."""
    eval_metrics: ClassVar[Sequence[str] | None] = None
    """The other metrics, where they differ from the task's."""
    aggregate: ClassVar[str | None] = None
    """`macro:FACET` where the headline is the mean over the tags of a facet."""
    cluster: ClassVar[Sequence[str] | str | None] = None
    """Columns whose rows are not independent of each other."""
    tags: ClassVar[Sequence[str]] = ()
    """Tags of the data set as a whole, which `evalkit list --tag` asks for. In
    `run.json`."""
    version: ClassVar[str] = "1"
    """Raised by any change of data, configuration or metric."""
    changes: ClassVar[Mapping[str, str]] = {}
    """What changed in each version, by version; `evalkit verify` says it of a run of an
    older version. In `run.json`."""
    license: ClassVar[str | None] = None
    """Licence of the data (SPDX where there is one)."""
    source_url: ClassVar[str | None] = None
    """Where the data, or the paper about it, is found."""
    citation: ClassVar[str | None] = None
    """How to cite it, as BibTeX."""
    languages: ClassVar[Sequence[str]] = ()
    """BCP 47 codes of the languages of the texts, such as `en` and `pt-BR`, which
    `evalkit list --language` asks for. In `run.json`."""
    content_warning: ClassVar[str | None] = None
    """What a reader should be warned of."""
    description: ClassVar[str | None] = None
    """A sentence about the data set. In `run.json`."""
    notices: ClassVar[Sequence[str]] = ()
    """What a user should know of each evaluation, such as what was left out of a
    benchmark of another program. In `run.json`."""
    sources: ClassVar[Mapping[str, Source]] = {}
    """The publisher's files, by file name."""
    files_folder: str | Path | None = None
    """The folder in which the files are that fields annotated `evalkit.FilePath` name;
    None for that of the file that `load` returns, or else of the data set's module."""
    example_predictions: ClassVar[Mapping[str, str | Path]] = {}
    """Files of predictions that ship with the data set, by name of the model."""
    adapters: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Adapters that the rows of `load` go through, in order, before anything else looks
    at them: `{"kind": "Rename", "configuration": {"text": "statement"}}`. A run records
    them. Rows of perturbed copies were adapted when these were made."""
    extract: ClassVar[Extractors | None] = None
    """What takes the answer out of a response's text, unless a user names another
    (`--extract`): `after:Answer:|choice`, or a list of stages; None for the task's."""


class DatasetSpec:
    """Hooks of a data set."""

    @hookspec(firstresult=True)
    def load(
        self, split: str, columns: Sequence[str] | None, limit: int | None
    ) -> pl.LazyFrame | pl.DataFrame | str | Path | Iterable[Mapping[str, Any]]:
        """Return the examples of a split. Required.

        Scores are the same whether `columns` and `limit` are looked at or not; they are
        there to read less. A data set that takes `columns` is identified by the columns
        that are always asked for: those of `Input`, of the answers, tags and clusters.

        Args:
            split: One of `splits`.
            columns: The columns that will be read, as far as there are such; others may
                be left out. None where any may be read.
            limit: How many examples are wanted, the first ones; None for all.

        Returns:
            A polars frame, an Arrow table, the path of a file (JSON lines, CSV, TSV,
            Parquet or Arrow), a list of the paths of its shards, or an iterable of
            dicts. Each row holds every field of the task's `Input` and whatever the
            converter needs for the answer; `tags` are a list of texts.
        """

    @hookspec(firstresult=True)
    def label_field_converter(self, example: Mapping[str, Any]) -> Mapping[str, Any]:
        """Turn an example into what is scored.

        May be left out: then the task's is used. Instead of a method it may be a
        mapping with the keys `id`, `answer` and `tags`, whose values are names of
        columns or polars expressions; for `tags` also a mapping from facet to
        column, in which an empty value gives no tag. A mapping runs at column speed.

        Args:
            example: One row of `load`.

        Returns:
            A dict with `id`, `answer` (an element of a metric's `targets`: a text,
            number or boolean, or a list of them) and `tags` (a list of texts; may be
            left out), and no other key: clusters are columns of the data, which the
            attribute `cluster` names. What it raises ends the evaluation.
        """

    @hookspec(firstresult=True)
    def pred_field_converter(
        self,
        response: Mapping[str, Any],
        example: Mapping[str, Any],
        row: Mapping[str, Any] | None,
    ) -> Mapping[str, Any] | Unparsed:
        """Turn a response into what is scored.

        May be left out: then the task's is used. May be a mapping with the keys `id`
        and `pred` instead of a method.

        Args:
            response: One response, checked against the task's `Output`.
            example: The same response, under the name that Dynabench used.
            row: What the model was asked: `uid` and the fields of `Input` of the
                example that the response answers, such as its `choices`; never the
                answer.

        Returns:
            A dict with `id` and `pred` (an element of a metric's `predictions`: a text,
            number or boolean, a list of them, or a value of the type of the task's
            `answer_field`), and no other key. `evalkit.Unparsed(reason)` in place of
            the dict or of `pred`, or None as `pred`, says that no answer could be
            extracted: the example is scored as wrong, and counted by the reason. What
            it raises ends the evaluation: `verify_response` is the place to refuse a
            response.
        """

    @hookspec(firstresult=True)
    def adapt_response(
        self, response: Mapping[str, Any], row: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | Unparsed:
        """Map what models of this benchmark write to the task's `Output`.

        Called before the task's own adapter and before validation. May be left out.

        Args:
            response: One response as it was read.
            row: As for `pred_field_converter`; None where the response has no id of an
                example under `id`, `uid` or `_index_`.

        Returns:
            A new response; the given one must not be changed. In its place, or as one
            of its values, `evalkit.Unparsed(reason)`, or None as the field that is
            scored, says that no answer could be extracted, also where `Output` requires
            one: the example is scored as wrong, and counted by the reason. (Null that
            the model itself wrote there stays what `Output` says of it.) A
            `ValueError`, a `TypeError` or a `LookupError` says that this response is
            invalid; anything else that is raised ends the evaluation.
        """

    @hookspec(firstresult=True)
    def evaluate(self, frame: pl.DataFrame) -> Mapping[str, Any]:
        """Score a data set that no list of metrics can score.

        May be left out. Its scores are added to those of the metrics.

        Args:
            frame: One row for each scored example: `id` (text), `answer` (the type of
                the task's answers, a list where several are acceptable), `pred`,
                `tags` (list of texts) and the task's scored fields.

        Returns:
            One or more scores by name. Each is a number, or None where it is not
            defined; or a dict with `value` and, as far as they are known, `n` (how many
            examples it is of; all by default), `ci_low` and `ci_high` (the confidence
            interval, both or none), `reason` (why there is no value, or else no
            interval), `unit`, `scale` (100 for a proportion that is shown in %) and
            `higher_is_better`; or a list of such dicts, of which those of a tag have it
            under `tag`. Where it fails, or returns something else, the run is partial,
            and the error names the data set.
        """


class MetricAttributes:
    """Attributes of a metric."""

    unit: ClassVar[str] = ""
    """Unit of the value as shown, such as `%`; "" for none."""
    bounds: ClassVar[tuple[float | None, float | None] | None] = None
    """Least and greatest value as stored; None where there is no such bound."""
    higher_is_better: ClassVar[bool | None] = None
    """Direction; None where it is unknown."""
    scale: ClassVar[float] = 1.0
    """What a stored value is multiplied with to be shown (100 for proportions)."""
    answer_kinds: ClassVar[Sequence[AnswerKind]] = ("one", "any-of", "number")
    """Shapes of answers that the metric can take; `none` if it needs no answer, and
    then gets null as `target` where there is none."""
    interval: ClassVar[IntervalKind | None] = None
    """How its confidence interval is computed; None for `t` with `score_example` and
    else `bootstrap`."""
    columns: ClassVar[Sequence[str]] = ()
    """Columns that it needs beside prediction and target: scored fields of the
    response, or fields of the input."""
    optional_columns: ClassVar[Sequence[str]] = ()
    """Those of `columns` that data and responses may lack: they are null then."""
    keys: ClassVar[Sequence[str]] = ()
    """Columns of `statistics` that name a cell, such as gold and predicted label."""
    merges: ClassVar[Mapping[str, MergeKind]] = {}
    """How each column of `statistics` merges, where not by `sum`."""
    per_example: ClassVar[str | None] = None
    """Column of `statistics` that is the score of one example, if there is one."""
    worst_value: ClassVar[float | None] = None
    """Score of an example without a usable prediction, for per-example metrics."""
    accepts_no_prediction: ClassVar[bool] = False
    """Whether it counts a prediction that is null as wrong by itself."""
    joins_replications: ClassVar[bool] = False
    """Whether it is of all answers to an example: where the set was answered several
    times, each example is one row then, and its predictions stand in `responses`, null
    for none; `prediction` is null where one is lacking. With `statistics` only."""
    has_possible_range: ClassVar[bool] = True
    """Whether it is least where all examples that were left out lack a prediction, and
    greatest where all are right; where not, its scores have no such bounds."""
    whole_only: ClassVar[bool] = False
    """Whether it is of the whole set alone, such as how long the job took that made the
    predictions: it has no scores of tags, baselines or under perturbation."""
    scores: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The scores of a metric that gives several in one pass, by name ("" is the main
    one); of each the attributes in which it differs from the metric: `unit`, `bounds`,
    `higher_is_better`, `scale`, `interval` and `worst_value`. They are called
    `NAME#score`. Empty for a metric of one score, and where `finalize` alone says which
    there are."""
    most_not_scored: ClassVar[Annotated[float, Ge(0), Le(1)]] = 0.1
    """Share of a group's examples, 0 to 1, of which the metric may have scored none
    before the group's score is null; one example never is too many."""
    batch_rows: ClassVar[Annotated[int, Ge(1)] | None] = None
    """Maximum examples per call of `score_batch` (256 by default) or `statistics`."""
    shares_work: ClassVar[bool] = True
    """Whether several processes may compute it at once (`--jobs`). False for what
    needs a graphics card or a large model."""
    costly: ClassVar[bool | None] = None
    """Whether a call costs so much that each example is scored once: no baselines, no
    bounds of what was left out, no resampling of lists unless it is asked for, and
    `verify` uses the kept scores of the examples. None for True with `score_batch`,
    else False."""
    deterministic: ClassVar[bool] = True
    """Whether it gives the same for the same. Where not, `verify` uses the kept scores
    of the examples."""


class MetricSpec:
    """Hooks of a metric, which implements one of five ways.

    1. `compute`: a function of two whole lists; called for the whole set and each tag.
       A plain function `get_<name>(predictions, targets)` is wrapped as this.
    2. `score_example`: a score for one example; the mean is taken. A plain function
       `<name>(prediction, target)` is wrapped as this.
    3. `score_batch`: the same for a list of examples at once, for what is slow by call.
    4. `statistics` and `finalize`: columns that add up, and what to make of the sums.
    5. `example_statistics` and `finalize`: the same with a dict of numbers for each
       example, and for each group one of their sums.

    `prepare` and `resources` may stand beside each of them, and `finalize_counts`
    beside `finalize` and `statistics`.

    One example that cannot be scored does not take the others' score. A metric says so
    by `evalkit.NotScored(reason)`, returned or raised for the example; with
    `statistics` by the column `not_scored`. Whatever else is raised for one example, or
    returned that is no score, leaves the example out as well and is an error of the
    run. Either is counted, listed in `problems.jsonl` with the metric, the id and the
    reason, and makes the run partial. Where more than the share `most_not_scored` of a
    group is left out, its score is null with that reason; where so many examples of all
    fail, the metric fails.
    """

    @hookspec(firstresult=True)
    def prepare(self, targets: list[Any], context: MetricContext) -> Any:
        """Look at all answers before the first example is scored.

        For what depends on the whole set, such as document frequencies. May be left
        out. Runs of parts of a set that are merged are scored anew, or not at all where
        they hold no examples.

        Args:
            targets: The answers of all examples of the split, also of those whose
                prediction is missing, in the order of the data.
            context: As for the other hooks, with `prepared` None.

        Returns:
            Anything that can be pickled; it should not depend on the order of the
            answers. The other hooks find it as `context.prepared`.
        """

    @hookspec(firstresult=True)
    def resources(self) -> Mapping[str, Any]:
        """Name what the numbers depend on beside the metric's own code.

        May be left out. The files of its package, and files that a parameter names,
        are known anyway.

        Returns:
            By a name of its own each: a `pathlib.Path` of a file or folder, which is
            hashed; a module, whose source files are hashed; or a text, such as the name
            of a model, the version of a service or of a library. They are part of the
            run's id, stand in `run.json`, and `verify` names those that have changed.
        """

    @hookspec(firstresult=True)
    def compute(
        self,
        predictions: list[Any],
        targets: list[Any],
        fields: Mapping[str, list[Any]],
        context: MetricContext,
    ) -> float | None:
        """Score two lists of equal, non-zero length.

        Args:
            predictions: One prediction for each example.
            targets: One answer for each example; lists where several are acceptable.
            fields: The metric's `columns` by name, one value for each example.
            context: Fixed before the first call.

        Returns:
            The value; None or `evalkit.NotScored` where it is not defined. A metric
            with `scores` returns a dict with a value for each.
        """

    @hookspec(firstresult=True)
    def score_example(
        self,
        prediction: Any,
        target: Any,
        fields: Mapping[str, Any],
        context: MetricContext,
    ) -> Any:
        """Score one example.

        Args:
            prediction: The prediction.
            target: The answer; a list where several are acceptable.
            fields: The metric's `columns` of this example.
            context: Fixed before the first call.

        Returns:
            Its score; `evalkit.NotScored` where it cannot be scored; None to leave the
            example out of the mean and of n, as one to which the metric does not apply,
            which a notice counts. A metric with `scores` returns a dict with one of
            these for each, or one of the latter two for all.
        """

    @hookspec(firstresult=True)
    def score_batch(
        self,
        predictions: list[Any],
        targets: list[Any],
        fields: Mapping[str, list[Any]],
        context: MetricContext,
    ) -> Sequence[Any]:
        """Score some examples at once.

        Called with `batch_rows` examples, or fewer at the end, in the order of the
        data. Where it raises, it is called again with each example alone.

        Args:
            predictions: Their predictions.
            targets: Their answers; lists where several are acceptable.
            fields: The metric's `columns` by name, one value for each example.
            context: Fixed before the first call.

        Returns:
            As many entries, each as `score_example` returns it; a list, or a numpy
            array or tensor of shape (n,).
        """

    @hookspec(firstresult=True)
    def example_statistics(
        self,
        prediction: Any,
        target: Any,
        fields: Mapping[str, Any],
        context: MetricContext,
    ) -> Any:
        """Return numbers of one example that add up.

        Args:
            prediction: The prediction.
            target: The answer; a list where several are acceptable.
            fields: The metric's `columns` of this example.
            context: Fixed before the first call.

        Returns:
            A dict from name to number, with the same names for each example and none
            that `statistics` may not use; or `evalkit.NotScored` or None, as
            `score_example`. `merges` says how each merges, where not by sum.
        """

    @hookspec(firstresult=True)
    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return columns that add up over examples.

        Args:
            batch: Columns `prediction`, `target` (a list column where
                `context.answer_kind` is not `one` or `number`) and the metric's
                `columns`.
            context: Fixed before the first batch.

        Returns:
            `row` (position in the batch, an unsigned or signed integer; an example
            may have no, one or several rows; a notice counts those without any), the
            metric's `keys`, and one or more number columns without nulls or nan; and
            optionally `not_scored`, the reason (a text) why the example of a row is not
            scored, null for the others: it has no other row, and its numbers are not
            read. No column is named `position`, `group`, `unit`, `cell`, `replicate`,
            `example` or `replication`.
        """

    @hookspec(firstresult=True)
    def finalize(self, sums: Any, context: MetricContext) -> Any:
        """Turn sums into scores, for all groups at once.

        The whole set, each tag and each bootstrap replicate are groups alike. With
        `example_statistics` it is called for each group: `sums` is the dict of the
        merged numbers, and it returns the value (a number, None or
        `evalkit.NotScored`), or a dict of values by score ("" is the main one).

        Args:
            sums: `group` (an integer), the metric's keys, and the merged columns
                of `statistics`.
            context: Fixed before the first batch.

        Returns:
            `group`, `value` (null where undefined), and optionally `score` (""
            for the main score, else for example a class), `reason` (why a value
            is null) and `flag` (what a reader of the value should know). Neither text
            may quote the data, as `--no-examples` keeps them.
        """

    @hookspec(firstresult=True)
    def finalize_counts(
        self, counts: Any, cells: pl.DataFrame, context: MetricContext
    ) -> Mapping[str, Any]:
        """Turn the sums of many samples of the same cells into values, as arrays.

        May be left out. Called for replicates in place of `finalize`, which must return
        the same values, where `statistics` has keys and one number column that
        merges by sum; but not an inherited one of a class with its own `finalize`.

        Args:
            counts: A numpy array of floats of shape (samples, cells): the sums, 0 in a
                cell that a sample does not have. It must not be changed.
            cells: The metric's keys, one row a cell, without repetitions.
            context: Fixed before the first batch.

        Returns:
            By name of the score ("" is the main one) an array of floats of shape
            (samples,), nan where the value is undefined.
        """


class PerturbationAttributes:
    """Attributes of a perturbation."""

    families: ClassVar[Sequence[str] | frozenset[str] | set[str]]
    """`robustness`, `fairness`, or the author's own; those that a user asks for by
    family. Empty for one that is only used by its own name."""
    version: ClassVar[str]
    """Raised when the same seed gives another text."""
    label_effect: ClassVar[
        Mapping[str, Literal["invariant", "transforms", "uncertain"]]
    ]
    """What it does to the answer, by task; the key `*` stands for all others.

    `invariant`: the answer stays. `transforms`: the answer changes with the input;
    texts of answers are then among the texts of `find_edits`. `uncertain`: it may or
    may not stay; reported apart."""
    protects: ClassVar[bool] = True
    """Whether evalkit leaves out what it would do to numbers, addresses, code, mark-up
    and placeholders (`docs/perturbations.md` lists them)."""
    batch_texts: ClassVar[Annotated[int, Ge(1)]] = 64
    """How many texts `perturb_batch` gets at a time, at most."""


class PerturbationSpec:
    """Hooks of a perturbation, which is written in one of four ways.

    1. `perturb`: one text at a time.
    2. `perturb_batch`: many texts at a time, where a call costs much whatever it is
       given, as with a model.
    3. `find_edits`: the edits of all texts of an example at once, so that the same
       name gets the same replacement everywhere. evalkit makes the edits, and leaves
       out those of numbers, addresses, code, mark-up and placeholders.
    4. `perturb_example`: whole examples, whose answers and other fields may change.

    Of one that implements several, the last of these is called. Where the texts of an
    example are in objects or lists (`perturb_fields = ("messages[].content",)`), the
    first three get the texts themselves, as of any other field.

    A copy must be an example of its task before it is written: it keeps `Input`, its
    answer is one of the labels, and is the original's where `label_effect` says
    `invariant`. A copy that does not is an error of the perturbation.
    """

    @hookspec(firstresult=True)
    def make_rng(self, seed: int, uid: str, variant: int) -> Random:
        """Seed the generator of the other hooks, to give another program's numbers.

        Args:
            seed: The user's seed.
            uid: The example's id.
            variant: Which copy of the example is made, from 0.

        Returns:
            A generator that depends on nothing else.
        """

    @hookspec(firstresult=True)
    def perturb(self, text: str, rng: Random, task: str) -> str:
        """Change one text.

        Args:
            text: The original, never empty.
            rng: Derived from seed, perturbation, example and variant.
            task: Name of the example's task; "" where it has none.

        Returns:
            The changed text; the same, byte for byte, where nothing is to be changed.
        """

    @hookspec(firstresult=True)
    def perturb_batch(
        self, texts: Sequence[str], rngs: Sequence[Random], task: str
    ) -> Sequence[str]:
        """Change many texts.

        Which texts come together, and how many, is not said: it depends on
        `batch_texts`, on how long a call takes and on the processes that share the
        work. What becomes of a text must depend on the text and its generator alone.

        Args:
            texts: Texts of several examples and fields, none of them empty, at most
                `batch_texts`.
            rngs: A generator for each text, derived from seed, perturbation, example,
                variant and the text's place in the example.
            task: Name of the examples' task; "" where they have none.

        Returns:
            As many texts, in the same order; each as for `perturb`.
        """

    @hookspec(firstresult=True)
    def find_edits(
        self, texts: Sequence[str], rng: Random, task: str
    ) -> Sequence[Sequence[Edit]]:
        """Say what to change in the texts of one example.

        Args:
            texts: The texts of its fields, in the task's order; where the answer
                changes with the input, also its answers that are texts.
            rng: Derived from seed, perturbation, example and variant.
            task: Name of the example's task; "" where it has none.

        Returns:
            For each text its edits (`evalkit.Edit`, or triples of start, end and new
            text), in any order, none of which overlap.
        """

    @hookspec(firstresult=True)
    def perturb_example(
        self,
        example: Mapping[str, Any],
        rng: Random,
        fields: Sequence[str],
        answer_field: str | None,
        task: str,
    ) -> Mapping[str, Any] | Sequence[Mapping[str, Any]] | None:
        """Change an example whose fields, references and answer must agree.

        Args:
            example: The original; must not be changed.
            rng: Derived from seed, perturbation, example and variant.
            fields: The fields that are to be changed.
            answer_field: Name of the field that holds the answer, where there is one.
            task: Name of the example's task; "" where it has none.

        Returns:
            The changed fields of one or several copies; None where nothing changes.
        """

    @hookspec(firstresult=True)
    def change_tags(
        self,
        tags: Sequence[str],
        original: Mapping[str, Any],
        perturbed: Mapping[str, Any],
        task: str,
    ) -> Sequence[str]:
        """Return the tags of a changed example, of which some may not hold any more.

        Args:
            tags: The original's tags.
            original: The original.
            perturbed: The changed example.
            task: Name of the example's task; "" where it has none.

        Returns:
            The changed example's tags.
        """

    @hookspec(firstresult=True)
    def expect(
        self,
        original: Mapping[str, Any],
        perturbed: Mapping[str, Any],
        original_pred: Any,
        perturbed_pred: Any,
    ) -> Literal["pass", "fail", "not applicable"]:
        """Say whether a model's two predictions are as they should be.

        Args:
            original: The original, with its tags.
            perturbed: The changed example.
            original_pred: The model's prediction for the original.
            perturbed_pred: Its prediction for the changed example.
        """


class ObserverSpec:
    """Hooks of an observer: told what happens, and never able to change it.

    An observer gets copies; what it returns is ignored, and what it raises becomes a
    warning in `run.json` (of Python, where there is no run). Of an evaluation and of a
    run that is rescored it is told the steps from `before_load` on, or
    `before_scoring`; of copies that are made only what begins with `before_perturbing`.
    A run without an end, because it was killed or interrupted, tells nothing.
    """

    @hookspec
    def before_load(self, dataset: str, split: str) -> None:
        """Called before a data set is loaded."""

    @hookspec
    def after_load(self, dataset: str, split: str, n_examples: int) -> None:
        """Called after the examples were read and checked."""

    @hookspec
    def before_scoring(self, dataset: str, model: str, metrics: Sequence[str]) -> None:
        """Called before the first metric is computed."""

    @hookspec
    def after_scoring(
        self,
        dataset: str,
        model: str,
        scores: Sequence[Mapping[str, Any]],
        overall: Sequence[Mapping[str, Any]],
        groups: Sequence[Mapping[str, Any]],
    ) -> None:
        """Called after the last metric was computed.

        Args:
            dataset: Name of the data set.
            model: Name of the model.
            scores: All scores that were computed, each a row of `scores.parquet`.
            overall: Those of the whole set, one for each score of a metric.
            groups: The others: of tags and crossings, and made from tags (the mean over
                a facet, the worst tag, a gap).
        """

    @hookspec
    def after_refusal(
        self,
        dataset: str,
        model: str,
        reasons: Sequence[str],
        record: Mapping[str, Any],
    ) -> None:
        """Called instead of `after_scoring` where the policies refuse the predictions.

        Args:
            dataset: Name of the data set.
            model: Name of the model.
            reasons: What is wrong with the predictions, a sentence each.
            record: As for `after_result`.
        """

    @hookspec
    def after_result(self, record: Mapping[str, Any]) -> None:
        """Called when all is known, before anything is written.

        Args:
            record: What `eval --json` prints: status, counts, scores, failures of
                metrics (`errors`), plugins and their versions, and so on
                (`docs/schema/run.schema.json`).
        """

    @hookspec
    def after_failure(self, dataset: str, kind: str, error: str) -> None:
        """Called where a command ends with an error instead of a result.

        Args:
            dataset: What the user named: a data set, a file, or a run.
            kind: Name of the class of the error, such as `PluginLoadError`.
            error: Its message.
        """

    @hookspec
    def before_writing(self, run_id: str, record: Mapping[str, Any]) -> None:
        """Called before a run folder is written; `record` as for `after_result`."""

    @hookspec
    def after_writing(self, run_id: str, path: str, record: Mapping[str, Any]) -> None:
        """Called after a run folder was published, with the record as written."""

    @hookspec
    def before_perturbing(
        self, dataset: str, split: str, perturbations: Sequence[str]
    ) -> None:
        """Called before copies are made; `perturbations` as their column has them."""

    @hookspec
    def after_perturbing(
        self, dataset: str, split: str, summary: Mapping[str, Any]
    ) -> None:
        """Called after the last copy was written.

        Args:
            dataset: Its name.
            split: Its split.
            summary: What `evalkit perturb --json` prints: how many examples each
                perturbation changed, and some of them.
        """
