"""Base class of perturbations."""

from __future__ import annotations

from typing import ClassVar

from evalkit.plugins.classes import Plugin


class Perturbation(Plugin):
    """A change of a text or an example, made to see what a model does about it.

    A subclass sets `families`, `version` and `label_effect` and implements one of
    `perturb`, `find_edits` and `perturb_example`.
    `evalkit.hookspecs.PerturbationAttributes` says what each attribute means.

    Example:
        ```python
        class Shout(evalkit.Perturbation):
            families = {"robustness"}
            version = "1"
            label_effect = {"*": "invariant"}

            def perturb(self, text):
                return text.upper()
        ```
    """

    protects: ClassVar[bool] = True
