from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalkit.discovery import (
    KINDS,
    Catalog,
    Component,
    DiscoveryProblem,
    find_components,
    iter_kinds,
)
from evalkit.errors import UnknownPluginError
from evalkit.registry import Registry

GROUPS = {
    "evalkit.tasks": {"one": "T"},
    "evalkit.datasets": {"two": "D", "three": "D"},
    "evalkit.metrics": {"four": "M"},
    "evalkit.perturbations": {"five": "P"},
    "evalkit.observers": {"six": "O"},
    "evalkit.models": {"seven": "X"},
    "evalkit": {"eight": "X"},
    "console_scripts": {"nine": "X"},
}


def of(distribution: str, catalog: Catalog | None = None) -> list[Component]:
    found = catalog or find_components()
    return [one for one in found.components if one.distribution == distribution]


def test_components_of_every_kind_are_found_with_what_their_metadata_say(
    fake_distribution: Any,
) -> None:
    fake = fake_distribution("", GROUPS, name="Fake.Many", version="0.1rc1")
    found = of("Fake.Many")
    assert [(one.kind, one.name) for one in found] == [
        ("datasets", "three"),
        ("datasets", "two"),
        ("metrics", "four"),
        ("observers", "six"),
        ("perturbations", "five"),
        ("tasks", "one"),
    ]
    summary = "A distribution made by a test"
    assert found[2] == Component(
        "metrics", "four", f"{fake.module}:M", "Fake.Many", "0.1rc1", summary
    )
    assert found[2].id == "metrics/four"
    assert found[2].origin == "metrics/four (Fake.Many 0.1rc1)"
    assert fake.module not in sys.modules


def test_kinds_are_listed_in_order_and_observers_only_when_asked_for() -> None:
    components = [
        Component(kind, name, "m:X", "d", "1")
        for kind in ("observers", "metrics", "tasks")
        for name in "ab"
    ]
    catalog = Catalog(tuple(components), ())
    listed = [one.id for one in iter_kinds(catalog)]
    assert listed == ["tasks/a", "tasks/b", "metrics/a", "metrics/b"]
    assert [one.id for one in iter_kinds(catalog, "observers")] == [
        "observers/a",
        "observers/b",
    ]
    assert list(iter_kinds(catalog, "datasets")) == []
    assert KINDS == ("tasks", "datasets", "metrics", "perturbations")


def test_one_name_in_two_distributions_is_refused_when_used_naming_both(
    fake_distribution: Any,
) -> None:
    for name in ("zeta-dist", "alpha-dist"):
        code = f"def get_twice(predictions, targets): return {len(name)}"
        entry_points = {"evalkit.metrics": {"twice": "get_twice"}}
        fake_distribution(code, entry_points, name=name)
    registry = Registry()
    with pytest.raises(UnknownPluginError) as caught:
        registry.load("metrics", "twice")
    assert "alpha-dist 1.2.3, zeta-dist 1.2.3. Name one as twice@alpha" in str(
        caught.value
    )
    for name in ("zeta-dist", "alpha-dist"):
        bound = registry.load("metrics", f"twice@{name}")
        assert bound.hooks.compute(predictions=[], targets=[]) == len(name)


def test_of_two_copies_of_one_distribution_the_first_on_the_path_counts(
    fake_distribution: Any,
) -> None:
    fake_distribution("", {"evalkit.metrics": {"old": "M"}}, "Some_Dist", "1")
    fake_distribution("", {"evalkit.metrics": {"new": "M"}}, "some-dist", "2")
    found = find_components()
    assert [(one.name, one.version) for one in of("some-dist", found)] == [("new", "2")]
    assert of("Some_Dist", found) == []


@pytest.mark.parametrize("newer", ["", "[console_scripts]\nx = m:x\n", b"\xff\xfe["])
def test_a_newer_copy_without_usable_plugins_hides_the_older_ones(
    fake_distribution: Any, newer: str | bytes
) -> None:
    fake_distribution("", {"evalkit.metrics": {"old": "M"}}, "some-dist", "1")
    fake_distribution("", newer, "some-dist", "2")
    assert of("some-dist") == []


@pytest.mark.parametrize(
    ("entry_points", "cause"),
    [
        (b"[evalkit.metrics]\nx = m:\xff\n", "UnicodeDecodeError"),
        ("[evalkit.metrics]\nno equals sign\n", "Error"),
    ],
)
def test_broken_metadata_are_a_problem_and_hide_no_other_distribution(
    fake_distribution: Any, entry_points: str | bytes, cause: str
) -> None:
    fake_distribution("", {"evalkit.metrics": {"sound": "M"}}, "before-dist")
    broken = fake_distribution("", entry_points, "broken-dist", "9")
    fake_distribution("", {"evalkit.metrics": {"sound": "M"}}, "after-dist")
    found = find_components()
    assert of("before-dist", found)
    assert of("after-dist", found)
    (problem,) = [p for p in found.problems if "broken" in p.distribution]
    folder = broken.folder / "broken_dist-9.dist-info"
    assert problem.distribution == str(folder)
    assert problem.message.startswith("its metadata cannot be read: ")
    assert cause in problem.message


@pytest.mark.parametrize(
    "name", ["Upper", "under_score", "double--dash", "dot.ted", "a" * 63, "é"]
)
def test_an_illegal_name_is_a_problem_and_hides_no_other(
    fake_distribution: Any, name: str
) -> None:
    fake_distribution("", {"evalkit.metrics": {name: "M", "legal": "M"}}, "odd-dist")
    found = find_components()
    assert [one.name for one in of("odd-dist", found)] == ["legal"]
    assert DiscoveryProblem(
        "odd-dist",
        f"metrics/{name}: not a legal name (lower-case letters, digits and single "
        "dashes, at most 62 characters)",
    ) in list(found.problems)


def _install(folder: Path, info: str, files: dict[str, str]) -> None:
    (folder / info).mkdir(parents=True)
    for name, text in files.items():
        (folder / info / name).write_text(text, encoding="utf-8")


ENTRY_POINTS = {"entry_points.txt": "[evalkit.metrics]\nm = mod:M\n"}


def test_the_older_kind_of_metadata_is_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "Metadata-Version: 1.2\nName: Old-Style\nVersion: 4\n\nName: not this\n"
    _install(tmp_path, "Old_Style.egg-info", {**ENTRY_POINTS, "PKG-INFO": header})
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = of("Old-Style")
    assert (found.version, found.summary) == ("4", "")


@pytest.mark.parametrize("info", ["no_head.egg-info", "no_head-3.dist-info"])
def test_a_distribution_without_header_is_known_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, info: str
) -> None:
    _install(tmp_path, info, ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = of("no-head")
    assert found.origin == "metrics/m (no-head unknown)"


def test_only_the_first_value_of_a_header_line_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "NAME:  many \nVersion: 1\nSummary: of a: b\nodd line\nVersion: 2\n"
    _install(tmp_path, "many-1.dist-info", {**ENTRY_POINTS, "METADATA": header})
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = of("many")
    assert (found.version, found.summary) == ("1", "of a: b")


def test_looking_imports_no_plugin_and_nothing_heavy(fake_distribution: Any) -> None:
    for number in range(20):
        code = "raise SystemExit('imported')"
        fake_distribution(code, {"evalkit.metrics": {f"hostile-{number}": "M"}})
    heavy = ["pydantic", "polars", "pyarrow", "numpy", "pluggy", "click"]
    code = (
        "import sys;"
        "from evalkit.discovery import find_components, iter_kinds;"
        "names = [c.name for c in iter_kinds(find_components())];"
        "print(sum(name.startswith('hostile-') for name in names));"
        f"print(sorted(set({heavy}) & set(sys.modules)));"
        "print([m for m in sys.modules if m.startswith('fake_')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "20\n[]\n[]\n"


def test_a_group_that_is_nearly_one_of_ours_is_reported(
    fake_distribution: Any,
) -> None:
    fake_distribution(
        "", {"evalkit.metric": {"x": "X"}, "evalkit.somethingelse": {"y": "Y"}}
    )
    messages = [problem.message for problem in find_components().problems]
    assert messages == [
        "there is no group evalkit.metric; did you mean evalkit.metrics?"
    ]
