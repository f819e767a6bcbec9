"""A model behind a service that takes and gives JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from pydantic import ConfigDict, Field, model_validator

import evalkit
from evalkit.catalog import describe_component
from evalkit.errors import (
    AdapterError,
    DataError,
    PluginContractError,
    RequiredParameterError,
)
from evalkit_adapters_rows import Pipeline, as_pipeline, read_stages
from evalkit_models_base import Model, NotAnswered
from evalkit_models_base.services import (
    VariableName,
    is_public,
    public_access,
    public_url,
)
from evalkit_models_http.service import read_access

if TYPE_CHECKING:
    from evalkit_models_http.service import Service


class Http(Model):
    """Sends inputs of a task to a service, one object each, and reads what comes back.

    The service gets each input by POST as an object of JSON, adapted by `request`, and
    gives an object, or a list of objects, which `response` makes to a response of the
    task; several are alternatives, the best first. It is asked again where it may
    answer later; what it does not answer is an error of its row.
    """

    batch_requests = 1
    uses_network = True

    class Parameters(evalkit.Parameters):
        """Where the service is, and how it is spoken to."""

        # a secret that is given in place of a name stands in no message
        model_config = ConfigDict(hide_input_in_errors=True)

        url: str | None = Field(
            default=None, exclude=True, description="Address of the service."
        )
        url_variable: VariableName | None = Field(
            default=None,
            exclude=True,
            description="NAME of the environment variable that holds the address, "
            "where a part of it is secret.",
        )
        headers_variable: VariableName | None = Field(
            default=None,
            exclude=True,
            description="NAME of the environment variable that holds headers, as an "
            "object of JSON.",
        )
        request: Path | None = Field(
            default=None,
            exclude=True,
            description="File of adapters from an input to the object that is sent; by "
            "default the input with its uid.",
        )
        response: Path | None = Field(
            default=None,
            exclude=True,
            description="File of adapters from an object that came to a response.",
        )
        concurrency: int = Field(
            default=16, ge=1, exclude=True, description="Most requests at once."
        )

        @model_validator(mode="after")
        def _has_one_address(self) -> Self:
            if self.url is not None and self.url_variable is not None:
                raise ValueError("needs either url or url_variable")
            return self

    def __init__(self, parameters: Parameters) -> None:
        url = parameters.url
        if url is None and parameters.url_variable is None:
            raise RequiredParameterError("models/http needs either url or url_variable")
        if url is not None:
            read_access(url, None, None)
        if url is not None and not is_public(url):
            # it would be in files and messages
            raise PluginContractError(
                "models/http: url holds a password or query; put it into an "
                "environment variable, and name that with url_variable"
            )
        self._given = parameters
        self._request = as_pipeline(parameters.request)
        self._response = as_pipeline(parameters.response)
        self._service: Service | None = None
        self._making = Lock()
        self.concurrency = parameters.concurrency

    def predict(self, inputs: Sequence[Mapping[str, Any]], seconds: float) -> list[Any]:
        """Ask the service about an input."""
        return [self._answer(each, seconds) for each in inputs]

    def _answer(self, given: Mapping[str, Any], seconds: float) -> Any:
        body = _body(given, self._request)
        try:
            answer = self._connected(seconds).ask(body)
        except (evalkit.TryAgain, NotAnswered) as error:
            return error
        return self._outcome(answer, given.get("uid"))

    def describe(self) -> dict[str, Any]:
        """Say where the service is, and what stands between it and the task."""
        given = self._given
        access = read_access(given.url, given.url_variable, None)
        adapters = {"request": given.request, "response": given.response}
        return {
            "name": public_url(access.url),
            **{
                name: read_stages(path)
                for name, path in adapters.items()
                if path is not None
            },
        }

    def describe_request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the service gets for an input, and what reads its answer."""
        given = self._given
        access = read_access(given.url, given.url_variable, given.headers_variable)
        reads = () if self._response is None else self._response.components
        return {
            **public_access(*access),
            "body": _body(request, self._request),
            "response": [
                None if given.response is None else read_stages(given.response),
                *map(describe_component, reads),
            ],
        }

    def close(self) -> None:
        """Close the connections."""
        service, self._service = self._service, None
        if service is not None:
            service.close()

    def _connected(self, seconds: float) -> Service:
        """Return the service; made when it is asked first, as that reads secrets."""
        with self._making:
            if self._service is None:
                from evalkit_models_http.service import Service

                given = self._given
                access = read_access(
                    given.url, given.url_variable, given.headers_variable
                )
                self._service = Service(access, given.concurrency, seconds)
            return self._service

    def _outcome(self, answer: Any, uid: Any) -> Any:
        objects = answer if isinstance(answer, list) else [answer]
        if not objects or not all(isinstance(each, Mapping) for each in objects):
            return NotAnswered(
                "the service's answer is neither an object nor a list of objects"
            )
        try:
            rows = objects if self._response is None else [*self._response(objects)]
        except AdapterError as error:
            return NotAnswered(f"the service's answer cannot be adapted: {error}")
        if not rows:
            return NotAnswered("nothing is left of the service's answer")
        for row in rows:
            if isinstance(row, Mapping) and row.get("id", uid) != uid:
                raise DataError(
                    f"the service's answer has the id {row['id']!r}, and the input "
                    f"{uid!r}: let adapters (response) leave out an id of its own"
                )
        return rows[0] if len(rows) == 1 else {"responses": rows}


def _body(given: Mapping[str, Any], request: Pipeline | None) -> Any:
    if request is None:
        return dict(given)
    rows = [*request([dict(given)])]
    if len(rows) != 1:
        raise DataError(
            f"the adapters of requests make {len(rows)} objects of the input "
            f"{given.get('uid')!r}, and one is sent"
        )
    return rows[0]
