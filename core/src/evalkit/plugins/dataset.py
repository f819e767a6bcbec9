"""Base class of data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from evalkit.base.terms import Source
from evalkit.errors import DataError
from evalkit.plugins.classes import Plugin
from evalkit.plugins.sources import locate


class Dataset(Plugin):
    """A named collection of examples with splits.

    A subclass sets `task` and implements `load`. `evalkit.hookspecs.DatasetAttributes`
    says what each attribute means.

    Example:
        ```python
        class Greetings(evalkit.Dataset):
            name = "greetings"
            task = "sentiment"

            def load(self, split):
                return [{"uid": "1", "statement": "Hello!", "label": "positive"}]
        ```
    """

    name: ClassVar[str | None] = None
    round_id: ClassVar[int] = 0
    splits: ClassVar[Sequence[str]] = ("test",)
    default_split: ClassVar[str] = "test"
    labels: ClassVar[Sequence[str] | Mapping[str, str] | None] = None
    perf_metric: ClassVar[str | None] = None
    eval_metrics: ClassVar[Sequence[str] | None] = None
    aggregate: ClassVar[str | None] = None
    cluster: ClassVar[Sequence[str] | str | None] = None
    tags: ClassVar[Sequence[str]] = ()
    version: ClassVar[str] = "1"
    changes: ClassVar[Mapping[str, str]] = {}
    license: ClassVar[str | None] = None
    source_url: ClassVar[str | None] = None
    citation: ClassVar[str | None] = None
    languages: ClassVar[Sequence[str]] = ()
    content_warning: ClassVar[str | None] = None
    description: ClassVar[str | None] = None
    sources: ClassVar[Mapping[str, Source]] = {}
    example_predictions: ClassVar[Mapping[str, str | Path]] = {}
    located_files: Mapping[str, Path] = {}
    """The files that were asked for so far, which the run records."""

    def file(self, filename: str) -> Path:
        """Give the path of one of the publisher's files, fetching it if need be.

        Args:
            filename: A key of `sources`.

        Returns:
            The path of the local copy.

        Raises:
            DataError: The file is not there and cannot be fetched; the message says
                which file to put where.
        """
        if self.name is None or filename not in self.sources:
            raise DataError(
                f"{type(self).__name__} must set `name` and declare {filename!r} in "
                "`sources` before it asks for the file"
            )
        path = locate(self.name, filename, self.sources[filename])
        self.located_files = {**self.located_files, filename: path}
        return path
