import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalkit.base.names import parse_reference
from evalkit.errors import UnknownPluginError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import (
    Catalog,
    DiscoveryProblem,
    find_components,
    iter_kinds,
)
from evalkit.plugins.resolution import find_meant

GROUPS = {
    "evalkit.tasks": {"one": "T"},
    "evalkit.datasets": {"two": "D", "three": "D"},
    "evalkit.metrics": {"four": "M"},
    "evalkit.perturbations": {"five": "P"},
    "evalkit.observers": {"six": "O"},
    "evalkit.judges": {"seven": "X"},
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


def test_plugins_are_listed_by_kind_in_order() -> None:
    components = [
        Component(kind, name, "m:X", "d", "1")
        for kind in ("observers", "metrics", "tasks")
        for name in "ab"
    ]
    catalog = Catalog(tuple(components), ())
    listed = [one.id for one in iter_kinds(catalog)]
    of_all = ["tasks/a", "tasks/b", "metrics/a", "metrics/b"]
    assert listed == [*of_all, "observers/a", "observers/b"]
    assert [one.id for one in iter_kinds(catalog, "observers")] == [
        "observers/a",
        "observers/b",
    ]
    assert list(iter_kinds(catalog, "datasets")) == []


def test_a_name_as_long_as_a_book_is_shown_short(fake_distribution: Any) -> None:
    fake_distribution("", {"evalkit.metrics": {"a" * 100_000: "M"}}, "odd-dist")
    [problem] = find_components().problems
    assert problem.message.startswith("metrics/aaa")
    assert len(problem.message) < 400


def test_a_name_declared_twice_by_one_distribution_is_its_first(
    fake_distribution: Any,
) -> None:
    lines = "[evalkit.metrics]\nx = m:A\nx = m:B\n[evalkit.tasks]\nx = m:C\n"
    fake_distribution("", lines, "twice-dist")
    found = find_components()
    assert [(one.id, one.value) for one in of("twice-dist", found)] == [
        ("metrics/x", "m:A"),
        ("tasks/x", "m:C"),
    ]
    messages = [one.message for one in found.problems]
    assert messages == [
        "metrics/x is declared twice; the first counts, so give the other one another "
        "name"
    ]
    assert found.ambiguous() == {}


def _install(folder: Path, info: str, files: dict[str, str]) -> None:
    (folder / info).mkdir(parents=True)
    for name, text in files.items():
        (folder / info / name).write_text(text, encoding="utf-8")


ENTRY_POINTS = {"entry_points.txt": "[evalkit.metrics]\nm = mod:M\n"}


@pytest.mark.parametrize("info", ["no_head.egg-info", "no_head-3.dist-info"])
def test_a_distribution_without_header_is_known_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, info: str
) -> None:
    _install(tmp_path, info, ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    catalog = find_components()
    (found,) = of("no-head", catalog)
    assert found.origin == "metrics/m (no-head unknown)"
    assert catalog.problems == (
        DiscoveryProblem("no-head", "it has no METADATA", str(tmp_path / info)),
    )


def test_looking_imports_no_plugin_and_nothing_heavy(fake_distribution: Any) -> None:
    for number in range(20):
        code = "raise SystemExit('imported')"
        fake_distribution(code, {"evalkit.metrics": {f"hostile-{number}": "M"}})
    heavy = ["pydantic", "polars", "pyarrow", "numpy", "pluggy", "click", "packaging"]
    code = (
        "import sys;"
        "from evalkit.plugins.discovery import find_components, iter_kinds;"
        "names = [c.name for c in iter_kinds(find_components())];"
        "print(sum(name.startswith('hostile-') for name in names));"
        f"print(sorted(set({heavy}) & set(sys.modules)));"
        "print([m for m in sys.modules if m.startswith('fake_')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "20\n[]\n[]\n"


def test_a_group_that_is_nearly_one_of_ours_is_reported(fake_distribution: Any) -> None:
    near = {
        "evalkit.metric": "evalkit.metrics",
        "evalkit_metrics": "evalkit.metrics",
        "Evalkit.Metrics": "evalkit.metrics",
        "evalkit.dataset": "evalkit.datasets",
        "evalkit_task": "evalkit.tasks",
        "evalkit.observer": "evalkit.observers",
        "evalkit-perturbations": "evalkit.perturbations",
    }
    others = ("evalkit.somethingelse", "evaluate.metrics", "console_scripts")
    names = (*near, *others)
    fake_distribution("", {group: {f"x{n}": "X"} for n, group in enumerate(names)})
    catalog = find_components()
    assert [problem.message for problem in catalog.problems] == [
        f"{meant.removeprefix('evalkit.')}/x{n}: there is no group {group}; did you "
        f"mean {meant}?"
        for n, (group, meant) in enumerate(near.items())
    ]
    with pytest.raises(UnknownPluginError) as caught:
        find_meant(catalog, "metrics", parse_reference("x1"))
    assert str(caught.value) == (
        "metrics/x1 (fake-0 1.2.3): there is no group evalkit_metrics; did you mean "
        "evalkit.metrics?"
    )
