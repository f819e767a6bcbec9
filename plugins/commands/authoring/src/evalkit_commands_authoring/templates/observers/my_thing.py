"""The observer `my-thing`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class MyThing:
    """Appends a line for each result and each error to the file in OBSERVED."""

    def after_scoring(
        self, dataset: str, model: str, overall: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write the scores of a model."""
        scores = {score["metric"]: score["value"] for score in overall}
        self._write(event="scored", dataset=dataset, model=model, scores=scores)

    def after_failure(self, dataset: str, kind: str, error: str) -> None:
        """Write what went wrong."""
        self._write(event="failed", dataset=dataset, kind=kind, error=error)

    def _write(self, **values: Any) -> None:
        path = Path(os.environ.get("OBSERVED", "observed.jsonl"))
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(values) + "\n")
