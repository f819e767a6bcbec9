"""Scores two plain lists with one metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import starmap
from numbers import Real
from typing import Any, get_args

import polars as pl

from evalkit.base.columns import join_parts, list_column, to_series
from evalkit.base.terms import AnswerKind, MetricContext
from evalkit.base.violations import shorten
from evalkit.base.wording import absent_field
from evalkit.errors import DataError, MetricError
from evalkit.examples.scored_values import UnscorableError, scored_value, value_column
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.beside import given_job
from evalkit.runs import recorded
from evalkit.runs.record import RunRecord
from evalkit.runs.recording import add_scores
from evalkit.runs.results import Result
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.table import (
    LIST_KINDS,
    ListsGiven,
    ScoringTable,
    comparable,
    make_table,
)
from evalkit.statistics.student_t import check_confidence


def score(
    metric: Any,
    predictions: Sequence[Any],
    targets: Sequence[Any],
    *,
    labels: Sequence[str] | None = None,
    tags: Sequence[Sequence[str]] | None = None,
    fields: Mapping[str, Sequence[Any]] | None = None,
    answer_kind: AnswerKind | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    job: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
) -> Result:
    """Score two lists with a metric.

    Args:
        metric: Name of an installed metric (`macro-f1:labels=seen`), or a function,
            class or instance.
        predictions: One prediction for each example; None where there is none.
        targets: One answer for each example; a list where several are acceptable.
        labels: The labels, for metrics that need to know them all.
        tags: Tags of each example.
        fields: What the metric asks for beside them, such as `prob`: by name one value
            for each example.
        answer_kind: Shape of the answers where lists do not tell it: `all-of`, `spans`
            or `ranked`.
        confidence: Probability of the confidence intervals, between 0 and 1.
        seed: Seed of the bootstrap.
        job: What the job took that made the predictions, with the keys of a file beside
            predictions: `{"examples": 130, "seconds": 60.5}`.
        registry: Where plugins are found; all that are installed by default.

    Returns:
        The scores, as `result["macro-f1"].value`.

    Raises:
        DataError: The lists are not of the same length, hold a value that is no text,
            number, boolean or list of them (with `spans`: no list of dicts), or answers
            of which several are acceptable are not texts, an answer is none of the
            labels, a text is no Unicode, a `prob` is no distribution, or a span ends
            before its start; or the metric scores only
            answers that are `all-of`, `spans` or `ranked`, and `answer_kind` does not
            say so; or the job breaks the schema of such files.
        EvalkitError: The confidence is not between 0 and 1.
        MetricError: The metric failed.
        PluginError: The metric is unknown or broken.
    """
    check_confidence(confidence)
    given = tags if tags is not None else [[] for _ in targets]
    columns = {**(fields or {}), "tags": given, "predictions": predictions}
    for name, values in columns.items():
        if len(values) != len(targets):
            raise DataError(
                f"{name} and targets must be of the same length, there are "
                f"{len(values)} and {len(targets)}"
            )
    check_values({**columns, "targets": targets}, targets, labels)
    bound = Resolver(registry or Registry()).metric(metric)
    if answer_kind is None:
        _refuse_kinds_of_tasks(bound)
        _refuse_rankings(bound, predictions)
    else:
        _check_kind(answer_kind, predictions, targets)
    if answer_kind != "spans":
        predictions = _scored_values("predictions", predictions)
        targets = _scored_values("targets", targets)
    holds_lists = any(isinstance(target, list) for target in targets)
    kind: AnswerKind = answer_kind or ("any-of" if holds_lists else "one")
    declared = None if labels is None else tuple(labels)
    context = MetricContext(declared, kind, job=None if job is None else given_job(job))
    ids = [str(number) for number in range(len(targets))]
    if kind == "spans":
        frame = _frame_of_spans(predictions, targets)
    elif answer_kind is None:
        frame = _frame_of(predictions, targets, kind)
    else:
        frame = make_table(predictions, targets, context, ids=ids).frame
    prediction = frame["prediction"]
    frame = comparable(frame, kind).with_columns(
        [_field(name, list(values)) for name, values in (fields or {}).items()]
    )
    unique = [list(dict.fromkeys(row)) for row in given]
    rows = zip(predictions, targets, unique, *(fields or {}).values(), strict=True)
    table = ScoringTable(frame, ids, None, context, unit_names=_names_by_content(rows))
    _refuse_absent(bound, frame)
    groups = group_by_tag(list_column("tags", unique))
    settings = ScoringSettings(confidence, seed)
    measured = Measured(table, pl.repeat(True, len(ids), eager=True), groups)
    scored = measure([bound], measured, settings, lambda *_: None)
    for found in scored:
        if found.failure:
            raise found.failure
    lists = ListsGiven.among(prediction, kind, ids)
    record = RunRecord(
        status="complete",
        split="given",
        counts=recorded.Counts(examples=len(targets), scored=len(targets)),
        notices=(str(lists),) if lists else (),
    )
    named = pl.DataFrame({"id": ids}).with_columns(replication=pl.lit(None, pl.String))
    result = add_scores(Result(record, (), (), named), scored, groups, [bound])
    result.examples = None
    return result


def _refuse_absent(metric: BoundMetric, frame: pl.DataFrame) -> None:
    absent = metric.absent_columns(frame.columns)
    if absent and not frame.is_empty():
        raise MetricError(
            f"{metric.component.origin}: it needs {absent_field(absent[0], ())}: give "
            f"it as fields={{{absent[0]!r}: […]}}, as score computes no columns"
        )


def _check_kind(
    kind: AnswerKind, predictions: Sequence[Any], targets: Sequence[Any]
) -> None:
    """Refuse an unknown kind of answers, and what cannot be of that kind."""
    if kind not in get_args(AnswerKind):
        known = ", ".join(get_args(AnswerKind))
        raise DataError(f"answer_kind must be one of {known}, is {shorten(kind)}")
    lists = {"targets": targets} if kind in LIST_KINDS else {}
    if kind == "spans":
        lists["predictions"] = predictions
    for name, values in lists.items():
        for value in values:
            if not isinstance(value, list | tuple | None):
                raise DataError(
                    f"{name}: with answer_kind={kind!r} each must be a list, one is "
                    f"{shorten(value)}"
                )


def _frame_of(
    predictions: Sequence[Any], targets: Sequence[Any], kind: AnswerKind
) -> pl.DataFrame:
    several = kind == "any-of"
    answers = [(t if isinstance(t, list) else [t]) if several else t for t in targets]
    target = to_series("target", answers)
    if several and target.dtype != pl.List(pl.String):
        raise DataError("targets: acceptable answers must be lists of texts")
    prediction = value_column("prediction", predictions)
    if prediction.null_count() == len(prediction) and not several:
        # without values it has no type of its own to compare with the targets'
        prediction = prediction.cast(target.dtype)
    position = pl.Series("position", range(len(targets)), dtype=pl.UInt32)
    return pl.DataFrame([position, prediction, target])


def _frame_of_spans(predictions: Sequence[Any], targets: Sequence[Any]) -> pl.DataFrame:
    position = pl.Series("position", range(len(targets)), dtype=pl.UInt32)
    columns = {"prediction": predictions, "target": targets}
    return pl.DataFrame([position, *starmap(_span_column, columns.items())])


def _span_column(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of lists of tags, or of dicts with the keys of all of them."""
    spans = [span for each in values for span in each or ()]
    if spans and all(isinstance(span, str) for span in spans):
        return pl.Series(name, values, dtype=pl.List(pl.String))
    if not all(isinstance(span, Mapping) for span in spans):
        raise DataError(f"{name}s: spans must be lists of dicts, or of tags of tokens")
    keys = sorted({key for span in spans for key in span})
    types = {key: to_series(key, [s.get(key) for s in spans]).dtype for key in keys}
    rows = [
        None if each is None else [{key: s.get(key) for key in keys} for s in each]
        for each in values
    ]
    try:
        return pl.Series(name, rows, dtype=pl.List(pl.Struct(types)))
    except TypeError as error:
        raise DataError(
            f"{name}s: the keys of spans must be texts, and their values plain"
        ) from error


def _refuse_kinds_of_tasks(metric: BoundMetric) -> None:
    """Refuse a metric that scores only answers of which a task says what they are."""
    if not {*metric.answer_kinds} - {"all-of", "spans", "ranked"}:
        raise DataError(
            f"{metric.component.origin} scores answers of the kind "
            f"{' or '.join(metric.answer_kinds)}, which a task declares: use "
            "evalkit.evaluate, or say so by `answer_kind`"
        )


def _refuse_rankings(metric: BoundMetric, predictions: Sequence[Any]) -> None:
    """Refuse lists that may be rankings, and would be scored as one answer each."""
    if "ranked" in metric.answer_kinds:
        for place, prediction in enumerate(predictions):
            if isinstance(prediction, list | tuple):
                raise DataError(
                    f"predictions[{place}] is a list: say that it is a ranking by "
                    f"`answer_kind='ranked'`, for {metric.component.origin}"
                )


def _scored_values(name: str, values: Sequence[Any]) -> list[Any]:
    found = []
    for place, value in enumerate(values):
        try:
            found.append(scored_value(value))
        except UnscorableError as error:
            raise DataError(f"{name}[{place}] is {error}") from error
    return found


def _field(name: str, values: list[Any]) -> pl.Series:
    """Make a column, also of lists of numbers or of objects."""
    lists = [value for value in values if isinstance(value, list | tuple)]
    kinds = {type(item) for value in lists for item in value} - {type(None)}
    if len(lists) == len(values) - values.count(None) and kinds:
        if kinds <= {int, float}:
            inner = pl.Float64() if float in kinds else pl.Int64()
            return pl.Series(name, values, dtype=pl.List(inner), strict=False)
        if kinds == {str}:
            return pl.Series(name, values, dtype=pl.List(pl.String))
        if kinds == {dict}:
            return pl.Series(name, values)
    return join_parts(name, [], values)


def _names_by_content(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """Name examples that have no ids, so that their order does not matter."""
    seen: Counter[str] = Counter()
    names = []
    for prediction, target, tags, *fields in rows:
        content = repr((prediction, target, sorted(tags), *fields))
        names.append(f"{content}{seen[content]}")
        seen[content] += 1
    return names


_PROBABILITIES = "prob"
"""The field that maps labels to probabilities."""

_MOST_ROUNDING = 1e-3
"""How far from 1 probabilities may sum that were rounded, as in tasks."""
_LEAST = 1e-9


def check_values(
    lists: Mapping[str, Sequence[Any]],
    targets: Sequence[Any],
    labels: Sequence[str] | None,
) -> None:
    """Refuse values that no file of data or predictions may hold."""
    for name, values in lists.items():
        _refuse(name, values, _broken_text)
    _refuse("labels", labels or (), _broken_text)
    _refuse("names of fields", list(lists), _broken_text)
    if labels:
        known = {*labels}
        words = ", ".join(labels)
        _refuse("targets", targets, lambda value: _undeclared(value, known, words))
    if _PROBABILITIES in lists:
        known = {*labels} if labels else set()
        given = lists[_PROBABILITIES]
        _refuse(_PROBABILITIES, given, lambda value: _no_distribution(value, known))
    for name in ("predictions", "targets"):
        _refuse(name, lists[name], _reversed_span)


def _refuse(
    name: str, values: Sequence[Any], problem: Callable[[Any], str | None]
) -> None:
    for place, value in enumerate(values):
        found = problem(value)
        if found is not None:
            raise DataError(f"{name}[{place}] {found}")


def _broken_text(value: Any) -> str | None:
    if isinstance(value, str):
        if value.isascii() or _is_unicode(value):
            return None
        return (
            f"holds half of a surrogate pair, which is no character: {shorten(value)}"
        )
    parts: Sequence[Any] = ()
    if isinstance(value, Mapping):
        parts = [each for pair in value.items() for each in pair]
    elif isinstance(value, list | tuple):
        parts = value
    try:
        return next(filter(None, map(_broken_text, parts)), None)
    except RecursionError:  # said where values become a column
        return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _undeclared(target: Any, labels: set[str], words: str) -> str | None:
    is_list = isinstance(target, list | tuple)
    for text in target if is_list else (target,):
        if isinstance(text, str) and text not in labels:
            has = "holds" if is_list else "is"
            return f"{has} {shorten(text)}, which is none of the labels {words}"
    return None


def _no_distribution(given: Any, labels: set[str]) -> str | None:
    """Say why a map from labels to numbers holds no probabilities."""
    if not isinstance(given, Mapping):
        return None
    for label, share in given.items():
        if labels and label not in labels:
            return f"has {shorten(label)}, which is none of the labels"
        if isinstance(share, bool) or not isinstance(share, Real | None):
            return f"gives {shorten(label)} {shorten(share)}, which is no number"
        # nan is no probability that was given, which metrics say
        number = math.nan if share is None else float(share)
        if not (math.isnan(number) or -_LEAST <= number <= 1 + _LEAST):
            return f"gives {shorten(label)} {shorten(share)}: must be between 0 and 1"
    total = math.fsum(0.0 if share is None else share for share in given.values())
    if abs(total - 1) > _MOST_ROUNDING:
        return (
            f"sums to {total:g}: probabilities must sum to 1, within {_MOST_ROUNDING}"
        )
    return None


def _reversed_span(value: Any) -> str | None:
    spans = value if isinstance(value, list | tuple) else ()
    for span in spans:
        if not isinstance(span, Mapping):
            return None
        start, end = span.get("start"), span.get("end")
        if isinstance(start, Real) and isinstance(end, Real) and end < start:
            return f"has a span that ends before its start: {shorten(dict(span))}"
    return None
