"""What copies say of their perturbations, and whom evaluation asks otherwise."""

from typing import Any

import pytest

from evalkit import Result
from evalkit.errors import SchemaError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry
from evalkit_analysis_robustness import record_of

from .perturbed_plugins import (
    REGISTRY,
    Data,
    answers,
    copy,
    evaluate,
    example,
    found,
    scores_of,
)

ROWS = [example("1", "a", "x"), example("2", "b")]
SAID = answers(**{"1": "a", "2": "b"})
SAID_OF_COPIES = answers(**{"1_i": "a", "2_i": "a"})


def stated(
    perturbation: str = "invariant",
    label_effect: Any = "invariant",
    families: Any = ("robustness",),
) -> list[dict[str, Any]]:
    """Make copies of both rows that say what their perturbation does."""
    families = list(families) if isinstance(families, tuple) else families
    said = {"label_effect": label_effect, "families": families}
    return [copy(f"{row['uid']}_i", row, perturbation, **said) for row in ROWS]


def score(copies: Any, **options: Any) -> Result:
    return evaluate(ROWS, SAID, copies, SAID_OF_COPIES, **options)


def known(result: Result) -> dict[str, Any]:
    [only] = record_of(result)["perturbed"]
    assert isinstance(only["perturbation"], dict)
    return only["perturbation"]


def components_of(result: Result) -> list[str]:
    [only] = record_of(result)["perturbed"]
    return [component["id"] for component in only["components"]]


class TestRowsThatSay:
    def test_no_perturbation_need_be_installed(self) -> None:
        result = score(stated("elsewhere:p=1", "invariant", ("fairness", "b", "b")))
        assert known(result) == {
            "name": "elsewhere:p=1",
            "label_effect": "invariant",
            "families": ["b", "fairness"],
            "told_by": "rows",
            "expects": False,
        }
        views = {s.perturbation for s in scores_of(result)}
        assert views == {"elsewhere:p=1", "family:b", "family:fairness"}
        assert found(result, "agreement", "elsewhere:p=1").value == 0.5
        assert result.notices == (
            "elsewhere:p=1: `expect`, if it is defined, was not asked: not installed "
            "here",
        )

    def test_they_are_believed_and_not_the_plugin(self) -> None:
        assert known(score(stated("doubtful")))["label_effect"] == "invariant"
        result = score(stated("invariant", "uncertain", ()))
        assert known(result)["families"] == []
        assert {s.perturbation for s in scores_of(result)} == {"invariant"}

    def test_one_with_expect_is_built_and_recorded(self) -> None:
        result = score(stated("directed", "transforms"))
        assert known(result)["expects"] is True
        assert found(result, "expected", "directed").value == 1.0
        assert "perturbations/directed" in components_of(result)

    def test_one_that_cannot_be_built_is_a_notice(self) -> None:
        result = score(stated("directed:nonsense=1", "transforms"))
        [notice] = result.notices
        assert notice.startswith("directed:nonsense=1: `expect`, if it is defined")
        assert "nonsense" in notice.rpartition("asked: ")[2]
        assert found(result, "drop", "directed:nonsense=1").value == 0.5

    def test_one_that_cannot_be_imported_is_a_notice(self) -> None:
        parts = [*REGISTRY.catalog.components]
        parts.append(Component("perturbations", "gone", "nowhere:Gone", "letters", "1"))
        registry = Registry(Catalog(tuple(parts), ()))
        [notice] = score(stated("gone"), registry=registry).notices
        assert "importing nowhere:Gone failed" in notice

    def test_a_composition_is_not_asked(self) -> None:
        assert score(stated("directed+elsewhere")).notices == ()


class TestRowsThatDoNotSay:
    def test_the_plugin_is_asked_with_a_notice(self) -> None:
        copies = [copy(f"{row['uid']}_i", row) for row in ROWS]
        result = score(copies)
        assert known(result)["told_by"] == "plugin"
        [notice] = result.notices
        assert notice.startswith("invariant: the rows do not say label_effect and")

    def test_a_file_that_rows_name_is_not_read(self) -> None:
        name = "listed:words=/absent/words.txt"
        result = score([copy(f"{row['uid']}_i", row, name) for row in ROWS])
        assert known(result)["label_effect"] == "uncertain"
        [notice] = result.notices
        assert "the parameter words is a path" in notice
        other = score([copy(f"{row['uid']}_i", row, "listed:prob=1") for row in ROWS])
        assert known(other)["label_effect"] == "transforms"


class TestRefusals:
    @pytest.mark.parametrize(
        ("effect", "families", "message"),
        [
            (None, (), "uid '1_i': label_effect: is required"),
            ("perhaps", (), "must be one of invariant, transforms, uncertain, found"),
            (1, (), "label_effect: must be one of"),
            (["invariant"], (), "label_effect: must be one of"),
            ("invariant", None, "uid '1_i': families: is required"),
            ("invariant", "robustness", "families: must be a list of texts"),
            ("invariant", [1], "families: must be a list of texts"),
            ("invariant", [""], "families: must be a list of texts"),
            ("invariant", [None], "families: must be a list of texts"),
        ],
    )
    def test_a_wrong_value_is_named(
        self, effect: Any, families: Any, message: str
    ) -> None:
        with pytest.raises(SchemaError, match=message):
            score(stated(label_effect=effect, families=families))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                {"label_effect": "uncertain"},
                r"invariant are invariant \[robustness\] in the row '1_i' of .*, and "
                r"uncertain \[robustness\] in the row '2_i' of .*; all",
            ),
            (
                {"families": ["b", "a"]},
                r"and invariant \[a, b\] in the row '2_i' of .*; all",
            ),
        ],
    )
    def test_rows_must_not_contradict_each_other(
        self, change: dict[str, Any], message: str
    ) -> None:
        first, second = stated()
        with pytest.raises(SchemaError, match=message):
            score([first, {**second, **change}])

    def test_a_perturbation_is_not_called_like_a_family(self) -> None:
        with pytest.raises(SchemaError, match="'family:x' is called like a family"):
            score(stated("family:x"))


class TestWhatHasNoCounterpart:
    def test_a_headline_over_a_facet_is_named(self) -> None:
        class Macro(Data):
            aggregate = "macro:topic"

        [notice] = score(stated(), dataset=Macro).notices
        assert "under perturbation there is no macro:topic" in notice
