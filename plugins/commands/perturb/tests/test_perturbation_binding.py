from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from evalkit.errors import PluginContractError
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind

SHOUT = Component("perturbations", "shout", "shouting:Shout", "shouting", "2.0")


class Shout:
    """A perturbation that inherits nothing."""

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text: str) -> str:
        return text.upper()


class SwapFields(Shout):
    def perturb_example(
        self, example: Mapping[str, Any], rng: Random
    ) -> Mapping[str, Any]:
        first, second = rng.sample(["context", "hypothesis"], 2)
        return {first: example["hypothesis"], second: example["context"]}

    def expect(self, original_pred: str, perturbed_pred: str) -> str:
        return "pass" if original_pred == perturbed_pred else "fail"


def load(plugin: object) -> Bound:
    return bind(SHOUT, plugin)


def test_a_perturbation_is_called_with_the_arguments_that_it_names() -> None:
    perturb = load(Shout).row_function("perturb")
    assert perturb(text="quiet", rng=Random(0), task="nli") == "QUIET"


def test_it_may_take_examples_and_say_what_it_expects() -> None:
    bound = load(SwapFields)
    assert all(map(bound.has, ("perturb", "perturb_example", "expect")))
    example = {"context": "a", "hypothesis": "b"}
    changed = bound.row_function("perturb_example")(example=example, rng=Random(0))
    assert sorted(changed.values()) == ["a", "b"]
    expect = bound.row_function("expect")
    offered = {"original": {}, "perturbed": {}, "original_pred": "x"}
    assert expect(**offered, perturbed_pred="x") == "pass"
    assert expect(**offered, perturbed_pred="y") == "fail"


def test_attributes_are_read() -> None:
    attributes = load(Shout).attributes
    assert attributes == {
        "families": {"robustness"},
        "version": "1",
        "label_effect": {"*": "invariant"},
        "protects": True,
        "batch_texts": 64,
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"label_effect": {"nli": "none"}}, ["label_effect", "'none'"]),
        ({"version": 1}, ["version", "found 1"]),
        ({"families": "robustness"}, ["families", "found 'robustness'"]),
        (
            {"perturb": None},
            ["must implement perturb or perturb_batch or find_edits or perturb_"],
        ),
        (
            {"perturb": lambda self, text, *, rng: text},
            ["perturb", "'rng'", "keyword-only"],
        ),
        (
            {"perturb": lambda self, text, seed: text},
            ["perturb", "no argument 'seed'", "text, rng"],
        ),
        ({"expects": lambda self: "pass"}, ["'expects'", "did you mean 'expect'"]),
    ],
    ids=[
        "unknown effect",
        "version is a number",
        "families is a text",
        "no hook",
        "keyword-only argument",
        "unknown argument",
        "misspelt hook",
    ],
)
def test_a_broken_contract_is_refused_by_name(
    changes: dict[str, Any], words: list[str]
) -> None:
    broken = type("Broken", (Shout,), changes)
    with pytest.raises(PluginContractError) as caught:
        load(broken)
    for word in ("perturbations/shout", "shouting 2.0", *words):
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["families", "version", "label_effect"])
def test_every_attribute_is_required(name: str) -> None:
    own = ("families", "version", "label_effect", "perturb")
    kept = {key: vars(Shout)[key] for key in own if key != name}
    with pytest.raises(PluginContractError, match=f"attribute '{name}' is missing"):
        load(type("Lacking", (), kept))
