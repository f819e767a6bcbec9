"""Every per-example quantity, compared with what plain Python makes of the rows."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import Result

from .perturbed_plugins import LABELS, Clustered, Data, evaluate, example, scores_of

PERTURBATIONS = {
    "invariant": ("invariant", ("robustness",)),
    "swap": ("invariant", ("fairness", "robustness")),
    "contrast": ("transforms", ("robustness",)),
    "doubtful": ("uncertain", ()),
}

UNTAGGED = "(untagged)"


class Answered(NamedTuple):
    """An original or a copy, with the prediction for it."""

    row: dict[str, Any]
    answer: str
    tags: tuple[str, ...]
    prediction: str | None
    """None where there is none, or it is not valid."""
    counts: bool
    original: Any = None


class Value(NamedTuple):
    """One value of a mean."""

    value: float
    original: Answered


class Expected(NamedTuple):
    values: list[Value]
    offered: int
    used: int


class Case(NamedTuple):
    rows: list[dict[str, Any]]
    said: list[dict[str, Any]]
    copies: list[dict[str, Any]]
    said_of_copies: list[dict[str, Any]]
    policy: str
    clustered: bool


_label = st.sampled_from(LABELS)
_tags = st.lists(st.sampled_from(["x", "y"]), unique=True)
_prediction = st.sampled_from([*LABELS, *LABELS, None])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, said, copies, said_of_copies = [], [], [], []
    for number in range(draw(st.integers(1, 6))):
        uid = str(number)
        text = draw(st.sampled_from(["any", "any", "no c"]))
        page = draw(st.sampled_from(["1", "2"]))
        row = example(uid, draw(_label), *draw(_tags), page=page) | {"text": text}
        rows.append(row)
        said.append({"id": uid, "label": draw(_prediction)})
        for place in range(draw(st.integers(0, 3))):
            made = {
                **row,
                "uid": f"{uid}_{place}",
                "input_id": uid,
                "perturbation": draw(st.sampled_from([*PERTURBATIONS])),
            }
            if draw(st.booleans()):
                made["tags"] = draw(_tags)
            if draw(st.booleans()):
                made["label"] = draw(_label).upper()
            copies.append(made)
            said_of_copies.append({"id": made["uid"], "label": draw(_prediction)})
    return Case(
        rows,
        [row for row in said if row["label"]],
        copies,
        [row for row in said_of_copies if row["label"]],
        draw(st.sampled_from(["wrong", "skip"])),
        draw(st.booleans()),
    )


def scored(case: Case, metrics: Sequence[str] = ()) -> Result:
    dataset = Clustered if case.clustered else Data
    return evaluate(
        case.rows,
        case.said,
        case.copies,
        case.said_of_copies,
        dataset=dataset,
        metrics=["right", "distance", *metrics],
        on_missing=case.policy,
        on_invalid=case.policy,
    )


def read(case: Case) -> tuple[dict[str, Answered], list[Answered]]:
    def answered(row: dict[str, Any], said: dict[str, str], original: Any) -> Answered:
        prediction = said.get(row["uid"])
        is_valid = prediction is not None and (prediction, row["text"]) != ("c", "no c")
        return Answered(
            row,
            row["label"].lower(),
            tuple(row["tags"]),
            prediction if is_valid else None,
            is_valid or case.policy == "wrong",
            original,
        )

    said = {row["id"]: row["label"] for row in case.said}
    originals = {row["uid"]: answered(row, said, None) for row in case.rows}
    of_copies = {row["id"]: row["label"] for row in case.said_of_copies}
    copies = [
        answered(row, of_copies, originals[row["input_id"]]) for row in case.copies
    ]
    return originals, copies


def right(prediction: str | None, target: str | None) -> float | None:
    return float(prediction is not None and prediction == target)


def distance(prediction: str | None, target: str | None) -> float | None:
    if prediction is None or target is None:
        return 2.0
    return None if prediction == "c" else abs(ord(prediction) - ord(target)) / 3


METRICS: dict[str, Callable[[str | None, str | None], float | None]] = {
    "right": right,
    "distance": distance,
}


class Reference:
    """What the quantities of one metric should be."""

    def __init__(self, case: Case, metric: str) -> None:
        self.originals, self.copies = read(case)
        self.metric = METRICS[metric]
        self.worse = min if metric == "right" else max

    def score(self, answered: Answered) -> float | None:
        if not answered.counts:
            return None
        return self.metric(answered.prediction, answered.answer)

    def views(self) -> Iterator[tuple[str, list[Answered]]]:
        by_name: dict[str, list[Answered]] = {}
        for copy in self.copies:
            name = copy.row["perturbation"]
            families = [f"family:{family}" for family in PERTURBATIONS[name][1]]
            for view in (name, *families):
                by_name.setdefault(view, []).append(copy)
        yield from by_name.items()

    def mean(
        self,
        members: Sequence[Answered],
        value: Callable[[Answered], float | None],
        reduce: Callable[[list[float]], float] = lambda v: sum(v) / len(v),
    ) -> Expected:
        values = [
            Value(found, copy.original)
            for copy in members
            if (found := value(copy)) is not None
        ]
        used = len(values)
        by_uid: dict[str, list[Value]] = {}
        for each in values:
            by_uid.setdefault(each.original.row["uid"], []).append(each)
        values = [
            Value(reduce([each.value for each in group]), group[0].original)
            for group in by_uid.values()
        ]
        return Expected(values, len(members), used)

    def difference(self, copy: Answered) -> float | None:
        before, after = self.score(copy.original), self.score(copy)
        return None if before is None or after is None else before - after

    def worst(self, copy: Answered) -> float | None:
        before, after = self.score(copy.original), self.score(copy)
        if before is None or after is None:
            return None
        return self.worse(before, after)

    def agreement(self, copy: Answered) -> float | None:
        if not (copy.counts and copy.original.counts):
            return None
        return self.metric(copy.prediction, copy.original.prediction)

    def flip(self, before: float, after: float) -> Callable[[Answered], float | None]:
        def value(copy: Answered) -> float | None:
            if self.difference(copy) is None:
                return None
            found = (self.score(copy.original), self.score(copy)) == (before, after)
            if before == after:
                found = found and copy.prediction != copy.original.prediction
            return float(found)

        return value

    def original(self, members: Sequence[Answered]) -> Expected:
        found = [copy.original for copy in members]
        found = list({each.row["uid"]: each for each in found}.values())
        values = [
            Value(score, each)
            for each in found
            if (score := self.score(each)) is not None
        ]
        return Expected(values, len(found), len(values))

    def standing(self, everyone: Sequence[Answered]) -> list[Answered]:
        """Give what a family's worst case is made of: copies, examples without one."""
        known = {copy.original.row["uid"] for copy in everyone}
        alone = [
            each for each in self.originals.values() if each.row["uid"] not in known
        ]
        return [*everyone, *alone]

    def has_invariant(self, view: str) -> bool:
        return any(
            PERTURBATIONS[copy.row["perturbation"]][0] == "invariant"
            for name, copies in self.views()
            for copy in copies
            if name == view
        )

    def of_group(
        self, view: str, members: Sequence[Answered], judges: bool
    ) -> dict[str, Expected]:
        invariant = [
            copy
            for copy in members
            if PERTURBATIONS[copy.row["perturbation"]][0] == "invariant"
        ]
        expected = {
            "original": self.original(members),
            "perturbed": self.mean(members, self.score),
            "drop": self.mean(members, self.difference),
        }
        expected["worst"] = self.mean(members, self.worst, self.worse)
        if self.has_invariant(view):
            expected["agreement"] = self.mean(invariant, self.agreement)
        if judges:
            for name, (before, after) in {
                "right-to-wrong": (1.0, 0.0),
                "wrong-to-right": (0.0, 1.0),
                "wrong-to-other-wrong": (0.0, 0.0),
            }.items():
                flip = self.flip(before, after)
                expected[name] = self.mean(members, flip)
            if PERTURBATIONS.get(view, ("",))[0] == "transforms":
                were_right = [c for c in members if self.score(c.original) == 1]
                expected["expected"] = self.mean(were_right, self.score)
                expected["consistency"] = expected["worst"]
        return expected

    def family_worst(self, everyone: Sequence[Answered], tag: Any) -> Expected:
        """Of all examples; an example without a copy that counts stands for itself."""
        standing = [each for each in self.standing(everyone) if is_in(each, tag)]
        copies = [each for each in standing if each.original is not None]
        alone = [each for each in standing if each.original is None]
        expected = self.mean(copies, self.worst, self.worse)
        own = [
            Value(score, each)
            for each in alone
            if (score := self.score(each)) is not None
        ]
        values = [*expected.values, *own]
        offered = len({each.original.row["uid"] for each in copies}) + len(alone)
        return Expected(values, offered, len(values))


def is_in(answered: Answered, tag: str | None) -> bool:
    if tag is None:
        return True
    return not answered.tags if tag == UNTAGGED else tag in answered.tags


Key = tuple[str, str, str, Any]
"""Metric, perturbation or family, quantity and tag."""


def check(result: Result, key: Key, expected: Expected) -> None:
    [score] = [
        score
        for score in scores_of(result)
        if (score.metric, score.perturbation, score.computed_on, score.tag) == key
    ]
    values = np.array([each.value for each in expected.values])
    assert score.n == len(values), key
    share = expected.used / expected.offered if expected.offered else None
    assert score.coverage == (None if share is None else pytest.approx(share)), key
    if not len(values):
        assert score.value is None, key
        return
    assert score.value == pytest.approx(values.mean()), key


def expectations(case: Case, metric: str) -> Iterator[tuple[Key, Expected]]:
    """Give every quantity of a metric."""
    reference = Reference(case, metric)
    if not all(
        any(each.counts for each in side)
        for side in (reference.originals.values(), reference.copies)
    ):
        return  # then all scores are null, see TestEdges
    if all(reference.score(each) is None for each in reference.copies):
        return  # as above: the metric scores no copy
    for view, everyone in reference.views():
        tags = sorted({tag for copy in everyone for tag in copy.tags})
        if tags and any(not copy.tags for copy in everyone):
            tags.append(UNTAGGED)
        for tag in (None, *tags):
            members = [copy for copy in everyone if is_in(copy, tag)]
            found = reference.of_group(view, members, metric == "right")
            if view.startswith("family:"):
                found["worst-of-all"] = reference.family_worst(everyone, tag)
                has_tags = any(each.tags for each in reference.standing(everyone))
                is_named = has_tags or tag != UNTAGGED
                is_offered = is_named and found["worst-of-all"].offered
                if tag is not None and not is_offered:
                    del found["worst-of-all"]
            for computed_on, expected in found.items():
                yield (metric, view, computed_on, tag), expected


# each example is a whole evaluation
@settings(max_examples=settings().max_examples // 5)
@given(cases())
@pytest.mark.slow
def test_every_quantity_is_what_plain_python_makes_of_it(case: Case) -> None:
    if not case.copies:
        return
    result = scored(case)
    seen = set()
    for metric in METRICS:
        for key, expected in expectations(case, metric):
            seen.add(key)
            check(result, key, expected)
    for score in scores_of(result):
        if score.value is not None:
            name = str(score.perturbation)
            is_lone = score.computed_on == "worst-of-all"
            assert is_lone or (
                (score.metric, name, score.computed_on, score.tag) in seen
            )


@settings(max_examples=settings().max_examples // 10)
@given(cases(), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(case: Case, order: random.Random) -> None:
    if not case.copies:
        return
    parts = (case.rows, case.said, case.copies, case.said_of_copies)
    shuffled = [order.sample(part, len(part)) for part in parts]
    again = Case(*shuffled, case.policy, case.clustered)
    assert scores_of(scored(again)) == scores_of(scored(case))


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter_for_whole_sets() -> None:
    rows = [example(str(n), LABELS[n * 7 % 3], "xy"[n % 2]) for n in range(20)]
    said = [{"id": str(n), "label": LABELS[n * 5 % 3]} for n in range(20)]
    copies = [
        {**rows[n], "uid": f"{n}_{k}", "input_id": str(n), "perturbation": "swap"}
        for n in range(20)
        for k in range(n % 3)
    ]
    of_copies = [
        {"id": row["uid"], "label": LABELS[number % 3]}
        for number, row in enumerate(copies)
    ]
    case = Case(rows, said, copies, of_copies, "skip", False)
    again = case._replace(
        rows=rows[::-1], said=said[3:] + said[:3], copies=copies[::-1]
    )
    both = [scored(each, ["macro-recall"]) for each in (case, again)]
    for one, other in zip(*map(scores_of, both), strict=True):
        assert one._asdict() == pytest.approx(other._asdict(), nan_ok=True)
