"""The benchmark `my-thing` can be evaluated in each of its variants."""

import evalkit
from evalkit_benchmarks_declared import check, expand


def test_all_that_the_file_declares_is_valid() -> None:
    registry = evalkit.Registry()
    found = [*check(expand("my-thing", registry).evaluated, registry)]
    assert [each.problem for each in found if each.problem] == []
