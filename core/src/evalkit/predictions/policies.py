"""What happens to examples without a valid response, and to repeated ids."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from evalkit.errors import EvalkitError

OnProblem = Literal["error", "wrong", "skip"]
OnDuplicate = Literal["error", "first", "last"]


class Policies(NamedTuple):
    """What happens to examples without a valid response, and to repeated ids."""

    on_missing: OnProblem = "error"
    on_invalid: OnProblem = "error"
    on_duplicate: OnDuplicate = "error"

    @property
    def counted(self) -> tuple[str, ...]:
        """Statuses of the examples that scores are about."""
        others = {"missing": self.on_missing, "invalid": self.on_invalid}
        wrong = (status for status, policy in others.items() if policy == "wrong")
        return ("scored", *wrong)

    def check(self) -> None:
        """Refuse a policy that does not exist."""
        for (name, value), choices in zip(
            self._asdict().items(), (OnProblem, OnProblem, OnDuplicate), strict=True
        ):
            if value not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise EvalkitError(f"{name} must be one of {known}, is {value!r}")
