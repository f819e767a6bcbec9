"""The API does what its description says, whatever is sent."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from evalkit_services_server.app import API

from .world import GOOD, World, settings_in

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    most = {"requests_a_minute": 10**9, "submissions_a_day": 10**9}
    server = World(settings_in(tmp_path_factory.mktemp("server"), **most))
    server.upload(GOOD)
    app = server.app
    schema = schemathesis.openapi.from_asgi(f"{API}/openapi.json", app)
    schema.config.update(headers={"authorization": f"Bearer {server.tokens['host']}"})
    yield schema
    server.close()


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_requests_of_every_kind(api: Any, mode: GenerationMode) -> None:
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) > 20
    for operation in operations:
        inputs = [*operation.path_parameters, *operation.query, *operation.body]
        if mode is GenerationMode.NEGATIVE and not inputs:
            continue

        @settings(max_examples=15, deadline=None, suppress_health_check=[*HealthCheck])
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)

        check()
