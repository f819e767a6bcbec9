"""What the rows of all text tasks share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A number from 0 to 1."""


class InputRow(BaseModel):
    """An example, without its label."""

    model_config = ConfigDict(strict=True)

    uid: str


class OutputRow(BaseModel):
    """A response of a model."""

    model_config = ConfigDict(strict=True)

    id: str
