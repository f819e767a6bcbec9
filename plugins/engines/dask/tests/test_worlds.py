"""Random worlds are evaluated to the same, whatever the order of their rows."""

from pathlib import Path

import pytest

from .worlds import differences, make_world, outcome


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_scores_do_not_depend_on_the_order_of_rows(seed: int, tmp_path: Path) -> None:
    found = []
    for is_shuffled in (False, True):
        folder = tmp_path / str(is_shuffled)
        folder.mkdir()
        world = make_world(folder, seed, 20, is_shuffled)
        found.append(outcome(world, folder / "runs"))
    assert world.is_ordered or differences(*found, reordered=True) == []
