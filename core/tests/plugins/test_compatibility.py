from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.version import Version

from evalkit.plugins.metadata import (
    CoreCheck,
    Verdict,
    _admits_plainly,
    required_distribution,
)

numbers = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(
    lambda parts: ".".join(map(str, parts))
)
operators = st.sampled_from([">=", "<=", "==", "!=", "<", ">"])
clauses = st.tuples(operators, st.sampled_from(["", " "]), numbers).map("".join)
ranges = st.lists(clauses, max_size=3).flatmap(
    lambda found: st.sampled_from([",", ", ", " ,"]).map(
        lambda comma: comma.join(found)
    )
)
prefixes = st.sampled_from(["", " ", "[fast]", "[fast,s3] "])


def verdicts(running: str, *requires: str) -> list[Verdict]:
    return list(CoreCheck(running).verdicts(requires))


@given(numbers, prefixes, ranges)
@example("1.0", "", "==1")
@example("0.0", "", ">0")
def test_plain_ranges_are_judged_as_packaging_does(
    running: str, prefix: str, plain: str
) -> None:
    text = f"evalkit-core{prefix}{plain}"
    expected = Requirement(text).specifier.contains(Version(running), prereleases=True)
    assert _admits_plainly(text, running) is expected
    assert bool(verdicts(running, text)) is not expected


@pytest.mark.parametrize(
    ("running", "requirement"),
    [
        ("0.1.0", "evalkit-core"),
        ("0.1.0", "evalkit-core ()"),
        ("0.1.0", "evalkit-core (>=0.1,<0.2)"),
        ("0.1.7", "evalkit-core~=0.1"),
        ("0.1.7", "evalkit-core==0.1.*"),
        ("0.2.dev3", "evalkit-core>=0.1"),
        ("0.1.0+local", "evalkit-core==0.1.0"),
        ("0.1.0", "evalkit-core @ file:///somewhere"),
        ("0.1.0", 'evalkit-core>=99; extra == "new"'),
        ("0.1.0", 'evalkit-core>=99; python_version < "3"'),
        ("0.1.0", 'evalkit-core<1; python_version >= "3"'),
        ("0.1.0", "evalkit-core-extras>=99"),
        ("0.1.0", "evalkit-corelib>=99"),
        ("0.1.0", "evalkit-core.x>=99"),
        ("0.1.0", "not-evalkit-core>=99"),
        ("0.1.0", "((("),
        ("not a version", 'evalkit-core>=99; python_version >= "3"'),
    ],
)
def test_what_admits_the_running_core_says_nothing(
    running: str, requirement: str
) -> None:
    assert verdicts(running, requirement) == []


@pytest.mark.parametrize(
    ("running", "requirement"),
    [
        ("0.1.0", "evalkit-core<0.1"),
        ("0.1.0", "Evalkit_Core >= 0.2"),
        ("0.1.0", "EVALKIT.core (>=1)"),
        ("0.1.0", "evalkit--core>=1"),
        ("0.2.0", "evalkit-core~=0.1.0"),
        ("0.2.0rc1", "evalkit-core<0.2"),
        ("0.2.0", "evalkit-core==0.1.*"),
        ("0.1.0", 'evalkit-core>=1; python_version >= "3"'),
        ("0.1.0", 'evalkit-core>=1; extra != "old"'),
    ],
)
def test_what_excludes_it_says_range_version_and_what_to_do(
    running: str, requirement: str
) -> None:
    message = (
        f"it requires {requirement!r}, but evalkit-core {running} is running; upgrade "
        "the plugin or evalkit-core, whichever is older"
    )
    assert verdicts(running, requirement) == [Verdict(True, message)]


@pytest.mark.parametrize(
    "requirement",
    [
        "evalkit-core >=",
        "evalkit-core>=0.1,<",
        "evalkit-core 0.1",
        "evalkit-core>=one",
        "evalkit-core>=0.1; nonsense",
        'evalkit-core>=0.1; colour == "red"',
        "evalkit-core;" + "(" * 50_000,
        "evalkit-core>=" + "9" * 50_000 + ";",
    ],
    ids=lambda text: text[:24],
)
def test_one_that_cannot_be_read_is_reported_short_and_excludes_nothing(
    requirement: str,
) -> None:
    [verdict] = verdicts("0.1.0", requirement)
    assert not verdict.excludes
    assert verdict.message.startswith(f"its requirement '{requirement[:80]}")
    assert " cannot be read: " in verdict.message
    assert "\n" not in verdict.message
    assert len(verdict.message) < 400


def test_each_requirement_counts() -> None:
    requires = ("polars>=99", "evalkit-core>=0.1", "numpy", "evalkit-core<0.1")
    [verdict] = verdicts("0.1.0", *requires)
    assert verdict.excludes
    assert "'evalkit-core<0.1'" in verdict.message


def test_without_a_known_version_nothing_is_excluded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [])
    check = CoreCheck()
    assert check.running is None
    assert list(check.verdicts(["evalkit-core>=99"])) == []


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("evalkit-core<0.2,>=0.1", "evalkit-core"),
        ("Some_Dist.x [extra] ; python_version < '3'", "some-dist-x"),
        ("a@ https://b", "a"),
        ("a(>1)", "a"),
        ("(a)", ""),
        ("", ""),
    ],
)
def test_a_requirement_is_about_the_distribution_it_begins_with(
    requirement: str, name: str
) -> None:
    assert required_distribution(requirement) == name
