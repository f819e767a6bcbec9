"""Schemas of data: one pydantic model, seen as an Arrow schema and as JSON Schema.

`evalkit.schema` is another name for this package. Each name is imported when it is
first used, so that listing schemas imports no library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit_schemas_standard.dyff import to_dyff_arrow
    from evalkit_schemas_standard.embeddings import embedding
    from evalkit_schemas_standard.named import named_schema, schema_names
    from evalkit_schemas_standard.products import product
    from evalkit_schemas_standard.scalars import Float32, Float64, Int64

__all__ = [
    "Float32",
    "Float64",
    "Int64",
    "embedding",
    "named_schema",
    "product",
    "schema_names",
    "to_dyff_arrow",
]

_HOMES = {
    "dyff": "to_dyff_arrow",
    "embeddings": "embedding",
    "named": "named_schema schema_names",
    "products": "product",
    "scalars": "Float32 Float64 Int64",
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
