"""Refuses declarations that contradict themselves, before anything is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from evalkit.errors import DataError, PluginContractError
from evalkit_annotators_judge.declaration import Declaration, Kind, VerdictRule
from evalkit_annotators_judge.parsing import mirrored, whole_words

OWN_FIELDS = ("response", "reference", "rubric", "criterion", "first", "second")
"""Fields of templates that neither data nor predictions have."""

_TAKES: Mapping[Kind, tuple[str, ...]] = {
    "label": ("values", "tag", "pattern", "take"),
    "number": ("range", "tag", "pattern", "take"),
    "json": ("key", "values", "range"),
    "correct": ("words",),
    "pair": ("marks", "values"),
}
"""The keys of a rule that each kind of verdict reads."""


def check(said: Declaration) -> None:
    """Refuse a declaration that contradicts itself."""
    for key, problem in _problems(said):
        raise PluginContractError(f"{key}: {problem}")


def _problems(said: Declaration) -> Iterator[tuple[str, str]]:
    yield from _problems_of_models(said)
    yield from _problems_of_rubric(said)
    yield from _problems_of_verdict(said)
    yield from _problems_of_templates(said)


def _problems_of_models(said: Declaration) -> Iterator[tuple[str, str]]:
    if bool(said.model) == bool(said.judges):
        yield "model", "name one model, or several under judges"
    if len(said.judges) > 1 and said.combine is None:
        yield "combine", "say whether several judges are combined by majority or mean"
    if len(said.judges) <= 1 and said.combine is not None:
        yield "combine", "there is one judge; leave it out"
    rule = said.verdict
    is_scaled = rule.kind == "pair" and bool(rule.values)
    if said.combine == "majority" and (rule.range is not None or is_scaled):
        yield "combine", "numbers have no majority; write mean"
    if said.human is not None and said.human_file is not None:
        yield "human_file", "human names a field already; leave one of them out"
    names = {each.name for each in said.criteria}
    for each in said.judges:
        if each.name in names:
            yield "judges", f"{each.name!r} is the name of a criterion, too"
    ways = {f"judges.{one.name}.generate": said.generates(one) for one in said.judges}
    for key, way in {"generate": said.generate, **ways}.items():
        if way.completions != 1:
            yield f"{key}.completions", "a judge says one thing; leave it out"


def _problems_of_rubric(said: Declaration) -> Iterator[tuple[str, str]]:
    given = [bool(said.rubric), bool(said.criteria), bool(said.criteria_field)]
    if sum(given) != 1:
        what = "there is none" if not any(given) else "there are several"
        yield (
            "rubric",
            f"{what}; write one in rubric, several in criteria, or the field that "
            "holds them in criteria_field",
        )
    if said.verdict.kind == "pair" and not said.rubric:
        yield "criteria", "pairs are judged by one rubric; write it in rubric"
    if said.criteria and not any(each.points > 0 for each in said.criteria):
        yield "criteria", "none has points above 0"


def _problems_of_verdict(said: Declaration) -> Iterator[tuple[str, str]]:
    rule = said.verdict
    for name in sorted(rule.model_fields_set - {"kind"}):
        if name not in _TAKES[rule.kind]:
            takes = ", ".join(_TAKES[rule.kind])
            yield f"verdict.{name}", f"the kind {rule.kind} takes {takes} only"
    yield from _problems_of_values(rule, said.pair is None or said.pair.swap)
    if rule.tag is not None and rule.pattern is not None:
        yield "verdict.pattern", "there is a tag already; leave one out"
    if rule.pattern is not None:
        yield from _problems_of_pattern(rule.pattern)
    if (said.pair is not None) != (rule.kind == "pair"):
        key = "pair" if said.pair is None else "verdict.kind"
        need = (
            "write [pair]" if said.pair is None else "write pair, or leave [pair] out"
        )
        yield key, f"pairs are compared where both [pair] and the kind say so; {need}"


def _problems_of_values(
    rule: VerdictRule, is_swapped: bool
) -> Iterator[tuple[str, str]]:
    if rule.kind == "label" and not rule.values:
        yield "verdict.values", "there are none; write what each label is worth"
    if rule.kind == "number" and rule.range is None:
        yield "verdict.range", "there is none; write the least and greatest number"
    if rule.range is not None and rule.range[0] >= rule.range[1]:
        yield "verdict.range", "the first number must be less than the second"
    if rule.kind == "pair" and rule.values and "marks" in rule.model_fields_set:
        yield "verdict.marks", "values has the marks; leave one of them out"
    if rule.kind == "pair" and rule.values and is_swapped and not mirrored(rule.values):
        yield (
            "verdict.values",
            "they do not say what each mark is worth when both answers change places; "
            "name marks by A and B, as [[A>B]] and [[B>A]], or choose different "
            "worths, the first and the last of which add up to what all others do",
        )
    if rule.values and rule.range:
        yield "verdict.range", "a verdict is a label or a number; leave one out"
    for key, several in {"words": rule.words, "marks": rule.marks}.items():
        if len({*several}) < len(several):
            yield f"verdict.{key}", "two of them are the same"


def _problems_of_pattern(pattern: str) -> Iterator[tuple[str, str]]:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        yield "verdict.pattern", f"it is no regular expression: {error}"
        return
    if groups != 1:
        yield "verdict.pattern", f"it must have one group, has {groups}"


def _problems_of_templates(said: Declaration) -> Iterator[tuple[str, str]]:
    is_pair = said.verdict.kind == "pair"
    shown = ("first", "second") if is_pair else ("response",)
    named: set[str] = set()
    for key, template in templates_of(said).items():
        try:
            fields = _fields_of(template)
        except DataError as error:
            yield key, str(error)
            return
        named |= {*fields}
        for field in fields:
            other = {"first", "second", "response"} - {*shown}
            if field in other:
                yield key, f"it names {{{field}}}; write {_braced(shown)}"
    for field in (*shown, "rubric"):
        if field not in named:
            near = get_close_matches(field, named, n=1)
            hint = f" (it names {{{near[0]}}})" if near else ""
            yield "prompt.user", f"the judge never sees {{{field}}}{hint}; write it in"


def templates_of(said: Declaration) -> dict[str, str]:
    """Return the templates of a declaration by their keys."""
    found = {"prompt.user": said.prompt.user}
    if said.prompt.system is not None:
        found["prompt.system"] = said.prompt.system
    return found


def fields_read(said: Declaration) -> list[str]:
    """Return the fields of data and predictions that a judge reads, each once."""
    named = [
        field.partition(".")[0]
        for template in templates_of(said).values()
        for field in _fields_of(template)
    ]
    named = [name for name in named if name not in OWN_FIELDS]
    named += [said.criteria_field] if said.criteria_field else []
    named += [said.pair.other] if said.pair else []
    named += [said.human] if said.human else []  # refused where there is none
    named += ["uid"] if said.human_file else []
    return list(dict.fromkeys(named))


def _fields_of(template: str) -> list[str]:
    from evalkit_models_base import fields_of

    return fields_of(template)


def _braced(names: tuple[str, ...]) -> str:
    return " and ".join(f"{{{name}}}" for name in names)


def doubts_of(said: Declaration) -> Iterator[str]:
    """Find what a judge is hardly ever going to say."""
    if len(said.judges) == 2 and said.combine == "majority":
        yield (
            "combine: two judges have a majority only where both say the same, and all "
            "other responses have no verdict; name a third one, or write mean"
        )
    unsaid = unsaid_words(said)
    if unsaid:
        key = _key_of_words(said)
        named = ", ".join(map(repr, unsaid))
        verb = "stands" if len(unsaid) == 1 else "stand"
        yield (
            f"{key}: {named} {verb} neither in the prompt nor in a rubric, so that the "
            "judge will hardly say so; write into the prompt what it may say"
        )


def unsaid_words(said: Declaration) -> list[str]:
    """Return the labels, marks or keys that the judge never sees."""
    if said.criteria_field is not None:
        return []
    rubrics = [each.rubric for each in said.criteria]
    seen = [said.prompt.user, said.prompt.system or "", said.rubric or "", *rubrics]
    text = "\n".join(seen)
    return [word for word in _words(said) if not re.search(whole_words([word]), text)]


def _words(said: Declaration) -> Sequence[str]:
    rule = said.verdict
    if rule.kind == "json":
        return [rule.key, *(rule.values or ())]
    if rule.values:
        return [*rule.values]
    return {"pair": rule.marks, "correct": rule.words}.get(rule.kind, ())


def _key_of_words(said: Declaration) -> str:
    rule = said.verdict
    if rule.kind == "json" and not rule.values:
        return "verdict.key"
    if rule.values:
        return "verdict.values"
    return {"pair": "verdict.marks", "correct": "verdict.words"}[rule.kind]
