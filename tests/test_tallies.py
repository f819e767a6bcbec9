"""Tallies of parts add up to those of the whole."""

import math
import pickle
from collections.abc import Sequence
from random import Random
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import Score, find_components
from evalkit.catalog import Registry, Resolver
from evalkit.scoring.grouping import TAGS, Group

NEED_A_MODEL = ("bertscore", "comet", "sp-bleu")
OF_COLUMNS = (
    *("column-mean", "column-rate", "weighted"),
    *("judge-agreement", "judge-mean", "judge-order", "judge-rate"),
)

NAMES = sorted(
    component.name
    for component in find_components().components
    if component.kind == "metrics" and component.name not in NEED_A_MODEL + OF_COLUMNS
)

TAG_LISTS: Sequence[list[str]] = (
    [],
    ["easy"],
    ["easy", "topic:x"],
    ["topic:y"],
    ["hard", "topic:x"],
)


def is_close(one: float | None, other: float | None, tolerance: float = 1e-12) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


RESOLVER = Resolver(Registry())
SUMMED = [name for name in NAMES if not RESOLVER.metric(name).has("compute")]
"""The built-in metrics that declare sums."""

WORDS = ("red", "green", "blue", "small", "round", "not")


def label_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    label, prediction = random.choice("aab"), random.choice("abc")
    rest = (1 - (share := random.randint(3, 9) / 10)) / 2
    prob = {name: share if name == prediction else rest for name in "abc"}
    return {"statement": "x", "label": label}, {"label": prediction, "prob": prob}


def text_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    texts = [" ".join(random.choices(WORDS, k=random.randint(1, 6))) for _ in range(3)]
    given = texts[: random.choice([1, 2])]
    spoken = texts[0] if random.random() < 0.3 else texts[2]
    return {"source": "x", "text": given}, {"text": spoken}


def number_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    value = random.gauss(0, 3)
    return {"text": "x", "value": value}, {"value": value + random.gauss(0, 1)}


def ranking_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    right = random.sample(WORDS, random.randint(1, 3))
    return {"query": "x", "items": right}, {"items": random.sample(WORDS, 4)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "draw", "policy", "least"),
    [
        ("text-classification", label_row, "wrong", 40),
        ("text-classification", label_row, "skip", 40),
        ("text-generation", text_row, "wrong", 15),
        ("regression", number_row, "skip", 6),
        ("ranking", ranking_row, "wrong", 4),
    ],
)
def test_partitions_give_the_scores_of_the_whole(
    task: str, draw: Any, policy: Any, least: int
) -> None:
    random = Random(7)
    examples, responses = [], []
    for number in range(90):
        example, response = draw(random)
        given = {"tags": random.choice(TAG_LISTS), "doc": random.randint(0, 20)}
        level = random.choice(["low", "high"])
        examples.append({"uid": str(number), **example, **given, "level": level})
        if random.random() < 0.95:
            responses.append({"id": str(number), **response})
    options = evalkit.EvaluationOptions(
        metrics=SUMMED, on_missing=policy, cluster=["doc"], by=["level"]
    )
    plan = evalkit.plan_partitions(data=examples, task=task, options=options)
    plan = pickle.loads(pickle.dumps(plan))
    tallies = []
    for part in (2, 0, 1):
        chosen = [row for row in examples if int(row["uid"]) % 3 == part]
        rows = [row for row in responses if int(row["id"]) % 3 == part]
        tallies.append(evalkit.partition_tallies(plan, chosen, pl.DataFrame(rows)))
    found = evalkit.finalize(plan, evalkit.merge_tallies(tallies))
    whole = evalkit.evaluate_with(pl.DataFrame(examples), responses, options, task=task)
    assert len(found.scores) == len(whole.scores)
    valued = set()
    for score, known in zip(found.scores, whole.scores, strict=True):
        for name in Score._fields:
            one, other = getattr(score, name), getattr(known, name)
            if isinstance(other, float):
                assert is_close(one, other), (known.metric, known.tag, name)
            elif name != "reason" or known.value is not None:
                assert one == other, (known.metric, known.tag, name)
        if known.value is not None:
            valued.add(known.metric)
    assert len(valued) >= least, valued
    assert found.by_tag.height == whole.by_tag.height


def test_answers_of_a_part_are_called_as_in_the_whole() -> None:
    texts: list[Any] = [["a b", "c"], "a b", "c", "a b"]
    data = [{"uid": str(n), "text": text} for n, text in enumerate(texts)]
    said = [{"id": row["uid"], "text": "a b"} for row in data]
    options: dict[str, Any] = {"metrics": ["squad-f1", "wer"], "by": ["answer"]}
    plan = evalkit.plan_partitions(
        data=data, task="text-generation", options=evalkit.EvaluationOptions(**options)
    )
    parts = [evalkit.partition_tallies(plan, data[n::2], said[n::2]) for n in range(2)]
    whole = evalkit.evaluate(
        data=data, predictions=said, task="text-generation", **options
    )
    for order in (parts, parts[::-1]):
        merged = evalkit.merge_tallies(order)
        assert evalkit.finalize(plan, merged).scores == whole.scores
    single = evalkit.plan_partitions(data=data[1:], task="text-generation")
    with pytest.raises(evalkit.DataError, match="several answers"):
        evalkit.partition_tallies(single, data[:1], said[:1])


def test_groups_have_names_that_cannot_collide() -> None:
    assert Group().by is None
    assert Group(TAGS, None) == Group(TAGS)
