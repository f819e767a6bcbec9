"""The laws that every metric keeps."""

from __future__ import annotations

from evalkit_testing.laws import Law
from evalkit_testing.metrics.invariance_laws import (
    check_answers,
    check_batches,
    check_order,
    check_repeatable,
    check_split,
    check_stateless,
    check_tags,
)
from evalkit_testing.metrics.text_laws import (
    check_each_answer,
    check_left_out,
    check_null,
)
from evalkit_testing.metrics.trials import Trial
from evalkit_testing.metrics.value_laws import (
    check_counts,
    check_missing,
    check_nan,
    check_nothing,
    check_perfect,
    check_reasons,
    check_single,
    check_values,
    check_width,
)

LAWS: tuple[Law[Trial], ...] = (
    Law(
        "values",
        "a value is null or finite, and within the bounds",
        check_values,
        mend="correct the formula, or `bounds`.",
    ),
    Law("counts", "an array of counts gives what finalize gives", check_counts),
    Law(
        "repeatable",
        "the same data give the same scores",
        check_repeatable,
        mend="keep nothing between calls, and seed what is random.",
    ),
    Law(
        "stateless",
        "other data scored before change nothing",
        check_stateless,
        ("others",),
        mend="keep nothing between calls.",
    ),
    Law(
        "nothing",
        "where nothing is scored there is no value",
        check_nothing,
        ("tags", "parts"),
    ),
    Law("single", "one example has a value or a reason, no interval", check_single),
    Law(
        "width",
        "an interval is wider than zero, or has a reason",
        check_width,
        ("clusters",),
    ),
    Law(
        "order",
        "the order of the examples changes nothing",
        check_order,
        ("order", "clusters"),
        mend="score each example by itself, or use `compute`.",
    ),
    Law(
        "answers",
        "the order of an example's answers changes nothing",
        check_answers,
        mend="compare with each, and take the best.",
    ),
    Law(
        "each-answer",
        "which of the acceptable answers is given changes nothing",
        check_each_answer,
        mend="compare with each, and take the best.",
    ),
    Law("batches", "the size of batches changes nothing", check_batches, ("cuts",)),
    Law(
        "split",
        "parts that are computed apart merge to the whole",
        check_split,
        ("parts",),
    ),
    Law("tags", "a tag scores as its examples alone", check_tags, ("tags",)),
    Law(
        "missing",
        "an example without a prediction counts as worst",
        check_missing,
        ("silent",),
    ),
    Law(
        "null",
        "a missing prediction is not taken for the text 'None'",
        check_null,
        mend="look for None before str(prediction), or drop `accepts_no_prediction`.",
    ),
    Law(
        "left-out",
        "an empty prediction is scored, or has a reason",
        check_left_out,
        mend="return a score for any text, also an empty one.",
    ),
    Law(
        "nan",
        "a prediction that is NaN is not taken for a number",
        check_nan,
        mend="return NotScored, or no row.",
    ),
    Law(
        "reasons",
        "why there is no score quotes no data",
        check_reasons,
        mend="say what is wrong without its text.",
    ),
    Law("perfect", "predictions that equal the answers score best", check_perfect),
)
"""All laws, in the order in which they are told when several are broken.

What they draw beside the examples is of `evalkit_testing.metrics.drawing.DRAWS`.
"""
