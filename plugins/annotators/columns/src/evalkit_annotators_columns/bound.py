"""Annotators that are loaded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from evalkit.base.violations import entries_of
from evalkit.errors import AnnotatorError, PluginError
from evalkit.plugins.binding import Bound
from evalkit_annotators_columns.hookspecs import AnnotatorAttributes

_hands_on_calls = True  # what fails here is in an annotator

_OF_BATCHES = {"prediction": "predictions", "target": "targets", "fields": "fields"}


class BoundAnnotator(Bound, AnnotatorAttributes):
    """An annotator that is loaded."""

    source: str | None = None
    """Where it was declared; None for an installed one that a metric names."""

    def called(self, name: str, source: str) -> Self:
        """Return it under the name that a declaration gives it.

        Args:
            name: The name.
            source: Where it is declared.
        """
        named = copy.copy(self)
        metrics = [each.replace("{name}", name) for each in self.metrics]
        vars(named).update(name=name, source=source, metrics=metrics)
        return named

    @contextmanager
    def named(self) -> Iterator[None]:
        """Say where it is declared, where it cannot be asked."""
        try:
            yield
        except AnnotatorError as error:
            where = self.source or self.component.origin
            raise AnnotatorError(f"{where}: {error}") from error

    @property
    def hook(self) -> str:
        """The hook that it implements; the one for batches where it has both."""
        return "annotate_batch" if self.has("annotate_batch") else "annotate_example"

    @property
    def arguments(self) -> tuple[str, ...]:
        """Which of `prediction`, `target` and `fields` it takes."""
        taken = self.arguments_of(self.hook)
        return tuple(
            name
            for name, several in _OF_BATCHES.items()
            if (several if self.has("annotate_batch") else name) in taken
        )

    @property
    def rows_at_once(self) -> int:
        """How many rows it may be asked for in one call."""
        return self.batch_rows if self.has("annotate_batch") else 1

    def ask(self, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return what it says of rows, unchecked.

        Args:
            rows: Its arguments by name, at most `rows_at_once` of them.

        Returns:
            An entry for each row.

        Raises:
            PluginError: It returned something else than a list of that length.
            BaseException: Whatever it raised.
        """
        function: Callable[..., Any] = self.row_function(self.hook)
        # one that changes its arguments gets the same ones when it is asked again
        rows = copy.deepcopy(list(rows))
        if not self.has("annotate_batch"):
            return [function(**row) for row in rows]
        offered: dict[str, Any] = {
            several: [row.get(name) for row in rows]
            for name, several in _OF_BATCHES.items()
        }
        offered["fields"] = {
            name: [row["fields"][name] for row in rows]
            for name in (self.reads if "fields" in self.arguments else ())
        }
        returned = function(**offered)
        entries = returned.tolist() if hasattr(returned, "tolist") else returned
        if not isinstance(entries, list | tuple) or len(entries) != len(rows):
            raise PluginError(
                f"{self.component.origin}: annotate_batch must return a list of "
                f"{len(rows)} entries, one for each row, returned "
                f"{entries_of(returned)}"
            )
        return list(entries)
