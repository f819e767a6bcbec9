import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hatch_build import EXTRAS
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sklearn.metrics import cohen_kappa_score

# one process makes the environment, for all of these
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("packaging"),
]

ROOT = Path(__file__).parents[1]
EXAMPLE = "examples/evalkit-metrics-example"
SAMPLES = "plugins/datasets/samples/src/evalkit_datasets_samples"
PREDICTIONS = "predictions/sample-sentiment/vader.jsonl"
AGREEMENT = ("kappa", "label-shift", "word-overlap")
HIDDEN = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "EVALKIT_", "COV")


def read_project(folder: Path) -> dict[str, Any]:
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


SETTINGS = read_project(ROOT)
VERSION = SETTINGS["project"]["version"]
MEMBERS = {
    read_project(folder)["project"]["name"]: folder.relative_to(ROOT)
    for pattern in SETTINGS["tool"]["uv"]["workspace"]["members"]
    for folder in ROOT.glob(pattern)
    if folder.is_dir()
    and folder.relative_to(ROOT).as_posix()
    not in SETTINGS["tool"]["uv"]["workspace"]["exclude"]
}
COMPONENTS = {
    (f"{group.removeprefix('evalkit.')}/{name}", project["name"], VERSION)
    for project in (
        read_project(ROOT / folder)["project"] for folder in MEMBERS.values()
    )
    for group, names in project.get("entry-points", {}).items()
    # plugins of hidden kinds are not listed; the last groups hold no plugins
    if group.startswith("evalkit.")
    and group.removeprefix("evalkit.")
    not in ("schemas", "known", "kinds", "names", "attributes", "readers")
    for name in names
}


IN_EXTRAS = {name for members in EXTRAS.values() for name in members}


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command to success, without what this process was started with."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**inherited, **variables},
        capture_output=True,
        encoding="utf-8",
        timeout=560,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def uv(*arguments: str | Path, cwd: Path, **variables: str) -> str:
    """Run uv with the system's certificates, as the Makefile does."""
    program = Path(sys.executable).with_name("uv")
    certificates = {"UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "1")}
    return run(program, *arguments, cwd=cwd, **certificates, **variables)


class Environment:
    """A virtual environment with the pip that its Python brings."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        self.has_suite = False
        run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)

    def pip(self, *arguments: str | Path) -> str:
        return run(self.bin / "python", "-m", "pip", *arguments, cwd=self.work)

    def install(self, *arguments: str | Path) -> None:
        self.pip("install", "--quiet", "--no-compile", *arguments)

    def uv(self, command: str, *arguments: str | Path) -> None:
        """Do as pip does, sooner: where pip is not what is tested."""
        given = ("--quiet", "--python", self.bin / "python", *arguments)
        uv("pip", command, *given, cwd=self.work)

    def evalkit(self, *arguments: str | Path) -> str:
        script = self.bin / "evalkit"
        return run(script, *arguments, cwd=self.work, EVALKIT_OFFLINE="1")

    def python(self, code: str, *arguments: str | Path) -> Any:
        out = run(self.bin / "python", "-c", code, *arguments, cwd=self.work)
        return json.loads(out)

    def components(self) -> set[tuple[str, str, str]]:
        report = json.loads(self.evalkit("list", "--json"))
        assert report["problems"] == []
        return {
            (found["id"], found["distribution"], found["version"])
            for found in report["components"]
        }

    def uninstall_ours(self) -> None:
        self.uv("uninstall", *MEMBERS, "evalkit-suite", "evalkit-metrics-example")


@pytest.fixture(scope="module")
def wheels(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of a release, built as `make build` does."""
    folder = tmp_path_factory.mktemp("wheels")
    options = ("--quiet", "--all-packages", "--wheel", "--out-dir")
    uv("build", *options, folder, cwd=checkout, EVALKIT_RELEASE="1")
    return folder


@pytest.fixture(scope="module")
def shared_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Fresh for the first test; later ones find what evalkit depends on."""
    return Environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture
def environment(shared_environment: Environment) -> Environment:
    """An environment in which nothing of evalkit is installed."""
    shared_environment.uninstall_ours()
    shared_environment.has_suite = False
    return shared_environment


def install_wheel(environment: Environment, wheels: Path, name: str) -> None:
    environment.uv("install", *third_party(wheels))
    environment.uv("install", "--no-index", "--find-links", wheels, name)


@pytest.fixture
def suite(shared_environment: Environment, wheels: Path) -> Environment:
    """An environment with the wheels of the suite."""
    if not shared_environment.has_suite:
        shared_environment.uninstall_ours()
        shared_environment.uv("install", *third_party(wheels))
        links = ("--no-index", "--find-links", wheels)
        shared_environment.install(*links, "evalkit-suite")
        shared_environment.has_suite = True
    return shared_environment


def assert_works(environment: Environment) -> None:
    assert environment.components() == {
        each for each in COMPONENTS if each[1] not in IN_EXTRAS
    }
    assert "No broken requirements" in environment.pip("check")
    output = environment.evalkit("eval", "sample-sentiment")
    assert "macro-f1" in output
    assert "negation:yes" in output
    assert "@misc{evalkit," in environment.evalkit("cite", "latest")


def home_of_evalkit(environment: Environment) -> Path:
    code = "import evalkit, json; print(json.dumps(evalkit.__file__))"
    return Path(environment.python(code))


# plain pip


# what a repository has is copied to a folder and built there, as a folder is
def test_plain_pip_installs_a_repository(
    checkout: Path, wheels: Path, environment: Environment
) -> None:
    # `uv build` shows, and sooner, that ours require no more to be built; uv is also
    # sooner with what others published
    tools = ("hatchling", "setuptools", "wheel")
    environment.uv("install", *tools, *third_party(wheels))
    environment.install("--no-build-isolation", f"git+{checkout.as_uri()}")
    assert_works(environment)
    assert home_of_evalkit(environment).is_relative_to(environment.bin.parent)
    assert run("git", "status", "--porcelain", cwd=checkout) == ""


def test_core_alone_is_a_library_without_a_command(
    wheels: Path, environment: Environment
) -> None:
    install_wheel(environment, wheels, "evalkit-core")
    assert not (environment.bin / "evalkit").exists()
    code = """if True:
        import evalkit, json
        def get_same(predictions, targets):
            return float(predictions == targets)
        score = evalkit.score(get_same, ["a"], ["a"])["same"].value
        print(json.dumps([score, len(evalkit.find_components().components)]))
    """
    assert environment.python(code) == [1.0, 0]


SOLUTIONS = """if True:
    import json, os, sys
    folder = os.environ["EVALKIT_DATA_DIR"] = sys.argv[1]
    import evalkit
    path = f"{folder}/gsm8k/example_model_solutions.jsonl"
    with open(path, encoding="utf-8") as file:
        texts = [json.loads(line)["6b_finetuning"]["solution"] for line in file]
    rows = [{"id": str(n), "answer": text} for n, text in enumerate(texts, 1)]
    try:
        score = evalkit.evaluate("gsm8k", rows)["exact-match"]
        print(json.dumps([score.n, score.value]))
    except evalkit.PluginError as error:
        print(json.dumps(str(error)))
"""


def test_an_extractor_is_refused_without_who_obeys_it(
    wheels: Path, environment: Environment, external_data: Path
) -> None:
    install_wheel(environment, wheels, "evalkit-datasets-gsm8k")
    assert environment.python(SOLUTIONS, external_data) == (
        f"datasets/gsm8k (evalkit-datasets-gsm8k {VERSION}): no installed distribution "
        "obeys its attribute 'extract'. Install evalkit-adapters-rows"
    )
    further = ("evalkit-cli", "evalkit-metrics-classification")
    environment.uv("install", "--no-index", "--find-links", wheels, *further)
    n, value = environment.python(SOLUTIONS, external_data)
    assert n == 1319
    assert value == pytest.approx(286 / 1319, abs=1e-12)


def test_uv_syncs_all_packages(checkout: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    run("git", "clone", "--quiet", checkout, clone, cwd=tmp_path)
    uv("sync", "--quiet", "--all-packages", cwd=clone)
    script = clone / ".venv" / "bin" / "evalkit"
    report = json.loads(run(script, "list", "--json", cwd=tmp_path))
    listed = [(c["id"], c["distribution"], c["version"]) for c in report["components"]]
    assert set(listed) == COMPONENTS
    assert run("git", "status", "--porcelain", cwd=clone) == ""


# the suite, and a stranger's package beside it


def test_plain_pip_installs_wheels_without_an_index(suite: Environment) -> None:
    assert_works(suite)


class Pair(NamedTuple):
    prediction: str
    target: str


def sentiment_pairs() -> list[Pair]:
    """Read the packaged predictions and labels, with nothing of evalkit."""

    def rows(name: str) -> list[dict[str, Any]]:
        text = (ROOT / SAMPLES / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    said = {row["id"]: row["label"] for row in rows(PREDICTIONS)}
    examples = rows("data/sample-sentiment.jsonl")
    assert len(said) == len(examples) >= 60
    return [Pair(said[row["uid"]], row["label"]) for row in examples]


def expected_scores() -> dict[str, float]:
    pairs = sentiment_pairs()
    predictions, targets = zip(*pairs, strict=True)
    said, right = Counter(predictions), Counter(targets)
    too_often = [max(0, said[label] - right[label]) for label in said]
    return {
        "kappa": float(cohen_kappa_score(targets, predictions)),
        "label-shift": sum(too_often) / len(pairs),
        # all labels are single words: they overlap wholly or not at all
        "word-overlap": sum(p == t for p, t in pairs) / len(pairs),
    }


@pytest.fixture
def with_example(suite: Environment, tmp_path: Path) -> Iterator[Environment]:
    """The example installed from outside of the repository, beside our wheels."""
    package = shutil.copytree(ROOT / EXAMPLE, tmp_path / "package")
    suite.install(package)
    yield suite
    suite.uv("uninstall", "evalkit-metrics-example")


def test_a_strangers_package_is_listed_and_scores(with_example: Environment) -> None:
    version = read_project(ROOT / EXAMPLE)["project"]["version"]
    added = with_example.components() - COMPONENTS
    assert added == {
        (f"metrics/{name}", "evalkit-metrics-example", version) for name in AGREEMENT
    }
    lines = with_example.evalkit("list", "metrics", "-v").splitlines()
    fields = [line.split()[:3] for line in lines]
    assert ["metrics/kappa", "evalkit-metrics-example", version] in fields
    checked = with_example.evalkit("list", "metrics", "--check")
    for name in AGREEMENT:
        ok = f"ok      metrics/{name} (evalkit-metrics-example {version})  "
        assert ok in checked

    options = [part for name in AGREEMENT for part in ("-m", name)]
    predictions = f"vader={ROOT / SAMPLES / PREDICTIONS}"
    arguments = ("eval", "sample-sentiment", "-p", predictions, *options, "--json")
    record = json.loads(with_example.evalkit(*arguments))
    scores = [s for s in record["scores"] if s["tag"] is s["aggregate"] is None]
    whole = {score["metric"]: score["value"] for score in scores}
    assert whole == pytest.approx(expected_scores(), abs=1e-9)
    assert record["status"] == "complete"

    predicted, targets = map(list, zip(*sentiment_pairs(), strict=True))
    code = """if True:
        import evalkit, json, sys
        predictions, targets, names = map(json.loads, sys.argv[1:])
        scores = {n: evalkit.score(n, predictions, targets)[n].value for n in names}
        print(json.dumps(scores))
    """
    lists = (json.dumps(values) for values in (predicted, targets, AGREEMENT))
    scores = with_example.python(code, *lists)
    assert scores == pytest.approx(expected_scores(), abs=1e-9)


def test_the_examples_readme_shows_what_happens(with_example: Environment) -> None:
    readme = (ROOT / EXAMPLE / "README.md").read_text(encoding="utf-8")
    transcripts = re.findall(
        r"^```console\n\$ evalkit (.*?)```$", readme, re.MULTILINE | re.DOTALL
    )
    assert len(transcripts) == 2
    for transcript in transcripts:
        command, _, expected = transcript.partition("\n")
        lines = with_example.evalkit(*command.split()).splitlines()
        shown = "\n".join(line.rstrip() for line in lines)
        assert shown.startswith(expected.rstrip().removesuffix("...").rstrip()), shown
    (code,) = re.findall(r"^```python\n(.*?)```$", readme, re.MULTILINE | re.DOTALL)
    (value,) = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert with_example.python(code) == float(value)


def test_the_example_knows_only_released_packages() -> None:
    settings = read_project(ROOT / EXAMPLE)
    assert "evalkit-core>=0.1,<0.2" in settings["project"]["dependencies"]
    assert list(settings["project"]["entry-points"]) == ["evalkit.metrics"]
    assert set(settings["tool"]) == {"hatch"}
    assert EXAMPLE not in {folder.as_posix() for folder in MEMBERS.values()}


# what the wheels hold


class Wheel(NamedTuple):
    metadata: Message
    files: dict[str, bytes]
    """Contents by path."""
    licences: dict[str, bytes]
    """Contents by name."""


def read_wheel(path: Path) -> Wheel:
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    (metadata,) = (text for name, text in files.items() if name.endswith("/METADATA"))
    licences = {
        name.partition(".dist-info/licenses/")[2]: text
        for name, text in files.items()
        if ".dist-info/licenses/" in name
    }
    return Wheel(message_from_string(metadata.decode()), files, licences)


@functools.cache
def read_wheels(folder: Path) -> dict[str, Wheel]:
    found = [read_wheel(path) for path in folder.glob("*.whl")]
    return {wheel.metadata["Name"]: wheel for wheel in found}


def requirements(wheel: Wheel) -> list[Requirement]:
    return [Requirement(text) for text in wheel.metadata.get_all("Requires-Dist", [])]


def third_party(folder: Path) -> list[str]:
    return sorted(
        {
            str(requirement)
            for wheel in read_wheels(folder).values()
            for requirement in requirements(wheel)
            if not requirement.name.startswith("evalkit")
        }
    )


def test_there_is_a_wheel_for_each_member_and_the_suite(wheels: Path) -> None:
    built = read_wheels(wheels)
    assert set(built) == {*MEMBERS, "evalkit-suite"}
    assert {wheel.metadata["Version"] for wheel in built.values()} == {VERSION}


def test_nothing_is_called_or_requires_evalkit_or_a_path(wheels: Path) -> None:
    built = read_wheels(wheels)
    for wheel in built.values():
        assert canonicalize_name(wheel.metadata["Name"]) != "evalkit"
        for requirement in requirements(wheel):
            assert canonicalize_name(requirement.name) != "evalkit"
            assert requirement.url is None
            if requirement.name.startswith("evalkit"):
                assert requirement.name in built
                assert VERSION in requirement.specifier


def test_the_suite_is_metadata_that_pins_every_member(wheels: Path) -> None:
    suite = read_wheels(wheels)["evalkit-suite"]
    assert all(".dist-info/" in name for name in suite.files)
    extras = {
        name: f'; extra == "{extra}"'
        for extra, members in EXTRAS.items()
        for name in members
    }
    assert {str(requirement) for requirement in requirements(suite)} == {
        f"{name}=={VERSION}{extras.get(name, '')}" for name in MEMBERS
    }


@pytest.mark.parametrize("name", MEMBERS)
def test_a_wheel_holds_one_typed_package_and_nothing_else(
    name: str, wheels: Path, checkout: Path
) -> None:
    wheel = read_wheels(wheels)[name]
    package = "evalkit" if name == "evalkit-core" else name.replace("-", "_")
    info = f"{name.replace('-', '_')}-{VERSION}.dist-info"
    assert {path.partition("/")[0] for path in wheel.files} == {package, info}
    assert wheel.files[f"{package}/py.typed"] == b""
    source = checkout / MEMBERS[name] / "src" / package
    expected = {
        path.relative_to(source.parent).as_posix(): path.read_bytes()
        for path in source.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    held = {p: data for p, data in wheel.files.items() if p.startswith(f"{package}/")}
    assert held.keys() == expected.keys()
    assert held == expected


@pytest.mark.parametrize("name", [*MEMBERS, "evalkit-suite"])
def test_a_wheel_holds_its_licence(name: str, wheels: Path) -> None:
    wheel = read_wheels(wheels)[name]
    assert wheel.licences["LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert "LICENSE" in wheel.metadata.get_all("License-File", [])
    assert wheel.metadata["License-Expression"].startswith("Apache-2.0")
    assert wheel.metadata["Requires-Python"] == ">=3.11"


def test_the_samples_wheel_holds_data_predictions_and_their_licence(
    wheels: Path,
) -> None:
    wheel = read_wheels(wheels)["evalkit-datasets-samples"]
    assert b"CC0 1.0 Universal" in wheel.licences["LICENSE-CC0"]
    assert wheel.metadata["License-Expression"] == "Apache-2.0 AND CC0-1.0"
    package = "evalkit_datasets_samples"
    for dataset in ("sample-nli", "sample-hs", "sample-sentiment", "sample-qa"):
        assert wheel.files[f"{package}/data/{dataset}.jsonl"].count(b"\n") >= 60
        folder = f"{package}/predictions/{dataset}/"
        assert len([path for path in wheel.files if path.startswith(folder)]) == 2


def test_no_wheel_tells_where_it_was_built(wheels: Path, checkout: Path) -> None:
    place = str(checkout).encode()
    for name, wheel in read_wheels(wheels).items():
        for path, data in wheel.files.items():
            assert place not in data, f"{name}: {path}"


def test_a_dry_run_of_the_release_finds_nothing_wrong(wheels: Path) -> None:
    printed = run(sys.executable, ROOT / "release_check.py", wheels, cwd=ROOT)
    lines = printed.splitlines()
    assert lines[-1] == f"{len(MEMBERS) + 1} wheels, 0 problems"
    assert not [line for line in lines if line.startswith("wrong")]
