import pytest

from evalkit.reading import threads as read_ahead
from evalkit.reading.threads import in_order


@pytest.fixture(params=[1, 4], autouse=True)
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "thread_count", lambda: request.param)


def test_a_failure_comes_where_the_result_would() -> None:
    def fail(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    results = in_order(fail, range(10))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)


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
