"""Addresses, waits and secrets of services."""

import base64
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_models_base.services import (
    Cleaner,
    Redacts,
    is_address,
    is_public,
    public_url,
    retry_after,
    secrets_of_url,
)


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("https://user:pass@[::1]/?a=b", True),
        ("ftp://example.org", False),
        ("example.org/v1", False),
        ("http://", False),
        ("http://[example.org", False),
        ("http://example.org:port/", False),
        ("http://example.org:0/", False),
        ("http://exa mple.org/", False),
        ("http://example.org/\n", False),
    ],
)
def test_what_is_an_address(url: str, is_one: bool) -> None:
    assert is_address(url) == is_one


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("http://a.org/v1/?", "http://a.org/v1/"),
        ("http://u:p@a.org:1/v1?key=K#x", "http://a.org:1/v1"),
        ("http://u:p@s@[::1]:1/v1;x", "http://[::1]:1/v1;x"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, public: str) -> None:
    assert public_url(url) == public
    assert is_public(public)


def test_secrets_of_an_address_are_found_in_every_form_in_which_they_are_sent() -> None:
    found = secrets_of_url("https://me:pa%2Fss%20w@a.org/x?key=k%3Dy&other=1#part")
    sent = base64.b64encode(b"me:pa/ss w").decode()
    assert {"pa%2Fss%20w", "pa/ss w", sent, "k=y", "key=k%3Dy&other=1", "part"} <= {
        *found
    }
    assert "me" not in found
    assert secrets_of_url("https://token@a.org")[0] == "token"
    assert secrets_of_url("https://a.org/v1") == []
    dated = Cleaner(
        secrets_of_url("https://a.org/v1?api-version=2024-10-21&k=s3cr3t00")
    )
    assert not dated.finds("It was on 2024-10-21.")
    assert dated.finds("It was s3cr3t00.")


keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8)


@given(keys, st.text(), st.text())
def test_no_key_is_left_in_a_text_that_is_cleaned(
    key: str, before: str, after: str
) -> None:
    clean = Cleaner([f"Bearer {key}"])
    said = clean(f"{before} {key}{after}")
    assert key not in said
    assert len(said) <= 300
    assert clean.finds([{"a": (before + key + after,)}, 3])
    assert clean.finds({key: None})


@pytest.mark.parametrize(
    ("secret", "said", "is_found"),
    [
        ("s3cr", "It is s3cr.", True),
        ("s3cr3t7", "It is 's3cr3t7'", True),
        ("s3cr3t7", "It is s3cr3t77", False),
        ("hunter", "The hunter", False),  # a word
        ("hunters2", "xhunters2x", True),
        ("k3y/with+sign=", "k=k3y%2Fwith%2Bsign%3D&a=b", True),
        ("k3y/with+sign=", "k3y%2fwith%2bsign%3d", True),
        ("k3y/with+sign=", "k3y/with%2Bsign=", True),
        ("k3y/with+sign=", r"{\"a\": \"k3y\/with+sign=\"}", True),
        ('k3y"q\\uo', r"say k3y\"q\\uo now", True),
        ("k3y<and>t", r"k3y\u003cand\u003Et", True),
        ("k3y<and>t", r"k3y\u003cand\ud800\x", False),
        ("100% sure", "100% safe", False),
        ("2024", "in 2024", False),
        ("pass\U0001f511word", r"pass\ud83d\udd11word", True),
    ],
)
def test_secrets_are_found_as_addresses_and_json_write_them(
    secret: str, said: str, is_found: bool
) -> None:
    assert Cleaner([secret]).finds({"a": [said]}) == is_found


@pytest.mark.parametrize(
    ("query", "said", "is_found"),
    [
        ("deployment=assistant", "I am an assistant.", False),
        ("deployment=assistant", "deployment=assistant", False),
        ("deployment=gpt-4o-mini", "I am gpt-4o-mini.", False),
        ("keyword=assistant", "I am an assistant.", False),
        ("max_tokens=4096", "4096", False),
        ("api-version=2024-10-21", "It was on 2024-10-21.", False),
        ("deployment=assistant&subscription-key=opensesame", "opensesame", True),
        ("deployment=assistant&sig=opensesame", "assistant", False),
        ("access_token=opensesame", "opensesame", True),
        ("password=opensesame", "opensesame", True),
        ("x=a1b2c3d4e5", "a1b2c3d4e5", True),
        ("x=123e4567-e89b-12d3", "123e4567-e89b-12d3", True),
        ("x=aBcDeFgH", "aBcDeFgH", True),
        ("x=Assistants", "Assistants", False),
        ("opensesame", "opensesame", True),
    ],
)
def test_a_setting_in_an_address_is_no_reason_to_refuse_an_answer(
    query: str, said: str, is_found: bool
) -> None:
    clean = Cleaner(secrets_of_url(f"https://a.org/v1?{query}"))
    assert clean.finds(said) == is_found
    if not query.startswith("api-version"):
        assert clean(f"see ?{query}") == "see ?***"
    both = Cleaner(secrets_of_url(f"https://u:opensesame@a.org/?x=opensesame&{query}"))
    assert both.finds("opensesame")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
    ],
)
def test_how_long_a_server_wants_to_be_left_alone(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


def test_a_log_holds_no_secret_until_it_is_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    log = logging.getLogger("evalkit-test-client")
    redacts = Redacts(Cleaner(["S3CR3T-K3Y"]), ["evalkit-test-client"])
    log.info("sent %s", "S3CR3T-K3Y")
    try:
        raise ValueError("S3CR3T-K3Y")
    except ValueError:
        log.exception("failed")
    redacts.end()
    assert "sent ***" in caplog.text
    assert "S3CR3T" not in caplog.text
    log.info("as it was")
    assert "as it was" in caplog.text
