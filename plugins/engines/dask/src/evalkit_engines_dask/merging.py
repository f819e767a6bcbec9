"""Adds up what parts found to what is known of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from evalkit.predictions.alignment import Alignment
from evalkit.predictions.matching import sorted_replications
from evalkit.runs import recorded
from evalkit.scoring.grouping import bin_edges
from evalkit_engines_dask.plan import Inferred
from evalkit_engines_dask.responses import ResponsePart
from evalkit_engines_dask.scoring import Scored
from evalkit_engines_dask.sources import Source
from evalkit_engines_dask.types import common_type


def offsets(source: Source | None, parts: Sequence[ResponsePart]) -> list[int]:
    """Return what is added to the numbers of lines of each part."""
    if source is None:
        return [0] * len(parts)
    starts: list[int] = [0]
    for file in range(max(source.files, default=0) + 1):
        of_file = zip(source.files, parts, strict=True)
        last = max((part.last for n, part in of_file if n == file), default=0)
        starts.append(starts[-1] + last)
    return [starts[file] for file in source.files]


def merge_inferred(scored: Sequence[Scored]) -> Inferred:
    """Merge what parts infer of responses."""
    known = [each.inferred for each in scored]
    names = {name for each in known for name in each.replications}
    types = {}
    for name in sorted({name for each in known for name in each.types}):
        found = common_type(each.types.get(name) for each in known)
        if found is not None:
            types[name] = found
    edges = {}
    for name in sorted({name for each in scored for name in each.numbers}):
        numbers = [s.numbers[name] for s in scored if name in s.numbers]
        counts = pl.concat(numbers, how="vertical_relaxed")
        summed = counts.group_by("number").agg(pl.col("count").sum()).sort("number")
        edges[name] = tuple(bin_edges(summed).tolist())
    is_refused = any(each.is_refused for each in known)
    unanswered = any(each.unanswered for each in known)
    return Inferred(sorted_replications(names), types, edges, is_refused, unanswered)


def merge_alignments(
    scored: Sequence[Scored], parts: Sequence[ResponsePart]
) -> Alignment:
    """Add up what became of the responses of all buckets."""
    counts: Counter[str] = Counter()
    undeclared: Counter[str] = Counter()
    unparsed: Counter[str] = Counter()
    for each in scored:
        counts.update(each.counts)
        undeclared.update(each.alignment.undeclared)
        unparsed.update(each.alignment.unparsed)
    for part in parts:
        undeclared.update(part.undeclared)
    first = scored[0].alignment
    if "replications" in first.counts:
        counts["replications"] = first.counts["replications"]
    several = [
        each.alignment.absent for each in scored if each.counts["predictions"] > 1
    ]
    absent = [n for n in (several or [()])[0] if all(n in each for each in several)]
    ordered = {name: counts[name] for name in first.counts}
    return first._replace(
        counts=ordered,
        undeclared=undeclared,
        unparsed=dict(unparsed.most_common()),
        absent=tuple(absent),
    )


def merge_extractions(scored: Sequence[Scored]) -> recorded.Extraction | None:
    """Add up how answers were taken out of responses."""
    known = [each.extraction for each in scored if each.extraction is not None]
    if not known:
        return None
    names = ("responses", "ok", "empty", "unparsed", "error")
    sums = {name: sum(getattr(each, name) for each in known) for name in names}
    texts = np.unique(np.concatenate([each.texts for each in scored]))
    return known[0].model_copy(update={**sums, "unique": len(texts)})


def list_notices(scored: Sequence[Scored]) -> list[str]:
    """Say how many lists were predicted where answers are single values."""
    known = [each.lists for each in scored if each.lists is not None]
    number = sum(each.number for each in known)
    return [str(known[0]._replace(number=number))] if known else []
