"""Says which columns of the data look like tags and are not read as tags."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evalkit.examples.conversion import LABEL_CONVERTER, find_converter
from evalkit.plugins.bound import BoundDataset, BoundTask


def tag_notices(
    dataset: BoundDataset, task: BoundTask, columns: Collection[str]
) -> Iterator[str]:
    """Name columns that look like tags where the one that tags are in is not there.

    Args:
        dataset: The data set.
        task: Its task.
        columns: Names of all columns of the data.

    Yields:
        A sentence for each; none where tags are read by a function or an expression.
    """
    declared = find_converter(LABEL_CONVERTER, dataset, task)[1] or {}
    name = declared.get("tags")
    if not isinstance(name, str) or name in columns:
        return
    forms = {name.casefold(), name.casefold().removesuffix("s")}
    for column in columns:
        if column.strip().casefold() in forms:
            yield (
                f"the column {column!r} of the data is not read as tags; tags are in a "
                f"column {name!r}"
            )
