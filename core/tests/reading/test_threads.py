import threading
import time
from collections.abc import Iterator

import pytest

from evalkit.errors import DataError
from evalkit.reading import threads as read_ahead
from evalkit.reading.threads import in_background, in_order


@pytest.fixture(params=[1, 4], autouse=True)
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "thread_count", lambda: request.param)


def test_results_keep_the_order_of_the_parts() -> None:
    def late(number: int) -> int:
        time.sleep(0.01 * (number % 3 == 0))
        return number * number

    assert list(in_order(late, range(30))) == [n * n for n in range(30)]
    assert list(in_order(late, [])) == []


def test_few_parts_are_held_at_a_time() -> None:
    taken = 0

    def parts() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    results = in_order(str, parts())
    for done in range(1, 20):
        next(results)
        assert taken <= done + read_ahead.thread_count()
    results.close()  # type: ignore[attr-defined]
    assert taken < 30


def test_a_failure_comes_where_the_result_would() -> None:
    def fail(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    results = in_order(fail, range(10))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)


def test_a_failure_to_read_comes_after_what_was_read() -> None:
    def parts() -> Iterator[int]:
        yield from range(3)
        raise DataError("damaged")

    seen = []
    with pytest.raises(DataError, match="damaged"):
        seen.extend(in_order(str, parts()))
    found = in_order(str, parts())
    assert [next(found) for _ in range(3)] == ["0", "1", "2"]


def test_no_thread_outlives_its_use() -> None:
    before = set(threading.enumerate())
    results = in_order(str, range(100))
    next(results)
    assert set(threading.enumerate()) - before
    results.close()  # type: ignore[attr-defined]
    assert not set(threading.enumerate()) - before


def test_an_interrupt_ends_the_work() -> None:
    begun = []

    def slow(number: int) -> int:
        begun.append(number)
        if number == 1:
            raise KeyboardInterrupt
        return number

    with pytest.raises(KeyboardInterrupt):
        list(in_order(slow, range(1000)))
    assert len(begun) < 20


def test_work_in_the_background_gives_its_result_or_its_failure() -> None:
    assert in_background(len, "four").result() == 4
    with pytest.raises(ZeroDivisionError):
        in_background(lambda n: 1 // n, 0).result()
