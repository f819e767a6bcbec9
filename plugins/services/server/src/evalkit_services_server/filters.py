"""What a leaderboard shows, as its address says it."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, model_validator

_WEIGHT = "w."

_LARGEST = 10**6


class Filters(BaseModel):
    """The query of a leaderboard's address. `w.NAME` is the weight of a dataset."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)
    __pydantic_extra__: dict[str, Annotated[float, Field(ge=0, le=1000)]]

    metric: str = ""
    """Name of a metric of the task. Default: its main metric."""
    tag: str = ""
    """Score only examples with this tag. With `by=tag`, show tags that begin so."""
    by: Literal["dataset", "tag"] = "dataset"
    """Whether the columns are datasets, or tags of one dataset."""
    dataset: tuple[str, ...] = ()
    """Show only these datasets."""
    round: tuple[Annotated[int, Field(ge=0, le=_LARGEST)], ...] = ()
    """Show only datasets of these rounds. 0 means no round."""
    language: tuple[str, ...] = ()
    """Show only datasets in these languages. `en` includes `en-GB`."""
    model: str = ""
    """Show only models with this text in their name. Their ranks stay the same."""
    sort: str = ""
    """`model`, `mean` or the name of a column. Default: `mean`."""
    reverse: bool = False
    """Show the worst first."""
    page: Annotated[int, Field(ge=1, le=_LARGEST)] = 1
    """Number of the page."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Leave out the empty fields of a form, and refuse unknown ones."""
        for name in values:
            if name not in cls.model_fields and not name.startswith(_WEIGHT):
                raise ValueError(f"unknown parameter {name!r}")
        return {k: value for k, value in values.items() if value not in ("", [""])}

    @property
    def weights(self) -> dict[str, float]:
        """Weights of datasets in the mean, by name."""
        extra = self.__pydantic_extra__
        return {name.removeprefix(_WEIGHT): weight for name, weight in extra.items()}

    def query(self, **changes: Any) -> str:
        """Return the query of the address with some changes, for a link."""
        new = self.model_copy(update=changes).model_dump(exclude_defaults=True)
        new = {
            k: f"{x:g}" if isinstance(x, float | bool) else x for k, x in new.items()
        }
        return f"?{urlencode(new, doseq=True)}"
