"""MED: the publisher's own file, checked by a computation without evalkit."""

import csv
import functools
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

import evalkit

pytestmark = pytest.mark.known_result

FOLDER = Path(__file__).parents[1]
LABELS = ("entailed", "neutral", "contradictory")


@pytest.fixture
def table(external_data: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Point to the publisher's file, and give it as a table."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    return read(external_data / "med" / "MED.tsv")


@functools.cache
def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(
        path, sep="\t", quoting=csv.QUOTE_NONE, dtype=str, keep_default_na=False
    )


def labels_by_id(table: pd.DataFrame) -> list[str]:
    """Return each row one of the three labels, by its index."""
    return [LABELS[int(uid) % 3] for uid in table["index"]]


@pytest.fixture
def result(table: pd.DataFrame) -> evalkit.Result:
    """Score labels that have nothing to do with the text, in reverse order."""
    return evaluated(tuple(table["index"]), tuple(labels_by_id(table)))


@functools.cache
def evaluated(ids: tuple[str, ...], labels: tuple[str, ...]) -> evalkit.Result:
    rows = [{"id": uid, "label": label} for uid, label in zip(ids, labels, strict=True)]
    return evalkit.evaluate("med", rows[::-1])


@pytest.mark.slow
def test_rows_and_labels_are_counted(result: evalkit.Result) -> None:
    assert +Counter(result.counts) == {
        "examples": 5382,
        "predictions": 5382,
        "scored": 5382,
    }
    assert result.examples is not None
    assert Counter(result.examples["answer"].to_list()) == {
        "entailed": 2705,
        "neutral": 2677,
    }
    assert (result.status, result.notices, result.problems) == ("complete", (), ())


def test_tags_are_counted_by_facet(result: evalkit.Result) -> None:
    assert result.examples is not None
    facets: dict[str, Counter[str]] = {}
    for tags in result.examples["tags"]:
        for tag in tags:
            facet, value = tag.split(":", 1)
            facets.setdefault(facet, Counter())[value] += 1
    assert facets.pop("direction") == {
        "downward": 3272,
        "upward": 1818,
        "non-monotone": 292,
    }
    assert facets.pop("source") == {"crowd": 4068, "paper": 1314}
    assert facets.pop("corpus") == {"GLUE": 88, "FraCaS_GQ": 37}
    (phenomena,) = facets.values()
    assert (phenomena["conjunction"], phenomena["Conjunction"]) == (281, 2)
    assert len(phenomena) == 21


def test_no_part_of_a_genre_is_lost(
    result: evalkit.Result, table: pd.DataFrame
) -> None:
    spelled = {
        "downward": "downward_monotone",
        "upward": "upward_monotone",
        "non-monotone": "non_monotone",
    }
    assert result.examples is not None
    for tags, genre in zip(result.examples["tags"], table["genre"], strict=True):
        values = [tag.partition(":")[2] for tag in tags]
        assert ":".join(spelled.get(value, value) for value in values) == genre


def test_clusters_are_the_unordered_pairs(
    result: evalkit.Result, table: pd.DataFrame
) -> None:
    sentences = zip(table["sentence1"], table["sentence2"], strict=True)
    pairs = list(map(frozenset, sentences))
    assert result.examples is not None
    found = set(zip(result.examples["cluster"].to_list(), pairs, strict=True))
    assert len(found) == len({c for c, _ in found}) == len({p for _, p in found})
    assert len(found) == 3748
    assert result["accuracy"].n_clusters == 3748
    assert Counter(Counter(pairs).values()) == {1: 2114, 2: 1634}


def test_texts_and_ids_are_the_files(table: pd.DataFrame) -> None:
    rows = evalkit.Registry().load("datasets", "med").plugin.load("test")
    for ours, theirs in (
        ("uid", "index"),
        ("context", "sentence1"),
        ("hypothesis", "sentence2"),
    ):
        assert [row[ours] for row in rows] == table[theirs].tolist()


def test_accuracy_of_every_tag_is_that_of_the_bare_table(
    result: evalkit.Result, table: pd.DataFrame
) -> None:
    gold = table["gold_label"].replace({"entailment": "entailed"})
    right = gold == labels_by_id(table)
    parts = table["genre"].str.split(":").explode()
    expected = {
        part: (len(rows), pytest.approx(right.loc[rows.index].mean(), abs=1e-12))
        for part, rows in parts.groupby(parts)
    }
    for direction in ("downward", "upward"):
        expected[direction] = expected.pop(f"{direction}_monotone")
    expected["non-monotone"] = expected.pop("non_monotone")
    groups = [score for score in result.scores if score.aggregate is None]
    scores = [s for s in groups if s.metric == "accuracy" and s.tag]
    found = {str(s.tag).partition(":")[2]: (s.n, s.value) for s in scores}
    assert found == expected
    assert len(scores) == len(expected) == 28
    assert result["accuracy"].value == pytest.approx(right.mean(), abs=1e-12)


def test_baselines_are_the_majority_of_two_and_chance_of_three_labels(
    result: evalkit.Result,
) -> None:
    baselines = result.to_dict()["baselines"]
    assert baselines["majority_label"] == "entailed"
    assert baselines["majority"] == pytest.approx(2705 / 5382, abs=1e-12)
    assert baselines["chance"] == pytest.approx(1 / 3, abs=1e-12)


@pytest.mark.slow
def test_pairs_make_the_interval_another_one_than_for_independent_rows(
    table: pd.DataFrame,
) -> None:
    constant = evaluated(tuple(table["index"]), ("entailed",) * len(table))
    score = constant["accuracy"]
    assert score.value == 2705 / 5382
    assert score.ci_method == "wilson-clustered"
    assert score.ci is not None
    plain = stats.binomtest(2705, 5382).proportion_ci(method="wilson")
    assert score.ci != pytest.approx((plain.low, plain.high), abs=1e-6)


@pytest.mark.slow
def test_readme_shows_the_real_output(table: pd.DataFrame, tmp_path: Path) -> None:
    page = (FOLDER / "README.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    ((command, expected),) = re.findall(
        r"^```console\n\$ ([^\n]+)\n(.*?)^```", page, re.M | re.S
    )
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "EVALKIT_OFFLINE": "1",
    }
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    parts = (re.escape(part) for part in expected.rstrip().split("..."))
    assert re.fullmatch(".*".join(parts), shown.rstrip(), re.DOTALL), shown
