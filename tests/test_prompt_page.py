"""The page on prompts tells of every key, and its examples are prompts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from evalkit_models_base import Prompt
from evalkit_models_base.prompts import checked_prompt

PAGE = (Path(__file__).parents[1] / "docs" / "prompts.md").read_text(encoding="utf-8")


def rows_of(heading: str) -> dict[str, str]:
    """Return the rows of the first table of a section, by their first cell."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [
        line.strip("|").split(" | ") for line in section.split("\n") if line[:1] == "|"
    ]
    return {row[0].strip(" `"): " ".join(row[1:]) for row in rows[2:]}


def models_of(model: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """Return the keys of a prompt that hold keys of their own."""
    for name, field in model.model_fields.items():
        found = field.annotation
        if isinstance(found, type) and issubclass(found, BaseModel):
            yield name, found


def test_every_key_is_on_the_page() -> None:
    rows = rows_of("Every key")
    assert rows.keys() == {*Prompt.model_fields}
    for name, model in models_of(Prompt):
        lacking = [key for key in model.model_fields if f"`{key}`" not in rows[name]]
        assert not lacking, name


def test_defaults_on_the_page_are_those_of_the_schema() -> None:
    for name, text in rows_of("Every key").items():
        default = text.split(" ")[0].strip("`")
        field: Any = Prompt.model_fields[name]
        if isinstance(field.default, str):
            assert default == (field.default or '""'), name


def test_every_method_is_on_the_page() -> None:
    field: Any = Prompt.model_fields["method"].annotation
    assert rows_of("Methods").keys() == {*field.__args__}


def test_prompts_of_the_page_are_prompts() -> None:
    found = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found
    for text in found:
        assert checked_prompt("page", yaml.safe_load(text)).query
