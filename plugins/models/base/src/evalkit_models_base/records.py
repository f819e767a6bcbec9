"""What a run keeps of each request: the table `requests.parquet`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalkit_models_base.questions import Answer
from evalkit_models_base.requests import Request

if TYPE_CHECKING:
    import polars as pl

FILE = "requests.parquet"

_ROWS_AT_ONCE = 10_000


class RequestRecords:
    """Collects a row for each request, in the order of the questions.

    `request_columns` says what each column holds.

    Args:
        keeps_requests: Whether to keep the requests themselves, and not only their
            digests.
    """

    def __init__(self, *, keeps_requests: bool = False) -> None:
        self._keeps_requests = keeps_requests
        self._rows: list[dict[str, Any]] = []
        self._frames: list[pl.DataFrame] = []

    def add(self, answer: Answer) -> None:
        """Add the row of an answer."""
        question, reply = answer.question, answer.reply
        text = request_text(question.request)
        row: dict[str, Any] = {
            "id": question.uid,
            **question.sent._asdict(),
            "digest": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            "request": text if self._keeps_requests else None,
            "completions": [
                {
                    "finish_reason": each.finish_reason,
                    "tokens": each.tokens
                    and [{"text": x.text, "logprob": x.logprob} for x in each.tokens],
                }
                for each in reply.completions
            ],
            "continuations": [each.model_dump() for each in reply.continuations],
            **reply.usage.model_dump(),
            "cached": answer.is_cached,
        }
        row |= {name: getattr(reply, name) for name in _OF_REPLIES}
        self._rows.append(row)
        if len(self._rows) == _ROWS_AT_ONCE:
            self._pack()

    def frame(self) -> pl.DataFrame:
        """Return the table of all rows."""
        import polars as pl

        self._pack()
        return pl.concat(self._frames)

    def _pack(self) -> None:
        import polars as pl

        self._frames.append(pl.DataFrame(self._rows, schema=request_columns()))
        self._rows = []


_OF_REPLIES = (
    *("model", "batch_size", "batch_seconds", "seconds", "received", "attempts"),
    "error",
)


def request_text(request: Request | Mapping[str, Any]) -> str:
    """Return a request, or the input of a task, as the JSON that its digest is of."""
    if isinstance(request, Request):
        request = request.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(request, sort_keys=True, ensure_ascii=False, default=str)


def request_columns() -> dict[str, pl.DataType]:
    """Return the columns of the table with their types.

    - `id`, `replication`, `number`: the example, its replication, and the number of the
      request among those about it, from 0.
    - `calibration`: whether it asks about the options without the input.
    - `options`: indices, in the dataset's order, of the options that it lists or asks
      about, in its own order.
    - `shots`: ids of the examples that it shows; `shots_left_out`: how many more were
      meant; `cut_field`, `cut_characters`: which field lost how much of its end. Both
      make a request fit the model's context.
    - `digest`: SHA-256 of the request as `request` holds it: JSON with sorted keys.
    - `completions`: of each generated text the finish reason, and its tokens with their
      log-probabilities if these were requested.
    - `continuations`: of each given text its log-probability, the number of its tokens,
      those of each token, and the number of tokens before it.
    - `input_tokens`, `output_tokens`, `thinking_tokens`, `cached_tokens`: as the model
      counts them.
    - `cached`: whether the reply was there before, or is that of an earlier row.
    - `model`: what answered, in its own words. `batch_size`, `batch_seconds`: the
      requests that were sent together, and their time. `seconds`: that of this one.
      `received`: when the reply came. `attempts`: how often the request was sent.
    - `error`: why there is no reply.
    """
    import polars as pl

    text, count, real = pl.String(), pl.Int64(), pl.Float64()
    token = pl.Struct({"text": text, "logprob": real})
    completion = pl.Struct({"finish_reason": text, "tokens": pl.List(token)})
    continuation = pl.Struct(
        {
            "logprob": real,
            "tokens": count,
            "token_logprobs": pl.List(real),
            "conditioning_tokens": count,
        }
    )
    return {
        **{"id": text, "replication": text, "number": count},
        **{"calibration": pl.Boolean(), "options": pl.List(count)},
        **{"shots": pl.List(text), "shots_left_out": count},
        **{"cut_field": text, "cut_characters": count},
        **{"digest": text, "request": text},
        "completions": pl.List(completion),
        "continuations": pl.List(continuation),
        **{f"{name}_tokens": count for name in ("input", "output")},
        **{f"{name}_tokens": count for name in ("thinking", "cached")},
        **{"cached": pl.Boolean(), "model": text},
        **{"batch_size": count, "batch_seconds": real, "seconds": real},
        **{"received": pl.Datetime("ms", "UTC"), "attempts": count, "error": text},
    }
