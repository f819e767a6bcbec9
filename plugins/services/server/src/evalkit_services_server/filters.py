"""What a board shows, as its address says it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.errors import DataError

_WEIGHT = "w."
_LISTS = ("dataset", "round", "language")
_LARGEST = 10**6


class Filters(BaseModel):
    """What a board shows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str = ""
    """Name of a metric of the task. Empty for the main one."""
    tag: str = ""
    """Score only the examples with this tag. If columns are tags: their beginning."""
    by: Literal["dataset", "tag"] = "dataset"
    """What the columns are: datasets, or tags of one dataset."""
    dataset: tuple[str, ...] = ()
    """Keep only these datasets."""
    round: tuple[Annotated[int, Field(ge=0, le=_LARGEST)], ...] = ()
    """Keep only datasets of these rounds; 0 are those of none."""
    language: tuple[str, ...] = ()
    """Keep only datasets in these languages; `en` keeps `en-GB` too."""
    model: str = ""
    """Keep only models with this text in their name. Ranks stay the same."""
    sort: str = ""
    """`model`, `mean`, `dynascore` or the name of a column. Empty for the mean."""
    reverse: bool = False
    """Whether the worst are first."""
    page: Annotated[int, Field(ge=1, le=_LARGEST)] = 1
    """Number of the page."""
    weights: dict[str, Annotated[float, Field(ge=0, le=1000)]] = {}
    """Weights of datasets in the mean, and of metrics in the dynascore."""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Read the query of an address. `w.NAME` is the weight of a dataset or metric.

        Raises:
            DataError: A name is unknown, or a value is not of its kind.
        """
        given: dict[str, Any] = {"weights": {}}
        for name, text in pairs:
            if name.startswith(_WEIGHT) and text:
                given["weights"][name.removeprefix(_WEIGHT)] = text
            elif text:
                given[name] = (*given.get(name, ()), text) if name in _LISTS else text
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = ".".join(map(str, first["loc"][:1]))
            if name == "weights":
                name = f"{_WEIGHT}{first['loc'][1]}"
            rule = f"{name}: {first['msg']}, got {first['input']!r}"
            raise DataError(rule) from error

    def query(self, **changes: Any) -> str:
        """Return the query of the address with some changes, for a link."""
        new = self.model_copy(update=changes).model_dump(exclude_defaults=True)
        weights = {f"{_WEIGHT}{k}": f"{x:g}" for k, x in new.pop("weights", {}).items()}
        new = {k: int(x) if x is True else x for k, x in new.items()}
        return f"?{urlencode(new | weights, doseq=True)}"
