"""`evalkit eval`: what is evaluated, and how it ends."""

import importlib.metadata
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]

RIGHT = ("positive", "negative", "neutral", "positive")
THREE = ("positive", "negative", "positive", "positive")


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


@pytest.fixture
def three(predict: Write) -> str:
    """Predictions of which three of four are right."""
    return predict("three.jsonl", THREE)


def record_of(done: Result) -> Any:
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def whole(record: Any) -> dict[str, Any]:
    scores = [s for s in record["scores"] if s["tag"] is s["aggregate"] is None]
    return {score["metric"]: score["value"] for score in scores}


def test_json_is_the_run_file_and_scores_are_right(
    invoke: Invoke, three: str, tmp_path: Path
) -> None:
    done = invoke("eval", "tiny", "-p", three, "--json")
    record = record_of(done)
    assert done.stderr == ""
    # F1: positive 2*2/(2+3), negative 1, neutral 0
    assert whole(record) == {"macro-f1": pytest.approx(0.6), "accuracy": 0.75}
    assert record["headline"] == "macro-f1"
    assert (record["model"], record["dataset"]) == ("three", "tiny")
    [folder] = (tmp_path / "runs" / "tiny").iterdir()
    written = json.loads((folder / "run.json").read_text("utf-8"))
    assert {**written, "scores": record["scores"]} == record
    assert sorted(path.name for path in folder.iterdir()) == [
        "examples.parquet",
        "problems.jsonl",
        "responses.parquet",
        "run.json",
        "scores.parquet",
        "statistics",
    ]
    statistics = sorted(path.name for path in (folder / "statistics").iterdir())
    assert statistics == ["accuracy.parquet", "macro-f1.parquet"]


def test_plain_lines_are_taken_in_the_order_of_the_data(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(THREE) + "\n", encoding="utf-8")
    record = record_of(invoke("eval", "tiny", "-p", "lines.txt", "--json"))
    assert whole(record)["accuracy"] == 0.75
    assert record["model"] == "lines"


@pytest.mark.parametrize(
    ("given", "model"),
    [
        (("-p", "three.jsonl", "--model", "best"), "best"),
        (("-p", "best=three.jsonl"), "best"),
        (("-p", "./three.jsonl"), "three"),
    ],
)
def test_a_model_is_named_by_option_by_prefix_or_by_the_file(
    invoke: Invoke, three: str, given: tuple[str, ...], model: str
) -> None:
    assert record_of(invoke("eval", "tiny", *given, "--json"))["model"] == model


def test_a_file_whose_name_holds_an_equals_sign_is_a_file(
    invoke: Invoke, predict: Write
) -> None:
    file = predict("a=b.jsonl", RIGHT)
    record = record_of(invoke("eval", "tiny", "-p", file, "--json"))
    assert record["model"] == "a=b"
    assert record["predictions"]["name"] == "a=b.jsonl"


def test_json_of_several_models_is_a_list_in_their_order(
    invoke: Invoke, predict: Write, three: str
) -> None:
    perfect = predict("perfect.jsonl", RIGHT)
    records = record_of(
        invoke("eval", "tiny", "-p", three, "-p", f"z={perfect}", "--json")
    )
    assert [record["model"] for record in records] == ["three", "z"]
    assert [whole(record)["accuracy"] for record in records] == [0.75, 1.0]


def test_json_of_several_models_of_which_none_can_be_read_is_an_empty_list(
    invoke: Invoke, tmp_path: Path
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).mkdir()
    done = invoke("eval", "tiny", "-p", "a.jsonl", "-p", "b.jsonl", "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (1, [])
    assert done.stderr.count("evalkit: error: ") == 2
    alone = invoke("eval", "tiny", "-p", "a.jsonl", "--json")
    assert (alone.exit_code, alone.stdout) == (1, "")


@pytest.mark.parametrize(
    ("option", "variable", "value", "read"),
    [
        ("--seed", "EVALKIT_SEED", "7", lambda r: r["seed"] == 7),
        ("--confidence", "EVALKIT_CONFIDENCE", "0.5", lambda r: r["confidence"] == 0.5),
        (
            "--on-missing",
            "EVALKIT_ON_MISSING",
            "wrong",
            lambda r: r["policies"]["on_missing"] == "wrong",
        ),
        (
            "--on-invalid",
            "EVALKIT_ON_INVALID",
            "skip",
            lambda r: r["policies"]["on_invalid"] == "skip",
        ),
        (
            "--on-duplicate",
            "EVALKIT_ON_DUPLICATE",
            "last",
            lambda r: r["policies"]["on_duplicate"] == "last",
        ),
        ("--split", "EVALKIT_SPLIT", "test", lambda r: r["split"] == "test"),
        (
            "--no-examples",
            "EVALKIT_NO_EXAMPLES",
            "1",
            lambda r: r["includes_examples"] is False,
        ),
        (
            "--out",
            "EVALKIT_OUT",
            "elsewhere",
            lambda r: any(
                Path("elsewhere", "tiny").glob(f"*-{r['fingerprint'][:8]}/run.json")
            ),
        ),
    ],
)
@pytest.mark.slow
def test_an_option_and_its_variable_do_the_same(
    invoke: Invoke,
    three: str,
    option: str,
    variable: str,
    value: str,
    read: Callable[[Any], bool],
) -> None:
    base = ("eval", "tiny", "-p", three, "-m", "accuracy", "--json")
    given = (option,) if option == "--no-examples" else (option, value)
    by_option = record_of(invoke(*base, *given))
    assert read(by_option)
    by_variable = record_of(invoke(*base, **{variable: value}))
    assert by_option["fingerprint"] == by_variable["fingerprint"]


@pytest.mark.slow
def test_flags_of_output_have_variables_too(invoke: Invoke, three: str) -> None:
    base = ("eval", "tiny", "-p", three, "--min-n", "1")
    assert record_of(invoke(*base, EVALKIT_JSON="1"))["model"] == "three"
    quiet = invoke(*base, EVALKIT_QUIET="1").stdout
    assert quiet == invoke(*base, "-q").stdout
    assert "tiny (sentiment" not in quiet
    texts = [
        invoke(*base, EVALKIT_VERBOSE="1").stdout,
        invoke(*base, "-v").stdout,
        invoke(*base).stdout,
    ]
    verbose, same, short = (re.sub("run folder: .*", "", text) for text in texts)
    assert verbose == same != short


def test_a_wider_confidence_gives_a_wider_interval(invoke: Invoke, three: str) -> None:
    def width(confidence: str) -> float:
        arguments = ("-m", "accuracy", "--confidence", confidence, "--json")
        score = record_of(invoke("eval", "tiny", "-p", three, *arguments))["scores"][0]
        return float(score["ci_high"] - score["ci_low"])

    assert width("0.5") < width("0.95") < width("0.999")


def test_a_metric_takes_parameters_in_its_name(invoke: Invoke, three: str) -> None:
    record = record_of(
        invoke(
            *("eval", "tiny", "-p", three, "--json"),
            *("-m", "label-length:factor=2,only=positive/neutral"),
        )
    )
    name = "label-length:factor=2.0,only=positive/neutral"
    assert whole(record) == {name: 16.0}
    [component] = [c for c in record["components"] if c["id"].startswith("metrics/")]
    assert component["parameters"] == {"factor": 2.0, "only": ["positive", "neutral"]}


def test_parameters_come_from_a_file_too(
    invoke: Invoke, three: str, tmp_path: Path
) -> None:
    values = {"label-length": {"only": ["negative"], "factor": 0.5}}
    (tmp_path / "params.json").write_text(json.dumps(values), encoding="utf-8")
    base = ("eval", "tiny", "-p", three, "-m", "label-length@tiny-plugins", "--json")
    record = record_of(invoke(*base, "--params", "params.json"))
    assert whole(record) == {"label-length:factor=0.5,only=negative": 4.0}
    again = record_of(invoke(*base, EVALKIT_PARAMS="params.json"))
    assert again["fingerprint"] == record["fingerprint"]


@pytest.mark.parametrize(
    ("text", "said", "code"),
    [
        ("{", "params.json: is not JSON", 1),
        ("[1]", "params.json: must hold an object of objects", 1),
        ('{"label-length": 1}', "params.json: must hold an object of objects", 1),
        ('{"label-lenght": {}}', "which --metric does not name", 2),
        (
            '{"label-length": {"speed": 1}}',
            "speed is unknown (it takes: factor, only)",
            1,
        ),
        (
            '{"label-length": {"factor": "x"}}',
            "parameter factor must be a valid number",
            1,
        ),
    ],
)
def test_wrong_parameters_are_named(
    invoke: Invoke, three: str, tmp_path: Path, text: str, said: str, code: int
) -> None:
    (tmp_path / "params.json").write_text(text, encoding="utf-8")
    done = invoke(
        *("eval", "tiny", "-p", three, "-m", "label-length"),
        *("--params", "params.json"),
    )
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a data set (see `evalkit list datasets`), or a file with --data"),
        (("tiny",), "tiny ships no predictions; give some with --predictions FILE"),
        (("data.csv", "-p", "three.jsonl"), "'data.csv' is a file; say which task it"),
        (("./tiny", "-p", "three.jsonl"), "'./tiny' is a file; say which task it"),
        (
            ("tiny", "-p", "three.jsonl", "-p", "three.jsonl"),
            "two models are called 'three'",
        ),
        (
            ("tiny", "-p", "a=three.jsonl", "-p", "b=three.jsonl", "--model", "c"),
            "--model names a single model",
        ),
        (("tiny", "-p", "three.jsonl", "--seed", "x"), "'x' is not a valid integer"),
        (("tiny", "-p", "three.jsonl", "--confidence", "1"), "0<x<1"),
        (("tiny", "-p", "three.jsonl", "--on-missing", "maybe"), "'maybe' is not one"),
        (("tiny", "-p", "three.jsonl", "--format", "pdf"), "'pdf' is not one of"),
        (("tiny", "-p", "three.jsonl", "-o", "three.jsonl"), "is a file"),
        (("tiny", "-p", "three.jsonl", "--params", "no.json"), "does not exist"),
        (("tiny", "-p", "three.jsonl", "--jsn"), "No such option"),
        (("--data", "three.jsonl", "three.jsonl"), "are given with -p three.jsonl"),
    ],
)
def test_wrong_usage_exits_2(
    invoke: Invoke, three: str, arguments: tuple[str, ...], said: str
) -> None:
    done = invoke("eval", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert not Path("runs").exists()


def test_params_without_metrics_are_wrong_usage(
    invoke: Invoke, three: str, tmp_path: Path
) -> None:
    (tmp_path / "params.json").write_text("{}", encoding="utf-8")
    done = invoke("eval", "tiny", "-p", three, "--params", "params.json")
    assert done.exit_code == 2
    assert "--params needs the metrics named with --metric" in done.stderr


def test_an_unknown_command_suggests_the_nearest(invoke: Invoke) -> None:
    done = invoke("evla")
    assert done.exit_code == 2
    assert "No such command 'evla'. Did you mean 'eval'?" in done.stderr
    assert "Did you mean" not in invoke("xyzzy").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tyny", "-p", "three.jsonl"), "no data set 'tyny'; did you mean tiny?"),
        (
            ("tiny", "-p", "three.jsonl", "-m", "label-lenght"),
            "no metric 'label-lenght'; did you mean label-length?",
        ),
        (
            ("tiny", "-p", "three.jsonl", "-m", "accuracy@nobody"),
            "no metric 'accuracy@nobody'; accuracy is declared by "
            "evalkit-metrics-classification",
        ),
        (
            ("tiny", "-p", "three.jsonl", "--observer", "recoder"),
            "no observer 'recoder'; did you mean recorder?",
        ),
        (
            ("tiny", "-p", "three.jsonl", "--split", "train"),
            "datasets/tiny has no split 'train'; it has test",
        ),
        (("tiny", "-p", "no.jsonl"), "no.jsonl: there is no such file"),
        (("tiny", "-p", "runs"), "runs: file not found"),
        (("tiny", "-p", "."), ".: is a folder, not a file"),
        (
            ("tiny", "-p", "three.jsonl", "-m", "macro-f1:lables=seen"),
            "lables is unknown (it takes: labels)",
        ),
        (
            ("tiny", "-p", "three.jsonl", "-m", "agreement:a=1"),
            "metrics/agreement (tiny-plugins 4.5.6) takes no parameters, got a",
        ),
        (
            ("tiny", "-p", "three.jsonl", "-m", "accuracy:oops"),
            "'oops' is not of the form KEY=VALUE",
        ),
    ],
)
def test_a_name_that_fits_nothing_exits_1_and_says_what_would(
    invoke: Invoke, three: str, arguments: tuple[str, ...], said: str
) -> None:
    done = invoke("eval", *arguments)
    assert done.exit_code == 1
    assert done.stderr.startswith("evalkit: error: ")
    assert said in done.stderr
    assert done.stdout == ""
    assert not Path("runs").exists()


def test_a_metric_that_is_not_installed_names_its_distribution(
    invoke: Invoke, three: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = list(importlib.metadata.distributions())
    without = [
        found
        for found in everything
        if found.metadata["Name"] != "evalkit-metrics-classification"
    ]
    assert len(without) == len(everything) - 1
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: iter(without))
    done = invoke("eval", "tiny", "-p", three)
    assert done.exit_code == 1
    assert done.stderr == (
        "evalkit: error: tasks/sentiment (evalkit-tasks-text 0.1.0) names the metric "
        "'macro-f1': there is no metric 'macro-f1'; it is part of the distribution "
        "evalkit-metrics-classification, which is not installed\n"
    )


def test_shipped_predictions_are_scored_where_none_are_given(invoke: Invoke) -> None:
    done = invoke("eval", "sample-hs", "-m", "accuracy", "--json")
    records = record_of(done)
    assert [record["model"] for record in records] == ["keywords", "profanity"]
    assert done.stderr == (
        "no --predictions given: scoring those that ship with sample-hs "
        "(keywords, profanity)\n"
    )
    assert invoke("eval", "sample-hs", "-m", "accuracy", "-q").stderr == ""


REFUSED = [
    {"id": "1", "label": "positive"},
    {"id": "1", "label": "negative"},
    {"id": "2", "label": "angry"},
    {"id": "99", "label": "positive"},
    "not json",
]


def test_refused_predictions_say_why_and_where_the_rest_is(
    invoke: Invoke, write_rows: Write, tmp_path: Path
) -> None:
    file = write_rows("bad.jsonl", REFUSED)
    done = invoke("eval", "tiny", "-p", file)
    assert (done.exit_code, done.stdout) == (1, "")
    [run] = (tmp_path / "runs" / "tiny").iterdir()
    assert done.stderr.splitlines() == [
        "evalkit: error: the predictions of bad were refused: 2 examples without a "
        "prediction (--on-missing wrong|skip); 1 invalid prediction (--on-invalid "
        "wrong|skip); 1 prediction with a repeated id (--on-duplicate first|last; "
        "_replication_ tells replications apart)",
        "  duplicate: line 2, id '1': id: must be given once; line 1 is used, "
        "found '1'",
        "  invalid: line 3, id '2': label: must be one of positive, negative, neutral, "
        "found 'angry'",
        "  unknown: line 4, id '99': id: must be the id of an example, found '99'",
        "  unreadable: line 5: (line): must be JSON (Expecting value: column 1), "
        "found 'not json'",
        "  missing: id '3'",
        "  missing: id '4'",
        f"all of them are in {run.relative_to(tmp_path) / 'problems.jsonl'}",
    ]


def test_a_refused_run_holds_counts_and_all_problems_but_no_scores(
    invoke: Invoke, write_rows: Write, tmp_path: Path
) -> None:
    done = invoke("eval", "tiny", "-p", write_rows("bad.jsonl", REFUSED), "--json")
    assert done.exit_code == 1
    record = json.loads(done.stdout)
    assert (record["status"], record["scores"], record["headline"]) == (
        "refused",
        [],
        None,
    )
    assert record["counts"] == {
        "examples": 4,
        "predictions": 5,
        "scored": 1,
        "invalid": 1,
        "missing": 2,
        "duplicate": 1,
        "unknown": 1,
        "unreadable": 1,
        "unparsed": 0,
    }
    [folder] = (tmp_path / "runs" / "tiny").iterdir()
    text = (folder / "problems.jsonl").read_text("utf-8")
    problems = [json.loads(line) for line in text.splitlines()]
    assert [(p["status"], p["line"], p["id"]) for p in problems] == [
        ("duplicate", 2, "1"),
        ("invalid", 3, "2"),
        ("unknown", 4, "99"),
        ("unreadable", 5, None),
        ("missing", None, "3"),
        ("missing", None, "4"),
    ]
    assert problems[1]["violations"] == [
        {
            "field": "label",
            "rule": "must be one of positive, negative, neutral",
            "value": "angry",
        }
    ]
    assert pl.read_parquet(folder / "scores.parquet").height == 0


def test_only_the_first_few_problems_of_a_kind_are_printed(
    invoke: Invoke, write_rows: Write, tmp_path: Path
) -> None:
    rows = [{"id": f"no-{number}", "label": "positive"} for number in range(6)]
    done = invoke("eval", "tiny", "-p", write_rows("far.jsonl", rows))
    assert done.stderr.count("  unknown: ") == 3
    assert done.stderr.count("  missing: ") == 3
    assert "  and 3 more unknown, 1 more missing\n" in done.stderr
    [problems] = tmp_path.glob("runs/tiny/*/problems.jsonl")
    assert len(problems.read_text("utf-8").splitlines()) == 10


def test_one_refused_model_does_not_keep_the_others_from_being_shown(
    invoke: Invoke, write_rows: Write, three: str
) -> None:
    bad = write_rows("bad.jsonl", REFUSED)
    done = invoke("eval", "tiny", "-p", bad, "-p", three)
    assert done.exit_code == 1
    assert "the predictions of bad were refused" in done.stderr
    assert done.stdout.startswith("tiny (sentiment, split test): three\n")
    both = json.loads(invoke("eval", "tiny", "-p", bad, "-p", three, "--json").stdout)
    assert [record["status"] for record in both] == ["refused", "complete"]


def test_a_metric_that_fails_makes_a_partial_run(
    invoke: Invoke, three: str, tmp_path: Path
) -> None:
    arguments = ("eval", "tiny", "-p", three, "-m", "accuracy", "-m", "failing")
    done = invoke(*arguments, "--json")
    assert done.exit_code == 1
    record = json.loads(done.stdout)
    error = (
        "metrics/failing (tiny-plugins 4.5.6): 1 of 4 examples left out, as it failed: "
        "score_example failed for the example '3' with ValueError: no neutral, please"
    )
    assert (record["status"], record["errors"]) == ("partial", [error])
    assert whole(record) == {"accuracy": 0.75, "failing": 1.0}
    failing = next(score for score in record["scores"] if score["metric"] == "failing")
    assert (failing["n"], failing["coverage"]) == (3, 0.75)
    table = invoke(*arguments)
    assert table.exit_code == 1
    assert f"\nerror: {error}\n" in table.stdout
    assert "Traceback" not in table.stderr


OWN = """
import evalkit


class Own(evalkit.Dataset):
    task = "sentiment"

    def load(self, split):
        rows = [("1", "positive"), ("2", "negative"), ("3", "neutral")]
        return [{"uid": uid, "statement": "x", "label": y} for uid, y in rows]

    def evaluate(self, frame):
        raise ZeroDivisionError("no rows left")


class Some(evalkit.Metric):
    def score_example(self, target):
        return None if target == "neutral" else 1.0
"""


def test_a_data_set_whose_evaluate_fails_is_named_and_the_run_is_partial(
    invoke: Invoke, predict: Write, fake_distribution: Callable[..., Any]
) -> None:
    points = {"evalkit.datasets": {"own": "Own"}, "evalkit.metrics": {"some": "Some"}}
    fake_distribution(OWN, points, name="own-data", version="7.0")
    file = predict("m.jsonl", ["positive", "negative", "neutral"])
    arguments = ("eval", "own", "-p", file, "-m", "accuracy", "-m", "some")
    error = (
        "datasets/own (own-data 7.0): evaluate failed with ZeroDivisionError: no rows "
        "left"
    )
    left_out = (
        "metrics/some (own-data 7.0): score_example returned None for 1 of 3 examples; "
        "they are not part of its n and value"
    )
    done = invoke(*arguments)
    assert done.exit_code == 1
    assert f"\nerror: {error}\n" in done.stdout
    assert f"\nnotice: {left_out}\n" in done.stdout
    quiet = invoke(*arguments, "--quiet")
    assert quiet.exit_code == 1
    assert f"evalkit: error: {error}\n" in quiet.stderr
    done = invoke(*arguments, "--json")
    record = json.loads(done.stdout)
    assert (done.exit_code, record["status"]) == (1, "partial")
    assert (record["errors"], record["notices"]) == ([error], [left_out])
    some = next(score for score in record["scores"] if score["metric"] == "some")
    assert (some["n"], some["coverage"], some["value"]) == (2, 2 / 3, 1.0)


@pytest.mark.parametrize("policy", ["wrong", "skip"])
def test_policies_change_n_and_coverage(
    invoke: Invoke, predict: Write, policy: str
) -> None:
    file = predict("two.jsonl", RIGHT[:2])
    record = record_of(
        invoke(
            *("eval", "tiny", "-p", file, "-m", "accuracy", "--json"),
            *("--on-missing", policy),
        )
    )
    score = record["scores"][0]
    expected = {"wrong": (0.5, 4, 1.0), "skip": (1.0, 2, 0.5)}[policy]
    assert (score["value"], score["n"], score["coverage"]) == expected
    if policy == "skip":
        assert (score["bound_low"], score["bound_high"]) == (0.5, 1.0)


def test_no_examples_leaves_texts_and_answers_out_of_every_file(
    invoke: Invoke, write_rows: Write, tmp_path: Path
) -> None:
    rows = [
        {"id": "1", "answer": "xqwrongone", "conf": 0.5},
        {"id": "2", "answer": ["xqguesstwo"]},
        {"id": "9", "answer": "xqguessnine"},
        '{"id": "xqbroken',
    ]
    file = write_rows("guesses.jsonl", rows)
    arguments = ("eval", "questions", "-p", file, "--on-invalid", "skip")

    def contents(out: str) -> str:
        done = invoke(*arguments, "-o", out)
        assert done.exit_code == 0, done.stderr
        texts = []
        for path in (tmp_path / out).rglob("*"):
            if path.is_file():
                texts.append(path.read_bytes().decode("latin-1"))
            if path.suffix == ".parquet":  # its pages may be compressed
                texts.append(repr(pl.read_parquet(path).to_dicts()))
        assert len(texts) > 5
        return "".join(texts)

    secret = ("xqanswerone", "xqanswertwo", "xqwrongone", "xqguesstwo", "xqbroken")
    for text in secret:
        assert text in contents("whole")
    arguments = (*arguments, "--no-examples")
    assert "xq" not in contents("bare")


def test_no_examples_keeps_ids_tags_and_statuses(
    invoke: Invoke, three: str, tmp_path: Path
) -> None:
    invoke("eval", "tiny", "-p", three, "--no-examples")
    [path] = tmp_path.glob("runs/tiny/*/examples.parquet")
    frame = pl.read_parquet(path)
    assert frame["id"].to_list() == ["1", "2", "3", "4"]
    assert frame["tags"].to_list()[0] == ["topic:film"]
    assert frame["accuracy"].to_list() == [1.0, 1.0, 0.0, 1.0]
    assert {"answer", "pred", "prob"}.isdisjoint(frame.columns)


def test_version_is_that_of_the_distribution(invoke: Invoke) -> None:
    version = importlib.metadata.version("evalkit-cli")
    assert invoke("--version").stdout == f"evalkit, version {version}\n"


def test_a_confidence_that_no_interval_has_is_told_once(
    invoke: Invoke, predict: Write
) -> None:
    files = [predict(f"{name}.jsonl", ["positive"]) for name in ("a", "b", "c")]
    options = [part for file in files for part in ("-p", file)]
    done = invoke("eval", "tiny", *options, "--confidence", "0.9999999999999999")
    assert done.exit_code == 1
    assert done.stderr.count("confidence must be") == 1
