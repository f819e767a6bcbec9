"""`evalkit submit`: where a token is sent."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from evalkit.errors import EvalkitError
from evalkit_commands_submit.command import TOKEN_VARIABLE, submit_command


@pytest.mark.parametrize(
    ("url", "token", "reason"),
    [
        ("http://example.org", "t", "expected https"),
        ("http://127.0.0.1:9", "", "is not set"),
        ("http://127.0.0.1:9", "t", "cannot be reached"),
    ],
)
def test_a_token_is_sent_nowhere_else(
    tmp_path: Path, url: str, token: str, reason: str
) -> None:
    (path := tmp_path / "mine.jsonl").touch()
    given = ["mine", "--predictions", str(path), "--server", url]
    result = CliRunner().invoke(submit_command, given, env={TOKEN_VARIABLE: token})
    assert isinstance(result.exception, EvalkitError)
    assert reason in str(result.exception)
