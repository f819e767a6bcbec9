"""Predict ``sample-sentiment`` with the AFINN word list (package ``afinn``).

AFINN adds up the valences of the words that it knows. The sign of the sum is
the label, and a sum of zero is neutral. The package gives no probabilities.
"""

from __future__ import annotations

from typing import Any

from _shared import main
from afinn import Afinn

_AFINN = Afinn()


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict the sentiment of one statement.

    Args:
        row: A row of the data set, without its gold fields.

    Returns:
        The label.
    """
    score = _AFINN.score(row["statement"])
    if score > 0:
        return {"label": "positive"}
    if score < 0:
        return {"label": "negative"}
    return {"label": "neutral"}


if __name__ == "__main__":
    main("sample-sentiment", "afinn", predict)
