"""The identity of a schema."""

from __future__ import annotations

from hashlib import sha256

from pydantic import BaseModel

from evalkit_schemas_standard.from_models import shape_of_model
from evalkit_schemas_standard.shapes import canonical

_EDITION = "evalkit.schema 1\n"


def schema_identity(model: type[BaseModel]) -> str:
    """Return the identity of a schema.

    Names, types, constraints, defaults, units, semantics and the names of validators
    count, and the order of fields, which is that of the columns. Documentation and the
    names of classes do not. It is the same with every version of pydantic and pyarrow.

    Args:
        model: The schema.

    Returns:
        SHA-256 of its canonical form, in hexadecimal digits.

    Raises:
        SchemaError: The model is outside of what a schema can say.
    """
    text = _EDITION + canonical(shape_of_model(model))
    return sha256(text.encode()).hexdigest()
