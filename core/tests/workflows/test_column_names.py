"""Columns, fields and statistics may have names that polars takes for patterns."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.workflows.rescoring import score_crossings
from evalkit_analysis_compare import compare
from evalkit_analysis_robustness import evaluate_perturbed, find_effects

SIZE = 60

CODE = '''
"""A task and metrics of which a test chooses all names."""

import evalkit
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
import polars as pl
import polars.selectors as cs
from pydantic import BaseModel, create_model

FIELD, SURE, TEXT, NUMBER, COUNT, GOLD, SAID = {names!r}


class Task(evalkit.TaskIO):
    Input = create_model("Input", uid=(str, ...), **{{TEXT: (str, ...)}})
    Output = create_model(
        "Output",
        id=(str, ...),
        label=(str, ...),
        **{{FIELD: (float, ...), SURE: (float | None, None)}},
    )
    answer_field = "label"
    labels = ("yes", "no", "other")
    example = {{"uid": "1", TEXT: "x"}}
    scored_fields = (FIELD, SURE)
    perf_metric = "share"


class Share(evalkit.Metric):
    """A ratio of statistics."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    columns = (FIELD, NUMBER)
    interval = "delta"

    def statistics(self, batch):
        right = batch["prediction"] == batch["target"]
        number = batch[NUMBER].alias("number").cast(float)
        sure = batch[FIELD].alias("sure") * (1 + number)
        columns = {{NUMBER: right * sure, COUNT: sure}}
        return pl.DataFrame({{"row": range(batch.height), **columns}})

    def finalize(self, sums):
        value = sums[NUMBER].alias("value") / sums[COUNT].alias("below")
        return sums.select("group", value=value)


class Drawn(Share):
    interval = "bootstrap"
    merges = {{COUNT: "moments", NUMBER: "max"}}

    def finalize(self, sums):
        mean = sums[COUNT + "_mean"].alias("value")
        return sums.select("group", value=mean / sums[NUMBER].alias("most"))


class Pairs(evalkit.Metric):
    """Counts of pairs of labels."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    keys = (GOLD, SAID)

    def statistics(self, batch):
        columns = {{GOLD: batch["target"], SAID: batch["prediction"], COUNT: 1.0}}
        return pl.DataFrame({{"row": range(batch.height), **columns}})

    def finalize(self, sums):
        count = cs.by_name(COUNT).as_expr()
        is_right = cs.by_name(GOLD).as_expr() == cs.by_name(SAID).as_expr()
        value = count.filter(is_right).sum() / count.sum()
        return sums.group_by("group").agg(value=value)


class Mean(evalkit.Metric):
    higher_is_better = True
    columns = (SURE, NUMBER)

    def score_example(self, prediction, target, fields):
        sure = (fields[SURE] or 0) + float(fields[NUMBER])
        return (prediction == target) * (1 + sure)
'''

ENTRY_POINTS = {
    "evalkit.tasks": {"named": "Task"},
    "evalkit.metrics": {
        "share": "Share",
        "drawn": "Drawn",
        "pairs": "Pairs",
        "mean": "Mean",
    },
}

METRICS = ["share", "drawn", "pairs", "mean", "accuracy"]

PLAIN = ("field", "sure", "text", "number", "count", "gold", "said")

# `^u.*$` is a pattern that does not match itself
STRANGE = ("*", "^u.*$", "^text$", "^i.*$", "", "^go.*$", "**")

LABELS = ("yes", "no", "other")

Names = Sequence[str]
Run = Callable[..., Any]


def _data(names: Names, start: int = 0) -> list[dict[str, Any]]:
    _, _, text, number, *_ = names
    return [
        {
            "uid": f"i{i:03}",
            text: f"a text that is long enough to be hashed {i % 50}",
            number: i % 4 / 8,
            "label": LABELS[i * 7 % 3],
            "tags": [f"size:{'ab'[i % 2]}"],
        }
        for i in range(start, start + SIZE)
    ]


def _predictions(names: Names, start: int = 0, step: int = 5) -> list[dict[str, Any]]:
    field, sure, *_ = names
    return [
        {
            "id": f"i{i:03}",
            "label": LABELS[i * 7 % 3 if i % step else 0],
            field: i % 5 / 4,
            sure: i % 3 / 2 if i % 4 else None,
        }
        for i in range(start, start + SIZE)
    ]


def _lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _copies(names: Names) -> list[dict[str, Any]]:
    return [
        {
            **row,
            "uid": f"{row['uid']}-copy",
            "input_id": row["uid"],
            "perturbation": "upper",
            "effect": "preserving",
            names[2]: str(row[names[2]]).upper(),
        }
        for row in _data(names)
    ]


@pytest.fixture
def each(
    fake_distribution: Callable[..., Any], tmp_path: Path
) -> Callable[[Run], list[Any]]:
    """Do the same with plain names, then with strange ones."""

    def run(function: Run) -> list[Any]:
        found = []
        for number, names in enumerate((PLAIN, STRANGE)):
            code = CODE.format(names=names)
            fake = fake_distribution(code, ENTRY_POINTS, name=f"named{number}")
            folder = tmp_path / str(number)
            folder.mkdir()
            found.append(function(names, folder))
            sys.path.remove(str(fake.folder))
        return found

    return run


def _numbers(result: Any) -> list[Any]:
    """Give all scores without the names of groups, in an order that no name decides."""
    found = [
        (score.metric, score.n, score.value, score.ci_low, score.ci_high)
        for score in result.scores
    ]
    return sorted(found, key=repr)


def _same(each: Callable[[Run], list[Any]], function: Run) -> list[Any]:
    plain, strange = each(function)
    assert len(plain) == len(strange) > 0
    for one, other in zip(plain, strange, strict=True):
        assert one[:2] == other[:2]
        for value, same in zip(one[2:], other[2:], strict=True):
            assert value == (None if same is None else pytest.approx(same, rel=1e-9))
    return list(strange)


def _evaluate(names: Names, folder: Path, **options: Any) -> evalkit.Result:
    options = {"task": "named", "metrics": METRICS, "model": "m"} | options
    data = options.pop("data", None) or _lines(folder / "data.jsonl", _data(names))
    said = options.pop("predictions", None)
    if said is None:
        said = _lines(folder / "said.jsonl", _predictions(names))
    call = evaluate_perturbed if "perturbed" in options else evalkit.evaluate
    result = call(data, said, **options)
    assert all(score.value is not None for score in result.scores)
    return result


def test_all_metrics_give_the_same_scores(each: Callable[[Run], list[Any]]) -> None:
    found = _same(each, lambda *given: _numbers(_evaluate(*given)))
    assert {row[0] for row in found} == {*METRICS}


@pytest.mark.parametrize("kind", ["csv", "parquet", "dicts", "frame", "arrow"])
def test_all_kinds_of_files(each: Callable[[Run], list[Any]], kind: str) -> None:
    def run(names: Names, folder: Path) -> list[Any]:
        given: list[Any] = []
        for stem, rows in (("data", _data(names)), ("said", _predictions(names))):
            frame = pl.DataFrame(rows).drop("tags", strict=False)
            path = folder / f"{stem}.{kind}"
            if kind == "csv":
                frame.write_csv(path)
            elif kind in ("parquet", "arrow"):
                frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(
                    path
                )
            elif stem == "data":
                path = _lines(folder / "data.jsonl", rows)
            given.append(path if path.exists() else rows if kind == "dicts" else frame)
        options = {"data": given[0], "predictions": given[1]}
        return _numbers(_evaluate(names, folder, **options))

    _same(each, run)


@pytest.mark.parametrize("column", [2, 3])
@pytest.mark.slow
def test_groups_clusters_and_filters(
    each: Callable[[Run], list[Any]], column: int
) -> None:
    def run(names: Names, folder: Path) -> list[Any]:
        name = names[column]
        value = _data(names)[1][name]
        by = [name, f"{name},answer"] if column == 3 else ["size"]
        first = _evaluate(names, folder, by=by, cluster=name)
        second = _evaluate(
            names, folder, filters={name: str(value)}, cluster=[name, "label"]
        )
        return _numbers(first) + _numbers(second)

    _same(each, run)


def test_repeated_answers(each: Callable[[Run], list[Any]]) -> None:
    def run(names: Names, folder: Path) -> list[Any]:
        said = [
            {**row, "_replication_": str(number)}
            for number in range(2)
            for row in _predictions(names, step=5 + number)
        ]
        path = _lines(folder / "said.jsonl", said)
        return _numbers(_evaluate(names, folder, predictions=path))

    _same(each, run)


@pytest.mark.slow
def test_perturbed_copies(each: Callable[[Run], list[Any]]) -> None:
    def run(names: Names, folder: Path) -> list[Any]:
        said = [{**r, "id": f"{r['id']}-copy"} for r in _predictions(names, step=3)]
        copies = _lines(folder / "copies.jsonl", _copies(names))
        copied = _lines(folder / "copied.jsonl", said)
        result = _evaluate(
            names,
            folder,
            perturbed=[copies],
            perturbed_predictions=[copied],
            metrics=["accuracy"],
            out=folder / "runs",
        )
        return [*_numbers(result), *_numbers(find_effects(result))]

    _same(each, run)


@pytest.mark.slow
def test_what_is_done_with_runs(each: Callable[[Run], list[Any]]) -> None:
    def run(names: Names, folder: Path) -> list[Any]:
        result = _evaluate(names, folder, out=folder / "runs")
        other = _evaluate(
            names,
            folder,
            predictions=_lines(folder / "o.jsonl", _predictions(names, step=3)),
            model="o",
            out=folder / "runs",
        )
        assert result.path is not None
        assert other.path is not None
        compared = compare(result.path, other.path)
        found = [
            (row.metric, row.n, row.difference, row.ci_low, row.ci_high)
            for row in compared.rows
        ]
        rest = {"data": _lines(folder / "rest.jsonl", _data(names, SIZE))}
        rest["predictions"] = _lines(folder / "more.jsonl", _predictions(names, SIZE))
        second = _evaluate(names, folder, **rest, out=folder / "runs")
        assert second.path is not None
        parts = [result.path, second.path]
        merged = evalkit.merge(parts, dataset="both", out=folder / "runs")
        assert merged.path is not None
        regrouped = score_crossings(merged.path, [names[0], f"{names[1]},answer"])
        # a gap's interval is drawn anew for each name of a facet
        values = [row[:3] for row in _numbers(regrouped)]
        return sorted(found, key=repr) + _numbers(merged) + values

    _same(each, run)
