"""Models that answer inputs are asked within the same limits as others."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from model_servers import Cached

import evalkit
from evalkit_models_base import Asked, NotAnswered, predict

Rows = list[dict[str, Any]]


class Labelling(Cached):
    """Answers by a function of the statement, which may raise."""

    batch_requests = 4

    def __init__(self, answer: Callable[[str], Any], seconds: float = 0.0) -> None:
        self._answer, self._seconds = answer, seconds
        self.batches: list[list[str]] = []
        self._lock = threading.Lock()
        self.most, self._now = 0, 0

    def describe(self) -> dict[str, str]:
        return {"name": "labelling"}

    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> list[Any]:
        with self._lock:
            self.batches.append([each["uid"] for each in inputs])
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            time.sleep(self._seconds)
            found = []
            for each in inputs:
                said = self._answer(each["statement"])
                if isinstance(said, BaseException) and not is_entry(said):
                    raise said
                found.append(said)
            return found
        finally:
            with self._lock:
                self._now -= 1


def is_entry(said: Any) -> bool:
    return isinstance(said, NotAnswered | evalkit.TryAgain)


def ask(rows: Rows, model: Any, **limits: Any) -> Any:
    return predict(data=rows, task="sentiment", model=model, asked=Asked(**limits))


def test_answers_are_kept_by_input(rows: Rows) -> None:
    model = Labelling(str.upper)
    first = ask(rows, model)
    assert [row["label"] for row in first.rows] == [f"TEXT {n}" for n in range(12)]
    assert [len(each) for each in model.batches] == [4, 4, 4]
    more = [
        *rows[:3],
        {"uid": "new", "statement": "new", "label": "neutral"},
        *rows[3:],
    ]
    again = ask(more, Labelling(str.upper))
    assert again.from_cache == 12
    assert [row["id"] for row in again.rows] == [row["uid"] for row in more]
    fresh = Labelling(str.upper)
    assert ask(rows, fresh, is_cached=False).from_cache == 0
    assert len(fresh.batches) == 3


def test_one_of_a_batch_may_be_answered_later(rows: Rows) -> None:
    times: Counter[str] = Counter()

    def answer(text: str) -> Any:
        times[text] += 1
        is_busy = text in ("text 1", "text 6") and times[text] < 3
        return evalkit.TryAgain("busy", 0.001) if is_busy else "neutral"

    model = Labelling(answer)
    found = ask(rows, model)
    assert {row["label"] for row in found.rows} == {"neutral"}
    assert {text: n for text, n in times.items() if n > 1} == {"text 1": 3, "text 6": 3}
    times.clear()
    kept = ask(rows[:2], Labelling(lambda text: evalkit.TryAgain("busy")), retries=0)
    assert kept.from_cache == 2


def test_a_batch_that_breaks_is_asked_row_by_row(rows: Rows) -> None:
    def answer(text: str) -> Any:
        return ValueError("a bug") if text == "text 5" else "neutral"

    model = Labelling(answer)
    with pytest.raises(
        evalkit.PluginError, match=r"the input '5' with ValueError: a b"
    ):
        ask(rows, model)
    assert model.batches[1:] == [[*"4567"], ["4"], ["5"]]

    def together(inputs: Any) -> list[str]:
        assert len(inputs) == 1, "too many"
        return ["neutral"]

    found = ask(rows, together)
    assert found.failed == 0
    assert "1 batch failed as a whole, and was asked one by one" in found.notices


def test_what_is_not_answered_is_found_in_its_batch(rows: Rows) -> None:
    def answer(inputs: Any) -> list[str]:
        if any(each["statement"] == "text 7" for each in inputs):
            raise NotAnswered("refused")
        return ["neutral"] * len(inputs)

    found = ask(rows, answer, max_errors=1)
    assert found.errors == {"refused": 1}
    assert found.rows[7] == {"id": "7", "error": "refused"}


def test_a_wrong_number_of_answers_ends_it(rows: Rows) -> None:
    asked = []

    def answer(inputs: Any) -> list[str]:
        asked.append(len(inputs))
        return ["neutral"] * 3

    with pytest.raises(evalkit.PluginError, match=r"list of 12 .*returned 3: \["):
        ask(rows, answer)
    assert asked == [12]


def test_of_what_runs_on_this_machine_nothing_is_kept(rows: Rows, cache: Path) -> None:
    for model in (
        "constant:answer=neutral",
        "echo",
        lambda inputs: ["a"] * len(inputs),
    ):
        assert ask(rows, model).notices == ()
    assert not cache.exists()


def test_a_function_changes_nothing_but_its_own_copy() -> None:
    rows = [{"uid": str(n), "statement": "x", "more": ["y"]} for n in range(2)]

    def spoil(inputs: Any) -> list[str]:
        for row in inputs:
            row["uid"] = "other"
            row.get("more", []).clear()
        return ["neutral"] * len(inputs)

    predicted = predict(data=rows, task="sentiment", model=spoil, replications=2)
    assert [row["id"] for row in predicted.rows] == ["0", "1", "0", "1"]


@pytest.mark.parametrize("key", ["id", "uid"])
def test_answers_with_ids_may_come_in_any_order(rows: Rows, key: str) -> None:
    def answer(inputs: Any) -> list[Any]:
        return [{key: row["uid"], "label": row["statement"]} for row in inputs[::-1]]

    found = predict(data=rows, task="sentiment", model=answer)
    assert found.rows == [{"id": r["uid"], "label": r["statement"]} for r in rows]
