"""The format of a suite file: a closed pydantic model of a tree of datasets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from evalkit_benchmarks_declared.schema import ComponentName, Declared, Finite, Text

Weight = Annotated[Finite, Field(ge=0)]


class Perturbed(Declared):
    """Examples of a dataset under perturbation."""

    family: Text
    """Family, such as `robustness` or `fairness`, or the name of one perturbation."""
    computed_on: Literal["perturbed", "worst", "original", "agreement"] = "perturbed"
    """View of `evalkit eval --perturbed`, such as `worst`: the lowest score of each
    original and its perturbed examples."""


class Leaf(Declared):
    """A score of one dataset."""

    data: Text
    """Reference of the dataset, as `evalkit eval` takes it: `NAME[:KEY=VALUE,…]`."""
    name: Text | None = None
    """Default: the reference."""
    split: Text | None = None
    """Default: the split that most models were evaluated on."""
    metric: Text | None = None
    """Score, `NAME[:KEY=VALUE,…][#SCORE]`. Default: the dataset's main score."""
    extract: Text | None = None
    """Extractor of the benchmark. Default: its main one."""
    tag: Text | None = None
    """Score of the examples with this tag; `macro:FACET` for the mean over a facet."""
    perturbation: Perturbed | None = None

    @property
    def label(self) -> str:
        """What the leaderboard calls it."""
        return self.name or self.data

    @property
    def reference(self) -> str:
        """The dataset with the extractor."""
        mark = "," if ":" in self.data else ":"
        return f"{self.data}{mark}extract={self.extract}" if self.extract else self.data


class Weights(Declared):
    """A weight for each member, by its name; they need not sum to 1."""

    weights: Annotated[dict[Text, Weight], Field(min_length=1)]


class Normalisation(Declared):
    """A linear scale on which `low` becomes 0 and `high` becomes 1, as stored."""

    low: Finite
    """Value that becomes 0, such as the score of random answers."""
    high: Finite = 1.0
    """Value that becomes 1."""
    floor: bool = True
    """Whether values below `low` become 0."""
    at: Literal["children", "mean"] = "children"
    """Whether each member is normalised, or the mean of them."""

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.low == self.high:
            raise ValueError(f"low and high must differ, got {self.low} for both")
        return self


class Tagged(Declared):
    """All datasets that declare a tag."""

    tag: Text
    """Tag of datasets, as in `evalkit list datasets --tag`."""
    metric: Text | None = None
    """Score of each dataset. Default: its main score."""


def _branch(value: Any) -> str:
    """Tell a reference, a leaf and a group apart."""
    if isinstance(value, str):
        return "dataset"
    is_leaf = "data" in value if isinstance(value, Mapping) else hasattr(value, "data")
    return "leaf" if is_leaf else "group"


Child = Annotated[
    Annotated[Text, Tag("dataset")]
    | Annotated[Leaf, Tag("leaf")]
    | Annotated["Group", Tag("group")],
    Discriminator(_branch),
]
"""A dataset by its reference, a score of a dataset, or a group of members."""


def _refuse_unknown(key: str, used: Iterable[str], names: Collection[str]) -> None:
    for name in used:
        if name not in names:
            listed = ", ".join(names)
            raise ValueError(f"{key}: unknown member {name!r}. Members: {listed}")


class Rules(Declared):
    """The rules of a mean."""

    mean: Literal["macro", "size", "pooled"] | Weights = "macro"
    """`macro`: each member counts once. `size`: by its number of examples. `pooled`:
    the score of all examples together. Or the weight of each member; a member with the
    weight 0 is shown and not part of the mean."""
    flatten: bool = False
    """Whether the mean is over the datasets below it, at this and each lower level."""
    missing: Literal["refuse", "skip"] = "refuse"
    """What happens to a mean if a member has no score: `refuse` gives no mean and says
    why, `skip` gives the mean of the other members and says how many there are."""


class Node(Rules):
    """A mean over members."""

    normalise: Normalisation | None = None
    of: Annotated[list[Child], Field(min_length=1)] | Tagged
    """The members, or all datasets with a tag."""
    over: list[ComponentName] = []
    """Facets, such as `language`. Each makes a level with a mean for each value. A
    dataset without the facet stands alone."""

    @property
    def labels(self) -> list[str]:
        """The names of the members that are listed."""
        listed = self.of if isinstance(self.of, list) else []
        return [each if isinstance(each, str) else each.label for each in listed]

    @property
    def groups(self) -> Iterator[Group]:
        """Yield the groups below it."""
        for child in self.of if isinstance(self.of, list) else ():
            if isinstance(child, Group):
                yield child
                yield from child.groups

    @model_validator(mode="after")
    def _check_members(self) -> Self:
        listed, names = self.of if isinstance(self.of, list) else [], self.labels
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"of: two members are called {twice!r}. Write name")
        if isinstance(self.mean, Weights):
            if self.over or self.flatten or isinstance(self.of, Tagged):
                raise ValueError("mean: weights are for members that are listed in of")
            _refuse_unknown("mean.weights", self.mean.weights, names)
            if lacking := [name for name in names if name not in self.mean.weights]:
                raise ValueError(f"mean.weights: no weight of {', '.join(lacking)}")
            if not sum(self.mean.weights.values()):
                raise ValueError("mean.weights: the sum of the weights must not be 0")
        if self.mean == "pooled" and self.normalise and self.normalise.at == "children":
            raise ValueError("normalise.at: pooled scores are normalised at the mean")
        for group in self.groups if self.flatten or self.mean == "pooled" else ():
            at = group.normalise and group.normalise.at
            if at == "mean" or (at and self.mean == "pooled"):
                why = "the mean is over datasets. Normalise it, or the datasets"
                raise ValueError(f"normalise: {group.name} is not averaged: {why}")
        if self.over and any(isinstance(each, Group) for each in listed):
            raise ValueError("over: the members of of must be datasets")
        return self


class Group(Node):
    """A mean with a name."""

    name: Text

    @property
    def label(self) -> str:
        """What the leaderboard calls it."""
        return self.name


class Rank(Declared):
    """A rating that compares the models by the members of the suite."""

    method: Literal["win-rate", "mean-rank", "dynascore", "elo", "bradley-terry"]
    perf: Text | None = None
    """Member whose unit the dynascore has."""
    weights: dict[Text, Weight] = {}
    """Weight of each member. Default: 1."""
    offset: dict[Text, Finite] = {}
    """What the dynascore adds to a member, such as the limit of a cost."""


class Suite(Node):
    """A suite file."""

    suite: ComponentName
    """Name of the suite."""
    version: Text = "1"
    """Increment it whenever members or rules change."""
    description: Text | None = None
    license: Text | None = None
    citation: Text | None = None
    source_url: Text | None = None
    rank: Rank | None = None

    @model_validator(mode="after")
    def _check_rank(self) -> Self:
        rank = self.rank
        if rank is None:
            return self
        if (rank.method == "dynascore") != (rank.perf is not None):
            raise ValueError("rank.perf: name a member for dynascore, and for it only")
        if (rank.offset or rank.weights) and rank.method != "dynascore":
            raise ValueError("rank: weights and offset are for dynascore")
        if isinstance(self.of, list) and not self.over:
            used = {"weights": rank.weights, "offset": rank.offset}
            for key, names in {**used, "perf": filter(None, [rank.perf])}.items():
                _refuse_unknown(f"rank.{key}", names, self.labels)
        return self
