"""What a metric may say since the second edition of the contract, from end to end."""

import inspect
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import Metric, NotScored, Result
from evalkit.scoring import passes
from evalkit_analysis_compare import compare
from evalkit_analysis_robustness import evaluate_perturbed

CODE = """
import evalkit
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from pydantic import BaseModel

class Input(BaseModel):
    uid: str
    text: str

class Output(BaseModel):
    id: str
    label: str

class Task(evalkit.TaskIO):
    Input = Input
    Output = Output
    example = {"uid": "1", "text": "x"}
    answer_field = "label"
    labels = ("a", "b")
    perf_metric = "accurate"

class Data(evalkit.Dataset):
    task = "letters"
    def load(self, split):
        return [
            {
                "uid": str(i),
                "text": f"text {i}",
                "label": "ab"[i % 2],
                "part": str(i % 2),
                "tags": [f"third:{i % 3}"],
            }
            for i in range(60)
        ]

class Accurate(evalkit.Metric):
    bounds = (0, 1)
    higher_is_better = True
    def score_example(self, prediction, target):
        return float(prediction == target)
"""

ENTRY_POINTS = {
    "evalkit.tasks": {"letters": "Task"},
    "evalkit.datasets": {"letters": "Data"},
    "evalkit.metrics": {"accurate": "Accurate"},
}

PREDICTIONS = [{"id": str(i), "label": "ab"[i % 7 % 2]} for i in range(60)]


@pytest.fixture(autouse=True)
def plugins(fake_distribution: Any) -> Callable[..., Any]:
    fake_distribution(CODE, ENTRY_POINTS, name="letter-plugins", version="1.0")

    def add(code: str, name: str, value: str, **files: str) -> Any:
        return fake_distribution(
            "import evalkit\n" + code, {"evalkit.metrics": {name: value}}, name=name
        )

    return add


def run(*metrics: Any, **options: Any) -> Result:
    call = evaluate_perturbed if "perturbed" in options else evalkit.evaluate
    return call("letters", PREDICTIONS, metrics=list(metrics), **options)


# rows that are not scored ------------------------------------------------------------


class Judge(Metric):
    """Scores right answers, and cannot reach its service for some examples."""

    bounds = (0.0, 1.0)
    columns = ("text",)

    def score_example(self, prediction: str, target: str, fields: Any) -> Any:
        number = int(fields["text"].split()[1])
        if number == 7:
            raise NotScored("timeout")
        if number == 8:
            raise ZeroDivisionError("a bug")
        return NotScored("busy") if number in (9, 10) else float(prediction == target)


LEFT = {"7": "timeout", "9": "busy", "10": "busy"}


def expected_share() -> float:
    right = [
        row["label"] == "ab"[int(row["id"]) % 2]
        for row in PREDICTIONS
        if row["id"] not in {*LEFT, "8"}
    ]
    return sum(right) / len(right)


def check_judged(found: Result) -> None:
    score = found["judge"]
    assert score.value == pytest.approx(expected_share(), abs=1e-12)
    assert (score.n, score.coverage) == (56, pytest.approx(56 / 60))
    assert found.status == "partial"
    assert found.record.not_scored == {"judge": 4}
    [error] = found.record.errors
    assert "score_example failed for the example '8' with ZeroDivisionError" in error
    [notice] = [text for text in found.record.notices if "did not score" in text]
    assert notice.startswith("metrics/judge (")
    assert "did not score 3 of 60 examples ('busy': 2, 'timeout': 1)" in notice
    listed = [problem for problem in found.problems if problem.metric is not None]
    assert {p.id: p.reason for p in listed if p.status == "not scored"} == LEFT
    [failed] = [problem for problem in listed if problem.status == "failed"]
    assert (failed.id, failed.metric) == ("8", "judge")


def test_rows_that_are_not_scored_are_counted_and_listed(tmp_path: Path) -> None:
    found = run("accurate", Judge, out=tmp_path)
    check_judged(found)
    assert found["accurate"].n == 60
    assert found.path is not None
    stored = evalkit.read_run(found.path)
    check_judged(stored)
    lines = (found.path / "problems.jsonl").read_text("utf-8").splitlines()
    assert {
        "status": "not scored",
        "line": None,
        "id": "7",
        "violations": [],
        "metric": "judge",
        "reason": "timeout",
    } in map(json.loads, lines)
    assert stored.examples is not None
    assert stored.examples["judge"].null_count() == 4


def test_rows_that_are_not_scored_stay_so_when_runs_are_merged(
    tmp_path: Path, plugins: Any
) -> None:
    code = """
class Judge(evalkit.Metric):
    bounds = (0.0, 1.0)
    columns = ("text",)
    costly = True
    def score_example(self, prediction, target, fields):
        number = int(fields["text"].split()[1])
        if number == 7:
            raise evalkit.NotScored("timeout")
        if number == 8:
            raise ZeroDivisionError("a bug")
        if number in (9, 10):
            return evalkit.NotScored("busy")
        return float(prediction == target)
"""
    plugins(code, "judge", "Judge")
    parts = [
        run("accurate", "judge", filters={"part": part}, out=tmp_path) for part in "01"
    ]
    merged = evalkit.merge(parts, out=tmp_path)
    check_judged(merged)
    whole = run("accurate", "judge")
    assert merged["judge"] == whole["judge"]
    assert merged.by_tag.equals(whole.by_tag)


class ByLetter(Metric):
    """Knows one answer only."""

    most_not_scored = 0.5

    def score_example(self, target: str) -> Any:
        return 1.0 if target == "a" else NotScored("b")


def test_a_group_of_which_too_much_is_lacking_has_no_value() -> None:
    found = run(ByLetter, by=["answer"])
    assert found["by-letter"].value == 1.0
    rows = {row["tag"]: row for row in found.by_tag.to_dicts()}
    assert rows["answer:a"]["value"] == 1.0
    assert rows["answer:b"]["value"] is None
    assert "did not score all 30 examples ('b': 30)" in rows["answer:b"]["reason"]
    strict = type("ByLetter", (ByLetter,), {"most_not_scored": 0.49})
    score = run(strict)["by-letter"]
    assert score.value is score.ci is None
    assert score.reason is not None
    assert score.reason.endswith(
        "did not score 30 of 60, and its most_not_scored is 0.49"
    )


def test_a_run_without_examples_keeps_no_reasons() -> None:
    found = run(Judge, include_examples=False)
    reasons = {problem.reason for problem in found.problems}
    assert reasons == {"withheld, as the run holds no examples"}
    assert "a bug" not in json.dumps(found.to_dict())


# several scores from one pass --------------------------------------------------------

CALLS: Counter[str] = Counter()


class Lengths(Metric):
    """Several scores of one example."""

    unit = "%"
    scale = 100.0
    bounds = (0.0, 1.0)
    higher_is_better = True
    interval = "wilson"
    scores: Mapping[str, Mapping[str, Any]] = {
        "same": {},
        "length": {
            "unit": "letters",
            "scale": 1.0,
            "bounds": (0.0, None),
            "higher_is_better": False,
            "interval": "t",
        },
    }

    def score_example(self, prediction: str, target: str) -> Any:
        CALLS["lengths"] += 1
        return {"same": float(prediction == target), "length": 1 + (prediction == "a")}


def test_several_scores_of_one_pass_stand_each_for_itself(tmp_path: Path) -> None:
    CALLS.clear()
    found = run("accurate", Lengths, out=tmp_path)
    assert CALLS["lengths"] == 60
    same, length = found["lengths#same"], found["lengths#length"]
    accurate = found["accurate"]
    assert (same.value, same.n) == (accurate.value, 60)
    assert (same.unit, same.scale, same.higher_is_better) == ("%", 100.0, True)
    assert (same.ci_method, length.ci_method) == ("wilson", "t")
    letters = [1 + (row["label"] == "a") for row in PREDICTIONS]
    assert length.value == pytest.approx(sum(letters) / 60)
    assert (length.unit, length.scale) == ("letters", 1.0)
    assert length.higher_is_better is False
    assert found.examples is not None
    assert found.examples["lengths#same"].equals(found.examples["accurate"])
    assert {"lengths#same", "lengths#length"} <= {*found.statistics}
    assert found.path is not None
    stored = evalkit.read_run(found.path)
    assert stored["lengths#length"] == length
    assert stored.record.bounds["lengths#length"] == (0, None)
    tags = found.by_tag.filter(metric="lengths#same")["tag"].to_list()
    assert {"third:0", "third:1", "third:2"} <= {*tags}


@pytest.mark.slow
def test_several_scores_are_compared_rescored_and_verified(
    tmp_path: Path, plugins: Any
) -> None:
    code = """
class Twice(evalkit.Metric):
    bounds = (0.0, 1.0)
    scores = {"": {}, "other": {}}
    def score_example(self, prediction, target):
        return {"": float(prediction == target), "other": float(prediction == "a")}
"""
    plugins(code, "twice", "Twice")
    first = run("twice", out=tmp_path)
    assert first.record.headline == "twice"
    assert first["twice"].value != first["twice#other"].value
    others = [{**row, "label": "a"} for row in PREDICTIONS]
    second = evalkit.evaluate("letters", others, metrics=["twice"], out=tmp_path)
    compared = compare(first, second)
    rows = {row.metric: row for row in compared.rows if row.tag is None}
    assert {*rows} == {"twice", "twice#other"}
    row = rows["twice#other"]
    assert row.difference == pytest.approx(first["twice#other"].value - 1)
    added = evalkit.rescore(run("accurate", out=tmp_path), ["twice"])
    assert added["twice#other"].value == first["twice#other"].value
    checked = evalkit.verify(first)
    assert (checked.agrees, checked.unverified) == (True, {})
    parts = [run("twice", filters={"part": part}, out=tmp_path) for part in "01"]
    stored = [evalkit.read_run(part.path) for part in parts if part.path]
    assert [{*part.statistics} for part in stored] == [{"twice", "twice#other"}] * 2
    assert evalkit.merge(stored)["twice#other"] == first["twice#other"]


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (1.0, "must return a dict of the scores same, length, is 1.0"),
        ({"same": 1.0}, "must return a dict of the scores same, length"),
        ({"same": 1.0, "length": -1.0}, "its value -1.0 is outside of its bounds 0.0"),
        ({"same": "x", "length": 1.0}, "its value must be a number, is 'x'"),
    ],
)
def test_a_dict_must_have_the_declared_scores(returned: Any, text: str) -> None:
    class Wrong(Lengths):
        def score_example(self) -> Any:
            return returned

    errors = "\n".join(run("accurate", Wrong).errors)
    assert text in errors


def test_a_function_of_lists_may_give_several_scores() -> None:
    CALLS.clear()

    @evalkit.metric(scores={"right": {"bounds": (0, 1)}, "n": {"unit": "rows"}})
    def get_both(predictions: list[str], targets: list[str]) -> dict[str, Any]:
        CALLS["both"] += 1
        pairs = list(zip(predictions, targets, strict=True))
        return {"right": sum(p == t for p, t in pairs) / len(pairs), "n": len(pairs)}

    found = evalkit.score(get_both, ["a", "b", "a"], ["a", "b", "b"])
    assert found["both#right"].value == pytest.approx(2 / 3)
    assert found["both#right"].ci is not None
    assert (found["both#n"].value, found["both#n"].unit) == (3, "rows")
    once = CALLS["both"]
    CALLS.clear()

    @evalkit.metric(bounds=(0, 1))
    def get_one(predictions: list[str], targets: list[str]) -> float:
        CALLS["one"] += 1
        return 0.5

    evalkit.score(get_one, ["a", "b", "a"], ["a", "b", "b"])
    assert once <= CALLS["one"]


def test_what_scores_declare_is_checked() -> None:
    class Wrong(Lengths):
        scores = {"a": {"higher_is_beter": True}, "b": {"bounds": 3}}

    class OutOfRange(Lengths):
        most_not_scored, batch_rows = 2.0, 0

    for metric, text in (
        (Wrong, "its score 'a' has 'higher_is_beter', which is none of unit, bounds,"),
        (Wrong, "its score 'b' has 'bounds', which"),
        (OutOfRange, "'most_not_scored' must be less than or equal to 1, found 2"),
        (OutOfRange, "'batch_rows' must be greater than or equal to 1, found 0"),
    ):
        with pytest.raises(evalkit.PluginContractError) as caught:
            run(metric)
        assert text in str(caught.value)


# statistics by example ---------------------------------------------------------------


class Ratio(Metric):
    """Words too many, as a share of the answers' words: a ratio of two sums."""

    interval = "delta"

    def example_statistics(self, prediction: str, target: str) -> Any:
        if not target:
            return NotScored("no answer")
        return {"more": len(prediction.split()), "words": len(target.split())}

    def finalize(self, sums: Mapping[str, float]) -> Any:
        if not sums["more"]:
            raise NotScored("nothing predicted")
        return {"": sums["more"] / sums["words"], "words": sums["words"]}


@pytest.mark.parametrize("odd", [0, 1, 19])
def test_an_example_with_other_numbers_is_left_out_and_no_other_is(odd: int) -> None:
    class Share(Metric):
        def example_statistics(self, prediction: str) -> dict[str, float]:
            return {"n": 1} if prediction == "odd" else {"n": 1, "right": 1}

        def finalize(self, sums: Mapping[str, float]) -> float:
            return sums["right"] / sums["n"]

    predictions = ["odd" if place == odd else "x" for place in range(20)]
    found = evalkit.score(Share, predictions, ["x"] * 20)
    assert (found["share"].value, found["share"].n) == (1.0, 19)
    [problem] = found.problems
    assert (problem.id, problem.status) == (str(odd), "failed")
    assert "numbers" in str(problem.reason)
    assert "n, right" in str(problem.reason)


def test_numbers_of_an_example_add_up() -> None:
    predictions, targets = ["a b", "c", "d e f", "x"], ["a", "c d", "e", ""]
    tags = [["x"], ["x"], ["y"], ["y"]]
    metric = type("Ratio", (Ratio,), {"most_not_scored": 0.5})
    found = evalkit.score(metric, predictions, targets, tags=tags)
    score = found["ratio"]
    assert (score.value, score.n) == (6 / 4, 3)
    assert score.ci_method == "delta"
    assert found["ratio#words"].value == 4
    by_tag = {row["tag"]: row["value"] for row in found.by_tag.to_dicts()}
    assert by_tag["x"] in (1.0, 3.0)
    silent = evalkit.score(metric, ["", ""], ["a", "b"])["ratio"]
    assert silent.value is None
    where = "metrics/ratio (given as an object)"
    assert silent.reason == f"{where}: did not score them (nothing predicted)"


def test_statistics_of_examples_are_merged_and_verified(plugins: Any) -> None:
    code = """
class Share(evalkit.Metric):
    def example_statistics(self, prediction, target):
        return {"right": prediction == target, "n": 1}
    def finalize(self, sums):
        return sums["right"] / sums["n"]
"""
    plugins(code, "share", "Share")
    whole = run("accurate", "share")
    assert whole["share"].value == whole["accurate"].value
    assert whole["share"].ci is not None
    parts = [run("accurate", "share", filters={"part": part}) for part in "01"]
    assert evalkit.merge(parts)["share"] == whole["share"]
    assert evalkit.verify(whole).agrees


# a pass over all answers -------------------------------------------------------------


class Rarity(Metric):
    """The share of examples that have the same answer, of the predicted one."""

    def prepare(self, targets: list[str], context: evalkit.MetricContext) -> Any:
        assert context.prepared is None
        return {
            letter: count / len(targets) for letter, count in Counter(targets).items()
        }

    def score_example(self, prediction: str, context: evalkit.MetricContext) -> float:
        share: float = context.prepared[prediction]
        return share


# what a metric must not return -------------------------------------------------------


def test_an_example_that_is_not_scored_has_no_other_row() -> None:
    class Doubled(Metric):
        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            is_a = pl.col("prediction") == "a"
            why = pl.when(is_a).then(pl.lit("why"))
            rows = batch.select(row=pl.int_range(pl.len()), n=1.0, not_scored=why)
            return pl.concat([rows, rows.filter(pl.col("not_scored").is_not_null())])

        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            return sums.rename({"n": "value"})

    found = evalkit.score(Doubled, ["a", *"bbb"], list("abbb"))
    assert (found["doubled"].n, found["doubled"].value) == (3, 3.0)
    [error] = found.record.errors
    assert "an example that is not scored has another row (the example '0')" in error
    assert not any("gave no row" in notice for notice in found.record.notices)


def test_reasons_may_hold_half_a_surrogate_pair(tmp_path: Path) -> None:
    class Half(Metric):
        most_not_scored = 1.0
        scores = {"x": {}, "y": {}}

        def score_example(self, prediction: str) -> Any:
            half = NotScored("half \ud83d") if prediction == "a" else None
            return half or {"x": 1.0, "y": None}

    found = run(Half, out=tmp_path)
    reasons = {problem.reason for problem in found.problems}
    assert reasons == {"half \\ud83d"}
    assert found["half#x"].value == 1


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        (Path("/dev/null"), "'x' is /dev/null, which is neither a file nor a folder"),
        (sys, "'x' is 'sys', a module without files"),
    ],
)
def test_what_cannot_be_hashed_is_no_resource(resource: Any, text: str) -> None:
    class Needing(Metric):
        def resources(self) -> Any:
            return {"x": resource}

        def score_example(self) -> float:
            return 1.0

    with pytest.raises(evalkit.PluginError, match=re.escape(text)):
        run(Needing)


def test_a_metric_may_see_all_answers_first() -> None:
    found = evalkit.score(Rarity, ["a", "b", "a"], ["a", "a", "b"])["rarity"]
    assert found.value == pytest.approx((2 / 3 + 1 / 3 + 2 / 3) / 3)


def test_merged_runs_see_the_answers_of_all_parts(plugins: Any) -> None:
    code = """
from collections import Counter

class Rarity(evalkit.Metric):
    def prepare(self, targets, context):
        return {letter: n / len(targets) for letter, n in Counter(targets).items()}
    def score_example(self, prediction, context):
        return context.prepared.get(prediction, 0.0)
"""
    plugins(code, "rarity", "Rarity")
    whole = run("rarity")
    parts = [run("rarity", filters={"part": part}) for part in "01"]
    assert parts[0]["rarity"].value != whole["rarity"].value
    assert evalkit.merge(parts)["rarity"] == whole["rarity"]


@pytest.mark.slow
@pytest.mark.parametrize("shares", [True, False])
def test_other_processes_know_what_was_prepared(
    shares: bool, plugins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "WORTH_SECONDS", -1.0)
    monkeypatch.setattr(passes, "LEAST_MEASURED", 0.0)
    code = f"""
import os

class Where(evalkit.Metric):
    batch_rows = 5
    shares_work = {shares}
    scores = {{"rare": {{}}, "process": {{}}}}
    def prepare(self, targets):
        return targets.count("a")
    def score_batch(self, predictions, context):
        each = {{"rare": context.prepared, "process": os.getpid()}}
        return [each] * len(predictions)
"""
    plugins(code, "where", "Where")
    found = run("where", jobs=2)
    assert found["where#rare"].value == 30
    assert found.examples is not None
    assert (found.examples["where#process"].n_unique() > 1) is shares


# what the numbers depend on ----------------------------------------------------------


def test_verify_names_a_resource_that_has_changed(plugins: Any, tmp_path: Path) -> None:
    words, model = tmp_path / "words.txt", tmp_path / "model"
    words.write_text("a\n", "utf-8")
    model.mkdir()
    (model / "weights.bin").write_bytes(b"1")
    code = f"""
from pathlib import Path

class Listed(evalkit.Metric):
    def resources(self):
        return {{
            "word list": Path({str(words)!r}),
            "model": Path({str(model)!r}),
            "service": "v1",
            "json": __import__("json"),
        }}
    def score_example(self, prediction):
        return float(prediction in Path({str(words)!r}).read_text().split())
"""
    plugins(code, "listed", "Listed")
    found = run("listed")
    [component] = found.record.metrics
    assert component.resources is not None
    assert component.resources["service"] == "v1"
    assert sorted(component.resources) == ["json", "model", "service", "word list"]
    assert not evalkit.verify(found).changes
    words.write_text("a\nb\n", "utf-8")
    (model / "weights.bin").write_bytes(b"2")
    checked = evalkit.verify(found)
    assert [change.what for change in checked.changes] == [
        "model, which listed uses",
        "word list, which listed uses",
    ]
    assert not checked.agrees
    assert run("listed").run_id != found.run_id
    words.unlink()
    with pytest.raises(evalkit.PluginError, match="'word list' cannot be read"):
        run("listed")


# what is costly or random ------------------------------------------------------------


def counted(**attributes: Any) -> type[Metric]:
    def score_example(self: Metric, prediction: str, target: str) -> float:
        CALLS["example"] += 1
        return float(prediction == target)

    members = {"score_example": score_example, "bounds": (0.0, 1.0), **attributes}
    return type("Counted", (Metric,), members)


def test_a_costly_metric_scores_each_example_once(tmp_path: Path) -> None:
    CALLS.clear()
    # the first 55 have a prediction; what was left out would be scored twice more
    found = evalkit.evaluate(
        "letters",
        PREDICTIONS[:55],
        metrics=[counted(costly=True)],
        on_missing="skip",
        out=tmp_path,
    )
    assert CALLS["example"] == 55
    assert found["counted"].ci is not None
    assert found["counted"].bound_low is None
    evalkit.evaluate("letters", PREDICTIONS, metrics=[counted()])
    assert CALLS["example"] > 55 + 60


def test_a_costly_function_of_lists_is_called_once_a_group() -> None:
    CALLS.clear()

    @evalkit.metric(costly=True)
    def get_slow(predictions: list[str]) -> float:
        CALLS["slow"] += 1
        return float(len(predictions))

    found = run(get_slow)
    assert CALLS["slow"] == 4  # the whole set and three tags
    assert found["slow"].reason == "the metric is costly, so it is not resampled"


CALLED = """
import pathlib, random

class Random(evalkit.Metric):
    deterministic = False
    def score_example(self):
        with open({path!r}, "a") as file:
            file.write("x")
        return random.random()
"""


def test_verify_does_not_call_what_is_random_again(
    plugins: Any, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    plugins(CALLED.format(path=str(log)), "random", "Random")
    found = run("accurate", "random", out=tmp_path / "runs")
    assert log.read_text() == "x" * 60
    assert found.record.metrics[1].deterministic is False
    assert found.path is not None
    checked = evalkit.verify(found.path)
    assert log.read_text() == "x" * 60
    assert (checked.agrees, checked.differences) == (True, ())
    assert checked.unchecked[0].startswith(
        "scores of random by example: it is not deterministic"
    )
    again = run("accurate", "random", out=tmp_path / "runs")
    assert again.fingerprint == found.fingerprint
    assert again["random"].value != found["random"].value


# corpus BLEU in 25 lines -------------------------------------------------------------


class Bleu(Metric):
    bounds, higher_is_better, interval = (0.0, 100.0), True, "delta"

    def example_statistics(self, prediction: str, target: Any) -> dict[str, float]:
        answers = [target] if isinstance(target, str) else target
        words, *references = (text.split() for text in [prediction, *answers])
        near = min((abs(len(each) - len(words)), len(each)) for each in references)
        found = {"said": len(words), "wanted": near[1]}
        for n in range(1, 5):
            said, most = grams(words, n), Counter[tuple[str, ...]]()
            for each in references:
                most |= grams(each, n)
            found[f"all{n}"] = said.total()
            found[f"right{n}"] = (said & most).total()
        return found

    def finalize(self, sums: Mapping[str, float]) -> float:
        if not all(sums[f"right{n}"] for n in range(1, 5)):
            return 0.0
        logs = [math.log(sums[f"right{n}"] / sums[f"all{n}"]) for n in range(1, 5)]
        brevity = min(0.0, 1 - sums["wanted"] / sums["said"])
        return 100 * math.exp(brevity + sum(logs) / 4)


def grams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def translations() -> tuple[list[str], list[list[str]]]:
    words = [
        "the",
        "a",
        "cat",
        "dog",
        "sat",
        "on",
        "mat",
        "with",
        "red",
        "hat",
        "and",
        "ran",
        "home",
    ]
    draw = random.Random(7)
    predictions, targets = [], []
    for _ in range(60):
        first = [draw.choice(words) for _ in range(draw.randint(5, 14))]
        second = [w if draw.random() < 0.8 else draw.choice(words) for w in first]
        said = [w if draw.random() < 0.75 else draw.choice(words) for w in first]
        predictions.append(" ".join(said[: draw.randint(4, 14)]))
        targets.append([" ".join(first), " ".join(second)])
    return predictions, targets


def test_corpus_bleu_is_that_of_sacrebleu() -> None:
    # sacrebleu 2.6.0, corpus_bleu with tokenize="none" and smooth_method="none"
    lines = "".join(map(inspect.getsource, (Bleu, grams))).splitlines()
    assert len([line for line in lines if line.strip()]) <= 25
    predictions, targets = translations()
    both = evalkit.score(Bleu, predictions, targets)["bleu"]
    assert both.value == pytest.approx(39.25095725139048, abs=1e-9)
    one = evalkit.score(Bleu, predictions, [first for first, _ in targets])["bleu"]
    assert one.value == pytest.approx(38.342955304449006, abs=1e-9)
    assert both.ci is not None
    assert both.ci.low < both.value < both.ci.high
