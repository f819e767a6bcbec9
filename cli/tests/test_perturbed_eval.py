"""`evalkit eval --perturbed`: scores under perturbation on the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator

PERTURBATIONS = '''
"""Perturbations of a test."""


class Lower:
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text):
        return text.lower()


class Contrast(Lower):
    families = {"robustness"}
    label_effect = {"*": "transforms"}
'''

SCHEMA = json.loads(
    Path(__file__)
    .parents[2]
    .joinpath("docs", "schema", "run.schema.json")
    .read_text(encoding="utf-8")
)

LABELS = {"1": "positive", "2": "negative", "3": "neutral", "4": "positive"}
TOPICS = {"1": "film", "2": "film", "3": "food", "4": "food"}

Run = Callable[..., Result]


def copy(uid: str, perturbation: str, **changes: Any) -> dict[str, Any]:
    return {
        "uid": f"{uid}_{perturbation[:1]}",
        "input_id": uid,
        "perturbation": perturbation,
        "statement": "changed",
        "label": LABELS[uid],
        "tags": [f"topic:{TOPICS[uid]}"],
        **changes,
    }


@pytest.fixture
def run(
    plugins: Any,
    fake_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    invoke: Run,
    predict: Callable[..., str],
    write_rows: Callable[..., str],
) -> Run:
    """Evaluate three right of four, and copies of which some are wrong."""
    monkeypatch.setenv("EVALKIT_MIN_N", "1")
    fake_distribution(
        PERTURBATIONS,
        {"evalkit.perturbations": {"lower": "Lower", "contrast": "Contrast"}},
        name="perturbations",
    )
    predict("said.jsonl", ("positive", "negative", "neutral", "negative"))
    names = ["lower", "lower", "lower", "shuffle"]
    copies = [copy(uid, name) for uid, name in zip(LABELS, names, strict=True)]
    copies.append(copy("1", "contrast", label="negative"))
    write_rows("copies.jsonl", copies)
    said = {"1_l": "positive", "2_l": "neutral", "3_l": "neutral", "4_s": "positive"}
    said["1_c"] = "negative"
    rows = [{"id": uid, "label": label} for uid, label in said.items()]
    write_rows("said-copies.jsonl", rows)

    def evaluate(
        *options: str,
        answers: str = "said-copies.jsonl",
        metrics: tuple[str, ...] = ("-m", "accuracy"),
    ) -> Result:
        files = ("--perturbed", "copies.jsonl", "--perturbed-predictions", answers)
        return invoke("eval", "tiny", "-p", "said.jsonl", *metrics, *files, *options)

    return evaluate


@pytest.mark.slow
def test_the_effects_stand_in_one_table_with_a_sentence_each(run: Run) -> None:
    done = run()
    assert done.exit_code == 0, done.stderr
    report = done.stdout
    heading = "accuracy under perturbation, largest drop first, in %:"
    lines = report[report.index(heading) :].splitlines()
    assert [cell.strip() for cell in lines[2].split("  ") if cell.strip()] == [
        *("perturbation", "n", "original", "perturbed", "drop", "adjusted 95 % CI"),
        *("adjusted p", "agreement", "expected", "consistent", "worst", "flips"),
    ]
    assert [line.split()[0] for line in lines[3:7]] == [
        *("lower", "contrast", "shuffle", "family:robustness")
    ]
    assert lines[3].split() == [
        *("lower", "3", "100", "67", "33", "[-54,", "84]", "1", "67", "67"),
        *("33", "/", "0", "/", "0"),
    ]
    assert lines[7:11] == [
        "lower: undecided: accuracy is worse by 33 points, which could be chance "
        "(adjusted p = 1)",
        "contrast: undecided: no change of accuracy was seen (adjusted p = 1)",
        "shuffle: undecided: accuracy is better by 100 points, which could be chance "
        "(adjusted p = 1); the answers may not hold for its copies (uncertain)",
        "family:robustness: undecided: accuracy is worse by 33 points, which could be "
        "chance (p = .50)",
    ]
    assert lines[11] == "p and CI adjusted for 3 perturbations"
    assert "flips: right to wrong / wrong to right / wrong to another wrong" in report
    # tags are for -v, and for those who ask for them
    assert "Under lower" not in report
    by_topic = run("--by", "topic", "--by", "topic,answer").stdout
    assert "Under lower, largest drop first, in %:" in by_topic
    assert "no effects by topic,answer: copies are grouped by their tags" in by_topic


@pytest.mark.slow
def test_a_table_of_tags_for_each_perturbation_is_verbose(run: Run) -> None:
    done = run("--by", "topic")
    assert done.exit_code == 0, done.stderr
    report = done.stdout
    places = [
        report.index(text)
        for text in ("By topic", "accuracy under perturbation", "Under lower, la")
    ]
    assert places == sorted(places)
    table = report[report.index("Under lower,") :].splitlines()[2:6]
    header = table[0].split("  ")
    assert [cell.strip() for cell in header if cell.strip()] == [
        *("lower: accuracy", "original", "perturbed", "drop"),
        *("adjusted 95 % CI", "adjusted p", "agreement", "worst", "n"),
    ]
    assert table[1].split() == [
        *("(all)", "100", "67", "33", "[-54,", "84]", "1"),
        *("67", "67", "3"),
    ]
    assert [row.split()[0] for row in table[2:]] == ["topic:film", "topic:food"]
    assert "lower: 3 of 3 copies scored" in report
    of_tags = (
        "lower: no drop was shown for any tag; p and CI adjusted for all 2, at 0.05"
    )
    assert report.count(of_tags) == 1
    assert "holds by itself" not in report


@pytest.mark.slow
def test_what_is_uncertain_comes_last_under_a_heading_that_says_so(run: Run) -> None:
    report = run("-v").stdout
    heading = "Under shuffle, after which the answers may not hold (uncertain)"
    places = [
        report.index(text)
        for text in (
            "Under contrast,",
            "Under the robustness perturbations that were evaluated",
            heading,
        )
    ]
    assert places == sorted(places)
    assert "shuffle: accuracy  original  perturbed  drop" in report
    worst = "worst over all examples, also those that were not copied: "
    assert worst in report


@pytest.mark.slow
def test_a_contrast_set_has_expected_changes_and_consistency(run: Run) -> None:
    report = run("-v").stdout
    table = report[report.index("contrast: accuracy") :].splitlines()
    assert "expected" in table[0]
    assert "agreement" not in table[0]
    [row] = [line.split() for line in report.splitlines() if line[:9] == "contrast "]
    assert row[-7] == "100"
    assert "consistent: share of the originals that are right with all" in report


@pytest.mark.slow
def test_a_headline_of_whole_sets_has_one_of_examples_beside_it(run: Run) -> None:
    report = run(metrics=()).stdout
    assert "macro-f1 under perturbation, largest drop first, in %:" in report
    assert "worst, flips: by accuracy, where macro-f1 has none\n" in report
    assert "accuracy under perturbation" not in report


@pytest.mark.slow
def test_verbose_shows_every_metric(run: Run) -> None:
    metrics = ("-m", "accuracy", "-m", "macro-f1", "-m", "label-length")
    report = run("-v", metrics=metrics).stdout
    assert "lower: macro-f1" in report
    assert "lower: worst: only whole sets have this score" in report
    assert "lower: label-length" in report
    assert "lower: label-length" not in run(metrics=metrics).stdout


def test_json_holds_everything_and_keeps_to_the_schema(run: Run) -> None:
    record = json.loads(run("--json").stdout)
    runs, families = record.pop("perturbed"), record.pop("families")
    names = [each["perturbation"]["name"] for each in runs]
    assert names == ["contrast", "lower", "shuffle"]
    effects = [each.pop("effects") for each in runs]
    validator = Draft202012Validator(SCHEMA)
    for each in (record, *runs):
        assert list(validator.iter_errors(each)) == []
    assert [each["counts"]["examples"] for each in runs] == [1, 3, 1]
    assert {each["original"] for each in runs} == {record["fingerprint"]}
    kinds = [{score["computed_on"] for score in each} for each in effects]
    assert "agreement" in kinds[1]
    assert "agreement" not in kinds[2]
    of_family = {(score["perturbation"], score["computed_on"]) for score in families}
    assert ("family:robustness", "worst") in of_family


@pytest.mark.parametrize(
    ("table_format", "row"),
    [
        ("md", "| lower | 3 | 100 % | 67 % | 33 % | [-54, 84] |"),
        ("latex", r"lower & 3 & 100 \% & 67 \% & 33 \% & [-54, 84] &"),
    ],
)
@pytest.mark.slow
def test_other_formats_have_the_tables_alone(
    run: Run, table_format: str, row: str
) -> None:
    done = run("--format", table_format)
    assert row in done.stdout
    assert "right to wrong" not in done.stdout
    assert "right to wrong" in done.stderr
    quiet = run("--format", table_format, "-q")
    assert "lower" not in quiet.stdout
    assert done.stdout.startswith(quiet.stdout)
    assert quiet.stderr == ""


@pytest.mark.slow
def test_csv_has_a_row_for_each_score(run: Run) -> None:
    lines = run("--format", "csv").stdout.splitlines()
    assert any(",lower,right-to-wrong," in line for line in lines)


@pytest.mark.slow
def test_small_tags_are_not_shown(run: Run) -> None:
    report = run("--min-n", "2", "-v").stdout
    part = report[report.index("Under lower,") : report.index("Under the ")]
    # film has two copies, food one
    assert "topic:film" in part
    assert "topic:food" not in part
    assert "not shown: 1 tag with fewer than 2 originals (--min-n)" in part


@pytest.mark.slow
def test_many_tags_are_cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalkit_cli.printing.perturbation_tables.MOST_ROWS", 1)
    report = run("--by", "topic").stdout
    part = report[report.index("Under lower,") : report.index("Under the ")]
    assert "topic:food" not in part
    assert "lower: not shown: 1 more tag (-v)" in part


@pytest.mark.slow
def test_coverage_and_other_sizes_are_shown_where_answers_are_missing(
    run: Run, write_rows: Callable[..., str]
) -> None:
    write_rows("few.jsonl", [{"id": "1_l", "label": "positive"}])
    report = run("--on-missing", "skip", "-v", answers="few.jsonl").stdout
    table = report[report.index("lower: accuracy") :].splitlines()
    assert table[0].split()[-1] == "coverage"
    assert table[1].split()[-6:] == ["3", "/", "1", "/", "1", "33.3%"]


@pytest.mark.slow
def test_refused_predictions_for_copies_are_named(
    run: Run, write_rows: Callable[..., str]
) -> None:
    write_rows("few.jsonl", [{"id": "1_l", "label": "positive"}])
    done = run(answers="few.jsonl")
    assert done.exit_code == 1
    assert "few.jsonl (lower): " in done.stderr
    assert "2 examples without a prediction" in done.stderr
    assert "missing: id '2_l'" in done.stderr


@pytest.mark.slow
def test_a_run_is_shown_as_it_was_printed(run: Run, invoke: Run) -> None:
    before = run("-o", "runs").stdout
    after = invoke("show", "latest").stdout
    start = "accuracy under perturbation"
    assert before[before.index(start) :] == after[after.index(start) :]
    assert start not in invoke("show", "latest", "--by", "answer").stdout
    checked = invoke("verify", "latest")
    assert checked.exit_code == 0
    assert "all the same within 1e-9" in checked.stdout
    assert "not computed again" not in checked.stdout


@pytest.mark.slow
def test_many_perturbations_are_one_table_with_the_largest_drop_first(
    run: Run, invoke: Run, write_rows: Callable[..., str]
) -> None:
    # all four originals, of which three are right, have a copy by each
    right_by_name = {"one": 3, "two": 0, "three": 2, "four": 1, "doubtful": 0}
    copies, said = [], []
    for name, right in right_by_name.items():
        effect = "uncertain" if name == "doubtful" else "invariant"
        for place, uid in enumerate(LABELS):
            label = LABELS[uid]
            made = copy(uid, name, label=label)
            made |= {"uid": f"{uid}_{name}", "label_effect": effect, "families": ["f"]}
            copies.append(made)
            wrong = "neutral" if label != "neutral" else "positive"
            said.append({"id": made["uid"], "label": label if place < right else wrong})
    write_rows("copies.jsonl", copies)
    write_rows("many.jsonl", said)
    shown = run(answers="many.jsonl").stdout
    table = shown[shown.index("accuracy under perturbation, largest drop") :]
    lines = [line.split() for line in table.splitlines()[3:9]]
    assert [line[0] for line in lines] == [
        *("two", "four", "three", "one", "doubtful", "family:f")
    ]
    assert lines[0][1:5] == ["4", "75", "0", "75"]
    assert lines[4][1] == "(uncertain)"
    assert "p and CI adjusted for 5 perturbations\n" in shown


@pytest.mark.slow
def test_thresholds_and_the_overview_are_about_unperturbed_scores(run: Run) -> None:
    assert run("--fail-under", "accuracy=0.75").exit_code == 0
    assert run("--fail-under", "accuracy=0.76").exit_code == 3


def test_files_are_paired_and_of_one_model(run: Run, invoke: Run) -> None:
    done = invoke("eval", "tiny", "-p", "said.jsonl", "--perturbed", "copies.jsonl")
    assert done.exit_code == 2
    assert "there are 1 and 0" in done.stderr
    done = run("-p", "b=said.jsonl")
    assert done.exit_code == 2
    assert "of one model on one data set" in done.stderr


@pytest.mark.slow
def test_a_metric_of_which_lower_is_better_has_the_least_drop_first(
    invoke: Run, run: Run, write_rows: Callable[..., str], fake_distribution: Any
) -> None:
    code = """
import evalkit


class Wrong(evalkit.Metric):
    higher_is_better = False
    bounds = (0, 1)

    def score_example(self, prediction, target):
        return float(prediction != target)
"""
    fake_distribution(code, {"evalkit.metrics": {"wrong": "Wrong"}}, name="wrong")
    report = run("-v", metrics=("-m", "wrong")).stdout
    assert "lower: undecided: wrong is worse by " in report
    assert "\nagreement by wrong: lower is better\n" in report
    table = report[report.index("lower: wrong") :].splitlines()
    assert [row.split()[0] for row in table[2:4]] == ["topic:film", "topic:food"]
    assert "flips" not in report


@pytest.mark.slow
def test_a_family_of_one_has_no_table_of_its_own(
    run: Run, write_rows: Callable[..., str]
) -> None:
    write_rows("copies.jsonl", [copy("1", "lower")])
    write_rows("one.jsonl", [{"id": "1_l", "label": "positive"}])
    report = run(answers="one.jsonl").stdout
    assert "\nlower " in report
    assert "family:robustness" not in report


@pytest.mark.slow
def test_a_family_has_no_row_for_a_tag_that_no_copy_has(
    run: Run, write_rows: Callable[..., str]
) -> None:
    write_rows("copies.jsonl", [copy("1", "lower")])
    write_rows("one.jsonl", [{"id": "1_l", "label": "positive"}])
    report = run("-v", answers="one.jsonl").stdout
    table = report[report.index("family:robustness: accuracy") :].splitlines()
    assert [row.split()[0] for row in table[1:4]] == [
        *("(all)", "topic:film", "family:robustness:")
    ]


@pytest.mark.slow
def test_a_run_of_the_copies_stands_in_place_of_files(run: Run, invoke: Run) -> None:
    expected = json.loads(run("--json").stdout)
    made = invoke(
        *("eval", "copies.jsonl", "--task", "sentiment", "-p", "said-copies.jsonl"),
        *("--model", "said", "-m", "accuracy", "-q"),
    )
    assert made.exit_code == 0, made.stderr
    given = ("eval", "tiny", "-p", "said.jsonl", "-m", "accuracy", "--perturbed")
    done = invoke(*given, "latest", "--json")
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["scores"] == expected["scores"]
    pairs = zip(record["perturbed"], expected["perturbed"], strict=True)
    assert all(one["effects"] == other["effects"] for one, other in pairs)
    assert invoke(*given, "said@copies").exit_code == 0


def test_what_is_neither_a_file_nor_a_run_is_named(invoke: Run, run: Run) -> None:
    given = ("eval", "tiny", "-p", "said.jsonl", "--perturbed")
    done = invoke(*given, "nobody")
    assert done.exit_code == 1
    assert "nobody: file not found. As a run: there is no run 'nobody'" in done.stderr
    assert run("-o", "runs").exit_code == 0
    done = invoke(*given, "latest", "--perturbed-predictions", "said-copies.jsonl")
    assert done.exit_code == 2
    assert "there are 0 and 1 (a run holds its own)." in done.stderr
    done = invoke(*given, "-", "--perturbed-predictions", "said-copies.jsonl")
    assert done.exit_code == 2
    assert "and not the standard input (-)" in done.stderr


@pytest.mark.slow
class TestFlips:
    @pytest.fixture(autouse=True)
    def made(self, run: Run) -> None:
        run("-o", "runs")

    def test_they_are_listed(self, invoke: Run) -> None:
        done = invoke("show", "latest", "--flips")
        assert done.exit_code == 0, done.stderr
        title, _, header, *table = done.stdout.splitlines()
        assert title == (
            "2 of 5 pairs flipped, by accuracy: 1 right to wrong, 1 wrong to right, 0 "
            "wrong to other wrong"
        )
        assert header.split() == [
            *("flip", "perturbation", "original", "copy", "answer", "before", "after")
        ]
        assert table[0].split() == [
            *("right", "to", "wrong", "lower", "2", "2_l"),
            *("negative", "negative", "neutral"),
        ]
        assert len(table) == 2

    def test_of_one_perturbation_and_a_few(self, invoke: Run) -> None:
        done = invoke("show", "latest", "--flips", "lower", "-n", "1")
        title, _, header, *_ = done.stdout.splitlines()
        assert title.startswith("1 of 3 pairs under lower flipped")
        assert "perturbation" not in header
        done = invoke("show", "latest", "--flips", "-n", "1", "--tag", "topic:film")
        assert "1 of 3 pairs with the tag topic:film flipped" in done.stdout
        done = invoke("show", "latest", "--flips", "-n", "1")
        assert done.stdout.splitlines()[0].endswith("; the first 1")

    def test_an_answer_that_changes_is_shown_twice(
        self, invoke: Run, run: Run, write_rows: Callable[..., str]
    ) -> None:
        write_rows("copies.jsonl", [copy("1", "contrast", label="negative")])
        write_rows("one.jsonl", [{"id": "1_c", "label": "positive"}])
        run(answers="one.jsonl")
        assert "positive → negative" in invoke("show", "latest", "--flips").stdout

    def test_json_and_csv_hold_all(self, invoke: Run) -> None:
        found = json.loads(invoke("show", "latest", "--flips", "--json").stdout)
        assert (found["n"], found["metric"], found["perturbation"]) == (
            *(5, "accuracy", None),
        )
        assert found["flipped"] == {
            "right-to-wrong": 1,
            "wrong-to-right": 1,
            "wrong-to-other-wrong": 0,
        }
        assert found["pairs"][0] == {
            "flip": "right-to-wrong",
            "perturbation": "lower",
            "input_id": "2",
            "id": "2_l",
            "original_answer": "negative",
            "answer": "negative",
            "original_pred": "negative",
            "pred": "neutral",
            "tags": ["topic:film"],
        }
        done = invoke("show", "latest", "--flips", "--format", "csv")
        assert done.stdout.splitlines()[1] == (
            'right-to-wrong,lower,2,2_l,negative,negative,negative,neutral,"'
            '[""topic:film""]"'
        )
        assert done.stderr.startswith("2 of 5 pairs flipped")

    def test_other_views_and_other_runs_are_refused(self, invoke: Run) -> None:
        done = invoke("show", "latest", "--flips", "--wrong")
        assert done.exit_code == 2
        assert "--wrong and --flips are two views; choose one." in done.stderr
        assert invoke("show", "metrics/accuracy", "--flips").exit_code == 2
        invoke("eval", "tiny", "-p", "said.jsonl")
        done = invoke("show", "latest", "--flips")
        assert done.exit_code == 1
        assert "has no perturbed copies" in done.stderr
