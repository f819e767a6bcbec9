"""What pytest gets of the kit: `--evalkit-conformance`, and fixtures.

Fixtures:
    evalkit_distribution: Installs a distribution for as long as the test lasts.
    evalkit_run: Runs the command line in a folder of its own.

pytest loads this module in every run, so that it imports nothing of evalkit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from evalkit_testing.throw_away import CommandRun, ThrowAway

_PLACE = Path(__file__).with_name("conformance.py")
"""What pytest believes that it collects the laws from."""


class Hooks:
    """What a `conftest.py` may say of the components that are checked."""

    @pytest.hookspec(firstresult=True)
    def pytest_evalkit_options(self, kind: str, name: str) -> Any:
        """Give the arguments with which a component is checked."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a `conftest.py` give options."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the kit."""
    group = parser.getgroup("evalkit", "laws of evalkit's plugins")
    group.addoption(
        "--evalkit-conformance",
        action="append",
        default=[],
        metavar="DISTRIBUTION",
        help="Check the laws of all components of an installed distribution, as in "
        "evalkit-metrics-mine. May be given several times.",
    )
    group.addoption(
        "--evalkit-examples",
        type=int,
        default=3,
        metavar="COUNT",
        help="How many sets of examples are drawn for each law (default: 3).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect the laws, and tests only where some are named."""
    if not config.getoption("--evalkit-conformance"):
        return
    if config.getoption("--evalkit-examples") < 1:
        raise pytest.UsageError("--evalkit-examples must be 1 or more")
    is_named = config.args_source is pytest.Config.ArgsSource.ARGS
    config.args = [*(config.args if is_named else ()), str(_PLACE)]


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Collect the components of the distributions."""
    names = parent.config.getoption("--evalkit-conformance")
    if not names or file_path != _PLACE:
        return None
    from evalkit_testing.conformance import Conformance

    found: pytest.Collector = Conformance.from_parent(
        parent, path=file_path, nodeid="evalkit"
    )
    return found


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what could not be checked, and what it needs."""
    from evalkit_testing.unchecked import MARK, PROPERTY

    lacking = [
        str(report.longrepr[-1]).removeprefix(f"Skipped: {MARK}")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple) and MARK in str(report.longrepr[-1])
    ]
    untried = [
        text
        for report in terminalreporter.stats.get("passed", ())
        for name, text in report.user_properties
        if name == PROPERTY
    ]
    if not lacking and not untried:
        return
    terminalreporter.section("evalkit: not checked")
    for text in dict.fromkeys([*lacking, *untried]):
        terminalreporter.write_line(text)
    found = re.match(r"\w+/([\w-]+).*?\b(\w+)=", [*lacking, *untried][0])
    name, argument = found.groups() if found else ("NAME", "examples")
    count = _counted(len(lacking), len(untried))
    terminalreporter.write_line(
        f"{count} not checked: conftest.py gives what is needed, as\n"
        "  def pytest_evalkit_options(kind, name):\n"
        f'      return {{"{argument}": …}} if name == "{name}" else None'
    )


def _counted(groups: int, laws: int) -> str:
    said = []
    if groups:
        said.append(f"{groups} group{'s' * (groups > 1)} of laws")
    if laws:
        said.append(f"{laws} law{'s' * (laws > 1)}")
    return f"{' and '.join(said)} {'was' if groups + laws == 1 else 'were'}"


@pytest.fixture
def evalkit_distribution(tmp_path: Path) -> Iterator[Callable[..., ThrowAway]]:
    """Install distributions for as long as the test lasts.

    Call it as `evalkit_distribution(code, {"evalkit.metrics": {"name": "Object"}})`,
    with the arguments of `evalkit_testing.throw_away.write_distribution`. They are
    found by this process and by `evalkit_run`.
    """
    from evalkit_testing.throw_away import USUAL_NAME, on_the_path, write_distribution

    with ExitStack() as stack:
        count = 0

        def make(
            code: str, entry_points: Mapping[str, Mapping[str, str]], **more: Any
        ) -> ThrowAway:
            nonlocal count
            count += 1
            folder = tmp_path / "distributions" / str(count)
            if count > 1:  # of two with one name, one would hide the other
                more.setdefault("name", f"{USUAL_NAME}-{count}")
            made = write_distribution(folder, code, entry_points, **more)
            return stack.enter_context(on_the_path(made))

        yield make


@pytest.fixture
def evalkit_run(tmp_path: Path) -> Callable[..., CommandRun]:
    """Run the command line in the test's folder: `evalkit_run("list").ok()`."""
    from functools import partial

    from evalkit_testing.throw_away import run_evalkit

    return partial(run_evalkit, folder=tmp_path)
