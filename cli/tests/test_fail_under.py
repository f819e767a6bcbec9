"""`--fail-under` makes a low score an exit code."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from evalkit_cli.commands.thresholds import read_thresholds

Invoke = Callable[..., Result]
Write = Callable[..., str]

THREE = ("positive", "negative", "positive", "positive")

LOSS = '''
import evalkit

class Loss(evalkit.Metric):
    """Share of predictions that are not the answer."""

    unit = "nats"
    higher_is_better = False

    def score_example(self, prediction, target):
        return 2.0 * (prediction != target)

def get_nothing(predictions, targets):
    return None
'''


@pytest.fixture(autouse=True)
def _plugins(plugins: Any, fake_distribution: Callable[..., Any]) -> None:
    """All tests here use the plugins of conftest.py and two metrics."""
    names = {"evalkit.metrics": {"loss": "Loss", "nothing": "get_nothing"}}
    fake_distribution(LOSS, names, name="loss-plugins")


@pytest.fixture
def evaluate(invoke: Invoke, predict: Write) -> Callable[..., Result]:
    """Evaluate three of four right labels under thresholds."""

    def run(
        *thresholds: str,
        metrics: tuple[str, ...] = ("accuracy",),
        options: tuple[str, ...] = (),
        **variables: str,
    ) -> Result:
        arguments = ["eval", "tiny", "-p", predict("three.jsonl", THREE), *options]
        for metric in metrics:
            arguments += ["-m", metric]
        for threshold in thresholds:
            arguments += ["--fail-under", threshold]
        return invoke(*arguments, **variables)

    return run


def without_time(text: str) -> str:
    """Leave the time out of the names of run folders."""
    return re.sub(r"\d{8}T\d{6}\.\d{3}Z", "", text)


@pytest.mark.parametrize("threshold", ["accuracy=0.75", "accuracy=75%", "accuracy=0"])
def test_a_threshold_that_is_met_changes_nothing(
    evaluate: Callable[..., Result], threshold: str
) -> None:
    done = evaluate(threshold)
    assert (done.exit_code, done.stderr) == (0, "")
    assert without_time(done.stdout) == without_time(evaluate().stdout)


@pytest.mark.parametrize("threshold", ["accuracy=0.8", "accuracy=80%", "accuracy=80.%"])
def test_a_score_under_its_threshold_exits_with_3_after_the_scores(
    evaluate: Callable[..., Result], threshold: str
) -> None:
    done = evaluate(threshold)
    assert done.exit_code == 3
    assert without_time(done.stdout) == without_time(evaluate().stdout)
    assert done.stderr == "evalkit: not met: tiny: accuracy is 0.75, under 0.8\n"


def test_a_percentage_is_the_same_number_as_its_proportion() -> None:
    texts = [f"{number / 10:.1f}" for number in range(1001)]
    read = read_thresholds([f"accuracy={text}%" for text in texts])
    assert [each.value for each in read] == [number / 1000 for number in range(1001)]


@pytest.mark.parametrize("threshold", ["accuracy=75", "accuracy=75@lower"])
def test_points_of_a_proportion_are_wrong_usage(
    evaluate: Callable[..., Result], threshold: str
) -> None:
    done = evaluate(threshold)
    assert (done.exit_code, done.stdout) == (2, "")
    said = " ".join(done.stderr.split())
    assert "proportions are stored as 0 to 1" in said
    assert said.endswith("give 75% or 0.75.")
    assert "no proportion is above 100%" in evaluate("accuracy=101%").stderr
    assert "no proportion is below 0%" in evaluate("accuracy=-1%").stderr
    assert "0 to 1, and -0.5 is below" in evaluate("accuracy=-.5").stderr
    assert "its values are 0 to 1, and 101 is above" in evaluate("accuracy=101").stderr
    assert evaluate("accuracy=1.5%").exit_code == 0


def test_json_is_printed_all_the_same(evaluate: Callable[..., Result]) -> None:
    done = evaluate("accuracy=1", options=("--json",))
    assert done.exit_code == 3
    assert json.loads(done.stdout)["scores"][0]["value"] == 0.75


def test_where_lower_is_better_the_threshold_is_the_most(
    evaluate: Callable[..., Result],
) -> None:
    assert evaluate("loss=0.5", metrics=("loss",)).exit_code == 0
    done = evaluate("loss=0.4", metrics=("loss",))
    assert done.exit_code == 3
    assert done.stderr == "evalkit: not met: tiny: loss is 0.5, above 0.4\n"


def test_each_threshold_has_a_line(evaluate: Callable[..., Result]) -> None:
    done = evaluate(
        *("accuracy=0.8", "f1:label=positive=0.1", "loss=0.1", "accuracy=0.9"),
        metrics=("accuracy", "loss", "f1:label=positive"),
    )
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        "evalkit: not met: tiny: accuracy is 0.75, under 0.8",
        "evalkit: not met: tiny: loss is 0.5, above 0.1",
        "evalkit: not met: tiny: accuracy is 0.75, under 0.9",
    ]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("0.76", "accuracy is 0.75, under 0.76"),
        ("0.75000000000001", "accuracy is 0.75, under 0.75000000000001"),
    ],
)
def test_a_verdict_has_as_many_digits_as_tell_the_numbers_apart(
    evaluate: Callable[..., Result], value: str, line: str
) -> None:
    assert evaluate(f"accuracy={value}").stderr == f"evalkit: not met: tiny: {line}\n"


def test_every_model_must_meet_them(
    evaluate: Callable[..., Result], predict: Write
) -> None:
    other = predict("other.jsonl", ("neutral",) * 4)
    done = evaluate("accuracy=0.5", options=("-p", other))
    assert done.exit_code == 3
    assert done.stderr == "evalkit: not met: tiny: other: accuracy is 0.25, under 0.5\n"


def test_a_score_without_a_value_meets_none(evaluate: Callable[..., Result]) -> None:
    done = evaluate("nothing=0", metrics=("nothing",))
    assert done.exit_code == 3
    assert done.stderr.startswith("evalkit: not met: tiny: nothing has no value: ")


def test_the_variable_holds_several(evaluate: Callable[..., Result]) -> None:
    done = evaluate(EVALKIT_FAIL_UNDER="accuracy=0.8 accuracy=0.1")
    assert done.exit_code == 3
    assert done.stderr == "evalkit: not met: tiny: accuracy is 0.75, under 0.8\n"
    assert evaluate("accuracy=0.1", EVALKIT_FAIL_UNDER="accuracy=1").exit_code == 0


@pytest.mark.parametrize(
    "threshold", ["accuracy", "accuracy=", "=0.8", "accuracy=high", "accuracy=nan", ""]
)
def test_another_form_is_wrong_usage_before_anything_runs(
    evaluate: Callable[..., Result], threshold: str
) -> None:
    done = evaluate(threshold)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is not of the form METRIC=VALUE" in done.stderr


def test_an_unknown_metric_is_refused_before_anything_runs(
    evaluate: Callable[..., Result],
) -> None:
    done = evaluate("acuracy=0.8", metrics=("accuracy", "loss"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "names 'acuracy', of which there is no score; there are: " in done.stderr
    assert "accuracy, loss." in done.stderr


def test_percent_is_for_proportions(evaluate: Callable[..., Result]) -> None:
    done = evaluate("loss=50%", metrics=("loss",))
    assert done.exit_code == 2
    assert "is no proportion; give the threshold in its own unit (nats)" in done.stderr
    done = evaluate("label-length=50%", metrics=("label-length",))
    assert "(chars), without %." in done.stderr


@pytest.mark.slow
def test_a_failure_weighs_more_than_a_threshold(
    evaluate: Callable[..., Result], predict: Write
) -> None:
    failing = evaluate("accuracy=0.8", metrics=("accuracy", "failing"))
    assert failing.exit_code == 1
    assert "evalkit: not met: tiny: accuracy is 0.75, under 0.8\n" in failing.stderr
    unknown = evaluate("accuracy@other=0.8", metrics=("accuracy", "failing"))
    assert unknown.exit_code == 1
    assert "evalkit: error: --fail-under accuracy@other: no example" in unknown.stderr
    missing = predict("missing.jsonl", THREE[:2])
    refused = evaluate("accuracy=0.8", options=("-p", missing))
    assert refused.exit_code == 1
    assert "three: accuracy is 0.75, under 0.8" in refused.stderr


def test_a_refused_run_alone_has_no_score_to_check(
    invoke: Invoke, predict: Write
) -> None:
    file = predict("two.jsonl", THREE[:2])
    done = invoke("eval", "tiny", "-p", file, "--fail-under", "accuracy=0.8")
    assert done.exit_code == 1
    assert "fail-under" not in done.stderr


@pytest.mark.slow
def test_several_data_sets_need_a_metric_only_once(
    invoke: Invoke, write_rows: Write, tmp_path: Any
) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    labels = [{"id": str(n), "label": label} for n, label in enumerate(THREE, start=1)]
    answers = [{"id": str(n), "answer": "xq"} for n in (1, 2)]
    write_rows("all/tiny.jsonl", labels)
    write_rows("all/questions.jsonl", answers)
    arguments = ("eval", "--predictions-dir", "all", "--fail-under")
    done = invoke(*arguments, "exact-match=0.5")
    assert done.exit_code == 3
    assert done.stderr.endswith(
        "evalkit: not met: questions: all: exact-match is 0, under 0.5\n"
    )


@pytest.mark.slow
def test_a_bound_of_the_interval_can_be_what_counts(
    evaluate: Callable[..., Result],
) -> None:
    [score] = json.loads(evaluate(options=("--json", "-m", "accuracy")).stdout)[
        "scores"
    ][:1]
    low, high = score["ci_low"], score["ci_high"]
    assert 0.2 < low < 0.75 < high < 0.999
    assert evaluate("accuracy=0.7").exit_code == 0
    for met in (f"accuracy={low}@lower", "accuracy=20%@lower", "accuracy=95%@upper"):
        assert evaluate(met).exit_code == 0, met
    done = evaluate("accuracy=0.7@lower", "accuracy=99.5%@upper")
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        f"evalkit: not met: tiny: accuracy has the lower bound {low:.6g}, under 0.7",
        f"evalkit: not met: tiny: accuracy has the upper bound {high:.6g}, under 0.995",
    ]


def test_a_bound_keeps_its_name_where_lower_is_better(
    evaluate: Callable[..., Result],
) -> None:
    scores = json.loads(evaluate(metrics=("loss",), options=("--json",)).stdout)
    low, high = scores["scores"][0]["ci_low"], scores["scores"][0]["ci_high"]
    assert low < 0.5 < high
    assert evaluate(f"loss={low - 0.1}@lower", metrics=("loss",)).exit_code == 3
    assert evaluate(f"loss={high}@upper", metrics=("loss",)).exit_code == 0
    done = evaluate("loss=0.5@upper", metrics=("loss",))
    assert done.exit_code == 3
    assert done.stderr == (
        f"evalkit: not met: tiny: loss has the upper bound {high:.6g}, above 0.5\n"
    )


def test_a_score_without_an_interval_meets_no_bound(
    invoke: Invoke, predict: Write
) -> None:
    file = predict("three.jsonl", THREE)
    arguments = ("eval", "tiny", "-p", file, "-m", "accuracy", "--limit", "1")
    assert invoke(*arguments, "--fail-under", "accuracy=0.5").exit_code == 0
    done = invoke(*arguments, "--fail-under", "accuracy=0.5@lower")
    assert done.exit_code == 3
    assert "accuracy has no lower bound: it has no interval: n is 1" in done.stderr


@pytest.mark.parametrize("threshold", ["accuracy=0.8@", "accuracy=0.8@middle", "a@b"])
def test_another_bound_is_wrong_usage(
    evaluate: Callable[..., Result], threshold: str
) -> None:
    done = evaluate(threshold)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "accuracy=0.8@lower (or @upper)" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("threshold", "line"),
    [
        ("accuracy@topic:food=0.4", ""),
        ("accuracy@topic:film=1", ""),
        ("tiny:accuracy=0.7", ""),
        ("tiny:accuracy@topic:food=50%", ""),
        ("accuracy@topic:food=0.6", "accuracy on topic:food is 0.5, under 0.6"),
        ("tiny:accuracy=0.8", "accuracy is 0.75, under 0.8"),
        ("tiny:accuracy@topic:food=0.6", "accuracy on topic:food is 0.5, under 0.6"),
        ("f1:label=positive@topic:film=1.0@lower", "f1:label=positive on topic:film "),
    ],
)
def test_a_threshold_can_be_of_a_tag_and_of_a_data_set(
    evaluate: Callable[..., Result], threshold: str, line: str
) -> None:
    done = evaluate(threshold, metrics=("accuracy", "f1:label=positive"))
    assert done.exit_code == (3 if line else 0), done.stderr
    verdicts = [said for said in done.stderr.splitlines() if "not met" in said]
    assert len(verdicts) == bool(line)
    assert all(said.startswith(f"evalkit: not met: tiny: {line}") for said in verdicts)


def test_a_threshold_of_one_data_set_leaves_the_others_alone(
    invoke: Invoke, write_rows: Write, tmp_path: Any
) -> None:
    (tmp_path / "all").mkdir()
    labels = [{"id": str(n), "label": label} for n, label in enumerate(THREE, start=1)]
    answers = [{"id": str(n), "answer": "xq"} for n in (1, 2)]
    write_rows("all/tiny.jsonl", labels)
    write_rows("all/questions.jsonl", answers)
    arguments = ("eval", "--predictions-dir", "all", "--fail-under")
    assert invoke(*arguments, "tiny:accuracy=0.7").exit_code == 0
    done = invoke(*arguments, "questions:exact-match=0.5")
    assert done.exit_code == 3
    wrong = invoke(*arguments, "questions:accuracy=0.5")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "'questions:accuracy', of which there is no score" in wrong.stderr


def test_a_tag_that_no_example_has_is_named_after_the_scores(
    evaluate: Callable[..., Result],
) -> None:
    done = evaluate("accuracy@topic:fod=0.5")
    assert done.exit_code == 2
    assert "accuracy" in done.stdout
    said = " ".join(done.stderr.split())
    assert "no example has the tag 'topic:fod'; there are: topic:f" in said
    assert "--by" not in said
    said = " ".join(evaluate("accuracy@lang:de=0.5").stderr.split())
    assert said.endswith("--by lang or --map facet:lang=COLUMN.")


def test_a_score_that_a_metric_may_name_later_is_not_refused_before(
    evaluate: Callable[..., Result],
) -> None:
    done = evaluate("accuracy#other=0.5")
    assert done.exit_code == 2
    assert "accuracy" in done.stdout
    assert "of which there is no score; there are: accuracy" in done.stderr


@pytest.mark.known_result
def test_the_mean_over_a_facet_is_shown_and_gated(
    invoke: Invoke, cases: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["eval", "--task", "multiple-choice", "--by", "subject"]
    arguments += ["--data", str(cases / "19-data.jsonl")]
    arguments += ["-p", str(cases / "19-pred.jsonl"), "--fail-under"]
    done = invoke(*arguments, "accuracy@macro:subject=0.54")
    assert done.exit_code == 3
    assert "accuracy (mean over subject)   53 %  [41, 65]  60" in done.stdout
    said = "accuracy on macro:subject is 0.533333, under 0.54"
    assert done.stderr.endswith(f"evalkit: not met: 19-data: {said}\n")
    assert invoke(*arguments, "accuracy@macro:subject=0.53").exit_code == 0
    assert invoke(*arguments, "accuracy=0.52").exit_code == 3
