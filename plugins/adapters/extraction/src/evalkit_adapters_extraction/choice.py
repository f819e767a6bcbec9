"""`choice`: the option of its example that a text names."""

from __future__ import annotations

import polars as pl
from pydantic import Field

from evalkit.adapters import AdapterSettings
from evalkit_adapters_extraction.options import Where, find_option, read_options
from evalkit_adapters_extraction.settings import Found, found_table

_SIGNS = r"""[\s!"#$%&'()*+,./:;<=>?@\[\\\]^_`{|}~-]*"""
_ONE_LETTER = f"^{_SIGNS}([A-Za-z]){_SIGNS}$"
_MARKED_LETTER = (
    r"^[\s!\"#$%&'()*+,./:;<=>?@\[\\^_`{|~-]*([A-Za-z])[*_`]*[)\].:}][*_`)\]]*\s"
)
_MARK = r"^[\s!\"#$%&'()*+,./:;<=>?@\[\\^_`{|~-]*[A-Za-z][*_`]*[)\].:}][\W_]*"


class Choice:
    """Take the option of its example that a text names, by its letter or its text.

    The answer is the text of the option. Tried in this order:

    1. The whole text is the text of an option, or else its letter (A for the first),
       but for case, blanks and signs around it: `(B)`, `**b.**`, `paris`.
    2. The text begins with a marked letter: `B) because …`, `(B) Paris`. Where the
       text of another option follows, it is ambiguous.
    3. Options anywhere in the text: their texts as whole words, the longest first, so
       that `New York` is no `York`; and capital letters that stand alone. `A` and `I`
       are words, and count only in brackets or behind `option`, `answer` or `choice`.
       What `not` stands before does not count.

    Where that finds two options or none, the text is unparsed: nothing is guessed, and
    `Apple` is not option A. `where=start` leaves out step 3, but takes what a text
    begins with; `where=whole` takes step 1 alone. Texts are compared in the Unicode
    form NFC. Scripts without blanks between words (Thai, Lao, Burmese, Khmer, Japanese,
    Chinese) have no word boundaries. Options that are single letters stand for
    themselves.

    It needs a task whose examples have options (`choices_field`).

    Source: evalkit's own; SEA-HELM's F1AccMetric finds parts of words.

    Example:
        ```yaml
        - kind: choice
        ```
    """

    version = "1"
    needs = ("choices",)

    class Parameters(AdapterSettings):
        """Where the option may stand."""

        where: Where = Field(
            default="anywhere",
            description="Where the option may stand: anywhere, at the start, or the "
            "whole text must be it",
        )

    def __init__(self, parameters: Parameters) -> None:
        self._where: Where = parameters.where

    def extract_texts(self, texts: pl.Series, choices: pl.Series) -> pl.DataFrame:
        """Return the option that each text names."""
        frame = pl.DataFrame({"text": texts, "choices": choices})
        found = self._by_column(frame)
        open_ = found.is_null()
        if not open_.any():
            return pl.DataFrame({"value": found})
        places = open_.arg_true()
        rest = frame[places].with_row_index("at")
        given = rest.select("text", "choices").unique(maintain_order=True)
        made = found_table([self._find(*row) for row in given.iter_rows()])
        joined = rest.join(
            pl.concat([given, made], how="horizontal"),
            on=["text", "choices"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        empty = pl.Series("reason", [None] * len(texts), dtype=pl.String)
        return pl.DataFrame(
            {
                "value": found.scatter(places, joined["value"]),
                "reason": empty.scatter(places, joined["reason"]),
            }
        )

    def _find(self, text: str, choices: list[str] | None) -> Found:
        if not choices:
            return Found(None, "the example has no choices")
        known = tuple(each for each in choices if each is not None)
        return find_option(text, read_options(known, has_letters=True), self._where)

    def _by_column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the options of texts that are plain cases of steps 1 and 2."""
        lists, text = pl.col("choices"), pl.col("text")
        exact = pl.when(lists.list.contains(text)).then(text)
        if _has_letters_of_their_own(frame["choices"]):
            return frame.select(value=exact).to_series()
        whole = text.str.extract(_ONE_LETTER, 1)
        marked = text.str.extract(_MARKED_LETTER, 1)
        letter = whole if self._where == "whole" else pl.coalesce(whole, marked)
        found = frame.select(
            "choices",
            exact=exact,
            named=lists.list.get(_place(letter), null_on_oob=True),
            rest=pl.when(whole.is_null()).then(text.str.replace(_MARK, "")),
        )
        is_plain = _is_free_of_others(found)
        return found.select(
            value=pl.coalesce("exact", pl.when(is_plain).then("named"))
        ).to_series()


def _place(letter: pl.Expr) -> pl.Expr:
    """Return which option a letter stands for, from 0."""
    alphabet = {chr(ord("A") + place): place for place in range(26)}
    return letter.str.to_uppercase().replace_strict(
        alphabet, default=None, return_dtype=pl.Int64
    )


def _has_letters_of_their_own(choices: pl.Series) -> bool:
    """Tell whether some option may be a single letter, with or without signs."""
    texts = choices.explode()
    shortest = texts.str.len_bytes().min()
    if shortest is None or shortest > 4:  # type: ignore[operator]
        return False
    return bool(texts.str.contains(r"^[\W_]*[A-Za-z][\W_]*$").any())


def _is_free_of_others(found: pl.DataFrame) -> pl.Series:
    """Tell behind which letters no text of an option stands, or only its own.

    An option that seems to stand there is for the look at the single text to judge.
    """
    rows = found.select("named", "rest", "choices").with_row_index("row")
    doubtful = rows.filter(pl.col("rest").is_not_null() & pl.col("named").is_not_null())
    if doubtful.is_empty():
        return pl.repeat(True, found.height, eager=True)
    others = doubtful.explode("choices").filter(
        pl.col("choices").is_not_null() & (pl.col("choices") != pl.col("named"))
    )
    start = pl.col("choices").str.slice(0, 1).str.to_lowercase()
    same_start = others.filter(
        pl.col("rest").str.slice(0, 1).str.to_lowercase() == start
    )
    mixed = same_start["row"].unique()
    return ~rows["row"].is_in(mixed.implode())
