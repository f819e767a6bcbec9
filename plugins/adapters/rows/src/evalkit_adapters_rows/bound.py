"""Calls the hooks of an adapter of rows, or of an extractor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit import Unparsed
from evalkit.base.violations import shorten
from evalkit.errors import AdapterError
from evalkit.plugins.binding import Bound, Guard
from evalkit_adapters_rows.hookspecs import AdapterAttributes

if TYPE_CHECKING:
    import polars as pl

_hands_on_calls = True  # what fails here is in an adapter

MOST_ROWS = 1_000_000
"""How many rows adapters may make of one row, or of a block of them at once."""


def first_rows(made: Iterable[Any], room: int = MOST_ROWS) -> list[Any]:
    """Return the rows that an adapter makes."""
    found = list(islice(made, room + 1))
    if len(found) > room:
        raise AdapterError(f"the row becomes more than {MOST_ROWS:,} rows")
    return found


_HOW_TO_REFUSE = (
    "; raise evalkit.AdapterError(problem, field=NAME) for a row that cannot be used"
)


def _rows(found: Any, rule: str) -> Iterable[Any]:
    is_one = isinstance(found, str | bytes | Mapping)
    if is_one or not isinstance(found, Iterable):
        raise TypeError(f"{rule}, not {shorten(found)}")
    return found


def _one(function: Any, **given: Any) -> tuple[str | None, str | None, bool]:
    """Return value, reason and failure of one call."""
    try:
        found = function(**given)
    except AdapterError as error:
        return None, error.problem, True
    if isinstance(found, Unparsed):
        return None, found.reason, False
    if not (found is None or isinstance(found, str)):
        raise TypeError(
            f"it must return a text, evalkit.Unparsed or None, not {shorten(found)}"
        )
    return found, None, False


def _table(made: Sequence[tuple[str | None, str | None, bool]]) -> pl.DataFrame:
    import polars as pl

    types = {"value": pl.String, "reason": pl.String, "failed": pl.Boolean}
    return pl.DataFrame(made, schema=types, orient="row")


def _checked(found: Any, height: int) -> pl.DataFrame:
    import polars as pl

    if not isinstance(found, pl.DataFrame) or found.height != height:
        raise TypeError(f"extract_texts must return a DataFrame of {height} rows")
    if found.schema.get("value") != pl.String:
        raise TypeError("extract_texts must return the column 'value', of texts")
    lacking = {"reason": pl.lit(None, pl.String), "failed": pl.lit(False)}
    added = {name: each for name, each in lacking.items() if name not in found.columns}
    return found.with_columns(**added).select(
        "value",
        pl.col("reason").cast(pl.String),
        pl.col("failed").cast(pl.Boolean).fill_null(False),
    )


class BoundAdapter(Bound, AdapterAttributes):
    """An adapter that is loaded."""

    @property
    def changed_parameters(self) -> Mapping[str, Any]:
        """Its `configuration`, which may be of any shape; nothing without one."""
        return {} if self.loaded_with is None else self.loaded_with

    @property
    def is_extractor(self) -> bool:
        """Whether it takes answers out of texts, and changes no rows."""
        return not self.has("adapt_row")

    def adapt_row(self, row: Any, number: int) -> Iterator[Any]:
        """Yield the rows that a row becomes.

        Args:
            row: A row, which is not changed.
            number: Its number.

        Raises:
            AdapterError: The adapter cannot use the row.
            PluginError: It failed.
        """
        guard = self._own_guard("adapt_row", number, hint=_HOW_TO_REFUSE)
        with guard:
            found = self.row_function("adapt_row")(row=row, number=number)
        with self._own_guard("adapt_row"):
            rows = _rows(found, "adapt_row must return the rows, or yield them")
        with guard:
            yield from rows

    def adapt_rows(self, rows: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
        """Return the rows that each of several rows becomes.

        Args:
            rows: The rows.
            numbers: Their numbers.

        Raises:
            AdapterError: The adapter cannot use one of them.
            PluginError: It failed.
        """
        if not self.has("adapt_rows"):
            made: list[list[Any]] = []
            room = MOST_ROWS
            for row, number in zip(rows, numbers, strict=True):
                made.append(first_rows(self.adapt_row(row, number), room))
                room -= len(made[-1])
            return made
        with self._own_guard("adapt_rows"):
            function = self.row_function("adapt_rows")
            found = [list(each) for each in function(rows=rows, numbers=numbers)]
            if len(found) != len(rows):
                raise TypeError(
                    f"adapt_rows must return rows for each of {len(rows)} rows, "
                    f"returned {len(found)}"
                )
            return found

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None
    ) -> pl.DataFrame | None:
        """Return the table that a table becomes, or None to go row by row.

        Args:
            frame: The table.
            numbers: The numbers of its rows; None where nobody knows them.

        Raises:
            AdapterError: It cannot adapt this table at once.
            PluginError: It failed.
        """
        import polars as pl

        if not self.has("adapt_frame"):
            return None
        with self._own_guard("adapt_frame"):
            function = self.row_function("adapt_frame")
            found = function(frame=frame, numbers=numbers)
            if not (found is None or isinstance(found, pl.DataFrame)):
                raise TypeError(
                    f"adapt_frame must return a DataFrame or None, not {shorten(found)}"
                )
            return found

    def read_file(self, path: Path) -> pl.DataFrame | Iterator[Any] | None:
        """Return what the adapter reads of a file, or None where evalkit is to read it.

        Args:
            path: The file or folder.

        Raises:
            AdapterError: The file cannot be read.
            PluginError: It failed.
        """
        import polars as pl

        if not self.has("read_file"):
            return None
        with self._own_guard("read_file"):
            found = self.row_function("read_file")(path=path)
            if found is None or isinstance(found, pl.DataFrame):
                return found
            rows = _rows(found, "read_file must return rows, a DataFrame or None")
        return self._read_rows(iter(rows))

    def _read_rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        with self._own_guard("read_file"):
            yield from rows

    def extract(
        self,
        texts: pl.Series,
        choices: pl.Series | None,
        labels: Sequence[str] | None,
        languages: Sequence[str] = (),
    ) -> pl.DataFrame:
        """Return what an extractor takes out of texts.

        Args:
            texts: Texts, none of them blank.
            choices: The options of the example that each answers; None for none.
            labels: The labels; None for none.
            languages: The languages of the data set.

        Returns:
            `value`, `reason` and `failed`, without other columns.

        Raises:
            PluginError: It failed.
        """
        with self._own_guard("extract_texts" if self._by_column else "extract_text"):
            if self._by_column:
                function = self.row_function("extract_texts")
                given = function(
                    texts=texts, choices=choices, labels=labels, languages=languages
                )
                return _checked(given, len(texts))
            options = [None] * len(texts) if choices is None else choices.to_list()
            function = self.row_function("extract_text")
            made = [
                _one(
                    function, text=text, choices=own, labels=labels, languages=languages
                )
                for text, own in zip(texts, options, strict=True)
            ]
        return _table(made)

    @property
    def _by_column(self) -> bool:
        return self.has("extract_texts")

    def choose(self, answers: Sequence[Sequence[str | None]]) -> pl.DataFrame:
        """Return the answer that is chosen of those of each response.

        Args:
            answers: What the stages before made of each; None for nothing.

        Returns:
            As `extract`.

        Raises:
            PluginError: The extractor failed.
        """
        with self._own_guard("choose_answer"):
            function = self.row_function("choose_answer")
            made = [_one(function, answers=each) for each in answers]
        return _table(made)

    def _own_guard(self, hook: str, row: int | None = None, hint: str = "") -> Guard:
        passes = (AdapterError, GeneratorExit)
        subject = "" if row is None else "row"
        origin = self.component.origin
        return Guard(origin, hook, subject, row, passes=passes, hint=hint)
