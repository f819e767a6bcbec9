"""What a hook raises that is no `Exception` loses neither the run nor good metrics."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import evalkit

METRICS = """
import evalkit
import polars as pl


class Own(BaseException):
    pass


def function(predictions, targets):
    raise {error}


class Rows(evalkit.Metric):
    def score_example(self, prediction, target):
        raise {error}


class Statistics(evalkit.Metric):
    def statistics(self, batch):
        raise {error}

    def finalize(self, sums, context):
        raise AssertionError


class Final(evalkit.Metric):
    def statistics(self, batch):
        return pl.DataFrame({{"row": range(len(batch)), "one": 1.0}})

    def finalize(self, sums, context):
        raise {error}
"""
KINDS = ("function", "Rows", "Statistics", "Final")


@pytest.mark.parametrize("error", ["GeneratorExit('gone')", "Own('gone')"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_a_metric_that_raises_it_is_named_and_others_are_kept(
    plugins: Any,
    fake_distribution: Callable[..., Any],
    invoke: Callable[..., Result],
    predict: Callable[..., str],
    tmp_path: Path,
    kind: str,
    error: str,
) -> None:
    code = METRICS.format(error=error)
    fake_distribution(code, {"evalkit.metrics": {"raising": kind}}, name="raising")
    file = predict("said.jsonl", ("positive", "negative", "neutral", "negative"))
    done = invoke("eval", "tiny", "-p", file, "-m", "raising", "-m", "accuracy")
    assert done.exit_code == 1
    assert "metrics/raising" in done.stderr + done.stdout
    [run] = tmp_path.glob("runs/tiny/*/run.json")
    record = json.loads(run.read_text(encoding="utf-8"))
    assert record["status"] == "partial"
    assert error.partition("(")[0] in str(record["errors"])
    assert "metrics/raising" in str(record["errors"])
    scores = evalkit.read_run(run.parent).scores
    values = {each.metric: each.value for each in scores if not each.tag}
    assert values["accuracy"] == 0.75
