from collections.abc import Mapping

import pytest

from evalkit.base.names import parse_reference
from evalkit.errors import UnknownPluginError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog, DiscoveryProblem
from evalkit.plugins.resolution import find_meant

OURS = "evalkit-metrics-classification"
KNOWN = {"metrics/accuracy": frozenset({OURS})}


def metric(distribution: str, name: str = "accuracy") -> Component:
    return Component("metrics", name, "m:M", distribution, "1")


def owner(
    *distributions: str,
    named_by: Component | None = None,
    name: str = "accuracy",
    known: Mapping[str, frozenset[str]] | None = None,
) -> str:
    components = tuple(metric(one, name) for one in distributions)
    catalog = Catalog(components, (), known=known or KNOWN)
    found = find_meant(catalog, "metrics", parse_reference(name), named_by)
    return found.distribution


def task(distribution: str = "Third_Party", *requires: str) -> Component:
    return Component("tasks", "t", "m:T", distribution, "1", "", requires)


class TestANameThatAPluginGives:
    def test_means_its_own_distributions_before_all(self) -> None:
        namer = task("Third_Party", "required-dist")
        candidates = (OURS, "required-dist", "third.party")
        assert owner(*candidates, named_by=namer) == "third.party"

    @pytest.mark.parametrize(
        "requirement", ["Required_Dist", "required.dist>=1,<2; python_version > '3'"]
    )
    def test_means_a_required_distributions_before_ours(self, requirement: str) -> None:
        namer = task("x", "polars", requirement, "evalkit-core>=0.1")
        assert owner(OURS, "other", "Required.dist", named_by=namer) == "Required.dist"

    def test_a_requirement_must_be_of_the_very_distribution(self) -> None:
        namer = task("x", "required-dist-extras", "my-required-dist")
        assert owner(OURS, "required-dist", named_by=namer) == OURS

    def test_means_ours_where_nothing_else_is_said(self) -> None:
        assert owner("aaa", OURS, "zzz", named_by=task()) == OURS
        given = Component("datasets", "d", "m:D", "given as an object", "0")
        assert owner("aaa", OURS, named_by=given) == OURS

    def test_is_refused_where_two_owners_are_known(self) -> None:
        known = {"metrics/accuracy": frozenset({OURS, "aaa"})}
        with pytest.raises(UnknownPluginError, match="by several distributions"):
            owner("aaa", OURS, named_by=task(), known=known)

    def test_is_refused_where_no_rule_decides(self) -> None:
        with pytest.raises(UnknownPluginError) as caught:
            owner("aaa", "zzz", named_by=task("x", "aaa", "zzz"))
        assert str(caught.value) == (
            "metrics/accuracy is declared by several distributions: aaa 1, zzz 1. Name "
            "one as accuracy@aaa or accuracy@zzz"
        )


class TestANameThatAUserGives:
    def test_means_ours_with_a_warning_that_names_the_other(self) -> None:
        with pytest.warns(UserWarning, match=OURS) as told:
            assert owner("aaa", OURS, "third-party") == OURS
        assert [str(warning.message) for warning in told] == [
            "metrics/accuracy is declared by several distributions; the one of "
            f"{OURS} is used, which ships with evalkit, and not accuracy@aaa and "
            "accuracy@third-party"
        ]

    def test_is_refused_where_none_ships_with_evalkit(self) -> None:
        with pytest.raises(UnknownPluginError, match="Name one as accuracy@aaa or"):
            owner("aaa", "third-party")


class TestWithheld:
    CATALOG = Catalog(
        (metric("other"),),
        (),
        withheld=(
            metric("hidden")._replace(problem="it is disabled by X"),
            metric("hidden", "lone")._replace(problem="it is disabled by X"),
        ),
    )

    @pytest.mark.parametrize(
        ("name", "id"), [("lone", "lone"), ("accuracy@Hidden", "accuracy")]
    )
    def test_using_it_says_why_it_is_not_offered(self, name: str, id: str) -> None:
        with pytest.raises(UnknownPluginError) as caught:
            find_meant(self.CATALOG, "metrics", parse_reference(name))
        assert str(caught.value) == f"metrics/{id} (hidden 1): it is disabled by X"


def test_an_unknown_name_points_at_what_could_not_be_read() -> None:
    catalog = Catalog((metric("d", "x"),), (DiscoveryProblem("broken", "why"),))
    with pytest.raises(UnknownPluginError) as caught:
        find_meant(catalog, "metrics", parse_reference("zzz"))
    assert str(caught.value) == (
        "there is no metric 'zzz'; installed: x; `evalkit list` warns of installed "
        "plugins that cannot be used"
    )
