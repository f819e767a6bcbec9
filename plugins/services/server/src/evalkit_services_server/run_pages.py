"""What pages show of run folders and of the files of datasets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from evalkit_services_server.withholding import withhold_problems

if TYPE_CHECKING:
    from evalkit.runs import Problem, Result
    from evalkit_analysis_compare import Comparison

SHOWN_PROBLEMS = 100
SHOWN_SAMPLES = 10
_LONGEST = 400
_KEPT_REPORTS = 64


@lru_cache(maxsize=_KEPT_REPORTS)
def make_report(*folders: str) -> str:
    """Return the report of a run, or of runs that are compared, as HTML.

    Args:
        folders: The run folders. They never change.

    Returns:
        The sections of `evalkit report`, without paths of this machine.

    Raises:
        EvalkitError: A folder cannot be read.
    """
    from evalkit import read_run
    from evalkit_commands_report.gathering import gather
    from evalkit_commands_report.intervals import mark_symbols
    from evalkit_commands_report.markup import (
        element,
        fragment,
        raw_element,
        script_json,
    )
    from evalkit_commands_report.numbers import tag_columns
    from evalkit_commands_report.page import SECTIONS

    groups = gather([read_run(folder) for folder in folders], _compare)
    parts, data = [], {}
    for number, group in enumerate(groups):
        name = f"group-{number}"
        data[name] = tag_columns(group)
        apart = (
            element("p", f"{group.apart}.", class_="warning") if group.apart else None
        )
        parts += [apart, *(make(group, name) for make in SECTIONS)]
    held = raw_element(
        "script", script_json(data), type="application/json", id="evalkit-data"
    )
    html = str(fragment(mark_symbols(), parts, held))
    for folder in folders:
        html = html.replace(fragment(folder), "the run folder")
    return html


def _compare(results: Sequence[Result]) -> Comparison:
    from evalkit_analysis_compare import compare
    from evalkit_commands_report.gathering import (
        FEWEST_EXAMPLES,
        MOST_COMPARED_TAGS,
        comparable_tags,
    )

    is_short = comparable_tags(results) <= MOST_COMPARED_TAGS
    return compare(*results, tags=is_short, min_n=FEWEST_EXAMPLES)


def read_problems(folder: str, *, is_withheld: bool) -> list[Problem]:
    """Return the first problems of a run.

    Args:
        folder: The run folder.
        is_withheld: Whether the dataset is private to who asks.

    Raises:
        EvalkitError: The folder cannot be read.
    """
    problems = _problems(folder)
    if is_withheld:
        problems = (kept for each in problems for kept in withhold_problems([each]))
    return list(islice(problems, SHOWN_PROBLEMS))


def _problems(folder: str) -> Iterator[Problem]:
    """Read problems one by one, as a run may have millions."""
    from evalkit import Violation
    from evalkit.errors import StorageError
    from evalkit.places import join, local_file
    from evalkit.runs import Problem

    path = local_file(join(folder, "problems.jsonl"))
    if path is None:
        return
    try:
        with path.open("rb") as file:
            for line in file:
                row = json.loads(line)
                violations = tuple(Violation(**each) for each in row.pop("violations"))
                yield Problem(violations=violations, **row)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StorageError(f"{folder}: no problems: {error}") from error


def read_samples(
    dataset: Mapping[str, Any], input_keys: Sequence[str], *, is_withheld: bool
) -> list[dict[str, str]]:
    """Return the first examples of a dataset, as texts.

    Args:
        dataset: Row of the table `dataset`.
        input_keys: Fields that are sent to models.
        is_withheld: Whether labels are private to who asks.

    Raises:
        EvalkitError: The file cannot be read.
    """
    from evalkit.errors import StorageError
    from evalkit.places import local

    samples = []
    try:
        with local(dataset["uri"]).open("rb") as file:
            for line in islice(file, SHOWN_SAMPLES):
                row = json.loads(line)
                samples.append({name: _text(value) for name, value in row.items()})
    except (OSError, ValueError) as error:
        raise StorageError(f"{dataset['name']}: no samples: {error}") from error
    if not is_withheld:
        return samples
    return [{n: row[n] for n in input_keys if n in row} for row in samples]


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
