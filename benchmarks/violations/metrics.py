"""Violations of the laws of metrics."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

CONTRACT = "hookspecs.MetricSpec"
ATTRIBUTES = "hookspecs.MetricAttributes"
GUIDE = "docs/plugin.md"

VIOLATIONS = (
    Violation(
        "metrics-01",
        "metrics/token-f1",
        "a score lies within `bounds`",
        ATTRIBUTES,
        (
            change(
                "comparison.py",
                "shared = (Counter(prediction) & Counter(answer)).total()",
                "shared = sum(token in answer for token in prediction)",
            ),
            change(
                "comparison.py",
                "return 2 * shared / (len(prediction) + len(answer))",
                "return 2 * shared / (len({*prediction}) + len({*answer}))",
            ),
        ),
    ),
    Violation(
        "metrics-02",
        "metrics/squad-f1",
        "of several acceptable answers the best counts, whatever their order",
        "docstring of ComparisonMetric",
        (
            change(
                "comparison.py",
                "return max(self.compare(prediction, answer) for answer in answers)",
                "return self.compare(prediction, answers[0])",
            ),
        ),
    ),
    Violation(
        "metrics-03",
        "metrics/squad-em",
        "the same gives the same: nothing is kept from one example to the next",
        f"{CONTRACT}: statistics add up over examples",
        (
            change(
                "comparison.py",
                "        return (0.0 if given is None "
                "else self.score_of(given, usable)), None",
                "        if prediction not in self._scored:\n"
                "            found = 0.0 if given is None "
                "else self.score_of(given, usable)\n"
                "            self._scored[prediction] = found\n"
                "        return self._scored[prediction], None",
            ),
            change(
                "comparison.py",
                '    no_form: ClassVar[str] = ""\n',
                "    _scored: ClassVar[dict[Any, float]] = {}\n"
                '    no_form: ClassVar[str] = ""\n',
            ),
        ),
    ),
    Violation(
        "metrics-04",
        "metrics/prefix-exact-match",
        "a missing prediction scores `worst_value`",
        ATTRIBUTES,
        (
            change(
                "comparison.py",
                "given = None if prediction is None else self._form(prediction, known)",
                'given = self._form(prediction or "", known)',
            ),
        ),
    ),
    Violation(
        "metrics-05",
        "metrics/cer",
        "a value that is not defined is null, never a 0",
        "hookspecs, first page; docstring of CharacterErrorRate",
        (
            change(
                "error_rate.py",
                'value=pl.when(is_defined).then(pl.col("errors") / pl.col("length")),',
                'value=pl.when(is_defined).then(pl.col("errors") / pl.col("length"))'
                ".otherwise(0.0),",
            ),
        ),
    ),
    Violation(
        "metrics-06",
        "metrics/wer",
        "a score lies within `bounds`",
        ATTRIBUTES,
        (change("error_rate.py", "bounds = (0.0, None)", "bounds = (0.0, 1.0)"),),
    ),
    Violation(
        "metrics-07",
        "metrics/wer",
        "`higher_is_better` says the direction",
        ATTRIBUTES,
        (
            change(
                "error_rate.py", "higher_is_better = False", "higher_is_better = True"
            ),
        ),
    ),
    Violation(
        "metrics-08",
        "metrics/cer",
        "`wilson` is for a mean of zeros and ones",
        "hookspecs.IntervalKind",
        (change("error_rate.py", 'interval = "ratio"', 'interval = "wilson"'),),
    ),
    Violation(
        "metrics-09",
        "metrics/length",
        "`accepts_no_prediction` only where null is counted as wrong by itself",
        ATTRIBUTES,
        (
            change(
                "length.py",
                "    bounds = (0.0, None)\n",
                "    bounds = (0.0, None)\n    accepts_no_prediction = True\n",
            ),
        ),
    ),
    Violation(
        "metrics-10",
        "metrics/iou-set-match",
        "an answer of the kind `all-of` is a set: its order says nothing",
        "hookspecs.AnswerKind",
        (
            change(
                "iou_set_match.py",
                "shared = prediction.list.set_intersection(target).list.len()",
                "shared = pl.when(prediction == target)"
                ".then(target.list.len()).otherwise(0)",
            ),
        ),
    ),
    Violation(
        "metrics-11",
        "metrics/span-f1",
        "the order of spans in a list says nothing",
        "docstring of SpanF1",
        (
            change(
                "span_f1.py",
                "    hits = right.total()\n",
                "    hits = sum(one == other for one, other in zip(found, wanted))\n",
            ),
        ),
    ),
    Violation(
        "metrics-12",
        "metrics/mae",
        "a score lies within `bounds`",
        ATTRIBUTES,
        (
            change(
                "number_pairs.py",
                'error = (pl.col("prediction") - pl.col("target")).abs()',
                'error = pl.col("prediction") - pl.col("target")',
            ),
        ),
    ),
    Violation(
        "metrics-13",
        "metrics/rmse",
        "statistics add up over examples, however they are cut into batches",
        CONTRACT,
        (
            change(
                "number_pairs.py",
                '[square.alias("square"), pl.lit(1.0)',
                '[square.mean().alias("square"), pl.lit(1.0)',
            ),
        ),
    ),
    Violation(
        "metrics-14",
        "metrics/pearson",
        "what cannot be scored is not scored, and never a 0: NaN",
        "hookspecs, first page; docstring of NumberMetric",
        (
            change(
                "number_pairs.py",
                'pl.col("prediction", "target").cast(pl.Float64))',
                'pl.col("prediction", "target").cast(pl.Float64).fill_nan(0.0))',
            ),
        ),
    ),
    Violation(
        "metrics-15",
        "metrics/spearman",
        "equal numbers share a rank: the order of the examples says nothing",
        "docstring of Spearman",
        (
            change(
                "ranks.py",
                "    ranks, counts = dense_ranks(numbers)\n"
                "    ends = np.cumsum(counts)\n"
                "    of_value: Floats = ends - (counts - 1) / 2\n"
                "    return of_value[ranks]",
                '    order = np.argsort(numbers, kind="stable")\n'
                "    ranks: Floats = np.empty(len(numbers))\n"
                "    ranks[order] = np.arange(1, len(numbers) + 1)\n"
                "    return ranks",
            ),
        ),
    ),
    Violation(
        "metrics-16",
        "metrics/kendall",
        "equal lists have the best score, 1, also with ties",
        "docstring of Kendall; bounds",
        (
            change(
                "ranks.py",
                "difference = every - tied_one - tied_other + tied_both "
                "- 2 * discordant",
                "difference = every - tied_one - tied_other - 2 * discordant",
            ),
        ),
    ),
    Violation(
        "metrics-17",
        "metrics/mrr",
        "what is ranked first scores 1: ranks are counted from 1",
        "docstring of MRR; bounds",
        (
            change(
                "rankings.py",
                "/ orders / (start + place)",
                "/ orders / (start + place + 1)",
            ),
        ),
    ),
    Violation(
        "metrics-18",
        "metrics/ndcg",
        "a score lies within `bounds`",
        ATTRIBUTES,
        (
            change(
                "rankings.py",
                '["row", "gain"], descending=[False, True]',
                '["row", "gain"], descending=[False, False]',
            ),
        ),
    ),
    Violation(
        "metrics-19",
        "metrics/accuracy",
        "a missing prediction scores `worst_value`",
        ATTRIBUTES,
        (
            change(
                "accuracy.py",
                "return right.fill_null(False) & prediction.is_not_null()",
                "return right.fill_null(True)",
            ),
        ),
    ),
    Violation(
        "metrics-20",
        "metrics/exact-match",
        "groups are scored at once, and each by itself",
        f"{CONTRACT}.finalize",
        (
            change(
                "accuracy.py",
                'value=pl.col("correct") / pl.col("examples"))',
                'value=pl.col("correct") / pl.col("examples").max())',
            ),
        ),
    ),
    Violation(
        "metrics-21",
        "metrics/macro-f1",
        "`finalize_counts` returns what `finalize` returns",
        f"{CONTRACT}.finalize_counts",
        (
            change(
                "averages.py",
                "is_taken = seen.gold_count > 0",
                "is_taken = seen.gold_count >= 0",
            ),
        ),
    ),
    Violation(
        "metrics-22",
        "metrics/log-loss",
        "a score is finite; statistics are numbers without null or NaN",
        f"{CONTRACT}; docstring of LogLoss",
        (
            change(
                "probabilities.py",
                "np.clip(of_answer, LEAST, 1.0)",
                "np.clip(of_answer, 0.0, 1.0)",
            ),
        ),
    ),
    Violation(
        "metrics-23",
        "metrics/auroc",
        "a tie counts half",
        "docstring of AUROC",
        (
            change(
                "ranked_labels.py",
                "above = rankings.running(positives) - positives / 2",
                "above = rankings.running(positives)",
            ),
        ),
    ),
    Violation(
        "metrics-24",
        "metrics/top-k-accuracy",
        "the first k alternatives count",
        "docstring of TopKAccuracy",
        (
            change(
                "alternatives.py",
                ".list.head(parameters.k)",
                ".list.head(parameters.k - 1)",
            ),
        ),
    ),
    Violation(
        "metrics-25",
        "metrics/vote-accuracy",
        "of equally frequent alternatives the first counts; the same gives the same",
        f"docstring of VoteAccuracy; {ATTRIBUTES}: deterministic",
        (
            change(
                "alternatives.py",
                'counted.sort("row", "votes", "rank", descending=[False, True, False])',
                'counted.sort("row", "votes", descending=[False, True])',
            ),
        ),
    ),
    Violation(
        "metrics-26",
        "metrics/mcc",
        "a value that is not defined is null, never a 0",
        "hookspecs, first page; docstring of MCC",
        (
            change(
                "whole_agreement.py",
                "return ratio(above, below, _ROUNDING * totals.examples**2)",
                "found = ratio(above, below, _ROUNDING * totals.examples**2)\n"
                "        return np.nan_to_num(found)",
            ),
        ),
    ),
    Violation(
        "metrics-27",
        "metrics/rouge",
        "a metric with `scores` returns one of each",
        f"{CONTRACT}.score_example",
        (
            change(
                "rouge.py",
                "for name, known in TYPES.items()\n        }",
                "for name, known in TYPES.items()\n"
                '            if name != "Lsum" or _has_lines(text)\n        }',
            ),
        ),
    ),
    Violation(
        "metrics-28",
        "metrics/rouge",
        "an example is left out only where the metric does not apply to it: an empty "
        "text scores 0",
        f"{CONTRACT}.score_example; docstring of Rouge",
        (
            change(
                "rouge.py",
                "        text = str(prediction)\n",
                "        text = str(prediction)\n"
                "        if not text.strip():\n            return None\n",
            ),
        ),
    ),
    Violation(
        "metrics-29",
        "metrics/chrf",
        "`bounds` are those of the value as stored",
        ATTRIBUTES,
        (change("chrf.py", "value = 100 * np.minimum(", "value = np.minimum("),),
    ),
    Violation(
        "metrics-30",
        "metrics/rouge",
        "no reason quotes the data",
        f"{CONTRACT}.finalize; docs/plugin.md, When a hook fails",
        (
            change(
                "rouge.py",
                "does not know the words of its reference, see",
                "does not know {references[0]!r}, see",
            ),
        ),
    ),
    Violation(
        "metrics-31",
        "metrics/rouge",
        "`target` is a list where several answers are acceptable",
        f"{ATTRIBUTES}: answer_kinds",
        (
            change(
                "references.py",
                "several = target if isinstance(target, (list, tuple)) else (target,)",
                "several = (target,)",
            ),
        ),
    ),
    Violation(
        "metrics-32",
        "metrics/accuracy",
        "`row` of the statistics is the position in the batch",
        f"{CONTRACT}.statistics",
        (
            change(
                "accuracy.py",
                '            .with_row_index("row")\n',
                '            .sort("correct", descending=True)\n'
                '            .with_row_index("row")\n',
            ),
        ),
    ),
    Violation(
        "metrics-33",
        "metrics/mae",
        "`worst_value` is the worst score that an example may have",
        ATTRIBUTES,
        (
            change(
                "number_pairs.py",
                '    per_example = "error"\n',
                '    per_example = "error"\n    worst_value = 0.0\n'
                "    accepts_no_prediction = True\n",
            ),
        ),
    ),
    Violation(
        "metrics-34",
        "metrics/kendall",
        "the same gives the same where `deterministic` is not False",
        ATTRIBUTES,
        (
            change(
                "ranks.py",
                "one, ones = dense_ranks(predictions)",
                "one, ones = dense_ranks(\n"
                "            predictions + np.random.default_rng()"
                ".normal(0, 1e-9, len(predictions))\n        )",
            ),
        ),
    ),
)
