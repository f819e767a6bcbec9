"""The contractions that HELM knows, and their full forms."""

from __future__ import annotations

_NEGATED = (
    "are could did does do had has have is might must need ought should was were would"
)

_ENDINGS = {
    "'m": ("am", "I i"),
    "'s": ("is", "he how she that there what when where who why it"),
    "'re": ("are", "they we what you"),
    "'ve": ("have", "I i they we you where who could might must should would"),
    "'ll": ("will", "I i he how it she they we who you"),
    "'d": ("would", "I i he it she that there they we you"),
}

_OTHERS = {
    "ain't": "is not",
    "can't": "cannot",
    "can't've": "cannot have",
    "he'd've": "he would have",
    "how'd": "how did",
    "how'd'y": "how do you",
    "ma'am": "madam",
    "shan't": "shall not",
    "where'd": "where did",
    "won't": "will not",
    "you'd've": "you would have",
}


def full_forms() -> dict[str, str]:
    """Return the table."""
    regular = {f"{verb}n't": f"{verb} not" for verb in _NEGATED.split()}
    for ending, (verb, hosts) in _ENDINGS.items():
        regular |= {f"{host}{ending}": f"{host} {verb}" for host in hosts.split()}
    table = _OTHERS | regular
    return {short: table[short] for short in sorted(table, key=len)}
