"""The pairs of an original and a copy of which the answer flipped."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import Result
from evalkit.errors import DataError, StorageError
from evalkit.runs.stored import read_run
from evalkit_analysis_robustness.flips import FLIPS, find_flips
from evalkit_analysis_robustness.results import find_effects

from .perturbed_plugins import REGISTRY, Data, answers, copy, evaluate, example, found

ROWS = [
    example("1", "a", "x"),
    example("2", "b", "y"),
    example("3", "a", "x"),
    example("4", "c"),
]
SAID = answers(**{"1": "a", "2": "c", "3": "b", "4": "c"})


def made(uid: str, row: dict[str, Any], name: str, effect: str, **more: Any) -> Any:
    said = {"label_effect": effect, "families": ["robustness"], **more}
    return copy(uid, row, name, **said)


COPIES = [
    made("2_i", ROWS[1], "invariant", "invariant"),
    made("1_i", ROWS[0], "invariant", "invariant"),
    made("3_i", ROWS[2], "invariant", "invariant"),
    made("3_s", ROWS[2], "swap", "invariant"),
    made("4_c", ROWS[3], "contrast", "transforms", label="a"),
    made("1_d", ROWS[0], "doubtful", "uncertain"),
]
SAID_OF_COPIES = answers(
    **{"2_i": "b", "1_i": "b", "3_i": "c", "3_s": "b", "4_c": "c", "1_d": "a"}
)


@cache
def result() -> Result:
    return evaluate(ROWS, SAID, COPIES, SAID_OF_COPIES)


def rows(*names: str, **options: Any) -> list[tuple[Any, ...]]:
    return find_flips(result(), **options).rows.select(*names).rows()


def test_pairs_come_by_what_happened_to_them() -> None:
    flips = find_flips(result())
    assert flips.metric == "right"
    assert flips.n == 6
    assert flips.counts == dict(zip(FLIPS, (2, 1, 1), strict=True))
    assert rows("flip", "perturbation", "input_id", "id") == [
        ("right-to-wrong", "contrast", "4", "4_c"),
        ("right-to-wrong", "invariant", "1", "1_i"),
        ("wrong-to-right", "invariant", "2", "2_i"),
        ("wrong-to-other-wrong", "invariant", "3", "3_i"),
    ]


@pytest.mark.parametrize(
    ("chosen", "n", "copies"),
    [
        ({"perturbation": "invariant"}, 3, ["1_i", "2_i", "3_i"]),
        ({"perturbation": "swap"}, 1, []),
        ({"perturbation": "doubtful"}, 1, []),
        ({"perturbation": "family:robustness"}, 5, ["4_c", "1_i", "2_i", "3_i"]),
        ({"tag": "x"}, 4, ["1_i", "3_i"]),
        ({"tag": "y", "perturbation": "invariant"}, 1, ["2_i"]),
    ],
)
def test_some_can_be_asked_for(
    chosen: dict[str, str], n: int, copies: list[str]
) -> None:
    assert find_flips(result(), **chosen).n == n
    assert [uid for (uid,) in rows("id", **chosen)] == copies


def test_shares_of_pairs_are_the_scores_of_flips() -> None:
    flips = find_flips(result(), "invariant")
    for flip, count in flips.counts.items():
        assert found(result(), flip).value == pytest.approx(count / flips.n)


@pytest.mark.slow
def test_only_predictions_that_count_can_flip() -> None:
    skipped = evaluate(ROWS, SAID[1:], COPIES, SAID_OF_COPIES[:4], on_missing="skip")
    assert find_flips(skipped).n == 3
    wrong = evaluate(ROWS, SAID[1:], COPIES, SAID_OF_COPIES[:4], on_missing="wrong")
    flips = find_flips(wrong)
    assert flips.n == 6
    # nothing said is another wrong answer than b
    assert flips.counts == dict(zip(FLIPS, (1, 1, 2), strict=True))


class TestRefusals:
    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            (
                {"perturbation": "swop"},
                "by 'swop'; there are 5 choices, such as 'swap'",
            ),
            ({"perturbation": "family:fairness"}, "no copies by 'family:fairness'"),
            ({"tag": "z"}, r"no copy has the tag 'z'; there are 2 tags, such as 'x'"),
        ],
    )
    def test_what_is_not_there_is_named(
        self, chosen: dict[str, str], message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            find_flips(result(), **chosen)

    def test_a_run_without_copies(self) -> None:
        plain = evalkit.evaluate(Data(ROWS), SAID, metrics=["right"], registry=REGISTRY)
        with pytest.raises(DataError, match="has no perturbed copies; `evalkit eval"):
            find_flips(plain)

    def test_a_run_without_answers(self) -> None:
        empty = evaluate(ROWS, SAID, COPIES, SAID_OF_COPIES, include_examples=False)
        with pytest.raises(StorageError, match="made with --no-examples"):
            find_flips(empty)

    def test_no_metric_that_tells_right_from_wrong(self) -> None:
        far = evaluate(ROWS, SAID, COPIES, SAID_OF_COPIES, metrics=["distance"])
        with pytest.raises(
            DataError, match=r"no metric of the run .* tells right from"
        ):
            find_flips(far)

    def test_a_run_that_lost_its_copies(self, tmp_path: Path) -> None:
        path = evaluate(ROWS, SAID, COPIES, SAID_OF_COPIES, out=tmp_path).path
        assert path is not None
        [run, *_] = find_effects(read_run(path)).runs
        assert run.path is not None
        (run.path / "examples.parquet").unlink()
        with pytest.raises(StorageError, match=r"examples\.parquet: is missing"):
            find_flips(read_run(path))

    def test_a_run_of_perturbed_examples_finds_its_originals(
        self, tmp_path: Path
    ) -> None:
        whole = evaluate(ROWS, SAID, COPIES, SAID_OF_COPIES, out=tmp_path)
        [run] = [
            each for each in whole.perturbed if each["right"].perturbation == "swap"
        ]
        assert find_flips(read_run(run.path)).n == 1
        shutil.rmtree(whole.path)
        with pytest.raises(StorageError, match="run of the unperturbed examples"):
            find_flips(read_run(run.path))


def test_effects_are_those_of_one_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(ROWS, SAID, COPIES[:3], SAID_OF_COPIES[:3], out=tmp_path)
    later = evaluate(ROWS, SAID, COPIES[3:5], SAID_OF_COPIES[3:5], out=tmp_path)
    assert later.path is not None
    contrast, swap = later.perturbed or ()
    evalkit.rescore(swap, metrics=["distance"], out=tmp_path, registry=REGISTRY)
    monkeypatch.chdir(later.path)
    effects = find_effects(read_run("."))
    assert [run.path for run in effects.runs] == [contrast.path, swap.path]
    assert effects.scores == find_effects(later).scores
    shutil.rmtree(contrast.path)
    (swap.path / "effects.parquet").write_bytes(b"")
    stored = read_run(later.path)
    assert list(find_effects(stored).runs) == []
    assert [contrast.run_id in each for each in stored.notices[:2]] == [False, True]
    assert swap.run_id in stored.notices[0]
