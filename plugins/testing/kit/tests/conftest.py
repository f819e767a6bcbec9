"""What the tests of the kit share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ENTRY_POINTS = {
    "evalkit.tasks": {"letters": "Task"},
    "evalkit.metrics": {"hits": "Hits"},
    "evalkit.perturbations": {
        "invariant": "Invariant",
        "swap": "Swap",
        "contrast": "Contrast",
    },
}


@pytest.fixture
def letters(fake_distribution: Callable[..., Any]) -> Any:
    """Install the plugins of `letters.py` as the distribution `letters`."""
    code = Path(__file__).with_name("letters.py").read_text(encoding="utf-8")
    return fake_distribution(code, ENTRY_POINTS, name="letters")
