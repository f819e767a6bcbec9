"""Perturbed copies of rows and of datasets; each name is loaded when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

_hands_on_calls = True  # what fails here is in a perturbation

if TYPE_CHECKING:
    from evalkit_commands_perturb.edits import apply_edits as apply_edits
    from evalkit_commands_perturb.edits import checked_edits as checked_edits
    from evalkit_commands_perturb.edits import compose as compose
    from evalkit_commands_perturb.edits import find_difference as find_difference
    from evalkit_commands_perturb.edits import make_edits as make_edits
    from evalkit_commands_perturb.files import perturb_dataset as perturb_dataset
    from evalkit_commands_perturb.rows import perturb as perturb
    from evalkit_commands_perturb.spans import PROTECTED_KINDS as PROTECTED_KINDS
    from evalkit_commands_perturb.spans import ProtectedKind as ProtectedKind
    from evalkit_commands_perturb.spans import protected_spans as protected_spans
    from evalkit_commands_perturb.steps import effect_of as effect_of
    from evalkit_commands_perturb.summary import (
        PerturbationSummary as PerturbationSummary,
    )
    from evalkit_commands_perturb.texts import find_texts as find_texts
    from evalkit_commands_perturb.texts import read_path as read_path
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
