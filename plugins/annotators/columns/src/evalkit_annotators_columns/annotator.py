"""The base class of annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evalkit.plugins.classes import Plugin


class Annotator(Plugin):
    """A column of values that is computed from responses before metrics read them.

    A subclass sets `version` and implements `annotate_example` or `annotate_batch`.
    `AnnotatorAttributes` of `evalkit_annotators_columns.hookspecs` says what each
    attribute means.

    Example:
        ```python
        class Length(Annotator):
            version = "1"

            def annotate_example(self, prediction):
                return len(prediction.split())
        ```
    """

    columns: Sequence[str] = ()
    reads: Sequence[str] = ()
    batch_rows: ClassVar[int] = 32
    metrics: Sequence[str] = ()
    retries: ClassVar[int] = 2
    pause: ClassVar[float] = 1.0
    shares_work: ClassVar[bool] = True
