"""Schemas of data: one pydantic model, seen as an Arrow schema and as JSON Schema.

`evalkit.schema` is another name for this package.

```python
from pydantic import BaseModel

from evalkit.schema import Float32, arrow_schema

class Scored(BaseModel):
    text: str
    confidence: Float32 | None = None

print(arrow_schema(Scored))
```
"""

from evalkit_schemas_standard.arrow import arrow_schema, model_from_arrow
from evalkit_schemas_standard.identity import schema_identity
from evalkit_schemas_standard.json_schema import json_schema, model_from_json_schema
from evalkit_schemas_standard.named import named_schema, schema_names
from evalkit_schemas_standard.scalars import (
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Semantics,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Unit,
)

__all__ = [
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Semantics",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Unit",
    "arrow_schema",
    "json_schema",
    "model_from_arrow",
    "model_from_json_schema",
    "named_schema",
    "schema_identity",
    "schema_names",
]
