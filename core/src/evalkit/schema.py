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
    from evalkit_schemas_standard import Float32 as Float32
    from evalkit_schemas_standard import Float64 as Float64
    from evalkit_schemas_standard import Int64 as Int64
    from evalkit_schemas_standard import embedding as embedding
    from evalkit_schemas_standard import named_schema as named_schema
    from evalkit_schemas_standard import product as product
    from evalkit_schemas_standard import schema_names as schema_names
    from evalkit_schemas_standard import to_dyff_arrow as to_dyff_arrow
else:
    __getattr__, __dir__, __all__ = names_of_distribution(
        __name__,
        "evalkit-schemas-standard",
        "plugins/schemas/standard",
        "Float32 Float64 Int64 embedding named_schema product schema_names "
        "to_dyff_arrow",
    )
