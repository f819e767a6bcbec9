"""Single plots: drawn by matplotlib, and refused clearly without it."""

import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result as Done

import evalkit
from evalkit_commands_report.gathering import gather
from evalkit_commands_report.plots import _name, draw_plot
from evalkit_commands_report.report import PLOTS

from .conftest import HOSTILE

Invoke = Callable[..., Done]


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.slow
def test_each_plot_is_drawn_as_svg(
    invoke: Invoke, runs: Path, tmp_path: Path, plot: str
) -> None:
    pytest.importorskip("matplotlib")
    common = ("report", "good", "bad", HOSTILE, "--runs", str(runs), "--format", "svg")
    done = invoke(*common, "--plot", plot, "-m", "accuracy")
    assert done.exit_code == 0
    assert done.stderr.endswith(f"written to {plot}.svg\n")
    text = (tmp_path / f"{plot}.svg").read_text("utf-8")
    ElementTree.fromstring(text)
    assert "<script" not in text
    assert "good" in text


@pytest.mark.slow
def test_a_picture_of_dots_is_written_too(
    invoke: Invoke, runs: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    common = ("report", "good", "--runs", str(runs), "--format", "png")
    assert invoke(*common, "-o", "a.png", "-q").exit_code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("plot", "model", "why"),
    [
        ("tags", "refused", "the runs have no scores of tags"),
        ("comparison", "good", "name two runs of a data set to compare"),
        ("perturbations", "bad", "no run was evaluated with perturbed copies"),
        ("confusion", "refused", "no scores"),
        ("reliability", "refused", "no run has probabilities of labels"),
    ],
)
def test_what_is_not_there_is_said(
    invoke: Invoke, runs: Path, refused: str, plot: str, model: str, why: str
) -> None:
    pytest.importorskip("matplotlib")
    named = refused if model == "refused" else model
    common = ("report", named, "--runs", str(runs), "--format", "svg", "--plot", plot)
    done = invoke(*common)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == (
        f"evalkit: error: there is nothing to plot: {why}"
    )


def test_without_matplotlib_the_extra_is_named(
    invoke: Invoke, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = invoke("report", "good", "--runs", str(runs), "--format", "png")
    assert done.exit_code == 1
    assert "the extra `plots`: pip install 'evalkit-commands-report[plots]'" in (
        done.stderr
    )


def test_a_plot_of_drops_says_what_its_intervals_hold_for(
    invoke: Invoke, runs: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    common = ("report", "good", "--runs", str(runs), "--format", "svg")
    assert invoke(*common, "--plot", "perturbations").exit_code == 0
    text = (tmp_path / "perturbations.svg").read_text("utf-8")
    assert "drop in accuracy (%), adjusted 95 % intervals" in text
    assert "blur (uncertain)" in text
    assert "shout (uncertain)" not in text


def test_runs_that_left_answers_out_name_their_own_in_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [
        {"uid": str(n), "statement": "x", "label": ("apple", "fig", "pear")[n % 3]}
        for n in range(60)
    ]
    results = []
    for model, left_out in (("all", None), ("some", "fig")):
        said = [
            {"id": row["uid"], "label": row["label"]}
            for row in rows
            if row["label"] != left_out
        ]
        result = evalkit.evaluate(
            data=rows,
            predictions=said,
            task="text-classification",
            model=model,
            on_missing="skip",
        )
        results.append(result)
    text = draw_plot(gather(results, None), "confusion", "svg").decode()
    # once as an answer and once as a prediction of each run that has it
    assert (text.count(">apple<"), text.count(">fig<")) == (4, 2)


def test_the_middle_of_a_long_name_is_left_out() -> None:
    assert _name("x" * 40) == "x" * 40
    assert _name("a" * 50 + "b" * 50) == "a" * 26 + "…" + "b" * 13
