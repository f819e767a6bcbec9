"""What is known of the job in which a model made its predictions."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True, ge=0, le=2**53)]


class JobFigures(BaseModel):
    """What a job took, as the file beside the predictions says it.

    All keys may be left out, or null, where a figure is not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", title="job")

    examples: Whole | None = Field(
        None, description="How many responses the job gave: rows of predictions."
    )
    seconds: Amount | None = Field(
        None,
        description="Seconds of wall clock from the start of the job to its last "
        "response; loading of the model included.",
    )
    peak_memory_gib: Amount | None = Field(
        None,
        description="The most memory that the job held at once, in GiB (2**30 bytes), "
        "added up over its machines.",
    )
    input_tokens: Whole | None = Field(
        None, description="Tokens that the model read, over all examples."
    )
    output_tokens: Whole | None = Field(
        None, description="Tokens that the model wrote, over all examples."
    )
    cost: Amount | None = Field(None, description="What all examples cost together.")
    currency: str | None = Field(
        None,
        strict=True,
        pattern="^[A-Z]{3}$",
        description="The currency of `cost`, by its code of ISO 4217, such as USD.",
    )

    @model_validator(mode="after")
    def _check_currency(self) -> Self:
        if self.cost is not None and self.currency is None:
            raise ValueError("cost needs a currency, such as USD")
        return self


class Job(NamedTuple):
    """The job that made a file of predictions, as far as it is known."""

    file: str
    """Name of the file that tells of it, whether it is there or not."""
    figures: JobFigures | None
    """What it took; None where there is no such file."""
    sha256: str | None = None
    """Of the file's bytes."""

    @property
    def recorded(self) -> dict[str, Any]:
        """What a run records of it: nothing where there is none."""
        if self.figures is None:
            return {}
        return {"job": {"sha256": self.sha256, **self.figures.model_dump()}}
