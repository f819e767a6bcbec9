"""What `evalkit export` writes, by the schemas of other tools and by their programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from click.testing import CliRunner
from huggingface_hub import ModelCard, parse_eval_result_entries

from evalkit import DataError, Dataset, Registry, Result, evaluate
from evalkit.errors import ObjectExistsError
from evalkit_adapters_rows import Rows
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_analysis_suites import find_suite, make_board
from evalkit_cli.main import cli
from evalkit_commands_exchange.exporting import Export, export_runs
from evalkit_commands_exchange.importing import import_runs
from evalkit_testing import check_command

RIGHT, WRONG = "entailed", "neutral"
Copy = tuple[str, str, str]
"""Original, family and prediction of a perturbed example."""


def example(uid: str, answer: str, **more: Any) -> dict[str, Any]:
    inputs = {"context": "It rains.", "hypothesis": uid, "source": uid}
    return {"uid": uid, **inputs, "label": answer, "text": answer, **more}


def responses(answers: Mapping[str, str], task: str = "nli") -> list[dict[str, str]]:
    field = "label" if task == "nli" else "text"
    return [{"id": uid, field: answer} for uid, answer in answers.items()]


def predicted(
    predictions: Mapping[str, str],
    copies: Sequence[Copy] = (),
    answers: Mapping[str, str] | None = None,
    task: str = "nli",
    **options: Any,
) -> Result:
    """Evaluate predictions; all answers are RIGHT by default."""
    answers = answers or dict.fromkeys(predictions, RIGHT)
    rows = [example(uid, answer) for uid, answer in answers.items()]
    options = {"model": "org/model", "metrics": ["accuracy"], **options}
    perturbed = [
        example(
            f"{uid}-{number}",
            answers[uid],
            input_id=uid,
            perturbation=f"by-{family}",
            label_effect="invariant",
            families=[family],
        )
        for number, (uid, family, _) in enumerate(copies)
    ]
    of_originals = responses(predictions, task)
    if not perturbed:
        return evaluate(None, of_originals, data=rows, task=task, **options)
    ids = [row["uid"] for row in perturbed]
    of_copies = dict(zip(ids, [answer for *_, answer in copies], strict=True))
    return evaluate_perturbed(
        None,
        of_originals,
        data=rows,
        task=task,
        perturbed=[perturbed],
        perturbed_predictions=[responses(of_copies, task)],
        **options,
    )


def read(export: Export, name: str) -> Any:
    """Read the one file of this name, or name with `*`."""
    [path] = [path for path in export.files if path.match(name)]
    text = path.read_text(encoding="utf-8")
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)


STAT_KEYS = {
    *("name", "count", "sum", "sum_squared"),
    *("min", "max", "mean", "variance", "stddev"),
}
"""What HELM's codec reads of a statistic."""
HELM_RUN = [
    ("i0", "robustness", WRONG),
    ("i0", "fairness", RIGHT),
    ("i1", "robustness", RIGHT),
]
HELM_MEANS = {
    (None, None): 2 / 3,
    ("by-robustness", "perturbed"): 0.5,
    ("by-fairness", "perturbed"): 1,
    ("by-robustness", "original"): 0.5,
    ("by-robustness", "worst"): 0,
    ("by-fairness", "original"): 1,
    ("by-fairness", "worst"): 1,
    ("robustness", "worst"): 1 / 3,
    ("fairness", "worst"): 2 / 3,
}
"""What HELM computes of HELM_RUN and the originals right, wrong and right."""


@pytest.fixture(scope="module")
def robust() -> Result:
    originals = {"i0": RIGHT, "i1": WRONG, "i2": RIGHT}
    return predicted(originals, HELM_RUN, keep=["context", "hypothesis"])


def test_statistics_are_those_that_helm_computes(
    robust: Result, tmp_path: Path
) -> None:
    export = export_runs("helm", [robust], tmp_path)
    means = {}
    for stat in read(export, "stats.json"):
        assert stat.keys() == STAT_KEYS
        by = stat["name"].get("perturbation", {})
        if stat["name"]["name"] == "accuracy":
            means[by.get("name"), by.get("computed_on")] = stat["mean"]
    assert means == pytest.approx(HELM_MEANS)


def test_instances_are_those_that_helm_reads(robust: Result, tmp_path: Path) -> None:
    export = export_runs("helm", [robust], tmp_path)
    entries = read(export, "per_instance_stats.json")
    found = [
        (each["instance_id"], each.get("perturbation", {}).get("name"), stat["mean"])
        for each in entries
        for stat in each["stats"]
    ]
    assert found == [
        *(("i0", None, 1), ("i1", None, 0), ("i2", None, 1)),
        ("i0", "by-fairness", 1),
        *(("i0", "by-robustness", 0), ("i1", "by-robustness", 1)),
    ]
    states = read(export, "scenario_state.json")["request_states"]
    assert len(states) == len(entries)
    assert states[0]["instance"] == {
        "input": {"text": "context: It rains.\nhypothesis: i0"},
        "references": [{"output": {"text": RIGHT}, "tags": ["correct"]}],
        "split": "test",
        "id": "i0",
    }
    assert states[0]["result"]["completions"][0]["text"] == RIGHT


def test_missing_responses_have_no_result(tmp_path: Path) -> None:
    answers = dict.fromkeys(("a", "b"), RIGHT)
    run = predicted({"a": RIGHT}, answers=answers, on_missing="wrong")
    export = export_runs("helm", [run], tmp_path)
    states = read(export, "scenario_state.json")["request_states"]
    assert ["result" in state for state in states] == [True, False]
    [stat] = [x for x in read(export, "stats.json") if x["name"]["name"] == "accuracy"]
    assert stat["mean"] == 0.5


def test_replications_are_trials_and_texts_keep_their_answers(tmp_path: Path) -> None:
    texts = [("1", "So: A"), ("1", "None"), ("2", "So: B"), ("2", "So: A")]
    run = evaluate(
        data=[{"uid": uid, "source": "?", "text": "A"} for uid in "12"],
        task="text-generation",
        predictions=[
            {"id": uid, "text": text, "_replication_": str(number % 2)}
            for number, (uid, text) in enumerate(texts)
        ],
        model="m",
        metrics=["exact-match"],
        rows=Rows(extract="after:So:"),
    )
    export = export_runs("helm", [run], tmp_path)
    states = read(export, "scenario_state.json")["request_states"]
    found = [(x["train_trial_index"], x["output_mapping"]) for x in states]
    assert found == [
        (0, {"So: A": "A"}),
        (1, {}),
        (0, {"So: B": "B"}),
        (1, {"So: A": "A"}),
    ]


def test_lm_eval_results(robust: Result, tmp_path: Path) -> None:
    export = export_runs("lm-eval", [robust], tmp_path)
    results = read(export, "org__model/results_*.json")
    [(task, scores)] = results["results"].items()
    score = robust["accuracy"]
    assert scores == {
        "alias": task,
        "acc,none": score.value,
        "acc_stderr,none": score.se,
    }
    for name in ("versions", "configs", "n-samples", "higher_is_better"):
        assert [*results[name]] == [task]
    [path] = [path for path in export.files if path.suffix == ".jsonl"]
    samples = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(x["target"], x["filtered_resps"], x["acc"]) for x in samples] == [
        (RIGHT, [RIGHT], 1),
        (RIGHT, [WRONG], 0),
        (RIGHT, [RIGHT], 1),
    ]
    assert "perturbations" in export.notices[0]


def seahelm(
    name: str, group: str | None = None, language: str = "id", **attributes: Any
) -> type[Dataset]:
    """Make a dataset of SEA-HELM, COMPETENCY/NAME, of ten examples by default."""
    competency, _, own = name.partition("/")
    tags = [f"competency:{competency}", *([f"aggregation-group:{group}"] * bool(group))]
    rows = attributes.pop("rows", [example(str(n), RIGHT) for n in range(10)])
    attributes |= {"name": own, "task": "nli", "tags": tags, "languages": [language]}
    attributes["load"] = lambda self, split: rows
    return type("Task", (Dataset,), attributes)


def percent(dataset: type[Dataset], right: int, **options: Any) -> Result:
    """Evaluate a model that is right in so many tens of percent."""
    labels = {str(n): RIGHT if n < right else WRONG for n in range(10)}
    options = {"metrics": ["accuracy"], "model": "org/model", **options}
    return evaluate(dataset(), responses(labels), **options)


def pragmatic(name: str, **phenomena: tuple[int, int]) -> Result:
    """Evaluate a model that is right in so many examples of a phenomenon."""
    rows, labels = [], {}
    for phenomenon, (right, count) in phenomena.items():
        for number in range(count):
            uid, tag = f"{phenomenon}-{number}", f"linguistic-phenomenon:{phenomenon}"
            rows.append(example(uid, RIGHT, tags=[tag]))
            labels[uid] = RIGHT if number < right else WRONG
    dataset = seahelm(f"linguistic-diagnostics/{name}", rows=rows)
    answers = responses(labels)
    return evaluate(dataset(), answers, metrics=["accuracy"], model="org/model")


def test_totals_are_those_of_seahelm(tmp_path: Path) -> None:
    runs = [
        percent(seahelm("nlg/tr-a", "translations"), 9),
        percent(seahelm("nlg/tr-b", "translations"), 7),
        percent(seahelm("nlg/abs"), 2),
        percent(seahelm("nlu/sent", language="th"), 8),
    ]
    results = read(export_runs("seahelm", runs, tmp_path), "*_seahelm_results_*.json")
    nlg = results["id"]["nlg"]
    assert (nlg["tr-a"], nlg["abs"]) == ({"accuracy": 90}, {"accuracy": 20})
    assert (nlg["translations"], nlg["total"]) == pytest.approx((80, 50))
    assert (results["id"]["total"], results["total"]) == pytest.approx((50, 65))
    without = percent(seahelm("nlu/qa"), 10, metrics=["mcc"])
    export = export_runs("seahelm", [*runs, without], tmp_path)
    results = read(export, "*_seahelm_results_*.json")
    assert results["id"]["nlu"] == {"qa": {}, "total": None}
    assert (results["id"]["total"], results["total"]) == (None, None)
    assert any("mcc is missing" in notice for notice in export.notices)
    with pytest.raises(DataError, match="needs a dataset of one language"):
        export_runs("seahelm", [predicted({"a": RIGHT})], tmp_path)


def test_totals_are_those_of_the_suite(tmp_path: Path) -> None:
    suite: Any = find_suite("seahelm")
    [language] = [each for each in suite.of if each.name == "id"]
    runs = [
        pragmatic(
            "pragmatic-single", scalar_implicatures=(8, 10), presuppositions=(4, 6)
        ),
        pragmatic("pragmatic-pair", scalar_implicatures=(9, 9), presuppositions=(3, 4)),
    ]
    for competency in language.of:
        for member in competency.of:
            group = None if isinstance(member, str) else member.name
            for leaf in [member] if group is None else member.of:
                if isinstance(leaf, str):
                    name = leaf.removeprefix("sea-").partition(":")[0]
                    dataset = seahelm(f"{competency.name}/{name}", group)
                    runs.append(percent(dataset, len(runs) * 7 % 11))
    for run in runs:
        run.amend(dataset=f"sea-{run.dataset}:language=id")
        run.save(tmp_path / "runs")
    suite = suite.model_copy(update={"of": [language]})
    board = make_board(suite, [tmp_path / "runs"], ranks=False)
    results = read(export_runs("seahelm", runs, tmp_path), "*_results_*.json")
    expected = {"id": results["id"].pop("total"), "seahelm": results["total"]}
    expected |= {name: tasks["total"] for name, tasks in results["id"].items()}
    cells = {each.name: each.cells["org/model"] for each in board.root.walk()}
    found = {name: 100 * (cells[name].score.value or 0) for name in expected}
    assert found == pytest.approx(expected)


def test_scores_are_those_of_dynabench(tmp_path: Path) -> None:
    labels = {"1": "entailed", "2": "contradictory", "3": "contradictory"}
    answers = {"1": "entailed", "2": "neutral", "3": "contradictory"}
    copies = [
        ("1", "fairness", "entailed"),
        ("1", "fairness", "neutral"),
        ("2", "fairness", "contradictory"),
    ]
    run = predicted(labels, copies, answers)
    row = read(export_runs("dynabench", [run], tmp_path), "*.json")
    assert json.loads(row.pop("metadata_json")) == {
        "accuracy": 66.67,
        "perf_by_tag": [],
        "fairness-accuracy": 33.33,
        "fairness-perf_by_tag": [],
        "fairness": 75.0,
    }
    expected = {"perf": 66.67, "perf_std": None, "fairness": 75.0}
    assert row.items() >= {**expected, "pretty_perf": "66.67 %"}.items()
    lost = predicted({"1": RIGHT}, copies[2:], answers, on_missing="skip")
    export = export_runs("dynabench", [lost], tmp_path / "lost")
    assert "fairness" not in read(export, "*.json")
    assert any("no fairness, as no perturbed" in each for each in export.notices)
    with pytest.raises(DataError, match="Dynabench needs one of the metrics"):
        export_runs("dynabench", [predicted(labels, metrics=["mcc"])], tmp_path)


@pytest.mark.known_result
def test_dynabench_rounds_agreement_twice(oracles: Path, tmp_path: Path) -> None:
    text = (oracles / "dynabench_metrics.json").read_text(encoding="utf-8")
    every = json.loads(text)["cases"]
    cases = [case for case in every if case["metric"] == "unperturbed_percent"]
    metrics = {"accuracy": "accuracy", "macro_f1": "macro-f1", "squad_f1": "squad-f1"}
    for case in cases:
        originals = {str(n): each for n, each in enumerate(case["targets"])}
        groups = zip(originals, case["predictions"], strict=True)
        copies = [(uid, "robustness", each) for uid, group in groups for each in group]
        names = [metrics[case["inner"]]]
        run = predicted(originals, copies, originals, "text-generation", metrics=names)
        export = export_runs("dynabench", [run], tmp_path, overwrite=True)
        row = read(export, "*.json")
        assert row["robustness"] == case["value"]


def test_the_hub_parses_cards_and_results(tmp_path: Path) -> None:
    url = "https://huggingface.co/datasets/org/gpqa/tree/main"
    run = percent(
        seahelm("nlu/gpqa", source_url=url),
        9,
        metrics=["accuracy", "f1:label=entailed"],
    )
    export = export_runs("hub", [run, predicted({"a": RIGHT})], tmp_path)
    card = ModelCard.load(tmp_path / "org__model/README.md").data
    assert card.model_name == "org/model"
    assert card.eval_results is not None
    first, second, third = card.eval_results
    assert (first.task_type, first.dataset_type, first.dataset_split) == (
        *("nli", "org/gpqa", "test"),
    )
    assert (first.metric_type, first.metric_value) == ("accuracy", 0.9)
    assert (second.metric_type, second.metric_name) == ("f1", "f1:label=entailed")
    assert third.metric_value == 1
    [entry] = parse_eval_result_entries(read(export, ".eval_results/gpqa.yaml"))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("org/gpqa", "gpqa", 0.9)
    assert entry.notes == "accuracy, n = 10, 95% CI 0.5958 to 0.9821"
    assert any("no .eval_results" in notice for notice in export.notices)
    read_from = {"read_from": "hub:org/gpqa@main#diamond"}
    parts = [each.model_copy(update=read_from) for each in run.record.components]
    run.amend(components=tuple(parts))
    export = export_runs("hub", [run], tmp_path, overwrite=True)
    [entry] = parse_eval_result_entries(read(export, ".eval_results/gpqa.yaml"))
    assert (entry.task_id, entry.dataset_revision) == ("diamond", "main")


def test_runs_that_no_format_holds_are_refused(robust: Result, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="of perturbed examples"):
        export_runs("helm", robust.perturbed or (), tmp_path)
    with pytest.raises(DataError, match="expected 1 run, got 2"):
        export_runs("helm", [robust, robust], tmp_path)
    others = [predicted({"a": RIGHT}, model=model) for model in ("a/b", "a__b")]
    with pytest.raises(DataError, match=r"README.md: file of two models"):
        export_runs("hub", others, tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_no_file_is_replaced_or_written_elsewhere(tmp_path: Path) -> None:
    run = percent(seahelm("nlu/qa"), 9, model="/../abs")
    card = tmp_path / "__..__abs" / "README.md"
    card.parent.mkdir()
    card.write_text("mine", encoding="utf-8")
    with pytest.raises(ObjectExistsError, match="so nothing was written"):
        export_runs("hub", [run], tmp_path)
    assert card.read_text(encoding="utf-8") == "mine"
    [path] = export_runs("seahelm", [run], tmp_path).files
    assert path.resolve().is_relative_to(tmp_path)


def test_command(
    robust: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_command("export", runs=[["helm", "no-such-run"]])
    robust.save("runs")
    result = CliRunner().invoke(
        cli, ["export", "helm", "org/model", "-o", "o", "--json"]
    )
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert len(printed["files"]) == 6
    assert all(Path(name).is_file() for name in printed["files"])


@pytest.mark.parametrize("format", ["helm", "lm-eval"])
def test_imported_exports_have_the_same_scores(
    format: Literal["helm", "lm-eval"], robust: Result, tmp_path: Path
) -> None:
    export_runs(format, [robust], tmp_path / "exported")
    imported = import_runs(tmp_path / "exported", tmp_path / "runs", Registry())
    assert not imported.failures
    [(_, back, _)] = imported.runs
    assert back is not None
    expected = values_of(robust)
    if format == "lm-eval":
        expected = {None: expected[None]}
    assert values_of(back) == expected


def values_of(run: Result) -> dict[str | None, float | None]:
    """Return the main score of a run and of its perturbed examples."""
    values: dict[str | None, float | None] = {}
    for each in (run, *find_effects(run).runs):
        by, score = each.record.perturbation, each.headline
        values[None if by is None else by.name] = score and score.value
    return values


def run_peer(variable: str, *command: str) -> str:
    """Run Python with the package of an installation, such as lm_eval."""
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} names no installed package")
    path = {**os.environ, "PYTHONPATH": str(Path(folder).parent)}
    ended = subprocess.run(
        [sys.executable, *command], env=path, check=True, capture_output=True, text=True
    )
    return ended.stdout


@pytest.mark.slow
def test_helm_summarizes(robust: Result, tmp_path: Path) -> None:
    own = percent(seahelm("nlu/qa"), 9)
    export_runs("helm", [robust, own], tmp_path)
    schema = str(tmp_path / "schema.yaml")
    run_peer(
        *("EVALKIT_HELM", "-m", "helm.benchmark.presentation.summarize"),
        *("-o", str(tmp_path), "--suite", "evalkit", "--schema-path", schema),
        *("--schema-validation", "error"),
    )
    path = tmp_path / "runs/evalkit/groups/all.json"
    tables = {table["title"]: table for table in json.loads(path.read_text())}
    values = {
        title: [cell.get("value") for cell in table["rows"][0]][2:]
        for title, table in tables.items()
    }
    assert values["Main"] == pytest.approx([2 / 3, 0.9])
    assert values["Robustness"] == pytest.approx([1 / 3])
    assert values["Fairness"] == pytest.approx([2 / 3])
    displayed = next(tmp_path.glob("runs/evalkit/data*/display_predictions.json"))
    assert len(json.loads(displayed.read_text())) == 6


@pytest.mark.slow
def test_lm_eval_makes_its_table(robust: Result, tmp_path: Path) -> None:
    export = export_runs("lm-eval", [robust], tmp_path)
    [path] = [str(path) for path in export.files if path.suffix == ".json"]
    program = (
        "import json, sys; from lm_eval.utils import make_table;"
        "print(make_table(json.load(open(sys.argv[1]))))"
    )
    table = run_peer("EVALKIT_LM_EVAL", "-c", program, path)
    assert re.search(r"acc +\|↑ +\|0\.6667\|± +\|0\.2722", table)
