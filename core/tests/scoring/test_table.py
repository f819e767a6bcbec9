from __future__ import annotations

import numpy as np
import polars as pl

from evalkit.statistics.resampling import unit_keys

from ..engine_tables import make_table


def test_examples_are_the_units_where_there_are_no_clusters() -> None:
    units = make_table([1, 0, 1], ids=["b", "a", "c"]).units(5)
    assert not units.clustered
    assert units.count == 3
    assert units.codes.tolist() == [0, 1, 2]
    assert (units.keys == unit_keys(["b", "a", "c"], 5)).all()


def test_examples_may_be_resampled_under_other_names() -> None:
    table = make_table([1, 0])._replace(unit_names=["x", "y"])
    assert (table.units(0).keys == unit_keys(["x", "y"], 0)).all()


def test_replications_of_an_example_are_one_unit() -> None:
    table = make_table([1, 0, 1, 1, 0, 0], ids=list("aaabbb"), replications="123")
    units = table.units(0)
    assert units.count == 2
    assert units.codes.tolist() == [0, 0, 0, 1, 1, 1]
    assert (units.keys == unit_keys(["a", "b"], 0)).all()


def test_clusters_are_the_units_where_there_are_any() -> None:
    clusters = pl.Series([7, 2**63, 7, 3], dtype=pl.UInt64)
    table = make_table([1, 0, 1, 1], ids=["a", "b", "c", "d"], clusters=clusters)
    units = table.units(1)
    assert units.clustered
    assert units.count == 3
    assert units.codes[0] == units.codes[2]
    assert len(set(units.codes.tolist())) == 3
    named = dict(zip(units.codes.tolist(), clusters.cast(pl.String), strict=True))
    names = [named[number] for number in range(3)]
    assert (units.keys == unit_keys(names, 1)).all()


def test_clusters_of_a_part_are_drawn_as_in_the_whole() -> None:
    clusters = np.array([5, 2**64 - 1, 9, 5, 2**64 - 1], dtype=np.uint64)
    whole = make_table([0] * 5, clusters=clusters).units(0)
    part = make_table([0] * 2, clusters=clusters[3:]).units(0)
    assert (part.keys[part.codes] == whole.keys[whole.codes][3:]).all()


def test_replications_may_be_clustered() -> None:
    table = make_table([0] * 4, clusters=[1, 1, 1, 1], replications="ab")
    units = table.units(0)
    assert (units.count, units.codes.tolist()) == (1, [0, 0, 0, 0])
