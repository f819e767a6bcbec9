"""What tokens cost, which only the user knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.errors import DataError, EvalkitError
from evalkit_models_base.requests import Usage

_MILLION = 1_000_000

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(BaseModel):
    """What a million tokens cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Amount
    output: Amount
    """Tokens of thinking included."""
    cached: Amount | None = None
    """Those of the input that the model had read before; None for `input`."""
    currency: str = Field("USD", pattern="^[A-Z]{3}$")
    """Its code of ISO 4217."""

    def of(self, usage: Usage) -> float | None:
        """Return what a reply cost; None where it does not say its tokens."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        again = 0 if self.cached is None else usage.cached_tokens or 0
        read = max(0, usage.input_tokens - again) * self.input
        read_again = again * (self.cached or 0)
        return (read + read_again + usage.output_tokens * self.output) / _MILLION


def price_of(
    given: str | Path | Mapping[str, Any] | None, names: Sequence[str]
) -> Price | None:
    """Return the price of a model."""
    if given is None:
        return None
    said, where = _read(given)
    if not isinstance(said, Mapping) or not said:
        raise DataError(f"{where}: a price is input=…,output=…, or these by model")
    if not all(isinstance(each, Mapping) for each in said.values()):
        return _checked(where, said)
    prices = {name: _checked(f"{where}: {name}", each) for name, each in said.items()}
    return next((prices[name] for name in names if name in prices), None)


def refuse_unknown_cost(model: str, limit: float | None, price: Price | None) -> None:
    """Refuse a limit of what nobody knows."""
    if limit is not None and price is None:
        raise EvalkitError(
            f"--cost-limit needs what the tokens of {model} cost: say it with --price "
            "input=…,output=… (per million), or in a file by its name"
        )


def _read(given: str | Path | Mapping[str, Any]) -> tuple[Any, str]:
    if isinstance(given, Mapping):
        return given, "price"
    text = str(given)
    if isinstance(given, Path) or "=" not in text:
        from evalkit_adapters_rows import read_stages

        return read_stages(text), text
    pairs = [part.partition("=") for part in text.split(",")]
    return {name.strip(): value.strip() for name, _, value in pairs}, "price"


def _checked(where: str, said: Any) -> Price:
    try:
        return Price.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(Price.model_fields)
            raise DataError(f"{where}: there is no {key!r}; there is {known}") from None
        if first["type"] == "missing":
            raise DataError(
                f"{where}: {key} is missing: what a million tokens cost"
            ) from None
        raise DataError(f"{where}: {key}: {first['msg']}, is {first['input']!r}") from (
            None
        )
