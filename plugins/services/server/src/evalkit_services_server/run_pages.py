"""What pages show of run folders and of the files of datasets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from evalkit.errors import StorageError
from evalkit_services_server.withholding import withhold_problems

if TYPE_CHECKING:
    from evalkit.runs import Problem, Result
    from evalkit_analysis_compare import Comparison

SHOWN_PROBLEMS = 100
SHOWN_SAMPLES = 10
_LONGEST = 400
_KEPT = 64


@lru_cache(maxsize=_KEPT)
def make_report(*folders: str) -> str:
    """Return the report of runs as HTML, without paths of this machine."""
    from evalkit import read_run
    from evalkit_commands_report.gathering import gather
    from evalkit_commands_report.markup import fragment
    from evalkit_commands_site.run_page import report_content

    groups = gather([read_run(folder) for folder in folders], _compare)
    html = str(report_content(groups))
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


@lru_cache(maxsize=_KEPT)
def read_problems(folder: str, *, is_withheld: bool) -> list[Problem]:
    """Return the first problems of a run, as they are shown if it is private."""
    from evalkit import read_run

    problems = read_run(folder).problems
    kept = withhold_problems(problems) if is_withheld else problems
    return [*islice(kept, SHOWN_PROBLEMS)]


def read_samples(
    dataset: Mapping[str, Any], input_keys: Sequence[str], *, is_withheld: bool
) -> list[dict[str, str]]:
    """Return the first examples of a dataset as texts; only inputs if withheld."""
    from evalkit.places import local

    try:
        with local(dataset["uri"]).open("rb") as file:
            rows = [json.loads(line) for line in islice(file, SHOWN_SAMPLES)]
    except (OSError, ValueError) as error:
        raise StorageError(f"{dataset['name']}: no samples: {error}") from error
    return [
        {k: _text(row[k]) for k in row if not is_withheld or k in input_keys}
        for row in rows
    ]


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
