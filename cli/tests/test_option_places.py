"""Options that name a place, of this machine or in a store."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "sample-nli", "--problems", "s3://b/problems.jsonl"],
        ["eval", "sample-nli", "--params", "s3://b/parameters.json"],
    ],
    ids=lambda words: str(words[0]),
)
def test_a_file_that_has_to_be_here_is_not_a_uri(words: list[str]) -> None:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 2
    assert f"{words[-1]}: has to be a file of this machine" in done.stderr


def test_adapters_are_read_here_alone() -> None:
    adapter = "predictions=s3://b/adapters.yaml"
    done = CliRunner().invoke(cli, ["eval", "sample-nli", "--adapter", adapter])
    assert done.exit_code == 1
    assert "adapters.yaml: adapters are read from files of this machine" in done.stderr
