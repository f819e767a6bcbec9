"""What a host sets: by the environment, or by a file `.env` in the working folder."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MEBIBYTE = 1 << 20


class Settings(BaseSettings):
    """Settings of the server and its workers.

    Each is read from the environment as `EVALKIT_SERVER_<NAME>`, such as
    `EVALKIT_SERVER_DATABASE=postgresql+psycopg://evalkit@localhost/evalkit`.
    """

    model_config = SettingsConfigDict(
        env_prefix="EVALKIT_SERVER_", env_file=".env", extra="ignore"
    )

    database: str = "sqlite:///evalkit-server.db"
    """SQLAlchemy's address of the database: SQLite, or PostgreSQL by psycopg."""
    store: str = "evalkit-store"
    """Folder or `s3://` place of datasets, predictions and runs."""
    datasets: Annotated[tuple[str, ...], NoDecode] = ()
    """`module:load_datasets`, which return datasets beside the installed ones."""
    access: Literal["open", "labels-private", "inputs-private"] = "open"
    """Access of datasets when they are added."""
    host: str = "127.0.0.1"
    """Address that the server listens on."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port that the server listens on."""
    is_behind_https: bool = False
    """Whether browsers reach the server by https only; needed beyond loopback."""
    endpoints: Annotated[tuple[str, ...], NoDecode] = ()
    """Where everybody may register endpoints, by commas: `HOST[:PORT]` means https and
    public addresses; for `http://HOST:PORT`, the host vouches whatever it is."""
    submissions_a_day: PositiveInt = 100
    """Submissions of an account to all tasks in 24 hours."""
    private_submissions_a_day: PositiveInt = 5
    """Of them, those to one private dataset."""
    requests_a_minute: PositiveInt = 600
    """Requests of an account or address."""
    lease: PositiveFloat = 60.0
    """Seconds without a sign of life after which a job is taken again."""
    job_seconds: PositiveFloat = 3600.0
    """Seconds that one evaluation may take."""
    job_bytes: PositiveInt = 4096 * MEBIBYTE
    """Memory that one evaluation may use."""

    @field_validator("datasets", "endpoints", mode="before")
    @classmethod
    def _split(cls, given: object) -> object:
        return given.split(",") if isinstance(given, str) else given

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite, and so of one machine."""
        return self.database.startswith("sqlite")
