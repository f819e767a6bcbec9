"""Which verdicts a judge can give, and which of them people mean."""

from __future__ import annotations

import math
from typing import Any

from evalkit_annotators_judge.declaration import Declaration
from evalkit_annotators_judge.parsing import (
    CORRECT,
    INCORRECT,
    LOSS,
    MET,
    NOT_MET,
    TIE,
    WIN,
)


def default_metrics(said: Declaration) -> list[str]:
    """Return what is computed of a judge, `{name}` standing for what it is called."""
    kind = "judge-rate" if is_share(said) else "judge-mean"
    found = [f"{kind}:of={{name}}"]
    found += [f"{kind}:of={{name}}.{each.name}" for each in said.criteria]
    part = "label" if has_labels(said) else "value"
    level = "" if part == "label" else "level=interval,"
    if said.pair is not None and said.pair.swap:
        judges = (
            [f".{each.name}" for each in said.judges] if len(said.judges) > 1 else [""]
        )
        found += [f"judge-order:of={{name}}{each}" for each in judges]
    if len(said.judges) > 1:
        found += [f"{kind}:of={{name}}.{each.name}" for each in said.judges]
        columns = "/".join(f"{{name}}.{each.name}-{part}" for each in said.judges)
        found.append(f"krippendorff-alpha:{level}of={columns}")
    if said.human or said.human_file:
        both = f"{{name}}.{part}/{{name}}.people"
        found.append(f"judge-agreement:of={both}")
        found.append(f"krippendorff-alpha:{level}of={both}")
    return found


def is_share(said: Declaration) -> bool:
    """Tell whether all values are from 0 to 1."""
    rule = said.verdict
    bounds = [*(rule.values or {}).values(), *(rule.range or ())]
    return all(0 <= each <= 1 for each in bounds)


def has_labels(said: Declaration) -> bool:
    """Tell whether verdicts, also combined ones, are labels."""
    rule = said.verdict
    is_many = bool(said.criteria_field) or len(said.criteria) > 1
    is_number = rule.kind == "number" or (rule.kind == "json" and bool(rule.range))
    is_number |= rule.kind == "pair" and bool(rule.values)
    return not (is_many or is_number or said.combine == "mean")


class UnknownVerdict(ValueError):
    """A verdict that a judge cannot give."""


def labels_of(said: Declaration) -> tuple[str, ...] | None:
    """Return the labels of a judge; None where its verdicts are numbers."""
    if not has_labels(said):
        return None
    if said.verdict.values:
        return tuple(said.verdict.values)
    usual = {"pair": (WIN, TIE, LOSS), "correct": (CORRECT, INCORRECT)}
    return usual.get(said.verdict.kind, (MET, NOT_MET))


def peoples_verdict(given: Any, said: Declaration) -> str | float | None:
    """Return what people say in the judge's words, without blanks at both ends."""
    text = given.strip() if isinstance(given, str) else given
    if text is None or text == "":
        return None
    labels = labels_of(said)
    if labels is None:
        return _number(text, said)
    if isinstance(text, bool) and labels == (MET, NOT_MET):
        return MET if text else NOT_MET
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = str(text) if isinstance(text, int) else f"{text:.17g}"
    if text not in labels:
        known = ", ".join(map(repr, labels))
        raise UnknownVerdict(f"{given!r} is none of the judge's, which are {known}")
    return str(text)


def _number(given: Any, said: Declaration) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UnknownVerdict(f"{given!r} is no number, which the judge gives")
    limits = (
        None if said.criteria_field or len(said.criteria) > 1 else said.verdict.range
    )
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise UnknownVerdict(f"{given!r} is out of the judge's range")
    return number
