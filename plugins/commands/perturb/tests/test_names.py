import pytest

from evalkit.base.copies import read_step, split_composition
from evalkit_commands_perturb.names import identity_of


@pytest.mark.parametrize(
    "value", ["one+two", "a, b=c", " lead ", "50%", "%2B", "{x}", "x/y", "é\n", "a:b@c"]
)
def test_a_name_leads_back_to_its_parameters(value: str) -> None:
    name = identity_of([("suffix", {"suffix": value}), ("lowercase", {})], {})
    first, second = split_composition(name)
    assert second == "lowercase"
    step, parameters = read_step(first)
    found = parameters["suffix"]
    assert (step, "/".join(found) if isinstance(found, list) else found) == (
        "suffix",
        value,
    )


def test_settings_are_in_braces_and_no_part_of_a_step() -> None:
    settings = {"fields": ["context", "x"], "unprotected": ["digits"]}
    name = identity_of([("lowercase", {})], settings)
    assert name == "lowercase{fields=context/x,unprotected=digits}"
    assert split_composition(f"{name}+gender-swap") == ["lowercase", "gender-swap"]
    assert read_step("typos@Some_Dist:prob=0.3,k=a/b") == (
        "typos@some-dist",
        {"prob": "0.3", "k": ["a", "b"]},
    )
