"""What the API takes and answers, as its description (OpenAPI) says it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from evalkit_services_server.accounts import (
    LONGEST_PASSWORD,
    NAME,
    SHORTEST_PASSWORD,
)


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _installed(reference: str) -> str:
    """Refuse what is not the name of an installed component with plain parameters."""
    from pathlib import Path

    from evalkit.catalog import is_component_name, parse_reference

    found = parse_reference(reference)
    if not is_component_name(found.name):
        raise ValueError("must be the name of an installed component")
    for value in found.parameters.values():
        for part in (str(value), *str(value).split("/")):
            if "://" in part or (part and Path(part).exists()):
                raise ValueError("parameters must not name files or addresses")
    return reference


Moment = Annotated[datetime, AfterValidator(_in_utc)]
Component = Annotated[str, Field(max_length=256), AfterValidator(_installed)]
Text = Annotated[str, Field(max_length=10_000, pattern="^[^\\x00]*$")]
Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Key = Annotated[int, Field(ge=1, lt=1 << 31)]
Access = Literal["open", "labels-private", "inputs-private"]
Password = Annotated[
    str, Field(min_length=SHORTEST_PASSWORD, max_length=LONGEST_PASSWORD)
]
TokenScope = Literal["read", "submit", "administer"]


class Given(BaseModel):
    """What a request says; a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class Task(BaseModel):
    """A task."""

    id: int
    code: str
    input_keys: list[str]
    perf_metric: str
    eval_metrics: list[str]
    delta_metrics: list[str]
    weights: dict[str, float]
    example: Any
    description: str
    changed: Moment


class ChangedTask(Given):
    """New values of a task; null leaves one as it is."""

    perf_metric: Component | None = None
    eval_metrics: list[Component] | None = None
    delta_metrics: list[Component] | None = None
    input_keys: list[Text] | None = None
    weights: dict[Text, Annotated[float, Field(ge=0, le=1000)]] | None = None


class Round(BaseModel):
    """A round of a task."""

    number: int
    state: str


class ChangedRound(Given):
    """The state of a round."""

    state: Literal["open", "closed", "frozen"]


class Dataset(BaseModel):
    """One version of a dataset."""

    id: int
    task: str
    round: int = Field(description="0 is none.")
    name: str
    version: str
    fingerprint: str
    parent_id: int | None
    perturbation: str | None
    access: Access
    board: Literal["scoring", "standard", "hidden"]
    languages: list[str]
    description: str
    source_url: str | None
    warning: str | None
    added: Moment


class ChangedDataset(Given):
    """New values of a dataset; null leaves one as it is."""

    access: Access | None = None
    board: Literal["scoring", "standard", "hidden"] | None = None
    description: Text | None = None


class FoundScan(BaseModel):
    """What a scan found about a dataset."""

    id: int
    name: str
    outcome: str
    reason: str | None
    at: Moment


class Endpoint(Given):
    """A model that the server asks."""

    api: Literal["http", "openai"] = "http"
    url: str = Field(max_length=2000, description="Address with https.")
    model: Text | None = Field(default=None, description="Its name, for `openai`.")
    key_variable: str | None = Field(
        default=None,
        pattern="^EVALKIT_KEY_[A-Z0-9_]{1,64}$",
        description="Environment variable of the server that holds the key. "
        "Administrators only.",
    )


class NewModel(Given):
    """A model to add to a task."""

    task: Annotated[str, Field(pattern="^[a-z0-9-]{1,64}$")]
    name: Name
    endpoint: Endpoint | None = Field(
        default=None, description="Null for a model whose predictions are uploaded."
    )


class Model(BaseModel):
    """A model of a task."""

    id: int
    task: str
    account: str
    name: str
    kind: Literal["uploaded", "asked"]
    is_trusted: bool
    added: Moment


class ChangedModel(Given):
    """Whether the host trusts a model with private inputs."""

    is_trusted: bool


class Submission(BaseModel):
    """Predictions that were uploaded."""

    id: int
    model_id: int
    dataset_id: int
    sha256: str
    size: int
    received: Moment


class NewSubmission(Submission):
    """The same, with the job that evaluates it."""

    job_id: int | None


class Job(BaseModel):
    """A requested evaluation."""

    id: int
    model_id: int
    dataset_id: int
    submission_id: int | None
    state: Literal["waiting", "running", "done", "refused", "failed"]
    progress: str | None
    share: float | None
    reason: str | None
    run_id: int | None
    requested: Moment
    started: Moment | None
    ended: Moment | None


class NewJob(Given):
    """An evaluation to request again."""

    model_id: Key
    dataset_id: Key


class Account(BaseModel):
    """An account."""

    id: int
    name: str
    role: Literal["administrator", "submitter"]
    is_active: bool
    created: Moment


class NewAccount(Given):
    """An account to add."""

    name: Name
    password: Password | None = None
    role: Literal["administrator", "submitter"] = "submitter"


class ChangedAccount(Given):
    """New values of an account; null leaves one as it is."""

    password: Password | None = None
    role: Literal["administrator", "submitter"] | None = None
    is_active: bool | None = None


class Token(BaseModel):
    """A token, without its secret."""

    id: int
    label: str
    scopes: list[str]
    created: Moment
    expires: Moment | None


class NewToken(Given):
    """A token to add."""

    label: Annotated[str, Field(min_length=1, max_length=64, pattern="^[^\\x00]*$")]
    scopes: list[TokenScope]
    days: Annotated[int, Field(ge=1, le=3650)] | None = None


class CreatedToken(BaseModel):
    """A token that was added; it cannot be read again."""

    token: str
