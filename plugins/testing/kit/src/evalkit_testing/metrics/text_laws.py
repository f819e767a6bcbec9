"""Laws of a few given texts, which raise `LawBroken` where they do not hold."""

from __future__ import annotations

from typing import Any

from evalkit.scoring import metric_outcomes
from evalkit_testing.laws import LawBroken
from evalkit_testing.metrics.comparisons import is_close, name_part
from evalkit_testing.metrics.samples import Row
from evalkit_testing.metrics.subjects import Scored
from evalkit_testing.metrics.trials import Trial

_ANSWERS = ("red car", "blue boat now")
_NONE = str(None)
_OTHERS = ("", "Zq", "zq zq zq")
"""Texts that are as little like an answer as `_NONE`, and of other lengths."""


def check_each_answer(trial: Trial) -> None:
    """Of several acceptable answers it does not matter which is given."""
    if not _takes_texts(trial) or trial.subject.context.answer_kind != "any-of":
        return
    first, second = (_scored(trial, text, [*_ANSWERS]).scores for text in _ANSWERS)
    for part, one in first.items():
        value, other = one.value, getattr(second.get(part), "value", None)
        if None not in (value, other) and not is_close(value, other):
            raise LawBroken(
                f"the value of {name_part(part)} is {value} for the prediction "
                f"{_ANSWERS[0]!r}, and {other} for {_ANSWERS[1]!r}, where the "
                f"acceptable answers are {[*_ANSWERS]!r}"
            )


def check_left_out(trial: Trial) -> None:
    """An empty text is a prediction: it is scored, or there is a reason."""
    if not _takes_texts(trial) or not trial.subject.adds_up:
        return
    text = _ANSWERS[0]
    if _is_answered_for(trial, text) and not _is_answered_for(trial, ""):
        raise LawBroken(
            f"an example with the answer {text!r} is left out where the prediction is "
            f"'', and counts where it is {text!r}: give a score, or evalkit.NotScored "
            "with the reason"
        )


def check_null(trial: Trial) -> None:
    """A missing prediction is not taken for the text 'None'."""
    accepts = trial.subject.attributes["accepts_no_prediction"]
    if not accepts or not _takes_texts(trial, also_undirected=True):
        return
    target = _target(trial)
    missing, as_text, *others = (
        _scored(trial, given, target).scores for given in (None, _NONE, *_OTHERS)
    )
    for part, one in missing.items():
        found = [each[part].value for each in (as_text, *others) if part in each]
        if one.value is None or len(found) != len(others) + 1:
            continue
        is_text = is_close(one.value, found[0])
        # what is wrong in any case is no sign
        if is_text and not any(is_close(one.value, value) for value in found[1:]):
            raise LawBroken(
                f"the value of {name_part(part)} is {one.value} without a prediction, "
                f"as for the text {_NONE!r}, and another for other texts"
            )


def _takes_texts(trial: Trial, also_undirected: bool = False) -> bool:
    """Tell whether any text may be predicted, and says something of the score."""
    subject = trial.subject
    targets = [row.target for row in trial.rows]
    is_choice = subject.context.answer_kind == "any-of"
    has_texts = all(isinstance(each, list if is_choice else str) for each in targets)
    directed = subject.attributes["higher_is_better"] is not None
    if trial.scored.failed or subject.context.labels or trial.reads_more:
        return False
    is_kind = subject.context.answer_kind in ("one", "any-of")
    return has_texts and is_kind and (directed or also_undirected)


def _target(trial: Trial) -> Any:
    is_choice = trial.subject.context.answer_kind == "any-of"
    return [_ANSWERS[0]] if is_choice else _ANSWERS[0]


def _scored(trial: Trial, prediction: Any, target: Any) -> Scored:
    metric = trial.subject.bind(interval="none")
    return trial.subject.score_rows(metric, [Row("0", prediction, target, {}, (), 0)])


def _is_answered_for(trial: Trial, prediction: str) -> bool:
    """Tell whether an example has statistics, or a reason why it has none."""
    table = trial.subject.table([Row("0", prediction, _target(trial), {}, (), 0)])
    outcomes = metric_outcomes(trial.subject.bind(), table)
    return bool(outcomes.statistics.height or outcomes.unscored.height)
