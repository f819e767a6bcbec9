"""The kit finds violations of stated laws, and takes a copy that breaks none.

All of them are tried by `python -m benchmarks.violations`.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TRIED = {
    "metrics-04": "missing",
    "tasks-04": "inputs",
    "datasets-01": "loads",
    "perturbations-03": "works",
    "adapters-02": "frame",
}


@pytest.mark.slow
def test_four_are_found_and_what_is_unchanged_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.violations.every import EVERY
    from benchmarks.violations.running import checked

    chosen = [each for each in EVERY if each.id in TRIED]
    with ThreadPoolExecutor(2) as pool:
        plain = pool.submit(checked, "models/constant")
        changed = list(pool.map(lambda each: checked(each.plugin, each), chosen))
    found = {each.id: said.found for each, said in zip(chosen, changed, strict=True)}
    assert found == TRIED
    assert not any(plain.result()), plain.result()


def test_each_violation_changes_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.violations.copies import source_of
    from benchmarks.violations.every import EVERY

    assert len(EVERY) == len({each.id for each in EVERY}) == 93
    for violation in EVERY:
        source = source_of(violation.plugin)
        for each in violation.changes:
            text = (source.folder / each.file).read_text("utf-8")
            assert text.count(each.old) == 1, (violation.id, each.file)
