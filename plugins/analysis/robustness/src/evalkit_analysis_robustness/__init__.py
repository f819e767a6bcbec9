"""Effects of perturbations: drops, flips, worst cases and expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_analysis_robustness.evaluation import (
        evaluate_perturbed as evaluate_perturbed,
    )
    from evalkit_analysis_robustness.flips import Flips as Flips
    from evalkit_analysis_robustness.flips import find_flips as find_flips
    from evalkit_analysis_robustness.results import Effects as Effects
    from evalkit_analysis_robustness.results import find_effects as find_effects
    from evalkit_analysis_robustness.results import record_of as record_of
    from evalkit_analysis_robustness.sources import find_stored as find_stored
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
