"""Verify and merge the runs of evalkit; each name is loaded when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_analysis_upkeep.comparison import Difference as Difference
    from evalkit_analysis_upkeep.merging import merge as merge
    from evalkit_analysis_upkeep.verification import Change as Change
    from evalkit_analysis_upkeep.verification import Verification as Verification
    from evalkit_analysis_upkeep.verification import verify as verify
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
