"""`pytest --evalkit-conformance`, in processes of its own, and its fixtures."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit_testing
from evalkit import DataError, EvalkitError, StorageError
from evalkit.catalog import Component
from evalkit_testing import conformance
from evalkit_testing.conformance import _check_or_skip
from evalkit_testing.laws import MissingOption

CODE = '''
import evalkit


class Share(evalkit.Metric):
    """The share that is right."""

    bounds = (0, 1)
    higher_is_better = True
    answer_kinds = ("one",)
    worst_value = 0.0

    def score_example(self, prediction, target):
        return float(prediction == target)


class Beyond(Share):
    """Scores beyond the bounds."""

    def score_example(self, prediction, target):
        return 2.0 * (prediction == target)


class Texts(Share):
    """Says that it takes numbers as well, and fails for texts."""

    answer_kinds = ("one", "number")

    def score_example(self, prediction, target):
        return float(prediction + 0 == target + 0)


class Asks(Share):
    """Asks for a column of its own."""

    columns = ("mood",)

    def score_example(self, prediction, target, fields):
        return float(fields["mood"] == "glad")


class Small:
    """Makes small letters."""

    version = "1"

    def adapt_row(self, row):
        if not isinstance(row, dict) or not isinstance(row.get("label"), str):
            raise evalkit.AdapterError("'label' must be a text", field="label")
        yield {**row, "label": row["label"].lower()}


class Counts:
    """Counts what is scored."""

    def after_scoring(self, overall):
        self.count = len(overall)
'''
NAMES = {
    "evalkit.metrics": {
        **{"share": "Share", "beyond": "Beyond", "asks": "Asks", "texts": "Texts"}
    },
    "evalkit.adapters": {"small": "Small"},
    "evalkit.observers": {"counts": "Counts"},
}
ONE = ("--evalkit-examples", "1")
CONFTEST = """
def pytest_evalkit_options(kind, name):
    if name == "small":
        return {"rows": [{"label": "Yes"}], "broken": [3]}
    if name == "asks":
        return {"examples": [("a", "a", {"mood": "glad"})], "perfect": None}
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=280,
    )


@pytest.mark.slow
def test_all_components_are_checked_and_what_is_broken_is_told(
    evalkit_distribution: Callable[..., Any], tmp_path: Path
) -> None:
    evalkit_distribution(CODE, NAMES, name="evalkit-thrown")
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "test_mine.py").write_text("def test_mine(): pass\n")
    first = ["-v", "-k", "values or loading or laws"]
    done = run_pytest(folder, *first, *ONE, "--evalkit-conformance", "evalkit-thrown")
    assert "metrics/share-values PASSED" in done.stdout
    assert "metrics/beyond-values FAILED" in done.stdout
    assert "metrics/beyond (evalkit-thrown) breaks the law 'values'" in done.stdout
    assert "metrics/texts-values FAILED" in done.stdout
    assert "outside of the bounds 0 to 1" in done.stdout.replace(".0", "")
    assert "observers/counts-laws PASSED" in done.stdout
    assert "metrics/asks-loading PASSED" in done.stdout
    lines = done.stdout.splitlines()
    told = "metrics/asks (evalkit-thrown) needs the columns mood"
    assert any(line.startswith(told) for line in lines)
    told = "adapters/small (evalkit-thrown 1.2.3): give check_adapter"
    assert any(line.startswith(told) for line in lines)
    assert "2 groups of laws were not checked: conftest.py gives what " in done.stdout
    assert re.search(
        r'\n      return \{"\w+": …\} if name == "(small|asks)"', done.stdout
    )
    assert "test_mine" not in done.stdout
    assert done.returncode == 1

    (folder / "conftest.py").write_text(CONFTEST)
    chosen = ["-v", "-k", "asks-values or small-laws or mine", "test_mine.py"]
    chosen += [*ONE, "--evalkit-conformance", "evalkit-thrown"]
    done = run_pytest(folder, *chosen)
    assert "adapters/small-laws PASSED" in done.stdout
    assert "metrics/asks-values PASSED" in done.stdout
    assert "test_mine.py::test_mine PASSED" in done.stdout
    assert done.returncode == 0


HARMS = """

class Ends(Share):
    '''Ends the process.'''

    def score_example(self, prediction, target):
        __import__("os")._exit(0)


class Edits(Share):
    '''Changes what others use.'''

    def score_example(self, prediction, target):
        evalkit.Metric.bounds = (7, 8)
        evalkit.Metric.extra = 3
        __import__("os").chdir("/")
        __import__("os").environ["EDITED"] = "1"
        return super().score_example(prediction, target)


class Gone(Share):
    '''Cannot be built.'''

    def __init__(self):
        __import__("os")._exit(0)
"""


@pytest.mark.slow
def test_what_harms_the_process_is_told_and_harms_no_other(
    evalkit_distribution: Callable[..., Any], tmp_path: Path
) -> None:
    names = {"1-ends": "Ends", "2-edits": "Edits", "3-gone": "Gone", "4-good": "Share"}
    code = CODE.partition("class Beyond")[0] + HARMS
    evalkit_distribution(code, {"evalkit.metrics": names}, name="evalkit-thrown")
    chosen = ["-v", *ONE, "-k", "values", "--evalkit-conformance", "evalkit-thrown"]
    done = run_pytest(tmp_path, *chosen)
    assert "score_example failed for the example '0' with SystemExit" in done.stdout
    assert "after its laws were checked the current folder is another" in done.stdout
    assert "not tried, as loading it ended its process with exit c" in done.stdout
    assert "4-good-values PASSED" in done.stdout
    assert "3 failed, 1 passed" in done.stdout
    assert done.returncode == 1


MINE = Component("metrics", "mine", "mine:Mine", "evalkit-mine", "1")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"exmples": []}, "gives 'exmples', which is no argument of check_metric"),
        ({"metric": "accuracy"}, "gives 'metric', which is no argument"),
        ({"plugin": "accuracy"}, "plugin='accuracy': it must be 'mine', with param"),
        ({"plugin": "mine@evalkit-other:a=1"}, "it must be 'mine'"),
        ([("a", "a")], "must return a dict or None, returns \\[\\('a'"),
        (True, "must return a dict or None"),
    ],
)
def test_options_that_would_check_something_else_are_refused(
    options: Any, text: str
) -> None:
    check = conformance._checking(MINE, conformance.Group("laws", None), options, 1)
    with pytest.raises(EvalkitError, match=text) as caught:
        check()
    assert "pytest_evalkit_options('metrics', 'mine')" in str(caught.value)


def test_laws_that_an_author_chooses_are_those_of_each_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Any] = []

    def check(metric: str, *, laws: Any = None, max_examples: int = 1) -> None:
        given.append((metric, laws))

    monkeypatch.setattr(evalkit_testing, "check_metric", check, raising=False)
    options = {"plugin": "mine:a=1", "laws": ["values", "tags"]}
    for group in conformance.GROUPS["metrics"][:2]:
        conformance._checking(MINE, group, options, 1)()
    assert given == [
        ("mine@evalkit-mine:a=1", ("values",)),
        ("mine@evalkit-mine:a=1", ("tags",)),
    ]
    last = conformance.GROUPS["metrics"][-1]
    with pytest.raises(pytest.skip.Exception, match="leaves these out"):
        conformance._checking(MINE, last, options, 1)()


@pytest.mark.slow
def test_laws_of_which_nothing_was_tried_are_told_beside_what_passed(
    evalkit_distribution: Callable[..., Any], tmp_path: Path
) -> None:
    evalkit_distribution(CODE, {"evalkit.adapters": {"small": "Small"}}, name="thrown")
    (tmp_path / "conftest.py").write_text(
        "def pytest_evalkit_options(kind, name):\n"
        "    return {'rows': [{'label': 'Yes'}]}\n"
    )
    report = tmp_path / "report.xml"
    done = run_pytest(
        tmp_path, "-q", "--evalkit-conformance", "thrown", f"--junitxml={report}"
    )
    assert "small-laws: the law 'broken' was not tried: give broken=" in done.stdout
    assert "\n1 law was not checked: conftest.py gives what is needed" in done.stdout
    assert "3 passed" in done.stdout
    assert 'name="evalkit-not-tried"' in report.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (MissingOption("give check_metric examples=…"), pytest.skip.Exception),
        (StorageError("offline"), pytest.skip.Exception),
        (DataError("an example must be a pair"), DataError),
        (EvalkitError("laws: 'x' is no law"), EvalkitError),
    ],
)
def test_only_what_an_author_did_not_give_is_skipped(
    error: EvalkitError, raised: type[BaseException]
) -> None:
    def check(**_: Any) -> None:
        raise error

    component = Component("tasks", "mine", "mine:Mine", "mine", "1")
    with pytest.raises(raised, match=re.escape(str(error))):
        _check_or_skip(component, check, {})


@pytest.mark.slow
def test_pytest_without_the_option_imports_nothing_of_evalkit(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n\ndef test_it():\n"
        "    assert 'evalkit_testing.pytest_plugin' in sys.modules\n"
        "    assert not {'evalkit', 'polars', 'pydantic'} & {*sys.modules}\n"
    )
    done = run_pytest(tmp_path, "-q", "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout


def test_a_run_that_is_otherwise_is_shown_whole(
    evalkit_run: Callable[..., Any],
) -> None:
    run = evalkit_run("--version").ok()
    for check in (
        lambda: run.ends_with(3),
        lambda: run.says("no such text"),
        lambda: run.warns("no such text"),
        lambda: run.says_nothing_of("evalkit"),
        lambda: run.json,
    ):
        with pytest.raises(AssertionError, match="evalkit --version") as caught:
            check()
        assert "exit code: 0" in str(caught.value)


@pytest.mark.slow
def test_no_examples_are_no_check(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--evalkit-conformance", "x", "--evalkit-examples", "0")
    assert "--evalkit-examples must be 1 or more" in done.stderr
    assert done.returncode == 4


@pytest.mark.slow
def test_a_distribution_that_is_not_installed_is_an_error(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--evalkit-conformance", "no-such")
    assert "no distribution 'no-such' with components of evalkit is" in done.stdout
    assert done.returncode == 2
