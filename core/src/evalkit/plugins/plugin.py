"""What the base classes of all kinds share."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Parameters(BaseModel):
    """Base of a component's typed parameters; this one has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


NoParameters = Parameters


class Plugin:
    """A component that is built from its typed parameters.

    Attributes:
        parameters: The parameters that it was built with.
    """

    Parameters: ClassVar[type[BaseModel]] = NoParameters

    def __init__(self, parameters: BaseModel | None = None) -> None:
        self.parameters = self.Parameters() if parameters is None else parameters
