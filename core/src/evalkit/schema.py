"""Schemas: another name for the package `evalkit_schemas_standard`.

The distribution `evalkit-schemas-standard` has it, which is part of `evalkit-suite`;
core does not require it. It is imported when one of its names is first used:

```python
from evalkit.schema import arrow_schema, named_schema

print(arrow_schema(named_schema("text.Text")))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import names_of_distribution

if TYPE_CHECKING:
    from evalkit_schemas_standard import DataSchema as DataSchema
    from evalkit_schemas_standard import Float16 as Float16
    from evalkit_schemas_standard import Float32 as Float32
    from evalkit_schemas_standard import Float64 as Float64
    from evalkit_schemas_standard import Int8 as Int8
    from evalkit_schemas_standard import Int16 as Int16
    from evalkit_schemas_standard import Int32 as Int32
    from evalkit_schemas_standard import Int64 as Int64
    from evalkit_schemas_standard import Semantics as Semantics
    from evalkit_schemas_standard import UInt8 as UInt8
    from evalkit_schemas_standard import UInt16 as UInt16
    from evalkit_schemas_standard import UInt32 as UInt32
    from evalkit_schemas_standard import UInt64 as UInt64
    from evalkit_schemas_standard import Unit as Unit
    from evalkit_schemas_standard import arrow_schema as arrow_schema
    from evalkit_schemas_standard import arrow_table as arrow_table
    from evalkit_schemas_standard import embedding as embedding
    from evalkit_schemas_standard import input_model as input_model
    from evalkit_schemas_standard import json_schema as json_schema
    from evalkit_schemas_standard import make_input_schema as make_input_schema
    from evalkit_schemas_standard import make_output_schema as make_output_schema
    from evalkit_schemas_standard import model_from_arrow as model_from_arrow
    from evalkit_schemas_standard import (
        model_from_json_schema as model_from_json_schema,
    )
    from evalkit_schemas_standard import named_schema as named_schema
    from evalkit_schemas_standard import output_model as output_model
    from evalkit_schemas_standard import product as product
    from evalkit_schemas_standard import read_data_set as read_data_set
    from evalkit_schemas_standard import replication_id as replication_id
    from evalkit_schemas_standard import rows_of_table as rows_of_table
    from evalkit_schemas_standard import schema_identity as schema_identity
    from evalkit_schemas_standard import schema_names as schema_names
    from evalkit_schemas_standard import to_dyff_arrow as to_dyff_arrow
    from evalkit_schemas_standard import verify_data_set as verify_data_set
    from evalkit_schemas_standard import write_data_set as write_data_set
    from evalkit_schemas_standard import write_files as write_files
else:
    __getattr__, __dir__, __all__ = names_of_distribution(
        __name__,
        "evalkit-schemas-standard",
        "plugins/schemas/standard",
        "DataSchema Float16 Float32 Float64 Int16 Int32 Int64 Int8 Semantics UInt16 "
        "UInt32 UInt64 UInt8 Unit arrow_schema arrow_table embedding input_model "
        "json_schema make_input_schema make_output_schema model_from_arrow "
        "model_from_json_schema named_schema output_model product read_data_set "
        "replication_id rows_of_table schema_identity schema_names to_dyff_arrow "
        "verify_data_set write_data_set write_files",
    )
