from __future__ import annotations

import pytest

from evalkit.scoring import passes
from evalkit.scoring.passes import BatchSizes, Pace

TIMED = BatchSizes(1, 65_536, 8)
"""For hooks that see one row."""


def test_sizes_grow_where_the_work_is_quick() -> None:
    sizes = BatchSizes(64, 32_768, 4)
    found = [sizes.own(None)]
    for _ in range(6):
        found.append(sizes.own(Pace(found[-1], 1e-6, 0.0)))
    assert found == [64, 256, 1_024, 4_096, 16_384, 32_768, 32_768]
    assert BatchSizes(64, 5, 4).own(None) == 5


def test_sizes_stay_small_where_the_work_is_slow() -> None:
    sizes, slow = BatchSizes(64, 32_768, 4), Pace(64, 0.064, 0.0)
    assert [sizes.own(pace) for pace in [None, *[slow] * 4]] == [64, *[250] * 4]


def test_slow_work_on_whole_batches_is_shared_evenly() -> None:
    sizes, slow = BatchSizes(64, 32_768, 4), Pace(250, 0.25, 0.0)
    assert [sizes.shared(slow, left, jobs=2) for left in (19_000, 1_000)] == [500, 125]
    assert BatchSizes(64, 100, 4).shared(slow, 19_000, jobs=2) == 100


def test_the_batches_of_a_model_have_one_size() -> None:
    sizes, pace = BatchSizes(32, 32, 1), Pace(32, 9.0, 0.0)
    assert [sizes.own(None), sizes.own(pace), sizes.shared(pace, 99, 4)] == [32] * 3


@pytest.mark.parametrize(
    ("pace", "size"),
    [
        (None, 1),
        (Pace(1, 0.0, 0.0), 8),
        (Pace(8, 1e-6, 0.0), 64),
        (Pace(50_000, 0.05, 0.0), 65_536),
        (Pace(1_000, 0.1, 0.0), 2_500),
        (Pace(100, 50.0, 0.0), 1),
    ],
)
def test_timed_sizes_follow_the_pace(pace: Pace | None, size: int) -> None:
    assert TIMED.own(pace) == size


@pytest.mark.parametrize(
    ("pace", "left", "size"),
    [
        (Pace(1_000, 0.1, 0.0), 1_000_000, 5_000),
        (Pace(1_000, 0.1, 0.0), 8_000, 1_000),
        (Pace(1_000, 1e-6, 0.0), 10_000_000, 65_536),
        (Pace(1, 3.0, 0.0), 100, 1),
        (Pace(1, 3.0, 0.0), 2, 1),
    ],
)
def test_shared_batches_keep_all_workers_busy(pace: Pace, left: int, size: int) -> None:
    assert TIMED.shared(pace, left, jobs=2) == size


@pytest.mark.parametrize(
    ("pace", "left", "pays"),
    [
        (Pace(1_000, 0.1, 0.0), 31_000, True),
        (Pace(1_000, 0.1, 0.0), 10_000, False),  # a second of work is left
        (Pace(10, 0.01, 0.0), 1_000_000, False),  # too short to be believed
        (Pace(1_000, 0.1, 0.09), 1_000_000, False),  # other threads do the work
        (Pace(1_000, 0.1, 0.01), 1_000_000, True),
    ],
)
def test_workers_are_for_long_work_of_one_thread(
    pace: Pace, left: int, pays: bool
) -> None:
    assert passes.WORTH_SECONDS == 3.0
    assert pace.pays_to_share(left) is pays
