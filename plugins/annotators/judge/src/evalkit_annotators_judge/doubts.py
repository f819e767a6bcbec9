"""Doubts about a declaration that contradicts nothing, and will hardly do its work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evalkit_annotators_judge.declaration import Declaration
from evalkit_annotators_judge.mentions import whole_words


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
