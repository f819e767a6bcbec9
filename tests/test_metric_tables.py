"""The tables of `docs/metrics.md` are those that the metrics declare."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "docs" / "make_metric_table.py"


@pytest.mark.slow
def test_the_tables_are_as_they_are_made() -> None:
    pages = list(runpy.run_path(str(SCRIPT))["pages"]())
    assert pages
    for path, wanted in pages:
        assert path.read_text(encoding="utf-8") == wanted, f"run {SCRIPT.name}"
