"""Finds the members of a suite: its datasets, their variants and levels of facets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from evalkit import Registry
from evalkit.base.names import score_name
from evalkit.catalog import BoundDataset, Resolver, facet_of, parse_reference
from evalkit.errors import EvalkitError, UnknownPluginError
from evalkit.runs import recorded
from evalkit_analysis_suites.runs import RunPool
from evalkit_analysis_suites.schema import (
    Group,
    Leaf,
    Node,
    Normalisation,
    Rules,
    Tagged,
    Weights,
)
from evalkit_benchmarks_declared import expand

Scales = tuple[Normalisation, ...]

NO_DATASETS = "datasets tagged "
"""Begins the name of a member that stands for a tag that no dataset has."""


class Branch(NamedTuple):
    """A member of a suite whose datasets are known."""

    name: str
    leaf: Leaf | None = None
    """The score of a dataset; None for a mean."""
    rules: Rules = Rules()
    """The rules of the mean."""
    children: tuple[Branch, ...] = ()
    scales: Scales = ()
    """What its value is normalised by, in this order."""

    def leaves(self) -> Iterator[Branch]:
        """Yield the datasets below it, or itself."""
        if self.leaf is not None:
            yield self
        for child in self.children:
            yield from child.leaves()


class Members:
    """The datasets that a suite may name: installed ones, and those with runs.

    Only those of some rounds and languages are kept, if any are given.
    """

    def __init__(
        self,
        pool: RunPool,
        registry: Registry,
        rounds: Collection[int] = (),
        languages: Collection[str] = (),
    ) -> None:
        self._pool = pool
        self._registry = registry
        self._rounds = rounds
        self._starts = tuple(f"{language}-".lower() for language in languages)
        self._loaded: dict[str, BoundDataset | None] = {}

    def resolve(
        self, node: Node, name: str = "", scales: Scales = (), deep: Scales = ()
    ) -> Branch:
        """Find all members below a node; `deep` normalises the datasets of them."""
        inner = deep
        if node.normalise is not None and node.normalise.at == "children":
            inner = (node.normalise, *deep)
        elif node.normalise is not None:
            scales = (node.normalise, *scales)
        children: list[Branch] = []
        for child in self.listed(node):
            if isinstance(child, Group):
                flat = node.flatten and not isinstance(child.mean, Weights)
                group = child.model_copy(update={"flatten": flat or child.flatten})
                own = ((), inner) if node.flatten or deep else (inner,)
                branch = self.resolve(group, child.name, *own)
                children += [branch] if branch.children else []
                continue
            leaf = Leaf(data=child) if isinstance(child, str) else child
            found = self._variants(leaf, inner)
            if not found:
                text = f"{leaf.label}: left out, not of these languages or rounds"
                self._pool.notices.append(text)
            if len(found) > 1 and not node.over:
                rules = Rules(missing=node.missing)
                found = (Branch(leaf.label, None, rules, found),)
            children += found
        levels = self._levels(children, node, node.over)
        return Branch(name, None, node, levels, scales)

    def _about(self, dataset: str) -> BoundDataset | recorded.Data | None:
        """Return what a dataset says of itself; None if nothing knows it."""
        runs = self._pool.runs_of(dataset)
        return runs[0].record.data if runs else self._load(dataset)

    def knows(self, dataset: str) -> bool:
        """Tell whether a dataset is installed or has runs."""
        return self._about(dataset) is not None

    def _keeps(self, dataset: str) -> bool:
        """Tell whether a dataset is of the rounds and languages."""
        if not (self._rounds or self._starts):
            return True
        about = self._about(dataset)
        if about is None:
            self._pool.notices.append(f"{dataset}: left out, as nothing describes it")
            return False
        codes = [f"{code}-".lower() for code in about.languages]
        is_in = not self._starts or any(code.startswith(self._starts) for code in codes)
        return is_in and (not self._rounds or about.round_id in self._rounds)

    def _load(self, reference: str) -> BoundDataset | None:
        """Load an installed dataset; None if it is not installed."""
        if reference not in self._loaded:
            self._loaded[reference] = None
            try:
                self._loaded[reference] = Resolver(self._registry).dataset(reference)
            except UnknownPluginError:
                pass
            except EvalkitError as error:
                self._pool.notices.append(str(error))
        return self._loaded[reference]

    def listed(self, node: Node) -> Sequence[str | Leaf | Group]:
        """Return the members of a node; those with a tag if it names one."""
        if isinstance(node.of, list):
            return node.of
        # without one, a member without a run says so
        none = f"{NO_DATASETS}{node.of.tag}"
        return self._tagged(node.of) or [Leaf(data=none, metric=node.of.metric)]

    def leaves(self, node: Node) -> Iterator[Leaf]:
        """Yield the datasets of a node as it names them."""
        for child in self.listed(node):
            if isinstance(child, Group):
                yield from self.leaves(child)
            else:
                yield Leaf(data=child) if isinstance(child, str) else child

    def _tagged(self, chosen: Tagged) -> list[Leaf]:
        """Return the datasets that declare a tag, those with runs first."""
        installed = self._registry.catalog.of_kind("datasets")
        expanded = (expand(each.name, self._registry) for each in installed)
        asked = [name for each in expanded for name in each.evaluated]
        loaded = [bound.name for bound in map(self._load, asked) if bound]
        names = dict.fromkeys([*self._pool.datasets, *loaded])
        about = {name: self._about(name) for name in names}
        tagged = [name for name, own in about.items() if own and chosen.tag in own.tags]
        return [Leaf(data=name, metric=chosen.metric) for name in tagged]

    def _variants(self, leaf: Leaf, scales: Scales) -> tuple[Branch, ...]:
        """Return a branch for each variant that the reference leaves open."""
        names = [*filter(self._keeps, self._names(leaf.reference))]
        if len(names) == 1:
            chosen = leaf.model_copy(update={"data": names[0], "extract": None})
            return (Branch(leaf.label, chosen, scales=scales),)
        own = {"extract": None, "name": None}
        each = (leaf.model_copy(update={"data": name, **own}) for name in names)
        start = f"{leaf.name} " if leaf.name else ""
        return tuple(Branch(start + one.data, one, scales=scales) for one in each)

    def _names(self, reference: str) -> list[str]:
        """Return the datasets of a reference, as runs call them."""
        own = parse_reference(reference)
        has_extract = "extract" in own.parameters
        expanded = expand(reference, self._registry).evaluated
        texts = [names[0] if has_extract else x for x, names in expanded.items()]
        installed = [bound.name for bound in map(self._load, texts) if bound]
        exact = score_name(own.name, own.parameters)
        if installed or exact in self._pool.datasets:
            return installed or [exact]
        others = {name: parse_reference(name) for name in self._pool.datasets}
        return [
            name
            for name, other in others.items()
            if other.name == own.name
            and own.parameters.items() <= other.parameters.items()
        ] or [exact]

    def _levels(
        self, children: Sequence[Branch], rules: Rules, facets: Sequence[str]
    ) -> tuple[Branch, ...]:
        """Make a level of means for each facet."""
        if not facets:
            return tuple(children)
        levels: dict[tuple[str | None, str], list[Branch]] = {}
        for child in children:
            value = self._value(child, facets[0])
            levels.setdefault((value, "" if value else child.name), []).append(child)
        return tuple(
            found[0]
            if value is None
            else Branch(value, None, rules, self._levels(found, rules, facets[1:]))
            for (value, _), found in levels.items()
        )

    def _value(self, child: Branch, facet: str) -> str | None:
        """Return the value that a dataset has of a facet; None for none or several."""
        assert child.leaf is not None  # the schema has no groups in a node with `over`
        chosen = parse_reference(child.leaf.data).parameters.get(facet)
        about = self._about(child.leaf.data)
        if chosen is not None or about is None:
            return chosen
        pairs = filter(None, map(facet_of, about.tags))
        values = [value for name, value in pairs if name == facet]
        if facet == "language":
            values = values or [*about.languages]
        return values[0] if len(values) == 1 else None
