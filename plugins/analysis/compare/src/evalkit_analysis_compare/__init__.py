"""Compare runs, and plan how many examples the next comparison needs.

```python
from evalkit_analysis_compare import compare

comparison = compare("model-a", "model-b")
```

Importing this package imports nothing heavy; each name is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_analysis_compare.comparison import compare as compare
    from evalkit_analysis_compare.planning import Plan as Plan
    from evalkit_analysis_compare.planning import Requirement as Requirement
    from evalkit_analysis_compare.planning import plan as plan
    from evalkit_analysis_compare.records import ComparedScore as ComparedScore
    from evalkit_analysis_compare.records import Comparison as Comparison
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
