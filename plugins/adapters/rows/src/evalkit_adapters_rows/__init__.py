"""Adapters: rows changed by declared steps before they are checked and scored.

`Rows` is what `evalkit.evaluate(rows=…)` takes, `pipeline` makes a pipeline of
installed adapters, `extraction` one of extractors, which take the answer out of a
response's text.

```python
from evalkit_adapters_rows import pipeline

rename = pipeline([{"kind": "Rename", "configuration": {"text": "statement"}}])
rows = list(rename([{"id": "1", "text": "Hello!"}]))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_adapters_rows.answers import Extracted as Extracted
    from evalkit_adapters_rows.bound import BoundAdapter as BoundAdapter
    from evalkit_adapters_rows.extractors import Extraction as Extraction
    from evalkit_adapters_rows.extractors import extraction as extraction
    from evalkit_adapters_rows.files import as_pipeline as as_pipeline
    from evalkit_adapters_rows.files import read_pipeline as read_pipeline
    from evalkit_adapters_rows.files import read_stages as read_stages
    from evalkit_adapters_rows.pipelines import Adapted as Adapted
    from evalkit_adapters_rows.pipelines import Pipeline as Pipeline
    from evalkit_adapters_rows.pipelines import pipeline as pipeline
    from evalkit_adapters_rows.settings import AdapterSettings as AdapterSettings
    from evalkit_adapters_rows.source import Rows as Rows
    from evalkit_adapters_rows.sources import checked_rows as checked_rows
    from evalkit_adapters_rows.sources import file_frames as file_frames
    from evalkit_adapters_rows.sources import file_rows as file_rows
    from evalkit_adapters_rows.sources import validated_rows as validated_rows
    from evalkit_adapters_rows.stages import Stage as Stage
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
