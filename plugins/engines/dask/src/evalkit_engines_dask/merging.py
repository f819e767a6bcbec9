"""Adds up what parts found to what is known of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evalkit.predictions.alignment import Alignment
from evalkit.predictions.matching import sorted_replications
from evalkit.reading.steady_files import joined_digest
from evalkit.runs import recorded
from evalkit.scoring.grouping import bin_edges
from evalkit_engines_dask.buckets import Pieces
from evalkit_engines_dask.plan import Inferred
from evalkit_engines_dask.responses import ResponsePart
from evalkit_engines_dask.scoring import Scored
from evalkit_engines_dask.sources import Source
from evalkit_engines_dask.types import common_type


def merge_pieces(source: Source | None, parts: Sequence[ResponsePart]) -> Pieces:
    """Return the files of parts; lines are numbered through all files."""
    paths = [None] if source is None else source.parts
    last: dict[Path | None, int] = {}
    for path, part in zip(paths, parts, strict=True):
        last[path] = max(last.get(path, 0), part.last)
    starts = dict(zip(last, accumulate(last.values(), initial=0), strict=False))
    return [(starts[p], part.files) for p, part in zip(paths, parts, strict=True)]


def merge_inferred(scored: Sequence[Scored]) -> Inferred:
    """Merge what parts infer of responses."""
    known = [each.inferred for each in scored]
    names = {name for each in known for name in each.types}
    of_numbers = {name for each in scored for name in each.numbers}
    return Inferred(
        sorted_replications({name for each in known for name in each.replications}),
        {
            name: common_type(each.types[name] for each in known if name in each.types)
            for name in sorted(names)
        },
        {
            name: _edges(each.numbers[name] for each in scored if name in each.numbers)
            for name in sorted(of_numbers)
        },
        any(each.is_refused for each in known),
        any(each.unanswered for each in known),
    )


def _edges(numbers: Iterable[pl.DataFrame]) -> tuple[float, ...]:
    counts = pl.concat(numbers, how="vertical_relaxed")
    summed = counts.group_by("number").agg(pl.col("count").sum()).sort("number")
    return tuple(bin_edges(summed).tolist())


def merge_alignments(
    scored: Sequence[Scored], parts: Sequence[ResponsePart]
) -> Alignment:
    """Add up what became of the responses of all buckets."""
    known = [each.alignment for each in scored]
    counts = _total(each.counts for each in known)
    if "replications" in counts:
        counts["replications"] = known[0].counts["replications"]
    undeclared = [each.undeclared for each in known]
    undeclared += (each.undeclared for each in parts)
    absent = [each.absent for each in known if each.counts["predictions"] > 1] or [()]
    return known[0]._replace(
        counts={name: counts[name] for name in known[0].counts},
        undeclared=_total(undeclared),
        unparsed=dict(_total(each.unparsed for each in known).most_common()),
        absent=tuple(n for n in absent[0] if all(n in each for each in absent)),
    )


def merge_records(scored: Sequence[Scored]) -> dict[str, Any]:
    """Add up what the records of buckets say of their examples."""
    known = [each.record for each in scored]
    columns = zip(*(each.columns for each in known), strict=True)
    return {
        "not_scored": dict(_total(each.not_scored for each in known)),
        "columns": tuple(map(_merge_columns, columns)),
        "extraction": _merge_extractions(scored),
    }


def _merge_columns(several: Sequence[recorded.Columns]) -> recorded.Columns:
    without = _total(each.without_value for each in several)
    changes = {
        "rows": sum(each.rows for each in several),
        "without_value": dict(without.most_common()),
        "sha256": joined_digest([each.sha256 for each in several]),
    }
    return several[0].model_copy(update=changes)


def _merge_extractions(scored: Sequence[Scored]) -> recorded.Extraction | None:
    known = [each.record.extraction for each in scored]
    found = [each for each in known if each is not None]
    if not found:
        return None
    names = ("responses", "ok", "empty", "unparsed", "error")
    sums = {name: sum(getattr(each, name) for each in found) for name in names}
    texts = np.unique(np.concatenate([each.texts for each in scored]))
    return found[0].model_copy(update={**sums, "unique": len(texts)})


def list_notices(scored: Sequence[Scored]) -> list[str]:
    """Say how many lists were predicted where answers are single values."""
    known = [each.lists for each in scored if each.lists is not None]
    number = sum(each.number for each in known)
    return [str(known[0]._replace(number=number))] if known else []


def _total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total
