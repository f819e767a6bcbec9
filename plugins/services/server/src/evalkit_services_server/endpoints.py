"""Models that the server asks: where they may be, and the first question to them."""

from __future__ import annotations

import ipaddress
import json
import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from evalkit.errors import EvalkitError
from evalkit_models_base import Asked, Predicted, predict
from evalkit_services_server.access import RequestError
from evalkit_services_server.settings import Settings
from evalkit_services_server.tasks import asked_task

if TYPE_CHECKING:
    from evalkit_services_server.api_types import Endpoint

FIRST_ANSWER = 60.0
"""Seconds that a model may take for the task's example."""

_PARAMETERS = {
    "http": ("url", "headers_variable"),
    "openai": ("base_url", "api_key_variable"),
}
"""What models call their address, and the variable with the key."""


def register(
    given: Endpoint, task: Mapping[str, Any], settings: Settings, is_administrator: bool
) -> dict[str, Any]:
    """Check an endpoint, ask it the task's example, and check what it answers."""
    if not is_administrator:
        if given.key_variable is not None:
            raise RequestError("key_variable: only administrators name keys", 403)
        parts = _split(given.url)
        names = {parts.netloc.removesuffix(":443"), f"{parts.scheme}://{parts.netloc}"}
        if names.isdisjoint(settings.endpoints):
            raise RequestError("url: the host has not allowed this address", 403)
    url, key = _PARAMETERS[given.api]
    parameters = {url: given.url, key: given.key_variable, "model": given.model}
    if (given.model is None) == (given.api == "openai"):
        raise RequestError("model: its name is required for openai, and for no other")
    kept = {name: value for name, value in parameters.items() if value is not None}
    endpoint = {"model": given.api, "parameters": kept}
    try:
        problem = _problem_of_example(endpoint, task, settings)
    except EvalkitError as error:
        raise RequestError(f"endpoint: {error}") from error
    if problem is not None:
        raise RequestError(f"endpoint: its answer to the task's example: {problem}")
    return endpoint


def _problem_of_example(
    endpoint: Mapping[str, Any], task: Mapping[str, Any], settings: Settings
) -> str | None:
    """Ask a model the task's example, and return what is wrong with its answer."""
    from pydantic import ValidationError

    from evalkit import Violation
    from evalkit.catalog import BoundTask, Registry, Resolver
    from evalkit.reporting import describe, from_pydantic

    bound = BoundTask.of(Resolver(Registry()).bind("tasks", task["component"]))
    example = dict(bound.example)
    options = dict(data=[example], task=asked_task(task))
    options |= dict(asked=Asked(retries=0, seconds=FIRST_ANSWER, is_cached=False))
    [row] = ask(endpoint, settings, **options).rows
    if row.get("error") is not None:
        return str(row["error"])
    offered = {"response": row, "example": example, "data": example}
    found: Sequence[Violation] = ()
    try:
        bound.validate_output(row, bound.labels)
        if bound.has("verify_response"):
            found = bound.call("verify_response", labels=bound.labels, **offered)
    except ValidationError as error:
        found = from_pydantic(error)
    except AssertionError as error:
        why = str(error) or "verify_response refuses it"
        found = [Violation("(response)", why)]
    return describe(found) if found else None


def ask(
    endpoint: Mapping[str, Any], settings: Settings, dataset: Any = None, **options: Any
) -> Predicted:
    """Ask a model at an address that is allowed, with what `predict` takes."""
    reference = f"{endpoint['model']}:{json.dumps(endpoint['parameters'])}"
    with guarded(endpoint, settings):
        return predict(dataset, reference, **options)


@contextmanager
def guarded(endpoint: Mapping[str, Any], settings: Settings) -> Iterator[None]:
    """Let a model be asked at addresses that are allowed, whatever its name means.

    A name is looked up for each connection, and may mean another address each time:
    what is checked is what the connection is made to.
    """
    url = str(endpoint["parameters"][_PARAMETERS[endpoint["model"]][0]])
    parts = _split(url)
    if f"{parts.scheme}://{parts.netloc}" in settings.endpoints:
        yield
        return
    if parts.scheme != "https":
        raise EvalkitError("address must begin with https://")
    host = str(parts.hostname)
    with _watched(host):
        try:
            socket.getaddrinfo(host, parts.port or 443)
        except OSError as error:
            raise EvalkitError(f"{host}: {error.strerror or error}") from error
        yield


_LOCK = Lock()
_WATCHED: Counter[str] = Counter()
_resolve = socket.getaddrinfo


@contextmanager
def _watched(host: str) -> Iterator[None]:
    global _resolve
    with _LOCK:
        if not +_WATCHED:
            _resolve, socket.getaddrinfo = socket.getaddrinfo, _resolve_watched
        _WATCHED[host] += 1
    try:
        yield
    finally:
        with _LOCK:
            _WATCHED[host] -= 1
            if not +_WATCHED:
                socket.getaddrinfo = _resolve


def _resolve_watched(host: Any, *arguments: Any, **options: Any) -> Any:
    found = _resolve(host, *arguments, **options)
    name = host.decode() if isinstance(host, bytes) else host
    if name is not None and _WATCHED[name.lower()]:
        for *_, address in found:
            if not _is_public(str(address[0])):
                raise OSError(f"{name} is not a public address")
    return found


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address) and found not in _UNICAST:
        return False  # forms of IPv4, and what is of one site or link
    is_ipv4_inside = getattr(found, "sixtofour", None) is not None
    return found.is_global and not found.is_multicast and not is_ipv4_inside


_UNICAST = ipaddress.ip_network("2000::/3")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        # a name that a client writes in another way would not be watched
        is_plain = re.fullmatch("[a-z0-9.:-]+", parts.hostname or "") is not None
        is_whole = is_plain and parts.port != 0
    except ValueError:
        raise RequestError("url: not an address") from None
    if not is_whole or parts.username is not None or parts.query or parts.fragment:
        raise RequestError(
            "url: expected scheme, host and path, without user, query and fragment"
        )
    return parts
