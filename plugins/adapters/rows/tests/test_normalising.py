"""`NormaliseLabels`: labels that differ only in form."""

from typing import Any

import polars as pl
import pytest

from evalkit.diagnosis import can_normalise
from evalkit.errors import AdapterError, EvalkitError
from evalkit_adapters_rows import pipeline
from evalkit_adapters_rows.normalising import check_normalise

LABELS = ["Café", "no"]


def normaliser(labels: list[str] | None = LABELS, field: str = "label") -> Any:
    configuration = {"field": field, "labels": labels}
    return pipeline([{"kind": "NormaliseLabels", "configuration": configuration}])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (" CAFE\u0301\n", "Café"),
        ("NO", "no"),
        ("n o", "n o"),
        ("maybe", "maybe"),
        (["No ", "café", 3], ["no", "Café", 3]),
        (3, 3),
        (None, None),
    ],
)
def test_a_label_is_written_as_it_is_declared(given: Any, expected: Any) -> None:
    row = {"id": 1, "label": given}
    assert list(normaliser()([row])) == [{"id": 1, "label": expected}]
    assert row["label"] is given


def test_labels_of_alternatives_too() -> None:
    row = {"responses": [{"label": "NO"}, "NO"]}
    assert list(normaliser()([row])) == [{"responses": [{"label": "no"}, "NO"]}]


def test_labels_that_nobody_declares_become_lower_case() -> None:
    rows = [{"label": " A\u0301 "}, {"label": "STRASSE"}, {}]
    expected = [{"label": "á"}, {"label": "strasse"}, {}]
    assert list(normaliser(None)(rows)) == expected


def test_two_labels_of_one_form_are_refused() -> None:
    with pytest.raises(AdapterError, match="'a' and 'A' are two labels of one form"):
        normaliser(["a", "A"])
    assert not can_normalise(["A "], ["a", "A"])


def test_rows_that_are_no_objects_are_refused() -> None:
    with pytest.raises(AdapterError, match="must be an object"):
        list(normaliser()(["no"]))


def test_tables_become_what_rows_become() -> None:
    frame = pl.DataFrame({"label": ["NO", None, "x", " no"]})
    numbers = pl.int_range(1, 5, eager=True)
    found = normaliser().adapt_frame(frame, numbers)
    assert found.to_dicts() == list(normaliser()(frame.to_dicts()))
    assert normaliser(field="other").adapt_frame(frame, numbers) is None
    of_numbers = pl.DataFrame({"label": [1]})
    assert normaliser().adapt_frame(of_numbers, numbers[:1]) is None
    nothing = pl.DataFrame({"label": [None]}, schema={"label": pl.String})
    assert normaliser().adapt_frame(nothing, numbers[:1]).equals(nothing)


def test_only_labels_can_be_normalised() -> None:
    assert check_normalise("labels")
    assert not check_normalise(())
    with pytest.raises(EvalkitError, match="normalise must be 'labels', is 'ids'"):
        check_normalise(["ids"])
