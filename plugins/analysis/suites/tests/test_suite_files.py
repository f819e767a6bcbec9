"""Suites that packages and files hold, and their evaluation by one command."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Done

from evalkit import PluginError
from evalkit.errors import SchemaError
from evalkit.runs import list_runs
from evalkit_analysis_suites import find_suite, read_suite
from evalkit_cli.main import cli


def run(*arguments: str) -> Done:
    return CliRunner().invoke(cli, arguments)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("of: [a]", ": suite: required key is missing"),
        ("suite: s", ": of: required key is missing"),
        (
            "suite: s\nof:\n- {data: a, metrik: f1}",
            "3: of.0.metrik: unknown key. Did you",
        ),
        ("suite: s\nof:\n- a\n- a", "two members are called 'a'. Write name"),
        (
            "suite: s\nof:\n- name: g\n  of: [{data: 1}]",
            "4: of.0.of.0.data: must be a text",
        ),
        (
            "suite: s\nof: [a]\nmean: {weights: {b: 1}}",
            "mean.weights: unknown member 'b'",
        ),
        (
            "suite: s\nof: [a, b]\nmean: {weights: {b: 1}}",
            "mean.weights: no weight of a",
        ),
        ("suite: s\nof: [a]\nrank: {method: dynascore}", "3: rank.perf: name a member"),
        ("suite: s\nof: [a]\nrank: {method: elo, perf: a}", "3: rank.perf: "),
        ("suite: s\nof: [a]\nrank: {method: elo, weights: {a: 1}}", "3: rank: weights"),
        ("suite: s\nof: [{name: g, of: [a]}]\nover: [language]", "over: the members"),
        ("suite: s\nof: [a]\nmean: median", "3: mean: input should be 'macro'"),
        ("suite: s\nof: [a]\nnormalise: {low: 1, high: 1}", "low and high must differ"),
        ("- a", "must be a mapping with the key `suite`"),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError) as failure:
        read_suite(path)
    assert f"{path}:" in str(failure.value)
    assert problem in str(failure.value)


def test_a_package_has_a_file_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, metadata = tmp_path / "my_suites", tmp_path / "my_suites-1.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").touch()
    (package / "mine.yaml").write_text("suite: mine\ndescription: Mine\nof: [a]\n")
    (package / "other.yaml").write_text("suite: mine\nof: [a]\n")
    lines = ["mine = my_suites:mine.yaml", "other = my_suites:other.yaml"]
    entry_points = "\n".join(["[evalkit.suites]", *lines])
    (metadata / "entry_points.txt").write_text(entry_points)
    (metadata / "METADATA").write_text("Name: my-suites\nVersion: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_suite("mine").labels == ["a"]
    with pytest.raises(PluginError, match=r"other\.yaml is 'mine'"):
        find_suite("other")
    with pytest.raises(PluginError, match="did you mean mine"):
        find_suite("mines")
    assert "suites/mine           Mine" in run("list", "suites").stdout
    assert "of           a\n" in run("show", "suites/mine").stdout


def test_one_failing_member_does_not_take_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(
        "def answer(inputs):\n"
        "    if 'statement' in inputs[0]:\n"
        "        return [{'label': 'positive'} for _ in inputs]\n"
        "    raise ValueError('out of memory')\n"
    )
    Path("s.yaml").write_text(
        "suite: s\nof: [not-there, sample-nli, sample-sentiment]\n"
    )
    done = run("eval", "--suite", "s.yaml", "--model", "model.py:answer")
    assert done.exit_code == 1
    assert [each.record.dataset for each in list_runs("runs")] == ["sample-sentiment"]
    assert "no data set 'not-there'" in done.stderr
    assert "out of memory" in done.stderr
    reason = "no score for not-there (no run), sample-nli (no run)"
    assert f"s: no value for model-answer: {reason}" in " ".join(done.stdout.split())
    assert run("eval", "sample-nli", "--suite", "s.yaml").exit_code == 2


def test_metrics_of_a_suite_are_computed_and_members_without_a_score_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    leaf = '{data: sample-nli, metric: "macro-f1:labels=seen"}'
    Path("s.yaml").write_text(f"suite: s\nof: [{leaf}]\n")
    done = run("eval", "--suite", "s.yaml", "--model", "constant:answer=neutral")
    assert done.exit_code == 0, done.stderr
    assert "macro-f1:labels=seen in %" in done.stdout
    csv = run("eval", "--suite", "s.yaml", "--format", "csv")  # of models that it ships
    assert csv.exit_code == 0
    assert csv.stdout.count("higher_is_better") == 1
    assert "to see it: evalkit leaderboard runs --suite s.yaml" in csv.stderr
    worst = "{family: robustness, computed_on: worst}"
    lacking = [
        f"{{name: worst, data: sample-nli, metric: accuracy, perturbation: {worst}}}",
        "{data: sample-sentiment, metric: acuracy}",
        "{name: g, of: {tag: no-such}}",
    ]
    Path("s.yaml").write_text(f"suite: s\nof: [{', '.join([leaf, *lacking])}]\n")
    done = run("eval", "--suite", "s.yaml")
    assert done.exit_code == 1
    assert "on worst: the run" in done.stderr
    assert "evalkit eval sample-nli --perturbed FILE|RUN" in done.stderr
    assert "no metric 'acuracy'; did you mean accuracy" in done.stderr
    assert "no installed dataset has the tag no-such" in done.stderr


def test_files_of_a_folder_are_those_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text("suite: s\nof: [sample-nli, sample-qa]\n")
    Path("mine").mkdir()
    for name in ("sample-nli", "sample-sentiment", "sample-qaa"):
        Path("mine", f"{name}.txt").write_text("neutral\n" * 90)
    done = run("eval", "--suite", "s.yaml", "--predictions-dir", "mine")
    assert done.exit_code == 1
    assert "of the suite: sample-qaa.txt, sample-sentiment.txt" in done.stderr
    assert "mine/sample-qa.jsonl: there is no such file" in done.stderr
    assert [each.record.dataset for each in list_runs("runs")] == ["sample-nli"]
