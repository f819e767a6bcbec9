"""Plugins in files that no package holds, named on the command line."""

import json
import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., CompletedProcess[str]]
Invoke = Callable[..., Result]

FILE = '''
from evalkit_models_base import Model
import evalkit
from pydantic import BaseModel


class Text(BaseModel):
    uid: str
    text: str


class Said(BaseModel):
    id: str
    mood: str


class Mood(evalkit.TaskIO):
    """The mood of a text."""

    Input, Output, labels = Text, Said, ("glad", "sad")
    answer_field, perf_metric = "mood", "accuracy"
    perturb_fields = ("text",)
    example = {"uid": "1", "text": "Hooray"}


class Texts(evalkit.Dataset):
    """Two texts."""

    task = Mood
    splits = ("test",)

    def load(self, split):
        rows = [("1", "Hooray", "glad"), ("2", "Alas", "sad")]
        return [{"uid": uid, "text": text, "mood": mood} for uid, text, mood in rows]


@evalkit.metric(bounds=(0, 1), higher_is_better=True)
def get_glad(predictions, targets):
    return sum(said == "glad" for said in predictions) / len(predictions)


def get_sad(predictions, targets):
    return 1 - get_glad(predictions, targets)


class Louder(evalkit.Perturbation):
    """Shouts."""

    families, version, label_effect = ("robustness",), "1", {"*": "invariant"}

    def perturb(self, text):
        return text.upper()
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(FILE, encoding="utf-8")
    said = [{"id": "1", "mood": "glad"}, {"id": "2", "mood": "glad"}]
    lines = "".join(json.dumps(each) + "\n" for each in said)
    (tmp_path / "said.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def record(done: CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = json.loads(done.stdout)
    return read


@pytest.mark.slow
def test_all_of_an_evaluation_may_be_in_a_file(folder: Path, run_evalkit: Run) -> None:
    words = ("eval", "own.py:Texts", "-p", "said.jsonl", "-m", "own.py:get_glad")
    found = record(run_evalkit(*words, "--json"))
    (score,) = (each for each in found["scores"] if each["tag"] is None)
    assert (score["metric"], score["value"]) == ("glad", 1.0)
    used = {each["id"]: each for each in found["components"]}
    for name in ("datasets/texts", "tasks/mood", "metrics/glad"):
        assert used[name]["source_sha256"]
    assert used["metrics/glad"]["distribution"] == "given as a file of Python"
    said = run_evalkit(*words).stdout.splitlines()
    start = "of a file of Python, not of an installed package: "
    (line,) = (each for each in said if each.startswith(start))
    local = ["datasets/texts", "metrics/glad"]
    assert sorted(line.removeprefix(start).split(", ")) == local


@pytest.mark.slow
def test_the_bytes_of_the_file_are_in_the_id_and_its_folder_is_not(
    folder: Path, run_evalkit: Run
) -> None:
    def run_id(file: str) -> str:
        words = ("eval", f"{file}:Texts", "-p", "said.jsonl", "-m", f"{file}:get_glad")
        found: str = record(run_evalkit(*words, "--json"))["fingerprint"]
        return found

    first = run_id("own.py")
    (folder / "below").mkdir()
    shutil.copy("own.py", "below/own.py")
    assert run_id("below/own.py") == first
    Path("below/own.py").write_text(FILE + "\n# changed\n", encoding="utf-8")
    assert run_id("below/own.py") != first


def test_a_file_perturbs(folder: Path, run_evalkit: Run) -> None:
    words = ("perturb", "own.py:Texts", "--perturbation", "own.py:Louder")
    done = run_evalkit(*words, "-o", "copies.jsonl")
    assert done.returncode == 0, done.stderr
    lines = Path("copies.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["HOORAY", "ALAS"]


@pytest.mark.slow
def test_a_stored_run_is_scored_anew_and_says_that_the_file_is_needed(
    folder: Path, run_evalkit: Run
) -> None:
    words = ("eval", "own.py:Texts", "-p", "said.jsonl", "-m", "own.py:get_glad")
    record(run_evalkit(*words, "--json"))
    done = run_evalkit("rescore", "latest", "-m", "own.py:get_sad", "--json")
    assert "sad" in {each["metric"] for each in record(done)["scores"]}
    verified = run_evalkit("verify", "latest")
    assert "given as a file of Python when the run was made" in verified.stdout


# --plugin


WORDS = ("eval", "texts", "-p", "said.jsonl", "-m", "glad")


def test_all_plugins_of_a_file_are_known_by_their_names(
    folder: Path, invoke: Invoke
) -> None:
    listed = invoke("list", "--plugin", "own.py").stdout
    found = [line.split()[0] for line in listed.splitlines() if "(local: own" in line]
    names = ["tasks/mood", "datasets/texts", "metrics/glad", "metrics/sad"]
    assert found == [*names, "perturbations/louder"]
    assert "(local: own.py:Texts) Two texts" in listed
    rows = json.loads(invoke("list", "--plugin", "own.py", "--json").stdout)
    local = [each["id"] for each in rows["components"] if each["local"]]
    assert sorted(local) == sorted(found)
    assert "(local" not in invoke("list").stdout


@pytest.mark.slow
def test_a_run_of_a_file_is_that_of_its_objects_and_is_verified_with_it(
    folder: Path, invoke: Invoke
) -> None:
    found = json.loads(invoke(*WORDS, "--plugin", "own.py", "--json").stdout)
    of_objects = ("eval", "own.py:Texts", "-p", "said.jsonl", "-m", "own.py:get_glad")
    same = json.loads(invoke(*of_objects, "--json").stdout)
    assert found["fingerprint"] == same["fingerprint"]
    used = {each["id"]: each for each in found["components"]}
    assert used["metrics/glad"]["distribution"] == "given as a file of Python"
    done = invoke("verify", "latest", "--plugin", "own.py")
    assert "1 score computed again, all the same" in done.stdout
    done = invoke("rescore", "latest", "--plugin", "own.py", "-m", "sad", "--json")
    assert "sad" in {each["metric"] for each in json.loads(done.stdout)["scores"]}


@pytest.mark.slow
def test_workers_and_perturbations_know_them_too(folder: Path, invoke: Invoke) -> None:
    done = invoke(*WORDS, "--plugin", "own.py", "--jobs", "2", "-q")
    assert done.exit_code == 0, done.stderr
    words = ("perturb", "texts", "--plugin", "own.py", "--perturbation", "louder")
    done = invoke(*words, "-o", "copies.jsonl")
    assert "  evalkit eval texts --plugin own.py --predictions" in done.stdout
    assert "HOORAY" in Path("copies.jsonl").read_text(encoding="utf-8")
    assert "metrics/glad" in invoke("show", "metrics/glad", "--plugin", "own.py").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def get_accuracy(predictions, targets): ...",
            "metrics/accuracy (given as a file of Python), in f.py:get_accuracy, would "
            "be called like metrics/accuracy (evalkit-metrics-classification ",
        ),
        (
            "from evalkit_models_base import Model\nclass Two(Model): ...\ntwo = Two()",
            "in f.py:two, would be called like models/two (given as a file of Python), "
            "in f.py:Two: give it another name",
        ),
        ("import evalkit\nclass _Hidden(evalkit.Metric): ...", "no plugin is in it"),
        ("from json import dumps\ndef helper(): ...", "no plugin is in it"),
        ("1 / 0", "f.py: running it failed with ZeroDivisionError"),
        ("def get_Ä(predictions): ...", "is not a legal name for a plugin"),
    ],
)
def test_a_file_that_holds_no_plugin_or_hides_one_is_refused(
    folder: Path, invoke: Invoke, text: str, message: str
) -> None:
    Path("f.py").write_text(text, encoding="utf-8")
    done = invoke("list", "--plugin", "f.py")
    assert done.exit_code == 1
    assert message in done.stderr
    assert invoke("list").exit_code == 0


def test_a_class_that_is_nearly_a_plugin_is_told_what_it_lacks(
    folder: Path, invoke: Invoke
) -> None:
    low = "class Low:\n    def adapt_row(self, row):\n        return row\n"
    own = "def get_one(predictions, targets):\n    return 1\n"
    Path("f.py").write_text(low + own, encoding="utf-8")
    done = invoke("list", "--plugin", "f.py")
    assert "notice: Low has hooks, but lacks version of adapters: it" in done.stderr
    assert "adapters/low" not in done.stdout
    low = low.replace(":\n", ":\n    version = '1'\n", 1)
    Path("f.py").write_text(low, encoding="utf-8")
    done = invoke("list", "--plugin", "f.py")
    assert ("adapters/low" in done.stdout, done.stderr) == (True, "")


def test_two_files_with_one_name_are_refused_and_both_are_named(
    folder: Path, invoke: Invoke
) -> None:
    shutil.copy("own.py", "other.py")
    done = invoke(*WORDS, "--plugin", "own.py", "--plugin", "other.py")
    assert done.exit_code == 1
    assert "in other.py:Mood, would be called like tasks/mood" in done.stderr
    assert "in own.py:Mood: give it another name" in done.stderr
    done = invoke("list", "--plugin", "own.py", "--plugin", "./own.py")
    assert done.exit_code == 0, done.stderr


def test_completing_a_word_runs_no_file(folder: Path, run_evalkit: Run) -> None:
    Path("f.py").write_text("open('ran', 'w')", encoding="utf-8")
    words = "evalkit eval --plugin f.py -m accur"
    complete = {"_EVALKIT_COMPLETE": "bash_complete", "COMP_CWORD": "5"}
    run_evalkit(COMP_WORDS=words, **complete)
    assert not Path("ran").exists()


# what a project declares


def declare(text: str, place: Path = Path()) -> None:
    (place / "pyproject.toml").write_text(text, encoding="utf-8")


GLAD = '[tool.evalkit.plugins.metrics]\ncheer = "./own.py:get_glad"\n'
CHEER = ("eval", "own.py:Texts", "-p", "said.jsonl", "-m", "cheer")


def test_what_a_project_declares_runs_when_it_is_named(
    folder: Path, invoke: Invoke
) -> None:
    noisy = "open('ran', 'a').close()\n"
    own = Path("own.py")
    own.write_text(noisy + own.read_text(encoding="utf-8"), encoding="utf-8")
    declare(GLAD)
    listed = invoke("list", "metrics").stdout
    place = f"declared in {folder / 'pyproject.toml'}"
    assert f"(local: own.py:get_glad, {place})" in listed
    invoke("eval", "sample-sentiment", "-q")
    assert not Path("ran").exists()
    where = re.escape(f"metrics/cheer is own.py:get_glad, {place}")
    with pytest.warns(UserWarning, match=where):
        done = invoke(*CHEER, "--json")
    assert {each["metric"] for each in json.loads(done.stdout)["scores"]} == {"cheer"}


def test_parents_are_looked_into_up_to_the_root_of_the_repository(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(GLAD)
    below = folder / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert "metrics/cheer" not in invoke("list").stdout
    (folder / ".git").touch()
    assert f"(local: {folder / 'own.py'}:get_glad, " in invoke("list").stdout
    (below / ".git").mkdir()
    assert "metrics/cheer" not in invoke("list").stdout


def test_an_adapter_in_a_file_is_compared_with_what_it_was(
    folder: Path, invoke: Invoke
) -> None:
    code = "class Same:\n    version = '1'\n    def adapt_row(self, row): yield row\n"
    Path("same.py").write_text(code, encoding="utf-8")
    given = ("--plugin", "same.py")
    said = ("eval", "own.py:Texts", "-p", "said.jsonl", "-m", "accuracy", "-q")
    assert not invoke(*said, *given, "--adapter", "predictions=same").exit_code
    Path("same.py").write_text(f"{code}\n", encoding="utf-8")
    done = invoke("verify", "latest", *given)
    assert "changed since: adapters/same source" in done.stdout, done.output


def test_what_is_declared_may_be_given_as_well(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(GLAD)
    done = invoke("list", "metrics", "--plugin", "own.py")
    assert done.stderr == ""
    assert done.stdout.count("metrics/cheer") == 1
    (folder / ".git").mkdir()
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    done = invoke("list", "metrics", "--plugin", "../own.py")
    assert done.stderr == ""
    assert "(local: ../own.py:get_glad" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        '[tool.evalkit]\nplugins = { metrics = { cheer = "own.py:get_glad" } }',
        '[tool]\nevalkit.plugins.metrics.cheer = "own.py:get_glad"',
        'tool.evalkit.plugins.metrics.cheer = "own.py:get_glad"',
        '[ "tool" . "evalkit" . plugins.metrics ]\ncheer = "own.py:get_glad"',
    ],
)
def test_a_table_is_read_in_whatever_way_it_is_written(
    folder: Path, invoke: Invoke, text: str
) -> None:
    declare(text)
    assert "metrics/cheer" in invoke("list", "metrics").stdout


def test_a_declared_name_hides_no_installed_one(folder: Path, invoke: Invoke) -> None:
    declare('[tool.evalkit.plugins.metrics]\naccuracy = "own.py:get_sad"\n')
    done = invoke("list", "metrics")
    rule = "metrics/accuracy (evalkit-metrics-classification 0.1.0) is called so"
    assert f"metrics/accuracy, own.py:get_sad: {rule}" in done.stderr
    said = ("eval", "sample-sentiment", "-q")
    assert "never hides" not in invoke(*said).stderr
    with pytest.warns(UserWarning, match="own.py:get_sad.*never hides another"):
        done = invoke(*said, "-m", "accuracy")
    assert "65.9 %" in done.stdout


def test_an_installed_plugin_gets_nothing_that_a_project_declares(
    folder: Path, invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    code = (
        "import evalkit\nclass Its(evalkit.Dataset):\n"
        "    task, splits = 'mood', ('test',)\n    def load(self, split): return []\n"
    )
    fake_distribution(code, {"evalkit.datasets": {"its": "Its"}}, name="outside")
    declare('[tool.evalkit.plugins.tasks]\nmood = "own.py:Mood"\n')
    done = invoke("eval", "its", "-p", "said.jsonl")
    assert "there is no task 'mood'" in done.stderr
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.evalkit.plugins", "is not TOML, so that no [tool.evalkit.plugins]"),
        ("[tool.evalkit.plugins.metrics]\nx = 1", "must be a text FILE.py:OBJECT"),
        ("[tool.evalkit.plugins.metrics]\nA = 'f.py:x'", "metrics/A: not a legal name"),
        ("[tool.evalkit.plugins]\nmetric = {}", "has 'metric', which is no table of"),
        ("[tool.evalkit]\nplugins = 'own.py'", "is no table, but 'own.py'"),
    ],
)
def test_a_wrong_declaration_is_told(
    folder: Path, invoke: Invoke, text: str, message: str
) -> None:
    declare(text)
    done = invoke("list")
    assert f"warning: {folder / 'pyproject.toml'}: " in done.stderr
    assert message in done.stderr


def test_variables_hide_what_is_declared(folder: Path, invoke: Invoke) -> None:
    declare(GLAD)
    hidden = invoke("list", EVALKIT_ALLOW_PLUGINS="metrics/accuracy")
    assert "cheer" not in hidden.stdout
    done = invoke("list", EVALKIT_DISABLE_PLUGINS="metrics/cheer")
    assert (done.stderr, "cheer" in done.stdout) == ("", False)


ADAPTER = """
import evalkit
open("ran", "a").close()

class Same(evalkit.Adapter):
    version = "1"

    def adapt_row(self, row):
        yield row
"""

JUDGE = {"rubric": "Kind?", "prompt": {"user": "{rubric} {response}"}}
JUDGE |= {"verdict": {"kind": "correct"}}


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("--adapter", [{"kind": "same"}]),
        ("--adapter", [{"kind": "code.py:Same"}]),
        ("--annotate", {"annotator": "same", **JUDGE}),
        ("--annotate", {"annotator": "code.py:Same"}),
        ("--annotate", {"model": "code.py:Same", **JUDGE}),
        ("--annotate", {"model": "code.py:Same:a=b", "asking": {"dry_run": True}}),
    ],
)
def test_a_file_names_no_code_that_the_command_does_not_name(
    folder: Path, invoke: Invoke, option: str, content: Any, declared: bool
) -> None:
    Path("code.py").write_text(ADAPTER, encoding="utf-8")
    table = "[tool.evalkit.plugins.{}]\nsame = 'code.py:Same'\n"
    declare("".join(map(table.format, ("adapters", "annotators"))))
    Path("file.json").write_text(json.dumps(content), encoding="utf-8")
    more = ("--dry-run",) if declared and option == "--annotate" else ()
    value = "predictions=file.json" if option == "--adapter" else "file.json"
    said = ("eval", "sample-sentiment", option, value, *more)
    done = invoke(*said)
    assert done.exit_code == 1
    assert "Allow it with --plugin code.py" in done.stderr
    assert not Path("ran").exists()
    if option == "--adapter":
        allowed = invoke(*said, "--plugin", "code.py", "-q")
        assert "Allow it" not in allowed.stderr
        assert Path("ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own.py:get_glad", "cheer"])
@pytest.mark.parametrize("options", [(), ("--plugin", "own.py")])
def test_a_project_adds_a_metric_of_a_file_only_where_that_is_named(
    folder: Path, invoke: Invoke, name: str, options: tuple[str, ...]
) -> None:
    (folder / (here := f"{name[:3]}{len(options)}")).mkdir()
    os.chdir(here)  # pytest reuses folders, and what is read of a project is kept
    Path("own.py").write_text(f"open('ran', 'a').close()\n{FILE}", encoding="utf-8")
    declare(f'{GLAD}[tool.evalkit.tasks.sentiment]\neval_metrics = ["{name}"]\n')
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = invoke("eval", "sample-sentiment", "-q", "--json", *options)
    assert '"accuracy"' in done.stdout
    is_added = any(each in done.stdout for each in ('"glad"', '"cheer"'))
    assert Path("ran").exists() == is_added == bool(options)
    refused = [each for each in caught if "Allow it with --plugin own.py" in str(each)]
    assert bool(refused) == (not options)


def test_a_file_imports_those_beside_it(folder: Path, invoke: Invoke) -> None:
    for place, value in (("one", "1"), ("two", "0")):
        Path(place).mkdir()
        Path(place, "helper_of_glad.py").write_text(f"VALUE = {value}\n")
        code = "import helper_of_glad\n\n\ndef get_glad(predictions, targets):\n"
        Path(place, "m.py").write_text(f"{code}    return helper_of_glad.VALUE\n")
    said = ("eval", "own.py:Texts", "-p", "said.jsonl", "--json")
    done = invoke(*said, "-m", "one/m.py:get_glad")
    assert json.loads(done.stdout)["scores"][0]["value"] == 1
    done = invoke(*said, "-m", "two/m.py:get_glad")
    assert "'helper_of_glad' was imported from " in done.stderr


def test_an_annotation_file_that_is_nested_too_deeply_is_named(
    folder: Path, invoke: Invoke
) -> None:
    Path("deep.toml").write_text("a = " + "[" * 5_000 + "]" * 5_000)
    done = invoke("eval", "sample-sentiment", "--annotate", "deep.toml")
    assert done.exit_code == 1
    assert "deep.toml: invalid TOML" in done.stderr


def test_a_model_whose_name_is_no_name_writes_nothing(
    folder: Path, invoke: Invoke
) -> None:
    code = """
from evalkit_models_base import Model

class Up(Model):
    def describe(self):
        return {"name": ".."}

    def predict(self, inputs):
        return ["positive"] * len(inputs)
"""
    Path("up.py").write_text(code, encoding="utf-8")
    before = sorted(folder.parent.iterdir())
    models = ("--model", "up.py:Up", "--model", "constant:answer=positive")
    done = invoke("predict", "sample-sentiment", *models, "-o", "out")
    assert done.exit_code == 1
    assert "the name '..' has no letter or digit" in done.stderr
    assert not Path("out").exists()
    assert sorted(folder.parent.iterdir()) == before
