"""Finds the members of a suite: its datasets, their variants and levels of facets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from evalkit import Registry
from evalkit.base.names import score_name
from evalkit.catalog import BoundDataset, Resolver, facet_of, parse_reference
from evalkit.errors import EvalkitError, UnknownPluginError
from evalkit_analysis_suites.runs import RunPool
from evalkit_analysis_suites.schema import Group, Leaf, Node, Normalisation
from evalkit_benchmarks_declared import expand


class Branch(NamedTuple):
    """A member of a suite whose datasets are known."""

    name: str
    leaf: Leaf | None = None
    """The score of a dataset; None for a mean."""
    node: Node | None = None
    """The rules of the mean; None for a dataset."""
    children: tuple[Branch, ...] = ()
    scales: tuple[Normalisation, ...] = ()
    """What its value is normalised by, in this order."""

    def leaves(self) -> Iterator[Branch]:
        """Yield the datasets below it, or itself."""
        if self.leaf is not None:
            yield self
        for child in self.children:
            yield from child.leaves()

    def without(self, datasets: Collection[str]) -> Branch | None:
        """Leave out datasets; None if no dataset stays."""
        if self.leaf is not None:
            return None if self.leaf.data in datasets else self
        found = tuple(filter(None, (each.without(datasets) for each in self.children)))
        return self._replace(children=found) if found else None


class About(NamedTuple):
    """What a dataset says of itself."""

    languages: Sequence[str]
    tags: Sequence[str]
    round_id: int


class Members:
    """The datasets that a suite may name: installed ones, and those with runs.

    Args:
        pool: The runs.
        registry: Where datasets are found.
    """

    def __init__(self, pool: RunPool, registry: Registry) -> None:
        self._pool = pool
        self._registry = registry
        self._bound: dict[str, BoundDataset | None] = {}
        self.notices: list[str] = []

    def resolve(
        self, node: Node, name: str = "", scales: tuple[Normalisation, ...] = ()
    ) -> Branch:
        """Find the members of a node, and of all nodes below it."""
        at_children, at_mean = (), scales
        if node.normalise is not None and node.normalise.at == "children":
            at_children = (node.normalise,)
        elif node.normalise is not None:
            at_mean = (node.normalise, *scales)
        listed = node.of
        if not isinstance(listed, list):
            listed = [*self._tagged(listed.tag)]
        children: list[Branch] = []
        for child in listed:
            if isinstance(child, Group):
                flat = child.flatten or node.flatten
                inner = child.model_copy(update={"flatten": flat})
                children.append(self.resolve(inner, child.name, at_children))
                continue
            leaf = Leaf(data=child) if isinstance(child, str) else child
            found = self._variants(leaf, at_children)
            if len(found) > 1 and not node.over:
                rules = Node(of=[leaf], missing=node.missing)
                found = [Branch(leaf.label, node=rules, children=tuple(found))]
            children += found
        levels = self._levels(children, node, node.over)
        return Branch(name, None, node, levels, at_mean)

    def about(self, dataset: str) -> About | None:
        """Return what a dataset says of itself; None if nothing knows it."""
        record = self._pool.record(dataset)
        found = self._load(dataset) if record is None else record.data
        return found and About(found.languages, found.tags, found.round_id)

    def _load(self, reference: str) -> BoundDataset | None:
        """Load an installed dataset; None if it is not installed."""
        if reference not in self._bound:
            self._bound[reference] = None
            try:
                self._bound[reference] = Resolver(self._registry).dataset(reference)
            except UnknownPluginError:
                pass
            except EvalkitError as error:
                self.notices.append(str(error))
        return self._bound[reference]

    def _tagged(self, tag: str) -> Iterator[str]:
        """Yield the datasets that declare a tag, those with runs first."""
        installed = [
            name
            for component in self._registry.catalog.of_kind("datasets")
            for name in expand(component.name, self._registry).evaluated
        ]
        loaded = (self._load(name) for name in installed)
        names = [*self._pool.datasets, *(bound.name for bound in loaded if bound)]
        for name in dict.fromkeys(names):
            about = self.about(name)
            if about is not None and tag in about.tags:
                yield name

    def _variants(self, leaf: Leaf, scales: tuple[Normalisation, ...]) -> list[Branch]:
        """Return a branch for each variant that the reference leaves open."""
        leaves = [
            leaf.model_copy(update={"data": name, "extract": extract})
            for name, extract in self._names(leaf)
        ]
        if len(leaves) == 1:
            return [Branch(leaf.label, leaves[0], scales=scales)]
        return [
            Branch(each.data, each.model_copy(update={"name": None}), scales=scales)
            for each in leaves
        ]

    def _names(self, leaf: Leaf) -> Iterator[tuple[str, str | None]]:
        """Yield the datasets of a reference, and the extractor that is left to check."""
        added = {} if leaf.extract is None else {"extract": leaf.extract}
        found = False
        for text in expand(leaf.data, self._registry).evaluated:
            with_extract = f"{text}{',' if ':' in text else ':'}extract={leaf.extract}"
            for reference, rest in ((with_extract, None), (text, leaf.extract)):
                if leaf.extract is None and rest is None and reference != text:
                    continue
                if (bound := self._load(reference)) is not None:
                    found = True
                    yield bound.name, rest
                    break
        if found:
            return
        own = parse_reference(leaf.data)
        wanted = {**own.parameters, **added}
        others = []
        for name in self._pool.datasets:
            other = parse_reference(name)
            if other.name == own.name and wanted.items() <= other.parameters.items():
                others.append((len(other.parameters) > len(wanted), name))
        exact = [name for is_open, name in others if not is_open]
        names = exact or [name for _, name in others]
        if not names:
            yield score_name(own.name, own.parameters), leaf.extract
        for name in names:
            yield name, None

    def _levels(
        self, children: Sequence[Branch], node: Node, facets: Sequence[str]
    ) -> tuple[Branch, ...]:
        """Make a level of means for each facet."""
        if not facets:
            return tuple(children)
        levels: dict[str, list[Branch]] = {}
        found: list[Branch | str] = []
        for child in children:
            value = self._value(child, facets[0])
            if value is None:
                found.append(child)
            elif value not in levels:
                levels[value] = [child]
                found.append(value)
            else:
                levels[value].append(child)
        rules = node.model_copy(update={"normalise": None})
        return tuple(
            Branch(
                each,
                node=rules,
                children=self._levels(levels[each], node, facets[1:]),
            )
            if isinstance(each, str)
            else each
            for each in found
        )

    def _value(self, child: Branch, facet: str) -> str | None:
        """Return the value that a dataset has of a facet; None for none or several."""
        assert child.leaf is not None  # the schema has no groups in a node with `over`
        chosen = parse_reference(child.leaf.data).parameters.get(facet)
        if chosen is not None:
            return str(chosen)
        about = self.about(child.leaf.data)
        if about is None:
            return None
        pairs = filter(None, map(facet_of, about.tags))
        values = [value for name, value in pairs if name == facet]
        if facet == "language":
            values = values or [*about.languages]
        return values[0] if len(values) == 1 else None
