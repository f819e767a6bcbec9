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

from evalkit_services_server import accounts
from evalkit_services_server.app import API, make_app
from evalkit_services_server.database import connect, migrate, writing
from evalkit_services_server.settings import Settings
from evalkit_services_server.tasks import add_task

pytestmark = pytest.mark.slow

EXAMPLES = 40

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("server")
    most = 10**9
    chosen = Settings(
        database=f"sqlite:///{folder}/server.db",
        store=f"{folder}/store",
        requests_a_minute=most,
        submissions_a_day=most,
    )
    engine = connect(chosen)
    migrate(engine)
    with writing(engine) as connection:
        add_task(connection, "sentiment")
        host = accounts.create_account(connection, "host", role="administrator")
        scopes = accounts.SCOPES["administrator"]
        token = accounts.create_token(connection, host, "t", scopes)
    schema = schemathesis.openapi.from_asgi(f"{API}/openapi.json", make_app(chosen))
    schema.config.update(headers={"authorization": f"Bearer {token}"})
    yield schema
    engine.dispose()


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_requests_of_every_kind(api: Any, mode: GenerationMode) -> None:
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) > 30
    for operation in operations:
        inputs = [*operation.path_parameters, *operation.query, *operation.body]
        if mode is GenerationMode.NEGATIVE and not inputs:
            continue

        @settings(
            max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck]
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)

        check()
