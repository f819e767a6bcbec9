"""`evalkit cite` names what a run used."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import evalkit

Invoke = Callable[..., Result]

SOURCE = """
import evalkit

class Data(evalkit.Dataset):
    task = "sentiment"
    version = "7"
    license = "CC0-1.0 (c) a@b"
    source_url = "https://example.org/data"
    citation = "Doe and Roe: Reviews."

    def load(self, split):
        return [{"uid": "1", "statement": "fine", "label": "positive"}]

class Hits(evalkit.Metric):
    citation = "@book{doe,\\n  title = {Hits}\\n}"

    def score_example(self, prediction, target):
        return float(prediction == target)
"""


@pytest.fixture(autouse=True)
def _run(fake_distribution: Callable[..., Any], predict: Any, invoke: Invoke) -> None:
    entry_points = {"evalkit.datasets": {"cited": "Data"}, "evalkit.metrics": {}}
    entry_points["evalkit.metrics"]["hits"] = "Hits"
    fake_distribution(SOURCE, entry_points, name="cited-plugins", version="2.5")
    file = predict("one.jsonl", ["positive"])
    done = invoke("eval", "cited", "-p", file, "-m", "hits", "-m", "accuracy")
    assert done.exit_code == 0


def test_bibtex_is_printed_with_licences_as_comments(invoke: Invoke) -> None:
    done = invoke("cite", "latest")
    assert (done.exit_code, done.stderr) == (0, "")
    version = evalkit.__version__
    assert done.stdout.split("\n\n") == [
        "@misc{datasets-cited,\n"
        "  title = {cited},\n"
        "  note = {Doe and Roe: Reviews. Version 7},\n"
        "  url = {https://example.org/data}\n"
        "}",
        "@book{doe,\n  title = {Hits}\n}",
        "@misc{evalkit,\n"
        "  title = {evalkit},\n"
        f"  note = {{Software that scores what models said. Version {version}}}\n"
        "}",
        "% licence of datasets/cited 7: CC0-1.0 (c) a(at)b\n"
        f"% licence of tasks/sentiment {version}: Apache-2.0\n"
        f"% licence of metrics/accuracy {version}: Apache-2.0\n"
        f"% licence of evalkit {version}: Apache-2.0\n",
    ]


def test_text_is_printed_for_people(invoke: Invoke) -> None:
    lines = invoke("cite", "latest", "--format", "text").stdout.splitlines()
    assert lines[:8] == [
        "datasets/cited 7",
        "    Doe and Roe: Reviews.",
        "    https://example.org/data",
        "",
        "metrics/hits 2.5",
        "    @book{doe,",
        "      title = {Hits}",
        "    }",
    ]
    assert "licence of datasets/cited 7: CC0-1.0 (c) a@b" in lines


def test_what_is_not_known_is_said_on_the_standard_error(invoke: Invoke) -> None:
    done = invoke("cite", "latest", EVALKIT_DISABLE_PLUGINS="metrics/hits")
    assert done.exit_code == 0
    assert "@book" not in done.stdout
    assert done.stderr.startswith(
        "evalkit: notice: metrics/hits cannot be asked for a citation: "
    )
    invoke("eval", "sample-sentiment", "-q")
    done = invoke("cite", "latest")
    assert done.stderr == (
        "evalkit: notice: datasets/sample-sentiment names no citation of its data\n"
    )
    assert "% licence of datasets/sample-sentiment 1: CC0-1.0\n" in done.stdout


def test_an_unknown_run_is_an_error(invoke: Invoke) -> None:
    done = invoke("cite", "zz")
    assert done.exit_code == 1
    assert done.stderr.startswith("evalkit: error: there is no run 'zz' in runs ")
    assert invoke("cite", "latest", "-o", "nowhere").exit_code == 1


@pytest.mark.slow
def test_warnings_are_told_as_those_of_evalkits_own_commands(
    invoke: Invoke, predict: Any
) -> None:
    file = predict("one.jsonl", ["nonsense"])
    assert invoke("eval", "cited", "-p", file).exit_code == 1
    script = Path(sys.executable).with_name("evalkit")
    done = subprocess.run(
        [script, "cite", "one"], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0
    warning, chosen = done.stderr.splitlines()
    assert warning.startswith(
        "evalkit: warning: the last evaluation of one was refused "
    )
    assert chosen.startswith("evalkit: one is runs/cited/")


def test_without_it_its_distribution_is_named(invoke: Invoke) -> None:
    done = invoke("cite", "latest", EVALKIT_DISABLE_PLUGINS="evalkit-commands-cite")
    assert done.exit_code == 1
    assert done.stderr == (
        f"evalkit: error: commands/cite (evalkit-commands-cite {evalkit.__version__}): "
        "it is disabled by EVALKIT_DISABLE_PLUGINS\n"
    )
