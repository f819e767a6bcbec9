"""Examples with probabilities of the labels, and which of them each group has."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import evalkit

LABELS = ["a", "b", "ü"]


class Probable(NamedTuple):
    """An example, the weights that a model gives its labels, and the tags."""

    prediction: str
    target: str
    weights: list[int]
    tags: list[str]

    @property
    def shares(self) -> list[float]:
        """The probabilities."""
        return [weight / sum(self.weights) for weight in self.weights]


def probable_rows(labels: Sequence[str] = LABELS) -> Any:
    """Return sets of examples whose probabilities often are tied."""
    count = len(labels)
    weights = st.lists(st.integers(0, 5), min_size=count, max_size=count).filter(any)
    label = st.sampled_from(labels)
    tags = st.lists(st.sampled_from(["t", "u:v"]), unique=True)
    return st.lists(st.builds(Probable, label, label, weights, tags), min_size=1)


def score_rows(
    name: str, rows: Sequence[Probable], names: Sequence[str] = LABELS, **options: Any
) -> dict[str | None, evalkit.Score]:
    """Return the main score of every group.

    Args:
        name: The metric.
        rows: The examples.
        names: The labels that have probabilities.
        **options: Those of `evalkit.score`.
    """
    prob = [dict(zip(names, row.shares, strict=True)) for row in rows]
    result = evalkit.score(
        name,
        [row.prediction for row in rows],
        [row.target for row in rows],
        tags=[row.tags for row in rows],
        fields={"prob": prob},
        **options,
    )
    return {found.tag: found for found in result.scores if found.metric == name}


def in_groups(rows: Sequence[Probable]) -> dict[str | None, list[Probable]]:
    """Return the rows of the set (None), of each tag, and of no tag at all."""
    tags = sorted({tag for row in rows for tag in row.tags})
    groups: dict[str | None, list[Probable]] = {None: list(rows)}
    groups |= {tag: [row for row in rows if tag in row.tags] for tag in tags}
    untagged = [row for row in rows if not row.tags]
    return groups | ({"(untagged)": untagged} if tags and untagged else {})


def drawn_rows(n: int, seed: int, labels: Sequence[str] = LABELS) -> list[Probable]:
    """Draw examples whose probabilities say something of the answer."""
    random = np.random.default_rng(seed)
    gold = random.integers(len(labels), size=n)
    weights = random.integers(1, 1_000, size=(n, len(labels)))
    weights[np.arange(n), gold] += 400
    said = weights.argmax(axis=1)
    return [
        Probable(labels[s], labels[g], w.tolist(), [])
        for s, g, w in zip(said, gold, weights, strict=True)
    ]
