"""Copies of examples with one thing changed, and the file that they are written to.

Public: what `perturb` keeps, for programs that check a perturbation; each name is
loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.perturbing.spans import PROTECTED_KINDS as PROTECTED_KINDS
    from evalkit.perturbing.spans import ProtectedKind as ProtectedKind
    from evalkit.perturbing.spans import protected_spans as protected_spans
    from evalkit.perturbing.steps import effect_of as effect_of
    from evalkit.perturbing.texts import find_texts as find_texts
    from evalkit.perturbing.texts import read_path as read_path
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "perturbing.spans": "PROTECTED_KINDS ProtectedKind protected_spans",
            "perturbing.steps": "effect_of",
            "perturbing.texts": "find_texts read_path",
        },
    )
