"""Checks a metric against the laws."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evalkit.base.terms import AnswerKind, MetricContext
from evalkit.errors import EvalkitError, MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.metric import ANY_ANSWER, FunctionMetric
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.metric import why_not
from evalkit.testing.drawing import (
    DRAWN_KINDS,
    Source,
    Triple,
    drawn_source,
    given_source,
    samples,
)
from evalkit.testing.laws import LAWS, Law
from evalkit.testing.samples import Row, Sample
from evalkit.testing.subjects import Subject
from evalkit.testing.trials import LawBroken, Trial

MAX_EXAMPLES = 25
"""Sets of examples that are drawn for each kind of answers, by default."""

MOST_SHRINKS = 200
"""Smaller sets that are tried once a law is found to be broken."""


class MetricLawError(AssertionError):
    """A metric breaks a law.

    Attributes:
        law: Name of the law, one of `LAWS`.
    """

    def __init__(self, message: str, law: str) -> None:
        super().__init__(message)
        self.law = law


def check_metric(
    metric: Any,
    *,
    examples: st.SearchStrategy[Triple] | Sequence[Triple] | None = None,
    labels: Sequence[str] | None = None,
    answer_kind: AnswerKind | None = None,
    allows_errors: bool = False,
    perfect: bool | None = True,
    max_examples: int = MAX_EXAMPLES,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a metric keeps the laws of `evalkit.testing.LAWS`.

    Hypothesis draws small sets of examples, with many equal values, and shrinks those
    that break a law. The same sets are drawn each time.

    Args:
        metric: Name of an installed metric (`macro-f1:labels=seen`), or a class,
            instance or function.
        examples: What sets are made of: a hypothesis strategy of
            `(prediction, target)` or `(prediction, target, fields)`, where `fields` is
            a mapping with the metric's `columns`; or a list of such. By default texts
            or numbers are drawn that fit the metric's kinds of answers.
        labels: The data set's labels, which are then what is drawn.
        answer_kind: The kind of answers; by default each of `one`, `any-of` and
            `number` that the metric declares, and `one` for a function that declares
            none and where `examples` are given and the metric takes it.
        allows_errors: Whether the metric may fail, such as on a set of one class. Data
            on which it does are then left out, where a law says nothing about them.
        perfect: Whether predictions that equal the answers must score best. Nothing
            to check where the metric declares no direction, no bound on that side, or
            needs further columns. None or False for a metric of which it is not true.
        max_examples: How many sets are drawn for each kind of answers.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        MetricLawError: It breaks a law; the message has the law and the data. It is an
            AssertionError.
        EvalkitError: The metric needs columns for which no examples are given, takes
            only answers that cannot be drawn, or an argument is wrong.
        PluginError: The metric is unknown or broken.
    """
    chosen = _chosen_laws(laws, perfect)
    bound = Resolver(registry or Registry()).metric(metric)
    for kind in _kinds(bound, examples, answer_kind):
        context = MetricContext(None if labels is None else tuple(labels), kind)
        subject = Subject(bound, context, allows_errors)
        _check_laws(chosen, subject, _source(subject, examples), max_examples)


def _chosen_laws(names: Collection[str] | None, perfect: bool | None) -> list[Law]:
    known = [law.name for law in LAWS]
    wanted = known if names is None else list(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise EvalkitError(
            f"laws: {unknown[0]!r} is no law; there are {', '.join(known)}"
        )
    if not perfect:
        wanted = [name for name in wanted if name != "perfect"]
    return [law for law in LAWS if law.name in wanted]


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
    says_nothing = isinstance(bound.plugin, FunctionMetric) and declared == ANY_ANSWER
    if says_nothing or (examples is not None and "one" in declared):
        return ["one"]
    if examples is not None:
        return [declared[0]]
    return [kind for kind in DRAWN_KINDS if kind in declared]


def _source(subject: Subject, examples: Any) -> Source:
    if examples is not None:
        return given_source(examples)
    columns = subject.attributes["columns"]
    if columns:
        raise EvalkitError(
            f"{subject.origin} needs the columns {', '.join(columns)}, which cannot be "
            "drawn; give check_metric examples=…, a hypothesis strategy of "
            "(prediction, target, fields), or a list of such"
        )
    kind = subject.context.answer_kind
    if kind not in DRAWN_KINDS:
        raise EvalkitError(
            f"{subject.origin}: answers of the kind {kind!r} cannot be drawn; give "
            "check_metric examples=…"
        )
    nothing = Row("0", None, {"any-of": ["a"], "number": 1}.get(kind, "a"), {}, (), 0)
    nulls = why_not(subject.bind(), subject.table([nothing])) is None
    return drawn_source(kind, subject.context.labels, nulls)


def _check_laws(
    laws: Sequence[Law],
    subject: Subject,
    source: Source,
    max_examples: int,
) -> None:
    """Check all laws with the same data, and then the first that is broken alone.

    So that every set is drawn and scored once, and shrinking never ends at data that
    break another law.
    """
    broken: dict[str, tuple[MetricLawError, Trial]] = {}

    def collect(trial: Trial) -> None:
        for law in laws:
            if law.name not in broken:
                found = _broken_by(law, trial)
                if found is not None:
                    broken[law.name] = found, trial

    _run(collect, samples(source), subject, max_examples, shrinks=False)
    for law in laws:
        if law.name in broken:
            drawn = samples(source, law.draws)
            shrunk = _shrunk(law, subject, drawn, max(max_examples, MAX_EXAMPLES))
            raise shrunk or _repeated(law, *broken[law.name])
    if laws and not subject.values_seen:
        raise MetricLawError(
            f"{subject.origin}: it gave no value for any data that were drawn with "
            f"answers of the kind {subject.context.answer_kind!r}, so no law was "
            "tested; give labels=… or examples=… for which it has one",
            laws[0].name,
        )


def _run(
    check: Callable[[Trial], None],
    drawn: st.SearchStrategy[Sample],
    subject: Subject,
    max_examples: int,
    shrinks: bool,
) -> None:
    @settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(sample=drawn)
    def run(sample: Sample) -> None:
        check(Trial(subject, sample))

    run()


def _broken_by(law: Law, trial: Trial) -> MetricLawError | None:
    try:
        law.check(trial)
    except MetricError as error:
        if trial.subject.allows_errors:
            return None
        found = _law_error(law, trial, f"it failed: {error}")
        found.__cause__ = error
        return found
    except LawBroken as error:
        return _law_error(law, trial, str(error))
    return None


def _shrunk(
    law: Law,
    subject: Subject,
    drawn: st.SearchStrategy[Sample],
    max_examples: int,
) -> MetricLawError | None:
    """Give the error for the smallest data found that break a law; None if none do."""
    known: dict[str, MetricLawError | None] = {}
    smallest: list[Trial] = []
    tries = 0

    def check(trial: Trial) -> None:
        nonlocal tries
        key = repr(trial.sample)
        if key not in known:
            tries += bool(smallest)
            # beyond the last try nothing new counts as broken, which ends shrinking
            known[key] = _broken_by(law, trial) if tries <= MOST_SHRINKS else None
        if known[key] is not None:
            smallest[:] = [trial]
            raise MetricLawError(str(known[key]), law.name)

    with suppress(MetricLawError):
        _run(check, drawn, subject, max_examples, shrinks=MOST_SHRINKS > 0)
    if not smallest:
        return None
    found = known[repr(smallest[0].sample)]
    return None if found is None else _repeated(law, found, smallest[0])


def _repeated(law: Law, found: MetricLawError, trial: Trial) -> MetricLawError:
    """Give what a trial breaks when it is done again, or else what it broke before."""
    again = _broken_by(law, Trial(trial.subject, trial.sample))
    if again is not None:
        return again
    text = f"{found}\n  It is not so each time that these data are scored."
    return MetricLawError(text, found.law)


def _law_error(law: Law, trial: Trial, found: str) -> MetricLawError:
    subject, sample = trial.subject, trial.sample
    kind, labels = subject.context.answer_kind, subject.context.labels
    lines = [
        f"{subject.origin} breaks the law {law.name!r}: {law.statement}",
        f"  found: {found}",
        f"  answers: {kind!r}" + (f", labels: {', '.join(labels)}" if labels else ""),
        "  examples (prediction, target):",
        *(f"    {number}: {row!r}" for number, row in enumerate(sample.rows)),
    ]
    if sample.clustered:
        lines.append(f"  clusters: {[row.cluster for row in sample.rows]}")
    return MetricLawError("\n".join(lines), law.name)
