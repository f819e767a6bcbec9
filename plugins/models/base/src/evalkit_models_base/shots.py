"""Examples that a prompt shows: where they are from, and which ones."""

from __future__ import annotations

import hashlib
import json
import random
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle
from typing import Any

from evalkit import Registry
from evalkit.catalog import DataSource, Resolver, bind_dataset, facet_of, is_file_name
from evalkit.errors import DataError
from evalkit.reporting import count_of
from evalkit_models_base.choosing import choices_name
from evalkit_models_base.inputs import Answered, load_answered
from evalkit_models_base.prompts import TRAINING
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


_MOST_LISTED = 100
"""Groups of examples whose shots a record lists; of more it has the digest alone."""


@dataclass(frozen=True)
class Origin:
    """What the inputs were loaded from, as `load_inputs` takes it."""

    dataset: Any = None
    data: Any = None
    task: Any = None
    rows: DataSource | None = None
    registry: Registry | None = None

    def answered(self, split: str | None, file: str | None = None) -> list[Answered]:
        """Load the examples of a split, or of a file, with their answers."""
        return load_answered(
            self.dataset,
            data=self.data,
            task=self.task,
            split=split,
            file=file,
            rows=self.rows,
            registry=self.registry,
        )


@dataclass(frozen=True)
class Drawn:
    """Shots of each trial.

    Attributes:
        trials: The shots of each, by the key of an example.
        keys: The key of each example, by its id; None where all have the same, `""`.
        notices: What a user should know of them.
    """

    trials: tuple[Mapping[str, Chosen], ...] = ({"": ()},)
    keys: Mapping[str, str] | None = None
    notices: tuple[str, ...] = ()

    def shots(self, trial: int, uid: Any) -> Chosen:
        """Return the shots of an example in a trial, from 0."""
        return self.trials[trial]["" if self.keys is None else self.keys[str(uid)]]

    def said(self, sent: Collection[str]) -> dict[str, Any]:
        """Return the ids of the shots of each trial, and a digest of what they say.

        Args:
            sent: The ids of those that some request shows.
        """
        if self.trials == ({"": ()},):
            return {}

        def ids_of(shots: Chosen) -> list[str]:
            return [uid for each in shots if (uid := str(each.row["uid"])) in sent]

        ids: list[Any] = [
            {key: ids_of(shots) for key, shots in of.items()} for of in self.trials
        ]
        if self.keys is None:
            ids = [of[""] for of in ids]
        says = [shot[:3] for shot in _distinct(self.trials)]
        text = json.dumps([ids, says], sort_keys=True, default=str)
        digest = {"shown_sha256": hashlib.sha256(text.encode()).hexdigest()}
        is_listed = len(self.trials[0]) <= _MOST_LISTED
        return {"shown": ids, **digest} if is_listed else digest


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
    pools, keys = _matched(makes, origin, pool)
    is_itself = _compared(makes, pool)
    found: list[dict[str, Chosen]] = []
    for trial in range(trials):
        if shots.is_by_example:
            drawn = draw_each(makes, pools, keys, trial, is_itself)
        else:
            drawn = {
                key: draw_trial(makes, each, trial, [before[key] for before in found])
                for key, each in pools.items()
            }
        found.append(drawn)
    if shots.is_by_example:
        keys = {uid: uid for uid in found[0]}
    for shot in _distinct(found):
        makes.render(shot.row, (shot,))
    return Drawn(tuple(found), keys, notices)


def _distinct(trials: Iterable[Mapping[str, Chosen]]) -> list[Shot]:
    shots = (shot for of in trials for each in of.values() for shot in each)
    return [*{id(shot): shot for shot in shots}.values()]


def drawn_for_copies(makes: Renderer, drawn: Drawn, origin: Origin) -> Drawn:
    """Return the shots of copies: those of their originals.

    A copy that says what a shot does, with its answer, cannot be left out: a notice
    says how many there are.
    """
    own = drawn.keys
    if own is not None:
        copies = origin.answered(makes.inputs.split)
        ids = {str(each.row["uid"]): str(each.row.get("input_id")) for each in copies}
        own = {copy: own[of] for copy, of in ids.items() if of in own}
    same = Drawn(drawn.trials, own)
    text = _Asked(makes).text
    texts = {id(shot): text(shot.row) for shot in _distinct(drawn.trials)}
    count = 0
    for row in makes.inputs.rows:
        shown = [same.shots(n, row["uid"]) for n in range(len(drawn.trials))]
        count += text(row) in {texts[id(shot)] for shots in shown for shot in shots}
    if not count:
        return same
    says = "says" if count == 1 else "say"
    rows = count_of(count, "row")
    notice = f"{rows} of copies {says} what a shot with its answer does"
    return replace(same, notices=(notice,))


def _matched(
    makes: Renderer, origin: Origin, pool: list[Shot]
) -> tuple[dict[str, list[Shot]], dict[str, str] | None]:
    """Return what may be shown by the value of `match`, and that of each example."""
    shots, facet = makes.prompt.shots, makes.prompt.shots.match
    if facet is None:
        return {"": pool}, None
    values = {
        str(each.row["uid"]): _value_of(each, facet)
        for each in origin.answered(makes.inputs.split)
    }
    keys: dict[str, str] = {}
    for row in makes.inputs.rows:
        value = values.get(str(row["uid"]))
        if value is None:
            error = DataError(
                f"shots.match: the example has no single value of {facet!r}, as a "
                f"column or a tag {facet}:VALUE"
            )
            raise makes.about(row, error)
        keys[str(row["uid"])] = value
    pools: dict[str, list[Shot]] = {value: [] for value in keys.values()}
    for shot in pool:
        pools.get(str(_value_of(shot, facet)), []).append(shot)
    for value, each in pools.items():
        if len(each) < shots.wanted and not shots.fewer:
            raise too_few(makes, f" where {facet} is {value!r}", len(each))
    return pools, keys


def _value_of(shot: Shot, facet: str) -> str | None:
    """Return the value of a facet; None where an example has none, or several."""
    value = shot.row.get(facet)
    if value is not None:
        return str(value)
    pairs = [facet_of(tag) for tag in shot.tags]
    values = [pair[1] for pair in pairs if pair is not None and pair[0] == facet]
    return values[0] if len(values) == 1 else None


def _pool(makes: Renderer, origin: Origin) -> tuple[list[Shot], tuple[str, ...]]:
    """Return what may be shown: nothing that is asked, by id or by what it says.

    With the draw of lm-eval an example is kept from itself alone.
    """
    shots, name = makes.prompt.shots, makes.name
    given = _given(makes) if shots.examples is not None else _loaded(makes, origin)
    answered = [shot for shot in given if shot.answer not in (None, [])]
    asked = _Asked(makes)
    is_each = shots.is_by_example
    open_ = [shot for shot in answered if is_each or not asked.has(shot)]
    leaking = len(answered) - len(open_)
    if leaking and (shots.examples is not None or shots.are_in_order):
        first = next(shot for shot in answered if asked.has(shot))
        raise DataError(
            f"{name}: shots: {first.row['uid']!r} is among the examples that are "
            f"asked, by its {asked.how(first)}, and would show its answer; take it out "
            f"of {shots.source or 'shots.examples'}"
        )
    is_short = len(open_) < shots.wanted
    if is_short and not (shots.fewer or (open_ and shots.draw == "helm")):
        why = f", {leaking} of {len(answered)} being asked" if leaking else ""
        raise too_few(makes, "", len(open_), why)
    notices = []
    if is_short:
        notices.append(f"{len(open_)} of {shots.wanted} shots shown, as there are")
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
    is_each = makes.prompt.shots.is_by_example
    if not is_file and source == makes.inputs.split and not is_each:
        raise DataError(
            f"{name}: shots.source is {source!r}, the split that is asked, so that "
            "answers would leak; name another split or a file"
        )
    try:
        return origin.answered(*((None, source) if is_file else (source,)))
    except DataError as error:
        raise DataError(f"{name}: shots.source: {error}") from error


def _training_split(makes: Renderer, origin: Origin) -> str | None:
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
        self._ids = {str(row["uid"]).strip() for row in makes.inputs.rows}

    @cached_property
    def _texts(self) -> set[tuple[str, ...]]:
        return {self.text(row) for row in self._makes.inputs.rows}

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
    # what is no list of them is refused where they are shown
    return options if isinstance(options, list | tuple) else ()


def _folded(value: Any) -> str:
    text = unicodedata.normalize("NFKC", str(value)).casefold()
    return " ".join(text.split())


def _compared(
    makes: Renderer, pool: Iterable[Shot]
) -> Callable[[Mapping[str, Any], Shot], bool]:
    """Return what tells whether a shot would show an example its own answer.

    Whole examples are compared where they are known, else ids, and what they say.
    """
    text, own = _Asked(makes).text, dict[str, Shot]()
    if makes.prompt.shots.source == makes.inputs.split:
        own = {str(shot.row["uid"]): shot for shot in pool}

    def is_itself(row: Mapping[str, Any], shot: Shot) -> bool:
        uid, itself = str(row["uid"]), own.get(str(row["uid"]))
        if itself is not None:
            return shot is itself or content(shot) == content(itself)
        return str(shot.row["uid"]) == uid or text(shot.row) == text(row)

    def content(shot: Shot) -> tuple[Any, ...]:
        return {**shot.row, "uid": None}, shot.answer, shot.stored

    return is_itself
