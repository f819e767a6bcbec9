"""What is written of a result into its run folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import polars as pl

    from evalkit.predictions.problems import Problem


class ScoreRow(Protocol):
    """A score as a row of a table."""

    def _asdict(self) -> dict[str, Any]: ...


class RunContents(Protocol):
    """A result, as far as storage needs to know it (see `evalkit.Result`)."""

    statistics: dict[str, pl.DataFrame]
    examples: pl.DataFrame | None
    perturbed_examples: pl.DataFrame | None
    was_there: bool

    @property
    def dataset(self) -> str | None:
        """Name of the data set."""

    @property
    def run_id(self) -> str:
        """16 hex digits over all inputs."""

    @property
    def scores(self) -> Sequence[ScoreRow]:
        """All scores."""

    @property
    def frame(self) -> pl.DataFrame:
        """The scores as a table."""

    @property
    def problems(self) -> Iterable[Problem]:
        """Every row or example that was not scored."""

    def to_dict(self) -> dict[str, Any]:
        """Return what `run.json` holds."""

    def record_repeat(self, run_id: str, differs: Sequence[str]) -> None:
        """Make this a run of its own that repeats another with other numbers."""

    def record_warning(self, text: str) -> None:
        """Note a warning."""
