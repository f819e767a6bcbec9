"""What may be secret is in no text."""

import logging
import sys
import traceback
from types import ModuleType, SimpleNamespace

import pytest

import evalkit
import evalkit_models_base
from evalkit.errors import EvalkitError, PluginContractError
from evalkit_models_base import BoundModel, predict
from evalkit_models_base.services import Cleaner, Redacts
from evalkit_models_openai.credentials import (
    is_hosted,
    read_key,
    read_secret,
    secrets_of,
)
from evalkit_models_openai.refusals import Asked, Failure, Unusable, status_reply


@pytest.mark.parametrize(
    ("url", "hosted"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://openai.com.example.org/v1", False),
        ("https://notopenai.com/v1", False),
        ("http://127.0.0.1/openai.com", False),
        ("http://openai.com@127.0.0.1/", False),
    ],
)
def test_servers_of_openai_are_told_from_others(url: str, hosted: bool) -> None:
    assert is_hosted(url) == hosted


@pytest.mark.parametrize(
    ("said", "clean"),
    [
        ("the key sk-0123456789abc is wrong", "the key *** is wrong"),
        ("the key 'sk-01234…' is wrong", "the key '*** is wrong"),
        ("key=sk-0123456789abc&a=b is wrong", "key=*** is wrong"),
        ({"message": "no sk-0123456789abc"}, "no ***"),
        ({"detail": "no sk-0123456789abc"}, "no ***"),
        ({"detail": ["sk-0123456789abc"]}, "['***"),
        ({"errors": ["sk-0123456789abc"]}, "{'errors': ['***"),
        ("the password short is in shortage", "the password *** is in shortage"),
        ("two\n lines", "two lines"),
        ("", ""),
        ("x" * 301, "x" * 299 + "…"),
    ],
)
def test_texts_are_cleaned(said: object, clean: str) -> None:
    secrets = secrets_of("sk-0123456789abc", "http://user:short@example.org")
    assert Cleaner(secrets)(said) == clean


@pytest.mark.parametrize(
    "address",
    [
        "http://user:PaSsWoRd@[example.org/v1",
        "http://user:x@y@127.0.0.1:PaSsWoRd/v1",
        "user:PaSsWoRd@127.0.0.1/v1",
        "http://user:PaSsWoRd@127.0.0.1:1/v1",
        "http://127.0.0.1:1/v1?key=PaSsWoRd",
        "http://user:PaSsWoRd@\u00e9x ample/v1",
    ],
)
@pytest.mark.parametrize("where", ["parameter", "environment"])
def test_no_malformed_address_gives_credentials_away(
    address: str,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abc")
    model = "openai:model=m"
    if where == "environment":
        monkeypatch.setenv("OPENAI_BASE_URL", address)
    else:
        model += f",base_url={address}"
    try:
        said = str(
            predict(
                data=[{"uid": "1", "statement": "a", "label": "positive"}],
                task="sentiment",
                model=model,
                asked=evalkit_models_base.Asked(
                    retries=0, max_errors=1, is_cached=False
                ),
            )
        )
    except EvalkitError as error:
        said = str(error)
    assert said
    assert "PaSsWoRd" not in said
    assert "PaSsWoRd" not in caplog.text


def test_what_changes_no_reply_is_not_what_replies_are_kept_by() -> None:
    def described(**parameters: object) -> tuple[object, object]:
        given = {"model": "m", "base_url": "http://127.0.0.1:1/v1", **parameters}
        model = BoundModel.of(evalkit.Registry().load("models", "openai", given))
        return dict(model.changed_parameters), model.describe()

    assert described() == described(concurrency=3, api_key_variable="OTHER_KEY")
    assert described() == described(base_url="http://127.0.0.1:1/v1/")
    assert described() != described(reasoning_effort="low")
    assert described() != described(base_url="http://127.0.0.1:2/v1")


@pytest.mark.parametrize(
    "url",
    [
        "https://user:PaSsWoRd@example.org/v1",
        "https://PaSsWoRd@example.org/v1",
        "https://example.org/v1?key=PaSsWoRd",
        "https://example.org/v1?version=1&key=PaSsWoRd",
    ],
)
def test_the_client_logs_no_secret(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    loggers = ("httpx2", "openai._base_client")
    redacts = Redacts(Cleaner(secrets_of("sk-0123456789abc", url)), loggers)
    for name in loggers:
        logging.getLogger(name).info("HTTP Request: %s %s", "POST", url)
    redacts.end()
    assert caplog.text.count("POST https://") == 2
    assert "PaSsWoRd" not in caplog.text
    assert Cleaner(secrets_of("", url))("the key PaSsWoRd is wrong") == (
        "the key *** is wrong"
    )


class NoKeyringError(RuntimeError):
    """As keyring has it."""


def test_a_secret_of_the_environment_stands_before_that_of_the_key_ring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = {("evalkit", "SOME_KEY"): " from the ring\n"}

    def get_password(service: str, user: str) -> str | None:
        if user == "LOCKED_KEY":
            raise RuntimeError("it is locked")
        if user == "RINGLESS_KEY":
            raise NoKeyringError
        return kept.get((service, user))

    ring, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    vars(ring)["get_password"] = get_password
    vars(errors).update(KeyringError=RuntimeError, NoKeyringError=NoKeyringError)
    monkeypatch.setitem(sys.modules, "keyring", None)  # it is not installed
    vars(ring)["get_keyring"] = lambda: SimpleNamespace(name="A Ring")
    assert read_secret("SOME_KEY").value == ""
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    where = "the key ring 'A Ring' (evalkit, SOME_KEY)"
    assert read_secret("SOME_KEY") == ("from the ring", where)
    assert read_secret("RINGLESS_KEY").value == read_secret("NO_KEY").value == ""
    with pytest.raises(
        Unusable, match="'A Ring' cannot be read for LOCKED_KEY"
    ) as told:
        read_secret("LOCKED_KEY")
    assert told.value.is_fatal
    assert ": it is locked; unlock it" in told.value.reason
    with pytest.raises(Unusable) as told:
        read_key("SOME_KEY", "https://api.openai.com/v1")
    assert told.value.reason == f"{where} holds something that cannot be a key"
    with pytest.raises(EvalkitError, match="the key ring 'A Ring' cannot") as ended:
        predict(
            data=[{"uid": "1", "statement": "a", "label": "positive"}],
            task="sentiment",
            model="openai:model=m,api_key_variable=LOCKED_KEY",
        )
    assert not isinstance(ended.value, PluginContractError)
    monkeypatch.setenv("SOME_KEY", "from the environment")
    where = "the environment variable SOME_KEY"
    assert read_secret("SOME_KEY") == ("from the environment", where)


@pytest.mark.parametrize("variable", [None, "SOME_KEY"])
def test_a_key_is_not_sent_to_openai_without_encryption(
    variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abc")
    monkeypatch.setenv("SOME_KEY", "sk-0123456789abc")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(Unusable, match="without encryption: let the") as told:
        read_key(variable, "http://api.openai.com/v1")
    assert told.value.is_fatal
    assert read_key(variable, "https://api.openai.com/v1").value == "sk-0123456789abc"


@pytest.mark.parametrize("model", ["openai", "openai-batch"])
@pytest.mark.parametrize("key", ["sk-0123-abcDEF", "sk0123abcDEF", "AKIA0123ABCDEF"])
def test_a_key_that_is_given_as_a_name_is_never_shown(
    model: str,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    given = {"model": f"{model}:model=m,api_key_variable={key}"}
    with caplog.at_level(logging.DEBUG), pytest.raises(EvalkitError) as caught:
        predict("sample-nli", limit=2, **given)
    told = "".join(traceback.format_exception(caught.value))
    assert "api_key_variable" in str(caught.value)
    assert key not in told
    assert key not in caplog.text


@pytest.mark.parametrize(
    ("url", "status", "advice"),
    [
        ("http://127.0.0.1:8080", 404, "lack /v1 at its end: http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1/api/", 405, "lack /v1 at its end: http://127.0.0.1/api/v1"),
        ("http://127.0.0.1:8080/v1", 404, ""),
        ("http://127.0.0.1:8080/v1beta/openai", 404, ""),
        ("http://127.0.0.1:8080", 400, ""),
    ],
)
def test_an_address_without_a_version_is_told_where_nothing_is_found(
    url: str, status: int, advice: str
) -> None:
    asked = Asked(url, "m", None, False, Cleaner([]))
    error = str(status_reply(Failure(status, "Not Found"), asked).error)
    assert error.endswith(advice)
    assert ("/v1 at its end" in error) == bool(advice)
