"""The schema `my_thing.MyThing`."""

from __future__ import annotations

from typing import Annotated

from evalkit_schemas_standard import Float32, Unit
from pydantic import BaseModel, ConfigDict, Field


class MyThing(BaseModel):
    """What the weather was."""

    model_config = ConfigDict(extra="forbid")

    celsius: Annotated[Float32, Unit("°C")] = Field(description="The temperature")
    station: str = Field(description="Where it was")
