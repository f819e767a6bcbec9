"""Scores under perturbation: what each says, and how it is made of single values.

Of every perturbation, and of every family of those that are not `uncertain`:

- `original`: the score of the originals that have a copy;
- `perturbed`: the score of the copies;
- `drop`: original minus the mean of its copies, over those that both count;
- `agreement`: the metric's per-example score with the model's own prediction for the
  original as target (Dynabench's `fairness` and `robustness`), of perturbations that
  are `invariant`. A model that always says the same agrees with itself: agreement means
  nothing without `perturbed` beside it;
- `worst`: the mean of the least favourable score of an original and its copies;
- `worst-of-all`, of a family: the same over all examples, also those without a copy
  (HELM's worst case).

And for the metric that tells right from wrong, of every perturbation and family:

- `right-to-wrong`, `wrong-to-right`, `wrong-to-other-wrong`: shares of pairs;

of every perturbation alone:

- `expected`: the share of pairs whose change is as it should be: as the perturbation's
  `expect` says; for one that `transforms` answers and has no `expect`, the share of
  copies answered rightly whose originals were;
- `consistency`, where it `transforms`: the share of originals of which the original and
  every copy is right (Gardner et al. 2020), which is `worst` of zeros and ones.

The metric that tells right from wrong is the first whose per-example scores are zeros
and ones as it declares (`interval = "wilson"`), higher being better; else the first
with bounds 0 and 1 of which all scores are one of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from evalkit import Score
from evalkit.parallel import Workers
from evalkit.runs.scores import group_record, shown_as
from evalkit.scoring import MetricScores
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.records import NOTHING_SCORED
from evalkit.statistics.clusters import Floats
from evalkit_analysis_robustness.drops import TestedScore, adjust
from evalkit_analysis_robustness.pairs import PairGroups
from evalkit_analysis_robustness.perturbations import View
from evalkit_analysis_robustness.quantities import (
    ExampleQuantities,
    ExampleValues,
    Paired,
    Quantity,
    agreement_of,
    without_value,
)
from evalkit_analysis_robustness.sets import SetQuantities
from evalkit_analysis_robustness.values import values_of

UNCERTAIN = "the answers may not hold after this perturbation"
"""Flag of scores that a perturbation of uncertain effect makes doubtful."""


def score_pairs(scored: Sequence[MetricScores], paired: Paired) -> list[Score]:
    """Compute the scores of all metrics under all perturbations."""
    with Workers(paired.settings.jobs) as workers:
        return _Scorer(scored, paired, workers).all()


class _Scorer:
    def __init__(
        self, scored: Sequence[MetricScores], paired: Paired, workers: Workers
    ) -> None:
        self._scored = [
            found
            for found in scored
            if found.metric.component.kind == "metrics" and not found.error
            if not found.metric.whole_only
        ]
        self._paired = paired
        self._workers = workers
        self._tables = paired.tables
        self._pairs = paired.tables.pairs
        self._values: dict[str, ExampleValues] = {}

    def _groups_of(self, view: View) -> PairGroups:
        # made anew for each metric, as those of many perturbations take much memory
        made = self._pairs.made_by([member.identity for member in view.members])
        return PairGroups(self._pairs, made)

    def all(self) -> list[Score]:
        """Compute everything."""
        reasons = {found.name: self._prepare(found) for found in self._scored}
        judge = self._judge()
        scores: list[Score] = []
        confidence = self._paired.settings.confidence
        for found in self._scored:
            reason = reasons[found.name]
            if reason is None:
                tested = list(self._of_metric(found, found.name == judge))
            else:
                null = (self._null(found, view, reason) for view in self._paired.views)
                tested = [*chain.from_iterable(null)]
            adjusted = adjust(tested, confidence, whole=True)
            scores += [score for score, _ in adjusted]
        return scores

    def _prepare(self, found: MetricScores) -> str | None:
        """Get the per-example scores; or return why there are no scores."""
        metric = found.metric
        if found.statistics is None and not metric.has("compute"):
            return found.scores[0].reason or NOTHING_SCORED
        reason = self._tables.why_not(found.name)
        if reason or metric.example_column is None or found.per_example is None:
            return reason
        if _is_mean(found):
            self._values[found.name] = ExampleValues(
                values_of(found.per_example, "score", len(self._pairs.sample.ids)),
                self._tables.scores(found.name),
            )
        return None

    def _judge(self) -> str | None:
        """Name the metric that tells right from wrong."""
        able = [
            found
            for found in self._scored
            if found.name in self._values
            and found.metric.higher_is_better is True
            and tuple(found.metric.bounds or ()) == (0, 1)
            and all(map(_is_binary, self._values[found.name]))
        ]
        declared = [each for each in able if each.metric.interval_kind == "wilson"]
        return next((found.name for found in [*declared, *able]), None)

    def _of_metric(self, found: MetricScores, is_judge: bool) -> Iterator[TestedScore]:
        values = self._values.get(found.name)
        parts = {score.score for score in found.scores} - {"" if values else None}
        single: ExampleQuantities | None = None
        if values is not None:
            agreement = agreement_of(found.metric, self._paired, self._workers)
            single = ExampleQuantities(found.metric, values, self._paired, agreement)
        of_sets = self._set_quantities(found, parts) if parts else None
        confidence = self._paired.settings.confidence
        for view in self._paired.views:
            groups = self._groups_of(view)
            if single is not None:
                of_examples = self._records(found, view, single.of(view, groups))
                yield from adjust(of_examples, confidence, whole=False)
                if is_judge:
                    judged = single.of_judge(view, groups)
                    yield from self._records(found, view, judged)
            if of_sets is not None:
                records = self._records(found, view, of_sets.of(view, groups))
                yield from adjust(records, confidence, whole=False)

    def _set_quantities(
        self, found: MetricScores, parts: Collection[str]
    ) -> SetQuantities:
        """Prepare the scores of whole sets."""
        statistics = None
        if found.statistics is not None:
            statistics = found.statistics, self._tables.statistics(found.name)
        return SetQuantities(found.metric, self._paired, statistics, parts)

    def _null(
        self, found: MetricScores, view: View, reason: str
    ) -> Iterator[TestedScore]:
        shown = shown_as(found.metric)
        nothing = [
            Quantity(name, (None,), without_value(reason), shown)
            for name in ("original", "perturbed", "drop")
        ]
        yield from self._records(found, view, nothing)

    def _records(
        self, found: MetricScores, view: View, quantities: Iterable[Quantity]
    ) -> Iterator[TestedScore]:
        for quantity in quantities:
            flag = None
            if view.is_uncertain and quantity.computed_on != "original":
                flag = UNCERTAIN
            tests = quantity.tested or [None] * len(quantity.scores)
            for score, tested in zip(quantity.scores, tests, strict=True):
                record = group_record(
                    score._replace(flag=flag or score.flag),
                    found.full_name(score.score),
                    quantity.tags[score.group],
                    self._paired.split,
                    quantity.shown,
                )
                record = record._replace(
                    perturbation=view.name, computed_on=quantity.computed_on
                )
                yield TestedScore(record, tested)


def _is_binary(values: Floats) -> bool:
    return bool(np.isin(values[np.isfinite(values)], (0.0, 1.0)).all())


def _is_mean(found: MetricScores) -> bool:
    """Tell whether the main score is the mean of the per-example scores."""
    for score in found.scores:
        if score.score == "" and score.group == WHOLE and score.value is not None:
            return score.spread is not None and math.isclose(
                score.value, score.spread[0], rel_tol=1e-9, abs_tol=1e-12
            )
    return True
