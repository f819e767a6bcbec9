from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalkit.base.names import parse_reference
from evalkit.errors import UnknownPluginError
from evalkit.plugins.components import Component, value_problem
from evalkit.plugins.discovery import (
    Catalog,
    DiscoveryProblem,
    find_components,
    iter_kinds,
)
from evalkit.plugins.registry import Registry
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
        assert len(name) == bound.call(
            "compute", predictions=[], targets=[], fields={}, context=None
        )


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
    ("entry_points", "message"),
    [
        (
            b"[evalkit.metrics]\nx = m:\xff\n",
            "its entry_points.txt cannot be read: UnicodeDecodeError: 'utf-8' codec "
            "can't decode byte 0xff in position 24: invalid start byte",
        ),
        (
            "[evalkit.metrics]\nno equals sign\n",
            "its entry_points.txt is malformed, so none of its plugins is known: line "
            "2, 'no equals sign', is not of the form name = object",
        ),
        (
            "[evalkit.metrics\nx = m:f\nmore\n",
            "its entry_points.txt is malformed, so none of its plugins is known: line "
            "1, '[evalkit.metrics', is not of the form name = object",
        ),
        (
            "[evalkit.metrics]\n= m:f\na\nb\n",
            "its entry_points.txt is malformed, so none of its plugins is known: line "
            "2, '= m:f', is not of the form name = object",
        ),
    ],
    ids=["latin", "no-equals", "no-bracket", "several"],
)
def test_broken_entry_points_are_a_problem_and_hide_no_other_distribution(
    fake_distribution: Any, entry_points: str | bytes, message: str
) -> None:
    fake_distribution("", {"evalkit.metrics": {"sound": "M"}}, "before-dist")
    broken = fake_distribution("", entry_points, "broken-dist", "9")
    fake_distribution("", {"evalkit.metrics": {"sound": "M"}}, "after-dist")
    found = find_components()
    assert of("before-dist", found)
    assert of("after-dist", found)
    assert of("broken-dist", found) == []
    folder = str(broken.folder / "broken_dist-9.dist-info")
    assert found.problems == (DiscoveryProblem("broken-dist", message, folder),)
    assert found.problems[0].text == f"broken-dist: {message} ({folder})"


@pytest.mark.parametrize(
    "name", ["Upper", "under_score", "double--dash", "dot.ted", "a" * 63, "é"]
)
def test_an_illegal_name_is_a_problem_and_hides_no_other(
    fake_distribution: Any, name: str
) -> None:
    entry_points = {"evalkit.metrics": {name: "M", "legal": "M"}}
    odd = fake_distribution("", entry_points, "odd-dist")
    found = find_components()
    assert [one.name for one in of("odd-dist", found)] == ["legal"]
    rule = (
        "not a legal name (lower-case letters, digits and single dashes, at most 62 "
        "characters)"
    )
    folder = str(odd.folder / "odd_dist-1.2.3.dist-info")
    problem = DiscoveryProblem("odd-dist", f"metrics/{name}: {rule}", folder)
    assert found.problems == (problem,)
    assert [(one.name, one.problem) for one in found.withheld] == [(name, rule)]


def test_a_name_as_long_as_a_book_is_shown_short(fake_distribution: Any) -> None:
    fake_distribution("", {"evalkit.metrics": {"a" * 100_000: "M"}}, "odd-dist")
    [problem] = find_components().problems
    assert problem.message.startswith(f"metrics/'{'a' * 80}…': not a legal name")


@pytest.mark.parametrize(
    "value", ["a b c", "", "pkg:", "1x:y", "pkg:mod:obj", ":Object", "a..b:c", "p:q-r"]
)
def test_an_object_that_cannot_be_imported_is_a_problem_of_what_is_listed(
    fake_distribution: Any, value: str
) -> None:
    lines = f"[evalkit.metrics]\nodd = {value}\nsound = m:M\n"
    fake_distribution("", lines, "odd-dist")
    found = find_components()
    problem = f"its entry point {value!r} is not of the form package.module:object"
    assert [(one.name, one.problem) for one in of("odd-dist", found)] == [
        ("odd", problem),
        ("sound", ""),
    ]
    assert [one.message for one in found.problems] == [f"metrics/odd: {problem}"]


@pytest.mark.parametrize(
    "value", ["m", "p.m:C", "p.m : C.x", "p_1.m:C [extra]", "p.m [a,b]", "é.m:C"]
)
def test_every_form_of_an_object_is_known(value: str) -> None:
    assert value_problem(value) == ""


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
    assert found.ambiguous_ids() == set()


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
    catalog = find_components()
    (found,) = of("no-head", catalog)
    assert found.origin == "metrics/m (no-head unknown)"
    assert catalog.problems == (
        DiscoveryProblem("no-head", "it has no METADATA", str(tmp_path / info)),
    )


def test_only_the_first_value_of_a_header_line_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "NAME:  many \nVersion: 1\nSummary: of a: b\nodd line\nVersion: 2\n"
    _install(tmp_path, "many-1.dist-info", {**ENTRY_POINTS, "METADATA": header})
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = of("many")
    assert (found.version, found.summary) == ("1", "of a: b")


@pytest.mark.parametrize(
    ("header", "origin", "message"),
    [
        (b"Version: 3\n", "known-by 3", "its METADATA has no Name"),
        (b"Name: Known.By\n", "Known.By unknown", "its METADATA has no Version"),
        (b"\n\nName: x", "known-by unknown", "its METADATA has no Name and no Version"),
        (
            b"Name: known-by\nVersion: 1\nAuthor: \xe9\n",
            "known-by unknown",
            "its METADATA cannot be read: UnicodeDecodeError: 'utf-8' codec can't "
            "decode byte 0xe9 in position 34: invalid continuation byte",
        ),
    ],
)
def test_broken_metadata_are_a_problem_and_hide_no_plugin(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    header: bytes,
    origin: str,
    message: str,
) -> None:
    _install(tmp_path, "known_by-3.dist-info", ENTRY_POINTS)
    (tmp_path / "known_by-3.dist-info" / "METADATA").write_bytes(header)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = find_components()
    mine = [one for one in found.components if one.value == "mod:M"]
    assert [one.origin for one in mine] == [f"metrics/m ({origin})"]
    assert [one.message for one in found.problems] == [message]
    assert found.problems[0].folder == str(tmp_path / "known_by-3.dist-info")


class TestFolders:
    """Things called `*.dist-info` that are not what they should be."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.syspath_prepend(str(tmp_path))
        return tmp_path

    def only_problem(self) -> tuple[str, str]:
        found = find_components()
        assert "metrics/accuracy" in {one.id for one in found.components}
        [problem] = found.problems
        return problem.distribution, problem.message

    def test_an_empty_one_is_nothing_and_hides_nothing(
        self, folder: Path, fake_distribution: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake_distribution("", {"evalkit.metrics": {"real": "M"}}, "left-behind")
        (folder / "left_behind-1.dist-info").mkdir()
        monkeypatch.syspath_prepend(str(folder))
        found = find_components()
        assert [one.name for one in of("left-behind", found)] == ["real"]
        assert (found.problems, found.notices) == ((), ())

    def test_a_file_is_nothing(self, folder: Path) -> None:
        (folder / "plain-1.dist-info").write_text("Name: plain")
        assert find_components().problems == ()

    @pytest.mark.parametrize(
        "name", ["x-1.dist-info", "y-1.dist-info/entry_points.txt"]
    )
    def test_a_loop_of_links_is_reported(self, folder: Path, name: str) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(folder / name)
        distribution, message = self.only_problem()
        assert distribution == name[0]
        assert message.startswith("its entry_points.txt cannot be read: OSError: ")

    def test_a_file_that_cannot_be_read_is_reported(self, folder: Path) -> None:
        (folder / "x-1.dist-info" / "entry_points.txt").mkdir(parents=True)
        distribution, message = self.only_problem()
        assert distribution == "x"
        assert message.startswith("its entry_points.txt cannot be read: IsADirectory")

    def test_a_link_to_nowhere_is_nothing(self, folder: Path) -> None:
        (folder / "x-1.dist-info").symlink_to(folder / "gone")
        assert find_components().problems == ()

    def test_plugins_in_a_zip_file_are_found(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("one", "two"):
            egg = folder / f"{name}_dist-1-py3.egg"
            with zipfile.ZipFile(egg, "w") as file:
                file.writestr("EGG-INFO/PKG-INFO", f"Name: {name}-dist\nVersion: 1\n")
                lines = f"[evalkit.metrics]\n{name} = m:M\n"
                file.writestr("EGG-INFO/entry_points.txt", lines)
            monkeypatch.syspath_prepend(str(egg))
        found = find_components()
        assert [one.id for one in of("one-dist", found)] == ["metrics/one"]
        assert [one.id for one in of("two-dist", found)] == ["metrics/two"]
        assert found.problems == ()


class TestCopies:
    ENTRY_POINTS = {"evalkit.metrics": {"m": "M"}}

    def test_an_older_copy_behind_a_newer_one_is_worth_a_notice(
        self, fake_distribution: Any
    ) -> None:
        old = fake_distribution("", self.ENTRY_POINTS, "Some_Dist", "1")
        new = fake_distribution("", {}, "some-dist", "2")
        found = find_components()
        message = (
            "version 1 is not used, because version 2 comes first on the path, in "
            f"{new.folder / 'some_dist-2.dist-info'}"
        )
        hidden = str(old.folder / "Some_Dist-1.dist-info")
        assert found.notices == (DiscoveryProblem("some-dist", message, hidden),)
        assert found.problems == ()

    def test_a_copy_of_the_same_version_is_not(self, fake_distribution: Any) -> None:
        fake_distribution("", self.ENTRY_POINTS, "some-dist", "1")
        fake_distribution("", self.ENTRY_POINTS, "some-dist", "1")
        found = find_components()
        assert len(of("some-dist", found)) == 1
        assert (found.notices, found.problems) == ((), ())

    def test_a_copy_without_plugins_is_not(self, fake_distribution: Any) -> None:
        fake_distribution("", {}, "some-dist", "1")
        fake_distribution("", self.ENTRY_POINTS, "some-dist", "2")
        assert find_components().notices == ()

    @pytest.mark.parametrize("hidden", [b"\xff", b"[evalkit.metrics]\na b\n"])
    def test_a_broken_copy_that_is_hidden_harms_nothing(
        self, fake_distribution: Any, hidden: bytes
    ) -> None:
        fake_distribution("", hidden, "some-dist", "1")
        fake_distribution("", self.ENTRY_POINTS, "some-dist", "2")
        assert find_components().problems == ()


class TestPermission:
    def test_a_disabled_plugin_is_withheld_with_the_reason(
        self, fake_distribution: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake_distribution("", {"evalkit.metrics": {"a": "M", "b": "M"}}, "some-dist")
        monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "metrics/a")
        found = find_components()
        assert [one.name for one in of("some-dist", found)] == ["b"]
        assert [(one.name, one.problem) for one in found.withheld] == [
            ("a", "it is disabled by EVALKIT_DISABLE_PLUGINS")
        ]
        assert found.problems == ()

    def test_what_is_wrong_with_a_disabled_one_is_not_reported(
        self, fake_distribution: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = {"Bad": "M", "odd": "a b"}
        fake_distribution("", {"evalkit.metrics": names}, "some-dist")
        assert len(find_components().problems) == 2
        monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "Some_Dist")
        assert find_components().problems == ()

    def test_an_entry_that_names_nothing_is_a_problem(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "metrics/acuracy")
        [problem] = find_components().problems
        assert problem == (
            "EVALKIT_DISABLE_PLUGINS",
            "'metrics/acuracy' is neither an installed plugin (KIND/NAME) nor a "
            "distribution that holds one; did you mean metrics/accuracy?",
            "",
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


def test_a_group_that_is_nearly_one_of_ours_is_reported(
    fake_distribution: Any,
) -> None:
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
