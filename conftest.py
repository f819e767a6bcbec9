"""Fixtures for the tests of all distributions."""

from __future__ import annotations

import functools
import gc
import importlib.metadata
import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import Distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from click.testing import CliRunner, Result

from evalkit import find_components
from evalkit.base import failures
from evalkit.catalog import Catalog
from evalkit.plugins import discovery, local_plugins
from evalkit.plugins.components import Component
from evalkit_cli.main import cli

# `make test` draws the same examples on every machine, so that no newcomer meets a
# failure by chance; `make test-slow` draws new ones, and prints its seed.
# no deadlines: the time of one example says nothing on a machine that others use too
hypothesis.settings.register_profile(
    "fixed", deadline=None, max_examples=15, derandomize=True
)
hypothesis.settings.register_profile(
    "drawn", deadline=None, max_examples=30, derandomize=False, print_blob=True
)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=500)
hypothesis.settings.load_profile("fixed")

# pytest-xdist tells its workers of the terminal, and tables would be cut to it
os.environ.pop("COLUMNS", None)

DATA_VARIABLE = "EVALKIT_TEST_DATA"
ORACLES_VARIABLE = "EVALKIT_TEST_ORACLES"
CASES_VARIABLE = "EVALKIT_TEST_CASES"


def _external_folder(variable: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set")
    path = Path(folder)
    assert path.is_dir(), f"{variable} is set to {folder}, which is no folder"
    return path


@pytest.fixture
def external_data() -> Path:
    """Give the folder of real data sets; skips the test where there is none."""
    return _external_folder(DATA_VARIABLE)


@pytest.fixture
def oracles() -> Path:
    """Give the folder of other systems' results; skips the test where there is none."""
    return _external_folder(ORACLES_VARIABLE)


@pytest.fixture
def cases() -> Path:
    """Return the folder of small inputs; skips the test where there is none."""
    return _external_folder(CASES_VARIABLE)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes that nobody can read after their parameter.

    Those of a compressed file may hold the time, and the processes that share the tests
    would not agree on their names.
    """
    is_binary = isinstance(val, bytes) and not (val.isascii() and val.isalnum())
    return argname if is_binary else None


def pytest_evalkit_options(kind: str, name: str) -> Mapping[str, Any] | None:
    """Give `pytest --evalkit-conformance` what our own plugins need."""
    # pytest may have been started elsewhere, and without the setting `pythonpath`
    references = str(Path(__file__).with_name("tests") / "references")
    if references not in sys.path:
        sys.path.append(references)
    from metric_options import OPTIONS

    return OPTIONS.get(name) if kind == "metrics" else None


def pytest_collection_finish() -> None:
    """Take what was collected, which stays, from what is searched for garbage."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say, as the last line, how many known-result tests did not run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    # from the reports, as workers of their own may have run the tests
    variables = (DATA_VARIABLE, ORACLES_VARIABLE, CASES_VARIABLE)
    reasons = [f"{name} is not set" for name in variables]
    skipped = {
        report.nodeid
        for report in reporter.stats.get("skipped", ())
        if any(reason in str(report.longrepr) for reason in reasons)
    }
    count = len(skipped)
    reason = f" ({' or '.join(variables)} is not set)" if count else ""
    reporter.write_line(f"known-result tests that did not run: {count}{reason}")


class FakeDistribution:
    """A distribution that exists only as files in a temporary folder.

    Attributes:
        folder: The folder to put on the path.
        module: The name of its one module, unique to this distribution.
    """

    def __init__(self, folder: Path, name: str, version: str) -> None:
        self.folder = folder
        self.name = name
        self.version = version
        self.module = f"fake_{uuid.uuid4().hex}"

    def write(self, code: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
        """Write module and metadata.

        Args:
            code: Source of the module.
            entry_points: Name to object, by group; an object without a colon is an
                attribute of the module.
        """
        lines = []
        for group, names in entry_points.items():
            lines.append(f"[{group}]")
            for name, target in names.items():
                value = target if ":" in target else f"{self.module}:{target}"
                lines.append(f"{name} = {value}")
        self.write_raw(code, "\n".join(lines) + "\n")

    def write_raw(self, code: str, entry_points: str | bytes) -> None:
        """Write the module, and `entry_points.txt` as it is given."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{self.module}.py").write_text(
            textwrap.dedent(code), encoding="utf-8"
        )
        info = self.folder / f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n"
            f"Summary: A distribution made by a test\n",
            encoding="utf-8",
        )
        raw = entry_points.encode() if isinstance(entry_points, str) else entry_points
        (info / "entry_points.txt").write_bytes(raw)


MakeDistribution = Callable[..., FakeDistribution]


class _Distributions:
    """Those of evalkit that are installed, read once, and those of a test."""

    def __init__(self) -> None:
        self.discover = importlib.metadata.distributions
        self.installed: dict[str, list[Distribution]] = {}
        for place in filter(None, sys.path):
            found = [*self.discover(path=[place])]
            for each in found:
                each.read_text = functools.cache(each.read_text)
            self.installed[place] = [
                each
                for each in found
                if "evalkit" in (each.read_text("entry_points.txt") or "")
            ]
        self.count = sum(map(len, self.installed.values()))

    def find(self) -> Iterable[Distribution]:
        if importlib.metadata.distributions is not self.discover:
            return importlib.metadata.distributions()
        found: list[Distribution] = []
        for place in sys.path:
            found += (
                self.installed[place]
                if place in self.installed
                else self.discover(path=[place])
            )
        return found

    def are_installed(self) -> bool:
        """Whether no test has distributions of its own."""
        is_patched = importlib.metadata.distributions is not self.discover
        return not is_patched and len([*self.find()]) == self.count


@pytest.fixture(autouse=True, scope="session")
def _projects_read_once() -> Iterator[None]:
    """Parse a `pyproject.toml` once for each content, such as that of this project."""
    read = local_plugins._declared_in

    @functools.cache
    def declared(path: Path, content: bytes, *kinds: str) -> list[Component | str]:
        return [*read(path, kinds)]

    def declared_in(path: Path, kinds: list[str]) -> list[Component | str]:
        return declared(path, path.read_bytes(), *kinds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_plugins, "_declared_in", declared_in)
        yield


@pytest.fixture(autouse=True, scope="session")
def _metadata_read_once(_projects_read_once: None) -> Iterator[None]:
    """Read the metadata of what is installed once, not anew for each registry."""
    distributions = _Distributions()
    look_up = importlib.metadata.distribution
    known = functools.cache(look_up)
    catalogs: dict[object, Catalog] = {}
    kinds = discovery.kinds_of_files(find_components())

    def distribution(name: str) -> Distribution:
        return (known if distributions.are_installed() else look_up)(name)

    def find() -> Catalog:
        if not distributions.are_installed():
            return find_components()
        of_evalkit = [item for item in os.environ.items() if "EVALKIT" in item[0]]
        state = repr(local_plugins.local_plugins(kinds)), *sorted(of_evalkit)
        if state not in catalogs:
            catalogs[state] = find_components()
        return catalogs[state]

    metadata = SimpleNamespace(
        distributions=distributions.find, distribution=distribution
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.metadata, "distribution", distribution)
        patch.setattr(discovery, "importlib", SimpleNamespace(metadata=metadata))
        for module in [*sys.modules.values()]:
            named = vars(module).get("find_components")
            if named is find_components and module.__name__ != __name__:
                patch.setattr(module, "find_components", find)
        yield


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_synced() -> Iterator[None]:
    """Wait for no disk in this process: nobody cuts the power of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def _no_lines_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep lines of test files, which move, out of messages that tests compare."""
    rooms = {"core", "cli", "plugins", "tests", "examples", ""}
    between = _WithFakes(failures._BETWEEN | rooms)
    monkeypatch.setattr(failures, "_BETWEEN", between)


class _WithFakes(frozenset[str]):
    """Names of packages, to which those that `fake_distribution` makes belong."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or str(name).startswith("fake_")


@pytest.fixture
def fake_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeDistribution]:
    """Make distributions that are found by this process and by `run_evalkit`.

    Call it as `fake_distribution(code, {"evalkit.metrics": {"name": "object"}})`.
    """
    made: list[FakeDistribution] = []

    def make(
        code: str,
        entry_points: Mapping[str, Mapping[str, str]] | str | bytes,
        name: str | None = None,
        version: str = "1.2.3",
    ) -> FakeDistribution:
        # pytest gives the folder of a test that passed to the next: caches know it
        folder = tmp_path / "distributions" / uuid.uuid4().hex
        fake = FakeDistribution(folder, name or f"fake-{len(made)}", version)
        if isinstance(entry_points, str | bytes):
            fake.write_raw(code, entry_points)
        else:
            fake.write(code, entry_points)
        made.append(fake)
        monkeypatch.syspath_prepend(str(folder))
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        return fake

    yield make
    for fake in made:
        sys.modules.pop(fake.module, None)


@pytest.fixture
def clean_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stay in a temporary folder, offline, without the user's settings."""
    for name in list(os.environ):
        if name.startswith("EVALKIT_") and not name.startswith("EVALKIT_TEST"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def invoke() -> Callable[..., Result]:
    """Run a command in this process."""

    def run(*arguments: str | Path, **variables: str) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments)], env=variables)

    return run


@pytest.fixture
def run_evalkit(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the real console script, in a temporary folder."""

    def run(
        *arguments: str, cwd: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        script = Path(sys.executable).with_name("evalkit")
        return subprocess.run(
            [str(script), *arguments],
            cwd=cwd or tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            encoding="utf-8",
            timeout=280,
            check=False,
        )

    return run
