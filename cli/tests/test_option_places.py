"""Options that name a place, of this machine or in a store."""

import pytest
from click.testing import CliRunner

from evalkit_cli.main import cli

WITHOUT_BUCKET = "s3:///runs"  # as `s3://$BUCKET/runs`, where there is no BUCKET


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "sample-nli", "-o", WITHOUT_BUCKET],
        ["runs", "-o", WITHOUT_BUCKET],
        ["rescore", "latest", "-m", "mcc", "-o", WITHOUT_BUCKET],
        ["leaderboard", WITHOUT_BUCKET],
        ["report", "latest", "--runs", WITHOUT_BUCKET],
    ],
    ids=lambda words: str(words[0]),
)
def test_a_uri_without_a_bucket_is_not_that_of_another(words: list[str]) -> None:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 2
    assert "s3:///runs: names no bucket: write s3://BUCKET/FILE" in done.stderr
