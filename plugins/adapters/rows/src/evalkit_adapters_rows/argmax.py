"""The adapter that checks labels against their probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.row_values import object_row


class CheckArgmax:
    """Refuse rows whose label is not the most probable one.

    Of several that are equally probable each will do. A row without probabilities is
    not checked.

    Example:
        ```yaml
        - kind: CheckArgmax
          configuration: {label: label, prob: prob}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Where the label and the probabilities are."""

        label: str = Field(default="label", description="Field of the label")
        prob: str = Field(default="prob", description="Field of probability by label")

    def __init__(self, parameters: Parameters) -> None:
        self.label, self.prob = parameters.label, parameters.prob

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row as it is."""
        row = object_row(row)
        prob, label = row.get(self.prob), row.get(self.label)
        values = prob.values() if isinstance(prob, dict) else ()
        numbers = [each for each in values if isinstance(each, int | float)]
        # what is no probability is refused by the check of the response
        if numbers and len(numbers) == len(values):
            best = [key for key, value in prob.items() if value == max(numbers)]
            if label not in best:
                names = " or ".join(map(repr, best))
                raise AdapterError(
                    f"{self.label!r} must be the most probable label, {names}, is "
                    f"{label!r}",
                    field=self.label,
                )
        yield row
