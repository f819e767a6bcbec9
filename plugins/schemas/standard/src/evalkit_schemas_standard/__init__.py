"""Schemas of data: one pydantic model, seen as an Arrow schema and as JSON Schema.

`evalkit.schema` is another name for this package.
"""

from evalkit_schemas_standard.named import named_schema, schema_names

__all__ = ["named_schema", "schema_names"]
