"""The tests that a rewrite must leave in place.

`net.txt` lists them by function and parameters: oracles, known results, conformance of
our plugins, hostile files, the accounting of rows, and the command line from outside.
A change may move them; it removes one only with the feature that it tests.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.skipif(
    "EVALKIT_TEST_ORACLES" not in os.environ,
    reason="EVALKIT_TEST_ORACLES is not set: tests of oracles are not collected",
)
def test_every_test_of_the_net_is_there(collected: frozenset[str]) -> None:
    net = set((ROOT / "tests/net.txt").read_text(encoding="utf-8").splitlines())
    assert len(net) > 2000
    assert sorted(net - collected) == []
