import pytest

from evalkit.plugins.components import Component, DiscoveryProblem
from evalkit.plugins.discovery import Permission

DISABLE = "EVALKIT_DISABLE_PLUGINS"
ALLOW = "EVALKIT_ALLOW_PLUGINS"

COMPONENTS = [
    Component("metrics", "accuracy", "m:A", "Some_Metrics", "1"),
    Component("metrics", "f1", "m:F", "Some_Metrics", "1"),
    Component("tasks", "accuracy", "m:T", "some-tasks", "1"),
    Component("observers", "logger", "m:L", "watch.ers", "1"),
]


def shown(**variables: str) -> list[str]:
    permission = Permission(variables)
    return [found.id for found in COMPONENTS if not permission.refusal(found)]


def unmatched(**variables: str) -> list[DiscoveryProblem]:
    return list(Permission(variables).unmatched(COMPONENTS))


EVERYTHING = ["metrics/accuracy", "metrics/f1", "tasks/accuracy", "observers/logger"]


@pytest.mark.parametrize("value", ["", " ", ",", " , ,"])
def test_an_empty_variable_says_nothing(value: str) -> None:
    assert shown(**{DISABLE: value, ALLOW: value}) == EVERYTHING
    assert unmatched(**{DISABLE: value, ALLOW: value}) == []


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ("metrics/accuracy", ["metrics/f1", "tasks/accuracy", "observers/logger"]),
        ("some-metrics", ["tasks/accuracy", "observers/logger"]),
        ("SOME.metrics", ["tasks/accuracy", "observers/logger"]),
        (" tasks/accuracy ,, watch-ers", ["metrics/accuracy", "metrics/f1"]),
    ],
)
def test_what_is_disabled_is_hidden_and_what_is_allowed_is_all_there_is(
    entries: str, left: list[str]
) -> None:
    assert shown(**{DISABLE: entries}) == left
    assert shown(**{ALLOW: entries}) == [one for one in EVERYTHING if one not in left]


def test_disabling_wins_over_allowing() -> None:
    variables = {ALLOW: "some-metrics,tasks/accuracy", DISABLE: "metrics/f1"}
    assert shown(**variables) == ["metrics/accuracy", "tasks/accuracy"]
    permission = Permission(variables)
    assert [permission.refusal(found) for found in COMPONENTS] == [
        "",
        "it is disabled by EVALKIT_DISABLE_PLUGINS",
        "",
        "it is not among those of EVALKIT_ALLOW_PLUGINS",
    ]


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("metrics/acuracy", "; did you mean metrics/accuracy?"),
        ("some-metric", "; did you mean some-metrics?"),
        ("accuracy", "; did you mean metrics/accuracy or tasks/accuracy?"),
        ("Logger", "; did you mean observers/logger?"),
        ("m*", ""),
        ("zzz", ""),
    ],
)
@pytest.mark.parametrize("variable", [DISABLE, ALLOW])
def test_an_entry_that_names_nothing_is_reported_with_what_is_near(
    variable: str, entry: str, hint: str
) -> None:
    message = (
        f"{entry!r} is neither an installed plugin (KIND/NAME) nor a distribution that "
        f"holds one{hint}"
    )
    assert unmatched(**{variable: f"metrics/f1,{entry}"}) == [(variable, message, "")]
