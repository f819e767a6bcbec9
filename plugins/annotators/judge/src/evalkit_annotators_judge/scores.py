"""Metrics of what judges said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from evalkit import Metric, NotScored, Parameters
from evalkit.hookspecs import AnswerKind
from evalkit_annotators_judge.columns import ORDER, SAME
from evalkit_annotators_judge.labels import COLUMN, COUNT, FOUND, WHY

_KINDS: tuple[AnswerKind, ...] = ("one", "any-of", "all-of", "spans", "number", "none")


class OfJudge(Parameters):
    """Which judge."""

    of: str = Field(min_length=1)
    """What the judge is called, or `JUDGE.NAME` for one of its criteria or of several
    judges."""


class _OfVerdicts(Metric):
    Parameters = OfJudge
    answer_kinds = _KINDS
    higher_is_better = True

    @property
    def columns(self) -> Sequence[str]:  # type: ignore[override]
        """Value and status of the judge, and its label, which the run keeps."""
        parameters = self.parameters
        assert isinstance(parameters, OfJudge)
        dot = "-" if "." in parameters.of else "."
        return tuple(f"{parameters.of}{dot}{p}" for p in ("value", "status", "label"))

    def score_example(self, fields: Mapping[str, Any]) -> float | NotScored:
        """Return what a response is worth, or why nobody knows."""
        value, status, _ = (fields[name] for name in self.columns)
        return NotScored(str(status)) if value is None else float(value)


class JudgeRate(_OfVerdicts):
    """Mean of what a judge says that responses are worth, from 0 to 1.

    `judge-rate:of=NAME` is of the judge that `--annotate` declares under this name, and
    `judge-rate:of=NAME.CRITERION` of one of its criteria. Of pairs it is the win rate:
    1 for a better response, 0.5 for a tie. A response without a verdict (unparsed,
    refused, failed, inconsistent) is not scored, and counted by the reason. A missing
    prediction that counts is worth 0. Range 0 to 1, in %, higher is better; Wilson's
    interval where all are 0 or 1, else Student's.

    Source: the win rate and the mean of classes of SEA-HELM's judges (1.2.0), which
    count a lacking verdict as 0 or a tie.

    Example:
        >>> import evalkit
        >>> said = {
        ...     "polite.value": [1.0, 0.5],
        ...     "polite.status": ["judged", "judged"],
        ...     "polite.label": ["yes", "partly"],
        ... }
        >>> name = "judge-rate:of=polite"
        >>> evalkit.score(name, ["a", "b"], ["", ""], fields=said)[name].value
        0.75
    """

    interval = "wilson"
    bounds = (0.0, 1.0)
    unit = "%"
    scale = 100
    worst_value = 0.0


class JudgeMean(_OfVerdicts):
    """Mean of what a judge says that responses are worth, in the judge's own range.

    `judge-mean:of=NAME` is as `judge-rate`, for verdicts that are no shares, such as
    numbers from 1 to 10. A response without a verdict is not scored, and counted by the
    reason. Range -infinity to infinity, higher is better; a t interval.

    Source: evalkit's own.

    Example:
        >>> import evalkit
        >>> said = {
        ...     "style.value": [7.0, 4.0],
        ...     "style.status": ["judged", "judged"],
        ...     "style.label": [None, None],
        ... }
        >>> name = "judge-mean:of=style"
        >>> evalkit.score(name, ["a", "b"], ["", ""], fields=said)[name].value
        5.5
    """


class JudgeOrder(Metric):
    """Share of pairs of which the verdict changed when both answers changed places.

    `judge-order:of=NAME` is of the judge of pairs that `--annotate` declares under this
    name, `judge-order:of=NAME.JUDGE` of one of several. A judge that decides by the
    position alone has 1, and a win rate that looks like a tie. A pair that lacks a
    verdict in one of both orders is not scored, and counted by the reason. A missing
    prediction that counts is worth 1. Range 0 to 1, in %, lower is better; Wilson's
    interval.

    Source: L. Zheng and others, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena
    (2023), whose consistency is one less this share.

    Example:
        >>> import evalkit
        >>> said = {"better.order": ["same", "first"], "better.status": ["judged"] * 2}
        >>> name = "judge-order:of=better"
        >>> evalkit.score(name, ["a", "b"], ["", ""], fields=said)[name].value
        0.5
    """

    Parameters = OfJudge
    answer_kinds = _KINDS
    interval = "wilson"
    bounds = (0.0, 1.0)
    higher_is_better = False
    unit = "%"
    scale = 100
    worst_value = 1.0

    @property
    def columns(self) -> Sequence[str]:  # type: ignore[override]
        """Whether the verdict changed, and why nobody knows."""
        parameters = self.parameters
        assert isinstance(parameters, OfJudge)
        dot = "-" if "." in parameters.of else "."
        return tuple(f"{parameters.of}{dot}{part}" for part in (ORDER, "status"))

    def score_example(self, fields: Mapping[str, Any]) -> float | NotScored:
        """Return 1 where the verdict changed, else 0, or why nobody knows."""
        order, status = (fields[name] for name in self.columns)
        return NotScored(str(status)) if order is None else float(order != SAME)


class OfColumns(Parameters):
    """Which columns."""

    of: tuple[str, ...] = Field(min_length=2)
    """Columns of verdicts: `NAME.label`, `NAME.JUDGE-value`, or a field of the data or
    the predictions that holds people's."""


class JudgeAgreement(Metric):
    """Share of responses of which all verdicts are the same.

    `judge-agreement:of=NAME.label/NAME.people` compares a judge with people's verdicts,
    `judge-agreement:of=NAME.a-label/NAME.b-label` two judges. Agreement by chance is
    not taken away, as `krippendorff-alpha` with the same `of=` does. Numbers are equal
    as numbers, true is 1. A response of which people did not say anything is left out;
    one without a judge's verdict, or of which people say what the judge cannot, is not
    scored, and counted by the reason. So are all where no id of `human_file` matches; a
    warning of the run counts the ids that do not.
    Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: evalkit's own; the observed agreement of Cohen's kappa.

    Example:
        >>> import evalkit
        >>> said = {"mine": ["yes", "no"], "theirs": ["yes", "yes"]}
        >>> name = "judge-agreement:of=mine/theirs"
        >>> evalkit.score(name, ["a", "b"], ["", ""], fields=said)[name].value
        0.5
    """

    Parameters = OfColumns
    answer_kinds = _KINDS
    interval = "wilson"
    bounds = (0.0, 1.0)
    higher_is_better = True
    unit = "%"
    scale = 100

    batch_rows = 2**31  # what a file has too many is known of all rows together

    @property
    def columns(self) -> Sequence[str]:  # type: ignore[override]
        """The columns that are compared, and what is known of people's verdicts."""
        known = [
            f"{name}.{part}" for name in self._judges for part in (WHY, COUNT, FOUND)
        ]
        return (*self._compared, *known)

    @property
    def _compared(self) -> tuple[str, ...]:
        parameters = self.parameters
        assert isinstance(parameters, OfColumns)
        return parameters.of

    @property
    def _judges(self) -> list[str]:
        """The judges that people's verdicts are compared with by their own column."""
        ends = f".{COLUMN}"
        return [n.removesuffix(ends) for n in self._compared if n.endswith(ends)]

    def score_batch(self, fields: Mapping[str, Sequence[Any]]) -> list[Any]:
        """Return 1 for each row where all are the same, and else 0."""
        for judge in self._judges:
            totals = fields[f"{judge}.{COUNT}"]
            total = next((each for each in totals if each is not None), 0)
            found = len({*fields[f"{judge}.{FOUND}"]} - {None})
            if total and not found:
                why = NotScored("no id of human_file is that of an example")
                return [why] * len(totals)
        names = self.columns
        rows = zip(*(fields[name] for name in names), strict=True)
        return [self._score(dict(zip(names, row, strict=True))) for row in rows]

    def _score(self, fields: Mapping[str, Any]) -> float | NotScored | None:
        lacking = [name for name in self._compared if fields[name] is None]
        whys = (fields[f"{judge}.{WHY}"] for judge in self._judges)
        why = next((each for each in whys if each is not None), None)
        if why is not None:
            return NotScored(str(why))
        if any("." not in name or name.endswith(f".{COLUMN}") for name in lacking):
            return None  # people need not have judged all
        if lacking:
            return NotScored(f"{lacking[0]} has no verdict")
        return float(len({_comparable(fields[name]) for name in self._compared}) == 1)


def _comparable(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else float(value)
