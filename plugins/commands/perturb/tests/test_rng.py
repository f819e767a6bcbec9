from __future__ import annotations

from random import Random

from evalkit_commands_perturb.rng import LazyRandom


def numbers(rng: Random) -> list[object]:
    return [
        rng.random(),
        rng.randrange(1_000),
        rng.choice("abcdef"),
        rng.sample(range(100), 3),
        rng.gauss(0, 1),
        rng.getrandbits(40),
    ]


def test_the_same_key_gives_the_same_numbers() -> None:
    rng = LazyRandom()
    rng.start(0, "typos", "id7")
    first = numbers(rng)
    rng.start(0, "typos", "id8")
    assert numbers(rng) != first
    rng.start(0, "typos", "id7")
    assert numbers(rng) == first
    other = LazyRandom()
    other.start(0, "typos", "id7")
    assert numbers(other) == first


def test_what_was_drawn_before_does_not_matter() -> None:
    rng = LazyRandom()
    rng.start("a")
    expected = rng.getrandbits(64)
    rng.start("b")
    rng.gauss(0, 1)  # keeps a second number for later
    rng.start("a")
    assert rng.getrandbits(64) == expected


def test_parts_of_a_key_do_not_run_together() -> None:
    rng = LazyRandom()
    rng.start("a", "bc")
    first = rng.random()
    rng.start("ab", "c")
    assert rng.random() != first


def test_a_key_may_hold_half_a_surrogate_pair() -> None:
    rng = LazyRandom()
    rng.start("\ud800")
    assert 0 <= rng.random() < 1


def test_methods_that_were_kept_go_on_drawing() -> None:
    rng = LazyRandom()
    rng.start("a")
    draw, bits = rng.random, rng.getrandbits
    assert len({draw() for _ in range(5)} | {bits(60) for _ in range(5)}) == 10
    rng.start("b")
    assert {rng.choice("abc") for _ in range(100)} == {*"abc"}


def test_no_number_is_left_over_for_the_next_key() -> None:
    rng = LazyRandom()
    rng.start("a")
    rng.gauss(0, 1)
    rng.start("b")
    after = rng.gauss(0, 1)
    fresh = LazyRandom()
    fresh.start("b")
    assert fresh.gauss(0, 1) == after


def test_a_state_and_another_seed_are_those_of_the_key() -> None:
    rng = LazyRandom()
    rng.start("a")
    state = rng.getstate()
    first = rng.random()
    rng.start("b")
    rng.setstate(state)
    assert rng.random() == first
    rng.start("c")
    rng.seed(5)
    assert rng.random() == Random(5).random()
