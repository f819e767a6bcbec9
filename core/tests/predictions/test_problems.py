import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.base.violations import Violation
from evalkit.errors import StorageError
from evalkit.predictions import problems as module
from evalkit.predictions.problems import STATUSES, Problem, Problems

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
).filter(lambda value: "inf" not in repr(value))

VIOLATIONS = st.builds(Violation, st.text(), st.text(), JSON)
PROBLEMS = st.builds(
    Problem,
    st.sampled_from(STATUSES),
    st.none() | st.integers(1, 50),
    st.none() | st.text(),
    st.lists(VIOLATIONS, max_size=3).map(tuple),
    st.none() | st.text(),
)


def in_file_order(given_problems: list[Problem]) -> list[Problem]:
    def place(p: Problem) -> tuple[bool, int]:
        return p.line is None, p.line or 0

    return sorted(given_problems, key=place)


@given(st.lists(PROBLEMS, max_size=20), st.sampled_from([0, 100, 4 << 20]))
@pytest.mark.slow
def test_problems_come_back_as_they_were_in_the_order_of_the_file(
    given_problems: list[Problem], held: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_HELD_BYTES", held)
        kept = Problems(given_problems)
        expected = in_file_order(given_problems)
        assert len(kept) == len(expected)
        assert list(kept) == expected
        assert kept[:] == expected
        assert kept == Problems(given_problems)
        for index in range(-len(expected), len(expected)):
            assert kept[index] == expected[index]
        for status in STATUSES:
            of_status = [p for p in expected if p.status == status]
            assert kept.first(status, 2) == of_status[:2]
        with pytest.raises(IndexError):
            kept[len(expected)]


@given(st.lists(PROBLEMS, max_size=20), st.sets(st.integers(1, 50)), PROBLEMS)
def test_of_one_status_only_some_lines_can_be_kept(
    given_problems: list[Problem], lines: set[int], later: Problem
) -> None:
    kept = Problems(given_problems)
    fewer = kept.only_lines("invalid", np.array(sorted(lines), np.int64))
    fewer.add(later)
    expected = [p for p in given_problems if p.status != "invalid" or p.line in lines]
    assert list(fewer) == in_file_order([*expected, later])
    assert list(kept) == in_file_order(given_problems)


def test_a_change_is_made_when_problems_are_read() -> None:
    kept = Problems([Problem("unknown", 2, "a", ()), Problem("missing", None, "b", ())])
    changed = kept.changed(lambda problem: problem._replace(id="hidden"))
    assert [problem.id for problem in changed] == ["hidden", "hidden"]
    assert changed.first("unknown", 3) == [Problem("unknown", 2, "hidden", ())]
    assert [problem.id for problem in kept] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("nan"), "nan"), ({1, 2}, "{1, 2}"), (b"x", "b'x'"), (10**5000, None)],
    ids=["NaN", "set", "bytes", "digits"],
)
def test_a_value_that_json_cannot_hold_becomes_the_text_that_shows_it(
    value: Any, shown: str | None
) -> None:
    (problem,) = Problems([Problem("invalid", 1, "a", (Violation("f", "r", value),))])
    found = problem.violations[0].value
    assert isinstance(found, str)
    assert found == shown or (shown is None and "int" in found)


def test_half_a_surrogate_pair_is_kept() -> None:
    given_problem = Problem(
        "unknown", 1, "\ud800", (Violation("\udfff", "r", "\ud83d"),)
    )
    assert list(Problems([given_problem])) == [given_problem]


def test_many_problems_go_to_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    monkeypatch.setattr(module, "_HELD_BYTES", 1000)
    kept = Problems()

    def add_many() -> None:
        for line in range(1, 100):
            kept.add(Problem("unknown", line, "x" * 50, ()))

    with pytest.raises(StorageError) as caught:
        add_many()
    assert str(tmp_path / "absent") in str(caught.value)
    assert "No such file or directory" in str(caught.value)


def test_a_full_disk_is_an_error_wherever_it_shows() -> None:
    kept = Problems()
    kept._spool._file = open("/dev/full", "r+b", buffering=0)  # noqa: PTH123, SIM115
    with pytest.raises(StorageError, match=r"cannot be kept in .*: No space left"):
        kept.add(Problem("unknown", 1, "x", ()))


@pytest.mark.parametrize("held", [0, 1 << 30], ids=["on disk", "in memory"])
def test_copies_may_be_read_by_threads_at_once(
    monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(module, "_HELD_BYTES", held)
    whole = Problems(
        Problem("unknown", line, f"{line}" * (line % 50 + 1), ())
        for line in range(1, 2001)
    )
    copies = [whole, *(whole.changed(lambda problem: problem) for _ in range(3))]
    expected = list(whole)
    together = threading.Barrier(len(copies))

    def read(copy: Problems) -> bool:
        together.wait()
        return all(list(copy) == expected for _ in range(3))

    with ThreadPoolExecutor(len(copies)) as pool:
        assert list(pool.map(read, copies)) == [True] * len(copies)
