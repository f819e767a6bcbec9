"""What the API takes. A field that is not known is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from evalkit.catalog import is_component_name, parse_reference
from evalkit_services_server.accounts import NAME

LARGEST_KEY = (1 << 31) - 1


def _installed(reference: str) -> str:
    """Refuse what is not the name of an installed component with plain parameters."""
    found = parse_reference(reference)
    if not is_component_name(found.name):
        raise ValueError("must be the name of an installed component")
    for value in map(str, found.parameters.values()):
        if "://" in value or any(_is_path(part) for part in (value, *value.split("/"))):
            raise ValueError("parameters must not name files or addresses")
    return reference


def _is_path(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return True


Component = Annotated[str, Field(max_length=256), AfterValidator(_installed)]
Text = Annotated[str, Field(max_length=10_000, pattern="^[^\\x00]*$")]
Code = Annotated[str, Field(pattern="^[a-z0-9-]{1,64}$")]
Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Key = Annotated[int, Field(ge=1, le=LARGEST_KEY)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ChangedTask(_Given):
    """New values of a task; null leaves one as it is."""

    perf_metric: Component | None = None
    eval_metrics: list[Component] | None = None
    delta_metrics: list[Component] | None = None
    input_keys: list[Text] | None = None
    weights: dict[Text, Annotated[float, Field(ge=0, le=1000)]] | None = None


class ChangedRound(_Given):
    """The state of a round."""

    state: Literal["open", "closed", "frozen"]


class ChangedDataset(_Given):
    """New values of a dataset; null leaves one as it is."""

    access: Literal["open", "labels-private", "inputs-private"] | None = None
    board: Literal["scoring", "standard", "hidden"] | None = None


class Endpoint(_Given):
    """Where the server asks a model."""

    api: Literal["http", "openai"] = "http"
    url: str = Field(max_length=2000, description="Address with https.")
    model: Text | None = Field(default=None, description="Its name, for `openai`.")
    key_variable: str | None = Field(
        default=None,
        pattern="^EVALKIT_KEY_[A-Z0-9_]{1,64}$",
        description="Environment variable of the server with the key (for `http`, "
        "with headers as JSON). Administrators only.",
    )


class NewModel(_Given):
    """A model to add to a task."""

    task: Code
    name: Name
    endpoint: Endpoint | None = Field(
        default=None, description="Null for a model whose predictions are uploaded."
    )


class ChangedModel(_Given):
    """Whether the host trusts a model with private inputs."""

    is_trusted: bool


class NewJob(_Given):
    """An evaluation to request again."""

    model_id: Key
    dataset_id: Key


class OwnAccount(BaseModel):
    """The account of a token, and what the token may do."""

    name: str
    scopes: list[str]


class Refusal(BaseModel):
    """Why a request is refused."""

    detail: Any
    problems: list[dict[str, Any]] = Field(default=[], description="Rows, with lines.")
