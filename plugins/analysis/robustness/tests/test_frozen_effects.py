"""Effects of perturbations, compared with what the first engine gave.

The files in `frozen` were written by the engine that scored perturbed examples beside
their originals, before they became runs of their own. They hold value and `n` of every
score by metric, perturbation, quantity and tag, and the ids of all flips.
"""

import csv
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from .frozen_effects import effects_and_flips

FROZEN = Path(__file__).with_name("frozen")

NLI = ("entailed", "neutral", "contradictory")
HATE = ("hateful", "not-hateful")

Row = Mapping[str, Any]


def drawn(text: str, size: int) -> int:
    """Draw a number below `size` that depends on a text alone."""
    return zlib.crc32(text.encode()) % size


def predicted(row: Row, right: str, labels: Sequence[str], share: int) -> Row:
    """Predict the right label of `share` % of the rows."""
    uid = str(row["uid"])
    others = [label for label in labels if label != right]
    is_right = drawn(uid, 100) < share
    label = right if is_right else others[drawn(uid + "?", len(others))]
    return {"id": uid, "label": label}


def perturbed(
    row: Row,
    name: str,
    effect: str,
    families: Sequence[str],
    suffix: str = "",
    **new: Any,
) -> dict[str, Any]:
    """Make a perturbed example."""
    return {
        **row,
        **new,
        "uid": f"{row['uid']}_{name}{suffix}",
        "input_id": row["uid"],
        "perturbation": name,
        "label_effect": effect,
        "families": list(families),
    }


def nli_rows(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Make perturbed examples of every kind of effect, for some of them several."""
    for row in rows:
        shouted = {"hypothesis": row["hypothesis"].upper()}
        both = ("robustness", "fairness")
        yield perturbed(row, "lowercase", "invariant", ["robustness"], **shouted)
        if drawn(row["uid"], 3) == 0:
            yield perturbed(
                row, "lowercase", "invariant", ["robustness"], "-2", **shouted
            )
        if drawn(row["uid"] + "s", 2):
            yield perturbed(row, "name-swap", "invariant", both, **shouted)
        if drawn(row["uid"] + "c", 3):
            label = NLI[(NLI.index(row["label"]) + 1) % 3]
            tags = ["length:other", *row["tags"][2:]]
            yield perturbed(
                row, "contrast-sets", "transforms", both, label=label, tags=tags
            )
        if drawn(row["uid"] + "u", 2):
            yield perturbed(row, "dialect", "uncertain", ["fairness"], **shouted)
        if drawn(row["uid"] + "e", 2):
            yield perturbed(row, "checklist-invariance", "invariant", ["checklist"])


def only_some_tags(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out most functionalities, which would fill a file."""
    effects = {
        key: {
            tag: score
            for tag, score in by_tag.items()
            if not tag.startswith("functionality:") or drawn(tag, 6) == 0
        }
        for key, by_tag in found["effects"].items()
    }
    return {**found, "effects": effects}


def sorted_ids(flips: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the ids of each kind of flip in one order."""
    return {kind: sorted(ids) for kind, ids in flips.items()}


def compare_with_frozen(name: str, found: Mapping[str, Any]) -> None:
    """Compare values to 1e-12, and all else exactly."""
    path = FROZEN / f"{name}.json"
    frozen = json.loads(path.read_text(encoding="utf-8"))
    # flips are listed by perturbation now, and were in the order of the file
    assert sorted_ids(found["flips"]) == sorted_ids(frozen["flips"])
    assert found["effects"].keys() == frozen["effects"].keys()
    for key, by_tag in frozen["effects"].items():
        mine = found["effects"][key]
        assert mine.keys() == by_tag.keys(), key
        for tag, (value, n) in by_tag.items():
            assert mine[tag][1] == n, (key, tag)
            if value is None:
                assert mine[tag][0] is None, (key, tag)
            else:
                assert mine[tag][0] == pytest.approx(value, rel=0, abs=1e-12), (
                    key,
                    tag,
                )


@pytest.mark.known_result
@pytest.mark.slow
def test_effects_on_sample_nli_are_what_they_were() -> None:
    import evalkit_datasets_samples

    folder = Path(evalkit_datasets_samples.__file__).parent
    lines = (folder / "data" / "sample-nli.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    copies = list(nli_rows(rows))
    predictions = folder / "predictions" / "sample-nli" / "rules.jsonl"
    answers = [
        predicted(row, row["label"], NLI, 60)
        for row in copies
        if drawn(row["uid"] + "!", 20)
    ]
    found = effects_and_flips(
        "sample-nli", predictions, copies, answers, on_missing="wrong"
    )
    compare_with_frozen("sample-nli", found)


@pytest.mark.known_result
@pytest.mark.slow
def test_effects_on_hatecheck_are_what_they_were(
    external_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    file = external_data / "hatecheck" / "test_suite_cases.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [
            {**row, "uid": row["case_id"], "statement": row["test_case"]}
            for row in csv.DictReader(lines)
        ]
    labels = {"hateful": "hateful", "non-hateful": "not-hateful"}
    copies = []
    for row in rows:
        if drawn(row["uid"], 4) == 0:
            copies.append(perturbed(row, "lowercase", "invariant", ["robustness"]))
        if drawn(row["uid"] + "g", 5) == 0:
            copies.append(
                perturbed(row, "gender-swap", "invariant", ["robustness", "fairness"])
            )
    found = effects_and_flips(
        "hatecheck",
        [predicted(row, labels[row["label_gold"]], HATE, 80) for row in rows],
        copies,
        [predicted(row, labels[row["label_gold"]], HATE, 70) for row in copies],
    )
    compare_with_frozen("hatecheck", only_some_tags(found))


@pytest.mark.known_result
@pytest.mark.parametrize("trial", [0, 1])
def test_the_worst_case_is_that_of_helm(trial: int) -> None:
    """HELM's own code gives 2/3 and 1/3 over all examples of the family."""
    originals, first, second = (
        ({"0": 1, "1": 0, "2": 1}, {"0": 0, "1": 1}, {"0": 1}),
        ({"0": 1, "1": 1, "2": 0}, {"0": 1, "1": 1}, {"0": 0}),
    )[trial]
    texts = {"context": "A dog runs.", "hypothesis": "It runs.", "label": "entailed"}
    rows = [{"uid": uid, **texts} for uid in originals]
    by_uid = {row["uid"]: row for row in rows}
    copies = [
        perturbed(by_uid[uid], "lowercase", "invariant", ["robustness"])
        for uid in first
    ]
    copies += [
        perturbed(by_uid[uid], "dialect:prob=0.3", "invariant", ["fairness"])
        for uid in second
    ]
    rights = {f"{uid}_lowercase": right for uid, right in first.items()}
    rights |= {f"{uid}_dialect:prob=0.3": right for uid, right in second.items()}
    said = [
        [{"id": uid, "label": NLI[1 - right]} for uid, right in each.items()]
        for each in (originals, rights)
    ]
    found = effects_and_flips(
        rows, said[0], copies, said[1], task="nli", metrics=["accuracy"]
    )
    worst = found["effects"]["accuracy / family:fairness / worst-of-all"][""]
    assert worst == [pytest.approx((2 / 3, 1 / 3)[trial]), 3]
    compare_with_frozen(f"helm-{trial}", found)
