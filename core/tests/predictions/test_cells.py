import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import DataError
from evalkit.predictions.matching import NOWHERE, Cells, place


def placed(rows: list[tuple[int, str | None]], count: int, last: bool = False) -> Cells:
    examples = np.array([example for example, _ in rows], dtype=np.int64)
    replications = pl.Series([name for _, name in rows], dtype=pl.String)
    return place(examples, replications, count, last)


def test_numbers_are_sorted_by_value_before_other_texts() -> None:
    names = ["b", "10", "9", "-1", "a", "2.5", "nan", "1e3", "010", "٣"]
    found = placed([(0, name) for name in names], 1)
    assert found.replications == (
        *("-1", "2.5", "9", "010", "10"),
        *("1e3", "a", "b", "nan", "٣"),
    )
    assert found.width == 10


@given(
    st.lists(
        st.tuples(st.integers(-1, 3), st.sampled_from(["1", "2", "x", None])),
        max_size=20,
    ),
    st.booleans(),
)
def test_cells_are_those_of_the_plainest_way(
    rows: list[tuple[int, str | None]], last: bool
) -> None:
    names = sorted({name for example, name in rows if name and example >= 0})
    cells = [
        NOWHERE
        if example < 0 or (names and name is None)
        else example * max(len(names), 1) + (names.index(name) if name in names else 0)
        for example, name in rows
    ]
    taken = {cell for cell in cells if cell >= 0}
    order = range(len(rows))
    for row in reversed(order) if last else order:
        example, name = rows[row]
        if names and name is None and example >= 0:
            own = range(example * len(names), (example + 1) * len(names))
            free = [cell for cell in own if cell not in taken]
            if free:
                cells[row] = free[0]
                taken.add(free[0])
    found = placed(rows, 4, last)
    assert found.replications == tuple(names)
    assert found.of_rows.tolist() == cells


def test_numbered_rows_are_no_replications() -> None:
    examples = np.arange(3000)
    numbers = pl.Series(examples).cast(pl.String)
    with pytest.raises(DataError, match="name 3000 replications for 3000 examples"):
        place(examples, numbers, 3000)
    # few cells are none too many, nor are many rows
    assert place(examples[:500], numbers[:500], 500).width == 500
