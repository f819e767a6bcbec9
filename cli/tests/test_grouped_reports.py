"""`--by`, `--min-n`, and what reports say about groups, facets and intervals."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from scipy.stats import t
from share_intervals import share_interval as interval_of_share

Invoke = Callable[..., Result]
Write = Callable[..., str]

SHAPES = '''
"""Data sets made by a test."""

import evalkit


class Shapes(evalkit.Dataset):
    """Sixty reviews of two facets, ten of them without a tag."""

    task = "sentiment"
    perf_metric = "accuracy"

    def load(self, split):
        return [
            {
                "uid": str(number),
                "statement": "x",
                "label": ("positive", "negative")[number % 2],
                "author": f"author {number % 12:02}",
                "tags": [] if number >= 50 else [
                    f"topic:{'abcde'[number % 5]}", f"size:{'sl'[number % 2]}"
                ],
            }
            for number in range(60)
        ]


class Averaged(Shapes):
    """The same, of which the mean over topics is the headline."""

    aggregate = "macro:topic"


class Clustered(Shapes):
    """The same, with clusters."""

    cluster = "author"


class Lone(Shapes):
    """The same, with facets of one group each."""

    def load(self, split):
        rows = super().load(split)
        for number, row in enumerate(rows):
            row["tags"] = ["negation:yes"] * (number < 20) + ["lang:en"]
        return rows


class ManyTags(Shapes):
    """Sixty tags, one for each row, and seven facets."""

    def load(self, split):
        rows = super().load(split)
        for number, row in enumerate(rows):
            row["tags"] = [] if number >= 50 else [
                f"tag {number:02}", *(f"f{f}:{number % 2}" for f in range(7))
            ]
        return rows


class Off(evalkit.Metric):
    """One where the label is right and 0 elsewhere, of a delta interval."""

    unit = "%"
    scale = 100
    bounds = (0, 1)
    higher_is_better = True
    interval = "delta"

    def score_example(self, prediction, target):
        return float(prediction == target)


class Distance(evalkit.Metric):
    """Has no direction and no bounds."""

    unit = "m"

    def score_example(self, prediction, target):
        return float(len(prediction) - len(target))
'''


@pytest.fixture(autouse=True)
def _shapes(fake_distribution: Callable[..., Any]) -> None:
    """All tests here use the data sets above."""
    fake_distribution(
        SHAPES,
        {
            "evalkit.datasets": {
                "shapes": "Shapes",
                "averaged": "Averaged",
                "clustered": "Clustered",
                "lone": "Lone",
                "many-tags": "ManyTags",
            },
            "evalkit.metrics": {"off": "Off", "distance": "Distance"},
        },
        name="shapes",
    )


def is_right(number: int) -> bool:
    """Tell which rows the model gets right: one of topic a, and most others."""
    return number == 0 if number % 5 == 0 else number % 7 != 0


ROWS = range(60)


@pytest.fixture
def file(write_rows: Write) -> str:
    """Write a model's predictions."""
    labels = ("positive", "negative")
    return write_rows(
        "m.jsonl",
        [
            {"id": str(n), "label": labels[n % 2 if is_right(n) else 1 - n % 2]}
            for n in ROWS
        ],
    )


@pytest.fixture
def show(invoke: Invoke, file: str) -> Callable[..., list[str]]:
    """Give the lines of a report."""

    def run(*options: str, dataset: str = "shapes") -> list[str]:
        done = invoke("eval", dataset, "-p", file, "-m", "accuracy", *options)
        assert done.exit_code == 0, done.stderr
        return done.stdout.splitlines()

    return run


def table(lines: Sequence[str], title: str) -> list[list[str]]:
    """Give the cells of the table below a title, which may name a further order."""
    titles = [re.sub(r" first \(.*?\)", " first", line) for line in lines]
    start = titles.index(title) + 2
    rows = []
    for line in lines[start:]:
        if "  " not in line:
            break
        rows.append(re.split(r"\s{2,}", line))
    return rows


def share(rows: Sequence[int]) -> float:
    return sum(map(is_right, rows)) / len(rows)


def share_interval(rows: Sequence[int]) -> str:
    low, high = interval_of_share(sum(map(is_right, rows)), len(rows), 0.95)
    return f"[{100 * low:.0f}, {100 * high:.0f}]"


def test_crossed_groups_have_a_table_of_their_own(show: Callable[..., Any]) -> None:
    lines = show("--by", "topic,size", "--by", "author", "--min-n", "1")
    # what the user asked for is whole; of the other tags the worst are shown
    for title, kinds in (
        ("By topic,size, worst accuracy first, in %:", 11),
        ("By author, worst accuracy first, in %:", 12),
        ("By tag, worst accuracy first, in %:", 5),
    ):
        header, *rows = table(lines, title)
        assert header[:4] == ["tag", "n", "accuracy", "95 % CI"]
        assert len(rows) == kinds
    [row] = [
        row
        for row in table(lines, "By topic,size, worst accuracy first, in %:")
        if row[0] == "topic:b & size:s"
    ]
    chosen = [n for n in range(50) if n % 5 == 1 and n % 2 == 0]
    value = f"{100 * share(chosen):.0f}"
    interval = share_interval(chosen)
    assert row[:4] == ["topic:b & size:s", str(len(chosen)), value, interval]
    [author] = [
        row
        for row in table(lines, "By author, worst accuracy first, in %:")
        if row[0] == "author:author 03"
    ]
    chosen = [n for n in ROWS if n % 12 == 3]
    assert author[1:3] == [str(len(chosen)), f"{100 * share(chosen):.0f}"]


def test_examples_without_a_tag_stand_last(show: Callable[..., Any]) -> None:
    lines = show("-v")
    rows = table(lines, "By tag, worst accuracy first:")
    untagged = list(range(50, 60))
    assert rows[-1] == [
        *("(untagged)", "10", f"{100 * share(untagged):.0f} %"),
        share_interval(untagged),
    ]
    assert "By tag, worst accuracy first (untagged last):" in lines
    # of the eight tags the report shows five, with what sorts them
    shortened = show()
    assert "not shown: 3 more tags (-v); --format csv shows all" in shortened
    worst = table(shortened, "By tag, worst accuracy first, in %:")[1:]
    assert [row[0] for row in worst] == [row[0] for row in rows[1:6]]
    values = [float(row[2]) for row in worst if row[0].startswith("topic:")]
    assert values == sorted(values)
    assert worst[0][0] == "topic:a"


def test_options_have_variables(
    invoke: Invoke, file: str, show: Callable[..., Any]
) -> None:
    arguments = ("eval", "shapes", "-p", file, "-m", "accuracy")
    by_name = show("--by", "topic,size", "--by", "author", "--min-n", "6", "-j", "2")
    done = invoke(
        *arguments,
        EVALKIT_BY="topic,size author",
        EVALKIT_MIN_N="6",
        EVALKIT_JOBS="2",
    )
    assert done.stdout.splitlines()[:-1] == by_name[:-1]


def test_small_tags_are_hidden_and_counted(show: Callable[..., Any]) -> None:
    lines = show("--min-n", "10", "--by", "author")
    rows = table(lines, "By tag, worst accuracy first, in %:")[1:]
    assert min(int(row[1]) for row in rows) == 10
    hidden = "fewer than 10 examples (--min-n); --format csv shows all"
    assert f"By author: not shown: 12 groups with {hidden}" in lines
    assert "By author, worst accuracy first, in %:" not in lines
    assert "author: fewer than two groups of at least 10 examples (--min-n)" in lines
    # ten is the default
    assert show("--by", "author")[:-1] == lines[:-1]
    assert not any("fewer than two groups" in line for line in show("--min-n", "10"))
    lines = show("--min-n", "11")
    rows = table(lines, "By tag, worst accuracy first, in %:")
    assert [row[0] for row in rows] == ["tag", "size:l", "size:s"]
    hidden = "fewer than 11 examples (--min-n); --format csv shows all"
    assert f"not shown: 6 tags with {hidden}" in lines
    assert not any(line.startswith("topic: worst ") for line in lines)


def test_small_tags_are_counted_beside_other_formats(invoke: Invoke, file: str) -> None:
    arguments = ("eval", "shapes", "-p", file, "-m", "accuracy", "--min-n", "11")
    done = invoke(*arguments, "--format", "md")
    assert "topic" not in done.stdout
    assert "not shown: 6 tags with fewer than 11 examples (--min-n)" in done.stderr
    record = json.loads(invoke(*arguments, "--json").stdout)
    assert record["min_n"] == 11
    assert "topic:a" in {score["tag"] for score in record["scores"]}


@pytest.mark.slow
def test_a_long_table_is_cut_on_a_screen_and_nowhere_else(
    invoke: Invoke, file: str, show: Callable[..., Any]
) -> None:
    title = "By tag, worst accuracy first, in %:"
    lines = show("--min-n", "1", dataset="many-tags")
    _, *rows = table(lines, title)
    assert len(rows) == 5
    assert "not shown: 60 more tags (-v); --format csv shows all" in lines
    assert (
        len(table(show("-v", "--min-n", "1", dataset="many-tags"), title[:-7] + ":"))
        == 66
    )
    arguments = ("eval", "many-tags", "-p", file, "-m", "accuracy", "--min-n", "1")
    markdown = invoke(*arguments, "--format", "md").stdout
    assert markdown.count("\n| tag ") == 51
    by_id = invoke(*arguments, "--by", "uid").stdout
    assert "not shown: 20 more groups (-v); --format csv shows all\n" in by_id


def test_worst_group_and_gap_of_a_facet(show: Callable[..., Any]) -> None:
    lines = show()
    start = lines.index("Worst group and gap; p is adjusted for all facets:")
    size, topic = lines[start + 2 : start + 4]
    topics = {
        topic: [n for n in range(50) if n % 5 == place]
        for place, topic in enumerate("abcde")
    }
    shares = {topic: share(rows) for topic, rows in topics.items()}
    assert min(shares, key=lambda topic: shares[topic]) == "a"
    value = f"{100 * shares['a']:.0f} %"
    width = f"{100 * (max(shares.values()) - shares['a']):.0f}"
    best = max("edcba", key=lambda topic: shares[topic])
    expected = (
        rf"topic: worst a {value}, n = 10; gap {width} points, from a to [{best}bcde]; "
        r"the groups differ \(p < \.001\)"
    )
    assert re.fullmatch(expected, topic)
    assert size.startswith("size: worst ")
    assert "; no difference shown at .05 (p = " in size


def test_a_facet_of_one_group_is_said_not_to_be_tested(
    show: Callable[..., Any],
) -> None:
    lines = show(dataset="lone")
    untested = "not shown: 2 facets that could not be tested; -v shows all"
    assert f"Worst group and gap: {untested}" in lines
    lines = show("-v", dataset="lone")
    start = lines.index("Worst group and gap:")
    assert lines[start + 2 : start + 4] == [
        "lang: only one group, en (n = 60); not tested",
        "negation: only one group, yes (n = 20); not tested against the other 40 "
        "examples, which belong to no group",
    ]
    lines = show("--by", "negation", dataset="lone")
    start = lines.index("By negation, worst accuracy first, in %:")
    assert lines[start + 4] == "40 of 60 examples in no group of negation"
    # groups that share no example, of which ten are in none
    lines = show("--by", "topic", "--min-n", "1")
    assert "10 of 60 examples in no group of topic" in lines
    assert not any("in no group" in line for line in show("--by", "author"))


def test_more_facets_than_fit_are_counted(show: Callable[..., Any]) -> None:
    lines = show("--by", "f6", dataset="many-tags")
    facets = [line.partition(":")[0] for line in lines if ": worst " in line]
    assert facets == ["f6", "f0", "f1", "f2", "f3"]
    assert "not shown: 2 more facets; -v shows all" in lines
    lines = show("-v", dataset="many-tags")
    assert len([line for line in lines if ": worst " in line]) == 7


def test_what_has_no_interval_and_no_test_says_why(
    invoke: Invoke, write_rows: Write
) -> None:
    file = write_rows("m.jsonl", [{"id": str(n), "label": "positive"} for n in ROWS])
    done = invoke(
        *("eval", "shapes", "-p", file, "-m", "distance", "--filter", "size=s"),
        *("--min-n", "1", "-v"),
    )
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    # no direction: no worst group
    assert not any(": worst " in line for line in lines)
    [gap] = [line for line in lines if line.startswith("topic: gap")]
    assert gap == (
        "topic: gap 0.00 m, all groups have the same score; no difference shown at "
        ".05 (p = 1)"
    )


def test_the_mean_over_a_facet_leads_where_the_data_says_so(
    show: Callable[..., Any], invoke: Invoke
) -> None:
    lines = show(dataset="averaged")
    topics = [[n for n in range(50) if n % 5 == place] for place in range(5)]
    mean = sum(map(share, topics)) / 5
    header, first, second = (re.split(r"\s{2,}", line) for line in lines[2:5])
    assert header[:2] == ["metric", "score"]
    assert first[:2] == ["accuracy (mean over topic)", f"{100 * mean:.0f} %"]
    assert first[3:] == ["50"]  # the baselines are of the whole set
    assert second[:2] == ["accuracy", f"{100 * share(list(ROWS)):.0f} %"]
    assert second[3:] == ["60", "50 %", "33 %"]
    assert any(line.startswith("By tag, worst accuracy first") for line in lines)
    shown = invoke("runs").stdout
    assert f"accuracy (mean over topic)   {100 * mean:.0f} %" in shown
    # independent topics: their variances add up
    squares = sum(share(rows) * (1 - share(rows)) / 10 for rows in topics)
    record = json.loads(invoke("show", "latest", "--json").stdout)
    [stored] = [s for s in record["scores"] if s["aggregate"] == "macro:topic"]
    assert stored["se"] == pytest.approx(math.sqrt(squares) / 5, abs=1e-12)


def test_intervals_end_at_the_bounds_where_they_are_printed_only(
    invoke: Invoke, file: str
) -> None:
    done = invoke("eval", "shapes", "-p", file, "-m", "off", "-n", "8", "--json")
    record = json.loads(done.stdout)
    assert record["bounds"] == {"off": [0.0, 1.0]}
    # six of eight are right
    half = float(t.ppf(0.975, 7)) * math.sqrt(0.75 * 0.25 / 7)
    score = record["scores"][0]
    assert (score["value"], score["ci_method"]) == (0.75, "delta")
    assert score["ci_high"] == pytest.approx(0.75 + half, abs=1e-12)
    interval = f"[{75 - 100 * half:.0f}, 100]"
    assert score["ci_high"] > 1
    shown = invoke("show", "latest").stdout.splitlines()
    assert re.split(r"\s{2,}", shown[3])[:4] == ["off", "75 %*", interval, "8"]
    assert interval in invoke("runs").stdout
    [row] = invoke("runs", "--format", "csv").stdout.splitlines()[1:]
    assert str(score["ci_high"]) in row


@pytest.mark.slow
def test_the_method_of_intervals_is_named(
    invoke: Invoke, file: str, show: Callable[..., Any]
) -> None:
    assert "95 % CI: wilson" in show("-v")
    assert "95 % CI: wilson" not in show()
    metrics = ("-m", "accuracy", "-m", "macro-f1")
    both = invoke("eval", "shapes", "-p", file, *metrics, "-v")
    line = "95 % CI: wilson (accuracy), multinomial (macro-f1)"
    assert line in both.stdout.splitlines()
    ninety = show("--confidence", "0.9", "-v")
    assert "90 % CI: wilson" in ninety
    one = invoke("eval", "shapes", "-p", file, "-m", "accuracy", "-n", "1", "-v")
    assert "95 % CI: none, n is 1" in one.stdout.splitlines()


def test_clusters_and_what_they_cost_are_named(
    invoke: Invoke, write_rows: Write
) -> None:
    labels = ("positive", "negative")
    wrong = [n % 12 < 3 or n == 3 for n in ROWS]
    said = [{"id": str(n), "label": labels[(n + wrong[n]) % 2]} for n in ROWS]
    file = write_rows("authors.jsonl", said)
    lines = invoke("eval", "clustered", "-p", file, "-m", "accuracy", "-v").stdout
    [line] = [line for line in lines.splitlines() if "design effect" in line]
    right = 44 / 60
    by_author = [
        sum((not wrong[n]) - right for n in ROWS if n % 12 == author)
        for author in range(12)
    ]
    clustered = math.sqrt(12 / 11 * sum(total**2 for total in by_author)) / 60
    effect = (clustered / math.sqrt(right * (1 - right) / 60)) ** 2
    assert effect > 3
    assert line == (
        f"accuracy: design effect {effect:.2f}; its standard error is "
        f"{math.sqrt(effect):.2f} times that of independent examples"
    )
    assert "95 % CI: wilson-clustered; 12 clusters by author" in lines.splitlines()


@pytest.mark.slow
def test_a_design_effect_is_not_below_one(show: Callable[..., Any]) -> None:
    lines = show("-v", dataset="clustered")
    right = share(list(ROWS))
    by_author = [
        sum(is_right(n) - right for n in ROWS if n % 12 == author)
        for author in range(12)
    ]
    clustered = math.sqrt(12 / 11 * sum(total**2 for total in by_author)) / 60
    assert clustered < math.sqrt(right * (1 - right) / 60)
    assert (
        "accuracy: design effect 1, the least that is used: examples of a cluster seem "
        "no more alike than others"
    ) in lines


def test_models_share_the_line_about_methods_where_it_is_the_same(
    invoke: Invoke, file: str, write_rows: Write
) -> None:
    one = write_rows("one.jsonl", [{"id": str(n), "label": "positive"} for n in ROWS])
    lines = invoke(
        *("eval", "clustered", "-p", file, "-p", one, "-m", "accuracy", "-v")
    ).stdout.splitlines()
    assert lines.count("95 % CI: wilson-clustered; 12 clusters by author") == 1
    effects = [line.split(":")[0] for line in lines if "design effect" in line]
    assert effects == ["m", "one"]


@pytest.mark.slow
def test_repeated_answers_are_told(invoke: Invoke, write_rows: Write) -> None:
    labels = ("positive", "negative")
    rows = [
        {
            "id": str(n),
            "_replication_": str(replication),
            "label": labels[n % 2 if n % 3 or replication else 1 - n % 2],
        }
        for n in ROWS
        for replication in range(2)
    ]
    file = write_rows("m.jsonl", rows)
    done = invoke("eval", "shapes", "-p", file, "-m", "accuracy", "-m", "macro-f1")
    assert done.exit_code == 0, done.stderr
    # two thirds have 1 and 1, a third 0 and 1; the replications have 2/3 and 1
    means = [1.0 if n % 3 else 0.5 for n in ROWS]
    centre = sum(means) / 60
    between = math.sqrt(sum((mean - centre) ** 2 for mean in means) / 60)
    within = math.sqrt(sum(0 if n % 3 else 0.5 for n in ROWS) / 60)
    of_score = math.sqrt(2 * ((1 - 2 / 3) / 2) ** 2)
    assert (
        "each example was answered 2 times; accuracy: SD of the examples' means "
        f"{100 * between:.1f}, of the answers to one example {100 * within:.1f}, "
        f"of the score from replication to replication {100 * of_score:.1f}"
    ) in done.stdout.splitlines()
    first = invoke("eval", "shapes", "-p", file, "-m", "macro-f1").stdout
    assert "each example was answered 2 times; macro-f1: SD of the score from " in first


@pytest.mark.slow
def test_how_much_clusters_of_unequal_size_tell(invoke: Invoke, file: str) -> None:
    done = invoke("eval", "shapes", "-p", file, "--cluster", "author", "-n", "57", "-v")
    # nine authors of five reviews, and three of four
    share = f"{100 * 5 / 57:.1f}"
    worth = f"{57**2 / (9 * 5**2 + 3 * 4**2):.1f}"
    assert (
        f"12 clusters by author (the largest has {share} % of the examples; together "
        f"they tell as much as {worth} clusters of equal size)\n"
    ) in done.stdout


def _partly_answered(write_rows: Write) -> str:
    """Write two answers to each of sixty rows, but one to the first three."""
    rows = [
        {"id": str(n), "_replication_": str(replication), "label": "positive"}
        for n in ROWS
        for replication in range(2)
        if n >= 3 or not replication
    ]
    return write_rows("m.jsonl", rows)


def test_missing_answers_are_not_called_missing_examples(
    invoke: Invoke, write_rows: Write
) -> None:
    file = _partly_answered(write_rows)
    refused = invoke("eval", "shapes", "-p", file)
    assert refused.exit_code == 1
    lines = refused.stderr.splitlines()
    assert lines[0].endswith(
        "3 of 120 answers missing, 2 for each example (--on-missing wrong|skip)"
    )
    assert lines[1] == "  missing: id '0', replication '1'"
    skipped = invoke("eval", "shapes", "-p", file, "--on-missing", "skip").stdout
    assert ": 3 missing answers left out of the scores\n" in skipped
    assert "\n117 of 120 answers to 60 examples scored; not scored: 3 m" in skipped
    often = "\n57 of 60 examples were answered 2 times, the other 3 less often; "
    assert often in skipped
    wrong = invoke("eval", "shapes", "-p", file, "--on-missing", "wrong").stdout
    assert ": 3 missing answers counted as wrong\n" in wrong
    assert often in wrong
    header, row = wrong.splitlines()[2:4]
    assert header[header.index("as wrong") - 1 :].split()[:2] == ["as", "wrong"]
    assert "3 answers" in row


def test_all_answers_are_counted_apart_from_examples(
    invoke: Invoke, write_rows: Write
) -> None:
    rows = [
        {"id": str(n), "_replication_": str(replication), "label": "positive"}
        for n in ROWS
        for replication in range(2)
    ]
    done = invoke("eval", "shapes", "-p", write_rows("m.jsonl", rows)).stdout
    assert "\n120 of 120 answers to 60 examples scored, every row accounted f" in done


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(
    invoke: Invoke, file: str
) -> None:
    done = invoke("eval", "shapes", "-p", file, "--by", "colour")
    assert done.exit_code == 1
    assert done.stderr.startswith(
        "evalkit: error: --by colour: 'colour' is no facet of the tags and no column"
    )


def test_groups_that_only_a_later_model_has_are_shown(
    invoke: Invoke, file: str, write_rows: Write
) -> None:
    one = write_rows("one.jsonl", [{"id": str(n), "label": "neutral"} for n in ROWS])
    lines = invoke(
        *("eval", "shapes", "-p", file, "-p", one, "-m", "accuracy", "--by", "pred")
    ).stdout.splitlines()
    rows = table(lines, "By pred, worst accuracy first, in %:")
    assert [row[0] for row in rows[1:]][-1] == "pred:neutral"
    assert len(rows) == 4


@pytest.mark.slow
def test_a_run_is_shown_by_other_groups(
    invoke: Invoke, show: Callable[..., Any], tmp_path: Path
) -> None:
    expected = show("--by", "topic,answer", "--min-n", "2")
    [made] = tmp_path.glob("runs/shapes/*")
    for path in made.iterdir():
        if path.name == "statistics":
            for file in path.iterdir():
                file.unlink()
            path.rmdir()
        else:
            path.unlink()
    made.rmdir()
    show("--min-n", "2")
    shown = invoke("show", "latest", "--by", "topic,answer").stdout.splitlines()
    title = "By topic,answer, worst accuracy first, in %:"
    assert table(shown, title) == table(expected, title)
    assert len(table(shown, title)) == 13
    assert not any(line.startswith("By tag") for line in shown)
    kinds = [line for line in expected if line.startswith("topic,answer: ")]
    assert [line for line in shown if line.startswith("topic,answer: ")] == kinds
    record = json.loads(
        invoke("show", "latest", "--by", "topic", "--by", "pred", "--json").stdout
    )
    assert record["by"] == ["topic", "pred"]
    assert invoke("show", "latest", "--by", "topic", "--format", "csv").exit_code == 0


def test_show_refuses_groups_beside_other_views(
    invoke: Invoke, show: Callable[..., Any]
) -> None:
    show()
    done = invoke("show", "latest", "--by", "topic", "--wrong")
    assert done.exit_code == 2
    assert (
        "--by shows scores, without --wrong, --unparsed, --confusion and --flips."
        in done.stderr
    )
    done = invoke("show", "metrics/accuracy", "--by", "topic")
    assert done.exit_code == 2
    assert "--by is about a run" in done.stderr
