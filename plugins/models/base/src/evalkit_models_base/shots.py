"""Examples that a prompt shows: where they are from, and which ones."""

from __future__ import annotations

import hashlib
import json
import random
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from evalkit import Registry
from evalkit.catalog import DataSource, Resolver, bind_dataset, is_file_name
from evalkit.errors import DataError
from evalkit.reporting import count_of
from evalkit_models_base.answered import load_answered
from evalkit_models_base.choosing import choices_name
from evalkit_models_base.prompts import TRAINING
from evalkit_models_base.rendering import Renderer, Shot

_ATTEMPTS = 1_000
"""How often a trial is drawn again that has the same shots as one before."""


@dataclass(frozen=True)
class Origin:
    """What the inputs were loaded from, as `load_inputs` takes it."""

    dataset: Any = None
    data: Any = None
    task: Any = None
    rows: DataSource | None = None
    registry: Registry | None = None


@dataclass(frozen=True)
class Drawn:
    """Shots of each trial, which are the same for all rows.

    Attributes:
        trials: The shots of each.
        notices: What a user should know of them.
    """

    trials: tuple[tuple[Shot, ...], ...] = ((),)
    notices: tuple[str, ...] = ()

    def said(self) -> dict[str, Any]:
        """Return the ids of the shots of each trial, and a digest of what they say."""
        if self.trials == ((),):
            return {}
        text = json.dumps(self.trials, sort_keys=True, default=str)
        ids = [[str(shot.row["uid"]) for shot in trial] for trial in self.trials]
        return {"shown": ids, "shown_sha256": hashlib.sha256(text.encode()).hexdigest()}


def draw_shots(makes: Renderer, origin: Origin, trials: int = 1) -> Drawn:
    """Choose the shots of a prompt."""
    shots, name = makes.prompt.shots, makes.name
    if not shots.wanted:
        if trials > 1:
            raise DataError(
                f"{name}: {trials} trials need shots, in which they differ; say "
                "shots.count (--shots), or ask anew with --replications"
            )
        return Drawn()
    if makes.prompt.method in ("ranking", "language-modelling"):
        raise DataError(
            f"{name}: shots: the method {makes.prompt.method} shows none; take them out"
        )
    pool, notices = _pool(makes, origin)
    found: list[tuple[Shot, ...]] = []
    for trial in range(trials):
        found.append(_another(makes, pool, trial, found))
    for shot in {id(shot): shot for shots in found for shot in shots}.values():
        makes.render(shot.row, (shot,))
    return Drawn(tuple(found), notices)


def copies_of_shots(makes: Renderer, drawn: Drawn) -> tuple[str, ...]:
    """Say how many copies of examples say what a shot does, with its answer.

    Their originals are asked with the same shots, so that none can be left out.
    """
    asked = _Asked(makes)
    shown = {asked.text(shot.row) for shots in drawn.trials for shot in shots}
    count = sum(asked.text(row) in shown for row in makes.inputs.rows)
    if not count:
        return ()
    says = "says" if count == 1 else "say"
    return (
        f"{count_of(count, 'row')} of copies {says} what a shot with its answer does",
    )


def _pool(makes: Renderer, origin: Origin) -> tuple[list[Shot], tuple[str, ...]]:
    """Return what may be shown: nothing that is asked, by id or by what it says."""
    shots, name = makes.prompt.shots, makes.name
    given = _given(makes) if shots.examples is not None else _loaded(makes, origin)
    answered = [shot for shot in given if shot.answer not in (None, [])]
    asked = _Asked(makes)
    open_ = [shot for shot in answered if not asked.has(shot)]
    leaking = len(answered) - len(open_)
    if leaking and (shots.examples is not None or shots.are_in_order):
        first = next(shot for shot in answered if asked.has(shot))
        raise DataError(
            f"{name}: shots: {first.row['uid']!r} is among the examples that are "
            f"asked, by its {asked.how(first)}, and would show its answer; take it out "
            f"of {shots.source or 'shots.examples'}"
        )
    if len(open_) < shots.wanted:
        why = f", {leaking} of {len(answered)} being asked" if leaking else ""
        raise DataError(
            f"{name}: shots.count is {shots.wanted}, and {len(open_)} examples can be "
            f"shown{why}; lower it, or name another shots.source"
        )
    notices = []
    if leaking:
        notices.append(
            f"{count_of(leaking, 'example')} of {shots.source!r} not shown, being "
            "asked too, by their id or text"
        )
    if len(answered) < len(given):
        notices.append(
            f"{count_of(len(given) - len(answered), 'example')} of {shots.source!r} "
            "not shown, having no answer"
        )
    return open_, tuple(notices)


def _given(makes: Renderer) -> list[Shot]:
    """Return the examples that the prompt holds."""
    return [
        Shot({"uid": f"shot {number}", **each}, each["answer"])
        for number, each in enumerate(makes.prompt.shots.examples or (), start=1)
    ]


def _loaded(makes: Renderer, origin: Origin) -> list[Shot]:
    """Read the examples of another split or a file."""
    name = makes.name
    source = makes.prompt.shots.source or _training_split(makes, origin)
    if source is None:
        raise DataError(
            f"{name}: shots.source is missing: {makes.prompt.shots.wanted} examples "
            "are to be shown, and nothing says from where; name a split other than "
            f"{makes.inputs.split!r} or a file, or write shots.examples"
        )
    is_file = is_file_name(source)
    if not is_file and source == makes.inputs.split:
        raise DataError(
            f"{name}: shots.source is {source!r}, the split that is asked, so that "
            "answers would leak; name another split or a file"
        )
    try:
        rows = load_answered(
            origin.dataset,
            data=origin.data,
            task=origin.task,
            split=None if is_file else source,
            file=source if is_file else None,
            rows=origin.rows,
            registry=origin.registry,
        )
    except DataError as error:
        raise DataError(f"{name}: shots.source: {error}") from error
    return [Shot(*each) for each in rows]


def _training_split(makes: Renderer, origin: Origin) -> str | None:
    """Return the split of the data set that is for training; None for none."""
    if origin.dataset is None or is_file_name(origin.dataset):
        return None
    resolver = Resolver(origin.registry or Registry())
    splits = bind_dataset(resolver, origin.dataset, origin.task).splits
    is_there = TRAINING in splits and makes.inputs.split != TRAINING
    return TRAINING if is_there else None


class _Asked:
    """Which examples are asked."""

    def __init__(self, makes: Renderer) -> None:
        self._makes = makes
        self._fields = [field.partition(".")[0] for field in makes.prompt.fields()]
        rows = makes.inputs.rows
        self._ids = {str(row["uid"]).strip() for row in rows}
        self._texts = {self.text(row) for row in rows}

    def has(self, shot: Shot) -> bool:
        """Tell whether a shot is one of them, by its id or by what it says."""
        return self.how(shot) == "id" or self.text(shot.row) in self._texts

    def how(self, shot: Shot) -> str:
        """Say by what a shot is one of them."""
        return "id" if str(shot.row["uid"]).strip() in self._ids else "text"

    def text(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a prompt says of an example, but for its form."""
        said = [_folded(row.get(field)) for field in self._fields]
        name = choices_name(self._makes.prompt, self._makes.inputs)
        if self._makes.shows_options and name is not None:
            options = row.get(name)
            said += sorted(_folded(each) for each in _listed(options))
        return tuple(said)


def _listed(options: Any) -> Sequence[Any]:
    """Return options; what is no list of them is refused where they are shown."""
    return options if isinstance(options, list | tuple) else ()


def _folded(value: Any) -> str:
    text = unicodedata.normalize("NFKC", str(value)).casefold()
    return " ".join(text.split())


def _another(
    makes: Renderer,
    pool: Sequence[Shot],
    trial: int,
    before: Sequence[tuple[Shot, ...]],
) -> tuple[Shot, ...]:
    """Draw the shots of a trial, which no trial before has."""
    shots, name = makes.prompt.shots, makes.name
    count, seen = shots.wanted, {_ids(each) for each in before}
    if shots.are_in_order:
        found = tuple(pool[trial * count : (trial + 1) * count])
        if len(found) == count:
            return found
        seen, tries = set(), 0
    else:
        ordered = sorted(pool, key=lambda shot: str(shot.row["uid"]))
        tries = _ATTEMPTS
    for attempt in range(tries):
        rng = random.Random(f"{shots.seed}:{trial}:{attempt}")
        found = _draw(makes, ordered, rng)
        if _ids(found) not in seen:
            return found
    raise DataError(
        f"{name}: shots: {trial + 1} trials of {count} other examples each cannot be "
        f"drawn of {len(pool)}; ask for fewer trials"
    )


def _ids(shots: Sequence[Shot]) -> frozenset[str]:
    return frozenset(str(shot.row["uid"]) for shot in shots)


def _draw(
    makes: Renderer, pool: Sequence[Shot], rng: random.Random
) -> tuple[Shot, ...]:
    shots = makes.prompt.shots
    if shots.draw != "balanced":
        return tuple(rng.sample(pool, shots.wanted))
    groups: dict[str, list[Shot]] = {}
    for shot in pool:
        groups.setdefault(_kind(makes, shot), []).append(shot)
    kinds = sorted(groups)
    rng.shuffle(kinds)
    for group in groups.values():
        rng.shuffle(group)
    found: list[Shot] = []
    for kind in cycle(kinds):
        if len(found) == shots.wanted:
            break
        if groups[kind]:
            found.append(groups[kind].pop())
    rng.shuffle(found)
    return tuple(found)


def _kind(makes: Renderer, shot: Shot) -> str:
    """Return what is balanced: the letter of the answer, or the answer itself.

    The texts of options differ from question to question, so that a balance of them
    would be none.
    """
    answer = shot.answer[0] if isinstance(shot.answer, list) else shot.answer
    if not makes.shows_options:
        return str(answer)
    return makes.shown(shot.row).letter_of(answer) or str(answer)
