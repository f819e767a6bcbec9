"""The benchmark `my-thing` can be evaluated in each of its variants."""

from __future__ import annotations

import evalkit
from evalkit_benchmarks_declared import check, expand


def test_all_that_the_file_declares_is_valid() -> None:
    registry = evalkit.Registry()
    expansion = expand("my-thing", registry)
    found = [*check(expansion.evaluated, registry)]
    assert [each.problem for each in found if each.problem] == []
    assert all(each.examples or each.unchecked for each in found)
