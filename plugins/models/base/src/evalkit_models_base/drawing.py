"""Draws the shots of a trial: which examples of a pool are shown, in which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

from evalkit.errors import DataError
from evalkit_models_base.rendering import Renderer, Shot

_ATTEMPTS = 1_000
"""How often a trial is drawn again that has the same shots as one before."""

Chosen = tuple[Shot, ...]


def draw_trial(
    makes: Renderer, pool: Sequence[Shot], trial: int, before: Sequence[Chosen]
) -> Chosen:
    """Draw the shots of a trial: other ones than in each trial before."""
    shots, name = makes.prompt.shots, makes.name
    count = min(shots.wanted, len(pool)) if shots.fewer else shots.wanted
    seen = {_ids(each) for each in before}
    if shots.drawn == "helm":
        return _drawn_by_helm(pool, count, shots.drawn_with + trial)
    if shots.are_in_order:
        found = tuple(pool[trial * count : (trial + 1) * count])
        if len(found) == count:
            return found
        seen, tries = set(), 0
    else:
        ordered = sorted(pool, key=lambda shot: str(shot.row["uid"]))
        tries = _ATTEMPTS
    for attempt in range(tries):
        rng = random.Random(f"{shots.drawn_with}:{trial}:{attempt}")
        if shots.draw == "balanced":
            found = _balanced(makes, ordered, rng)
        else:
            found = tuple(rng.sample(ordered, count))
        if _ids(found) not in seen:
            return found
    raise DataError(
        f"{name}: shots: {trial + 1} trials of {count} other examples each cannot be "
        f"drawn of {len(pool)}; ask for fewer trials"
    )


def draw_each(
    makes: Renderer,
    pools: Mapping[str, Sequence[Shot]],
    keys: Mapping[str, str] | None,
    trial: int,
    is_itself: Callable[[Mapping[str, Any], Shot], bool],
) -> dict[str, Chosen]:
    """Draw shots for each example anew, as lm-evaluation-harness does.

    One generator goes over all examples in their order. Where the pool may hold the
    example itself, one shot more is drawn, and the example is taken out; if too few are
    left, they are drawn again from a pool without it. Pools are by the key of the
    example, and keys by its id.
    """
    shots, count = makes.prompt.shots, makes.prompt.shots.wanted
    is_asked = shots.source == makes.inputs.split
    most = count + (is_asked if shots.spare is None else shots.spare)
    rng, found = random.Random(shots.drawn_with + trial), {}
    for row in makes.inputs.rows:
        uid = str(row["uid"])
        pool = pools["" if keys is None else keys[uid]]
        is_first = shots.are_in_order
        drawn = pool if is_first else rng.sample(pool, min(most, len(pool)))
        kept = [shot for shot in drawn if not is_itself(row, shot)]
        if len(kept) < count:
            others = [shot for shot in pool if not is_itself(row, shot)]
            if len(others) < count:
                raise too_few(makes, f" to {uid!r}", len(others))
            again = rng if most > count else random.Random(f"{shots.drawn_with}:{uid}")
            kept = again.sample(others, count)  # as lm-eval does, or for this one alone
        found[uid] = tuple(kept[:count])
    return found


def too_few(makes: Renderer, to: str, count: int, why: str = "") -> DataError:
    """Return the error that says how many examples can be shown."""
    return DataError(
        f"{makes.name}: shots.count is {makes.prompt.shots.wanted}, and {count} "
        f"examples can be shown{to}{why}; lower it, or name another shots.source"
    )


def _ids(shots: Sequence[Shot]) -> frozenset[str]:
    return frozenset(str(shot.row["uid"]) for shot in shots)


def _balanced(makes: Renderer, pool: Sequence[Shot], rng: random.Random) -> Chosen:
    groups = _grouped(pool, lambda shot: _kind(makes, shot))
    kinds = sorted(groups)
    rng.shuffle(kinds)
    for group in groups.values():
        rng.shuffle(group)
    found = _in_turn(kinds, groups, makes.prompt.shots.wanted, list.pop)
    rng.shuffle(found)
    return tuple(found)


def _drawn_by_helm(pool: Sequence[Shot], count: int, seed: int) -> Chosen:
    """Take examples in turn of each answer, the most frequent first, as HELM does.

    Answers that are equally frequent are in an order by chance.
    """
    rng = random.Random(seed)
    groups = _grouped(pool, lambda shot: str(_first_answer(shot)))
    sizes = _grouped(sorted(groups), lambda answer: len(groups[answer]))
    order: list[str] = []
    for size in sorted(sizes, reverse=True):
        rng.shuffle(sizes[size])
        order += sizes[size]

    def take(group: list[Shot]) -> Shot:
        return group.pop(rng.randrange(len(group)))

    return tuple(_in_turn(order, groups, min(count, len(pool)), take))


def _grouped(values: Sequence[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def _in_turn(
    order: Sequence[str],
    groups: Mapping[str, list[Shot]],
    count: int,
    take: Callable[[list[Shot]], Shot],
) -> list[Shot]:
    """Take so many out of groups, one of each in turn while it has any."""
    found: list[Shot] = []
    for key in cycle(order):
        if len(found) == count:
            break
        if groups[key]:
            found.append(take(groups[key]))
    return found


def _first_answer(shot: Shot) -> Any:
    return shot.answer[0] if isinstance(shot.answer, list) else shot.answer


def _kind(makes: Renderer, shot: Shot) -> str:
    """Return what is balanced: the letter of the answer, or the answer itself.

    The texts of options differ from question to question, so that a balance of them
    would be none.
    """
    answer = _first_answer(shot)
    if not makes.shows_options:
        return str(answer)
    return makes.shown(shot.row).letter_of(answer) or str(answer)
