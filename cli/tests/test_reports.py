"""How scores are printed."""

from __future__ import annotations

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
from evalkit_cli.printing.tables import draw_with_notes

Invoke = Callable[..., Result]
Write = Callable[..., str]
RunOnTerminal = Callable[..., tuple[int, str]]

RIGHT = ("positive", "negative", "neutral", "positive")
THREE = ("positive", "negative", "positive", "positive")
P_VALUE = re.compile(r"\(p = ([.0-9]+)\)")
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


def only_run(folder: Path) -> str:
    [run] = folder.glob("runs/tiny/*/run.json")
    return str(run.parent.relative_to(folder))


def wilson(right: int, n: int) -> str:
    low, high = share_interval(right, n)
    return f"[{100 * low:.0f}, {100 * high:.0f}]"


def test_the_table_leads_with_the_score_then_tags_then_what_was_not_scored(
    show: Callable[..., str], tmp_path: Path
) -> None:
    shown = show()
    expected = f"""\
tiny (sentiment, split test): three

metric    score   95 % CI  n  majority  chance
accuracy   75 %  [30, 95]  4      50 %    33 %

By tag, worst accuracy first, in %:

tag         n  accuracy    95 % CI
topic:food  2        50    [9, 91]
topic:film  2       100  [34, 100]

Worst group and gap:

topic: worst food 50 %, n = 2; gap 50 points, from food to film; \
no difference shown at .05 (p = P)

4 of 4 examples scored, every row accounted for
run folder: {only_run(tmp_path)}
"""
    p_value = float(P_VALUE.findall(shown)[0])
    assert P_VALUE.sub("(p = P)", shown) == expected
    assert [wilson(3, 4), wilson(2, 2)] == ["[30, 95]", "[34, 100]"]
    assert share_interval(1, 2) == pytest.approx((0.0945, 0.9055), abs=1e-4)
    # of three right answers, one tag of two has two in every permutation
    assert p_value == 1


def test_quiet_prints_the_headline_only(show: Callable[..., str]) -> None:
    expected = """\
metric    score   95 % CI  n  majority  chance
accuracy   75 %  [30, 95]  4      50 %    33 %
"""
    assert show("-q") == show("-q", "-v") == expected
    assert len(show("-q", "--format", "md").splitlines()) == 3
    assert len(show("-q", "--format", "csv").splitlines()) == 7


def test_markdown(show: Callable[..., str]) -> None:
    assert (
        show("--format", "md")
        == """\
| metric | score | 95 % CI | n | majority | chance |
|---|---|---|---|---|---|
| accuracy | 75 % | [30, 95] | 4 | 50 % | 33 % |

| tag | n | accuracy | 95 % CI |
|---|---|---|---|
| topic:food | 2 | 50 % | [9, 91] |
| topic:film | 2 | 100 % | [34, 100] |
"""
    )


def test_latex(show: Callable[..., str]) -> None:
    assert (
        show("--format", "latex")
        == r"""\begin{tabular}{lrrrrr}
\hline
metric & score & 95 \% CI & n & majority & chance \\
\hline
accuracy & 75 \% & [30, 95] & 4 & 50 \% & 33 \% \\
\hline
\end{tabular}

\begin{tabular}{lrrr}
\hline
tag & n & accuracy & 95 \% CI \\
\hline
topic:food & 2 & 50 \% & [9, 91] \\
topic:film & 2 & 100 \% & [34, 100] \\
\hline
\end{tabular}
"""
    )


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


@pytest.mark.slow
def test_models_stand_side_by_side(invoke: Invoke, predict: Write, three: str) -> None:
    perfect = predict("perfect.jsonl", RIGHT)
    arguments = ("eval", "tiny", "-p", three, "-p", perfect, "-m", "accuracy")
    lines = invoke(*arguments).stdout.splitlines()
    assert lines[:11] == [
        "tiny (sentiment, split test): three, perfect",
        "",
        "model    metric    score    95 % CI  n  majority  chance",
        "three    accuracy   75 %   [30, 95]  4      50 %    33 %",
        "perfect  accuracy  100 %  [51, 100]  4      50 %    33 %",
        "",
        "By tag, worst accuracy first, in %:",
        "",
        "tag         n  three    95 % CI  perfect    95 % CI",
        "topic:food  2     50    [9, 91]      100  [34, 100]",
        "topic:film  2    100  [34, 100]      100  [34, 100]",
    ]
    assert lines[14].startswith(
        "three: topic: worst food 50 %, n = 2; gap 50 points, from food to film; "
    )
    # where all are right, the worst is the first by name, and nothing differs
    assert lines[15] == (
        "perfect: topic: worst film 100 %, n = 2; gap 0 points, "
        "all groups have the same score; no difference shown at .05 (p = 1)"
    )
    assert lines[17] == "4 of 4 examples scored, every row accounted for"
    assert re.fullmatch(
        r"run folders: runs/tiny/\S+ \(three\), runs/tiny/\S+ \(perfect\)", lines[18]
    )
    assert len(lines) == 19
    markdown = invoke(*arguments, "--format", "md").stdout.splitlines()
    assert markdown[5] == (
        "| tag | n | three: accuracy | 95 % CI | perfect: accuracy | 95 % CI |"
    )
    shown = invoke(*arguments, "--format", "csv").stdout
    rows = [r for r in csv.DictReader(io.StringIO(shown)) if not r["aggregate"]]
    assert [row["model"] for row in rows] == [*["three"] * 3, *["perfect"] * 3]


def test_verbose_gives_every_metric_for_every_tag(invoke: Invoke, three: str) -> None:
    arguments = ("eval", "tiny", "-p", three, "-m", "accuracy", "-m", "label-length")
    lines = invoke(*arguments, "-v").stdout.splitlines()
    start = lines.index("By tag, worst accuracy first:")
    header, food, film = lines[start + 2 : start + 5]
    assert re.split(r"\s{2,}", header) == [
        *("tag", "n", "accuracy", "95 % CI", "label-length", "95 % CI")
    ]
    assert "8.00 chars" in food
    assert "100 %" in film


def test_what_was_left_out_is_shown_beside_every_score(
    invoke: Invoke, predict: Write, tmp_path: Path
) -> None:
    file = predict("two.jsonl", RIGHT[:1] + RIGHT[:1])
    done = invoke(
        *("eval", "tiny", "-p", file, "-m", "accuracy", "--on-missing", "skip")
    )
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    # of two examples one is right; the other two would make it one or three of four
    assert lines[2:4] == [
        "metric    score  95 % CI  n  majority  chance  coverage  if wrong to right",
        "accuracy   50 %  [9, 91]  2      50 %    33 %     50.0%           25 to 75",
    ]
    assert lines[7:10] == [
        "tag         n  accuracy  95 % CI  coverage  if wrong to right",
        "topic:film  2        50  [9, 91]",
        "topic:food  0         –        –      0.0%           0 to 100",
    ]
    assert lines[11:] == [
        "notice: 2 missing examples left out of the scores",
        f"2 of 4 examples scored; not scored: 2 missing; see {only_run(tmp_path)}/"
        "problems.jsonl",
        f"run folder: {only_run(tmp_path)}",
    ]


@pytest.mark.parametrize(("policy", "header"), [("skip", "if"), ("wrong", "as")])
def test_that_no_prediction_may_be_milder_than_a_wrong_one_is_said(
    invoke: Invoke, predict: Write, policy: str, header: str
) -> None:
    file = predict("two.jsonl", RIGHT[:2])
    arguments = ("eval", "tiny", "-p", file, "-m", "accuracy", "-m", "macro-f1")
    lines = invoke(*arguments, "--on-missing", policy).stdout.splitlines()
    assert (
        f"macro-f1: '{header} wrong' means no prediction; wrong answers may score worse"
    ) in lines
    # and a wrong label does score worse than none
    gold = ["a", "a", "b"]
    none = evalkit.score("macro-f1", ["a", None, "b"], gold)["macro-f1"].value
    wrong = evalkit.score("macro-f1", ["a", "b", "b"], gold)["macro-f1"].value
    assert none is not None
    assert wrong is not None
    assert wrong < none
    alone = invoke(*arguments[:6], "--on-missing", policy).stdout
    assert "may score worse" not in alone


def test_a_metric_without_bounds_has_no_column_for_them(
    invoke: Invoke, predict: Write
) -> None:
    file = predict("two.jsonl", RIGHT[:2])
    done = invoke(
        *("eval", "tiny", "-p", file, "-m", "label-length", "--on-missing", "skip")
    )
    header, row = (re.split(r"\s{2,}", each) for each in done.stdout.splitlines()[2:4])
    assert (header[-1], row[-1]) == ("coverage", "50.0%")


def test_flags_are_explained(invoke: Invoke, three: str) -> None:
    lines = invoke(
        *("eval", "tiny", "-p", three, "-m", "macro-f1", "--on-missing", "skip")
    ).stdout.splitlines()
    flags = [line for line in lines if line.startswith("*")]
    assert all("labels without an example" in line for line in flags)
    Path("one.jsonl").write_text('{"id": "1", "label": "positive"}\n', "utf-8")
    lines = invoke(
        *("eval", "tiny", "-p", "one.jsonl", "-m", "macro-f1", "--on-missing", "skip")
    ).stdout.splitlines()
    assert any("100*" in line for line in lines)
    assert "* one class: positive" in lines


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


def test_a_data_set_without_tags_has_no_table_of_tags(
    invoke: Invoke, write_rows: Write
) -> None:
    rows = [{"id": "1", "answer": "xqanswerone"}, {"id": "2", "answer": "two"}]
    done = invoke("eval", "questions", "-p", write_rows("m.jsonl", rows))
    lines = done.stdout.splitlines()
    assert lines[2:4] == [
        "metric       score  95 % CI  n",
        "exact-match   50 %  [9, 91]  2",
    ]
    assert lines[5] == "2 of 2 examples scored, every row accounted for"


def test_clusters_are_counted_beside_n(
    invoke: Invoke, fake_distribution: Callable[..., Any], write_rows: Write
) -> None:
    fake_distribution(
        "import evalkit\nclass D(evalkit.Dataset):\n"
        "    task = 'sentiment'\n    cluster = 'author'\n"
        "    def load(self, split):\n"
        "        return [{'uid': str(n), 'statement': 'x', 'label': 'positive',\n"
        "                 'author': 'ab'[n % 2]} for n in range(4)]\n",
        {"evalkit.datasets": {"grouped": "D"}},
    )
    rows = [{"id": str(n), "label": "positive"} for n in range(4)]
    done = invoke(
        *("eval", "grouped", "-p", write_rows("m.jsonl", rows), "-m", "accuracy")
    )
    assert "  4 (2 clusters)  " in done.stdout.splitlines()[3]


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


@pytest.mark.parametrize(
    ("columns", "left_out"),
    [(58, "chance, majority"), (30, "95 % CI, n, majority, chance")],
)
@pytest.mark.slow
def test_a_narrow_terminal_loses_no_score(
    three: str, run_on_terminal: RunOnTerminal, columns: int, left_out: str
) -> None:
    arguments = ("eval", "tiny", "-p", three, "-m", "accuracy", "-m", "label-length")
    terminal = {"columns": columns, "talk": False, "NO_COLOR": "1"}
    code, shown = run_on_terminal(*arguments, "-v", **terminal)
    assert code == 0
    for text in ("75 %", "100 %", "8.00 chars", "label-length", "topic:film"):
        assert text in shown
    folded = shown.replace("\n  ", " ")
    assert ("as the terminal is narrow: " in folded) == (columns == 30)
    if columns == 30:
        assert f"not shown, as the terminal is narrow: {left_out}\n" in folded


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


def test_a_report_fits_into_sixty_columns(invoke: Invoke) -> None:
    shown = invoke("eval", "sample-nli", COLUMNS="60", EVALKIT_MIN_N="10").stdout
    assert max(map(len, shown.splitlines())) <= 60
    assert "phenomenon:world-knowledge" in shown
    assert "not shown, as the terminal is narrow: n, 95 % CI\n" in shown


def test_what_a_column_means_is_left_out_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [["tag", "score", "chance"], ["topic:film", "50 %", "1 to 2"]]
    notes = [
        "chance: a place",
        "n, chance: two",
        "notice: a long line of words",
        "chance",
    ]
    for width, are_there in (("25", True), ("20", False)):
        monkeypatch.setenv("COLUMNS", width)
        draw_with_notes(rows, "table", notes)
        shown = capsys.readouterr().out
        assert ("chance: a place" in shown) == are_there
        assert ("n, chance: two" in shown, "n: two" in shown) == (
            are_there,
            not are_there,
        )
        assert shown.endswith("\nchance\n")
        assert "notice: a long" in shown


@pytest.mark.slow
def test_long_tags_are_folded_after_columns_are_left_out(
    run_on_terminal: RunOnTerminal,
) -> None:
    arguments = ("eval", "sample-sentiment", "-m", "accuracy", "--format", "table")
    code, shown = run_on_terminal(*arguments, columns=72, talk=False, NO_COLOR="1")
    assert code == 0
    tags = shown[shown.index("tag ") :].partition("\n\n")[0].splitlines()
    assert max(map(len, tags)) <= 72
    start = next(n for n, line in enumerate(tags) if line.startswith("phenomenon:lo"))
    assert tags[start].split()[0] == "phenomenon:loaded-topic"
    # where leaving out columns is not enough, even the last
    code, shown = run_on_terminal(*arguments, columns=30, talk=False, NO_COLOR="1")
    assert code == 0
    tags = shown[shown.index("tag ") :].partition("\n\n")[0].splitlines()
    assert max(map(len, tags)) <= 30
    start = next(n for n, line in enumerate(tags) if line.startswith("phenomenon:lo"))
    first = tags[start].split()[0]
    assert first + tags[start + 1].strip() == "phenomenon:loaded-topic"


def test_a_piped_table_has_no_escapes_and_no_trailing_blanks(
    show: Callable[..., str],
) -> None:
    for text in (show(), show("-v"), show("--format", "md")):
        assert "\x1b" not in text
        assert all(line == line.rstrip() for line in text.splitlines())


def test_scores_of_the_data_set_itself_have_no_tags(
    invoke: Invoke, fake_distribution: Callable[..., Any], write_rows: Write
) -> None:
    fake_distribution(
        "import evalkit\nclass D(evalkit.Dataset):\n"
        "    task = 'sentiment'\n"
        "    def load(self, split):\n"
        "        return [{'uid': '1', 'statement': 'x', 'label': 'positive',\n"
        "                 'tags': ['short']}]\n"
        "    def evaluate(self, frame):\n"
        "        return {'rows': frame.height}\n",
        {"evalkit.datasets": {"own": "D"}},
    )
    file = write_rows("m.jsonl", [{"id": "1", "label": "positive"}])
    done = invoke("eval", "own", "-p", file, "-m", "accuracy", "-v", EVALKIT_MIN_N="1")
    lines = done.stdout.splitlines()
    assert re.split(r"\s{2,}", lines[4]) == ["own#rows", "1.00", "–", "1"]
    assert re.split(r"\s{2,}", lines[8]) == ["tag", "n", "accuracy", "95 % CI"]
    assert lines[9].startswith("short  1     100 %")


@pytest.mark.parametrize(
    ("share", "shown"),
    [(1.0, "100.0%"), (0.5, "50.0%"), (0.9994, "99.9%"), (0.99992, "99.99%")],
)
def test_a_share_below_the_whole_never_looks_like_it(share: float, shown: str) -> None:
    assert show_share(share) == shown


def test_examples_counted_as_wrong_stand_in_the_table(
    invoke: Invoke, predict: Write
) -> None:
    path = predict("few.jsonl", ("positive", "angry"))
    options = ("--on-missing", "wrong", "--on-invalid", "wrong", "-q", "--format", "md")
    header, _, first, *_ = invoke(
        "eval", "tiny", "-p", path, "-m", "accuracy", *options
    ).stdout.splitlines()
    cells = dict(zip(header.split("|"), first.split("|"), strict=True))
    stripped = {name.strip(): cell.strip() for name, cell in cells.items()}
    assert (stripped["n"], stripped["as wrong"]) == ("4", "3")


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
