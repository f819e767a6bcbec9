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


def load(plugin: object) -> Bound:
    return bind(SHOUT, plugin)


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
