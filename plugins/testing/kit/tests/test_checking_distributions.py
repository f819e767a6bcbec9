from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evalkit import PluginError, UnknownPluginError
from evalkit_testing import (
    DISTRIBUTION_LAWS,
    DistributionLawError,
    check_distribution,
    distributions,
)
from evalkit_testing.distributions import surveyed
from evalkit_testing.import_survey import is_near

GOOD = '''
import evalkit


class Share(evalkit.Metric):
    """The share that is right."""

    bounds = (0, 1)

    def score_example(self, prediction, target):
        return float(prediction == target)
'''
NAMES = {"evalkit.metrics": {"share": "Share"}}

CONNECTS = """
import socket

try:
    socket.create_connection(("127.0.0.1", 1), 0.1)
except OSError:
    pass
"""
WRITES = "from pathlib import Path\n\nPath('imported.txt').write_text('x')\n"
STARTS = "import subprocess, sys\n\nsubprocess.run([sys.executable, '-c', ''])\n"
SETS = "import os\n\nos.environ['LOADED'] = '1'\n"
SEEDS = "import random\n\nrandom.seed(3)\n"
BURNS = """
import time

began = time.process_time()
while time.process_time() < began + 0.6:
    pass
"""
BUILT = GOOD + (
    "\n    def __init__(self):\n        from pathlib import Path\n\n"
    "        Path('built').mkdir()\n"
)
DOCUMENTED = GOOD.replace(
    "is right.",
    """is right.

    Example:
        >>> evalkit.score("share", ["a", "b"], ["a", "a"])["share"].value
        RIGHT
""",
)

QUICK = ("metadata", "names", "licence", "writes", "attributes", "examples")

BROKEN: list[tuple[str, str, Mapping[str, Any], str]] = [
    ("metadata", GOOD, {"metadata": {"Requires-Dist": None}}, "evalkit-core>=0.1"),
    ("names", GOOD, {"names": {"accuracy": "Share"}}, "evalkit-metrics-classification"),
    ("contract", "Share = 3\n", {}, "does not keep the contract"),
    ("contract", "import no_such_module\n", {}, "no_such_module"),
    ("network", CONNECTS + GOOD, {}, "loading metrics/share does socket."),
    ("writes", WRITES + GOOD, {}, "imported.txt"),
    ("writes", BUILT, {}, "os.mkdir"),
    ("processes", STARTS + GOOD, {}, "subprocess.Popen"),
    ("state", SETS + GOOD, {}, "the environment"),
    ("state", SEEDS + GOOD, {}, "the generator of `random`"),
    (
        "state",
        "import sys\n\nsys.modules['json'] = sys\n" + GOOD,
        {},
        "sys.modules['json']",
    ),
    (
        "state",
        "import warnings\n\nwarnings.simplefilter('error')\n" + GOOD,
        {},
        "filter",
    ),
    (
        "state",
        GOOD + "\n\nevalkit.Metric.bounds = (2, 3)\n",
        {},
        "Metric.bounds is anoth",
    ),
    ("quiet", "import os\n\nos.write(1, b'loud')\n" + GOOD, {}, "prints 'loud'"),
    ("quiet", "print('hello')\n" + GOOD, {}, "prints 'hello"),
    ("cost", BURNS + GOOD, {}, "times what importing evalkit takes"),
    ("attributes", GOOD.replace("bounds", "bound"), {}, "did you mean 'bounds'?"),
    (
        "attributes",
        GOOD.replace("bounds = (0, 1)", "higher_is_beter = True"),
        {},
        "did you mean 'higher_is_better'?",
    ),
    ("documented", GOOD.replace('"""', "#"), {}, "has no docstring"),
    ("documented", GOOD, {"metadata": {"Summary": None}}, "no description"),
    ("licence", GOOD, {"metadata": {"License-Expression": None}}, "license ="),
    ("examples", DOCUMENTED.replace("RIGHT", "0.0"), {}, "Got: 0.5"),
]


def test_each_law_is_broken_by_a_distribution_below() -> None:
    names = [law.name for law in DISTRIBUTION_LAWS]
    assert [*dict.fromkeys(law for law, *_ in BROKEN)] == names


@pytest.mark.parametrize(
    ("law", "code", "options", "text"),
    # those that start a process of their own take half a second each
    [
        pytest.param(
            *each, marks=() if each[0] in QUICK else pytest.mark.slow, id=each[3]
        )
        for each in BROKEN
    ],
)
def test_a_distribution_that_breaks_a_law_is_told_which(
    law: str,
    code: str,
    options: Mapping[str, Any],
    text: str,
    evalkit_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {"evalkit.metrics": options.get("names", {"share": "Share"})}
    metadata = options.get("metadata")
    evalkit_distribution(code, names, name="thrown", metadata=metadata)
    monkeypatch.setattr(distributions, "MOST_COST", 1.0)
    with pytest.raises(DistributionLawError) as caught:
        check_distribution("thrown", laws=[law])
    assert caught.value.law == law
    assert text in str(caught.value)


def test_a_distribution_that_keeps_the_laws_passes(
    evalkit_distribution: Callable[..., Any],
) -> None:
    evalkit_distribution(GOOD, NAMES, name="Thrown.Away")
    check_distribution("thrown_away")


@pytest.mark.slow
def test_an_example_can_be_left_out(evalkit_distribution: Callable[..., Any]) -> None:
    code = DOCUMENTED.replace("].value", "].value  # doctest: +SKIP")
    evalkit_distribution(code, NAMES, name="thrown")
    check_distribution("thrown", laws=["examples"])


def test_what_is_hidden_does_not_pass(
    evalkit_distribution: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    evalkit_distribution(GOOD, NAMES, name="thrown")
    monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "metrics/share")
    with pytest.raises(PluginError, match=r"nothing of it can be .* metrics/share"):
        check_distribution("thrown")
    two = {"evalkit.metrics": {"share": "Share", "other": "Share"}}
    evalkit_distribution(GOOD, two, name="thrown-two")
    monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "metrics/other")
    with pytest.raises(DistributionLawError, match="metrics/other cannot be checked"):
        check_distribution("thrown-two", laws=["metadata"])


def test_what_only_this_process_finds_is_told(
    evalkit_distribution: Callable[..., Any],
) -> None:
    evalkit_distribution(GOOD, NAMES, name="thrown")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", "")
        with pytest.raises(DistributionLawError, match="does not find metrics/share"):
            check_distribution("thrown", laws=["contract"])


def test_one_without_components_is_unknown() -> None:
    with pytest.raises(UnknownPluginError, match="no distribution 'no-such'"):
        check_distribution("no-such")


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("bounds", "bound", True),
        ("bouns", "bounds", True),
        ("boudns", "bounds", True),
        ("bownds", "bounds", True),
        ("bounds", "bounds", False),
        ("unit", "Unit", True),
        ("bnuods", "bounds", False),
        ("key", "keys", False),
        ("worst", "worst_value", False),
    ],
)
def test_names_are_near_by_one_letter(one: str, other: str, near: bool) -> None:
    assert is_near(one, other) is near
    assert is_near(other, one) is near


ENDS = GOOD + (
    '\n\nclass Ends(Share):\n    """Ends the process."""\n\n'
    "    def __init__(self):\n        ACT\n"
)
TWO = {"evalkit.metrics": {"ends": "Ends", "share": "Share"}}


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            "__import__('os')._exit(0)",
            "metrics/ends .* ended its process with exit cod",
        ),
        pytest.param(
            "__import__('os').abort()",
            "metrics/ends .* ended its process with SIGABRT",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "raise KeyboardInterrupt",
            "metrics/ends .* raises KeyboardInterrupt",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "__import__('time').sleep(600)",
            "metrics/ends .* not ended after 5 seconds",
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.slow
def test_what_ends_the_process_is_named_and_the_next_one_is_surveyed(
    act: str,
    text: str,
    evalkit_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distributions, "SECONDS", 5)
    evalkit_distribution(ENDS.replace("ACT", act), TWO, name="thrown")
    with pytest.raises(DistributionLawError, match=text) as caught:
        check_distribution("thrown", laws=["contract"])
    assert "share" not in str(caught.value)
    found = surveyed("thrown")
    assert [each["error"] == "" for _, each in found.loaded()] == [False, True]


@pytest.mark.slow
def test_examples_that_end_the_process_do_not_end_this_one(
    evalkit_distribution: Callable[..., Any],
) -> None:
    code = DOCUMENTED.replace(
        "evalkit.score", "__import__('os')._exit(0), evalkit.score"
    )
    evalkit_distribution(code, NAMES, name="thrown")
    with pytest.raises((DistributionLawError, SystemExit), match=r"os\._exit"):
        check_distribution("thrown", laws=["examples"])


@pytest.mark.slow
def test_what_one_changes_is_not_blamed_on_the_next(
    evalkit_distribution: Callable[..., Any],
) -> None:
    act = "evalkit.Metric.score_example = None"
    evalkit_distribution(ENDS.replace("ACT", act), TWO, name="thrown")
    by_id = dict(surveyed("thrown").loaded())
    assert by_id["metrics/ends"]["changed"] == [
        "evalkit.plugins.classes.Metric.score_example"
    ]
    assert by_id["metrics/share"]["changed"] == []
    assert by_id["metrics/share"]["error"] == ""
