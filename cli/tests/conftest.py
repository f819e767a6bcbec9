"""Fixtures for the tests of the command line."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli

PLUGINS = '''
"""Plugins made by a test."""

import json
import os

import evalkit
from evalkit import Parameters


class Tiny(evalkit.Dataset):
    """Four short reviews."""

    name = "tiny"
    task = "sentiment"
    version = "7"
    license = "CC0-1.0"

    def load(self, split):
        rows = [
            ("1", "a good film", "positive", "film"),
            ("2", "a bad film", "negative", "film"),
            ("3", "an average soup", "neutral", "food"),
            ("4", "a fine soup", "positive", "food"),
        ]
        return [
            {"uid": uid, "statement": text, "label": label, "tags": [f"topic:{topic}"]}
            for uid, text, label, topic in rows
        ]


class Questions(evalkit.Dataset):
    """Two questions whose texts and answers occur nowhere else."""

    name = "questions"
    task = "qa"
    perf_metric = "exact-match"
    eval_metrics = ()

    def load(self, split):
        return [
            {
                "uid": "1",
                "context": "xqwrongone xqanswerone",
                "question": "xqquestionone",
                "answer": "xqanswerone",
            },
            {
                "uid": "2",
                "context": "xqanswertwo",
                "question": "xqquestiontwo",
                "answer": "xqanswertwo",
            },
        ]


class LabelLength(evalkit.Metric):
    """Length of the prediction, times a factor."""

    unit = "chars"

    class Parameters(Parameters):
        factor: float = 1.0
        only: tuple[str, ...] = ()

    def score_example(self, prediction, target):
        if self.parameters.only and prediction not in self.parameters.only:
            return None
        return len(prediction) * self.parameters.factor


class Failing(evalkit.Metric):
    """Fails on the third example."""

    def score_example(self, prediction, target):
        if target == "neutral":
            raise ValueError("no neutral, please")
        return 1.0


def get_agreement(predictions, targets):
    """Share of predictions that equal the target."""
    return sum(p == t for p, t in zip(predictions, targets)) / len(targets)


class Shuffle:
    """Shuffles the words."""

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "uncertain"}

    def perturb(self, text, rng):
        words = text.split()
        rng.shuffle(words)
        return " ".join(words)


def note(hook, **values):
    with open(os.environ["OBSERVED"], "a", encoding="utf-8") as stream:
        stream.write(json.dumps([hook, values]) + "\\n")


class Recorder:
    """Writes down all that it is told."""

    def before_load(self, dataset, split):
        note("before_load", dataset=dataset, split=split)

    def after_load(self, dataset, split, n_examples):
        note("after_load", dataset=dataset, split=split, n_examples=n_examples)

    def before_scoring(self, dataset, model, metrics):
        note("before_scoring", dataset=dataset, model=model, metrics=metrics)

    def after_scoring(self, dataset, model, scores):
        note("after_scoring", dataset=dataset, model=model, scores=scores)

    def before_writing(self, run_id):
        note("before_writing", run_id=run_id)

    def after_writing(self, run_id, path):
        note("after_writing", run_id=run_id, path=path)


class Meddler:
    """Tries to change what it is told, and what others are told."""

    def before_scoring(self, metrics):
        metrics.clear()

    def after_scoring(self, scores):
        for score in scores:
            score["value"] = 1.0
        scores.clear()
        return [1]


class Faulty:
    """Raises whenever it is told something."""

    def before_load(self, dataset):
        raise RuntimeError(f"cannot observe {dataset}")

    def before_writing(self, run_id):
        raise SystemExit(3)
'''

ENTRY_POINTS = {
    "evalkit.datasets": {"tiny": "Tiny", "questions": "Questions"},
    "evalkit.metrics": {
        "label-length": "LabelLength",
        "failing": "Failing",
        "agreement": "get_agreement",
    },
    "evalkit.perturbations": {"shuffle": "Shuffle"},
    "evalkit.observers": {
        "recorder": "Recorder",
        "meddler": "Meddler",
        "faulty": "Faulty",
    },
}

RIGHT = ("positive", "negative", "neutral", "positive")

Invoke = Callable[..., Result]
Complete = Callable[[str, int], Result]
WriteRows = Callable[..., str]
RunOnTerminal = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def _clean_place(clean_place: None) -> None: ...


@pytest.fixture
def plugins(fake_distribution: Callable[..., Any]) -> Any:
    """Install the plugins above as the distribution `tiny-plugins` 4.5.6."""
    return fake_distribution(
        PLUGINS, ENTRY_POINTS, name="tiny-plugins", version="4.5.6"
    )


@pytest.fixture
def complete() -> Complete:
    """Complete words of a command line in this process, as bash asks for it."""

    def run(words: str, position: int) -> Result:
        how = {"_EVALKIT_COMPLETE": "bash_complete", "COMP_CWORD": str(position)}
        variables = {**how, "COMP_WORDS": words}
        return CliRunner().invoke(cli, (), env=variables, prog_name="evalkit")

    return run


@pytest.fixture
def write_rows(tmp_path: Path) -> WriteRows:
    """Write a file of JSON lines."""

    def write(name: str, rows: Iterable[Mapping[str, Any] | str]) -> str:
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return name

    return write


@pytest.fixture
def predict(write_rows: WriteRows) -> WriteRows:
    """Write labels for the ids 1, 2, 3 and so on."""

    def write(name: str, labels: Iterable[str]) -> str:
        rows = [
            {"id": str(number), "label": label}
            for number, label in enumerate(labels, start=1)
        ]
        return write_rows(name, rows)

    return write


@pytest.fixture
def run_on_terminal(tmp_path: Path) -> RunOnTerminal:
    """Run the real console script on a terminal of some width.

    With `talk=False` the standard error, where the progress is shown once the work
    takes a while, goes elsewhere.
    """

    def run(
        *arguments: str, columns: int, talk: bool = True, **variables: str
    ) -> tuple[int, str]:
        script = Path(sys.executable).with_name("evalkit")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", **variables}
        environment.pop("COLUMNS", None)
        process = subprocess.Popen(
            [str(script), *arguments],
            cwd=tmp_path,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs if talk else subprocess.DEVNULL,
        )
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # Linux ends a terminal's output with an error
                break
            if not part:
                break
            shown += part
        os.close(ours)
        return process.wait(60), shown.decode().replace("\r\n", "\n")

    return run


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
