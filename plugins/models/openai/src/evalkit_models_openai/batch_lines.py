"""Lines of the files that go to a batch, and come from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from evalkit_models_base import Request
from evalkit_models_openai.asked import call_of
from evalkit_models_openai.parameters import Api, ServerParameters

ENDPOINTS: Mapping[Api, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
}


class Line(NamedTuple):
    """A request as it is sent.

    Attributes:
        name: What its answer is found by: its place, and a hash of what is asked, so
            that no answer of another batch is taken for it.
        text: The line.
    """

    name: str
    text: str


def line_of(place: int, request: Request, given: ServerParameters) -> Line:
    """Return the line of a request."""
    call = call_of(request, given)
    body = {**call, **call.pop("extra_body", {})}
    body.pop("extra_body", None)
    asked = json.dumps(body, sort_keys=True)
    name = f"{place}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
    line = {
        "custom_id": name,
        "method": "POST",
        "url": ENDPOINTS[given.api],
        "body": body,
    }
    return Line(name, json.dumps(line))


def key_of(lines: Sequence[Line], url: str) -> str:
    """Return what a batch is known by: where it is asked, and all that is asked."""
    whole = hashlib.sha256(url.encode())
    for line in lines:
        whole.update(f"\n{line.text}".encode())
    return whole.hexdigest()


class Outcome(NamedTuple):
    """What came of a request.

    Attributes:
        status: The status of its answer; None where it was not asked.
        body: The answer, or why there is none.
    """

    status: int | None
    body: Any


class Outcomes(NamedTuple):
    """What came of all requests.

    Attributes:
        found: By the name of the request.
        broken: How many lines cannot be read, and so name no request.
    """

    found: dict[str, list[Outcome]]
    broken: int


def read_outcomes(contents: Iterable[bytes]) -> Outcomes:
    """Return what came."""
    found: dict[str, list[Outcome]] = {}
    broken = 0
    for content in contents:
        for text in filter(bytes.strip, content.splitlines()):
            read = _outcome(text)
            if read is None:
                broken += 1
            else:
                found.setdefault(read[0], []).append(read[1])
    return Outcomes(found, broken)


def _outcome(text: bytes) -> tuple[str, Outcome] | None:
    try:
        line = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    if not isinstance(line, dict) or not isinstance(line.get("custom_id"), str):
        return None
    response = line.get("response")
    status = response.get("status_code") if isinstance(response, dict) else None
    is_answer = type(status) is int and not (status < 300 and line.get("error"))
    if isinstance(response, dict) and is_answer:
        return line["custom_id"], Outcome(status, response.get("body"))
    return line["custom_id"], Outcome(None, line.get("error"))
