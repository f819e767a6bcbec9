"""Finds labels and numbers that are written in several forms, and what is no label.

Labels are looked at only where outputs are labels: they are declared, or each of them
is the answer of five examples on average. Free text is left alone. Forms are compared
as distinct values, so that a million rows cost no more than counting them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import polars as pl

from evalkit.base.columns import named
from evalkit.base.terms import AnswerKind
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment

_REPEATED = 5
"""Answers that are given so many times on average are labels."""

_MOST_INVALID = 1000
"""Invalid predictions that are looked at, as each is read from where it is kept."""

_SHOWN_LABELS = 3
_SHOWN_FORMS = 4

_LABEL_KINDS: tuple[AnswerKind, ...] = ("one", "any-of", "all-of")

_UNSEEN_MARKS = (
    r"\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    r"\U000e0100-\U000e01ef"
)
"""Letters and marks that are not seen, such as variation selectors."""

_IGNORED = rf"[\s\p{{Cf}}{_UNSEEN_MARKS}]"
"""Blanks of all kinds, and what is not seen: zero width, soft hyphens, direction."""

_FOLDED_FURTHER = (
    r"i\u0307|[\u00df\u01f0\u0345\u0390\u03b0\u03c2\u13f8-\u13fd\u1c80-\u1c88"
    r"\u1e96-\u1e99\u1f50-\u1ff7\uab70-\uabbf]"
)
"""What is lower case, but not as Unicode folds case, such as ß; and the İ in it."""

_HAS_UNSEEN_MARK = re.compile(f"[{_UNSEEN_MARKS}]")

_HOW = "only in case, blanks or Unicode form"

_AS_UNSET = "as tables write a value that is not there"

_UNSET = ("nan", "null", "<na>", "#n/a")
"""Folded texts that programs write for a missing value. `none` and `na` may be labels
of their own."""


def label_notices(
    examples: Examples, alignment: Alignment | None = None, *, show: bool = True
) -> list[str]:
    """Say which labels are written in several forms, and which predictions are none.

    Args:
        examples: The examples, each as often as there are replications.
        alignment: Their predictions; None where there are none.
        show: Whether labels may be quoted.

    Returns:
        One sentence for each fact; none where outputs are no labels.
    """
    answers = examples.frame["answer"]
    if alignment is not None and alignment.replications:
        answers = answers.gather_every(len(alignment.replications))
    counts = _label_counts(answers, examples.labels, examples.answer_kind)
    if counts is None:
        return []
    notices = _gold_notices(counts, show)
    if alignment is None:
        return notices
    if examples.labels is not None:
        declared = _with_forms(pl.DataFrame({"label": list(examples.labels)}))
        counts = pl.concat([counts, declared], how="diagonal_relaxed")
    notices += _invalid_notices(alignment, counts, show)
    given = _texts(alignment.predictions)
    if given is None:
        return notices
    strange = _counted(given.filter(~given.is_in(counts["label"].implode())))
    if strange.is_empty():
        return notices
    notices += _prediction_notices(strange, counts, show)
    is_single = not isinstance(answers.dtype, pl.List)
    if show and is_single and examples.labels is None:
        number = count_of(int(strange["count"].sum()), "prediction")
        frequent = strange.filter(pl.col("count") == pl.col("count").max())
        most = shorten(frequent["label"].min())
        labels = counts["label"][:_SHOWN_LABELS]
        known = "; ".join(map(_quoted, labels))
        more = counts.height - len(labels)
        known += f"; and {more} more" if more else ""
        notices.append(
            f"{number} of a label that no example has, such as {most}; the labels are: "
            f"{known}"
        )
    return notices


def is_about_forms(notice: str) -> bool:
    """Tell whether a notice says that labels or predictions differ in form only."""
    return _HOW in notice


def _label_counts(
    answers: pl.Series, labels: Sequence[str] | None, kind: AnswerKind
) -> pl.DataFrame | None:
    """Count the labels, with their folded forms; None where answers are no labels."""
    texts = _texts(answers) if kind in _LABEL_KINDS else None
    if texts is None:
        return None
    total = len(texts)
    if labels is None and 2 * texts.n_unique() > total:
        return None  # most values are there once: text, which is not worth folding
    counts = _with_forms(_counted(texts))
    if labels is None and counts["form"].n_unique() > total / _REPEATED:
        return None
    return _sorted(counts)


def _texts(column: pl.Series) -> pl.Series | None:
    """Return the texts of a column, of lists each text once; None for other values."""
    if column.dtype == pl.List(pl.String):
        column = column.list.unique(maintain_order=True).explode()
    if column.dtype != pl.String:
        return None
    return column.drop_nulls().alias("label")


def _counted(texts: pl.Series) -> pl.DataFrame:
    return texts.value_counts(name="count")


def _sorted(counts: pl.DataFrame) -> pl.DataFrame:
    """Bring the most frequent to the front."""
    return counts.sort("count", "label", descending=[True, False])


def _with_forms(labels: pl.DataFrame) -> pl.DataFrame:
    """Add the form that is the same for labels that differ only in form."""
    seen = labels["label"].str.replace_all(_IGNORED, "")
    forms = seen.str.normalize("NFKC").str.to_lowercase()
    others = forms.str.contains(_FOLDED_FURTHER).arg_true()
    if len(others):
        texts = map(_folded, forms.gather(others))
        forms = forms.scatter(others, pl.Series(list(texts), dtype=pl.String))
    return labels.with_columns(form=forms.str.replace_all(_IGNORED, ""))


def _folded(lower: str) -> str:
    """Fold lower case as Unicode does, with the dot of İ as that of any other i."""
    folded = lower.replace("i\u0307", "i").casefold()
    return unicodedata.normalize("NFKC", folded)


def _gold_notices(counts: pl.DataFrame, show: bool) -> list[str]:
    return [*_unset_notices(counts, show), *_several_form_notices(counts, show)]


def _unset_notices(counts: pl.DataFrame, show: bool) -> list[str]:
    """Say how many gold labels look like missing values, where others do not."""
    unset = counts.filter(pl.col("form").is_in(_UNSET))
    if unset.is_empty() or unset.height == counts.height:
        return []
    number = int(unset["count"].sum())
    verb, pronoun = ("is", "it counts") if number == 1 else ("are", "they count")
    named = ", ".join(_quoted(label) for label in unset["label"]) if show else "a text"
    return [
        f"{count_of(number, 'gold label')} {verb} {named}, {_AS_UNSET}; {pronoun} as a "
        "label like any other"
    ]


def _several_form_notices(counts: pl.DataFrame, show: bool) -> list[str]:
    several = counts.filter(pl.len().over("form") > 1)
    if several.is_empty():
        return []
    groups = several.group_by("form", maintain_order=True).agg("label", "count")
    labels = count_of(groups.height, "gold label")
    named = f": {_joined(_form_texts(groups))}" if show else ""
    return [
        f"{several.height} forms of {labels} differ {_HOW}{named}; a metric that "
        "compares labels as they are written takes them for different ones"
    ]


def _form_texts(groups: pl.DataFrame) -> list[str]:
    texts = []
    for labels, counts in groups.select("label", "count").iter_rows():
        forms = [
            f"{_quoted(label)} ({count})"
            for label, count in zip(labels, counts, strict=True)
        ]
        more = len(forms) - _SHOWN_FORMS
        forms[_SHOWN_FORMS:] = [f"{more} more"] * (more > 0)
        texts.append(", ".join(forms))
    return texts


def _prediction_notices(
    strange: pl.DataFrame, known: pl.DataFrame, show: bool
) -> list[str]:
    """Say which predictions are a label but for its form."""
    found = _meant(strange, known)
    if found.is_empty():
        return []
    number = int(found["count"].sum())
    predictions = count_of(number, "prediction")
    verbs = ("is", "differs") if number == 1 else ("are", "differ")
    named = _pair_texts(found, show)
    return [f"{predictions} {verbs[0]} no label, but {verbs[1]} from one {_HOW}{named}"]


def _invalid_notices(
    alignment: Alignment, known: pl.DataFrame, show: bool
) -> list[str]:
    """Say which invalid predictions are a label but for its form."""
    problems = alignment.problems.first("invalid", _MOST_INVALID)
    values = [
        found.value
        for problem in problems
        for found in problem.violations
        if isinstance(found.value, str)
    ]
    given = pl.Series("label", values, dtype=pl.String)
    strange = _counted(given.filter(~given.is_in(known["label"].implode())))
    found = _meant(strange, known)
    if found.is_empty():
        return []
    number = int(found["count"].sum())
    verb = "differs" if number == 1 else "differ"
    invalid = f"{number} invalid"
    if alignment.counts["invalid"] > len(problems):
        invalid = f"{number} of the first {len(problems)} invalid"
    noun = "prediction" if invalid == "1 invalid" else "predictions"
    named = _pair_texts(found, show)
    return [f"{invalid} {noun} {verb} from a label {_HOW}{named}"]


def _meant(strange: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return the texts that differ from a label in form only, with that label."""
    meant = known.unique("form", keep="first", maintain_order=True)
    # texts that are much longer than any label are none, and are not worth folding
    longest = 2 * pl.lit(known["label"].str.len_chars().max()) + 8
    short = strange.filter(pl.col("label").str.strip_chars().str.len_chars() <= longest)
    labels = meant.select("form", meant="label")
    return _sorted(_with_forms(short).join(labels, on="form"))


def _pair_texts(found: pl.DataFrame, show: bool) -> str:
    if not show:
        return ""
    pairs = found.select("label", "count", "meant").iter_rows()
    texts = [
        f"{_quoted(label)} ({count}) for {_quoted(meant)}"
        for label, count, meant in pairs
    ]
    return f": {_joined(texts)}"


def _joined(texts: Sequence[str]) -> str:
    shown = texts[:_SHOWN_LABELS]
    more = len(texts) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _quoted(label: str) -> str:
    """Quote a label so that what differs is seen."""
    is_plain = unicodedata.normalize("NFKC", label) == label
    if is_plain and not _HAS_UNSEEN_MARK.search(label):
        return shorten(label)  # which escapes what is not printable
    return ascii(label)


_DECIMAL = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)\s*$"
"""Of ASCII digits alone, as no other becomes a number."""

_WHAT = "the answer's number written otherwise"

_LONGEST = 15
"""Numbers of so many digits are different as floats where they are different."""


def number_notices(
    answers: pl.Series, given: pl.Series, *, show: bool = True
) -> list[str]:
    """Say how many predictions are their answer as a number, and not as a text.

    Args:
        answers: The answers, each as often as there are replications.
        given: Their predictions.
        show: Whether answers may be quoted.

    Returns:
        At most one sentence; none where answers and predictions are no texts.
    """
    if answers.dtype != pl.String or given.dtype != pl.String:
        return []
    both = pl.DataFrame({"answer": answers, "given": given}).filter(
        pl.col("answer") != pl.col("given")
    )
    both = both.filter(_is_number("answer")).filter(_is_number("given"))
    same = both.filter(_number("answer") == _number("given"))
    if same.is_empty():
        return []
    predictions = count_of(same.height, "prediction")
    verb, pronoun = ("is", "it") if same.height == 1 else ("are", "them")
    example = ""
    if show:
        pairs = same.group_by("given", "answer").len()
        first = pairs.sort("len", "given", descending=[True, False]).row(0)
        example = f", such as {shorten(first[0])} for {shorten(first[1])}"
    return [
        f"{predictions} {verb} {_WHAT}{example}; a "
        f"metric that compares texts as they are written takes {pronoun} for wrong"
    ]


def _is_number(column: str) -> pl.Expr:
    text = named(column)
    return (text.str.len_bytes() <= _LONGEST) & text.str.contains(_DECIMAL)


def _number(column: str) -> pl.Expr:
    return named(column).str.strip_chars().cast(pl.Float64)
