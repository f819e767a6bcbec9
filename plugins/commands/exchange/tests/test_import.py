"""`evalkit import` reads what other tools wrote, and computes the same numbers."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import evalkit
from evalkit import Registry, Result, read_run
from evalkit.catalog import Resolver
from evalkit.runs import list_runs
from evalkit_cli.main import cli
from evalkit_commands_exchange.importing import Imported, import_runs
from evalkit_testing import check_command

Scores = Mapping[tuple[str | None, ...], tuple[float | None, float | None]]


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_lines(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def imported(folder: Path, out: Path, **options: Any) -> Imported:
    return import_runs(folder, out, Registry(), **options)


def compared(run: Result, *keys: str) -> Scores:
    return {
        (row["metric"], *(row[key] for key in keys)): (row["tool"], row["evalkit"])
        for row in run.tables["original.parquet"].iter_rows(named=True)
    }


def only_run(found: Imported) -> Result:
    assert found.failures == []
    [(_, result, _)] = found.runs
    assert result is not None
    assert result.path is not None
    return read_run(result.path)


def invoke(*arguments: str | Path) -> Any:
    return CliRunner().invoke(cli, [*map(str, arguments)])


TYPOS = {
    **{"name": "typos", "prob": 0.1, "robustness": True, "fairness": False},
    "computed_on": "perturbed",
}


def stat(name: str, mean: float | None, **context: Any) -> dict[str, Any]:
    return {"name": {"name": name, "split": "test", **context}, "mean": mean}


def helm_state(
    number: int, answer: str, perturbation: Any = None, **more: Any
) -> dict[str, Any]:
    """Return a request about whether a number is even, which Even answers for 2."""
    references = [
        {"output": {"text": text}, "tags": ["correct"] * (number % 2 == place)}
        for place, text in enumerate(("Even", "Odd"))
    ]
    instance = {"input": {"text": f"Is {number} even?"}, "references": references}
    instance |= {"id": f"id{number}", "split": "test"}
    if perturbation is not None:
        instance["perturbation"] = perturbation
    completion = {"text": answer, "logprob": -1.0, "tokens": []}
    return {
        "instance": instance,
        "train_trial_index": 0,
        "output_mapping": {"A": "Even", "B": "Odd"},
        "request": {"prompt": f"Q: {number}"},
        "result": {"success": True, "completions": [completion]},
        **more,
    }


def write_helm(
    folder: Path,
    name: str,
    states: Sequence[Any],
    statistics: Sequence[Any],
    by_instance: Sequence[Any] = (),
    method: str = "multiple_choice_joint",
    model: str = "simple/model1",
) -> Path:
    """Write the folder of a run of HELM."""
    mark = "," if ":" in name else ":"
    run = folder / f"{name}{mark}model={model.replace('/', '_')}"
    adapter = {"method": method, "model": model, "temperature": 0.0}
    scenario = {"class_name": "helm.Scenario", "args": {}}
    spec = {"name": run.name, "adapter_spec": adapter, "scenario_spec": scenario}
    write(run / "run_spec.json", {**spec, "metric_specs": [], "groups": ["parity"]})
    write(run / "scenario_state.json", {"request_states": states})
    write(run / "stats.json", statistics)
    write(run / "per_instance_stats.json", by_instance)
    return run


def of_instance(number: int, trial: int = 0, **stats: float) -> dict[str, Any]:
    return {
        "instance_id": f"id{number}",
        "train_trial_index": trial,
        "stats": [stat(name, value) for name, value in stats.items()],
    }


def test_helm_scores_perturbations_and_annotations(tmp_path: Path) -> None:
    annotated = {"annotations": {"judge": {"score": 3}}}
    states = [
        helm_state(2, "A", **annotated),
        helm_state(3, "Odd"),  # which is no letter
        helm_state(4, " A "),
        helm_state(2, "B", TYPOS),
        helm_state(4, "A", TYPOS),
    ]
    original = {**TYPOS, "computed_on": "original"}
    worst = {**TYPOS, "computed_on": "worst"}
    statistics = [
        stat("exact_match", 2 / 3),
        stat("judge_score", 3.5),
        stat("num_prompt_tokens", 9),
        *(stat("exact_match", 0.5, perturbation=each) for each in (TYPOS, worst)),
        stat("exact_match", 1.0, perturbation=original),
    ]
    by_instance = [of_instance(n, judge_score=s) for n, s in ((2, 3), (3, 3.5), (4, 4))]
    write_helm(tmp_path, "parity:mode=a,k=2", states, statistics, by_instance)
    run = only_run(imported(tmp_path, tmp_path / "runs"))
    assert (run.dataset, run.model) == ("helm-parity-mode-a-k-2", "simple/model1")
    assert compared(run, "perturbation", "computed_on") == {
        ("exact_match", None, None): (pytest.approx(2 / 3), pytest.approx(2 / 3)),
        ("judge_score", None, None): (3.5, 3.5),
        ("num_prompt_tokens", None, None): (9, None),
        ("exact_match", "typos:prob=0.1", "perturbed"): (0.5, 0.5),
        ("exact_match", "typos:prob=0.1", "original"): (1.0, 1.0),
        ("exact_match", "typos:prob=0.1", "worst"): (0.5, 0.5),
    }
    assert len(run.record.perturbed_runs) == 1
    assert run.responses is not None
    line = json.loads(run.responses["(line)"][0])
    assert (line["prompt"], line["annotations"]) == ("Q: 2", annotated["annotations"])
    system = run.record.predictions.system
    assert system is not None
    assert system.model["imported"]["tool"] == "HELM"
    assert len(system.model["imported"]["files"]["stats.json"]) == 64


def test_helm_runs_of_several_scenarios_are_ordinary_datasets(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("parity:k=1", "parity:k=2", "sums"):
        for model, answer in (("a/good", "A"), ("b/bad", "B")):
            states = [helm_state(n, answer) for n in (2, 4, 6)]
            statistics = [stat("exact_match", float(answer == "A"))]
            write_helm(tmp_path / "v1", name, states, statistics, model=model)
    done = invoke("import", tmp_path / "v1", "-o", runs)
    assert (done.exit_code, "6 runs written" in done.stderr) == (0, True)
    board = invoke("leaderboard", runs).stdout
    assert all(f"helm-{x}" in board for x in ("parity-k-1", "parity-k-2", "sums"))
    dataset = runs / "imported" / "helm-sums.yaml"
    rows = [{"id": f"id{n}", "answer": "Even"} for n in (2, 4, 6)]
    assert evalkit.evaluate(str(dataset), rows)["helm-exact-match"].value == 1
    changed = tmp_path / "lower.jsonl"
    arguments = ("perturb", dataset, "--perturbation", "lowercase", "-o", changed)
    assert invoke(*arguments).exit_code == 0
    assert '"input": "is 2 even?"' in changed.read_text(encoding="utf-8")
    for metric in ("quasi-exact-match", "accuracy", "accuracy"):
        done = invoke("rescore", "--all", "-m", metric, "-o", runs)
        assert done.exit_code == 0
    assert "6 runs skipped" in done.stderr
    done = invoke("rescore", "--all", "-m", "accuracy", "-o", tmp_path / "none")
    assert "none: no complete run found" in done.stderr
    every = [read_run(each.path) for each in list_runs(runs)]
    assert len([run for run in every if "quasi-exact-match" in run]) == 12
    assert len([run for run in every if "accuracy" in run]) == 6


def test_helm_trials_and_references_that_are_scored_apart(tmp_path: Path) -> None:
    states = [
        helm_state(n, text, train_trial_index=trial)
        for n, texts in ((2, "AB"), (3, "BB"))
        for trial, text in enumerate(texts)
    ]
    write_helm(tmp_path / "joint", "trials", states, [stat("exact_match", 0.75)])
    run = only_run(imported(tmp_path / "joint", tmp_path / "runs"))
    assert run.counts["replications"] == 2
    assert compared(run) == {("exact_match",): (0.75, 0.75)}
    states = [
        helm_state(n, "", reference_index=place, request_mode="original")
        for n in (2, 3)
        for place in (0, 1)
    ]
    by_instance = [of_instance(n, predicted_index=0) for n in (2, 3)]
    method = "multiple_choice_separate_original"
    statistics = [stat("exact_match", 0.5)]
    folder = tmp_path / "separate"
    write_helm(folder, "separate", states, statistics, by_instance, method)
    run = only_run(imported(folder, tmp_path / "runs"))
    assert compared(run) == {("exact_match",): (0.5, 0.5)}


def test_other_examples_of_one_name_become_another_dataset(tmp_path: Path) -> None:
    for folder, numbers in (("one", (2, 3)), ("two", (2, 4)), ("same", (3, 2))):
        states = [helm_state(n, "A") for n in numbers]
        write_helm(tmp_path / folder, "parity", states, [stat("exact_match", 0.5)])
    names = [
        only_run(imported(tmp_path / folder, tmp_path / "runs")).dataset
        for folder in ("one", "two", "same")
    ]
    assert names[0] == names[2] == "helm-parity"
    assert re.fullmatch("helm-parity-[0-9a-f]{8}", str(names[1]))


def lm_eval_row(number: int, likelihoods: Sequence[float], **more: Any) -> Any:
    choices = ("five", "six thousand")
    pairs = {
        f"gen_args_{n}": {"arg_0": "Two and three?", "arg_1": f" {choice}"}
        for n, choice in enumerate(choices)
    }
    return {
        "doc_id": number,
        "doc": {"question": "Two and three?", "input": "own", "topic": "sums"},
        "target": "0",
        "arguments": pairs,
        "resps": [[[str(each), "False"]] for each in likelihoods],
        "filtered_resps": [[str(each), "False"] for each in likelihoods],
        "filter": "none",
        **more,
    }


def generated(number: int, text: str, filter_name: str, **more: Any) -> Any:
    arguments = {"gen_args_0": {"arg_0": "2 x 3?", "arg_1": {"until": ["\n"]}}}
    found = re.search(r"\d+", text) if filter_name == "loose" else None
    answer = found.group() if found else "[invalid]"
    return {
        **{"doc_id": number, "doc": {"q": "2 x 3?"}, "target": "6"},
        **{"arguments": arguments, "resps": [[text]], "filtered_resps": [answer]},
        **{"filter": filter_name, **more},
    }


def write_lm_eval(folder: Path, filters: Sequence[Any]) -> None:
    """Write the output of a task of each kind, and of one without samples."""
    chosen = [lm_eval_row(0, (-3, -4), acc=1.0), lm_eval_row(1, (-2, -3.0), acc=1.0)]
    write_lines(folder / "samples_sums_2026.jsonl", chosen)
    texts = ("It is 6.", "#### 6")
    rows = [
        generated(n, text, name, f1=0.25, exact_match=1.0)
        for name in ("strict", "loose")
        for n, text in enumerate(texts)
    ]
    write_lines(folder / "samples_products_2026.jsonl", rows)
    multiple = {"output_type": "multiple_choice", "metric_list": [], "tag": "maths"}
    scores = {"acc,none": 1.0, "acc_stderr,none": 0.0, "acc_norm,none": 0.0}
    numbers = {"exact_match,strict": 0.5, "exact_match,loose": 1.0, "f1,loose": 0.25}
    own = {"metric_list": [{"metric": "exact_match", "ignore_case": True}]}
    configs = {"sums": multiple, "products": {**own, "filter_list": filters}}
    write(
        folder / "results_2026.json",
        {
            "results": {"sums": scores, "products": numbers, "lost": {"acc,none": 1}},
            "configs": {**configs, "lost": multiple},
            "versions": {"sums": 1.5},
            "groups": {"arithmetic": {"alias": "all", "acc,none": 0.9}},
            "model_name": "org/model",
        },
    )


def regex(name: str, pattern: str, **more: Any) -> dict[str, Any]:
    found = {"function": "regex", "regex_pattern": pattern, **more}
    return {"name": name, "filter": [found, {"function": "take_first"}]}


def test_lm_eval_choices_and_filters(tmp_path: Path) -> None:
    write_lm_eval(
        tmp_path / "out", [regex("strict", r"#### (\d+)"), regex("loose", r"(\d+)")]
    )
    found = imported(tmp_path / "out", tmp_path / "runs")
    [failure] = found.failures
    assert "samples_lost_2026.jsonl: file not found. Run lm-eval with" in failure
    runs = {str(run.dataset): run for _, run, _ in found.runs if run is not None}
    assert sorted(runs) == ["products", "products:extract=loose", "sums"]
    assert found.runs[-1][0].dataset == "arithmetic"
    sums, loose = runs["sums"], runs["products:extract=loose"]
    assert (sums.model, sums.record.data.version) == ("org/model", "1.5")
    assert sums.record.data.tags == ("maths",)
    assert compared(sums) == {("acc",): (1.0, 1.0), ("acc_norm",): (0.0, 0.0)}
    expected = {("exact_match",): (1.0, 1.0), ("f1",): (0.25, 0.25)}
    assert compared(loose) == expected
    assert compared(runs["products"]) == {("exact_match",): (0.5, 0.5)}
    # new replies go through the filters of the task
    dataset = tmp_path / "runs" / "imported" / "products.yaml"
    rows = [{"id": "0", "answer": "6"}, {"id": "1", "answer": "#### 6"}]
    scored = evalkit.evaluate(f"{dataset}:extract=strict", rows)
    assert scored["exact-match:ignore_case=true"].value == 0.5


@pytest.mark.parametrize(
    ("line", "problem"),
    [("{", "invalid JSON"), ("[" * 100_000, "nesting is too deep|invalid JSON")],
)
def test_samples_that_are_broken_or_elsewhere_take_no_other(
    tmp_path: Path, line: str, problem: str
) -> None:
    write_lm_eval(tmp_path / "out", [])
    results = tmp_path / "out" / "results_2026.json"
    samples = tmp_path / "out" / "samples_sums_2026.jsonl"
    text = results.read_text(encoding="utf-8")
    results.write_text(text.replace('"lost"', '"/../../lost"'), encoding="utf-8")
    samples.write_text(f"\n{line}\n", encoding="utf-8")
    found = imported(tmp_path / "out", tmp_path / "runs", dry_run=True)
    assert re.match(re.escape(f"{samples}:2: ") + problem, found.failures[0])
    assert "file is outside of" in found.failures[1]
    assert len(found.runs) == 3


def test_an_export_comes_back_beside_the_installed_dataset(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert invoke("eval", "sample-sentiment", "-o", runs).exit_code == 0
    for seed, tool in enumerate(("lm-eval", "lm-eval", "helm")):
        out = tmp_path / "out" / tool / str(seed)
        assert invoke("export", tool, "vader", "--runs", runs, "-o", out).exit_code == 0
    for _ in range(2):  # a further import gives the same names
        done = invoke("import", tmp_path / "out", "-o", runs)
        found = [read_run(each.path) for each in list_runs(runs)]
        names = {str(run.dataset) for run in found}
        own = {"helm-sample-sentiment", "lm-eval-sample-sentiment"}
        assert names == own | {"sample-sentiment"}
        assert {run.headline.metric for run in found if run.headline} == {"macro-f1"}
    notice = (
        "vader on lm-eval-sample-sentiment: 2 runs each. Leaderboards show lm-eval/1/"
    )
    assert notice in done.stderr
    assert "lm-eval/0/vader/results_" in done.stdout


def test_lm_eval_answers_stay_as_filtered_where_a_filter_is_unknown(
    tmp_path: Path,
) -> None:
    custom = [{"function": "custom"}]
    filters = [{"name": name, "filter": custom} for name in ("strict", "loose")]
    write_lm_eval(tmp_path / "out", filters)
    found = imported(tmp_path / "out", tmp_path / "runs", only=["products-*"])
    runs = {str(run.dataset): run for _, run, _ in found.runs if run is not None}
    assert sorted(runs) == ["products-loose", "products-strict"]
    assert compared(runs["products-strict"]) == {("exact_match",): (0.5, 0.0)}
    [row] = runs["products-strict"].tables["original.parquet"].to_dicts()
    assert row["explanation"] == "unknown"


def inspect_sample(number: int, epoch: int, answer: str, **more: Any) -> Any:
    score = {"value": "C" if answer == "A" else "I", "answer": answer}
    return {
        **{"id": number, "epoch": epoch, "input": "Two?", "target": "A"},
        **{"choices": ["2", "3"], "metadata": {"topic": "sums", "answer": "own"}},
        "output": {"completion": f"ANSWER: {answer}"},
        "scores": {"choice": score, "graded": {"value": "P"}},
        **more,
    }


def inspect_log(samples: Sequence[Any], status: str = "success") -> dict[str, Any]:
    def scored(name: str, value: float) -> dict[str, Any]:
        metrics = {"accuracy": {"value": value}, "stderr": {"value": 0.1}}
        return {"name": name, "scorer": name, "metrics": metrics}

    evaluation = {"task": "org/sums", "model": "mockllm/model", "task_version": 2}
    return {
        "version": 2,
        "status": status,
        "eval": {**evaluation, "config": {"epochs": 2}},
        "results": {"scores": [scored("choice", 0.75), scored("graded", 0.5)]},
        "samples": samples,
    }


def test_inspect_logs(tmp_path: Path) -> None:
    answers = {(1, 1): "A", (1, 2): "B", (2, 1): "A", (2, 2): "A"}
    samples = [inspect_sample(*place, answer) for place, answer in answers.items()]
    log, logs = inspect_log(samples), tmp_path / "logs"
    write(logs / "one.json", log)
    with zipfile.ZipFile(logs / "two.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, sample in enumerate(reversed(samples)):
            archive.writestr(f"samples/{number}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
    write(logs / "broken.json", inspect_log(samples, "error"))
    found = imported(logs, tmp_path / "runs")
    [failure] = found.failures
    assert "broken.json: the evaluation ended with the status error." in failure
    for _, run, _ in found.runs:
        assert run is not None
        assert run.examples is not None
        assert run.examples["column/metadata_answer"][0] == "own"
        assert (run.dataset, run.counts["replications"]) == ("sums", 2)
        assert compared(run) == {
            ("choice/accuracy",): (0.75, 0.75),
            ("graded/accuracy",): (0.5, 0.5),
        }
    assert len(found.runs) == 2


def test_inspect_texts_and_samples_that_failed(tmp_path: Path) -> None:
    text = {
        "choices": None,
        "target": ["two", "2"],
        "input": [{"role": "user", "content": "Two?"}],
    }
    samples = [
        inspect_sample(1, 1, "A", **text, scores={"match": {"value": "C"}}),
        inspect_sample(2, 1, "A", **text, scores={}, error={"message": "timeout"}),
    ]
    samples[0]["output"]["completion"] = "It is two."
    log = inspect_log(samples)
    log["eval"]["config"] = {}
    scored = {"name": "match", "metrics": {"accuracy": {"value": 0.5}}}
    log["results"]["scores"] = [{**scored, "scorer": "match"}]
    write(tmp_path / "logs" / "one.json", log)
    run = only_run(imported(tmp_path / "logs", tmp_path / "runs"))
    assert (run.counts["scored"], run.counts["invalid"]) == (1, 1)
    [row] = run.tables["original.parquet"].to_dicts()
    assert (row["evalkit_metric"], row["difference"]) == ("inspect-match", 0.5)
    assert row["explanation"] == "evalkit covers 1 of 2 examples"


def write_seahelm(folder: Path, rows: Sequence[Any], scores: Any, tag: str) -> None:
    prompt = {"preamble": "", "task_template": "{text}", "answer_template": "{label}"}
    languages = {"id": {"prompt_template": {**prompt, "answer_tag": tag}}}
    metric = {"metric": "normalized_accuracy", "metric_class": "F1AccMetric"}
    task = {**metric, "languages": languages, "competency": "nlu"}
    arguments = {"model_name": "org/model", "started": date(2026, 11, 30)}
    settings = {"tasks": {"t": task}, "run_args": arguments}
    write(
        folder / "results" / "model_seahelm_results_2026.json",
        {"id": {"nlu": {"t": scores, "total": 1.0}}},
    )
    configs = folder / "configs"
    configs.mkdir()
    text = yaml.safe_dump(settings)
    (configs / "model_run_config_2026.yaml").write_text(text, encoding="utf-8")
    write_lines(folder / "inferences" / "id" / "t" / "model_t_id.jsonl", rows)


@pytest.mark.known_result
def test_seahelm_scores_are_those_of_its_own_code(
    oracles: Path, tmp_path: Path
) -> None:
    lines = (oracles / "seahelm.jsonl").read_bytes().splitlines()
    cases = [case for case in map(json.loads, lines) if case["group"] == "f1acc_full"]
    for case in cases:
        if case["verdict"] == "match" and not case["input"]["drop_error_response"]:
            check_seahelm(case, tmp_path / case["id"])


def check_seahelm(case: Mapping[str, Any], tmp_path: Path) -> None:
    given, scores = case["input"], case["output"]["metrics"]["t"]
    rows = [
        {
            "prompts": [{"text": f"text {number}"}],
            "label": label,
            "responses": ["" if response[0] is None else response[0]],
            "errors": [None],
        }
        for number, (label, response) in enumerate(
            zip(given["labels"], given["responses"], strict=True)
        )
    ]
    write_seahelm(tmp_path / "run", rows, scores, given["answer_tag"])
    found = imported(tmp_path / "run", tmp_path / "runs")
    [(_, run, _), (totals, _, _)] = found.runs
    assert run is not None
    assert [score.metric for score in totals.scores] == ["id/nlu/total"]
    assert (run.dataset, run.model) == ("sea-t:language=id", "org/model")
    assert run.record.data.languages == ("id",)
    dataset = tmp_path / "runs" / "imported" / "sea-t-id.yaml"  # its only language
    bound = Resolver(Registry()).bind("datasets", str(dataset))
    assert bound.changed_parameters == {"language": "id"}
    for (name,), (original, value) in compared(run).items():
        if name != "null_count":
            assert value == pytest.approx(original), name


def test_hub_scores_have_no_run(tmp_path: Path) -> None:
    file = tmp_path / "model" / ".eval_results" / "gpqa.yaml"
    file.parent.mkdir(parents=True)
    entry = {"dataset": {"id": "org/gpqa", "task_id": "diamond"}, "value": 0.412}
    file.write_text(yaml.safe_dump([entry]), encoding="utf-8")
    done = invoke("import", tmp_path, "-o", tmp_path / "runs", "--json")
    [run] = json.loads(done.stdout)["runs"]
    assert (done.exit_code, run["dataset"], run["run"]) == (0, "org-gpqa-diamond", None)
    assert run["scores"][0]["explanation"] == "there are no examples, so no run"
    check_command("import")


def test_one_folder_that_fails_takes_no_other(tmp_path: Path) -> None:
    source, runs = tmp_path / "v1", tmp_path / "runs"
    good = write_helm(source, "good", [helm_state(2, "A")], [stat("exact_match", 1)])
    bad = write_helm(source, "bad", [{"instance": []}], [])
    (write_helm(source, "lost", [], []) / "stats.json").unlink()
    (source / "a.txt").write_text("mine", encoding="utf-8")
    done = invoke("import", source, "-o", runs)
    assert done.exit_code == 1
    assert f"evalkit: error: {bad}/run_spec.json: unknown form of file" in done.stderr
    assert "stats.json: file not found. Let helm-run finish it" in done.stderr
    assert "1 run written" in done.stderr
    assert "a.txt" in done.stderr
    assert good.name not in done.stderr
    done = invoke("import", source, "-o", runs / "no", "--only=*good", "--dry-run")
    assert "helm-good" in done.stdout
    assert not (runs / "no").exists()
    done = invoke("import", tmp_path / "v1" / good.name, "--only", "other")
    assert (done.exit_code, done.stdout) == (1, "")
