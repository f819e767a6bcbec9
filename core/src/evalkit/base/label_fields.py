"""Labels: types of fields whose rules depend on them, and their forms."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, ValidationInfo
    from pydantic_core import CoreSchema, InitErrorDetails


SUM_TOLERANCE = 1e-3
"""Maximum distance of a sum of probabilities from 1, for rounded ones."""
BOUND_TOLERANCE = 1e-9
"""Maximum distance of a probability from 0 to 1, for rounding errors."""
RULE = "evalkit"
"""Type of a pydantic error whose message is already a rule of evalkit."""


class IsLabel:
    """Marks a text that is one of the labels, where these are known."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check the label after its type."""
        from pydantic_core.core_schema import with_info_after_validator_function

        return with_info_after_validator_function(_check_label, handler(source))


class IsDistribution:
    """Marks probabilities by label."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check the probabilities after their type."""
        from pydantic_core.core_schema import with_info_after_validator_function

        return with_info_after_validator_function(_check_probabilities, handler(source))

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> Any:
        """Return what JSON Schema says of probabilities."""
        number = {"type": "number", "minimum": 0, "maximum": 1}
        return {"type": "object", "additionalProperties": number}


Label = Annotated[str, IsLabel()]
"""A field of `Output` that holds one of the dataset's labels, or the task's; any text
where neither declares labels."""

Probabilities = Annotated[dict[str, Any], IsDistribution()]
"""A field of `Output` that holds the probability of each label: from 0 to 1, with the
sum 1 (within 0.001). The most probable label may differ from the answer. Where the
labels are not known, the keys are not checked."""


def _check_label(value: str, info: ValidationInfo) -> str:
    labels = _labels(info)
    if labels is None or value in labels:
        return value
    from pydantic_core import PydanticCustomError

    raise PydanticCustomError(RULE, "{rule}", {"rule": _one_of(labels)})


def _check_probabilities(value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    if broken := [*_broken_rules(value, _labels(info))]:
        from pydantic import ValidationError

        raise ValidationError.from_exception_data("Probabilities", broken)
    return value


def _labels(info: ValidationInfo) -> Sequence[str] | None:
    context: Mapping[str, Any] = info.context or {}
    return context.get("labels")


def _one_of(labels: Sequence[str]) -> str:
    return f"must be one of {', '.join(labels)}"


def _broken_rules(
    values: Mapping[str, Any], labels: Sequence[str] | None
) -> Iterator[InitErrorDetails]:
    """Find all that is wrong with probabilities."""
    if labels is not None:
        missing = (label for label in labels if label not in values)
        for label in missing:
            yield {"type": "missing", "loc": (label,), "input": values}
        rule, others = _one_of(labels), (key for key in values if key not in labels)
        yield from (_broken(rule, key, key) for key in others)
    is_number = {
        key: isinstance(value, int | float) and not isinstance(value, bool)
        for key, value in values.items()
    }
    for key, value in values.items():
        if not is_number[key]:
            yield _broken("must be a number", value, key)
        elif not -BOUND_TOLERANCE <= value <= 1 + BOUND_TOLERANCE:
            yield _broken("must be between 0 and 1", value, key)
    if not all(is_number.values()):
        return
    try:
        total = math.fsum(values.values())
    except (OverflowError, ValueError):
        return  # infinite or too large, which breaks the bounds too
    if not abs(total - 1) <= SUM_TOLERANCE:
        yield _broken(f"must sum to 1 (within {SUM_TOLERANCE})", total)


def _broken(rule: str, value: Any, *place: str) -> InitErrorDetails:
    from pydantic_core import PydanticCustomError

    kind = PydanticCustomError(RULE, "{rule}", {"rule": rule})
    return {"type": kind, "loc": place, "input": value}


def folded(label: str) -> str:
    """Return a label without case and surrounding blanks, in the Unicode form NFC."""
    composed = unicodedata.normalize("NFC", label.strip())
    return unicodedata.normalize("NFC", composed.casefold())


def by_form(labels: Iterable[str]) -> Mapping[str, str]:
    """Return labels by their folded forms; raise ValueError where two have one form."""
    found: dict[str, str] = {}
    for label in labels:
        other = found.setdefault(folded(label), label)
        if other != label:
            raise ValueError(f"{other!r} and {label!r} are two labels of one form")
    return found
