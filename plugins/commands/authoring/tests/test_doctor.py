"""What `evalkit doctor` finds, in distributions that exist as files only."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli
from evalkit_commands_authoring.doctor import names, versions
from evalkit_commands_authoring.doctor.examination import counts, examine, report
from evalkit_commands_authoring.doctor.findings import Finding
from evalkit_commands_authoring.doctor.imports import check_imports, import_all
from evalkit_commands_authoring.doctor.installed import Environment, Installed
from evalkit_commands_authoring.doctor.names import (
    check_clashes,
    check_hidden,
    check_metadata,
    check_shadowed,
)
from evalkit_commands_authoring.doctor.versions import check_editable, check_left_over

Make = Callable[..., Any]
METRIC = "def get_short(predictions, targets):\n    return 0.5\n"
GROUP = "evalkit.metrics"


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("EVALKIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)


def folder_of(fake: Any) -> Path:
    (folder,) = fake.folder.glob("*.dist-info")
    return Path(folder)


def of(name: str, found: list[Finding]) -> list[Finding]:
    return [each for each in found if name in each.subject]


class Only(Environment):
    """An environment of some distributions only."""

    def __init__(self, *fakes: Any) -> None:
        super().__init__(variables={})
        self.__dict__["everything"] = [Installed(folder_of(each)) for each in fakes]


def doctor(*arguments: str, **variables: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *arguments], env=variables)


# the command


@pytest.mark.slow
def test_it_ends_with_1_where_there_is_an_error_and_says_what_to_do(
    fake_distribution: Make,
) -> None:
    fake = fake_distribution(METRIC, {GROUP: {"short": "get_short"}}, name="brief")
    (folder_of(fake) / "METADATA").write_bytes(b"Name: \xff\n")
    done = doctor("--no-imports", "--json")
    found = json.loads(done.stdout)
    (error,) = (each for each in found["findings"] if "brief" in each["subject"])
    assert (error["severity"], error["check"]) == ("error", "metadata")
    assert "its METADATA cannot be read: UnicodeDecodeError" in error["message"]
    assert "install --force-reinstall --no-deps brief" in error["mend"]
    assert str(folder_of(fake)) in error["mend"]
    assert found["counts"]["error"] >= 1
    assert done.exit_code == 1
    assert found["versions"]["evalkit-core"]


@pytest.mark.slow
def test_this_environment_has_no_error_and_the_report_is_short() -> None:
    done = doctor("--no-imports")
    assert done.exit_code == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"Python {sys.version.split()[0]} ({sys.executable})")
    assert "distributions of evalkit 0" in lines[1]
    assert "error" not in lines[-1]


def test_the_report_holds_no_control_sequence(fake_distribution: Make) -> None:
    fake = fake_distribution(METRIC, {GROUP: {"short": "get_short"}}, name="brief")
    text = "Metadata-Version: 2.1\nName: brief\nVersion: 1\x1b[31m\n"
    (folder_of(fake) / "METADATA").write_text(text)
    assert "\x1b" not in doctor("--no-imports", "-v").stdout


def test_a_check_that_fails_is_a_finding_and_keeps_no_other_from_being_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(environment: Environment) -> Any:
        raise RuntimeError("no luck")

    monkeypatch.setattr(
        "evalkit_commands_authoring.doctor.examination._CHECKS", (fail, check_hidden)
    )
    environment = Environment(variables={})
    found = examine(environment, imports=False)
    (finding,) = found.findings
    assert "fail failed with RuntimeError: no luck (test_doctor.py:" in finding.message
    assert counts(found) == {"error": 1, "warning": 0, "note": 0}
    assert [*report(found)][-1] == "1 error"


def test_it_runs_without_evalkit(fake_distribution: Make, tmp_path: Path) -> None:
    broken = tmp_path / "first" / "evalkit"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise OSError('half of it is gone')\n")
    package = Path(str(importlib.util.find_spec("evalkit_commands_authoring").origin))  # type: ignore[union-attr]
    path = os.pathsep.join([str(broken.parent), str(package.parents[1])])
    done = subprocess.run(
        [sys.executable, "-m", f"{package.parent.name}.doctor", "--no-imports"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "importing it failed with OSError: half of it is gone" in done.stdout
    assert f"is imported from {broken}" in done.stdout
    assert done.stderr == ""


# versions


def test_another_project_called_evalkit_is_told_and_what_it_wrote_over(
    fake_distribution: Make,
) -> None:
    fake = fake_distribution("", {"other": {"x": "x"}}, name="evalkit", version="9.9")
    (finding,) = versions.check_foreign(Only(fake))
    assert (finding.severity, finding.subject) == ("warning", "evalkit 9.9")
    assert finding.mend.endswith("uninstall --yes evalkit")
    (folder_of(fake) / "RECORD").write_text("evalkit/__init__.py,,\n")
    (finding,) = versions.check_foreign(Only(fake))
    assert finding.severity == "error"
    assert "wrote over files of evalkit-core: evalkit/__init__.py" in finding.meaning
    assert finding.mend.endswith("--force-reinstall --no-deps evalkit-core")
    assert not [*versions.check_foreign(Only())]


def test_what_is_required_and_not_there_is_told(fake_distribution: Make) -> None:
    fake = fake_distribution(METRIC, {GROUP: {"short": "get_short"}}, name="brief")
    with (folder_of(fake) / "METADATA").open("a") as stream:
        stream.write("Requires-Python: <3\nRequires-Dist: nobody-has-this>=2\n")
        stream.write("Requires-Dist: brief>=7\nRequires-Dist: x; extra == 'more'\n")
    other, missing = versions.check_requirements(Only(fake))
    assert (other.subject, missing.subject) == ("brief", "nobody-has-this")
    assert other.message == "is there in 1.2.3, and required by brief >=7"
    assert missing.message == "is not installed, and required by brief >=2"
    assert missing.mend.endswith("install 'nobody-has-this>=2'")
    (old,) = versions.check_python(Only(fake))
    assert "is for Python <3, and this is 3." in old.message


def test_without_packaging_what_is_missing_is_told(
    fake_distribution: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = fake_distribution(METRIC, {GROUP: {"short": "get_short"}}, name="brief")
    with (folder_of(fake) / "METADATA").open("a") as stream:
        stream.write("Requires-Dist: not-there[x]>=2; python_version>'3'\n")
        stream.write("Requires-Dist: brief>=7\nRequires-Dist: x; extra == 'more'\n")
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    monkeypatch.setitem(sys.modules, "packaging.specifiers", None)
    (missing,) = versions.check_requirements(Only(fake))
    assert missing.message == "is not installed, and required by brief"
    assert missing.mend.endswith("install not-there")
    assert not [*versions.check_python(Only(fake))]


def test_a_part_of_another_release_is_told(fake_distribution: Make) -> None:
    core = fake_distribution("", "", name="evalkit-core", version="0.1.0")
    cli_ = fake_distribution("", "", name="evalkit-cli", version="0.2.0")
    outside = fake_distribution("", "", name="evalkit-metrics-mine", version="7")
    (finding,) = versions.check_in_step(Only(core, cli_, outside))
    assert finding.subject == "evalkit-cli 0.2.0"
    assert finding.mend.endswith("install --upgrade evalkit-cli==0.1.0")


def test_a_missing_core_is_told(fake_distribution: Make) -> None:
    (finding,) = versions.check_core(Only())
    assert (finding.severity, finding.subject) == ("error", "evalkit-core")


def test_the_evalkit_of_another_environment_is_told(tmp_path: Path) -> None:
    script = tmp_path / "evalkit"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    environment = Environment(variables={"PATH": str(tmp_path)})
    (finding,) = versions.check_script(environment)
    assert finding.subject == str(script)
    assert finding.mend.startswith(f'export PATH="{Path(sys.executable).parent}')
    own = Environment(variables={"PATH": str(Path(sys.executable).parent)})
    assert not [*versions.check_script(own)]


# names


def test_names_that_clash_are_told_with_a_way_to_each(fake_distribution: Make) -> None:
    for name in ("brief", "terse"):
        fake_distribution(METRIC, {GROUP: {"short": "get_short"}}, name=name)
    fake_distribution(METRIC, {GROUP: {"accuracy": "get_short"}}, name="thief")
    found = {each.subject: each for each in check_clashes(Environment())}
    both = found["metrics/short"]
    assert both.message == "is declared by brief 1.2.3, terse 1.2.3"
    assert both.meaning == "the name alone is refused"
    assert both.mend.startswith("write short@brief or short@terse; or: ")
    usual = found["metrics/accuracy"]
    assert usual.meaning.endswith("means that of evalkit-metrics-classification")
    assert usual.mend.endswith("uninstall --yes thief")


def test_what_is_shadowed_or_hidden_is_told(
    fake_distribution: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = {GROUP: {"short": "get_short"}, "evalkit.commands": {"runs": "x"}}
    fake_distribution(METRIC, point, name="brief", version="1")
    fake_distribution(METRIC, point, name="brief", version="2")
    environment = Environment(own_commands=frozenset({"runs"}))
    copy, command = of("brief", [*check_shadowed(environment)])
    assert "version 1 is not used, because version 2 comes first" in copy.message
    assert (command.severity, command.mend) == ("note", "evalkit runs@brief")
    monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "brief,metrics/nobody")
    (hidden,) = check_hidden(Environment())
    assert hidden.message == "hides 2 plugins: commands/runs, metrics/short"
    assert hidden.mend == "unset EVALKIT_DISABLE_PLUGINS"
    (wrong,) = check_metadata(Environment())
    assert (wrong.severity, wrong.subject) == ("warning", "EVALKIT_DISABLE_PLUGINS")
    assert "'metrics/nobody' is neither an installed plugin" in wrong.message


def test_a_plugin_for_another_core_and_an_illegal_name_are_told_apart(
    fake_distribution: Make,
) -> None:
    old = fake_distribution(METRIC, {GROUP: {"short": "get_short"}}, name="old")
    with (folder_of(old) / "METADATA").open("a") as stream:
        stream.write("Requires-Dist: evalkit-core<0.0.1\n")
    fake_distribution(METRIC, {GROUP: {"Not A Name": "x"}}, name="wild")
    found = [*check_metadata(Environment())]
    (excluded,), (illegal,) = of("old", found), of("wild", found)
    assert (excluded.severity, excluded.check) == ("error", "in step")
    assert excluded.mend.endswith("install --upgrade old evalkit-core")
    assert illegal.severity == "warning"
    assert illegal.mend.startswith("tell its author")


# installations


@pytest.fixture
def editable(fake_distribution: Make, tmp_path: Path) -> Any:
    fake = fake_distribution(METRIC, {GROUP: {"short": "m:get_short"}}, name="brief")
    source = tmp_path / "of a person" / "brief"
    source.mkdir(parents=True)
    address = {"url": source.as_uri(), "dir_info": {"editable": True}}
    (folder_of(fake) / "direct_url.json").write_text(json.dumps(address))
    (source / "pyproject.toml").write_text(
        '[project]\nname = "brief"\nversion = "1.2.3"\n'
        '[project.entry-points."evalkit.metrics"]\nshort = "m:get_short"\n'
    )
    fake.source = source
    return fake


def test_changed_entry_points_and_versions_are_told(editable: Any) -> None:
    (editable.source / "pyproject.toml").write_text(
        '[project]\nname = "brief"\nversion = "2"\n'
        '[project.entry-points."evalkit.metrics"]\nlong = "m:get_long"\n'
    )
    version, points = check_editable(Only(editable))
    assert version.message.startswith("is the version 2 in ")
    assert points.message.endswith("metrics/long is new, metrics/short is gone")
    assert points.mend.endswith(f"install --no-deps --editable '{editable.source}'")


def test_a_source_folder_that_is_gone_or_unreadable_is_told(editable: Any) -> None:
    (editable.source / "pyproject.toml").write_text("[project")
    (finding,) = check_editable(Only(editable))
    assert "pyproject.toml cannot be read: " in finding.message
    (editable.source / "pyproject.toml").unlink()
    editable.source.rmdir()
    (finding,) = check_editable(Only(editable))
    assert finding.severity == "error"
    assert finding.message == f"its source folder {editable.source} is gone"
    assert finding.mend.endswith("uninstall --yes brief")


def test_what_an_interrupted_installation_left_is_told(fake_distribution: Make) -> None:
    fake = fake_distribution(METRIC, {GROUP: {"short": "get_short"}})
    left = fake.folder / "~valkit_core-0.1.0.dist-info"
    left.mkdir()
    assert str(left) in {each.subject for each in check_left_over(Only())}


# imports


def test_what_cannot_be_imported_is_told_once_for_all_that_fail_alike(
    fake_distribution: Make,
) -> None:
    code = "import sys\nprint('noise')\nprint('{\"done\": 1}', file=sys.stderr)\n"
    points = {"good": "get_short", "gone": "nobody", "lost": "not_there_xyz:x"}
    fake = fake_distribution(code + METRIC, {GROUP: points}, name="brief")
    (imported,) = import_all([Installed(folder_of(fake))])
    gone, lost = check_imports([imported])
    assert "metrics/gone failed with AttributeError" in gone.message
    assert "metrics/lost failed with ModuleNotFoundError" in lost.message
    assert lost.mend.endswith("install --force-reinstall brief")


@pytest.mark.parametrize(
    ("code", "timeout", "message"),
    [
        ("import os; os._exit(0)", 60, "ended its process with exit code 0"),
        ("import time; time.sleep(60)", 0.5, "took more than 0.5 seconds"),
        ("1 / 0", 60, "failed with ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.slow
def test_a_plugin_that_ends_its_process_or_takes_for_ever_is_told(
    fake_distribution: Make, code: str, timeout: float, message: str
) -> None:
    fake = fake_distribution(code, {GROUP: {"a": "x", "b": "y"}}, name="brief")
    found = [*check_imports(import_all([Installed(folder_of(fake))], timeout))]
    assert found[0].message.startswith("importing metrics/a")
    assert found[0].message.endswith(message)


def test_a_failure_that_quotes_a_secret_is_told_without_it(
    fake_distribution: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE_API_KEY", "sesame-open-now")
    monkeypatch.setenv("MINE_MODE", "strictly")
    code = (
        "import os\n\nraise RuntimeError(\n"
        "    f\"no {os.environ['MINE_API_KEY']} {os.environ['MINE_MODE']}\"\n)\n"
    )
    fake = fake_distribution(code, {GROUP: {"short": "get_short"}}, name="brief")
    imported = import_all([Installed(folder_of(fake))])
    (finding,) = check_imports(imported)
    assert "sesame" not in repr([imported, finding])
    assert "no (the value of MINE_API_KEY) strictly" in finding.message


@pytest.mark.parametrize(
    "written", ["5", '"done"', '["done"]', '{"done": []}', '{"done": "x", "begun": 1}']
)
def test_what_a_plugin_writes_among_the_reports_is_none(
    fake_distribution: Make, written: str
) -> None:
    code = f"""
import os
for number in range(3, 12):
    try:
        os.write(number, {(written + chr(10)).encode()!r})
    except OSError:
        pass
1 / 0
"""
    fake = fake_distribution(code, {GROUP: {"a": "x"}}, name="brief")
    (finding,) = check_imports(import_all([Installed(folder_of(fake))]))
    assert finding.message.endswith("ZeroDivisionError: division by zero")


# settings


def test_a_variable_that_names_nothing_is_told_with_its_neighbour() -> None:
    given = {"EVALKIT_CACHEDIR": "/tmp/a b", "EVALKIT_OFFLINE": "1", "PATH": ""}
    given |= {"EVALKIT_TEST_DATA": "x", "EVALKIT_QXZ_QXZ_QXZ": "1"}
    near, far = names.check_variables(Environment(variables=given))
    assert near.message.endswith("did you mean EVALKIT_CACHE_DIR?")
    # what it holds may be a secret
    mend = 'export EVALKIT_CACHE_DIR="$EVALKIT_CACHEDIR"; unset EVALKIT_CACHEDIR'
    assert near.mend == mend
    assert far.mend == "unset EVALKIT_QXZ_QXZ_QXZ"


def test_a_cache_that_cannot_be_written_or_is_too_large_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    assert not [*names.check_cache(Environment())]
    (tmp_path / "cache" / "med").mkdir(parents=True)
    (tmp_path / "cache" / "med" / "file").write_bytes(b"123456")
    monkeypatch.setattr(names, "_LARGE", 3)
    (large,) = names.check_cache(Environment())
    assert large.message.startswith("its datasets take ")
    assert large.mend == "evalkit cache --clear datasets"
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    (finding,) = names.check_cache(Environment())
    assert finding.message == f"{tmp_path / 'file'} is no folder"


def test_a_data_folder_that_is_not_there_or_not_used_is_told(tmp_path: Path) -> None:
    def findings(place: Path) -> list[Finding]:
        environment = Environment(variables={"EVALKIT_DATA_DIR": str(place)})
        return [*names.check_data(environment)]

    (gone,) = findings(tmp_path / "gone")
    assert (gone.severity, gone.message) == (
        "error",
        "EVALKIT_DATA_DIR names no folder",
    )
    (tmp_path / "misspelt").mkdir()
    (unused,) = findings(tmp_path)
    assert "(it has misspelt)" in unused.message
    (tmp_path / "med").mkdir()
    assert not findings(tmp_path)


@pytest.mark.slow
def test_all_of_this_environment_is_imported(fake_distribution: Make) -> None:
    fake_distribution("1 / 0", {GROUP: {"bad": "x"}}, name="brief")
    done = doctor("--json")
    found = json.loads(done.stdout)
    errors = [each for each in found["findings"] if each["severity"] == "error"]
    assert [each["subject"] for each in errors] == ["brief 1.2.3"]
    assert len(found["imports"]) > 20
    assert done.exit_code == 1
