"""Every exception that evalkit raises on purpose.

The command line prints them without a traceback, and ends with the exit code 1.

A message says what is wrong, where (plugin, distribution and version; file and
line) and what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class EvalkitError(Exception):
    """Base of all errors that are the user's, the data's or a plugin's."""


class PluginError(EvalkitError):
    """An error of one plugin."""


class UnknownPluginError(PluginError):
    """No installed plugin has this name, or more than one has."""


class PluginLoadError(PluginError):
    """Importing a plugin's module or constructing the plugin failed."""


class PluginContractError(PluginError):
    """A plugin was loaded but does not keep the contract of its kind."""


class RequiredParameterError(PluginContractError):
    """A plugin needs a parameter that was not given; with one it can be used.

    A plugin raises it itself where it depends on the machine what is needed.
    """


class AnnotatorError(PluginError):
    """An annotator will say nothing of any response, which ends the evaluation."""


class DataError(EvalkitError):
    """A data set or a file of predictions cannot be used.

    Attributes:
        mapping: Where fields are not there, the columns that may be meant, by field.
        place: Where these columns are, `data` or `predictions`.
    """

    def __init__(
        self,
        message: str,
        *,
        mapping: Mapping[str, str] | None = None,
        place: str = "data",
    ) -> None:
        super().__init__(message)
        self.mapping, self.place = dict(mapping or {}), place


class SchemaError(DataError):
    """Rows break the shape that the task declares."""


class AdapterError(DataError):
    """An adapter cannot use its configuration, or a row.

    Adapters raise it with what is wrong and the field; the pipeline adds the place.

    Attributes:
        problem: What is wrong, without the place.
        field: The field of the row or of the configuration; None for the whole.
        stage: Number of the adapter in its pipeline, from 1.
        kind: The adapter's kind, as its pipeline names it.
        row: Number of the row that went into the pipeline, from 1; None where the
            configuration is wrong.
    """

    def __init__(
        self,
        problem: str,
        *,
        field: str | None = None,
        stage: int | None = None,
        kind: str | None = None,
        row: int | None = None,
    ) -> None:
        self.problem, self.field = problem, field
        self.stage, self.kind, self.row = stage, kind, row
        place = [
            *([] if stage is None else [f"stage {stage} ({kind})"]),
            *([] if row is None else [f"row {row:,}"]),
        ]
        super().__init__(f"{', '.join(place)}: {problem}" if place else problem)


class AlignmentError(DataError):
    """Predictions and examples do not match, and the policy is to refuse.

    Attributes:
        result: The refused `evalkit.Result`, with its counts and problems but no
            scores; None where alignment did not get that far.
    """

    def __init__(
        self, message: str, result: Any = None, mapping: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, mapping=mapping, place="predictions")
        self.result = result


class MetricError(EvalkitError):
    """A metric failed, or returned something that is not a score."""


class CancelledError(EvalkitError):
    """The caller cancelled the evaluation; nothing was written."""


class StorageError(EvalkitError):
    """The folder of a run or of a data set cannot be read or written."""


class ObjectExistsError(StorageError):
    """Something is there that is not replaced, or is not what was to be replaced."""


class ObjectChangedError(StorageError):
    """An object in a store is another one than when it was looked at."""


class TransferError(StorageError):
    """A connection to a store was lost, or its server is busy: it may work again."""
