"""What the docstring of every metric holds: its source, and an example that is true."""

import doctest
import inspect
import re
from importlib.metadata import entry_points

import pytest

OURS = {
    found.name: inspect.getdoc(found.load()) or ""
    for found in entry_points(group="evalkit.metrics")
    if found.dist and found.dist.name.startswith("evalkit-metrics-")
}

of_every_metric = pytest.mark.parametrize(
    ("name", "documentation"), sorted(OURS.items()), ids=sorted(OURS)
)


@of_every_metric
def test_a_source_is_named(name: str, documentation: str) -> None:
    assert re.search(r"^Source: \S", documentation, re.MULTILINE)


@of_every_metric
def test_the_example_is_true(name: str, documentation: str) -> None:
    (example,) = re.findall(r"^Example:\n((?: .*\n?|\n)+)", documentation, re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(example, {}, name, None, 0)
    assert any(name in each.source for each in test.examples)
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=printed.append)
    assert not runner.failures, "".join(printed)
