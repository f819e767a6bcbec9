"""Scores under perturbation: worked examples and cases computed by hand."""

import math
from itertools import combinations
from typing import Any

import pytest
from sklearn.metrics import recall_score

from evalkit import Result
from evalkit.statistics.intervals import share_interval
from evalkit.statistics.student_t import t_quantile
from evalkit_analysis_robustness import evaluate_perturbed, record_of
from evalkit_analysis_robustness.scores import UNCERTAIN
from evalkit_analysis_robustness.sets import NO_WORST, UNEQUAL

from .perturbed_plugins import (
    Clustered,
    FailsOnCopies,
    Furthest,
    RootMean,
    Undirected,
    answers,
    copy,
    evaluate,
    example,
    found,
    get_share,
    scores_of,
)

E, N, C = "a", "b", "c"
"""Entailed, neutral and contradictory of the worked example, as letters."""

GOLD = [example("1", E), example("2", E), example("3", N)]
SAID = answers(**{"1": E, "2": C, "3": C})
COPIES = [copy("1_x", GOLD[0]), copy("1_y", GOLD[0]), copy("2_x", GOLD[1], label=N)]
SAID_OF_COPIES = answers(**{"1_x": E, "1_y": N, "2_x": C})


def worked_example(**options: Any) -> Result:
    return evaluate(GOLD, SAID, COPIES, SAID_OF_COPIES, **options)


class TestDynabench:
    """The vector of Dynabench's `unperturbed_percent`, computed by its own code."""

    def test_agreement_is_the_mean_over_originals(self) -> None:
        result = worked_example()
        assert found(result, "agreement").value == 0.75
        assert found(result, "agreement").n == 2

    def test_the_scores_against_the_gold_labels_are_low(self) -> None:
        result = worked_example()
        assert result["right"].value == pytest.approx(1 / 3)
        assert found(result, "perturbed").value == 0.25

    def test_a_constant_model_agrees_with_itself_and_is_seen_for_what_it_is(
        self,
    ) -> None:
        result = evaluate(
            GOLD,
            answers(**{"1": C, "2": C, "3": C}),
            COPIES,
            answers(**{"1_x": C, "1_y": C, "2_x": C}),
        )
        assert found(result, "agreement").value == 1.0
        assert found(result, "perturbed").value == 0.0
        assert found(result, "original").value == 0.0


X = [example(str(n), label, "x" if n < 3 else "y") for n, label in enumerate("aabca")]
"""Answers a a b c a, the first three tagged x, the others y."""

SAID_X = answers(**{"0": "a", "1": "b", "2": "b", "3": "b", "4": "a"})
"""Right, wrong, right, wrong, right."""

COPIES_X = [
    copy("0_1", X[0]),
    copy("0_2", X[0]),
    copy("1_1", X[1]),
    copy("2_1", X[2], tags=["y"]),
    copy("3_1", X[3]),
]
SAID_OF_X = answers(**{"0_1": "b", "0_2": "a", "1_1": "a", "2_1": "c", "3_1": "a"})
"""Wrong, right; right; wrong; wrong."""


@pytest.fixture(scope="module")
def result() -> Result:
    return evaluate(
        X,
        SAID_X,
        COPIES_X,
        SAID_OF_X,
        metrics=["right", "distance", "macro-recall", Undirected, get_share],
    )


class TestByHand:
    def test_without_a_direction_nothing_is_worst(self, result: Result) -> None:
        score = found(result, "worst", metric="undirected")
        assert score.value is None
        assert score.reason == "the metric does not say whether higher is better"
        assert found(result, "drop", metric="undirected").higher_is_better is None

    def test_a_metric_of_whole_sets(self, result: Result) -> None:
        # originals: gold a a b c, said a b b b: recalls 1/2, 1, 0
        score = found(result, "original", metric="macro-recall")
        assert score.value == pytest.approx(0.5)
        # copies of a: half of the first, all of the second; none of b and c
        score = found(result, "perturbed", metric="macro-recall")
        assert score.value == pytest.approx((1.5 / 2 + 0 + 0) / 3)
        assert (score.n, score.n_clusters) == (4, None)
        part = found(result, "perturbed", metric="macro-recall#a")
        assert part.value == pytest.approx(0.75)
        drop = found(result, "drop", metric="macro-recall")
        assert drop.value == pytest.approx(0.25)
        assert drop.ci_method == "paired-bootstrap"
        assert drop.ci_low is not None
        assert drop.ci_low <= 0.25
        worst = found(result, "worst", metric="macro-recall")
        assert (worst.value, worst.reason) == (None, NO_WORST)
        kinds = {
            score.computed_on
            for score in scores_of(result)
            if score.metric == "macro-recall"
        }
        assert kinds == {"original", "perturbed", "drop", "worst"}


class TestIntervals:
    def test_a_share_has_wilsons_and_mean_drops_have_students(self) -> None:
        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X)
        original = found(result, "original")
        assert original.ci == share_interval(2, 4, 0.95)[:2]
        values = [0.5, -1, 1, 0]
        mean = sum(values) / 4
        error = math.sqrt(sum((v - mean) ** 2 for v in values) / 3 / 4)
        drop = found(result, "drop")
        assert drop.ci_method == "t"
        assert drop.se == pytest.approx(error)
        assert drop.ci_high == pytest.approx(mean + t_quantile(0.95, 3) * error)
        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X, metrics=["distance"])
        distance = found(result, "drop", metric="distance")
        values = [-1 / 6, 1 / 3, -1 / 3]
        mean = sum(values) / 3
        error = math.sqrt(sum((v - mean) ** 2 for v in values) / 2 / 3)
        assert distance.ci_method == "t"
        assert distance.ci_high == pytest.approx(mean + t_quantile(0.95, 2) * error)

    @pytest.mark.parametrize("metric", ["right"])
    def test_where_no_answer_changes_the_drop_has_an_interval(
        self, metric: str
    ) -> None:
        rows = [example(str(n), "abc"[n % 3]) for n in range(60)]
        said = answers(**{str(n): "abc"[n % 3] for n in range(60)})
        copies = [copy(f"{n}_1", row) for n, row in enumerate(rows)]
        of_copies = answers(**{f"{n}_1": "abc"[n % 3] for n in range(60)})
        result = evaluate(rows, said, copies, of_copies, metrics=[metric])
        drop = found(result, "drop", metric=metric)
        assert drop.value == 0
        assert drop.ci is not None
        assert -0.2 < drop.ci.low < -0.01
        assert 0.01 < drop.ci.high < 0.2

    def test_a_drop_of_label_counts_is_tested_by_swaps(self) -> None:
        gold = ["a", "b", "c"] * 4
        before, after = [*gold], ["a"] * 5 + gold[5:]
        rows = [example(str(n), label) for n, label in enumerate(gold)]
        copies = [copy(f"{n}_1", row) for n, row in enumerate(rows)]
        drop = found(
            evaluate(
                rows,
                answers(**{str(n): label for n, label in enumerate(before)}),
                copies,
                answers(**{f"{n}_1": label for n, label in enumerate(after)}),
                metrics=["macro-recall"],
            ),
            "drop",
            metric="macro-recall",
        )

        def difference(swapped: tuple[int, ...]) -> float:
            sides = [[*before], [*after]]
            for place in swapped:
                sides[0][place], sides[1][place] = sides[1][place], sides[0][place]
            first, second = (
                recall_score(gold, side, average="macro") for side in sides
            )
            return float(first - second)

        unlike = [n for n in range(12) if before[n] != after[n]]
        every = [
            abs(difference(places))
            for size in range(len(unlike) + 1)
            for places in combinations(unlike, size)
        ]
        exact = sum(each >= abs(drop.value or 0) - 1e-12 for each in every) / len(every)
        assert drop.p_method == "swaps"
        assert drop.p_value == pytest.approx(exact, abs=0.03)

    def test_clusters_of_the_data_set_are_coarser_than_originals(self) -> None:
        rows = [{**row, "page": str(n // 2)} for n, row in enumerate(X)]
        copies = [{**made, "page": "?"} for made in COPIES_X]
        result = evaluate(rows, SAID_X, copies, SAID_OF_X, dataset=Clustered)
        drop = found(result, "drop")
        assert (drop.n_clusters, drop.ci_method) == (2, "t-clustered")


class TestEffects:
    def score(self, perturbation: str, **options: Any) -> Result:
        copies = [{**row, "perturbation": perturbation} for row in COPIES_X]
        return evaluate(X, SAID_X, copies, SAID_OF_X, **options)

    def kinds(self, result: Result, perturbation: str) -> set[str]:
        return {
            score.computed_on
            for score in scores_of(result)
            if score.perturbation == perturbation
        }

    def test_an_invariant_one_has_agreement_and_is_in_its_families(self) -> None:
        result = self.score("swap:prob=0.4")
        flips = {"right-to-wrong", "wrong-to-right", "wrong-to-other-wrong"}
        plain = {"original", "perturbed", "drop", "agreement", "worst"}
        assert self.kinds(result, "swap:prob=0.4") == plain | flips
        for family in ("fairness", "robustness"):
            expected = plain | flips | {"worst-of-all"}
            assert self.kinds(result, f"family:{family}") == expected
        [run] = record_of(result)["perturbed"]
        assert run["perturbation"] == {
            "name": "swap:prob=0.4",
            "label_effect": "invariant",
            "families": ["fairness", "robustness"],
            "told_by": "plugin",
            "expects": False,
        }

    def test_an_uncertain_one_is_in_no_family_and_flagged(self) -> None:
        result = self.score("doubtful")
        assert "agreement" not in self.kinds(result, "doubtful")
        assert {s.perturbation for s in scores_of(result)} == {"doubtful"}
        assert found(result, "drop", "doubtful").flag == UNCERTAIN
        assert found(result, "original", "doubtful").flag is None

    def test_an_unknown_one_counts_as_uncertain_with_a_notice(self) -> None:
        result = self.score("nobody")
        assert {s.perturbation for s in scores_of(result)} == {"nobody"}
        [notice] = result.notices
        assert notice.startswith("nobody: its effect on answers is unknown")
        assert record_of(result)["perturbed"][0]["perturbation"]["told_by"] is None

    @pytest.mark.parametrize(
        ("steps", "effect", "families"),
        [
            ("swap+invariant", "invariant", ["robustness"]),
            ("swap:prob=0.4+contrast", "transforms", ["robustness"]),
            ("invariant+doubtful", "uncertain", ["robustness"]),
            ("invariant+nobody", "uncertain", []),
        ],
    )
    def test_a_composition_is_what_its_least_certain_step_is(
        self, steps: str, effect: str, families: list[str]
    ) -> None:
        [run] = record_of(self.score(steps))["perturbed"]
        known = run["perturbation"]
        assert (known["label_effect"], known["families"]) == (effect, families)


class TestExpectations:
    def score(self, perturbation: str = "directed", **options: Any) -> Result:
        copies = [{**row, "perturbation": perturbation} for row in COPIES_X]
        copies[2]["tags"] = ["x", "skip"]
        return evaluate(X, SAID_X, copies, SAID_OF_X, **options)

    def test_it_is_the_share_of_pairs_that_pass(self) -> None:
        # 0: a to b and a to a pass; 1 is skipped; 2: b to c passes; 3 is no x
        expected = found(self.score(), "expected", "directed")
        assert (expected.value, expected.n, expected.coverage) == (1.0, 2, 1.0)

    def test_an_invariant_original_without_prediction_counts_under_wrong(self) -> None:
        result = self.score(on_missing="wrong")
        assert found(result, "expected", "directed").n == 2

    def test_another_word_is_an_error_that_names_the_plugin(self) -> None:
        result = self.score("broken")
        [error] = [each for run in result.perturbed for each in run.errors]
        assert "must return 'pass', 'fail'" in error
        assert result.perturbed[0].status == "partial"
        assert found(result, "expected", "broken").value is None
        assert found(result, "perturbed", "broken").value is not None

    def test_what_it_raises_is_named_with_the_copy(self) -> None:
        rows = [example("10", "a", "x")]
        result = evaluate(
            rows,
            answers(**{"10": "a"}),
            [copy("10_1", rows[0], "broken")],
            answers(**{"10_1": "a"}),
        )
        [error] = [each for run in result.perturbed for each in run.errors]
        assert "expect failed for the copy '10_1' with IndexError" in error

    def test_nothing_that_counts_is_not_asked(self) -> None:
        rows = [example("0", "a", "x"), example("1", "a", "x")]
        result = evaluate(
            rows,
            answers(**{"1": "a"}),
            [copy("0_1", rows[0], "directed"), copy("1_1", rows[1])],
            answers(**{"0_1": "a", "1_1": "a"}),
            on_missing="skip",
        )
        score = found(result, "expected", "directed")
        assert (score.value, score.n, score.coverage) == (None, 0, None)


class TestMetrics:
    def test_one_that_fails_on_copies_is_null_and_the_run_partial(self) -> None:
        result = evaluate(
            X, SAID_X, COPIES_X, SAID_OF_X, metrics=["right", FailsOnCopies]
        )
        [run] = result.perturbed
        assert run.status == "partial"
        assert "no copies, please" in run.errors[0]
        assert result["fails-on-copies"].value == 1.0
        score = found(result, "perturbed", metric="fails-on-copies")
        assert score.value is None
        assert "no copies, please" in str(score.reason)
        assert found(result, "perturbed").value is not None

    def test_one_that_does_not_add_up_needs_equal_numbers_of_copies(self) -> None:
        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X, metrics=[Furthest])
        assert found(result, "original", metric="furthest").value == 1.0
        assert found(result, "drop", metric="furthest").reason == UNEQUAL
        result = evaluate(X, SAID_X, COPIES_X[1:], SAID_OF_X[1:], metrics=[Furthest])
        drop = found(result, "drop", metric="furthest")
        assert (drop.value, drop.ci) == (-1.0, None)
        assert drop.reason == "the metric's statistics do not merge by sum or moments"

    def test_one_that_is_not_the_mean_of_its_example_scores_is_of_the_whole_set(
        self,
    ) -> None:
        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X, metrics=[RootMean])
        score = found(result, "perturbed", metric="root-mean")
        # squares: (1 + 0) / 2, 0, 1, 4
        assert score.value == pytest.approx(math.sqrt((0.5 + 0 + 1 + 4) / 4))
        kinds = {score.computed_on for score in scores_of(result)}
        assert "agreement" not in kinds

    def test_several_acceptable_answers(self) -> None:
        rows = [example("0", "a"), example("1", "b")]
        rows[0]["label"] = ["A", "C"]
        copies = [copy("1_1", rows[1]), copy("0_1", {**rows[0], "label": ["A", "C"]})]
        for chosen in (copies, copies[:1]):
            result = evaluate(
                rows,
                answers(**{"0": "c", "1": "b"}),
                chosen,
                answers(**{row["uid"]: "b" for row in chosen}),
            )
            n = len(chosen)
            assert found(result, "agreement").value == 1 / n
            assert found(result, "perturbed").value == 1 / n


class TestEdges:
    def test_when_no_original_counts_there_is_no_pair(self) -> None:
        result = evaluate(
            X,
            [],
            COPIES_X,
            SAID_OF_X,
            on_missing="skip",
            metrics=["right", "macro-recall"],
        )
        for metric in ("right", "macro-recall"):
            score = found(result, "drop", metric=metric)
            assert (score.value, score.reason) == (None, "no example was scored")

    def test_copies_of_a_file_that_do_not_count_are_left_out(self) -> None:

        from .perturbed_plugins import REGISTRY, Data

        result = evaluate_perturbed(
            Data(X),
            SAID_X,
            metrics=["right", get_share],
            on_missing="skip",
            perturbed=[[{**COPIES_X[1], "perturbation": "swap"}], COPIES_X[2:]],
            perturbed_predictions=[[], SAID_OF_X[2:]],
            registry=REGISTRY,
        )
        for metric in ("right", "share"):
            assert found(result, "perturbed", metric=metric).n == 3
            # 1, 2 and 3 were wrong, right and wrong
            assert found(result, "drop", metric=metric).value == pytest.approx(0.0)

    @pytest.mark.parametrize("interval", ["none", "delta"])
    def test_a_metric_without_interval_or_gradient(self, interval: str) -> None:
        from .perturbed_plugins import MacroRecall

        class Other(MacroRecall):
            pass

        Other.interval = interval  # type: ignore[assignment]
        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X, metrics=[Other])
        drop = found(result, "drop", metric="other")
        if interval == "none":
            assert drop.reason == "the metric declares no interval"
        else:
            assert drop.ci_method == "paired-bootstrap"

    def test_a_per_example_metric_that_declares_no_interval_has_none(self) -> None:
        from .perturbed_plugins import Right

        class Bare(Right):
            interval = "none"

        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X, metrics=[Bare])
        for computed_on in ("perturbed", "drop", "agreement"):
            score = found(result, computed_on, metric="bare")
            assert score.reason == "the metric declares no interval"

    def test_without_a_worst_value_a_silent_original_has_no_agreement(self) -> None:
        import evalkit

        class Bare(evalkit.Metric):
            accepts_no_prediction = True

            def score_example(self, prediction: str | None, target: str) -> float:
                return float(prediction == target)

        class Bounded(Bare):
            higher_is_better = True
            bounds = (0.0, 1.0)

        result = evaluate(
            X, [], COPIES_X, SAID_OF_X, on_missing="wrong", metrics=[Bare, Bounded]
        )
        score = found(result, "agreement", metric="bare")
        assert "declares no worst value" in str(score.reason)
        assert found(result, "agreement", metric="bounded").value == 0.0

    @pytest.mark.parametrize("step", ["statistics", "finalize"])
    def test_a_metric_of_whole_sets_that_fails_on_copies(self, step: str) -> None:
        import polars as pl

        from .perturbed_plugins import MacroRecall

        class Fragile(MacroRecall):
            columns = ("text",)

            def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
                is_copy = batch["text"].str.starts_with("copy").any()
                if step == "statistics" and is_copy:
                    raise LookupError("no copies, please")
                found = super().statistics(batch)
                return found.with_columns(count=pl.lit(2.0 if is_copy else 1.0))

            def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
                if step == "finalize" and (sums["count"] % 2 == 0).all():
                    raise LookupError("no copies, please")
                return super().finalize(sums)

        result = evaluate(
            X[1:4], SAID_X[1:4], COPIES_X[2:], SAID_OF_X[2:], metrics=[Fragile]
        )
        score = found(result, "perturbed", metric="fragile")
        assert score.value is None
        assert "no copies, please" in str(score.reason)
        [run] = result.perturbed
        assert run.status == "partial"

    def test_a_drop_whose_resampling_fails_says_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from evalkit.errors import MetricError

        def fail(*_: Any) -> Any:
            raise MetricError("too many")

        monkeypatch.setattr("evalkit_analysis_robustness.drops.call_finalize", fail)
        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X, metrics=["macro-recall"])
        drop = found(result, "drop", metric="macro-recall")
        assert drop.value == pytest.approx(0.25)
        assert drop.reason == "resampling failed: too many"

    @pytest.mark.slow
    def test_whole_sets_with_clusters(self) -> None:
        rows = [{**row, "page": str(n // 2)} for n, row in enumerate(X)]
        copies = [{**made, "page": "?"} for made in COPIES_X]
        result = evaluate(
            rows, SAID_X, copies, SAID_OF_X, dataset=Clustered, metrics=["macro-recall"]
        )
        drop = found(result, "drop", metric="macro-recall")
        assert (drop.n, drop.n_clusters) == (4, 2)
        assert drop.ci_method == "paired-bootstrap-clustered"
        alone = evaluate(
            rows[:2],
            SAID_X[:2],
            copies[:3],
            SAID_OF_X[:3],
            dataset=Clustered,
            metrics=["macro-recall"],
        )
        drop = found(alone, "drop", metric="macro-recall")
        assert drop.reason == "all examples are in one cluster"

    def test_a_class_that_no_copy_has_has_no_drop(self) -> None:
        copies = [{**row, "label": "A"} for row in COPIES_X]
        result = evaluate(X, SAID_X, copies, SAID_OF_X, metrics=["macro-recall"])
        metrics = [
            (score.metric, score.computed_on)
            for score in scores_of(result)
            if score.perturbation == "invariant" and score.tag is None
        ]
        assert ("macro-recall#b", "original") in metrics
        assert ("macro-recall#b", "drop") not in metrics
        assert ("macro-recall#a", "drop") in metrics

    def test_a_score_that_has_no_value_for_the_originals(self) -> None:
        import polars as pl

        from .perturbed_plugins import Right

        class Odd(Right):
            def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
                value = pl.when(pl.col("all") < 5).then(pl.col("right") / pl.col("all"))
                return sums.select("group", value=value)

        result = evaluate(X, SAID_X, COPIES_X, SAID_OF_X, metrics=[Odd])
        assert result["odd"].value is None
        assert found(result, "agreement", metric="odd").value == 0.125
        assert found(result, "drop", metric="odd").value == 0.125
