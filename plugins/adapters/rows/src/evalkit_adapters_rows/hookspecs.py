"""What an adapter may implement: hooks and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalkit import Unparsed
from evalkit.hookspecs import hookspec

if TYPE_CHECKING:
    import polars as pl


class AdapterAttributes:
    """Attributes of an adapter."""

    version: str
    """Raised when the same rows become others."""
    needs: Sequence[Literal["choices", "labels"]]
    """What an extractor cannot do without: each example's own options, or labels that
    are declared. May depend on its parameters."""


class AdapterSpec:
    """Hooks of an adapter, which changes rows before they are checked.

    An adapter of rows implements `adapt_row`. An extractor is an adapter of one field:
    it takes the answer out of a response's text, and implements `extract_text`, at
    column speed `extract_texts`, or, to choose among several answers, `choose_answer`.
    It never sees the right answer.

    An adapter of rows sits on the rows of a data set or on predictions, alone or as a
    stage of a pipeline. Its `Parameters`, a pydantic model
    (`evalkit_adapters_rows.AdapterSettings` forbids unknown keys), read the
    `configuration`; they may be a pydantic `RootModel`. It sees one row at a time,
    which it must not change, and keeps nothing from one row to the next. Raise
    `evalkit.AdapterError(problem, field=NAME)` where a row or the configuration cannot
    be used; the pipeline adds the stage and the row. Anything else that it raises is a
    failure of the plugin.
    """

    @hookspec(firstresult=True)
    def adapt_row(self, row: Any, number: int) -> Iterable[Any]:
        """Adapt one row.

        Args:
            row: A dict, as JSON has them; any value of JSON where an adapter before
                made it so.
            number: Which row of the file, or of the rows, went into the pipeline, from
                1; rows that cannot be read are counted, blank lines are not.

        Returns:
            The rows that it becomes, in order; a generator may yield them.
        """

    @hookspec(firstresult=True)
    def adapt_rows(
        self, rows: Sequence[Any], numbers: Sequence[int]
    ) -> Iterable[Iterable[Any]]:
        """Adapt several rows at once; only what makes it faster.

        Args:
            rows: Rows as `adapt_row` gets them; at most 1 000 go into a pipeline at a
                time.
            numbers: Their numbers, as `adapt_row` gets them.

        Returns:
            For each row, in order, the rows that it becomes. After an `AdapterError`
            the rows are adapted one by one.
        """

    @hookspec(firstresult=True)
    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None
    ) -> pl.DataFrame | None:
        """Adapt a table at once; only what makes it faster.

        Args:
            frame: A polars DataFrame; every row has every column, null for none.
            numbers: Int64 of the same height, the numbers that `adapt_row` gets; None
                where nobody knows them.

        Returns:
            A DataFrame whose rows are those that `adapt_row` gives for the rows of
            `frame` (as `frame.to_dicts()` has them), or None, or an `AdapterError`,
            where that is not certain: the rows are then adapted one by one.
        """

    @hookspec(firstresult=True)
    def read_file(self, path: Path) -> pl.DataFrame | Iterable[Any] | None:
        """Read a file, or a folder, that is in none of evalkit's formats.

        Only the first adapter of a pipeline is asked. What it reads goes through the
        adapters, itself the first. Raise `evalkit.AdapterError` for what is broken.

        Args:
            path: The file or folder.

        Returns:
            Its rows, each as `adapt_row` gets it; a table; or None for a file that
            evalkit is to read itself.
        """

    @hookspec(firstresult=True)
    def extract_text(
        self,
        text: str,
        choices: Sequence[str] | None,
        labels: Sequence[str] | None,
        languages: Sequence[str],
    ) -> str | Unparsed | None:
        """Take the answer out of one text.

        Args:
            text: What the model wrote, or what the stage before made of it; never
                blank.
            choices: The example's own options, in their order; None where the task has
                none.
            labels: The data set's labels, or the task's; None where it has none.
            languages: BCP 47 codes of the data set's languages; empty if undeclared.

        Returns:
            The answer, or what the next stage is to look at. `evalkit.Unparsed(reason)`
            or None where there is none, with a reason that quotes nothing. Raise
            `evalkit.AdapterError(problem)` for a text that is broken.
        """

    @hookspec(firstresult=True)
    def extract_texts(
        self,
        texts: pl.Series,
        choices: pl.Series | None,
        labels: Sequence[str] | None,
        languages: Sequence[str],
    ) -> pl.DataFrame:
        """Take the answers out of a column of texts, in place of `extract_text`.

        Args:
            texts: Texts, none of them null or blank.
            choices: Lists of texts of the same height, as for `extract_text`.
            labels: As for `extract_text`.
            languages: As for `extract_text`.

        Returns:
            `value` (text, null for none) and optionally `reason` (text, why there is
            none) and `failed` (boolean, whether the text is broken), in the order of
            `texts`. What becomes of a text must not depend on the others.
        """

    @hookspec(firstresult=True)
    def choose_answer(self, answers: Sequence[str | None]) -> str | Unparsed | None:
        """Choose among the answers of a response that gives several (`responses`).

        Args:
            answers: What the stages before made of each, the best ranked first; None
                where there is nothing. A response with one answer is not asked about.

        Returns:
            As `extract_text`.
        """
