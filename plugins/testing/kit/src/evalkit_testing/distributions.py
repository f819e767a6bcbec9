"""Checks that the components of a distribution are found, load, and disturb nobody."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from packaging.utils import canonicalize_name

from evalkit import PluginError, Registry, UnknownPluginError
from evalkit.catalog import Catalog, Component
from evalkit_testing.docstring_examples import wrong_examples
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    check_laws,
    chosen_laws,
    told_alone,
)
from evalkit_testing.surveying import Survey, survey_components

MOST_COST = 6.0
"""How many times what importing evalkit takes, importing all components may take."""


class DistributionLawError(LawError):
    """A distribution breaks a law.

    Attributes:
        law: Name of the law, one of `DISTRIBUTION_LAWS`.
    """


@dataclass
class Surveyed:
    """A distribution, and what loading its components does.

    Attributes:
        distribution: Its name.
        catalog: What is installed.
        components: Its components.
    """

    distribution: str
    catalog: Catalog
    components: tuple[Component, ...]

    @cached_property
    def metadata(self) -> Any:
        """Its metadata."""
        return importlib.metadata.metadata(self.distribution)

    def survey(self) -> Survey:
        """Load the components in processes of their own, once."""
        return self._survey

    @cached_property
    def _survey(self) -> Survey:
        return survey_components(self.components)

    @property
    def usual(self) -> float:
        """Seconds that importing evalkit itself takes."""
        return self.survey().usual

    def loaded(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each component's id, and what loading it did."""
        for component in self.components:
            found = self.survey().components.get(component.id)
            if found is None:
                raise LawBroken(
                    f"a process of its own does not find {component.id}: install the "
                    "distribution, or have PYTHONPATH name its folder"
                )
            yield component.id, found

    def unsafe(self, component: Component) -> str:
        """Tell why a component must not be loaded by this process; "" if it may be."""
        found = self.survey().components.get(component.id)
        return "" if found is None else str(found["unsafe"])

    def of(self, component: Component) -> Surveyed:
        """Return the same with one component alone."""
        one = Surveyed(self.distribution, self.catalog, (component,))
        one.__dict__["_survey"] = self.survey()
        return one


def surveyed(distribution: str, registry: Registry | None = None) -> Surveyed:
    """Find the components of a distribution."""
    wanted = canonicalize_name(distribution)
    catalog = (registry or Registry()).catalog
    listed = [*catalog.components, *catalog.withheld]
    found = [each for each in listed if canonicalize_name(each.distribution) == wanted]
    if not found:
        raise UnknownPluginError(
            f"no distribution {distribution!r} with components of evalkit is "
            "installed; `evalkit list` says which are"
        )
    loadable = tuple(each for each in catalog.components if each in found)
    if not loadable:
        raise PluginError(
            f"{found[0].distribution}: nothing of it can be checked; {found[0].id}: "
            f"{found[0].problem}"
        )
    return Surveyed(found[0].distribution, catalog, loadable)


@told_alone
def check_distribution(
    distribution: str,
    *,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a distribution keeps the laws of `evalkit_testing.DISTRIBUTION_LAWS`.

    Its components are imported, and built with their defaults, in a process of its own.

    Args:
        distribution: Name of an installed distribution.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        DistributionLawError: It breaks a law; the message has the law and the
            component. It is an AssertionError.
        EvalkitError: There is no such law.
        PluginError: All its components are hidden, or have names that are not legal.
        UnknownPluginError: It is not installed, or has no components.
    """
    check_surveyed(surveyed(distribution, registry), laws)


def check_surveyed(found: Surveyed, laws: Collection[str] | None = None) -> None:
    """Check the laws of a distribution that was found."""
    chosen = chosen_laws(DISTRIBUTION_LAWS, laws)
    check_laws(chosen, found, found.distribution, DistributionLawError)


def _check_metadata(found: Surveyed) -> None:
    own = canonicalize_name(found.distribution)
    for problem in (*found.catalog.problems, *found.catalog.notices):
        if canonicalize_name(problem.distribution) == own:
            raise LawBroken(problem.message)
    for hidden in found.catalog.withheld:
        if hidden.distribution == found.distribution:
            raise LawBroken(f"{hidden.id} cannot be checked: {hidden.problem}")
    requires = found.metadata.get_all("Requires-Dist") or ()
    if not any(each.startswith("evalkit") for each in requires):
        raise LawBroken(
            "its metadata do not require evalkit-core: add evalkit-core>=0.1,<0.2 to "
            "its dependencies"
        )


def _check_names(found: Surveyed) -> None:
    for component in found.components:
        for other in found.catalog.components:
            if other.id == component.id and other.distribution != found.distribution:
                raise LawBroken(
                    f"{component.id} is declared by {other.distribution}, too; give it "
                    "another name"
                )


def _check_contract(found: Surveyed) -> None:
    for _, loaded in found.loaded():
        if loaded["error"]:
            raise LawBroken(loaded["error"])


def _check_network(found: Surveyed) -> None:
    _refuse_events(found, "network", "make connections where they are first needed")


def _check_writes(found: Surveyed) -> None:
    _refuse_events(found, "writes", "write where it is first needed")


def _check_processes(found: Surveyed) -> None:
    _refuse_events(found, "processes", "start programs where they are first needed")


def _refuse_events(found: Surveyed, kind: str, mend: str) -> None:
    for name, loaded in found.loaded():
        for each, what in loaded["events"]:
            if each == kind:
                raise LawBroken(f"loading {name} does {what}; {mend}")


def _check_state(found: Surveyed) -> None:
    for name, loaded in found.loaded():
        if loaded["changed"]:
            raise LawBroken(f"after loading {name} {loaded['changed'][0]} is another")


def _check_quiet(found: Surveyed) -> None:
    for name, loaded in found.loaded():
        if loaded["printed"]:
            raise LawBroken(f"loading {name} prints {loaded['printed'][:200]!r}")


def _check_cost(found: Surveyed) -> None:
    costs = {name: loaded["seconds"] for name, loaded in found.loaded()}
    total = sum(costs.values())
    if total > MOST_COST * found.usual:
        worst = max(costs, key=costs.__getitem__)
        raise LawBroken(
            f"loading all takes {total:.2f} s, {total / found.usual:.0f} times what "
            f"importing evalkit takes, most of it for {worst}; import what is heavy in "
            "the functions that need it"
        )


def _check_attributes(found: Surveyed) -> None:
    for name, loaded in found.loaded():
        for written, meant in loaded["misspelt"]:
            raise LawBroken(
                f"{name} has the attribute {written!r}, which means nothing: did you "
                f"mean {meant!r}? If not, begin it with an underscore"
            )


def _check_documented(found: Surveyed) -> None:
    if not found.metadata.get("Summary"):
        raise LawBroken("its metadata have no description: one sentence in [project]")
    if not (found.metadata.get("Description") or "").strip():
        raise LawBroken('it has no README: readme = "README.md" in [project]')
    for name, loaded in found.loaded():
        if not loaded["documented"] and not loaded["error"]:
            raise LawBroken(f"{name} has no docstring, which `evalkit show` would show")


def _check_examples(found: Surveyed) -> None:
    cannot = {name for name, loaded in found.loaded() if loaded["error"]}
    for component in found.components:
        if component.id in cannot:  # which the law `contract` tells
            continue
        wrong = next(wrong_examples(component), None)
        if wrong:
            raise LawBroken(f"the docstring of {component.id}: {wrong}")


def _check_licence(found: Surveyed) -> None:
    classifiers = found.metadata.get_all("Classifier") or ()
    said = [found.metadata.get("License-Expression"), found.metadata.get("License")]
    said += [each for each in classifiers if each.startswith("License ::")]
    if not any(said):
        raise LawBroken('nobody knows its licence: license = "…" in [project]')


DISTRIBUTION_LAWS: tuple[Law[Surveyed], ...] = (
    Law(
        "metadata",
        "its metadata are in order.",
        _check_metadata,
        mend="correct [project] in pyproject.toml.",
    ),
    Law("names", "no other distribution has its components.", _check_names),
    Law(
        "contract",
        "each component loads, and keeps its contract.",
        _check_contract,
        mend="correct what the message names.",
    ),
    Law("network", "loading it asks nobody.", _check_network),
    Law("writes", "loading it writes nothing.", _check_writes),
    Law("processes", "loading it starts no program.", _check_processes),
    Law(
        "state",
        "loading it changes nothing that others use.",
        _check_state,
        mend="change it in a hook, and put it back; have a generator of your own.",
    ),
    Law(
        "quiet",
        "loading it prints nothing.",
        _check_quiet,
        mend="print nothing at import; log in the hooks.",
    ),
    Law("cost", "loading it takes little time.", _check_cost),
    Law("attributes", "no attribute is misspelt.", _check_attributes),
    Law(
        "documented",
        "it says what it and its components are.",
        _check_documented,
        mend="write it, in one sentence.",
    ),
    Law("licence", "it says its licence.", _check_licence),
    Law(
        "examples",
        "the examples in its docstrings give what they say.",
        _check_examples,
        mend="correct the example, or the code; `# doctest: +SKIP` leaves it out.",
    ),
)
"""What holds of every distribution."""
