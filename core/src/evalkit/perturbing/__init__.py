"""Copies of examples with one thing changed, and the file that they are written to.

Public: what `perturb` keeps, for programs that check a perturbation; each name is
loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_attributes

if TYPE_CHECKING:
    from evalkit.perturbing.spans import (
        PROTECTED_KINDS,
        ProtectedKind,
        protected_spans,
    )
    from evalkit.perturbing.steps import effect_of

__all__ = ["PROTECTED_KINDS", "ProtectedKind", "effect_of", "protected_spans"]

__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "PROTECTED_KINDS": "perturbing.spans",
        "ProtectedKind": "perturbing.spans",
        "effect_of": "perturbing.steps",
        "protected_spans": "perturbing.spans",
    },
)
