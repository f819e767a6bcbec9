import json
import os
import subprocess
import sys
from importlib.metadata import distributions, entry_points
from pathlib import Path
from typing import NamedTuple

import pytest

HEAVY = {
    "pydantic",
    "polars",
    "pyarrow",
    "numpy",
    "pandas",
    "boto3",
    "rich",
    "pluggy",
    "pooch",
}
KINDS = ("tasks", "datasets", "metrics", "perturbations")
FAKES = 300
FAKE_KINDS = 20
"""How many of the distributions also define a kind, each with a plugin of it."""
COMMANDS = [
    ("--help",),
    ("--version",),
    ("list",),
    ("list", "metrics"),
    ("list", "--json"),
    ("list", "commands"),
    ("eval", "--help"),
    ("show", "--help"),
]

FEW = (("--help",), ("list",))
"""Commands that are tried with many distributions each time."""

# runs the real console script as the interpreter would, then tells what it imported
WRAPPER = """
import contextlib, json, runpy, sys
script, report, *arguments = sys.argv[1:]
sys.argv = [script, *arguments]
try:
    runpy.run_path(script, run_name="__main__")
except SystemExit as done:
    code = done.code
# the process that did the work is the first of two
with contextlib.suppress(FileExistsError), open(report, "x") as file:
    json.dump({"code": code, "modules": sorted(sys.modules)}, file)
"""


class Outcome(NamedTuple):
    output: str
    errors: str
    modules: set[str]


def start(folder: Path, *arguments: str, path: Path | None = None) -> Outcome:
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    script = Path(sys.executable).with_name("evalkit")
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else {**os.environ}
    done = subprocess.run(
        [sys.executable, "-c", WRAPPER, str(script), str(report), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    found = json.loads(report.read_text())
    assert found["code"] in (0, None), done.stderr
    return Outcome(done.stdout, done.stderr, set(found["modules"]))


def plugin_modules() -> set[str]:
    return {
        entry_point.module.partition(".")[0]
        for distribution in distributions()
        for entry_point in distribution.entry_points
        if entry_point.group.startswith("evalkit.")
    } - {"evalkit", "evalkit_cli"}


def fake_name(number: int) -> str:
    return f"stranger-{number}"


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Distributions whose modules leave a file behind when they are imported."""
    folder = tmp_path_factory.mktemp("fakes")
    for number in range(FAKES):
        kind = KINDS[number % len(KINDS)]
        info = folder / f"stranger_{number}-{number}.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: Stranger_{number}\nVersion: {number}.0\n"
            f"Summary: Plugin number {number}\n"
        )
        declared = f"[evalkit.{kind}]\n{fake_name(number)} = stranger_{number}:Plugin\n"
        if number < FAKE_KINDS:
            declared += (
                f"[evalkit.kinds]\nguests-{number} = stranger_{number}:KIND\n"
                f"[evalkit.guests-{number}]\nguest = stranger_{number}:Guest\n"
            )
        (info / "entry_points.txt").write_text(declared)
        (folder / f"stranger_{number}.py").write_text(
            "import pathlib\n"
            "pathlib.Path(__file__).with_suffix('.imported').touch()\n"
            "raise RuntimeError('nobody named this plugin')\n"
        )
    return folder


def test_the_wrapper_sees_what_a_command_imports(tmp_path: Path) -> None:
    outcome = start(tmp_path, "show", "metrics/accuracy")
    assert {"pydantic", "polars", "pluggy"} <= outcome.modules
    assert "evalkit_metrics_classification" in outcome.modules


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_starting_imports_nothing_heavy_and_no_plugin(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    outcome = start(tmp_path, *arguments)
    assert "evalkit_cli.main" in outcome.modules
    assert not HEAVY & outcome.modules
    plugins = plugin_modules()
    assert len(plugins) >= 5
    assert not {each for each in outcome.modules if each.partition(".")[0] in plugins}


@pytest.mark.slow
def test_a_command_of_a_distribution_is_imported_alone(
    tmp_path: Path, fakes: Path
) -> None:
    outcome = start(tmp_path, "cite", "--help", path=fakes)
    assert "evalkit_commands_cite.command" in outcome.modules
    assert not HEAVY & outcome.modules
    others = plugin_modules() - {"evalkit_commands_cite"}
    assert not [m for m in outcome.modules if m.partition(".")[0] in others]


@pytest.mark.slow
def test_the_help_of_the_report_imports_nothing_heavy(tmp_path: Path) -> None:
    outcome = start(tmp_path, "report", "--help")
    assert "evalkit_commands_report.report" in outcome.modules
    assert not HEAVY & outcome.modules


@pytest.mark.parametrize(
    "arguments",
    [
        words if words in FEW else pytest.param(words, marks=pytest.mark.slow)
        for words in COMMANDS
    ],
    ids=" ".join,
)
def test_so_also_with_300_distributions(
    tmp_path: Path, fakes: Path, arguments: tuple[str, ...]
) -> None:
    outcome = start(tmp_path, *arguments, path=fakes)
    assert not HEAVY & outcome.modules
    assert not [name for name in outcome.modules if name.startswith("stranger")]
    assert not list(fakes.glob("*.imported"))
    assert outcome.errors == ""


@pytest.mark.slow
def test_an_evaluation_imports_only_what_it_names(tmp_path: Path, fakes: Path) -> None:
    rows = [f'{{"id": "sent-{n:03}", "label": "positive"}}\n' for n in range(1, 136)]
    (tmp_path / "said.jsonl").write_text("".join(rows))
    words = ("eval", "sample-sentiment", "-p", "said.jsonl", "-q")
    outcome = start(tmp_path, *words, path=fakes)
    packages = {module.partition(".")[0] for module in outcome.modules}
    named = ["datasets_samples", "metrics_classification", "tasks_text"]
    named.append("benchmarks_declared")  # which knows what stands for several datasets
    assert packages & plugin_modules() == {f"evalkit_{name}" for name in named}
    assert not list(fakes.glob("*.imported"))


@pytest.mark.slow
def test_all_300_are_listed_with_distribution_and_version(
    tmp_path: Path, fakes: Path
) -> None:
    lines = start(tmp_path, "list", "-v", path=fakes).output.splitlines()
    listed = [tuple(line.split()[:3]) for line in lines if "/stranger-" in line]
    expected = [
        (
            f"{KINDS[number % len(KINDS)]}/{fake_name(number)}",
            f"Stranger_{number}",
            f"{number}.0",
        )
        for number in range(FAKES)
    ]
    assert sorted(listed) == sorted(expected)


@pytest.mark.slow
def test_plugins_are_listed_by_kind_and_then_name(tmp_path: Path, fakes: Path) -> None:
    lines = start(tmp_path, "list", path=fakes).output.splitlines()
    ids = [tuple(line.split()[0].split("/")) for line in lines if line]
    guests = [f"guests-{number}" for number in range(FAKE_KINDS)]
    assert {*guests} <= {kind for kind, _ in ids}
    others = ["adapters", "annotators", "commands", "engines", "models"]
    others += ["storage", "suites"]
    kinds = (*KINDS, *sorted([*others, *guests]))
    assert ids == sorted(ids, key=lambda found: (kinds.index(found[0]), found[1]))


@pytest.mark.slow
def test_json_holds_the_same_plugins_as_the_list(tmp_path: Path, fakes: Path) -> None:
    lines = start(tmp_path, "list", path=fakes).output.splitlines()
    report = json.loads(start(tmp_path, "list", "--json", path=fakes).output)
    assert [found["id"] for found in report["components"]] == [
        line.split()[0] for line in lines if line
    ]
    assert report["problems"] == []


@pytest.mark.slow
def test_shell_completion_imports_nothing_heavy_and_no_plugin(
    tmp_path: Path, fakes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_EVALKIT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "evalkit eval -m stranger-2")
    monkeypatch.setenv("COMP_CWORD", "3")
    outcome = start(tmp_path, path=fakes)
    metrics = {fake_name(n) for n in range(FAKES) if KINDS[n % len(KINDS)] == "metrics"}
    assert {line.partition(",")[2] for line in outcome.output.splitlines()} == {
        name for name in metrics if name.startswith("stranger-2")
    }
    assert not HEAVY & outcome.modules
    assert not [name for name in outcome.modules if name.startswith("stranger")]


def test_the_console_script_is_the_declared_entry_point() -> None:
    (script,) = entry_points(group="console_scripts", name="evalkit")
    assert script.value == "evalkit_cli.main:main"
