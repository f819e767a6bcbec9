"""Benchmark files and their variants on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

import evalkit
from evalkit.errors import EvalkitError
from evalkit_benchmarks_declared import expand
from evalkit_cli.main import cli

BENCH: dict[str, Any] = {
    "benchmark": 1,
    "name": "towns",
    "version": "1",
    "description": "Whether a town is large",
    "task": {"input": {"town": "text"}, "answer": "label", "labels": ["yes", "no"]},
    "data": {"path": "en.jsonl", "id": "key", "answer": "large"},
    "prompt": {"query": "Is {town} large?"},
    "extract": {"strict": "after:Answer:|labels", "loose": "labels"},
    "metrics": ["accuracy"],
    "variants": {"language": {"en": {}, "th": {"data.path": "th.jsonl"}}},
    "aggregate": "macro:language",
}
ROWS = {"en": ["yes", "no", "no", "no"], "th": ["yes", "yes", "yes", "no"]}
MODEL = "constant:answer=yes"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write the benchmark above, with other values, and its data."""
    monkeypatch.chdir(tmp_path)
    for language, answers in ROWS.items():
        rows = [
            {"key": f"{language}-{number}", "town": f"town {number}", "large": answer}
            for number, answer in enumerate(answers)
        ]
        path = tmp_path / f"{language}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))

    def write(**changes: Any) -> Path:
        path = tmp_path / "bench.yaml"
        path.write_text(yaml.safe_dump(BENCH | changes, sort_keys=False))
        return path

    write()
    return write


@pytest.fixture
def installed(bench: Any, fake_distribution: Any, tmp_path: Path) -> Any:
    """Install a package with the benchmark and its data, whose code is never run."""
    fake = fake_distribution(
        "raise SystemExit('imported')",
        {"evalkit.benchmarks": {"towns": "towns_of_the_world.yaml"}},
        name="evalkit-benchmarks-towns",
    )
    (fake.folder / "towns_of_the_world.yaml").write_text(bench().read_text())
    for language in ROWS:
        text = (tmp_path / f"{language}.jsonl").read_text()
        (fake.folder / f"{language}.jsonl").write_text(text)
    return fake


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_a_file_is_evaluated_in_all_variants_by_all_extractors(bench: Any) -> None:
    done = run("eval", "bench.yaml", "--model", MODEL, "--json")
    assert done.exit_code == 0, done.stderr
    *records, strict, loose = json.loads(done.stdout)
    assert [each["dataset"] for each in records] == [
        *("towns:language=en", "towns:extract=loose,language=en"),
        *("towns:language=th", "towns:extract=loose,language=th"),
    ]
    assert [each["headline_score"]["value"] for each in records] == [0, 0.25, 0, 0.75]
    assert (strict["dataset"], loose["dataset"]) == ("towns", "towns:extract=loose")
    assert strict["score"]["value"] == 0
    assert loose["variants"] == [each["dataset"] for each in records[1::2]]
    score = loose["score"]
    assert (score["value"], score["n"]) == (0.5, 8)
    assert (score["aggregate"], score["ci_method"]) == ("macro:language", "mover")
    parts = [each["headline_score"] for each in records[1::2]]
    below = sum((each["value"] - each["ci_low"]) ** 2 for each in parts) ** 0.5 / 2
    assert score["ci_low"] == pytest.approx(0.5 - below)


def test_a_model_is_asked_once_for_all_extractors(bench: Any) -> None:
    Path("counting.py").write_text(
        "from pathlib import Path\n"
        "def answer(inputs):\n"
        "    with Path('asked').open('a') as stream:\n"
        "        stream.writelines(each['uid'] + '\\n' for each in inputs)\n"
        "    return [{'label': 'yes'} for _ in inputs]\n"
    )
    done = run("eval", "bench.yaml:language=th", "--model", "counting.py:answer")
    assert done.exit_code == 0, done.stderr
    assert len(Path("asked").read_text().split()) == len(ROWS["th"])


def test_the_mean_is_shown_below_the_variants(bench: Any) -> None:
    shown = run("eval", "bench.yaml:extract=loose", "--model", MODEL, "-q").stdout
    last = shown.rstrip().splitlines()[-1].split()
    assert last[:2] == ["towns:extract=loose", "constant"]
    assert "accuracy (mean over language)" in shown
    assert "50 %" in shown


def test_an_interrupt_keeps_the_variants_before(bench: Any) -> None:
    Path("stopped.py").write_text(
        "def answer(inputs):\n"
        "    if inputs[0]['uid'].startswith('th'):\n"
        "        raise KeyboardInterrupt\n"
        "    return ['yes' for _ in inputs]\n"
    )
    run("eval", "bench.yaml:extract=loose", "--model", "stopped.py:answer")
    assert "towns:extract=loose,language=en" in run("leaderboard").stdout


def test_copies_are_of_one_variant_by_all_extractors(bench: Any) -> None:
    name = "bench.yaml:language=th"
    run("perturb", name, "--perturbation", "uppercase-words", "-o", "copies.jsonl")
    done = run("eval", name, "--model", MODEL, "--perturbed", "copies.jsonl", "--json")
    assert done.exit_code == 0, done.stderr
    found = [(e["dataset"], len(e["perturbed"])) for e in json.loads(done.stdout)]
    names = ("towns:language=th", "towns:extract=loose,language=th")
    assert found == [(each, 1) for each in names]


def test_files_of_one_name_have_means_of_their_own(bench: Any) -> None:
    Path("other.yaml").write_text(Path("bench.yaml").read_text())
    names = ("bench.yaml:extract=loose", "other.yaml:extract=loose")
    done = run("eval", *names, "--model", MODEL, "--json")
    *_, one, other = json.loads(done.stdout)
    assert [len(each["variants"]) for each in (one, other)] == [2, 2]
    assert [each["score"]["n"] for each in (one, other)] == [8, 8]


def test_a_variant_that_fails_does_not_take_the_others_with_it(bench: Any) -> None:
    Path("th.jsonl").unlink()
    done = run("eval", "bench.yaml:extract=loose", "--model", MODEL, "-q")
    assert done.exit_code == 1
    assert " 1 of 2" in done.stdout
    assert "towns:extract=loose,language=en" in done.stdout
    assert "bench.yaml:language=th: " in done.stderr
    assert "th.jsonl: file not found" in done.stderr
    assert "towns:extract=loose: 1 of 2 variants have no score" in done.stderr


def test_predictions_are_of_one_variant(bench: Any) -> None:
    rows = [{"id": f"th-{number}", "label": "Answer: no"} for number in range(4)]
    Path("mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = run("eval", "bench.yaml", "-p", "mine.jsonl")
    assert done.exit_code == 2
    assert "bench.yaml:language=en, bench.yaml:language=th" in done.stderr
    done = run("eval", "bench.yaml:language=th", "-p", "mine.jsonl", "--json")
    assert done.exit_code == 0, done.stderr
    datasets = [each["dataset"] for each in json.loads(done.stdout)]
    assert datasets == ["towns:language=th", "towns:extract=loose,language=th"]


def test_an_unknown_metric_is_named_before_anything_is_asked(bench: Any) -> None:
    bench(metrics=["accurracy"])
    done = run("eval", "bench.yaml", "--model", MODEL)
    assert done.exit_code == 1
    assert "'accurracy'; did you mean accuracy" in done.stderr
    assert not Path("runs").exists()


def test_all_of_a_file_is_checked_without_a_model(bench: Any) -> None:
    done = run("validate", "bench.yaml")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == (
        "bench.yaml:language=en, bench.yaml:language=th: 4 examples, prompts default: "
        "ok\n"
    )
    found = json.loads(run("validate", "bench.yaml", "--json").stdout)
    assert [each["dataset"] for each in found] == [
        *("bench.yaml:language=en", "bench.yaml:language=th")
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verison": "1"}, "bench.yaml:29: verison: unknown key. Did you mean"),
        ({"metrics": ["accurracy"]}, "th: bench.yaml: datasets/towns (read"),
        ({"perturbations": [{"name": "nope"}]}, "there is no perturbation 'nope'"),
        ({"extract": "lables"}, "lables"),
        ({"prompt": {"query": "{twon}"}}, "did you mean {town}?"),
        ({"prompt": {"qery": "{town}"}}, "'qery'; did you mean 'query'?"),
        ({"data": {**BENCH["data"], "answer": "town"}}, "'town 0'"),
        ({"data": {**BENCH["data"], "id": "code"}}, "data.id"),
        (
            {"prompt": {"query": "{town}", "shots": {"count": 1, "source": "train"}}},
            "train",
        ),
    ],
)
def test_mistakes_are_found_by_validating(
    bench: Any, changes: dict[str, Any], message: str
) -> None:
    bench(**changes)
    done = run("validate", "bench.yaml")
    assert done.exit_code == 1
    assert message in done.stdout + done.stderr


def test_data_elsewhere_is_named_as_unchecked(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    data = {"hub": "nobody/nothing", "id": "key", "answer": "large"}
    bench(variants={}, aggregate=None, data=data)
    done = run("validate", "bench.yaml")
    assert done.exit_code == 0
    assert done.stdout.startswith("bench.yaml: rows not checked: ")


def test_benchmarks_are_listed_and_shown(installed: Any) -> None:
    listed = run("list", "benchmarks").stdout
    assert listed.split(maxsplit=1)[0] == "benchmarks/towns"
    assert "Whether a town is large" in listed
    assert "benchmarks/towns" in run("list", "datasets").stdout
    assert run("list").stdout.count("/towns ") == 1
    found = json.loads(run("list", "benchmarks", "--json").stdout)["components"]
    assert [each["kind"] for each in found] == ["benchmarks"]
    shown = run("show", "benchmarks/towns").stdout
    assert "language  en or th, required" in shown
    assert "evalkit eval towns" in shown
    assert "town 0" in run("show", "datasets/towns:language=th", "-n", "1").stdout


def test_an_installed_benchmark_is_a_data_set_for_all_commands(installed: Any) -> None:
    done = run("eval", "towns", "--model", MODEL, "--json")
    assert done.exit_code == 0, done.stderr
    first, *_ = json.loads(done.stdout)
    component = first["components"][0]
    assert component["id"] == "datasets/towns"
    assert component["distribution"] == "evalkit-benchmarks-towns"
    assert [*component["resources"]] == ["towns_of_the_world.yaml"]
    assert run("validate", "towns").exit_code == 0
    assert run("inputs", "towns:language=th", "-o", "th-inputs.jsonl").exit_code == 0
    row, *_ = Path("th-inputs.jsonl").read_text().splitlines()
    assert json.loads(row) == {"uid": "th-0", "town": "town 0"}
    board = run("leaderboard").stdout
    assert "towns:language=th" in board


def test_a_missing_axis_is_named_with_its_values(bench: Any) -> None:
    done = run("inputs", "bench.yaml")
    assert done.exit_code == 1
    assert "parameter language is required, one of en, th" in done.stderr


def test_a_run_is_verified_while_its_file_is_there(bench: Any) -> None:
    run("eval", "bench.yaml:language=th,extract=loose", "--model", MODEL)
    done = run("verify", "latest")
    assert done.exit_code == 0, done.stderr
    assert "all the same" in done.stdout
    assert "not checked" not in done.stdout
    bench(version="2")
    assert "bench.yaml, which datasets/towns uses" in run("verify", "latest").stdout
    Path("bench.yaml").unlink()
    assert "bench.yaml" in run("verify", "latest").stdout


def test_references_expand_to_what_they_leave_open(bench: Any) -> None:
    registry = evalkit.Registry()
    expansion = expand("bench.yaml", registry)
    assert expansion.axis == "language"
    assert [*expansion.evaluated.values()] == [
        [
            "bench.yaml:extract=strict,language=en",
            "bench.yaml:extract=loose,language=en",
        ],
        [
            "bench.yaml:extract=strict,language=th",
            "bench.yaml:extract=loose,language=th",
        ],
    ]
    one = expand("bench.yaml:language=th,extract=loose", registry)
    assert (one.axis, len(one.evaluated)) == (None, 1)
    with pytest.raises(EvalkitError, match="must be 'en' or 'th'"):
        registry.load("datasets", "bench.yaml:language=vi")
