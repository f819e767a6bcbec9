"""`choice`: the option of its example that a text names."""

from __future__ import annotations

from functools import cache

import polars as pl
from pydantic import Field

from evalkit_adapters_extraction.options import (
    SIGNS_AROUND,
    Where,
    find_option,
    read_options,
)
from evalkit_adapters_extraction.settings import Found, found_table
from evalkit_adapters_extraction.statements import judging_words
from evalkit_adapters_rows import AdapterSettings

_SIGNS = r"""[\s!"$%&'()*,./:;<=>?@\[\\\]^_`{|}~]*"""
_ONE_LETTER = f"^[#-]*{_SIGNS}([A-Za-z]){_SIGNS}$"
_MARKED_LETTER = r"^[\s\"'(*\[_`]*([A-Z])[*_`]*[)\].:][*_`]*\s(.*)$"
_BECAUSE = "^because [a-z, ]+[.]?$"
_SHORT = 2
"""Texts with options of so few bytes are looked at one by one."""


class Choice:
    r"""Take the option of its example that a text names, by its letter or its text.

    The answer is the text of the option. The first that applies decides:

    1. The whole text, or the last `\boxed{…}`, is the text of an option or its letter
       (A for the first), except for case, blanks and signs around it: `(B)`, `**b.**`,
       `paris`. What stands before a correction ("wait, …") does not count.
    2. The last cue (`Answer:`, `the answer is`, `therefore`) or judgement (`(C) is
       correct`) states it.
    3. The option is the first sentence or the last line: `B) because …`.
    4. The text names one option anywhere, by its text or as a capital that stands
       alone.

    An option that is denied (`not`, `(A) is incorrect`) or in a question does not
    count. `words.toml` declares cues, negation and corrections in some 40 languages,
    which apply to every text. If a text names several options, or none, it is unparsed:
    nothing is guessed. Texts are whole words, the longest first, so that `New York` is
    no `York` and `Apple` is not option A; `A` and `I` before a word are words. A letter
    that is the text of one option and the place of another is ambiguous, as is a letter
    before the text of another (`A. London`). More than 26 options have the letters A to
    Z, AA, AB … or the numbers from 1.

    `where=start` takes what the text begins with; `where=whole` takes step 1 alone.
    Texts are compared in the Unicode form NFC. A null among the options keeps its
    letter, which names none.

    It needs a task whose examples have options (`choices_field`).

    Source: evalkit's own; SEA-HELM's F1AccMetric finds parts of words.

    Example:
        ```yaml
        - kind: choice
        ```
    """

    version = "5"
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
        ).with_row_index("at")
        found = self._by_column(frame)
        places = found.is_null().arg_true()
        find = cache(self._find)
        rest = frame.select("text", "choices")[places].iter_rows()
        made = found_table([find(text, tuple(own or ())) for text, own in rest])
        empty = pl.Series("reason", [None] * len(texts), dtype=pl.String)
        return pl.DataFrame(
            {
                "value": found.scatter(places, made["value"]),
                "reason": empty.scatter(places, made["reason"]),
            }
        )

    def _find(self, text: str, choices: tuple[str | None, ...]) -> Found:
        if not {*choices} - {None}:
            return Found(None, "the example has no choices")
        options = read_options(choices, has_letters=True)
        return find_option(text, options, self._where)

    def _by_column(self, frame: pl.DataFrame) -> pl.Series:
        """Return the options of texts that are plain cases, null for the others."""
        lists, text = pl.col("choices"), pl.col("text")
        shortest = lists.list.eval(pl.element().str.len_bytes().min()).list.first()
        plain = frame.filter((shortest > _SHORT).fill_null(value=False))
        if plain.is_empty():
            return pl.Series([None] * len(frame), dtype=pl.String)
        trimmed = text.str.strip_chars(SIGNS_AROUND)
        is_word = trimmed.str.contains(r"^\pL")
        exact = [
            pl.when(lists.list.contains(text)).then(text),
            pl.when(is_word & lists.list.contains(trimmed)).then(trimmed),
            _option_of(lists, text.str.extract(_ONE_LETTER, 1)),
        ]
        if self._where != "whole":
            marked = _option_of(lists, text.str.extract(_MARKED_LETTER, 1))
            reason = text.str.extract(_MARKED_LETTER, 2)
            is_same = reason.str.strip_chars(SIGNS_AROUND) == marked
            exact.append(pl.when(is_same | _is_idle(reason)).then(marked))
        found = plain.select("at", value=pl.coalesce(exact))
        return frame.join(found, on="at", how="left", maintain_order="left")["value"]


def _is_idle(reason: pl.Expr) -> pl.Expr:
    """Tell whether a reason follows a letter in which nothing is judged."""
    spaced = pl.format(" {} ", reason.str.replace_all("[^a-z,]+", " "))
    declared = [f" {word} " for word in judging_words()]
    return reason.str.contains(_BECAUSE) & ~spaced.str.contains_any(declared)


def _option_of(choices: pl.Expr, letter: pl.Expr) -> pl.Expr:
    """Return the option that a letter stands for, where there is one."""
    code = letter.cast(pl.Binary).bin.reinterpret(dtype=pl.UInt8)
    place = (code & _CAPITAL).cast(pl.Int64) - ord("A")
    return choices.list.get(place, null_on_oob=True)


_CAPITAL = 0b1101_1111
"""The bits of the code of an ASCII letter that say which letter it is."""
