import subprocess
import sys

import pytest

from evalkit.statistics.resampling import generator


def numbers(seed: int, *parts: str) -> list[int]:
    return generator(seed, *parts).integers(0, 2**40, 5).tolist()


@pytest.mark.parametrize(
    "other",
    [(1, "macro-f1", "tag"), (0, "macro-f2", "tag"), (0, "macro-f1"), (0, "tag")],
)
def test_another_seed_or_use_gives_other_numbers(other: tuple[int, str]) -> None:
    assert numbers(*other) != numbers(0, "macro-f1", "tag")


def test_the_numbers_do_not_depend_on_hash_randomisation() -> None:
    code = (
        "from evalkit.statistics.resampling import generator;"
        "print(generator(5, 'é', '').integers(0, 2**40, 3).tolist())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "7")
    }
    expected = generator(5, "é", "").integers(0, 2**40, 3).tolist()
    assert printed == {f"{expected}\n"}


def test_the_numbers_are_those_of_the_first_release() -> None:
    # a change here changes every published bootstrap interval
    assert numbers(0, "macro-f1", "") == [
        728770417021,
        993548541832,
        683909624472,
        935679349302,
        1040512286631,
    ]
