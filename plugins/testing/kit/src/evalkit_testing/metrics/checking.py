"""Checks a metric against the laws."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st

from evalkit import EvalkitError, MetricContext
from evalkit.catalog import BoundMetric, BoundTask, FunctionMetric, Registry, Resolver
from evalkit.hookspecs import AnswerKind
from evalkit.scoring import why_not
from evalkit_testing.checking import MAX_EXAMPLES, Checks
from evalkit_testing.laws import Law, LawError, MissingOption, chosen_laws, told_alone
from evalkit_testing.metrics.laws import LAWS
from evalkit_testing.metrics.subjects import Row, Sample, Subject
from evalkit_testing.metrics.trials import (
    DRAWN_KINDS,
    DRAWS,
    LABELS,
    Source,
    Trial,
    Triple,
    drawn_source,
    given_source,
    samples,
    source_of_columns,
    source_of_sets,
    source_of_task,
)

OF_THE_SAME = (
    *("repeatable", "stateless", "order", "answers", "batches", "split", "tags"),
)
"""Laws that compare what a metric gives twice."""

_MORE = 10


class MetricLawError(LawError):
    """A metric breaks a law; `law` is its name, one of `LAWS`."""


@told_alone
def check_metric(
    metric: Any,
    *,
    task: Any = None,
    examples: st.SearchStrategy[Triple] | Sequence[Triple] | None = None,
    labels: Sequence[str] | None = None,
    answer_kind: AnswerKind | None = None,
    allows_errors: bool = False,
    perfect: bool | None = True,
    max_examples: int = MAX_EXAMPLES,
    laws: Collection[str] | None = None,
    job: Any = None,
    registry: Registry | None = None,
) -> None:
    """Check that a metric keeps the laws of `evalkit_testing.LAWS`.

    Hypothesis draws small sets of examples, with many equal values, and shrinks those
    that break a law. The same sets are drawn each time. Each score of a metric that
    gives several is checked for itself; of one that is not `deterministic`, what it
    gives is not compared with what it gives again.

    Args:
        metric: Name of an installed metric (`macro-f1:labels=seen`), or a class,
            instance or function.
        task: The task, by name or as an object. Its annotations say of which types
            predictions, answers and fields are, as in an evaluation. Needed where
            `examples` have structs, dates or the like. Without `examples`, what no kind
            of answers says is drawn from its `Output` and `Input`.
        examples: What sets are made of: a hypothesis strategy of
            `(prediction, target)` or `(prediction, target, fields)`, where `fields` is
            a mapping with the metric's `columns`; or a list of such. By default texts
            or numbers are drawn that fit the metric's kinds of answers.
        labels: The data set's labels, which are then what is drawn; by default the
            task's, where it has some.
        answer_kind: The kind of answers; by default each of `one`, `any-of` and
            `number` that the metric declares, and `one` for a function that declares
            none and where `examples` are given and the metric takes it. With a task
            its kind, where the metric takes it.
        allows_errors: Whether the metric may fail, such as on a set of one class. Data
            on which it does are then left out, where a law says nothing about them.
        perfect: Whether predictions that equal the answers must score best. Nothing
            to check where the metric declares no direction, no bound on that side, or
            needs further columns. None or False for a metric of which it is not true.
        max_examples: How many sets are drawn for each kind of answers.
        laws: Names of the laws to check; all by default.
        job: What the metric finds as `context.job`; None for nothing.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        MetricLawError: It breaks a law; the message has the law and the data. It is an
            AssertionError.
        EvalkitError: The metric needs columns for which no examples are given, takes
            only answers that cannot be drawn, or an argument is wrong.
        PluginError: The metric or the task is unknown or broken.
    """
    chosen = chosen_laws(LAWS, laws)
    if not perfect:
        chosen = [law for law in chosen if law.name != "perfect"]
    resolver = Resolver(registry or Registry())
    bound = resolver.metric(metric)
    of_task = None if task is None else BoundTask.of(resolver.bind("tasks", task))
    if of_task is not None:
        labels = of_task.labels if labels is None else labels
        if answer_kind is None and of_task.answer_kind in bound.answer_kinds:
            answer_kind = of_task.answer_kind
    if not bound.deterministic:
        chosen = [law for law in chosen if law.name not in OF_THE_SAME]
    if bound.whole_only:
        chosen = [law for law in chosen if law.name != "tags"]
    for kind in _kinds(bound, examples, answer_kind):
        if kind == "all-of" and examples is None:
            labels = labels or LABELS
        declared = None if labels is None else tuple(labels)
        context = MetricContext(declared, kind, job=job)
        for part in bound.parts():
            subject = Subject(part, context, allows_errors, of_task)
            _check_laws(chosen, subject, _source(subject, examples), max_examples)


def _kinds(
    bound: BoundMetric, examples: Any, answer_kind: AnswerKind | None
) -> list[AnswerKind]:
    declared: tuple[AnswerKind, ...] = tuple(bound.answer_kinds)
    if answer_kind is not None:
        if answer_kind not in declared:
            raise EvalkitError(
                f"{bound.component.origin} does not take answers of the kind "
                f"{answer_kind!r}, but of {', '.join(declared)}"
            )
        return [answer_kind]
    is_function = isinstance(bound.plugin, FunctionMetric)
    says_nothing = is_function and declared == tuple(FunctionMetric.answer_kinds)
    is_chosen = examples is not None or bool(bound.attributes["columns"])
    if says_nothing or (is_chosen and "one" in declared):
        return ["one"]
    if examples is not None:
        return [declared[0]]
    drawn: tuple[AnswerKind, ...] = (*DRAWN_KINDS, "all-of")
    return [kind for kind in drawn if kind in declared] or [declared[0]]


def _source(subject: Subject, examples: Any) -> Source:
    if examples is not None:
        return given_source(examples)
    columns = subject.attributes["columns"]
    kind = subject.context.answer_kind
    drawn = source_of_columns(kind, columns, subject.context.labels)
    if drawn is None and columns:
        drawn = _source_of_task(subject)
    if drawn is not None:
        return drawn
    optional = subject.attributes["optional_columns"]
    needed = [name for name in columns if name not in optional]
    if needed:
        raise MissingOption(
            f"{subject.origin} needs the columns {', '.join(needed)}, which cannot be "
            "drawn; give check_metric task=…, a task with these fields, or examples=…, "
            "a hypothesis strategy of (prediction, target, fields), or a list of such"
        )
    if kind == "all-of":
        return source_of_sets(subject.context.labels)
    if kind not in DRAWN_KINDS:
        drawn = _source_of_task(subject)
        if drawn is not None:
            return drawn
        raise MissingOption(
            f"{subject.origin}: answers of the kind {kind!r} cannot be drawn; give "
            "check_metric task=…, a task that has such answers, or examples=…"
        )
    nothing = Row("0", None, {"any-of": ["a"], "number": 1}.get(kind, "a"), {}, (), 0)
    nulls = why_not(subject.bind(), subject.table([nothing])) is None
    return drawn_source(kind, subject.context.labels, nulls)


def _source_of_task(subject: Subject) -> Source | None:
    if subject.task is None:
        return None
    attributes = subject.attributes
    columns, optional = attributes["columns"], attributes["optional_columns"]
    kind = subject.context.answer_kind
    return source_of_task(subject.task, kind, columns, optional)


def _check_laws(
    laws: Sequence[Law[Trial]], subject: Subject, source: Source, max_examples: int
) -> None:
    def drawn(law: Law[Trial] | None) -> st.SearchStrategy[Sample]:
        return samples(source, DRAWS if law is None else law.draws)

    make = partial(Trial, subject)
    # few of what is drawn may have a value, and then more of it is needed
    for tried in (max_examples, _MORE * max_examples):
        Checks(laws, make, drawn, MetricLawError, tried).run()
        if subject.values_seen:
            return
    if laws:
        raise MetricLawError(
            f"{subject.origin}: it gave no value for any data that were drawn with "
            f"answers of the kind {subject.context.answer_kind!r}, so no law was "
            "tested; give labels=… or examples=… for which it has one",
            laws[0].name,
            is_untested=True,
        )
