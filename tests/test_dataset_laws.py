"""Our data sets keep the laws of data sets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalkit_testing import check_dataset

pytestmark = pytest.mark.known_result


def _solution(row: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    """Return a response of GSM8K, whose models write their steps."""
    return {"id": row["uid"], "answer": f"So it is that.\n#### {answer}"}


@pytest.mark.parametrize(
    ("name", "respond"),
    [
        ("gsm8k", _solution),
        ("hatecheck", None),
        ("med", None),
        ("tweeteval-sentiment", None),
    ],
)
@pytest.mark.slow
def test_a_published_set_keeps_the_laws(
    name: str, respond: Any, external_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    check_dataset(name, respond=respond)
