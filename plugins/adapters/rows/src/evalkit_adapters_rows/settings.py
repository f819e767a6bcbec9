"""Base of what adapters are configured by."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class AdapterSettings(BaseModel):
    """Base of the `Parameters` of adapters: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)
