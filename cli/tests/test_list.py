"""`evalkit list`."""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]


def test_each_plugin_is_one_line_of_aligned_columns(
    invoke: Invoke, plugins: Any, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution(
        'class X:\n    """Watches for long. Always."""',
        {"evalkit.observers": {"long-name": "X"}},
        name="another",
        version="10.11",
    )
    done = invoke("list", "observers")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "observers/faulty     Raises whenever it is told something",
        "observers/long-name  Watches for long",
        "observers/meddler    Tries to change what it is told, and what others are "
        "told",
        "observers/recorder   Writes down all that it is told",
    ]
    assert invoke("list", "observers", "-v").stdout.splitlines()[:2] == [
        "observers/faulty     tiny-plugins  4.5.6  Raises whenever it is told "
        "something",
        "observers/long-name  another       10.11  Watches for long",
    ]


def test_a_search_finds_words_of_name_description_and_distribution(
    invoke: Invoke, plugins: Any, fake_distribution: Callable[..., Any]
) -> None:
    code = 'class X:\n    """Watches for long. Always."""'
    fake_distribution(code, {"evalkit.observers": {"long-name": "X"}}, name="another")
    for words in ("WATCHES long", "another", "long-n"):
        done = invoke("list", "observers", "--search", words)
        assert done.stdout == "observers/long-name  Watches for long\n", words
    found = invoke("list", "--search", "accuracy", "--json").stdout
    assert {each["kind"] for each in json.loads(found)["components"]} == {"metrics"}
    done = invoke("list", "observers", "--search", "watches never")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "none of these plugins has all the words 'watches never'\n"


def test_a_search_that_finds_none_looks_into_the_whole_docstrings(
    invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    code = 'class X:\n    """Watches for long. Always."""'
    fake_distribution(code, {"evalkit.observers": {"long-name": "X"}}, name="another")
    done = invoke("list", "observers", "--search", "watches always")
    assert done.stdout == "observers/long-name  Watches for long\n"
    assert "metrics/ece" in invoke("list", "metrics", "--search", "calibrated").stdout


def test_a_family_of_perturbations_can_be_chosen(
    invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    broken = {"evalkit.perturbations": {"broken": "Absent"}}
    fake_distribution("", broken, name="rude")
    done = invoke("list", "--family", "fairness")
    names = {line.split()[0] for line in done.stdout.splitlines()}
    assert names >= {f"perturbations/{name}" for name in ("dialect", "gender-swap")}
    assert "perturbations/lowercase" not in names
    assert "note: left out: perturbations/broken (rude 1.2.3)" in done.stderr
    needs_a_parameter = invoke("list", "perturbations", "--family", "style").stdout
    assert "perturbations/suffix" in needs_a_parameter
    done = invoke("list", "--family", "nope")
    assert done.stdout == ""
    assert "no installed perturbation is of the family nope; there are" in done.stderr
    assert "fairness" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["metrics", "--family", "style"], "--family chooses perturbations"),
        (["--tag", "x", "--family", "style"], "--language and --tag datasets"),
        (["metrics", "--task", "x"], "--tag choose datasets, and metrics were named"),
    ],
)
def test_choices_that_no_kind_has_are_wrong_usage(
    invoke: Invoke, arguments: list[str], said: str
) -> None:
    done = invoke("list", *arguments)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_kinds_come_in_order_and_hidden_ones_only_when_asked_for(
    invoke: Invoke, plugins: Any
) -> None:
    groups = invoke("list").stdout.split("\n\n")
    kinds = [{line.split("/")[0] for line in group.splitlines()} for group in groups]
    assert [kind for (kind,) in kinds] == [
        "tasks",
        "datasets",
        "metrics",
        "perturbations",
        "observers",
        "adapters",
        "annotators",
        "commands",
        "engines",
        "models",
        "storage",
        "suites",
    ]
    assert "schemas/text.Text " in invoke("list", "--search", "text.Text").stdout
    observers = invoke("list", "observers").stdout.splitlines()
    assert [line.split()[0] for line in observers] == [
        "observers/faulty",
        "observers/meddler",
        "observers/recorder",
    ]


def test_listing_imports_no_plugin(invoke: Invoke, plugins: Any) -> None:
    assert invoke("list").exit_code == 0
    assert plugins.module not in sys.modules


def test_json_gives_all_that_is_known(invoke: Invoke, plugins: Any) -> None:
    report = json.loads(invoke("list", "observers", "--json").stdout)
    component = report["components"][-1]
    assert component == {
        "kind": "observers",
        "name": "recorder",
        "value": f"{plugins.module}:Recorder",
        "distribution": "tiny-plugins",
        "version": "4.5.6",
        "summary": "A distribution made by a test",
        "description": "Writes down all that it is told",
        "id": "observers/recorder",
        "ambiguous": False,
        "local": False,
        "problem": None,
    }
    del report["components"]
    assert report == {"withheld": [], "problems": [], "notices": []}


def test_json_can_be_asked_for_by_an_environment_variable(
    invoke: Invoke, plugins: Any
) -> None:
    done = invoke("list", "observers", EVALKIT_JSON="1")
    assert len(json.loads(done.stdout)["components"]) == 3


def test_broken_metadata_is_a_warning_beside_a_whole_list(
    invoke: Invoke, plugins: Any, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution("", {"evalkit.metrics": {"Bad Name": "x"}}, name="rude")
    done = invoke("list", "metrics")
    assert done.exit_code == 0
    assert "metrics/agreement" in done.stdout
    assert "Bad Name" not in done.stdout
    assert done.stderr.startswith("warning: rude: metrics/Bad Name: not a legal name")
    problems = json.loads(invoke("list", "metrics", "--json").stdout)["problems"]
    assert [problem["distribution"] for problem in problems] == ["rude"]


def test_what_others_wrote_cannot_steer_the_terminal(
    invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    names = {"sly": "M", "\x1b[2J": "M"}
    fake = fake_distribution("", {"evalkit.observers": names}, name="sly")
    [info] = fake.folder.glob("*.dist-info")
    (info / "METADATA").write_text("Name: sly\x1b[31m\nVersion: 1\nSummary: \x07ring\n")
    verbose = "observers/sly  sly\\x1b[31m  1  \\x07ring\n"
    assert invoke("list", "observers", "-v").stdout == verbose
    done = invoke("list", "observers")
    assert done.stdout == "observers/sly  \\x07ring\n"
    assert done.stderr.startswith("warning: sly\\x1b[31m: observers/\\x1b[2J: not a")


def test_an_unknown_name_proposes_those_that_hold_it(
    invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    names = {"keyboard-typos": "P", "typo-x": "P"}
    fake_distribution("", {"evalkit.perturbations": names}, name="typos")
    done = invoke("perturb", "tiny", "--perturbation", "typos")
    assert "did you mean typo-x or helm-typos or keyboard-typos?" in done.stderr


def test_an_empty_kind_says_so_on_stderr(invoke: Invoke) -> None:
    done = invoke("list", "observers")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "none of this kind is installed\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("list", "metrc"), "Did you mean 'metrics'?"), (("list", "--timeout", "0"), "0")],
)
def test_wrong_usage_exits_2(
    invoke: Invoke, arguments: tuple[str, ...], said: str
) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_a_narrow_terminal_cuts_only_the_description(
    plugins: Any, run_on_terminal: Callable[..., tuple[int, str]]
) -> None:
    code, shown = run_on_terminal("list", "observers", "-v", columns=55)
    assert code == 0
    expected = (
        "observers/recorder  tiny-plugins  4.5.6  Writes down all that it is told"
    )
    assert shown.splitlines()[-1] == f"{expected[:54].rstrip()}…"
    for columns in (200, 20):
        _, shown = run_on_terminal("list", "observers", "-v", columns=columns)
        assert shown.splitlines()[-1] == expected


STORE = """
class Half:
    '''Keeps half of it. Often.'''

    def local(self, uri):
        return None
"""


@pytest.mark.slow
def test_stores_are_listed_shown_and_checked_by_the_kind_or_one_of_it(
    invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution(STORE, {"evalkit.storage": {"half": "Half"}}, name="odd-places")
    for word in ("storage", "store"):
        done = invoke("list", word)
        assert "storage/half  Keeps half of it\n" in done.stdout
    assert invoke("list", "Data-Set").stdout == invoke("list", "datasets").stdout
    broken = r"broken  storage/half \(odd-places 1.2.3\): must be a subclass"
    for kind in (["storage"], []):
        done = invoke("list", *kind, "--check", "--search", "odd-places")
        assert done.exit_code == 1
        assert re.match(broken, done.stdout)
    card = invoke("show", "storage/s3")
    assert card.stdout.startswith("storage/s3\n\nObjects in buckets of S3")
    shown = invoke("show", "storage/half")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "must be a subclass of evalkit.places.Place" in shown.stderr
    assert (
        "installed: az, gs, half, hf, s3, ssh" in invoke("show", "storage/none").stderr
    )
    hint = "Did you mean storage/s3?"
    assert invoke("show", "store/s3").stderr.endswith(f"{hint}\n")
