"""Spans that tags of tokens mark, as seqeval reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evalkit import MetricError

_TAG = re.compile(r"O|([BIES])(?:-(.+))?", re.DOTALL)


def spans_of_tags(tags: Sequence[str]) -> Iterator[tuple[int, int, str | None]]:
    """Find the spans in tags such as `B-PER`, `I-PER` and `O`.

    A span also begins where the type changes, and with an `I` that follows no span;
    `E` ends a span and `S` is one of a single token (IOBES).

    Args:
        tags: The tags of a text's tokens.

    Yields:
        Its first token, the place after its last one, and its type.

    Raises:
        MetricError: A tag is of another form.
    """
    start: int | None = None
    before, type_before = "O", None
    for place, tag in enumerate([*tags, "O"]):
        match = _TAG.fullmatch(tag)
        if match is None:
            raise MetricError(f"expected a tag such as B-PER, I-PER or O, got {tag!r}")
        kind, type_ = match[1] or "O", match[2]
        begins = kind in "BS" or before in "OES" or type_ != type_before
        if start is not None and (kind == "O" or begins):
            yield start, place, type_before
            start = None
        if kind != "O" and start is None:
            start = place
        before, type_before = kind, type_
