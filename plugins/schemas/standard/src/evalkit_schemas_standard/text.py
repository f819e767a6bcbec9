"""Named schemas of texts."""

from pydantic import BaseModel, ConfigDict, Field


class Text(BaseModel):
    """A text."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(description="Text data")
