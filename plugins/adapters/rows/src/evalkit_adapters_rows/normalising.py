"""Labels in the form that is declared (`--normalise labels`), and likely ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from pydantic import Field

from evalkit.base.columns import named
from evalkit.base.label_fields import by_form, folded
from evalkit.errors import AdapterError, EvalkitError
from evalkit.scoring import RESPONSES_KEY
from evalkit_adapters_rows.row_values import object_row
from evalkit_adapters_rows.settings import AdapterSettings

LABELS = "labels"
"""What can be normalised."""


class NormaliseLabels:
    """Write labels as they are declared: what `--normalise labels` does.

    A text of the field that is a label but for its case, surrounding blanks or Unicode
    form becomes that label; others stay as they are. Where no labels are declared, all
    texts become lower case (as Unicode folds it), without surrounding blanks, in NFC.
    Lists are normalised text by text, and the field in the objects of `responses` too.

    Example:
        ```yaml
        - kind: NormaliseLabels
          configuration: {field: label, labels: [positive, negative]}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """The field and its labels."""

        field: str = Field(description="Name of the field")
        labels: list[str] | None = Field(
            default=None, description="The labels; null where none are declared"
        )

    def __init__(self, parameters: Parameters) -> None:
        self.field = parameters.field
        self._forms: Mapping[str, str] | None = None
        self._written: dict[str, set[str]] = {}
        if parameters.labels is not None:
            try:
                self._forms = by_form(parameters.labels)
            except ValueError as error:
                raise AdapterError(
                    f"the labels cannot be normalised: {error}", field="labels"
                ) from error

    def adapt_row(self, row: Any) -> Iterator[Any]:
        """Yield the row with its labels as they are declared."""
        yield self._normalised(object_row(row))

    def _normalised(self, row: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(row)
        if self.field in made:
            made[self.field] = self._value(made[self.field])
        alternatives = made.get(RESPONSES_KEY)
        if self.field != RESPONSES_KEY and isinstance(alternatives, list):
            made[RESPONSES_KEY] = [
                self._normalised(each) if isinstance(each, dict) else each
                for each in alternatives
            ]
        return made

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(each) for each in value]
        return self._label(value) if isinstance(value, str) else value

    def _label(self, text: str) -> str:
        form = folded(text)
        if self._forms is not None:
            return self._forms.get(form, text)
        self._written.setdefault(form, set()).add(text)
        return form

    @property
    def notices(self) -> Iterator[str]:
        """Which texts became one label, where none are declared."""
        for form, texts in sorted(self._written.items()):
            if len(texts) > 1:
                yield f"{', '.join(map(repr, sorted(texts)))} are one label, {form!r}"

    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return the table with its labels, where they are a column of texts."""
        if RESPONSES_KEY in frame.columns or self.field not in frame.columns:
            return None
        column = frame[self.field]
        if column.dtype != pl.String:
            return None
        known = column.unique().drop_nulls()
        forms = {text: self._label(text) for text in known}
        if not forms:
            return frame
        labels = named(self.field)
        return frame.with_columns(labels.replace_strict(forms, default=labels))


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


def check_normalise(normalise: Sequence[str] | str) -> bool:
    """Tell whether labels are to be normalised."""
    named = [normalise] if isinstance(normalise, str) else [*normalise]
    for each in named:
        if each != LABELS:
            raise EvalkitError(f"normalise must be {LABELS!r}, is {each!r}")
    return bool(named)
