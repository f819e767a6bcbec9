import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import evalkit

PROJECT = tomllib.loads(
    Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
)["project"]
METRICS: dict[str, str] = PROJECT["entry-points"]["evalkit.metrics"]


def test_the_package_declares_its_three_metrics() -> None:
    assert sorted(METRICS) == ["kappa", "label-shift", "word-overlap"]


@pytest.mark.parametrize("name", METRICS)
def test_every_entry_point_is_a_metric_called_by_its_name(name: str) -> None:
    loaded = EntryPoint(name, METRICS[name], "evalkit.metrics").load()
    result = evalkit.score(loaded, ["a", "b", "b"], ["a", "b", "a"])
    assert result.metrics == [name]
    assert result[name].value is not None
    assert loaded.__doc__
