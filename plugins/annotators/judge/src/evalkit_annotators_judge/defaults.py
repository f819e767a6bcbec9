"""Which metrics are computed of a judge where the user names none."""

from __future__ import annotations

from evalkit_annotators_judge.declaration import Declaration


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
