"""Writes `docs/schema/job.schema.json`, of the file beside predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.base.jobs import JobFigures

PAGE = Path(__file__).parent / "schema" / "job.schema.json"


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file that tells what a job took."""
    schema = JobFigures.model_json_schema()
    for definition in schema["properties"].values():
        del definition["title"], definition["default"]
        [one, null] = definition.pop("anyOf")
        definition |= {**one, "type": [one["type"], null["type"]]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "description": "What the job took that made predictions; the file stands "
        "beside theirs and is called NAME.job.json.",
        "if": {"properties": {"cost": {"type": "number"}}, "required": ["cost"]},
        "then": {
            "properties": {"currency": {"type": "string"}},
            "required": ["currency"],
        },
    }


def main() -> None:
    """Write the schema."""
    text = json.dumps(job_schema(), indent=2, ensure_ascii=False)
    PAGE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
