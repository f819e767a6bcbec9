"""`labels`: the declared label that a text names."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from pydantic import Field

from evalkit import AdapterError
from evalkit_adapters_extraction.options import (
    Where,
    find_option,
    fold,
    read_options,
)
from evalkit_adapters_extraction.settings import by_distinct
from evalkit_adapters_rows import AdapterSettings


class Labels:
    """Take the label that a text names, as it is declared.

    The labels are those of the data set or the task, or `labels`. They are found as
    `choice` finds options, except that no letters stand for them by their places.
    `not-hateful` may be written `not hateful` or `not_hateful`. A label that is a
    single letter is found as a capital that stands alone. A text that names several
    labels or none, or only denies one (`positive: 0`), is unparsed.

    Source: evalkit's own; SEA-HELM's F1AccMetric finds parts of words.

    Example:
        ```yaml
        - kind: labels
          configuration: {labels: [positive, negative], where: start}
        ```
    """

    version = "4"

    class Parameters(AdapterSettings):
        """The labels, and where one may stand."""

        labels: list[str] | None = Field(
            default=None,
            description="The labels; null for those of the data set or the task",
        )
        where: Where = Field(
            default="anywhere",
            description="Where the label may stand: anywhere, at the start, or the "
            "whole text must be it",
        )

    def __init__(self, parameters: Parameters) -> None:
        self._where: Where = parameters.where
        self._own = parameters.labels
        self.needs = ("labels",) if self._own is None else ()
        if self._own is not None:
            _refuse_alike(self._own)

    def extract_texts(
        self, texts: pl.Series, labels: Sequence[str] | None
    ) -> pl.DataFrame:
        """Return the label that each text names."""
        known = self._own if self._own is not None else list(labels or ())
        options = read_options(tuple(known), has_letters=False)
        return by_distinct(texts, lambda text: find_option(text, options, self._where))


def _refuse_alike(labels: Sequence[str]) -> None:
    folded = [fold(label) for label in labels]
    if not labels or not all(folded):
        raise AdapterError("there must be labels, none of them empty", field="labels")
    twins = [
        label
        for label, form in zip(labels, folded, strict=True)
        if folded.count(form) > 1
    ]
    if twins:
        raise AdapterError(
            f"{twins[0]!r} and {twins[1]!r} differ only in form", field="labels"
        )
