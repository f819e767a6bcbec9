"""Observers are told what happens and cannot change it."""

import copy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalkit.errors import DataError, UnknownPluginError
from evalkit.plugins.observers import Observers
from evalkit.plugins.registry import Registry

Make = Callable[..., Any]

SCORES = [{"metric": "hits", "value": 0.5}]


def observers(make: Make, code: str, *names: str) -> Observers:
    make(
        "TOLD = []\n" + code,
        {"evalkit.observers": {name: name.capitalize() for name in names}},
        name="watching",
    )
    return Observers(Registry(), names)


def test_every_observer_that_has_a_hook_is_told_in_order(
    fake_distribution: Make,
) -> None:
    found = observers(
        fake_distribution,
        "class A:\n    def before_load(self, dataset, split):\n"
        "        TOLD.append(('a', dataset, split))\n"
        "class B:\n    def after_writing(self): TOLD.append('b')\n"
        "class C:\n    def before_load(self, split): TOLD.append(('c', split))\n",
        *("a", "b", "c"),
    )
    found.tell("before_load", dataset="d", split="s")
    told = __import__(found._observers[0].plugin.__class__.__module__).TOLD
    assert told == [("a", "d", "s"), ("c", "s")]
    assert found.warnings == []


def test_each_is_told_values_of_its_own(fake_distribution: Make) -> None:
    found = observers(
        fake_distribution,
        "class A:\n    def after_scoring(self, scores):\n"
        "        scores[0]['value'] = 1.0\n        scores.append(3)\n"
        "class B:\n    def after_scoring(self, scores): TOLD.append(scores)\n",
        *("a", "b"),
    )
    given = copy.deepcopy(SCORES)
    found.tell(
        "after_scoring", dataset="d", model="m", scores=given, overall=[], groups=[]
    )
    assert given == SCORES
    told = __import__(found._observers[0].plugin.__class__.__module__).TOLD
    assert told == [SCORES]


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        ("ValueError('no')", "ValueError: no"),
        (
            "SystemExit(4)",
            "SystemExit: 4; raise an error, as a plugin must not end the process",
        ),
        (
            "AssertionError()",
            "AssertionError; give the error a message that says what is wrong",
        ),
    ],
)
def test_what_one_raises_becomes_a_warning_and_the_next_is_told(
    fake_distribution: Make, raised: str, shown: str
) -> None:
    found = observers(
        fake_distribution,
        f"class A:\n    def before_writing(self): raise {raised}\n"
        "class B:\n    def before_writing(self, run_id): TOLD.append(run_id)\n",
        *("a", "b"),
    )
    found.tell("before_writing", run_id="7", record={})
    assert found.warnings == [
        f"observers/a (watching 1.2.3): before_writing failed with {shown}"
    ]
    told = __import__(found._observers[0].plugin.__class__.__module__).TOLD
    assert told == ["7"]


def test_an_interrupt_is_not_swallowed(fake_distribution: Make) -> None:
    found = observers(
        fake_distribution,
        "class A:\n    def before_load(self): raise KeyboardInterrupt\n",
        "a",
    )
    with pytest.raises(KeyboardInterrupt):
        found.tell("before_load", dataset="d", split="s")


def test_an_unknown_observer_is_refused() -> None:
    with pytest.raises(UnknownPluginError, match="there is no observer 'nobody'"):
        Observers(Registry(), ["nobody"])


class Telling:
    """Notes that a command failed."""

    def __init__(self) -> None:
        self.told: list[dict[str, str]] = []

    def after_failure(self, dataset: str, kind: str, error: str) -> None:
        self.told.append({"dataset": dataset, "kind": kind, "error": error})


def test_objects_and_classes_observe_too() -> None:
    observer = Telling()
    found = Observers(Registry(), [observer, Telling])
    found.tell("after_failure", dataset="d", kind="K", error="e")
    assert observer.told == [{"dataset": "d", "kind": "K", "error": "e"}]
    assert found
    assert not Observers(Registry())


@pytest.mark.parametrize(
    ("subject", "spoken"),
    [
        ("a/b.jsonl", "a/b.jsonl"),
        (Path("a/b.jsonl"), "a/b.jsonl"),
        (Telling, "Telling"),
        (Telling(), "Telling"),
        (SimpleNamespace(run_id="7"), "7"),
        (SimpleNamespace(run_id="", name="mine"), "mine"),
    ],
)
def test_a_failure_is_told_with_what_failed(subject: Any, spoken: str) -> None:
    observer = Telling()
    failing = Observers(Registry(), [observer]).told_of_failure(subject)
    with pytest.raises(DataError, match="no"), failing:
        raise DataError("no")
    assert observer.told == [{"dataset": spoken, "kind": "DataError", "error": "no"}]


def test_what_observers_raise_is_a_warning_where_there_is_no_run() -> None:
    class Broken:
        def after_failure(self) -> None:
            raise OSError("no network")

    watchers = Observers(Registry(), [Broken])
    with (
        pytest.warns(UserWarning, match="observers/broken .*OSError: no network"),
        pytest.raises(DataError),
        watchers.told_of_failure("d"),
    ):
        raise DataError("no")
