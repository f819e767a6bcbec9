"""Which columns are meant by fields that are not there."""

from __future__ import annotations

import pytest

from evalkit.base.nearest import (
    guess_columns,
    how_to_map,
    map_options,
    nearness,
    shown_columns,
)


@pytest.mark.parametrize(
    ("field", "column"),
    [
        ("label", "Label"),
        ("label", "gold"),
        ("label", "gold_label"),
        ("statement", "text"),
        ("statement", "statment"),
        ("id", "key"),
        ("id", "doc.id"),
    ],
)
def test_names_for_one_thing_are_near(field: str, column: str) -> None:
    assert nearness(field, column) >= 0.75


@pytest.mark.parametrize(("field", "column"), [("label", "length"), ("id", "text")])
def test_other_names_are_not(field: str, column: str) -> None:
    assert nearness(field, column) < 0.75
    assert nearness(field, "_") == 0


def test_the_nearest_come_first() -> None:
    found = shown_columns(["label"], ["length", "gold", "Label"])
    assert found == "'Label', 'gold', 'length'"
    many = [f"c{n}" for n in range(14)]
    assert shown_columns(["label"], many).endswith("'c11' and 2 more")
    assert shown_columns(["label"], []) == "none"


def test_each_column_is_guessed_once_and_the_nearest_field_has_it() -> None:
    assert guess_columns(["statement", "text"], ["Text"]) == {"text": "Text"}


def test_two_that_are_as_near_are_no_guess() -> None:
    assert guess_columns(["label"], ["gold", "target"]) == {}


def test_values_speak_for_a_column_and_rule_others_out() -> None:
    columns = ["gold", "verdict", "key", "index"]
    fitting, unfit = {"label": ["verdict"]}, {"id": ["key"]}
    found = guess_columns(["id", "label"], columns, fitting, unfit)
    assert found == {"id": "index", "label": "verdict"}


def test_options_are_quoted_for_the_shell() -> None:
    mapping = {"label": "my gold"}
    assert map_options("data", mapping) == ["--map", "label=my gold"]
    assert "--map 'label=my gold'" in how_to_map("data", mapping)
    assert how_to_map("predictions", {}).startswith("--map-predictions FIELD=COLUMN")
