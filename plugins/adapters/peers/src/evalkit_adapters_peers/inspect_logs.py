"""Logs of Inspect: a JSON document, or an archive with a file for each sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_peers.archives import open_archive, read_member
from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_peers.values import list_at, object_of, text_of, value_at
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.row_values import object_row

_EPOCHS = "_epochs_"
"""How many epochs a log has, which its samples do not say."""


class _OfLogs:
    class Parameters(AdapterSettings):
        """Where the id is."""

        id: str = Field(default="id", description="Path of the id within a sample")

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def read_file(self, path: Path) -> Iterator[dict[str, Any]]:
        """Read the samples of a log."""
        with open_log(path) as (_, samples):
            yield from samples


class InspectLog(_OfLogs):
    """Read what a model answered from a log of Inspect (`.json` or `.eval`).

    A sample of a log with several epochs says of which it is (`_replication_`). One
    that failed is a response with an `error`.

    Example:
        ```yaml
        - kind: inspect-log
          configuration: {field: answer, scorer: match}
        ```
    """

    version = "1"

    class Parameters(_OfLogs.Parameters):
        """Where the answer is, and where it goes."""

        field: str = Field(default="answer", description="The task's field")
        scorer: str | None = Field(
            default=None,
            description="Read the answer that this scorer extracted; by default the "
            "whole completion",
        )

    settings: Parameters

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
            return {field: _completion(object_row(value_at(row, "output")))}
        answer = object_row(value_at(row, f"scores.{scorer}")).get("answer")
        # null where the scorer found no answer in the completion
        return {"responses": []} if answer is None else {field: answer}


class InspectSamples(_OfLogs):
    """Read examples from a log of Inspect: the samples themselves.

    An example has `uid`, `input`, `target` (a text or several), `choices` where the
    sample has any, and the sample's metadata. The samples of later epochs are the same,
    and are left out.

    Example:
        ```yaml
        - kind: inspect-samples
        - kind: Rename
          configuration: {input: question, target: answer}
        ```
    """

    version = "2"

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the sample as an example, unless it is of a later epoch."""
        row = object_row(row)
        if row.get("epoch", 1) != 1:
            return
        choices = row.get("choices")
        yield {
            **object_of(row.get("metadata") or {}, "metadata"),
            "uid": value_at(row, self.settings.id),
            "input": _text_of_input(value_at(row, "input")),
            "target": value_at(row, "target"),
            **({"choices": choices} if choices else {}),
        }


def _completion(output: Mapping[str, Any]) -> str:
    """Return the first choice's text, which logs before 0.3.123 hold nowhere else."""
    if "completion" in output:
        return text_of(output["completion"], "output.completion")
    if not list_at(output, "choices"):
        return ""  # as Inspect says it
    content = _text_of_content(value_at(output, "choices.0.message.content"))
    return text_of(content, "output.choices[0].message.content")


def _text_of_input(given: Any) -> Any:
    """Return the text of one message of text; other messages as they are."""
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict):
        content = given[0].get("content")
        parts = content if isinstance(content, list) else []
        if all(object_row(part).get("type") == "text" for part in parts):
            return _text_of_content(content)
    return given


def _text_of_content(content: Any) -> Any:
    """Join the texts of a message's parts, as Inspect does: without its reasoning."""
    if not isinstance(content, list):
        return content
    parts = [each for each in map(object_row, content) if each.get("type") == "text"]
    return "\n".join(text_of(value_at(each, "text"), "text") for each in parts)


@contextmanager
def open_log(path: Path) -> Iterator[tuple[Any, Iterator[dict[str, Any]]]]:
    """Yield what a log says of its evaluation, and its samples."""
    if path.suffix.lower() == ".eval":
        with open_archive(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise AdapterError(
                    "the log has no header.json, so its evaluation has not ended"
                )
            log = read_member(archive, path, "header.json")
            chosen = (name for name in names if name.startswith("samples/"))
            members = (read_member(archive, path, name) for name in chosen)
            yield log, _with_epochs(log, members)
        return
    log = read_document(path)
    if not isinstance(log, dict) or not isinstance(log.get("samples"), list):
        raise AdapterError(
            "is no log of Inspect with samples; `inspect eval --log-format json` "
            "writes one, unless --no-log-samples is given"
        )
    yield log, _with_epochs(log, log["samples"])


def _with_epochs(log: Any, samples: Iterable[Any]) -> Iterator[dict[str, Any]]:
    evaluation = object_of(object_row(log).get("eval") or {}, "eval")
    configuration = object_of(evaluation.get("config") or {}, "eval.config")
    epochs = configuration.get("epochs") or 1
    sample = None
    for sample in samples:
        yield {**object_row(sample), _EPOCHS: epochs}
    if sample is None:
        raise AdapterError("the log has no samples")
