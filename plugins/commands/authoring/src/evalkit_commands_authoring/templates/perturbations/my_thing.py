"""The perturbation `my-thing`."""

from __future__ import annotations

from random import Random

import evalkit


class MyThing(evalkit.Perturbation):
    """Repeats the first letter of some words."""

    families = ("robustness",)
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text: str, rng: Random) -> str:
        """Return the text with about every other word stuttered."""
        words = text.split(" ")
        return " ".join(
            f"{word[0]}-{word}" if word[:1].isalpha() and rng.random() < 0.5 else word
            for word in words
        )
