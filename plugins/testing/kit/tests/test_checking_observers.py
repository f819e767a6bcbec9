import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalkit_testing import OBSERVER_LAWS, ObserverLawError, check_observer


class Notes:
    """Keeps all laws: the base of those below, which break one each."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def after_scoring(self, dataset: str, overall: Sequence[Mapping[str, Any]]) -> None:
        self.said.append((dataset, [score["value"] for score in overall]))

    def after_refusal(self, reasons: Sequence[str]) -> None:
        self.said.append(reasons)

    def after_failure(self, kind: str, error: str) -> None:
        self.said.append((kind, error))

    def after_perturbing(self, summary: Mapping[str, Any]) -> None:
        self.said.append(summary)


class FailsWhenScored(Notes):
    def after_scoring(self, dataset: str, overall: Sequence[Mapping[str, Any]]) -> None:
        raise KeyError(dataset)


class FailsWhenRefused(Notes):
    def after_refusal(self, reasons: Sequence[str]) -> None:
        raise KeyError(reasons[0])


class FailsWhenItFails(Notes):
    def after_failure(self, kind: str, error: str) -> None:
        raise KeyError(kind)


class FailsWhenPerturbed(Notes):
    def after_perturbing(self, summary: Mapping[str, Any]) -> None:
        raise KeyError("summary")


class Prints(Notes):
    def before_load(self, dataset: str) -> None:
        print("loading", dataset)


class Seeds(Notes):
    def before_load(self) -> None:
        random.seed(3)


class Sets(Notes):
    def before_load(self, dataset: str) -> None:
        os.environ["OBSERVED_BY_A_TEST"] = dataset


def _get_an_eighth(predictions: list[str], targets: list[str]) -> float:
    return 0.125


class Meddles(Notes):
    """Has metrics compute something else."""

    def before_scoring(self) -> None:
        from evalkit_testing import observers

        observers.get_share_right.__code__ = _get_an_eighth.__code__

    def after_scoring(self, dataset: str, overall: Sequence[Mapping[str, Any]]) -> None:
        pass


BROKEN: Mapping[str, Sequence[type]] = {
    "told": [FailsWhenScored, FailsWhenRefused, FailsWhenItFails, FailsWhenPerturbed],
    "results": [Meddles],
    "quiet": [Prints],
    "state": [Seeds, Sets],
}


def test_each_law_is_broken_by_an_observer_below() -> None:
    assert [*BROKEN] == [law.name for law in OBSERVER_LAWS]


@pytest.mark.parametrize(
    ("law", "observer"),
    [(law, each) for law, several in BROKEN.items() for each in several],
)
def test_an_observer_that_breaks_a_law_is_told_which(
    law: str, observer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalkit_testing import observers

    monkeypatch.delenv("OBSERVED_BY_A_TEST", raising=False)
    share = observers.get_share_right
    monkeypatch.setattr(share, "__code__", share.__code__)
    with pytest.raises(ObserverLawError) as caught:
        check_observer(observer, laws=[law])
    os.environ.pop("OBSERVED_BY_A_TEST", None)
    assert caught.value.law == law


def test_an_observer_that_keeps_the_laws_is_told_all_that_happens() -> None:
    notes = Notes()
    check_observer(notes)
    assert [each[0] for each in notes.said[:1]] == ["questions"]
    assert "PluginError" not in str(notes.said)
    assert len(notes.said) == 4


def test_what_it_writes_where_a_user_is_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Writes(Notes):
        def before_load(self, dataset: str) -> None:
            Path("written.txt").write_text(dataset, encoding="utf-8")

    monkeypatch.chdir(tmp_path)
    check_observer(Writes)
    assert [*tmp_path.iterdir()] == []


def test_the_variable_that_it_sets_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVED_BY_A_TEST", "")
    with pytest.raises(ObserverLawError, match="environment's OBSERVED_BY_A_TEST is"):
        check_observer(Sets)
