"""Logs of Inspect: a JSON document, or an archive with a file for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_peers.archives import Archive
from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_peers.values import object_row, text_of, value_at, word_for
from evalkit_adapters_rows import AdapterSettings

_EPOCHS = "_epochs_"
"""How many epochs a log has, which its samples do not say."""


class InspectLog:
    """Read what a model answered from a log of Inspect (`.json` or `.eval`).

    A sample of a log with several epochs says of which it is (`_replication_`). One
    that
    failed is a response with an `error`.

    Example:
        ```yaml
        - kind: inspect-log
          configuration: {field: answer, scorer: match}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Where the answer is, and where it goes."""

        field: str = Field(default="answer", description="The task's field")
        id: str = Field(default="id", description="Path of the id within a sample")
        scorer: str | None = Field(
            default=None,
            description="Read the answer that this scorer extracted; by default the "
            "whole completion",
        )

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def read_file(self, path: Path) -> Iterator[dict[str, Any]]:
        """Read the samples of a log."""
        return _samples(path)

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the response of a sample."""
        row = object_row(row)
        found = {"id": value_at(row, self.settings.id)}
        if row.get(_EPOCHS, 1) != 1:
            found["_replication_"] = value_at(row, "epoch")
        yield {**found, **self._answer(row)}

    def _answer(self, row: Mapping[str, Any]) -> dict[str, Any]:
        field, scorer = self.settings.field, self.settings.scorer
        if row.get("error"):
            return {"error": text_of(value_at(row, "error.message"), "error.message")}
        if scorer is None:
            completion = value_at(row, "output.completion")
            return {field: text_of(completion, "output.completion")}
        answer = object_row(value_at(row, f"scores.{scorer}")).get("answer")
        # null where the scorer found no answer in the completion
        return {"responses": []} if answer is None else {field: answer}


class InspectSamples:
    """Read examples from a log of Inspect: the samples themselves.

    An example has `uid`, `input`, `target` (a text or several) and the sample's
    metadata. The samples of later epochs are the same, and are left out.

    Example:
        ```yaml
        - kind: inspect-samples
        - kind: Rename
          configuration: {input: question, target: answer}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Where the id is."""

        id: str = Field(default="id", description="Path of the id within a sample")

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def read_file(self, path: Path) -> Iterator[dict[str, Any]]:
        """Read the samples of a log."""
        return _samples(path)

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the sample as an example, unless it is of a later epoch."""
        row = object_row(row)
        if row.get("epoch", 1) != 1:
            return
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise AdapterError(
                f"'metadata' must be an object, is {word_for(metadata)}",
                field="metadata",
            )
        yield {
            **metadata,
            "uid": value_at(row, self.settings.id),
            "input": _text_of_input(value_at(row, "input")),
            "target": value_at(row, "target"),
        }


def _text_of_input(given: Any) -> Any:
    """Return the one text of an input; messages as they are."""
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict):
        return given[0].get("content")
    return given


def _samples(path: Path) -> Iterator[dict[str, Any]]:
    """Return the samples of a log, each with the number of epochs."""
    if path.suffix.lower() == ".eval":
        yield from _samples_of_archive(path)
        return
    log = read_document(path)
    if not isinstance(log, dict) or not isinstance(log.get("samples"), list):
        raise AdapterError(
            "is no log of Inspect with samples; `inspect eval --log-format json` "
            "writes one, unless --no-log-samples is given"
        )
    epochs = _epochs(log)
    for sample in log["samples"]:
        yield {**object_row(sample), _EPOCHS: epochs}


def _samples_of_archive(path: Path) -> Iterator[dict[str, Any]]:
    with Archive(path) as archive:
        names = [name for name in archive.names if name.startswith("samples/")]
        if "header.json" not in archive.names:
            raise AdapterError(
                "the log has no header.json, so its evaluation has not ended"
            )
        if not names:
            raise AdapterError("the log has no samples")
        epochs = _epochs(archive.read("header.json"))
        for name in names:
            yield {**object_row(archive.read(name)), _EPOCHS: epochs}


def _epochs(log: Mapping[str, Any]) -> int:
    try:
        found = value_at(log, "eval.config.epochs")
    except AdapterError:
        return 1
    return found if isinstance(found, int) else 1
