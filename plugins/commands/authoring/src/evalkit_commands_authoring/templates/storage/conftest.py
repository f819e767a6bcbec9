"""What `pytest --evalkit-conformance` checks the laws with."""

from __future__ import annotations

import os
import tempfile
from typing import Any

_FOLDER = tempfile.TemporaryDirectory()  # removed when the process ends


def pytest_evalkit_options(kind: str, name: str) -> dict[str, Any] | None:
    """Return arguments of `check_storage`: a place where nothing is."""
    os.environ["MY_THING_FOLDER"] = _FOLDER.name
    return {"place": "my-thing://tried/"}
