"""Scores of HELM, Dynabench and SEA-HELM, by metrics of ours that are installed.

Every recorded case is compared, or stands in a list of what is left out with the
reason.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit import DataError
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_metrics_compat.helm_text import words_of
from evalkit_metrics_compat.outer_metric import distance
from evalkit_metrics_compat.seahelm_labels import label_of

pytestmark = pytest.mark.known_result

Case = Mapping[str, Any]
Item = TypeVar("Item")


def score(
    metric: str, predictions: Sequence[Any], targets: Sequence[Any], **options: Any
) -> evalkit.Score:
    """Return a score, `NAME[:parameters][#score]`."""
    name, _, part = metric.partition("#")
    result = evalkit.score(name, predictions, targets, **options)
    return next(
        found
        for found in result.scores
        if found.tag is None and (not part or found.metric.endswith(f"#{part}"))
    )


def value(
    metric: str, predictions: Sequence[Any], targets: Sequence[Any], **options: Any
) -> float:
    found = score(metric, predictions, targets, **options).value
    assert found is not None
    return found


def check_all(cases: Sequence[Item], check: Callable[[Item], None]) -> None:
    """Check every case, of which there must be some."""
    assert cases
    for case in cases:
        check(case)


# --- HELM ---

HELM: Mapping[str, str] = {
    "exact_match": "helm-exact-match",
    "quasi_exact_match": "quasi-exact-match",
    "quasi_leave_articles_exact_match": "quasi-exact-match:articles=keep",
    "prefix_exact_match": "prefix-exact-match",
    "quasi_prefix_exact_match": "quasi-prefix-exact-match",
    "f1_score": "helm-f1",
    "exact_match_indicator": "helm-exact-match-indicator",
    "final_number_exact_match": "final-number-match",
    "exact_set_match": "helm-set-match#exact",
    "iou_set_match": "helm-set-match#iou",
    "f1_set_match": "helm-set-match#f1",
    "absolute_value_difference": "helm-absolute-value-difference",
    "cleva_math_result_match": "helm-cleva-math-result-match",
    "rouge_1": "rouge:stemmer=true#1",
    "rouge_2": "rouge:stemmer=true#2",
    "rouge_l": "rouge:stemmer=true#L",
    "chinese_bleu_1": "helm-bleu-1:tokenize=characters",
}
"""The metric that gives what a function of HELM gives."""

HELM_SECTIONS = {
    *("metrics", "normalize_text", "pass_at_k", "bleu"),
    *("calibration_100", "calibration_small"),
}
"""Sections of the file that are compared here."""

HELM_LEFT_OUT = {
    "source": "no case",
    "perturbations": "perturbations: test_helm_known_results.py of evalkit-perturb"
    "ations-text",
    "match_case": "perturbations: the same",
    "random": "perturbations: the same",
    "output_mapping_pattern": "answer extraction, which no metric does",
}

CALIBRATION_LEFT_OUT = {
    "rng": "says how the numbers were drawn",
    "n_correct": "a count",
    "platt_coef": "Platt's recalibration fits a model to the scored answers themselves",
    "platt_intercept": "the same",
    "platt_ece_10": "the same",
    "platt_ece_1": "the same",
}


@pytest.fixture
def helm(oracles: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((oracles / "helm_golden.json").read_text())
    return content


def test_every_section_of_helm_is_compared_or_left_out(helm: Mapping[str, Any]) -> None:
    assert not HELM_SECTIONS & HELM_LEFT_OUT.keys()
    assert helm.keys() == HELM_SECTIONS | HELM_LEFT_OUT.keys()
    for case in helm["metrics"]:
        assert case.keys() == HELM.keys() | {"gold", "pred"}


@pytest.mark.parametrize("name", HELM)
def test_a_metric_of_helm(name: str, helm: Mapping[str, Any]) -> None:
    def check(case: Case) -> None:
        found = score(HELM[name], [case["pred"]], [case["gold"]])
        wanted = case[name]
        if name == "final_number_exact_match" and found.value is None:
            # an answer without a number cannot be found: not scored, in HELM wrong
            assert not any(character.isdigit() for character in case["gold"])
        elif wanted is None:
            assert (case["pred"], found.value) == ("", 0.0)  # HELM raises
        else:
            assert found.value == pytest.approx(wanted, abs=1e-12), case

    check_all(helm["metrics"], check)


def test_normalised_texts_of_helm(helm: Mapping[str, Any]) -> None:
    def check(case: Any) -> None:
        text, without_articles, with_articles = case
        assert " ".join(words_of(text)) == without_articles
        assert value("quasi-exact-match", [text], [without_articles]) == 1.0
        assert value("quasi-exact-match:articles=keep", [text], [with_articles]) == 1.0

    check_all(helm["normalize_text"], check)


def test_bleu_of_helm(helm: Mapping[str, Any]) -> None:
    def check(case: Case) -> None:
        said, gold = " ".join(case["pred"]), " ".join(case["gold"])
        for name, wanted in (
            ("helm-bleu-1", case["bleu_1"]),
            ("helm-bleu-4", case["bleu_4_helm"]),
            ("bleu:smoothing=none,tokenize=none", 100 * case["bleu_4_standard"]),
        ):
            assert value(name, [said], [gold]) == pytest.approx(wanted, abs=1e-9)

    check_all(helm["bleu"], check)


class Question(BaseModel):
    uid: str


class Answer(BaseModel):
    id: str
    label: str
    prob: dict[str, float] | None = None


class Sure(evalkit.TaskIO):
    Input, Output, example = Question, Answer, {"uid": "1"}
    labels = ("right", "wrong")
    answer_field, perf_metric = "label", "accuracy"
    scored_fields = ("prob",)


def of_calibration(
    metric: str, probabilities: Sequence[float], correct: Sequence[bool]
) -> float:
    """Score answers that are right or not, each with its probability."""
    rows = [
        {"uid": str(n), "label": "right" if is_right else "wrong"}
        for n, is_right in enumerate(correct)
    ]
    said = [
        {"id": str(n), "label": "right", "prob": {"right": p, "wrong": 1 - p}}
        for n, p in enumerate(probabilities)
    ]
    result = evalkit.evaluate(
        data=rows, predictions=said, task=Sure, metrics=[metric], model="m"
    )
    found = next(each for each in result.scores if each.tag is None).value
    assert found is not None
    return found


@pytest.mark.slow
def test_calibration_of_helm(helm: Mapping[str, Any]) -> None:
    import numpy as np

    random = np.random.RandomState(0)
    drawn = random.rand(100)
    large, small = helm["calibration_100"], helm["calibration_small"]
    of_large = (drawn.tolist(), (random.rand(100) < drawn).tolist())
    of_small = (small["probs"], [bool(each) for each in small["correct"]])
    assert sum(of_large[1]) == large["n_correct"]
    known = {"ece_10_bin", "ece_1_bin", "sel"} | CALIBRATION_LEFT_OUT.keys()
    assert large.keys() == known
    assert small.keys() == {"probs", "correct", "ece_10", "ece_1", "sel"}
    wanted = [
        ("ece:binning=mass,bins=10", of_large, large["ece_10_bin"]),
        ("ece:binning=mass,bins=1", of_large, large["ece_1_bin"]),
        ("coverage-accuracy-area", of_large, large["sel"][0]),
        ("selective-accuracy:coverage=0.1", of_large, large["sel"][1]),
        ("ece:binning=mass,bins=10", of_small, small["ece_10"]),
        ("ece:binning=mass,bins=1", of_small, small["ece_1"]),
        ("coverage-accuracy-area", of_small, small["sel"][0]),
        ("selective-accuracy:coverage=0.1", of_small, small["sel"][1]),
    ]

    def check(case: Any) -> None:
        metric, answers, recorded = case
        found = of_calibration(metric, *answers)
        assert found == pytest.approx(recorded, abs=1e-9), metric

    check_all(wanted, check)


@pytest.mark.slow
def test_pass_at_k_of_helm(helm: Mapping[str, Any]) -> None:
    def check(case: Any) -> None:
        count, right, k, wanted = case
        name = "pass-at-k" if k == 1 else f"pass-at-k:k={k}"
        labels = ["right"] * right + ["wrong"] * (count - right)
        responses = [{"label": each} for each in labels]
        result = evalkit.evaluate(
            data=[{"uid": "0", "label": "right"}],
            predictions=[{"id": "0", "responses": responses}],
            task=Sure,
            metrics=[name],
            model="m",
        )
        assert result[name].value == pytest.approx(wanted, abs=1e-12)

    check_all(helm["pass_at_k"], check)


# --- Dynabench ---


def check_dynabench_list(metric: str, case: Case) -> None:
    """Compare on 0 to 100, rounded to two decimals as Dynabench does."""
    predictions, targets = case["predictions"], case["targets"]
    missing = [None] * (len(targets) - len(predictions))
    found = score(metric, [*predictions, *missing], targets)
    if "error" in case:
        assert found.value is not None or found.reason == "no example was scored"
        return
    assert found.value is not None
    wanted = case["value"]
    if targets in ([["yes"]], ["yes"]):
        wanted = 100.0  # one answer, which was said: Dynabench gives 0
    assert round(100 * found.value, 2) == wanted, case


def check_dynabench_bleu(case: Case) -> None:
    found = score("bleu", case["predictions"], case["targets"])
    if "error" in case:
        assert (found.value, found.reason) == (None, "no example was scored")
    else:
        assert found.value == pytest.approx(case["value"], abs=1e-9)


class Said(BaseModel):
    id: str
    text: str


class Asked(BaseModel):
    uid: str
    question: str = ""


class Asking(evalkit.TaskIO):
    Input, Output, example = Asked, Said, {"uid": "1"}
    answer_field, perf_metric, perturb_fields = "text", "accuracy", ("question",)


AGREEMENT = {"accuracy": "accuracy", "squad_f1": "squad-f1"}


def check_unperturbed_percent(case: Case) -> None:
    """Compare agreement with the answers to the originals."""
    if case["inner"] == "macro_f1":
        # the macro-F1 of a single original, of which Dynabench takes the mean, says
        # 33 % where one of two answers agrees; here sets are compared as wholes
        assert case["value"] == 33.33
        return
    numbered = list(enumerate(zip(case["predictions"], case["targets"], strict=True)))
    rows = [{"uid": str(n), "text": said} for n, (_, said) in numbered]
    copies = [
        {
            "uid": f"{n}_{k}",
            "input_id": str(n),
            "perturbation": "lowercase",
            "text": said,
        }
        for n, (given, said) in numbered
        for k, _ in enumerate(given)
    ]
    answers = [
        {"id": f"{n}_{k}", "text": text}
        for n, (given, _) in numbered
        for k, text in enumerate(given)
    ]
    result = evaluate_perturbed(
        data=[{**row, "question": "?"} for row in rows],
        predictions=[{"id": row["uid"], "text": row["text"]} for row in rows],
        task=Asking,
        metrics=[AGREEMENT[case["inner"]]],
        perturbed=[copies],
        perturbed_predictions=[answers],
        model="m",
    )
    (found,) = [
        each
        for each in find_effects(result).scores
        if (each.computed_on, each.tag, each.perturbation)
        == ("agreement", None, "lowercase")
    ]
    assert found.value is not None
    # 83.33 % here: Dynabench rounds the mean of what was rounded already
    assert 100 * found.value == pytest.approx(case["value"], abs=0.011)


class Photo(BaseModel):
    uid: str


class Labels(BaseModel):
    id: str
    labels: list[str]


class Labelling(evalkit.TaskIO):
    Input, Output, example = Photo, Labels, {"uid": "1"}
    answer_field, answer_kind, perf_metric = "labels", "all-of", "dataperf-f1"


def check_dataperf_f1(case: Case) -> None:
    """Compare labels and their mean; seeds are replications."""
    rows = [{"uid": str(n), "labels": gold} for n, gold in enumerate(case["targets"])]
    said = [
        {"id": str(n), "labels": labels, "_replication_": str(seed)}
        for n, seeds in enumerate(case["predictions"])
        for seed, labels in enumerate(seeds)
    ]
    result = evalkit.evaluate(data=rows, predictions=said, task=Labelling, model="m")
    wanted = case["value"]
    main = result["dataperf-f1"]
    assert main.value is not None
    assert round(100 * main.value, 2) == wanted["dataperf_f1"] == wanted["perf"]
    for part in wanted["perf_by_tag"]:
        found = result[f"dataperf-f1#{part['tag']}"]
        assert found.value is not None
        assert round(100 * found.value, 2) == part["perf"]
        spread = found.stddev_replications
        if part["perf_std"] is None:
            assert spread is None
        else:
            # a sample's, on the scale of the value; Dynabench's is a population's
            seeds = len(case["predictions"][0])
            of_all = part["perf_std"] * math.sqrt(seeds / (seeds - 1))
            assert spread == pytest.approx(of_all)


DYNABENCH: Mapping[str, Callable[[Case], None]] = {
    "accuracy": lambda case: check_dynabench_list("accuracy", case),
    "macro_f1": lambda case: check_dynabench_list("macro-f1:labels=seen", case),
    "squad_f1": lambda case: check_dynabench_list("squad-f1", case),
    "vqa_accuracy": lambda case: check_dynabench_list("vqa-accuracy", case),
    "bleu(sacrebleu 2.6.0)": check_dynabench_bleu,
    "unperturbed_percent": check_unperturbed_percent,
    "dataperf_f1": check_dataperf_f1,
}


def dynabench_cases(oracles: Path) -> list[Case]:
    content = json.loads((oracles / "dynabench_metrics.json").read_text())
    cases: list[Case] = content["cases"]
    return cases


def test_every_metric_of_dynabench_is_compared(oracles: Path) -> None:
    assert {case["metric"] for case in dynabench_cases(oracles)} == {*DYNABENCH}


@pytest.mark.parametrize("metric", DYNABENCH)
def test_a_metric_of_dynabench(metric: str, oracles: Path) -> None:
    cases = [case for case in dynabench_cases(oracles) if case["metric"] == metric]
    check_all(cases, DYNABENCH[metric])


# --- SEA-HELM ---


def check_normalize_score(case: Case) -> None:
    given = case["input"]
    if given["score"] == "NaN" or given["score"] is None:
        rows = score("above-chance:chance=0.5,metric=accuracy", [], [])
        assert (rows.value, rows.reason) == (None, "no example was scored")
        return
    numbers = (given["score"], given["min_score"], given["max_score"])
    away = distance(*(pl.lit(float(number)) for number in numbers))
    [found] = pl.select(away.clip(0.0, 1.0)).to_series()
    if case["verdict"] == "match":
        assert found == pytest.approx(case["output"], abs=1e-15)
    elif given["min_score"] == given["max_score"]:
        assert found is None  # SEA-HELM: 0, also for a perfect score
    else:
        assert found == 1.0 < case["output"]


def check_normalize_answer_base(case: Case) -> None:
    text = case["input"]["s"]
    if text is None:
        name = "seahelm-null-weighted-f1"
        assert value(name, [None, "a"], ["a", "a"], labels=["a"]) == pytest.approx(
            1 / 3
        )
    else:
        assert label_of(text) == case["output"]


def check_qa(part: str) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        given = case["input"]
        name = f"seahelm-qa{part}"
        result = evalkit.score(
            "seahelm-qa", [given["prediction"]], [given["ground_truth"]]
        )
        wanted = 1.0 if case["verdict"] == "differ" else float(case["output"])
        assert result[name].value == pytest.approx(wanted, abs=1e-15)

    return check


def check_qa_full(case: Case) -> None:
    rows = case["input"]["rows"]
    if not rows:
        assert score("seahelm-qa", [], []).reason == "no example was scored"
        return
    if case["id"] == "qa_full-003":
        # every reference counts, also of a language without blanks
        said = case["output"]["cleaned"]
        references = [references for _, references in rows]
        assert value("seahelm-qa", said, references) == 1.0
        return
    said = [text or None for text in case["output"]["cleaned"]]
    found = evalkit.score("seahelm-qa", said, [references for _, references in rows])
    wanted = case["output"]["metrics"]["t"]
    for part, key in (("", "f1"), ("#exact-match", "exact_match")):
        number = found[f"seahelm-qa{part}"].value
        assert number is not None
        assert 100 * number == pytest.approx(wanted[key])
    assert found["seahelm-qa#found"].value == wanted["found_in_prediction"] / 100


F1ACC: Mapping[str, str] = {
    "accuracy": "balanced-accuracy",
    "macro_f1": "seahelm-macro-f1",
    "null_weighted_f1": "seahelm-null-weighted-f1",
    "normalized_accuracy": "above-chance",
}


def check_f1acc(case: Case) -> None:
    gold = case["input"]["labels"]
    if not gold:
        for name in F1ACC.values():
            assert score(name, [], []).reason == "no example was scored"
        return
    declared = sorted({*gold})
    said = [None if label == "null" else label for label in case["output"]["cleaned"]]
    if case["input"].get("drop_error_response"):
        errors = [turns[0] is None for turns in case["input"]["responses"]]
        gold = [label for label, error in zip(gold, errors, strict=True) if not error]
    wanted = case["output"]["metrics"]["t"]
    if case["verdict"] == "differ":
        # labels are the declared ones, of which the data may hold fewer
        declared = ["A", "B", "C", "D"]
        if case["id"] != "f1acc_full-009":
            said = [turns[0][-1] for turns in case["input"]["responses"]]
    found = {
        key: value(name, said, gold, labels=declared) for key, name in F1ACC.items()
    }
    if case["verdict"] == "match":
        for key, number in found.items():
            assert 100 * number == pytest.approx(wanted[key]), (case["id"], key)
        return
    balanced = found["accuracy"]
    assert balanced == pytest.approx(wanted["accuracy"] / 100)
    above = max(0.0, (balanced - 0.25) / 0.75)
    assert found["normalized_accuracy"] == pytest.approx(above)
    # what the labels of the data would make of it
    assert wanted["normalized_accuracy"] in (0.0, 100.0)


def check_errors(case: Case) -> None:
    """Leave out, or count as wrong, what has an error; the rows keep their ids."""
    given = case["input"]
    ids = [str(n) for n in given.get("index", range(len(given["responses"])))]
    rows = [{"uid": uid, "text": "a"} for uid in ids]
    said = [
        {"id": uid, "text": turns[0]}
        if None not in turns
        else {"id": uid, "text": None, "error": "timeout"}
        for uid, turns in zip(ids, given["responses"], strict=True)
    ]
    policy: Literal["wrong", "skip"] = "wrong" if "replacement" in given else "skip"
    result = evalkit.evaluate(
        data=rows, predictions=said, task=Asking, model="m", on_invalid=policy
    )
    whole = sum(None not in turns for turns in given["responses"])
    assert result.counts["scored"] == whole
    assert result.counts["invalid"] == len(ids) - whole
    assert result["accuracy"].n == (len(ids) if policy == "wrong" else whole)


def check_calculate_stderr(case: Case) -> None:
    values = case["input"]["values"]

    @evalkit.metric(bounds=(0, 100))
    def said(prediction: float, target: float) -> float:
        return float(prediction)

    found = evalkit.score(said, values, values)["said"]
    if len(values) > 1:
        assert found.se == pytest.approx(case["output"], abs=1e-12)
    else:
        assert (found.se, case["output"]) == (None, 0.0)  # of one value nobody knows
        assert found.reason


def check_rouge(case: Case) -> None:
    given, wanted = case["input"], case["output"]
    for measure, key in (("", "fmeasure"), ("precision", ""), ("recall", "")):
        name = f"rouge:measure={measure}#L" if measure else "rouge#L"
        found = value(name, [given["prediction"]], [given["target"]])
        assert found == pytest.approx(wanted[key or measure], abs=1e-12)


def check_translation(case: Case) -> None:
    given = case["input"]
    if case["id"] == "translation-001":
        said, wanted = case["output"]["cleaned"], case["output"]["metrics"]
        references = [reference for _, reference in given["rows"]]
        worst, best = pl.lit(25.0), pl.lit(0.0)
        shares = [
            pl.select(distance(pl.lit(each), worst, best).clip(0, 1)).item()
            for each in given["metricx_scores"]
        ]
        mean = 100 * sum(shares) / len(shares)
        assert mean == pytest.approx(wanted["normalized_metricx_wmt24_scores"])
        found = value("chrf-plus-plus", said, references)
        assert found == pytest.approx(wanted["chrf_score"], abs=1e-9)
    elif given.get("rows"):
        # all lines of a translation are scored
        text = given["rows"][0][1]
        assert value("chrf-plus-plus", [text], [text]) == pytest.approx(100)
    else:
        empty = score("chrf-plus-plus", [], [])
        assert (empty.value, empty.reason) == (None, "no example was scored")


def check_summarization(case: Case) -> None:
    said, wanted = case["output"]["cleaned"], case["output"]["metrics"]
    references = [reference for _, reference in case["input"]["rows"]]
    found = value("rouge#L", said, references)
    assert 100 * found == pytest.approx(wanted["rougel_f1"])


def check_exact_match(case: Case) -> None:
    said = case["output"]["cleaned"]
    found = value("exact-match", said, [right for _, right in case["input"]["rows"]])
    assert 100 * found == case["output"]["metrics"]["exact_match"]


def check_logprob(case: Case) -> None:
    given = case["input"]["cumulative_logprobs"]
    phenomena = case["input"].get("phenomenon", [])
    blank = [""] * len(given)
    result = evalkit.score(
        "seahelm-logprob",
        blank,
        blank,
        fields={"logprob": given},
        tags=[[each] for each in phenomena] or None,
    )
    found = {(each.tag, each.metric): each for each in result.scores}
    whole = case["output"]["metrics"]["t"]
    for tag, wanted in whole.get("subcategories", {None: whole}).items():
        log = found[tag, "seahelm-logprob#log"]
        mean = found[tag, "seahelm-logprob"]
        if all(each is None for each in given):  # there 0
            assert mean.value is log.value is None
            assert "the response holds no" in str(mean.reason)
            continue
        assert mean.value is not None
        of_mean = wanted["average_cumulative_probabilities"]
        assert 100 * mean.value == pytest.approx(of_mean, rel=1e-12)
        if len(given) == 1:  # there 0, with no error of it
            assert log.value == given[0]
            assert mean.se is log.se is None
            continue
        of_log = wanted["average_cumulative_logprobs"]
        assert log.value == pytest.approx(of_log, rel=1e-12)
        names = ("logprobs", "probabilities")
        errors = [wanted[f"clt_se_cumulative_{name}"] for name in names]
        found_errors = [log.se or 0.0, 100 * (mean.se or 0.0)]
        assert found_errors == pytest.approx(errors, rel=1e-12)


SEAHELM: Mapping[str, Callable[[Case], None]] = {
    "normalize_score": check_normalize_score,
    "normalize_answer_base": check_normalize_answer_base,
    "qa_f1": check_qa(""),
    "qa_em": check_qa("#exact-match"),
    "qa_full": check_qa_full,
    "f1acc_full": check_f1acc,
    "errors": check_errors,
    "calculate_stderr": check_calculate_stderr,
    "rougeL": check_rouge,
    "translation": check_translation,
    "summarization": check_summarization,
    "exact_match": check_exact_match,
    "logprob": check_logprob,
}
"""What compares the cases of a group."""

EXTRACTION = "answer extraction, which no metric does"
JUDGES = "compared in test_seahelm_judges.py of evalkit-annotators-judge"
MEANS_OF_JUDGES = "means in which a verdict that is lacking is 0, or severities weigh"
PROMPTS = "compared in test_known_prompts.py of evalkit-models-base"
SERVING = "how its own servers are called"
RUNNING = "how that program is started, configured and cached"
TABLES = "means over tasks and leaderboards, no metric: `evalkit leaderboard`"
CHECKERS = "checkers of one benchmark's own tasks, which its data set would bring"

SEAHELM_LEFT_OUT: Mapping[str, str] = {
    "extract_f1acc": EXTRACTION,
    "extract_freetext": EXTRACTION,
    "extract_lindsea": EXTRACTION,
    "boxed": EXTRACTION,
    "nondeterminism": EXTRACTION,
    "pairwise_parse": JUDGES,
    "pairwise_final": JUDGES,
    "pairwise_fine": JUDGES,
    "pairwise_metrics": MEANS_OF_JUDGES,
    "criteria_parse": JUDGES,
    "criteria_full": MEANS_OF_JUDGES,
    "healthbench": JUDGES,
    "healthbench_parse": JUDGES,
    "lindsea_judge": MEANS_OF_JUDGES,
    "correct_incorrect": JUDGES,
    "elo": "ratings from games between models, no metric of one model's answers",
    "prompt": PROMPTS,
    "fewshot": PROMPTS,
    "serving": SERVING,
    "args": RUNNING,
    "taskconfig": RUNNING,
    "cache": RUNNING,
    "e2e": "whole runs of its program on data that is not in this repository",
    "aggregate": TABLES,
    "aggregate_lindsea": TABLES,
    "leaderboard": TABLES,
    "ifeval_checker": CHECKERS,
    "ifeval_full": CHECKERS,
    "lindsea": CHECKERS,
    "longproc": CHECKERS,
    "math": CHECKERS,
    "ruler": CHECKERS,
}
"""Why a group is not compared."""


def seahelm_cases(oracles: Path) -> list[Case]:
    lines = (oracles / "seahelm.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def test_every_group_of_seahelm_is_compared_or_left_out(oracles: Path) -> None:
    groups = {case["group"] for case in seahelm_cases(oracles)}
    assert not SEAHELM.keys() & SEAHELM_LEFT_OUT.keys()
    assert groups <= SEAHELM.keys() | SEAHELM_LEFT_OUT.keys()
    assert SEAHELM.keys() <= groups


@pytest.mark.parametrize("group", SEAHELM)
@pytest.mark.slow
def test_a_group_of_seahelm(group: str, oracles: Path) -> None:
    cases = [case for case in seahelm_cases(oracles) if case["group"] == group]
    check_all(cases, SEAHELM[group])


def test_what_is_left_out_is_on_the_page() -> None:
    page = Path(__file__).parents[1] / "docs" / "metrics" / "compat.md"
    text = page.read_text(encoding="utf-8")
    lacking = [name for name in SEAHELM_LEFT_OUT if f"`{name}`" not in text]
    assert not lacking


def test_lists_of_two_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="of the same length"):
        evalkit.score("accuracy", ["a"], ["a", "a"])
