"""Schemas of data: one pydantic model, seen as an Arrow schema and as JSON Schema.

Each name is imported when it is first used, so that listing schemas imports no library.

```python
from pydantic import BaseModel

from evalkit_schemas_standard import Float32, arrow_schema

class Scored(BaseModel):
    text: str
    confidence: Float32 | None = None

print(arrow_schema(Scored))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.catalog import lazy_names

if TYPE_CHECKING:
    from evalkit_schemas_standard.arrow import arrow_schema as arrow_schema
    from evalkit_schemas_standard.arrow import model_from_arrow as model_from_arrow
    from evalkit_schemas_standard.dyff import to_dyff_arrow as to_dyff_arrow
    from evalkit_schemas_standard.from_models import json_schema as json_schema
    from evalkit_schemas_standard.from_models import schema_identity as schema_identity
    from evalkit_schemas_standard.models import embedding as embedding
    from evalkit_schemas_standard.named import named_schema as named_schema
    from evalkit_schemas_standard.named import schema_names as schema_names
    from evalkit_schemas_standard.products import input_model as input_model
    from evalkit_schemas_standard.products import output_model as output_model
    from evalkit_schemas_standard.products import product as product
    from evalkit_schemas_standard.products import replication_id as replication_id
    from evalkit_schemas_standard.scalars import Float16 as Float16
    from evalkit_schemas_standard.scalars import Float32 as Float32
    from evalkit_schemas_standard.scalars import Float64 as Float64
    from evalkit_schemas_standard.scalars import Int8 as Int8
    from evalkit_schemas_standard.scalars import Int16 as Int16
    from evalkit_schemas_standard.scalars import Int32 as Int32
    from evalkit_schemas_standard.scalars import Int64 as Int64
    from evalkit_schemas_standard.scalars import Semantics as Semantics
    from evalkit_schemas_standard.scalars import UInt8 as UInt8
    from evalkit_schemas_standard.scalars import UInt16 as UInt16
    from evalkit_schemas_standard.scalars import UInt32 as UInt32
    from evalkit_schemas_standard.scalars import UInt64 as UInt64
    from evalkit_schemas_standard.scalars import Unit as Unit
    from evalkit_schemas_standard.sources import (
        model_from_json_schema as model_from_json_schema,
    )
    from evalkit_schemas_standard.values import arrow_table as arrow_table
    from evalkit_schemas_standard.values import rows_of_table as rows_of_table
    from evalkit_schemas_standard.writing import read_data_set as read_data_set
    from evalkit_schemas_standard.writing import verify_data_set as verify_data_set
    from evalkit_schemas_standard.writing import write_data_set as write_data_set
    from evalkit_schemas_standard.writing import write_files as write_files
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
