"""Laws of adapters of rows and of extractors, and what they look at."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from evalkit import AdapterError, PluginError, Registry
from evalkit.catalog import Resolver
from evalkit_adapters_rows import extraction, pipeline
from evalkit_testing.laws import Law, LawBroken, NotTried, smallest

_STRANGE: tuple[Any, ...] = (None, 3, "text", [], {}, [{"a": 1}], True, "")


@dataclass
class Trial:
    """An adapter, and what it is given."""

    adapter: Any
    another: Callable[[], Any]
    """Makes another instance."""
    rows: Sequence[Any]
    broken: Sequence[Any]
    files: Sequence[Path]
    texts: Sequence[str]
    choices: Sequence[str] | None
    labels: Sequence[str] | None


def makes_adapters(
    adapter: Any, configuration: Any, registry: Registry
) -> Callable[[], Any]:
    """Return what loads an adapter, another instance each time."""
    if isinstance(adapter, str | type):
        return lambda: _bound(adapter, configuration, registry)
    return partial(copy.deepcopy, Resolver(registry).bind("adapters", adapter))


def _bound(adapter: str | type, configuration: Any, registry: Registry) -> Any:
    stages = [{"kind": adapter, "configuration": configuration}]
    try:
        return pipeline(stages, registry).stages[0].adapter
    except AdapterError:  # it is an extractor, or the configuration is wrong
        return extraction(stages, registry).stages[0].adapter


def adapted(adapter: Any, row: Any, number: int = 1) -> list[Any] | str:
    """Return the rows that a row becomes, or what an adapter has against it."""
    return adapted_rows(adapter, copy.deepcopy(row), number)


def adapted_rows(adapter: Any, row: Any, number: int) -> list[Any] | str:
    """Return the same as `adapted`, of this row itself and of no copy of it."""
    try:
        return [*adapter.adapt_row(row, number)]
    except AdapterError as error:
        return str(error)
    except PluginError as error:
        raise LawBroken(f"of the row {row!r}: {error}") from error


def as_json(rows: Any) -> str:
    """Write rows as JSON, to compare them."""
    return json.dumps(rows, sort_keys=True, default=str)


def damaged(row: Any) -> Iterator[Any]:
    """Yield copies of a row that lack a field, or hold something else in it."""
    yield from _STRANGE
    if not isinstance(row, dict):
        return
    for name in row:
        yield {other: value for other, value in row.items() if other != name}
        for value in _STRANGE:
            yield {**row, name: value}


def _need_rows(trial: Trial) -> None:
    if not trial.rows:
        raise NotTried("give rows=…, a list of rows that it can use")


def _check_works(trial: Trial) -> None:
    _need_rows(trial)
    for number, row in enumerate(trial.rows, start=1):
        made = adapted(trial.adapter, row, number)
        if isinstance(made, str):
            raise LawBroken(f"the row {row!r} is refused: {made}")
        for each in made:
            try:
                json.dumps(each)
            except (TypeError, ValueError) as error:
                raise LawBroken(
                    f"{each!r}, made of {row!r}, is nothing that JSON has: {error}"
                ) from error


def _check_inputs(trial: Trial) -> None:
    _need_rows(trial)
    for number, row in enumerate(trial.rows, start=1):
        given = copy.deepcopy(row)
        adapted_rows(trial.adapter, given, number)
        if given != row:
            raise LawBroken(f"{row!r} is {given!r} afterwards")


def _check_strange(trial: Trial) -> None:
    _need_rows(trial)
    for row in trial.rows[:3]:
        for each in damaged(row):
            adapted(trial.adapter, each)


def _check_broken(trial: Trial) -> None:
    if not trial.broken:
        raise NotTried("give broken=…, a list of rows that it refuses")
    for row in trial.broken:
        made = adapted(trial.adapter, row)
        if not isinstance(made, str):
            raise LawBroken(f"it takes the row {row!r}, and makes {made!r} of it")
        if not made.strip():
            raise LawBroken(f"it refuses the row {row!r} without a word")


def _check_stateless(trial: Trial) -> None:
    _need_rows(trial)

    def together(rows: Sequence[tuple[Any, int]]) -> list[Any]:
        adapter = trial.another()
        return [adapted(adapter, *each) for each in rows]

    _compare(trial, together)


def _check_another(trial: Trial) -> None:
    _need_rows(trial)
    for row, number in _numbered(trial.rows):
        first = adapted(trial.adapter, row, number)
        other = adapted(trial.another(), row, number)
        if as_json(first) != as_json(other):
            raise LawBroken(f"{first!r}, and by another {other!r}, for the row {row!r}")


def _check_blocks(trial: Trial) -> None:
    if trial.adapter.has("adapt_rows"):
        _need_rows(trial)
        _compare(trial, lambda rows: _in_block(trial, rows))


def _in_block(trial: Trial, rows: Sequence[tuple[Any, int]]) -> list[Any]:
    given, numbers = [copy.deepcopy(row) for row, _ in rows], [each[1] for each in rows]
    try:
        return [*trial.adapter.adapt_rows(given, numbers)]
    except AdapterError:  # then they are adapted one by one
        return [adapted(trial.adapter, *each) for each in rows]
    except PluginError as error:
        raise LawBroken(str(error)) from error


def _compare(trial: Trial, made_of: Any) -> None:
    """Compare what is made of several rows with what is made of each by itself."""

    def alone(rows: Sequence[tuple[Any, int]]) -> list[Any]:
        return [adapted(trial.another(), *each) for each in rows]

    def differs(rows: Sequence[tuple[Any, int]]) -> bool:
        return as_json(made_of(rows)) != as_json(alone(rows))

    rows = [*_numbered([*trial.rows, *reversed(trial.rows)])]
    if differs(rows):
        fewest = smallest(rows, differs)
        raise LawBroken(
            f"{made_of(fewest)!r} of the rows {[row for row, _ in fewest]!r}, and "
            f"{alone(fewest)!r} of each alone"
        )


def _numbered(rows: Sequence[Any]) -> list[tuple[Any, int]]:
    return [(row, number) for number, row in enumerate(rows, start=1)]


def _check_frame(trial: Trial) -> None:
    rows = [row for row in trial.rows if isinstance(row, dict)]
    if not trial.adapter.has("adapt_frame"):
        return
    if not rows:
        raise NotTried("give rows=…, of which some are objects")

    def differs(some: Sequence[Any]) -> bool:
        frame = pl.DataFrame(some, infer_schema_length=None, strict=False)
        return _of_frame(trial, frame) not in (None, _of_rows(trial, frame))

    if differs(rows):
        fewest = smallest(rows, differs)
        frame = pl.DataFrame(fewest, infer_schema_length=None, strict=False)
        raise LawBroken(
            f"{_of_frame(trial, frame)} of the table of {fewest!r}, and row by row "
            f"{_of_rows(trial, frame)}; None says that it is to go row by row"
        )


def _of_frame(trial: Trial, frame: pl.DataFrame) -> str | None:
    numbers = pl.Series("number", range(1, frame.height + 1), dtype=pl.Int64)
    try:
        made = trial.adapter.adapt_frame(frame.clone(), numbers)
    except AdapterError:
        return None
    except PluginError as error:
        raise LawBroken(str(error)) from error
    return None if made is None else as_json([*map(_filled, made.to_dicts())])


def _of_rows(trial: Trial, frame: pl.DataFrame) -> str:
    made: list[Any] = []
    for row, number in _numbered(frame.to_dicts()):
        found = adapted(trial.another(), row, number)
        made += [found] if isinstance(found, str) else map(_filled, found)
    return as_json(made)


def _filled(row: Any) -> Any:
    """Return a row without nulls, which a table has where a row has nothing."""
    if not isinstance(row, dict):
        return row
    return {name: value for name, value in row.items() if value is not None}


def _check_files(trial: Trial) -> None:
    _refuse_no_files(trial)
    for path in trial.files:
        first, second = (_read(each, path) for each in (trial.adapter, trial.another()))
        if first is None or isinstance(first, str):
            raise LawBroken(f"{path.name} is not read: {first or 'it returned None'}")
        if as_json(first) != as_json(second):
            raise LawBroken(f"{path.name} that is read twice is not the same")


def _read(adapter: Any, path: Path) -> list[Any] | str | None:
    try:
        found = adapter.read_file(path)
        if isinstance(found, pl.DataFrame):
            return found.to_dicts()
        return None if found is None else [*found]
    except AdapterError as error:
        return str(error) or "an error without a text"
    except PluginError as error:
        raise LawBroken(
            f"{error}; raise evalkit.AdapterError for a file that is broken"
        ) from error


def _refuse_no_files(trial: Trial) -> None:
    if not trial.files and trial.adapter.has("read_file"):
        raise NotTried("give files=…, a list of files that its read_file reads")


def _check_cut_files(trial: Trial) -> None:
    _refuse_no_files(trial)
    for path in trial.files:
        if not path.is_file():
            continue
        content = path.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            cut = Path(folder) / path.name
            for share in (0.0, 0.5, 0.9):
                cut.write_bytes(content[: int(len(content) * share)])
                _read(trial.adapter, cut)


ROW_LAWS: tuple[Law[Trial], ...] = (
    Law("works", "each row becomes rows of JSON.", _check_works),
    Law(
        "inputs",
        "the row that it is given is not changed.",
        _check_inputs,
        mend="change a copy: {**row, …}.",
    ),
    Law(
        "strange",
        "of whatever JSON has it makes rows, or it raises an AdapterError.",
        _check_strange,
        mend="check the row's type first, and raise evalkit.AdapterError.",
    ),
    Law("broken", "what it cannot use is refused, and said why.", _check_broken),
    Law(
        "stateless",
        "what becomes of a row does not depend on those before it.",
        _check_stateless,
    ),
    Law("another", "another instance makes the same of it.", _check_another),
    Law("blocks", "adapt_rows makes what adapt_row makes.", _check_blocks),
    Law("frame", "adapt_frame makes what adapt_row makes, or None.", _check_frame),
    Law("files", "the files that are its own are read, and alike twice.", _check_files),
    Law(
        "cut-files",
        "a file that is cut off is refused, or read as far as it goes.",
        _check_cut_files,
    ),
)
"""What holds of every adapter of rows."""


_MARK = "Zq7xKv2"
"""A word that no reason has by chance."""

_TEXTS = (
    *("?", "0", "{", "\\boxed{", "```", "<think>", "Answer:", "(A) or (B)"),
    *('```json\n{"answer": 1}\n```', "<think>B</think> A", "**Answer:** A"),
    *("\N{GRINNING FACE}", "日本", "e\u0301", "line\r\nline", "\x00", "1,000.5 and -3"),
    *(_MARK, f"Answer: {_MARK} {_MARK}", f"{_MARK}\n" * 50, "a" * 10_000),
)

Extracted = tuple[Any, Any, Any]
"""Value, reason, and whether the text is broken."""


def _extract(adapter: Any, trial: Trial, texts: Sequence[str]) -> list[Extracted]:
    given = pl.Series("texts", texts, dtype=pl.String)
    options = None
    if trial.choices is not None:
        lists = [[*trial.choices]] * len(texts)
        options = pl.Series("choices", lists, dtype=pl.List(pl.String))
    try:
        return [*adapter.extract(given, options, trial.labels).rows()]
    except PluginError as error:
        raise LawBroken(
            f"{error}; return evalkit.Unparsed(reason) where there is no answer"
        ) from error


def _takes_texts(trial: Trial) -> bool:
    return any(map(trial.adapter.has, ("extract_text", "extract_texts")))


def _everything(trial: Trial) -> list[str]:
    return [*trial.texts, *_TEXTS]


def _check_answers(trial: Trial) -> None:
    if not _takes_texts(trial):
        return
    if not trial.texts:
        raise NotTried("give texts=…, a list of texts that hold an answer")
    found = _extract(trial.adapter, trial, trial.texts)
    for text, (value, reason, _) in zip(trial.texts, found, strict=True):
        if value is None:
            raise LawBroken(f"nothing is found in {text!r}: {reason}")


def _check_strange_texts(trial: Trial) -> None:
    if not _takes_texts(trial):
        return

    def fails(texts: Sequence[str]) -> bool:
        try:
            _extract(trial.adapter, trial, texts)
        except LawBroken:
            return True
        return False

    texts = _everything(trial)
    if fails(texts):
        fewest = smallest(texts, fails)
        try:
            _extract(trial.adapter, trial, fewest)
        except LawBroken as error:
            raise LawBroken(f"{error}; for the texts {[*fewest]!r}") from error


def _check_alone(trial: Trial) -> None:
    if not _takes_texts(trial):
        return
    texts = [*_everything(trial), *reversed(_everything(trial))]
    _compare_answers(texts, lambda some: _extract(trial.adapter, trial, some), trial)


def _compare_answers(
    texts: Sequence[str],
    extract: Callable[[Sequence[str]], list[Extracted]],
    trial: Trial,
) -> None:
    def alone(some: Sequence[str]) -> list[Extracted]:
        return [_extract(trial.another(), trial, [text])[0] for text in some]

    def differs(some: Sequence[str]) -> bool:
        return extract(some) != alone(some)

    if differs(texts):
        fewest = smallest(texts, differs)
        raise LawBroken(
            f"{extract(fewest)!r} of the texts {[*fewest]!r}, and {alone(fewest)!r} of "
            "each alone"
        )


def _check_reasons(trial: Trial) -> None:
    if not _takes_texts(trial):
        return
    texts = [text for text in _TEXTS if _MARK in text]
    found = _extract(trial.adapter, trial, texts)
    for text, (value, reason, _) in zip(texts, found, strict=True):
        if value is None and _MARK in str(reason):
            raise LawBroken(
                f"of {text[:80]!r} the reason is {reason!r}: say it without what the "
                "model wrote, as reasons are counted and shown"
            )


def _check_chosen(trial: Trial) -> None:
    if not trial.adapter.has("choose_answer"):
        return
    several: list[str | None] = [*trial.texts, "a", "b"]
    lists: list[list[str | None]] = [
        [*several, None],
        [None, *several, several[0]],
        [*reversed(several)],
        [None, None],
        ["a", "a", "b"],
        ["b", "a"],
    ]
    try:
        found = trial.adapter.choose(lists).rows()
        again = trial.another().choose(lists).rows()
    except PluginError as error:
        raise LawBroken(str(error)) from error
    for answers, (value, _, _), (other, _, _) in zip(lists, found, again, strict=True):
        if value is not None and value not in answers:
            raise LawBroken(f"{value!r} is chosen of {answers!r}, which do not have it")
        if value != other:
            raise LawBroken(f"of {answers!r} {value!r} is chosen, and then {other!r}")


EXTRACTOR_LAWS: tuple[Law[Trial], ...] = (
    Law("found", "an answer is found in each text that is given.", _check_answers),
    Law("strange", "it takes whatever a model may write.", _check_strange_texts),
    Law("alone", "what is found does not depend on other texts.", _check_alone),
    Law("reasons", "why there is no answer quotes nothing.", _check_reasons),
    Law("chosen", "what is chosen is one of the answers.", _check_chosen),
)
"""What holds of every extractor."""
