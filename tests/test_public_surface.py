import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.catalog import all_kinds
from evalkit.plugins.components import EXTENSIONS
from evalkit.plugins.discovery import find_components

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "core" / "src" / "evalkit"

KNOWN = "evalkit.known"
"""The group that says which distribution holds which component of evalkit's own."""

ERRORS = {
    "EvalkitError": None,
    "PluginError": "EvalkitError",
    "UnknownPluginError": "PluginError",
    "PluginLoadError": "PluginError",
    "PluginContractError": "PluginError",
    "RequiredParameterError": "PluginContractError",
    "AnnotatorError": "PluginError",
    "DataError": "EvalkitError",
    "SchemaError": "DataError",
    "AdapterError": "DataError",
    "AlignmentError": "DataError",
    "CancelledError": "EvalkitError",
    "MetricError": "EvalkitError",
    "StorageError": "EvalkitError",
}
FUNCTIONS = {
    *("evaluate", "find_components", "find_run", "metric"),
    "read_run",
    *("rescore", "score", "validate"),
    *("evaluate_with", "validate_with"),
    *("plan_partitions", "partition_tallies", "merge_tallies", "finalize"),
}
CLASSES = {
    "Annotation",
    "BaseTaskIO",
    "Component",
    "Dataset",
    "Edit",
    "EvaluationOptions",
    "Metric",
    "MetricContext",
    "NotScored",
    "Parameters",
    "PartitionPlan",
    "Perturbation",
    "Registry",
    "Result",
    "Score",
    "Source",
    "Tallies",
    "TaskIO",
    "TryAgain",
    "Unparsed",
    "Validation",
    "Violation",
}
MARKERS = {"FilePath", "Label", "Probabilities", "hookimpl"}
PUBLIC = {*ERRORS, *FUNCTIONS, *CLASSES, *MARKERS}
HEAVY = {"pydantic", "polars", "pyarrow", "numpy", "pandas", "pluggy", "pooch"}

# what each public name is, in a fresh interpreter, before and after the submodules
SURVEY = """
import importlib, json, pkgutil, sys
import evalkit
names, first = json.loads(sys.argv[1]), sys.argv[2]

def modules():
    for found in pkgutil.iter_modules(evalkit.__path__):
        importlib.import_module(f"evalkit.{found.name}")

def survey():
    found = {}
    for name in names:
        value = getattr(evalkit, name)
        found[name] = [type(value).__name__, callable(value), value.__module__]
    return found

if first == "modules":
    modules()
before = survey()
modules()
print(json.dumps([before, survey()]))
"""

CALLS = """
import importlib, json, pkgutil, sys
import evalkit
for found in pkgutil.iter_modules(evalkit.__path__):
    importlib.import_module(f"evalkit.{found.name}")

@evalkit.metric(unit="%", scale=100)
def get_same(predictions, targets):
    return sum(map(str.__eq__, predictions, targets)) / len(targets)

predictions, errors = sys.argv[1], json.loads(sys.argv[2])
evaluated = evalkit.evaluate("sample-sentiment", predictions, metrics=["accuracy"])
validated = evalkit.validate("sample-sentiment", predictions)
print(json.dumps({
    "score": evalkit.score(get_same, ["a", "b"], ["a", "a"])["same"].value,
    "evaluate": evaluated["accuracy"].n,
    "validate": validated.counts["scored"],
    "Validation": isinstance(validated, evalkit.Validation),
    "Result": isinstance(evaluated, evalkit.Result),
    "Score": isinstance(evaluated["accuracy"], evalkit.Score),
    "find_components": type(evalkit.find_components().components[0]).__name__,
    "Component": evalkit.Component("metrics", "x", "m:X", "dist", "1").origin,
    "Registry": evalkit.Registry().load("metrics", "macro-f1").name,
    "hookimpl": evalkit.hookimpl(get_same) is get_same,
    "Violation": str(evalkit.Violation("label", "must be a text", 3)),
    "Source": evalkit.Source("file:x").url,
    "MetricContext": evalkit.MetricContext(("a",), "one").answer_kind,
    "Parameters": evalkit.Metric().parameters == evalkit.Parameters(),
    "plugins": [
        type(getattr(evalkit, name)()).__name__ for name in ("Dataset", "TaskIO")
    ],
    "BaseTaskIO": evalkit.BaseTaskIO([{"uid": "1"}]).data,
    "errors": [str(getattr(evalkit, name)("why")) for name in errors],
}))
"""


def run_python(code: str, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read_project(folder: Path) -> dict[str, Any]:
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def members() -> dict[str, dict[str, Any]]:
    """Give the project table of every member of the workspace, by its folder."""
    patterns = WORKSPACE["members"]
    return {
        folder.relative_to(ROOT).as_posix(): read_project(folder)["project"]
        for pattern in patterns
        for folder in sorted(ROOT.glob(pattern))
        if folder.is_dir() and folder.relative_to(ROOT).as_posix() not in APART
    }


WORKSPACE = read_project(ROOT)["tool"]["uv"]["workspace"]
APART = {
    folder: read_project(ROOT / folder)["project"] for folder in WORKSPACE["exclude"]
}
"""Distributions whose libraries are too large for the workspace's environment."""

MEMBERS = members()
OURS = {**MEMBERS, **APART}
LEFT = {
    "plugins/adapters/rows",
    "plugins/analysis/compare",
    "plugins/analysis/ratings",
    "plugins/analysis/robustness",
    "plugins/analysis/suites",
    "plugins/analysis/upkeep",
    "plugins/annotators/columns",
    "plugins/benchmarks/declared",
    "plugins/commands/perturb",
    "plugins/commands/publish",
    "plugins/engines/dask",
    "plugins/models/base",
}
"""What left core: the command line requires it, and it may use core's own modules."""

PLUGINS = [
    folder for folder in OURS if folder.startswith("plugins/") and folder not in LEFT
]


@pytest.mark.parametrize("first", ["names", "modules"])
@pytest.mark.slow
def test_every_public_name_is_the_same_before_and_after_all_submodules(
    first: str,
) -> None:
    before, after = run_python(SURVEY, json.dumps(sorted(PUBLIC)), first)
    assert before == after
    for name, (kind, is_callable, module) in after.items():
        assert kind != "module", name
        assert is_callable, name
        # a text that is marked: where it is from depends on the version of Python
        homes = {
            "hookimpl": ("pluggy.",),
            "FilePath": ("builtins", "typing"),
            "Label": ("builtins", "typing"),
            "Probabilities": ("builtins", "typing"),
        }
        assert module.startswith(homes.get(name, ("evalkit.",))), name
    assert {n for n, (kind, *_) in after.items() if kind == "function"} == FUNCTIONS


@pytest.mark.slow
def test_every_public_name_can_be_called_after_all_submodules() -> None:
    package = ROOT / "plugins/datasets/samples/src/evalkit_datasets_samples"
    file = package / "predictions" / "sample-sentiment" / "vader.jsonl"
    assert run_python(CALLS, str(file), json.dumps(list(ERRORS))) == {
        "score": 0.5,
        "evaluate": len(file.read_text(encoding="utf-8").splitlines()),
        "validate": len(file.read_text(encoding="utf-8").splitlines()),
        "Validation": True,
        "Result": True,
        "Score": True,
        "find_components": "Component",
        "Component": "metrics/x (dist 1)",
        "Registry": "macro-f1",
        "hookimpl": True,
        "Violation": "label: must be a text, found 3",
        "Source": "file:x",
        "MetricContext": "one",
        "Parameters": True,
        "plugins": ["Dataset", "TaskIO"],
        "BaseTaskIO": [{"uid": "1"}],
        "errors": ["why"] * len(ERRORS),
    }


def test_all_lists_exactly_the_public_names_in_order() -> None:
    assert evalkit.__all__ == sorted(PUBLIC)


def test_dir_shows_every_public_name() -> None:
    shown = dir(evalkit)
    assert set(shown) >= PUBLIC
    assert shown == sorted(shown)
    assert len(shown) == len(set(shown))


def test_star_import_gives_every_public_name() -> None:
    namespace: dict[str, Any] = {}
    exec("from evalkit import *", namespace)
    assert namespace.keys() >= PUBLIC


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"'evalkit' has no attribute 'scores_'"):
        _ = evalkit.scores_


def test_the_version_is_the_distributions() -> None:
    assert evalkit.__version__ == MEMBERS["core"]["version"]


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes_are_classes_of_that_name(name: str) -> None:
    found = getattr(evalkit, name)
    assert inspect.isclass(found)
    assert found.__name__ == name
    assert found.__doc__


@pytest.mark.parametrize(("name", "parent"), ERRORS.items())
def test_errors_form_the_documented_tree(name: str, parent: str | None) -> None:
    expected = getattr(evalkit, parent) if parent else Exception
    assert getattr(evalkit, name).__bases__ == (expected,)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_document_every_argument(name: str) -> None:
    function = getattr(evalkit, name)
    documentation = inspect.getdoc(function) or ""
    for argument in inspect.signature(function).parameters:
        assert re.search(rf"^\s+\*{{0,2}}{argument}: ", documentation, re.MULTILINE), (
            argument
        )


def test_no_module_or_room_has_the_name_of_something_public() -> None:
    modules = {path.stem for path in PACKAGE.iterdir()}
    assert not modules & PUBLIC


@pytest.mark.parametrize(
    "package", ["evalkit", "evalkit_cli", "evalkit_tasks_text"], ids=str
)
def test_importing_a_package_alone_imports_nothing_heavy(package: str) -> None:
    code = f"import sys, json, {package}; print(json.dumps(sorted(sys.modules)))"
    modules = run_python(code)
    assert package in modules
    assert not HEAVY & set(modules)
    own = {name for name in modules if name.startswith("evalkit")}
    assert own - {"evalkit.base", "evalkit.base.lazy"} == {package}


ROOMS = ("runs", "scoring", "places")
"""Rooms of core that are public modules, too; their modules are private."""

FACES = ("evalkit.catalog", "evalkit.reporting", *(f"evalkit.{r}" for r in ROOMS))


@pytest.mark.parametrize("face", FACES)
@pytest.mark.slow
def test_a_public_module_imports_nothing_heavy_until_its_names_are_used(
    face: str,
) -> None:
    code = (
        f"import sys, json, {face} as face; first = sorted(sys.modules)\n"
        "names = [name for name in face.__all__ if getattr(face, name) is not None]\n"
        "assert set(names) <= set(dir(face))\n"
        "print(json.dumps([first, names]))"
    )
    modules, names = run_python(code)
    assert not HEAVY & set(modules)
    assert names == list(importlib.import_module(face).__all__)
    absent = "nothing"
    with pytest.raises(AttributeError, match=f"{face}.*no attribute 'nothing'"):
        getattr(importlib.import_module(face), absent)


@pytest.mark.parametrize("face", ["evalkit", *FACES])
def test_type_checkers_see_the_public_names_and_no_others(face: str) -> None:
    module = importlib.import_module(face)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (guard,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(guard.test) == "TYPE_CHECKING"
    seen = {
        alias.asname: f"{statement.module}.{alias.name}"
        for statement in guard.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert sorted(map(str, seen)) == list(module.__all__)
    for name, origin in seen.items():
        home, _, own_name = origin.rpartition(".")
        assert own_name == name
        assert getattr(importlib.import_module(home), name) is getattr(module, name)
    # one that a type checker sees would make any name right
    assert "__getattr__" not in ast.unparse(guard.body)
    outside = [ast.unparse(node) for node in tree.body if node is not guard]
    assert not any("__getattr__" in text for text in outside)


PUBLIC_MODULES = {
    *("evalkit", "evalkit.errors", "evalkit.hookspecs"),
    "evalkit.adapters",
    *FACES,
}
OUTSIDE = [
    path
    for folder in ("examples", "cli/tests", "plugins")
    for path in (ROOT / folder).rglob("*.py")
    if ".venv" not in path.parts
    and "/".join(path.relative_to(ROOT).parts[:3]) not in LEFT
]
"""Examples and tests outside of core, and sources, which a contract checks as well."""


def imported_from_core(path: Path) -> set[str]:
    """Find the modules of core that a file imports, also in code that it holds."""
    text = path.read_text(encoding="utf-8")
    inside = re.findall(r"(?m)^\s*(?:from|import) (evalkit(?:\.\w+)*)", text)
    found = set(inside)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module in PUBLIC_MODULES:
            # a module of a public room is private, whatever way it is imported
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in names if is_module_of_core(name)}
    return found


def is_module_of_core(name: str) -> bool:
    path = PACKAGE.parent / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_examples_and_tests_import_public_modules_only() -> None:
    private = {path: imported_from_core(path) - PUBLIC_MODULES for path in OUTSIDE}
    assert {path: names for path, names in private.items() if names} == {}


def test_an_import_of_a_private_module_is_found(tmp_path: Path) -> None:
    for code in (
        "from evalkit.plugins.registry import Bound",
        "import evalkit.scoring.passes",
        "from evalkit.scoring import passes",
        "from evalkit import plugins",
        'CODE = """\nfrom evalkit.base.ids import read_id\n"""',
    ):
        (tmp_path / "it.py").write_text(code)
        assert imported_from_core(tmp_path / "it.py") - PUBLIC_MODULES, code
    code = "from evalkit.scoring import Groups\nfrom evalkit import catalog, score"
    (tmp_path / "it.py").write_text(code)
    assert imported_from_core(tmp_path / "it.py") <= PUBLIC_MODULES


PRIVATE_ROOMS = sorted(
    {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {*ROOMS}
)
PAGES = [
    *(ROOT / "docs").rglob("*.md"),
    *(path for path in ROOT.rglob("README.md") if ".venv" not in path.parts),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name + page.stem)
def test_pages_send_nobody_to_a_private_module(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    groups = "metrics|tasks|datasets|perturbations|annotators|observers"
    groups += "|commands"
    named = re.findall(r"(?<![\w./])evalkit\.(\w+)\b", re.sub(groups, "", text))
    assert not set(named) & set(PRIVATE_ROOMS)


# hook specs


def hooks() -> Iterator[tuple[str, type, str]]:
    for kind in all_kinds():
        if kind.load is None:
            for name in kind.hooks:
                yield kind.name, kind.spec, name


HOOKS = list(hooks())


@pytest.mark.parametrize(
    ("spec", "name"), [(s, n) for _, s, n in HOOKS], ids=lambda v: str(v)
)
def test_every_hook_is_marked_and_documented(spec: type, name: str) -> None:
    function = getattr(spec, name)
    assert hasattr(function, "evalkit_spec")
    documentation = inspect.getdoc(function) or ""
    assert documentation.partition("\n")[0].endswith(".")


def test_every_hook_appears_in_a_test() -> None:
    words = {
        word
        for folder in ("core", "cli", "plugins", "tests", "examples")
        for path in (ROOT / folder).rglob("test_*.py")
        if path.resolve() != Path(__file__).resolve()
        for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    }
    assert {name for *_, name in HOOKS} <= words


def attributes() -> Iterator[tuple[str, str, str | None]]:
    """Give protocol, attribute and the text below it, from the source."""
    for kind in all_kinds():
        (node,) = ast.parse(inspect.getsource(kind.attributes)).body
        assert isinstance(node, ast.ClassDef)
        for statement, below in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(statement, ast.AnnAssign):
                continue
            assert isinstance(statement.target, ast.Name)
            text = None
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                text = below.value.value
            yield node.name, statement.target.id, text


ATTRIBUTES = list(attributes())


@pytest.mark.parametrize(
    ("protocol", "name", "text"), ATTRIBUTES, ids=lambda v: str(v)[:30]
)
def test_every_attribute_is_documented(
    protocol: str, name: str, text: str | None
) -> None:
    assert text, f"{protocol}.{name}"
    assert text.rstrip().endswith(".")


# the workspace


def entry_points() -> dict[str, str]:
    return {
        f"{group.removeprefix('evalkit.')}/{name}": project["name"]
        for project in OURS.values()
        for group, names in project.get("entry-points", {}).items()
        for name in names
        if group.startswith("evalkit.") and group != KNOWN
    }


def test_known_components_are_those_of_this_repository() -> None:
    declared = {
        name: owner
        for project in MEMBERS.values()
        for name, owner in project.get("entry-points", {}).get(KNOWN, {}).items()
    }
    known = {name: owner.replace("_", "-") for name, owner in declared.items()}
    assert entry_points() == known
    catalog = find_components()
    assert {name: catalog.known_owner(name) for name in known} == known


OWN_WORDS = {
    ("plugins/classes.py", "accuracy"): "what Dynabench takes where nothing is said",
    ("base/terms.py", "auroc"): "a kind of interval",
    ("plugins/contract.py", "auroc"): "a kind of interval",
    ("scoring/group_intervals.py", "auroc"): "a kind of interval",
}
"""Texts of core that are also called like a plugin, by file."""


@pytest.mark.slow
def test_core_names_no_plugin() -> None:
    # adapters and commands are called by ordinary words, such as `drop` and `predict`,
    # and names like what core hands them
    ordinary = ("adapters/", "attributes/", "commands/", "kinds/", "names/")
    plugins = [name for name in entry_points() if not name.startswith(ordinary)]
    others = {k for k, owner in entry_points().items() if owner != "evalkit-core"}
    names = {name.partition("/")[2] for name in plugins} | others
    owners = {project["name"] for project in MEMBERS.values()} | {"evalkit-suite"}
    owners = (owners | {name.replace("-", "_") for name in owners}) - {"evalkit-core"}
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        assert not [owner for owner in owners if owner in text], path
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in names:
                found.add((path.relative_to(PACKAGE).as_posix(), node.value))
    assert found == OWN_WORDS.keys()


def test_the_suite_requires_exactly_the_members() -> None:
    tree = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    listed, extras = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) in ("MEMBERS", "EXTRAS")
    )
    for members in extras.values():
        assert not members.keys() & listed.keys()
        listed |= members
    assert listed == {project["name"]: folder for folder, project in MEMBERS.items()}


def test_uv_takes_every_member_from_the_workspace() -> None:
    sources = read_project(ROOT)["tool"]["uv"]["sources"]
    assert sources == {
        project["name"]: {"workspace": True} for project in MEMBERS.values()
    }


def test_core_command_line_and_suite_are_called_as_designed() -> None:
    names = {folder: MEMBERS[folder]["name"] for folder in ("core", "cli")}
    assert names == {"core": "evalkit-core", "cli": "evalkit-cli"}
    assert read_project(ROOT)["project"]["name"] == "evalkit-suite"


KIT = "plugins/testing/kit"


def test_the_kit_is_a_distribution_without_components() -> None:
    assert MEMBERS[KIT]["name"] == "evalkit-testing"
    plugin = {"evalkit": "evalkit_testing.pytest_plugin"}
    assert MEMBERS[KIT]["entry-points"] == {"pytest11": plugin}


@pytest.mark.parametrize("folder", sorted({*PLUGINS} - {KIT}))
def test_folder_distribution_import_and_group_have_one_spelling(folder: str) -> None:
    _, kind, name = folder.split("/")
    assert kind in (*(each.name for each in all_kinds()), "analysis", "services")
    project = OURS[folder]
    distribution = f"evalkit-{kind}-{name}"
    package = distribution.replace("-", "_")
    assert project["name"] == distribution
    beside = {"evalkit.commands", *(f"evalkit.{group}" for group in EXTENSIONS)}
    if kind == "datasets":
        beside |= {"evalkit_adapters_rows"}  # what reads the responses of its models
    if kind == "annotators":
        beside |= {"evalkit.metrics"}  # what scores its columns
    groups = {*project.get("entry-points", {})} - beside
    assert groups <= {f"evalkit.{kind}"}
    packages = [path.name for path in (ROOT / folder / "src").iterdir()]
    assert packages == [package]
    for value in project.get("entry-points", {}).get(f"evalkit.{kind}", {}).values():
        assert value.partition(":")[0].partition(".")[0] == package


@pytest.mark.parametrize("folder", OURS)
def test_every_member_is_typed_licensed_and_has_the_common_version(folder: str) -> None:
    project = OURS[folder]
    (package,) = (ROOT / folder / "src").iterdir()
    assert (package / "py.typed").is_file()
    licence = (ROOT / folder / "LICENSE").read_bytes()
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert project["license"].startswith("Apache-2.0")
    assert project["version"] == read_project(ROOT)["project"]["version"]
    assert project["requires-python"] == ">=3.11"


@pytest.mark.parametrize("folder", OURS)
def test_members_require_no_stranger_called_evalkit_and_cap_each_other(
    folder: str,
) -> None:
    requirements = OURS[folder]["dependencies"]
    ours = [text for text in requirements if text.startswith("evalkit")]
    own_names = {project["name"] for project in MEMBERS.values()}
    for text in ours:
        name, at_least, bounds = text.partition(">=")
        assert name in own_names
        assert at_least + bounds == ">=0.1,<0.2"
    assert ("evalkit-core>=0.1,<0.2" in ours) == (folder != "core")


def test_tools_know_every_member() -> None:
    tools = read_project(ROOT)["tool"]
    sources = {f"{folder}/src" for folder in MEMBERS}
    assert sources <= set(tools["mypy"]["mypy_path"])
    packages = {path.name for f in sources for path in (ROOT / f).iterdir()}
    linter = tools["importlinter"]
    plugins = packages - {"evalkit", "evalkit_cli"}
    assert set(linter["root_packages"]) == packages
    contracts = {each["name"]: each for each in linter["contracts"]}
    core = contracts[
        "Core knows neither the command line nor any plugin, and prints nothing"
    ]
    left = {f"evalkit_{'_'.join(folder.split('/')[1:])}" for folder in LEFT}
    command_line = contracts["The command line knows no plugin but what it requires"]
    independence = contracts["No plugin imports another plugin or the command line"]
    commands = sorted(
        name for name in plugins - left if name.startswith("evalkit_commands_")
    )
    assert independence["ignore_imports"] == [
        *(f"{name}.** -> evalkit_cli.commanding" for name in commands),
        "evalkit_services_server.** -> evalkit_cli.commanding",
        "evalkit_schemas_standard.command -> evalkit_cli.commanding",
        "evalkit_benchmarks_peers.* -> evalkit_adapters_peers.*",
        "evalkit_commands_exchange.* -> evalkit_adapters_peers.*",
        "evalkit_commands_exchange.* -> evalkit_benchmarks_peers.*",
        "evalkit_commands_site.* -> evalkit_commands_report.*",
        "evalkit_services_server.* -> evalkit_commands_report.*",
        "evalkit_services_server.* -> evalkit_commands_site.*",
        "evalkit_testing.schemas -> evalkit_schemas_standard",
    ]
    assert all(
        "ignore_imports" not in each
        for each in contracts.values()
        if each is not independence
    )
    circles = contracts["No circle of imports, not even of types alone"]
    faces = contracts[
        "The command line, plugins and examples import public modules only"
    ]
    assert set(circles["ancestors"]) == packages
    assert set(faces["source_modules"]) == plugins - left | {"evalkit_cli"}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rooms |= {"parallel"}  # of one module
    forbidden = {f"evalkit.{room}" for room in rooms - {*ROOMS}}
    forbidden |= {f"evalkit.{room}.*" for room in ROOMS}
    assert set(faces["forbidden_modules"]) == forbidden
    assert plugins | {"evalkit_cli"} <= set(core["forbidden_modules"])
    assert set(command_line["forbidden_modules"]) == plugins - left
    assert set(independence["modules"]) == plugins - left | {"evalkit_cli"}
    silent = contracts["What the command line requires prints nothing"]
    assert set(silent["source_modules"]) == left
