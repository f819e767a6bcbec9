"""How probable a model found texts: sums of log-probabilities by sums of counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import polars as pl

from evalkit import Metric, MetricError, Parameters

TOKENS = "token_logprobs"
"""Field of a response: the natural logarithm of the probability of each token."""

_MOST_ROUNDING = 1e-3
"""How far, by its size, a sum may be from that of the list, of rounded numbers."""


def token_sums(given: pl.Series) -> pl.DataFrame:
    """Add up the lists of responses.

    The first token of a text has nothing before it, so that services give null for it:
    it is left out of both numbers.

    Args:
        given: Lists of numbers; null for a response without one.

    Returns:
        `sum` and `tokens`, both null for a response without a list, and `is_wrong`:
        whether it holds another null, or a value that is not a number of at most 0.

    Raises:
        MetricError: The column holds something else than lists of numbers.
    """
    if not _has_items(given):
        # whatever the type is of a column that holds nothing
        is_absent = given.is_null().to_list()
        empty: list[list[float] | None] = [None if each else [] for each in is_absent]
        given = pl.Series(TOKENS, empty, dtype=pl.List(pl.Float64))
    inner = given.dtype.inner if isinstance(given.dtype, pl.List) else pl.String
    if not (inner.is_numeric() or inner == pl.Null):
        raise MetricError(
            f"the field {TOKENS!r} of each response must be one list of numbers; in "
            "some it is a list of lists, or something else"
        )
    tokens = pl.col(TOKENS)
    has_null = tokens.list.first().is_null() & (tokens.list.len() > 0)
    rest = pl.when(has_null).then(tokens.list.slice(1)).otherwise(tokens)
    frame = pl.DataFrame({TOKENS: given.cast(pl.List(pl.Float64))}).select(rest)
    total, count = tokens.list.sum(), tokens.list.len()
    is_known = total.is_finite() & (tokens.list.max() <= 0).fill_null(True)
    is_whole = tokens.list.drop_nulls().list.len() == count
    return frame.select(
        sum=total,
        tokens=count.cast(pl.Float64),
        is_wrong=(~(is_known & is_whole)).fill_null(False),
    )


def _has_items(given: pl.Series) -> bool:
    """Tell whether some list holds more than a null."""
    values = given.drop_nulls()
    if isinstance(given.dtype, pl.List):
        several = values.list.len() > 1
        return bool((several | (values.list.drop_nulls().list.len() > 0)).any())
    if given.dtype == pl.String:
        # as which lists that hold nothing else are kept
        return not {*values.unique()} <= {"[null]", "[]"}
    return len(values) > 0


def refuse_other(
    name: str, given: pl.Series, tokens: pl.Series, *, rounded: bool = False
) -> None:
    """Refuse numbers that contradict the lists beside them.

    Args:
        name: Field of the responses that holds the numbers.
        given: They; null where there is none.
        tokens: What the lists make of it; null where there is none.
        rounded: Whether they may be rounded.

    Raises:
        MetricError: One is another than its list's.
    """
    most = tokens.abs().clip(1.0) * _MOST_ROUNDING if rounded else 0.0
    differs = ((given - tokens).abs() > most).fill_null(False)
    if differs.any():
        place = int(differs.arg_max() or 0)
        raise MetricError(
            f"a response has {name!r} {given[place]:g} beside {TOKENS!r}, which makes "
            f"it {tokens[place]:g} (without a null as the first token); leave one out"
        )


LOGPROB = "logprob"
"""Field of a response: natural logarithm of the probability of the whole text."""


class RatioMetric(Metric):
    """A function of the negative log-probability of all texts by a count of theirs.

    Reads `logprob` and the count from the response, or the list `token_logprobs`, and
    looks at no answer and no prediction. A response that holds none of them, or values
    that cannot be, is not scored. An example without a response that counts makes the
    score null.
    """

    answer_kinds = ("none", "one", "any-of", "all-of", "spans", "ranked", "number")
    higher_is_better = False
    interval = "ratio"
    accepts_no_prediction = True
    # an example that was left out has no least or greatest probability
    has_possible_range = False
    optional_columns: ClassVar[Sequence[str]] = (LOGPROB, TOKENS)
    counts_tokens = False
    """Whether what is counted is tokens, so that a list of them is enough."""

    @property
    def count(self) -> str:
        """The field of the response that holds the count."""
        return self.columns[1]

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Turn nats per counted unit into the value."""
        raise TypeError(f"{type(self).__name__} does not define value")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return both numbers of every example, or why it has none."""
        silent = batch["prediction"].is_null().alias("silent")
        frame = self._numbers(batch).with_columns(silent)
        logprob, count = pl.col(LOGPROB), pl.col("count")
        is_absent = pl.col("silent") & logprob.is_null() & count.is_null()
        is_probable = (logprob.is_finite() & (logprob <= 0)).fill_null(False)
        is_counted = (count.is_finite() & (count >= 0)).fill_null(False)
        # text that no token tells of would be free of charge
        is_bare = (pl.col("tokens") == 0).fill_null(False) & (count > 0)
        reason = (
            pl.when("is_wrong")
            .then(pl.lit(f"`{TOKENS}` holds what is no number of at most 0"))
            .when(~is_absent & ~is_probable)
            .then(_lacking(LOGPROB, "of at most 0"))
            .when(~is_absent & ~is_counted)
            .then(_lacking(self.count, "of at least 0"))
            .when(is_bare)
            .then(pl.lit(f"`{TOKENS}` holds no number, but `{self.count}` is not 0"))
        )
        is_kept = is_probable & is_counted & ~is_bare & ~pl.col("is_wrong")
        return frame.with_row_index("row").select(
            "row",
            nats=pl.when(is_kept).then(-logprob).otherwise(0.0),
            count=pl.when(is_kept).then(count).otherwise(0.0),
            missing=is_absent.cast(pl.Float64),
            not_scored=reason,
        )

    def _numbers(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return `logprob` and `count`, also of lists, and which lists are wrong."""
        for name in (LOGPROB, self.count):
            if batch.schema[name] == batch.schema[TOKENS] == pl.Null:
                # a column of a batch has the type that it has in the whole table
                raise MetricError(f"no response has the field {name!r} or {TOKENS!r}")
        logprob, count = (_number(batch, name) for name in (LOGPROB, self.count))
        tokens = token_sums(batch[TOKENS])
        is_right = ~tokens["is_wrong"]
        total, number = (tokens[name].filter(is_right) for name in ("sum", "tokens"))
        refuse_other(LOGPROB, logprob.filter(is_right), total, rounded=True)
        if self.counts_tokens:
            refuse_other(self.count, count.filter(is_right), number)
            count = count.fill_null(tokens["tokens"])
        return pl.DataFrame(
            {
                LOGPROB: logprob.fill_null(tokens["sum"]),
                "count": count,
                "is_wrong": tokens["is_wrong"],
                "tokens": tokens["tokens"],
            }
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sums; null where nothing is counted, or a response is missing."""
        is_missing, is_empty = pl.col("missing") >= 1, pl.col("count") <= 0
        value = self.value(pl.col("nats") / pl.col("count"))
        examples = pl.format(
            "examples without a response, for which no value is the worst: {}",
            pl.col("missing").round().cast(pl.Int64),
        )
        nothing = pl.lit(f"the sum of `{self.count}` is 0")
        return sums.select(
            "group",
            value=pl.when(~(is_missing | is_empty)).then(value),
            reason=pl.when(is_missing).then(examples).when(is_empty).then(nothing),
        )


def _number(batch: pl.DataFrame, name: str) -> pl.Series:
    """Return a field as floats."""
    column = batch[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        raise MetricError(
            f"the field {name!r} of the responses must hold numbers, holds "
            f"{column.dtype}"
        )
    return column.cast(pl.Float64)


def _lacking(name: str, what: str) -> pl.Expr:
    return pl.lit(f"the response holds no `{name}` that is a number {what}")


class PerplexityParameters(Parameters):
    """What the log-probabilities are divided by."""

    by: Literal["tokens", "words", "bytes"] = "tokens"
    """What is counted: `num_tokens`, `num_words` or `num_bytes`, of the response or the
    input."""


class Perplexity(RatioMetric):
    """Perplexity: among how many equally likely tokens a model seems to choose.

    exp(-sum of log-probabilities / number of tokens), over all texts together, so that
    a long text counts for more than a short one; no mean of the texts' perplexities.
    Reads `logprob`, the natural logarithm of the probability of a response's whole
    text, and `num_tokens`, of how many tokens that is; or `token_logprobs`, the list of
    the logarithms of its tokens, whose sum and number they are. A null at its beginning
    is left out of both, and numbers that contradict the list are an error. It depends
    on the tokens: models that split texts otherwise are compared by `bits-per-byte`. A
    response without these numbers is not scored, and neither is a logarithm above 0 or
    infinite. Without any token it is 0 / 0, and null; so it is where a missing response
    counts, as nothing is the worst. Range 1 to infinity, lower is better; the delta
    method's interval of the logarithm.

    Source: Jelinek, Mercer, Bahl and Baker, Perplexity: A Measure of the Difficulty of
    Speech Recognition Tasks, 1977; HELM's `perplexity`.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [math.log(1 / 8), math.log(1 / 4)], "num_tokens": [3, 2]}
        >>> found = evalkit.score("perplexity", ["", ""], ["", ""], fields=said)
        >>> round(found["perplexity"].value, 12)
        2.0
    """

    Parameters = PerplexityParameters
    bounds = (1.0, None)

    @property
    def _by(self) -> str:
        return str(getattr(self.parameters, "by", "tokens"))

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields that it reads."""
        return (LOGPROB, f"num_{self._by}", TOKENS)

    @property
    def counts_tokens(self) -> bool:  # type: ignore[override]
        """Whether what is counted is tokens, so that a list of them is enough."""
        return self._by == "tokens"

    @property
    def optional_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those that data and responses may lack."""
        return self.columns if self.counts_tokens else (LOGPROB, TOKENS)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Return e to the power of nats per token."""
        return nats.exp()


class BitsPerByte(RatioMetric):
    """Bits that a model needs to write a byte of the texts, if it is used to compress.

    -sum of log2(probability) / number of bytes, over all texts together. Reads
    `logprob`, the natural logarithm of the probability of a response's whole text, and
    `num_bytes`, of how many bytes the text is in UTF-8. In place of `logprob` there may
    be `token_logprobs`, the list of the logarithms of its tokens, of which a null at
    its beginning is left out. How a model splits a text into tokens does not matter, so
    that models with other tokens can be compared. A response without these numbers is
    not scored, and neither is a logarithm above 0 or infinite. Without any byte it is
    0 / 0, and null; so it is where a missing response counts, as nothing is the worst.
    Range 0 to infinity, lower is better; the delta method's interval of the
    logarithm.

    Source: Gao et al., The Pile: An 800GB Dataset of Diverse Text for Language
    Modeling, 2020, section 3.1; lm-evaluation-harness's and HELM's `bits_per_byte`.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [8 * math.log(1 / 2)], "num_bytes": [4]}
        >>> found = evalkit.score("bits-per-byte", [""], [""], fields=said)
        >>> found["bits-per-byte"].value
        2.0
    """

    columns = (LOGPROB, "num_bytes", TOKENS)
    bounds = (0.0, None)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Turn nats into bits."""
        return nats / math.log(2)


class BitsPerCharacter(RatioMetric):
    """Bits that a model needs to write a character of the texts.

    -sum of log2(probability) / number of characters, over all texts together. Reads
    `logprob`, the natural logarithm of the probability of a response's whole text, and
    `num_characters`, of how many characters (Unicode code points) it is. In place of
    `logprob` there may be `token_logprobs`, the list of the logarithms of its tokens,
    of which a null at its beginning is left out. It says less of texts in other
    scripts, whose characters hold more: compare these by `bits-per-byte`. A response
    without these numbers is not scored, and neither is a logarithm above 0 or infinite.
    Without any character it is 0 / 0, and null; so it is where a missing response
    counts, as nothing is the worst. Range 0 to infinity, lower is better; the delta
    method's interval of the logarithm.

    Source: Graves, Generating Sequences With Recurrent Neural Networks, 2013, section
    3.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [8 * math.log(1 / 2)], "num_characters": [4]}
        >>> found = evalkit.score("bits-per-character", [""], [""], fields=said)
        >>> found["bits-per-character"].value
        2.0
    """

    columns = (LOGPROB, "num_characters", TOKENS)
    bounds = (0.0, None)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Turn nats into bits."""
        return nats / math.log(2)
