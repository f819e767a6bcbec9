"""HateCheck: the publisher's own file, checked by a computation without evalkit."""

import functools
import json
import math
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

import evalkit

pytestmark = pytest.mark.known_result

REFERENCE = Path(__file__).with_name("reference.py")
SYSTEMS = ("constant", "profanity")


@pytest.fixture
def table(external_data: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Point to the publisher's file, and give it as a table."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    return read(external_data)


def file_in(folder: Path) -> Path:
    return folder / "hatecheck" / "test_suite_cases.csv"


@functools.cache
def read(folder: Path) -> pd.DataFrame:
    return pd.read_csv(file_in(folder), dtype=str, keep_default_na=False)


@functools.cache
def predictions(folder: Path, system: str) -> list[dict[str, str]]:
    """Run a system on every text, in an order that is not the file's."""
    data = read(folder)
    if system == "constant":
        labels = ["hateful"] * len(data)
    else:
        from profanity_check import predict

        names = ("not-hateful", "hateful")
        labels = [names[int(found)] for found in predict(data["test_case"].tolist())]
    rows = [
        {"id": uid, "label": label}
        for uid, label in zip(data["case_id"], labels, strict=True)
    ]
    random.Random(7).shuffle(rows)
    return rows


@functools.cache
def evaluated(folder: Path, system: str) -> evalkit.Result:
    return evalkit.evaluate("hatecheck", predictions(folder, system), model=system)


@functools.cache
def by_reference(folder: Path, system: str) -> dict[str, Any]:
    """Score in a process that never sees evalkit."""
    rows = predictions(folder, system)
    result = subprocess.run(
        [sys.executable, str(REFERENCE), str(file_in(folder))],
        input="".join(json.dumps(row) + "\n" for row in rows),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["evalkit"] == []
    return found


def test_rows_labels_and_tags_are_counted(
    table: pd.DataFrame, external_data: Path
) -> None:
    result = evaluated(external_data, "constant")
    assert result.counts["examples"] == result.counts["scored"] == 3728
    assert result.examples is not None
    assert Counter(result.examples["answer"].to_list()) == {
        "hateful": 2563,
        "not-hateful": 1165,
    }
    facets: dict[str, Counter[str]] = {}
    for tags in result.examples["tags"]:
        for tag in tags:
            facet, value = tag.split(":", 1)
            facets.setdefault(facet, Counter())[value] += 1
    assert {facet: (len(c), c.total()) for facet, c in facets.items()} == {
        "functionality": (29, 3728),
        "target": (7, 3728 - 292),
        "direction": (3, 3728),
    }
    assert result.notices == ()


def test_case_id_is_the_id_and_not_the_row_number(
    table: pd.DataFrame, external_data: Path
) -> None:
    result = evaluated(external_data, "constant")
    assert result.examples is not None
    ids = result.examples["id"].to_list()
    assert ids == table["case_id"].tolist()
    assert len(set(ids)) == 3728
    assert max(map(int, ids)) == 3901
    assert sum(uid == str(row) for row, uid in enumerate(ids, start=1)) == 623


def test_rows_of_one_template_are_one_cluster(
    table: pd.DataFrame, external_data: Path
) -> None:
    result = evaluated(external_data, "constant")
    assert result.examples is not None
    clusters = zip(result.examples["cluster"].to_list(), table["templ_id"], strict=True)
    pairs = set(clusters)
    assert len(pairs) == len({c for c, _ in pairs}) == len({t for _, t in pairs}) == 845
    assert result["accuracy"].n_clusters == 845


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.slow
def test_every_tag_has_the_n_and_scores_of_the_reference(
    table: pd.DataFrame, external_data: Path, system: str
) -> None:
    result = evaluated(external_data, system)
    expected = by_reference(external_data, system)["scores"]
    assert len(expected) == 1 + 29 + 7 + 3
    for metric in ("accuracy", "macro-f1"):
        found = {
            score.tag or "": (score.n, score.value)
            for score in result.scores
            if score.metric == metric and score.aggregate is None
        }
        assert found == {
            tag: (scores["n"], pytest.approx(scores[metric], abs=1e-12))
            for tag, scores in expected.items()
        }


def test_constant_scores_the_share_of_hateful_rows(
    table: pd.DataFrame, external_data: Path
) -> None:
    result = evaluated(external_data, "constant")
    assert result["accuracy"].value == 0.6875
    # its F1 is 2 * 2563 / (2 * 2563 + 1165) for one class and 0 for the other
    assert result["macro-f1"].value == pytest.approx(2563 / 6291, abs=1e-15)


def test_profanity_classifier_gives_both_labels_and_is_often_wrong(
    table: pd.DataFrame, external_data: Path
) -> None:
    labels = {row["label"] for row in predictions(external_data, "profanity")}
    assert labels == {"hateful", "not-hateful"}
    value = evaluated(external_data, "profanity")["accuracy"].value
    assert value is not None
    assert 0.4 < value < 0.7


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.slow
def test_clustered_interval_is_that_of_the_reference_and_wider_than_the_plain_one(
    table: pd.DataFrame, external_data: Path, system: str
) -> None:
    score = evaluated(external_data, system)["accuracy"]
    assert score.ci_method == "wilson-clustered"
    assert score.ci is not None
    expected = by_reference(external_data, system)["interval"]
    assert score.ci == pytest.approx(expected, abs=1e-9)
    assert score.value is not None
    right = round(score.value * 3728)
    plain = stats.binomtest(right, 3728).proportion_ci(method="wilson")
    width = score.ci.high - score.ci.low
    assert width > 1.5 * (plain.high - plain.low)
    assert score.ci.low < plain.low < score.value < plain.high < score.ci.high


@pytest.mark.slow
def test_a_keyword_rules_standard_error_is_twice_that_of_independent_rows(
    table: pd.DataFrame,
    tmp_path: Path,
    run_evalkit: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    says_hate = table["test_case"].str.contains("hate", case=False)
    right = (says_hate == (table["label_gold"] == "hateful")).astype(float)
    rows = [
        {"id": uid, "label": "hateful" if hit else "not-hateful"}
        for uid, hit in zip(table["case_id"], says_hate, strict=True)
    ]
    file = tmp_path / "keyword.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = run_evalkit("eval", "hatecheck", "-p", str(file), "-m", "accuracy", "-v")
    assert done.returncode == 0, done.stderr
    # Bell and McCaffrey's: residuals are summed by template before they are squared
    templates = (right - right.mean()).groupby(table["templ_id"])
    by_template, sizes = templates.sum(), templates.size()
    count, n = len(by_template), len(right)
    clustered = math.sqrt((by_template**2 / (1 - sizes / n)).sum()) / n
    plain = math.sqrt(right.mean() * (1 - right.mean()) / n)
    assert clustered > 2 * plain
    assert 5 < (clustered / plain) ** 2 < 7
    assert f"; {count} clusters by templ_id (the largest has" in done.stdout
    [(effect, ratio)] = re.findall(
        r"^accuracy: design effect (\S+); its standard error is (\S+) times that of "
        r"independent examples$",
        done.stdout,
        re.MULTILINE,
    )
    assert effect == f"{(clustered / plain) ** 2:.2f}"
    assert ratio == f"{clustered / plain:.2f}"
    [file] = tmp_path.glob("runs/hatecheck/*/run.json")
    record = json.loads(file.read_text("utf-8"))
    score = evalkit.read_run(file.parent).scores[0]
    assert (score.ci_method, record["cluster"]) == ("wilson-clustered", ["templ_id"])
    assert score.se == pytest.approx(clustered, abs=1e-12)
