"""How scores are printed."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from share_intervals import share_interval

import evalkit
from evalkit_cli.printing.narrow_tables import fit_columns
from evalkit_cli.printing.score_cells import show_share

Invoke = Callable[..., Result]
Write = Callable[..., str]
RunOnTerminal = Callable[..., tuple[int, str]]
THREE = ("positive", "negative", "positive", "positive")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(autouse=True)
def _plugins(plugins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests here use the plugins of conftest.py, whose tags are very small."""
    monkeypatch.setenv("EVALKIT_MIN_N", "1")


@pytest.fixture
def three(predict: Write) -> str:
    return predict("three.jsonl", THREE)


@pytest.fixture
def show(invoke: Invoke, three: str) -> Callable[..., str]:
    """Print the accuracy of three.jsonl."""

    def run(*options: str, **variables: str) -> str:
        arguments = ("eval", "tiny", "-p", three, "-m", "accuracy", *options)
        done = invoke(*arguments, **variables)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    return run


def test_csv_holds_every_score_as_stored(
    show: Callable[..., str], tmp_path: Path
) -> None:
    shown = show("--format", "csv")
    low, _ = share_interval(3, 4)
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert shown.splitlines()[0] == (
        "model,metric,split,tag,perturbation,computed_on,value,se,ci_low,ci_high,"
        "ci_method,n,n_clusters,coverage,unit,scale,higher_is_better,reason,flag,"
        "bound_low,bound_high,mean,stddev,min,max,aggregate,p_value,replications,"
        "stddev_within,stddev_replications,largest_cluster,effective_clusters,"
        "p_adjusted,p_method,p_at_most,ci_low_adjusted,"
        "ci_high_adjusted,family_size,different"
    )
    groups = [row["tag"] for row in rows if not row["aggregate"]]
    assert groups == ["", "topic:film", "topic:food"]
    assert rows[0]["model"] == "three"
    assert rows[0]["value"] == "0.75"
    assert float(rows[0]["ci_low"]) == pytest.approx(low, abs=1e-12)
    [path] = tmp_path.glob("runs/tiny/*/run.json")
    stored = [score._asdict() for score in evalkit.read_run(path.parent).scores]
    for row, score in zip(rows, stored, strict=True):
        expected = {
            key: "" if value is None else str(value) for key, value in score.items()
        }
        assert row == {"model": "three", **expected}


def test_the_format_has_a_variable(show: Callable[..., str]) -> None:
    assert show(EVALKIT_FORMAT="md") == show("--format", "md")


def test_markdown_and_latex_escape_what_they_must(
    invoke: Invoke, fake_distribution: Callable[..., Any], write_rows: Write
) -> None:
    fake_distribution(
        "import evalkit\nclass D(evalkit.Dataset):\n"
        "    task = 'sentiment'\n"
        "    def load(self, split):\n"
        "        return [{'uid': '1', 'statement': 'x', 'label': 'positive',\n"
        "                 'tags': ['a|b_{50%}\\\\~^$#&']}]\n",
        {"evalkit.datasets": {"odd": "D"}},
    )
    file = write_rows("m.jsonl", [{"id": "1", "label": "positive"}])
    base = ("eval", "odd", "-p", file, "-m", "accuracy", "--format")
    assert r"| a\|b_{50%}\\\~^$#& | 1 |" in invoke(*base, "md").stdout
    tag = (
        r"a\textbar{}b\_\{50\%\}\textbackslash{}\textasciitilde{}"
        r"\textasciicircum{}\$\#\&"
    )
    assert f"{tag} & 1 &" in invoke(*base, "latex").stdout


@pytest.mark.slow
def test_a_terminal_gets_the_same_text_as_a_pipe(
    three: str, run_on_terminal: RunOnTerminal, show: Callable[..., str]
) -> None:
    arguments = ("eval", "tiny", "-p", three, "-m", "accuracy")
    code, shown = run_on_terminal(*arguments, columns=80, talk=False)
    assert code == 0
    assert "\x1b[1m" in shown
    # but that it wraps lines of text
    lines = ESCAPE.sub("", shown).replace("\n  ", " ").splitlines()
    expected = show().splitlines()
    assert [line.rstrip() for line in lines[:-1]] == expected[:-1]
    _, plain = run_on_terminal(*arguments, columns=200, talk=False, NO_COLOR="1")
    # each evaluation has a folder of its own
    assert plain.splitlines()[:-1] == expected[:-1]


def test_columns_are_left_out_before_words_are_broken() -> None:
    rows = [
        ["tag", "n", "a", "95 % CI", "expected", "chance"],
        ["phenomenon:world-knowledge", "13", "38", "[16, 66]", "53", "33 %"],
    ]
    choices = {
        width: fit_columns(rows, width, len)[1] for width in (70, 58, 50, 43, 30, 10)
    }
    assert choices == {
        70: [],
        58: ["chance"],
        50: ["expected", "chance"],
        43: ["n", "expected", "chance"],
        30: ["n", "95 % CI", "expected", "chance"],
        10: ["n", "95 % CI", "expected", "chance"],
    }
    both = fit_columns(
        [["metric", "wins", "losses"], ["accuracy", "10", "12"]], 17, len
    )
    assert both == ([0], ["wins", "losses"])
    kept, left_out = fit_columns([["tag", "a: coverage", "b: coverage"]], 5, len)
    assert (kept, left_out) == ([0], ["coverage"])


@pytest.mark.parametrize(
    ("share", "shown"),
    [(1.0, "100.0%"), (0.5, "50.0%"), (0.9994, "99.9%"), (0.99992, "99.99%")],
)
def test_a_share_below_the_whole_never_looks_like_it(share: float, shown: str) -> None:
    assert show_share(share) == shown


def test_a_metric_that_fails_is_said_where_the_rows_are_counted(
    invoke: Invoke, three: str, tmp_path: Path
) -> None:
    code = "def get_odd(predictions, targets):\n    return 'much'\n"
    (tmp_path / "odd.py").write_text(code)
    own = ("-m", f"{tmp_path / 'odd.py'}:get_odd")
    done = invoke("eval", "tiny", "-p", three, "-m", "accuracy", *own)
    assert done.exit_code == 1
    assert "4 of 4 examples scored, but an error: the run is partial\n" in done.stdout
    assert "every row accounted for" not in done.stdout
