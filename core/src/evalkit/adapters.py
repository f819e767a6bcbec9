"""Adapters: rows changed by declared steps before they are checked and scored.

Public. `pipeline` makes a pipeline of installed adapters, `extraction` one of
extractors, which take the answer out of a response's text.

```python
from evalkit.adapters import pipeline

rename = pipeline([{"kind": "Rename", "configuration": {"text": "statement"}}])
rows = list(rename([{"id": "1", "text": "Hello!"}]))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.adapting.extraction import Extracted as Extracted
    from evalkit.adapting.extraction import Extraction as Extraction
    from evalkit.adapting.extraction import extraction as extraction
    from evalkit.adapting.files import as_pipeline as as_pipeline
    from evalkit.adapting.files import read_pipeline as read_pipeline
    from evalkit.adapting.files import read_stages as read_stages
    from evalkit.adapting.pipelines import Adapted as Adapted
    from evalkit.adapting.pipelines import AdapterSettings as AdapterSettings
    from evalkit.adapting.pipelines import Pipeline as Pipeline
    from evalkit.adapting.pipelines import pipeline as pipeline
    from evalkit.adapting.sources import checked_rows as checked_rows
    from evalkit.adapting.sources import file_frames as file_frames
    from evalkit.adapting.sources import file_rows as file_rows
    from evalkit.adapting.sources import validated_rows as validated_rows
    from evalkit.adapting.stages import Stage as Stage
    from evalkit.base.names import is_reserved as is_reserved
    from evalkit.reading.formats import MANIFEST_FILE as MANIFEST_FILE
    from evalkit.reading.manifests import DataFile as DataFile
    from evalkit.reading.manifests import Manifest as Manifest
    from evalkit.reading.manifests import ManifestField as ManifestField
    from evalkit.reading.manifests import check_files as check_files
    from evalkit.reading.manifests import data_sha256 as data_sha256
    from evalkit.reading.manifests import read_manifest as read_manifest
    from evalkit.reading.rows import Row as Row
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "adapting.extraction": "Extracted Extraction extraction",
            "adapting.files": "as_pipeline read_pipeline read_stages",
            "adapting.pipelines": "Adapted AdapterSettings Pipeline pipeline",
            "adapting.sources": "checked_rows file_frames file_rows validated_rows",
            "adapting.stages": "Stage",
            "base.names": "is_reserved",
            "reading.formats": "MANIFEST_FILE",
            "reading.manifests": (
                "DataFile Manifest ManifestField check_files data_sha256 read_manifest"
            ),
            "reading.rows": "Row",
        },
    )
