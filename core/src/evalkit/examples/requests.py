"""What a data set is told of what is wanted of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from evalkit.plugins.bound import BoundDataset


class Asked(NamedTuple):
    """What is wanted of a data set, which may look at it or not."""

    columns: Collection[str] | None = None
    """The columns that will be read; None for all."""
    always: Collection[str] | None = None
    """Those of them that are read whatever is computed; None for all."""
    limit: int | None = None
    """How many examples, the first ones; None for all."""

    @property
    def arguments(self) -> dict[str, Any]:
        """What `load` is offered beside the split."""
        names = None if self.columns is None else sorted(self.columns)
        return {"columns": names, "limit": self.limit}

    def looked_at(
        self, dataset: BoundDataset
    ) -> tuple[frozenset[str] | None, int | None]:
        """Return the columns that its rows have always, and how many rows it was told.

        Returns:
            None for all columns, and None for all rows.
        """
        arguments = dataset.arguments_of("load")
        looks = "columns" in arguments and self.always is not None
        columns = frozenset(self.always or ()) if looks else None
        return columns, self.limit if "limit" in arguments else None
