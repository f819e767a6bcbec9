"""No text of a file, a run folder, a plugin or an argument steers the terminal."""

import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from edited_runs import read_everything, write_record

from evalkit_cli.main import main
from evalkit_cli.printing import progress_bar

HOSTILE = "\x1b[31m\x9b2J\x07\x7f\u202e\x08|[1ex]`<b>"
SHOWN = "\\x1b[31m\\x9b2J\\x07\\x7f\\u202e\\x08"

STEERS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]"
)
"""All control characters but the line feed, and what turns a text around."""

BACKSLASH = re.compile(r"\\textbackslash\{\}|\\+")

PLUGINS = f"""
HOSTILE = {HOSTILE!r}


class Cited:
    '''Measures nothing. \\x1b[31m'''

    unit = "x" + HOSTILE
    citation = "Cited " + HOSTILE
    license = "Free " + HOSTILE

    def score_example(self, prediction, target):
        return float(prediction == target)


class Lower:
    families = {{"robustness"}}
    version = "1"
    label_effect = {{"*": "invariant"}}

    def perturb(self, text):
        return "\\u202e" + text.lower() + "\\x1b[2J"


class Broken:
    def __init__(self):
        raise ValueError("broken " + HOSTILE)
"""

ENTRY_POINTS = {
    "evalkit.metrics": {"cited": "Cited", "broken": "Broken"},
    "evalkit.perturbations": {"lower": "Lower"},
}

LABELS = ("positive", "negative", "neutral")


class Printed(NamedTuple):
    """What a command printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Printed]


@pytest.fixture(params=[False, True], ids=["piped", "terminal"])
def is_terminal(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ways(is_terminal: bool) -> list[tuple[str, ...]]:
    """Options for all formats; on a terminal only those that are drawn otherwise."""
    formats = ("table",) if is_terminal else ("table", "md", "csv", "latex")
    json_too = [] if is_terminal else [("--json",)]
    return [*(("--format", name) for name in formats), *json_too]


@pytest.fixture
def command(
    is_terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Command:
    """Run a command in this process as its console script does."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setenv("EVALKIT_MIN_N", "1")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(progress_bar, "_PATIENCE", 600.0)

    def run(*arguments: str, shows: bool = True) -> Printed:
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            patch.setattr(sys, "argv", ["evalkit", *arguments])
            for stream in (sys.stdout, sys.stderr) if is_terminal else ():
                patch.setattr(stream, "isatty", lambda: True, raising=False)
            with pytest.raises(SystemExit) as ended:
                main()
        printed = capfd.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        for text in printed:
            found = STEERS.search(text)
            assert found is None, (arguments, text[found.start() - 80 :][:160])
        if shows:
            whole = BACKSLASH.sub("/", printed.out + printed.err)
            assert "/x1b[31m" in whole or "/u001b[31m" in whole, (arguments, whole)
        return Printed(code, printed.out, printed.err)

    return run


@pytest.fixture
def files(
    fake_distribution: Callable[..., Any], write_rows: Callable[..., str]
) -> dict[str, str]:
    """Write data and predictions of which all texts are hostile."""
    fake = fake_distribution(PLUGINS, ENTRY_POINTS, name="sly")
    [info] = fake.folder.glob("*.dist-info")
    metadata = f"Name: sly\nVersion: 1\x1b[31m\nSummary: ring {HOSTILE}\n"
    (info / "METADATA").write_text(metadata, "utf-8")

    def examples(first: int) -> list[dict[str, Any]]:
        return [
            {
                "uid": f"{number}{HOSTILE}",
                "statement": f"Review {number} {HOSTILE}",
                "label": LABELS[number % 3],
                "tags": [f"topic{HOSTILE}:{number % 2}{HOSTILE}", f"plain{HOSTILE}"],
                f"column{HOSTILE}": f"value {number % 2}{HOSTILE}",
            }
            for number in range(first, first + 12)
        ]

    def predictions(first: int, shift: int) -> list[dict[str, Any]]:
        return [
            {
                "id": f"{number}{HOSTILE}",
                "label": LABELS[(number + (number % 4 == shift)) % 3],
                f"field{HOSTILE}": f"{number % 2}{HOSTILE}",
            }
            for number in range(first, first + 12)
        ]

    bad = [
        {"id": f"0{HOSTILE}", "label": f"angry{HOSTILE}"},
        {"id": f"unknown{HOSTILE}", "label": "positive"},
        f"not json {HOSTILE}",
    ]
    return {
        "data": write_rows(f"data{HOSTILE.replace('/', '')}.jsonl", examples(0)),
        "more": write_rows(f"more{HOSTILE}.jsonl", examples(12)),
        "a": write_rows(f"a{HOSTILE}.jsonl", predictions(0, 1)),
        "b": write_rows(f"b{HOSTILE}.jsonl", predictions(0, 2)),
        "a-more": write_rows(f"a-more{HOSTILE}.jsonl", predictions(12, 1)),
        "bad": write_rows(f"bad{HOSTILE}.jsonl", bad),
    }


@pytest.mark.slow
def test_evaluations(
    command: Command, files: dict[str, str], ways: list[tuple[str, ...]]
) -> None:
    data = ("--data", files["data"], "--task", "sentiment")
    assert command("validate", *data, "-p", files["bad"]).code == 1
    assert command("validate", *data, "-p", files["a"]).code == 0
    assert command("eval", *data, "-p", files["bad"]).code == 1
    lenient = ("--on-invalid", "wrong", "--on-missing", "wrong", "--model", HOSTILE)
    command("eval", *data, "-p", files["bad"], *lenient)
    by = ("--by", f"column{HOSTILE}", "-m", "cited", "-m", "accuracy")
    two = ("-p", f"a{HOSTILE}={files['a']}", "-p", files["b"])
    for way in ways[::2]:
        assert command("eval", *data, *two, *by, *way, "-v").code == 0
    assert command("eval", *data, *two, *by, "-q").code == 0
    assert command("eval", *data, "-p", files["a"], "-m", "broken").code == 1
    under = ("--fail-under", f"cited{HOSTILE}=2")
    assert command("eval", *data, "-p", files["a"], *under).code == 2


@pytest.mark.slow
def test_views_of_runs(
    command: Command, files: dict[str, str], ways: list[tuple[str, ...]]
) -> None:
    data = ("--data", files["data"], "--task", "sentiment", "-m", "cited")
    assert command("eval", *data, "-p", files["a"]).code == 0
    assert command("eval", *data, "-p", files["b"]).code == 0
    tag = ("--tag", f"plain{HOSTILE}")
    by = ("--by", f"column{HOSTILE}", "--by", f"field{HOSTILE}")
    for way in ways:
        assert command("runs", *way).code == 0
        assert command("show", "latest", "-v", *way).code == 0
        assert command("show", "latest", "--wrong", *tag, *way).code == 0
        assert command("show", "latest", "--confusion", *way, shows=False).code == 0
        assert command("compare", f"a{HOSTILE}", f"b{HOSTILE}", "-v", *way).code == 0
    command("show", "latest", *by)
    detect = ("--detect", "0.1")
    assert command("plan", f"a{HOSTILE}", f"b{HOSTILE}", *detect).code == 0
    assert command("verify", f"a{HOSTILE}").code == 0
    assert command("cite", "latest").code == 0
    assert command("cite", "latest", "--format", "text").code == 0
    assert command("rescore", f"a{HOSTILE}", "-m", "accuracy").code == 0
    assert command("show", "latest", "--wrong", "--tag", f"none{HOSTILE}").code <= 1
    assert command("runs", "--model", f"nobody{HOSTILE}", "-o", HOSTILE).code == 0
    more = ("--data", files["more"], "--task", "sentiment", "-m", "cited")
    assert command("eval", *more, "-p", files["a-more"], "--model", HOSTILE).code == 0
    new = ("--dataset", f"set{HOSTILE}", "--model", f"model{HOSTILE}")
    command("merge", "latest", f"b{HOSTILE}", *new)


@pytest.mark.slow
def test_perturbed_copies(
    command: Command, files: dict[str, str], ways: list[tuple[str, ...]]
) -> None:
    data = ("--data", files["data"], "--task", "sentiment")
    lower = ("--perturbation", "lower")
    out = f"copies{HOSTILE}.jsonl"
    assert command("perturb", *data, *lower, "-o", out).code == 0
    rows = command("perturb", *data, *lower, "-o", "-").out.splitlines()
    assert [json.loads(row) for row in rows] == [
        json.loads(row) for row in Path(out).read_text("utf-8").split("\n")[:-1]
    ]
    assert (
        command("perturb", *data, *lower, "--json", "--overwrite", "-o", out).code == 0
    )
    answers = [{"id": json.loads(row)["uid"], "label": "positive"} for row in rows]
    lines = "".join(f"{json.dumps(row)}\n" for row in answers)
    Path(f"answers{HOSTILE}").with_suffix(".jsonl").write_text(lines, "utf-8")
    copies = ("--perturbed", out, "--perturbed-predictions")
    given = str(Path(f"answers{HOSTILE}").with_suffix(".jsonl"))
    assert command("eval", *data, "-p", files["a"], *copies, given).code == 0
    for way in ways:
        assert command("show", "latest", "-v", *way).code == 0
        assert command("show", "latest", "--flips", *way).code == 0


@pytest.mark.slow
def test_run_folders_that_somebody_edited(
    command: Command, files: dict[str, str], ways: list[tuple[str, ...]]
) -> None:
    data = ("--data", files["data"], "--task", "sentiment", "-m", "cited")
    assert command("eval", *data, "-p", files["a"]).code == 0
    assert command("eval", *data, "-p", files["b"]).code == 0
    for path in Path("runs").glob("*/*/run.json"):
        record = read_everything(path.parent)
        for name in ("notices", "warnings"):
            record[name] = [f"edited {HOSTILE}"]
        record["dataset"] = record["task"] = record["split"] = f"edited{HOSTILE}"
        for score in record["scores"]:
            score["unit"] = score["flag"] = score["reason"] = HOSTILE
        record["headline_score"] = record["scores"][0]
        write_record(path.parent, record)
    for way in ways:
        assert command("runs", *way).code == 0
        assert command("show", "latest", *way).code == 0
        command("compare", f"a{HOSTILE}", f"b{HOSTILE}", *way)
    command("verify", "latest")
    command("cite", "latest", shows=False)
    command("plan", "latest", "--detect", "0.1")
    command("rescore", "latest", "-m", "accuracy")
    for path in Path("runs").glob("*/*/run.json"):
        path.write_text(f'{{"{json.dumps(HOSTILE)}": ', "utf-8")
    command("runs", shows=False)
    command("show", "latest", shows=False)


def test_plugins(command: Command, files: dict[str, str]) -> None:
    assert command("list", "metrics").code == 0
    assert command("list", "metrics", "--json").code == 0
    assert command("show", "metrics/cited").code == 0
    assert command("show", "metrics/cited", "--json").code == 0
    assert command("show", "metrics/broken").code == 1


def test_arguments(command: Command, files: dict[str, str]) -> None:
    data = ("--data", files["data"], "--task", "sentiment")
    for arguments in (
        (HOSTILE,),
        ("show", HOSTILE),
        ("show", f"metrics/{HOSTILE}"),
        ("eval", f"--{HOSTILE}"),
        ("eval", HOSTILE, "-p", files["a"]),
        ("eval", *data, "-p", f"missing{HOSTILE}"),
        ("eval", *data, "-p", files["a"], "-m", HOSTILE),
        ("eval", *data, "-p", files["a"], "--by", HOSTILE),
        ("eval", *data, "-p", files["a"], "--format", HOSTILE),
        ("eval", *data, "-p", files["a"], "--filter", HOSTILE),
        ("eval", "--predictions-dir", HOSTILE),
        ("compare", HOSTILE, HOSTILE),
        ("plan", HOSTILE),
        ("verify", HOSTILE),
        ("cite", HOSTILE),
        ("merge", HOSTILE, f"{HOSTILE}2"),
        ("rescore", HOSTILE, "-m", "accuracy"),
        ("perturb", *data, "--perturbation", HOSTILE),
    ):
        assert command(*arguments, shows=False).code in (1, 2), arguments


class Terminal:
    """A stream that says that it is a terminal, and keeps what is written."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


def test_the_progress_bar_shows_names_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_bar, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar.watched(quiet=False) as progress:
        progress(f"[red]scoring[/blue] {HOSTILE}", 0.5)
        deadline = time.monotonic() + 10
        while SHOWN not in terminal.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert f"[red]scoring[/blue] {SHOWN}" in terminal.text
    for mark in ("\x1b[31m\x9b", "\x07", "\x7f", "\u202e", "\x08"):
        assert mark not in terminal.text
