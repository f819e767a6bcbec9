"""What every named schema is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SchemaModel(BaseModel):
    """A model of rows that have the declared fields and no others."""

    model_config = ConfigDict(extra="forbid")
