"""Checks that the components of a distribution are found, load, and disturb nobody."""

from __future__ import annotations

import doctest
import importlib.metadata
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

from packaging.utils import canonicalize_name

from evalkit import PluginError, Registry, UnknownPluginError
from evalkit.catalog import Catalog, Component, import_component
from evalkit_testing.commands import SECONDS
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    check_laws,
    chosen_laws,
    told_alone,
)

_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def wrong_examples(component: Component) -> Iterator[str]:
    """Run what stands behind `>>>` in a component's docstrings, as doctest does."""
    found = import_component(component)
    owner = found if isinstance(found, type) or callable(found) else type(found)
    runner = doctest.DocTestRunner(verbose=False, optionflags=_OPTIONS)
    for test in _documented(owner):
        said = io.StringIO()
        failed = runner.run(test, out=said.write).failed
        if failed:
            yield _first_failure(said.getvalue())


def _documented(owner: Any) -> Iterator[doctest.DocTest]:
    module = sys.modules.get(getattr(owner, "__module__", ""))
    name = getattr(owner, "__qualname__", type(owner).__qualname__)
    finder = doctest.DocTestFinder(exclude_empty=True)
    yield from finder.find(owner, name, module=module)


def _first_failure(report: str) -> str:
    """Return the first of doctest's blocks, without its rule and its file."""
    blocks = [block for block in report.split("*" * 70) if block.strip()]
    _, *lines = blocks[0].strip().splitlines()
    return " ".join(line.strip() for line in lines)


_MODULE = "evalkit_testing.import_survey"


class Survey:
    """What loading components does.

    Attributes:
        usual: Seconds that importing evalkit itself takes.
        components: What loading each of them did, by id.
    """

    def __init__(self) -> None:
        self.usual = 0.0
        self.components: dict[str, Mapping[str, Any]] = {}

    def read(self, lines: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
        """Keep what a process wrote."""
        begun, is_imported = "", False
        for line in lines:
            if "usual" in line:
                self.usual = self.usual or float(line["usual"])
            elif "begun" in line:
                begun, is_imported = line["begun"], False
            elif "imported" in line:
                is_imported = True
            else:
                self.components[line["done"]] = line
                begun = ""
        return begun, is_imported


def survey_components(components: Sequence[Component]) -> Survey:
    """Load components of one distribution, and tell what each of them did.

    Where one ends the process, or changes what the next one needs, another process goes
    on with those that are left.
    """
    survey, left = Survey(), [*components]
    while left:
        lines, ended = _run(left)
        begun, is_imported = survey.read(lines)
        if not lines:
            raise LawBroken(f"importing evalkit for it {ended}")
        for guilty in _guilty(left, begun, is_imported):
            survey.components[guilty.id] = _record(guilty, ended)
        before = len(left)
        left = [each for each in left if each.id not in survey.components]
        if len(left) == before:
            break
    return survey


def _guilty(
    left: Sequence[Component], begun: str, is_imported: bool
) -> Iterator[Component]:
    """Yield what a process was at, and what has the module that it could not import."""
    for at in [each for each in left if each.id == begun]:
        for each in left:
            is_same = _module_of(each) == _module_of(at) and not is_imported
            if each is at or is_same:
                yield each


def _module_of(component: Component) -> str:
    return component.value.partition(":")[0].strip()


def _record(component: Component, ended: str) -> Mapping[str, Any]:
    return {
        "error": f"{component.origin}: loading it {ended}",
        "unsafe": ended.partition(":")[0],
        "events": [],
        "seconds": 0.0,
        "printed": "",
        "changed": [],
        "documented": True,
        "misspelt": [],
    }


def _run(components: Sequence[Component]) -> tuple[list[Mapping[str, Any]], str]:
    """Return what a process wrote of components, and how it ended."""
    names = [components[0].distribution, *(each.id for each in components)]
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.NamedTemporaryFile() as report,
        tempfile.TemporaryFile() as said,
    ):
        distribution, *ids = names
        process = subprocess.Popen(
            [sys.executable, "-B", "-m", _MODULE, distribution, report.name, *ids],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            process_group=0 if os.name == "posix" else None,
        )
        with process:
            code = _wait(process)
        lines = [*_lines(report.read())]
        return lines, _ended(code, said)


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """Return how it ended, and end what it started; None where it took too long."""
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _lines(written: bytes) -> Iterator[Mapping[str, Any]]:
    for line in written.splitlines():
        with suppress(ValueError):  # the last one may be cut off
            yield json.loads(line)


def _ended(code: int | None, said: BinaryIO) -> str:
    if code is None:
        return f"has not ended after {SECONDS} seconds"
    how = f"ended its process with exit code {code}"
    if code < 0:
        names = {each.value: each.name for each in signal.Signals}
        how = f"ended its process with {names.get(-code, f'signal {-code}')}"
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - 400))
    text = said.read().decode("utf-8", "replace").strip()
    return f"{how}: {text}" if text else how


MOST_COST = 6.0
"""How many times what importing evalkit takes, importing all components may take."""


class DistributionLawError(LawError):
    """A distribution breaks a law; `law` is its name, one of `DISTRIBUTION_LAWS`."""


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
