"""`choice`: the option of its example that a text names."""

from __future__ import annotations

import polars as pl
from pydantic import Field

from evalkit_adapters_extraction.options import (
    SIGNS_AROUND,
    Where,
    find_option,
    read_options,
)
from evalkit_adapters_extraction.settings import Found, found_table
from evalkit_adapters_rows import AdapterSettings

_SIGNS = r"""[\s!"#$%&'()*+,./:;<=>?@\[\\\]^_`{|}~-]*"""
_ONE_LETTER = f"^{_SIGNS}([A-Za-z]){_SIGNS}$"
_MARKED_LETTER = (
    r"^[\s!\"#$%&'()*+,./:;<=>?@\[\\^_`{|~-]*([A-Za-z])[*_`]*[)\].:}][*_`)\]]*\s"
)
_AROUND = " \t\r\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u201c\u201d\u2018\u2019"
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
       are words, and count only in brackets, behind `option`, `answer` or `choice`, in
       a list of letters (`A, B`, `B or A`), and `A` before a sign or the end. What
       `not` stands before does not count.

    Where that finds two options or none, the text is unparsed: nothing is guessed, and
    `Apple` is not option A. `where=start` leaves out step 3, but takes what a text
    begins with; `where=whole` takes step 1 alone. Texts are compared in the Unicode
    form NFC. Scripts without blanks between words (Thai, Lao, Burmese, Khmer, Japanese,
    Chinese) have no word boundaries. Options that are single letters stand for
    themselves. A null among the options is a place without one: its letter names none,
    and the others keep theirs.

    It needs a task whose examples have options (`choices_field`).

    Source: evalkit's own; SEA-HELM's F1AccMetric finds parts of words.

    Example:
        ```yaml
        - kind: choice
        ```
    """

    version = "2"
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

    def extract_texts(
        self, texts: pl.Series, choices: pl.Series | None
    ) -> pl.DataFrame:
        """Return the option that each text names."""
        frame = pl.DataFrame(
            {"text": texts, "choices": choices},
            schema_overrides={"choices": pl.List(pl.String)},
        )
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

    def _find(self, text: str, choices: list[str | None] | None) -> Found:
        if not choices or set(choices) == {None}:
            return Found(None, "the example has no choices")
        options = read_options(tuple(choices), has_letters=True)
        return find_option(text, options, self._where)

    def _by_column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the options of texts that are plain cases of steps 1 and 2."""
        lists, text = pl.col("choices"), pl.col("text")
        has_letters = _shortest(frame["choices"]) >= _LEAST
        letter = text.str.extract(_ONE_LETTER, 1) if has_letters else _NO_TEXT
        found = frame.select(value=_option_of(lists, letter)).to_series()
        places = found.is_null().arg_true()
        rest = frame[places]
        trimmed = text.str.strip_chars(SIGNS_AROUND)
        exact = [pl.when(lists.list.contains(t)).then(t) for t in (text, trimmed)]
        marked = text.str.extract(_MARKED_LETTER, 1)
        if not has_letters or self._where == "whole":
            marked = _NO_TEXT
        seen = rest.select("text", "choices", value=pl.coalesce(exact), marked=marked)
        values = seen["value"]
        behind = (values.is_null() & seen["marked"].is_not_null()).arg_true()
        if len(behind):
            values = values.scatter(behind, _named(seen[behind]))
        return found.scatter(places, values)


def _named(marked: pl.DataFrame) -> pl.Series:
    """Return the options of letters, but where the text behind may name another."""
    rest: pl.Expr = pl.col("text").str.replace(_MARK, "")
    place: pl.Expr = _place(pl.col("marked"))
    option: pl.Expr = pl.col("choices").list.get(pl.col("place"), null_on_oob=True)
    frame = marked.with_columns(place=place, rest=rest).with_columns(named=option)
    named, doubtful = frame["named"], _naming_another(frame)
    if doubtful.is_empty():
        return named
    nothing = pl.Series([None] * len(doubtful), dtype=pl.String)
    return named.scatter(doubtful, nothing)


_NO_TEXT = pl.lit(None, dtype=pl.String)


def _option_of(choices: pl.Expr, letter: pl.Expr) -> pl.Expr:
    """Return the option that a letter stands for, where there is one."""
    return choices.list.get(_place(letter), null_on_oob=True)


_CAPITAL = 0b1101_1111
"""The bits of the code of an ASCII letter that say which letter it is."""
_LEAST = 3
"""Options of fewer bytes are looked at one by one."""
_START = 3
"""So many letters of what follows are compared with the beginnings of options."""


def _shortest(choices: pl.Series) -> int:
    """Return how many bytes the shortest option has, without signs around it.

    Options that begin with three letters or digits are not measured.
    """
    texts = choices.explode()
    others = texts.filter(~texts.str.contains("^[A-Za-z0-9]{3}"))
    lengths = others.str.strip_chars(_AROUND).str.len_bytes().drop_nulls()
    return min(lengths.unique(), default=_LEAST)


def _naming_another(found: pl.DataFrame) -> pl.Series:
    """Return the rows in which behind a letter the text of another option may stand.

    Beginnings are compared, those that are not of ASCII are all the same; where one is
    that of another option, the text is looked at on its own.
    """
    is_own = pl.col("rest").str.strip_chars(SIGNS_AROUND) == pl.col("named")
    rows = found.with_row_index("row").filter(~is_own)  # nor where there is no option
    rows = rows.select(
        "row",
        "choices",
        place=pl.col("place").cast(pl.Int64),
        at=pl.int_ranges(pl.col("choices").list.len()),
        start=_start_of(pl.col("rest")),
    )
    others = rows.explode("choices", "at")
    others = others.with_columns(other=_start_of(pl.col("choices")))
    is_other = pl.col("at") != pl.col("place")
    is_same = _in_ascii(pl.col("other")) == _in_ascii(pl.col("start"))
    return others.filter(is_other & is_same)["row"].unique()


def _start_of(text: pl.Expr) -> pl.Expr:
    inner = text.str.strip_chars_start(_AROUND)
    return inner.str.slice(0, _START).str.to_lowercase()


def _in_ascii(start: pl.Expr) -> pl.Expr:
    is_ascii = start.str.len_bytes() == start.str.len_chars()
    return pl.when(is_ascii).then(start).otherwise(pl.lit("?"))


def _place(letter: pl.Expr) -> pl.Expr:
    """Return which option a letter stands for, from 0."""
    code = letter.cast(pl.Binary).bin.reinterpret(dtype=pl.UInt8)
    return (code & _CAPITAL).cast(pl.Int64) - ord("A")
