"""Looks into a run's examples: which were answered wrongly, and what for what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from evalkit.base.columns import named
from evalkit.base.names import metric_of, unused_name
from evalkit.base.wording import count_of, did_you_mean
from evalkit.errors import DataError
from evalkit.predictions.answer_readers import REASON, RESPONSE, STATUS
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import kept_extraction

UNPARSED = "unparsed"
"""Marks a response from which no answer could be extracted."""

_FEW = 20
"""So many different answers are always taken for labels."""

_REPEATED = 5
"""More of them are labels where each is given so many times on average."""

_NO_SCORE = pl.lit(None, dtype=pl.Float64)


class WrongAnswers(NamedTuple):
    """The examples that were answered wrongly, the worst first."""

    metric: str | None
    """The metric whose per-example scores say so; None where predictions are compared
    with answers."""
    best: float | None
    """The best per-example score, which all of them are below (or above, where lower
    is better)."""
    rows: pl.DataFrame
    """Columns `id`, `answer`, `pred`, `score` (null without a metric), `tags` and
    `note`: `missing`, `invalid`, `unparsed`, or null."""
    n: int
    """How many examples there are, wrong or not."""


class UnparsedResponses(NamedTuple):
    """The scored responses in which no answer was found."""

    rows: pl.DataFrame
    """Columns `id`, `replication`, `status` (`empty`, `unparsed` or `error`),
    `response` (null where the run kept none) and `reason`, in the data's order."""
    n: int
    """How many responses were scored."""


class Confusion(NamedTuple):
    """How often each answer got each prediction."""

    labels: tuple[str, ...]
    """The answers, in the declared order of the labels where they are declared."""
    predicted: tuple[str, ...]
    """The predictions: the labels, then what else was predicted: `(other)` where the
    labels are declared, all of it, sorted, where they are not."""
    counts: tuple[tuple[int, ...], ...]
    """For each of `labels`, how often it got each of `predicted`."""
    no_answer: tuple[int, ...]
    """For each of `labels`, how often there was no prediction: none could be
    extracted, or none was given and that counts as wrong."""


def find_wrong(
    result: Result, metric: str | None = None, tag: str | None = None
) -> WrongAnswers:
    """Find the examples whose per-example score is not the best.

    The best is 1 for a proportion (0 where lower is better), and for any other score
    the best one of the run. Where no metric of the run has per-example scores, an
    example is wrong whose prediction is not its answer or one of its answers.

    Args:
        result: A result, stored or not.
        metric: Name of a metric with per-example scores; by default the main score's,
            or else the first one of a known direction.
        tag: Only examples with this tag.

    Returns:
        The wrong examples, the worst first, then in the run's order; without those
        that do not count.

    Raises:
        DataError: The metric or tag is unknown, or predictions cannot be compared.
        StorageError: The run holds no answers and predictions.
    """
    examples = _counted(result, tag)
    scored = _scored_metrics(result, examples)
    if metric is None:
        metric = _first(result, scored)
    elif metric not in scored:
        known = ", ".join(scored) or "none"
        raise DataError(
            f"the run has no per-example scores of {metric!r}; it has them of: {known}"
        )
    if metric is None:
        best = None
        differs = _differs(result, examples)
        wrong = examples.filter(differs).with_columns(_NO_SCORE.alias("score"))
    else:
        best, wrong = _below_best(examples, metric, scored[metric])
    rows = wrong.select("id", "answer", "pred", "score", "tags", note=_note())
    return WrongAnswers(metric, best, rows, examples.height)


def _below_best(
    examples: pl.DataFrame, metric: str, score: Score
) -> tuple[float, pl.DataFrame]:
    """Return the best score and the examples that do not have it, the worst first."""
    if score.higher_is_better is None:
        raise DataError(
            f"{metric} does not say whether higher is better, so that no score of it "
            "is wrong; name another metric"
        )
    scored = examples.with_columns(score=named(score_column_of(examples, metric)))
    best = _best(score, scored["score"])
    value = pl.col("score")
    wrong = scored.filter(value < best if score.higher_is_better else value > best)
    return best, wrong.sort(
        "score", descending=not score.higher_is_better, maintain_order=True
    )


def find_unparsed(result: Result, tag: str | None = None) -> UnparsedResponses:
    """Find the scored responses in which no answer was found.

    Args:
        result: A result, stored or not.
        tag: Only examples with this tag.

    Returns:
        The responses, in the data's order.

    Raises:
        DataError: No example has the tag.
        StorageError: The run holds no answers and predictions.
    """
    examples = _counted(result, tag).filter(pl.col("status") == "scored")
    kept = kept_extraction(examples)
    if kept is None:
        nothing = pl.lit(None, dtype=pl.String)
        kept = examples.with_columns(
            nothing.alias(RESPONSE),
            nothing.alias(REASON),
            pl.lit(UNPARSED).alias(STATUS),
        )
    rows = pl.DataFrame([examples["id"], examples["replication"]]).hstack(
        kept.select(pl.col(STATUS).alias("status"), RESPONSE, REASON)
    )
    rows = rows.filter(examples["pred"].is_null())
    return UnparsedResponses(rows, examples.height)


def _counted(result: Result, tag: str | None) -> pl.DataFrame:
    everything = examples_of(result)
    examples = everything.filter(pl.col("status").is_in(result.record.policies.counted))
    if tag is None:
        return examples
    tagged = examples.filter(pl.col("tags").list.contains(tag))
    if tagged.is_empty():
        known = everything["tags"].explode().drop_nulls().unique().sort().to_list()
        if tag in known:
            raise DataError(f"no example with the tag {tag!r} was scored")
        raise DataError(
            f"no example has the tag {tag!r}; the run has "
            f"{count_of(len(known), 'tag')}{did_you_mean(tag, known)}"
        )
    return tagged


def _note() -> pl.Expr:
    answered = pl.when(pl.col("pred").is_null()).then(pl.lit(UNPARSED))
    return pl.when(pl.col("status") != "scored").then("status").otherwise(answered)


def _scored_metrics(result: Result, examples: pl.DataFrame) -> Mapping[str, Score]:
    """Return a score of each metric that has per-example scores, by its name."""
    found: dict[str, Score] = {}
    names = result.record.metric_names
    for score in result.scores:
        name = metric_of(score.metric, names) or score.metric
        if score_column_of(examples, score.metric) in examples.columns:
            name = score.metric
        if score.is_whole and score_column_of(examples, name) in examples.columns:
            found.setdefault(name, score)
    return found


def score_column_of(examples: pl.DataFrame, metric: str) -> str:
    """Return the column of a metric's per-example scores, if there is one."""
    after = examples.columns[examples.columns.index("status") + 1 :]
    return metric if metric in after else f"metrics/{metric}"


def _first(result: Result, scored: Mapping[str, Score]) -> str | None:
    directed = [name for name, s in scored.items() if s.higher_is_better is not None]
    headline = result.headline
    if headline is not None and headline.metric in directed:
        return headline.metric
    return next(iter(directed), None)


def _best(score: Score, values: pl.Series) -> float:
    if score.unit == "%" and score.scale == 100:
        return 1.0 if score.higher_is_better else 0.0
    known = values.drop_nulls().to_list()
    return (max if score.higher_is_better else min)(known, default=0.0)


def _differs(result: Result, examples: pl.DataFrame) -> pl.Series:
    """Tell which predictions are neither the answer nor one of several."""
    pred = pl.col("pred")
    if result.record.answer_kind == "any-of":
        is_right = pl.col("answer").list.contains(pred)
    else:
        is_right = pl.col("answer") == pred
    try:
        right = examples.select(is_right.fill_null(False) & pred.is_not_null())
    except pl.exceptions.PolarsError as error:
        raise DataError(
            "no metric of this run has per-example scores, and its predictions cannot "
            f"be compared with its answers: {error}"
        ) from error
    return ~right.to_series()


def count_confusion(result: Result, tag: str | None = None) -> Confusion:
    """Count how often each answer got each prediction.

    Args:
        result: A result, stored or not, whose answers are labels.
        tag: Only examples with this tag.

    Returns:
        The counts over the examples that count.

    Raises:
        DataError: The answers are no labels, or no example has the tag.
        StorageError: The run holds no answers and predictions.
    """
    examples = _counted(result, tag)
    declared = result.record.labels
    answers, predictions = examples["answer"], examples["pred"]
    if declared is None:
        _refuse_other_than_labels(examples_of(result)["answer"])
    texts = pl.DataFrame(
        {"gold": answers.cast(pl.String), "predicted": predictions.cast(pl.String)}
    )
    given = texts["gold"].unique().drop_nulls().sort().to_list()
    if not given:
        raise DataError("no example of this run has a label as its answer")
    labels = list(declared) if declared is not None else given
    if declared:
        said = pl.col("predicted")
        is_label = said.is_in(labels) | said.is_null()
        other = (
            pl.when(is_label)
            .then(said)
            .otherwise(pl.lit(unused_name("(other)", labels)))
        )
        texts = texts.with_columns(predicted=other)
    others = set(texts["predicted"].drop_nulls().unique()) - set(labels)
    predicted = [*labels, *sorted(others)]
    found = {
        (gold, prediction): count
        for gold, prediction, count in texts.group_by("gold", "predicted")
        .len()
        .iter_rows()
    }
    return Confusion(
        tuple(labels),
        tuple(predicted),
        tuple(tuple(found.get((g, p), 0) for p in predicted) for g in labels),
        tuple(found.get((gold, None), 0) for gold in labels),
    )


def _refuse_other_than_labels(answers: pl.Series) -> None:
    if answers.dtype.is_nested() or answers.dtype.is_float():
        raise DataError(
            "the answers of this run are no labels, so that there is nothing to confuse"
        )
    different = answers.n_unique()
    if different > max(_FEW, len(answers) / _REPEATED):
        raise DataError(
            f"the answers of this run are no labels: {count_of(len(answers), 'answer')}"
            f" hold {different} different ones"
        )
