"""Annotators say what all their values show, and when nothing will come of asking."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.errors import AnnotatorError, PluginError
from evalkit_annotators_columns import Annotators

ROWS = [
    {"uid": str(n), "statement": f"text {n}", "label": "positive"} for n in range(5)
]
SAID = [{"id": str(n), "label": "positive"} for n in range(5)]


class Counting(evalkit.Annotator):
    """Counts rows, and has doubts of them."""

    version = "1"
    reads = ("statement",)
    batch_rows = 2
    is_dead = False

    def annotate_batch(self, fields: Mapping[str, Sequence[Any]]) -> list[Any]:
        if self.is_dead and "text 3" in fields["statement"]:
            raise AnnotatorError("the key is refused")
        return [
            evalkit.NotScored("odd") if text == "text 1" else 1.0
            for text in fields["statement"]
        ]

    def conclude(self, values: Mapping[str, Sequence[Any]]) -> list[str]:
        warnings.warn("they are all the same", stacklevel=1)
        return [f"{values[''].count(1.0)} of {len(values[''])}"]


class Of(evalkit.Metric):
    """Reads what is said."""

    columns = ("counted",)
    most_not_scored = 1.0

    def score_example(self, fields: Mapping[str, Any]) -> float:
        return float(fields["counted"])


def evaluate(annotator: Any, **options: Any) -> evalkit.Result:
    return evalkit.evaluate(
        data=ROWS,
        task="sentiment",
        predictions=SAID,
        metrics=[Of],
        columns=Annotators({"counted": annotator}),
        **options,
    )


def test_what_all_values_show_is_recorded() -> None:
    found = evaluate(Counting)
    (told,) = found.record.columns
    assert told.details["conclusions"] == ["4 of 5"]
    assert told.details["asked"] == 5
    assert found.warnings == ("counted: they are all the same",)


def test_who_cannot_be_asked_ends_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Counting, "is_dead", True)
    with pytest.raises(
        AnnotatorError, match=r"^the annotator 'counted': the key is refused"
    ):
        evaluate(Counting, out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_conclusion_is_a_list_of_texts() -> None:
    class Wrong(Counting):
        def conclude(self, values: Mapping[str, Sequence[Any]]) -> Any:
            return "text"

    with pytest.raises(PluginError, match=r"wrong.*conclude.*it must return texts"):
        evaluate(Wrong)
