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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit_schemas_standard.arrow import arrow_schema as arrow_schema
    from evalkit_schemas_standard.arrow import model_from_arrow as model_from_arrow
    from evalkit_schemas_standard.data_schemas import DataSchema as DataSchema
    from evalkit_schemas_standard.data_schemas import (
        make_input_schema as make_input_schema,
    )
    from evalkit_schemas_standard.data_schemas import (
        make_output_schema as make_output_schema,
    )
    from evalkit_schemas_standard.dyff import to_dyff_arrow as to_dyff_arrow
    from evalkit_schemas_standard.from_models import schema_identity as schema_identity
    from evalkit_schemas_standard.json_schemas import json_schema as json_schema
    from evalkit_schemas_standard.json_schemas import (
        model_from_json_schema as model_from_json_schema,
    )
    from evalkit_schemas_standard.models import embedding as embedding
    from evalkit_schemas_standard.named import named_schema as named_schema
    from evalkit_schemas_standard.named import schema_names as schema_names
    from evalkit_schemas_standard.products import input_model as input_model
    from evalkit_schemas_standard.products import output_model as output_model
    from evalkit_schemas_standard.products import product as product
    from evalkit_schemas_standard.products import replication_id as replication_id
    from evalkit_schemas_standard.reading import read_data_set as read_data_set
    from evalkit_schemas_standard.reading import verify_data_set as verify_data_set
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
    from evalkit_schemas_standard.values import arrow_table as arrow_table
    from evalkit_schemas_standard.values import rows_of_table as rows_of_table
    from evalkit_schemas_standard.writing import write_data_set as write_data_set
    from evalkit_schemas_standard.writing import write_files as write_files

_HOMES = {
    "arrow": "arrow_schema model_from_arrow",
    "data_schemas": "DataSchema make_input_schema make_output_schema",
    "dyff": "to_dyff_arrow",
    "from_models": "schema_identity",
    "models": "embedding",
    "json_schemas": "json_schema model_from_json_schema",
    "named": "named_schema schema_names",
    "products": "input_model output_model product replication_id",
    "scalars": (
        "Float16 Float32 Float64 Int16 Int32 Int64 Int8 Semantics UInt16 "
        "UInt32 UInt64 UInt8 Unit"
    ),
    "values": "arrow_table rows_of_table",
    "reading": "read_data_set verify_data_set",
    "writing": "write_data_set write_files",
}

__all__ = sorted(name for names in _HOMES.values() for name in names.split())


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
