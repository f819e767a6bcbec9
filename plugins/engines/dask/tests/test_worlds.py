"""An evaluation in parts gives what it gives in one process, for random worlds."""

from pathlib import Path
from random import Random

import pytest
from s3_servers import seaweedfs

from evalkit.reading import digests
from evalkit_engines_dask import sources
from evalkit_engines_dask.cluster import Dask

from .worlds import Plain, differences, make_world, outcome


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut files into many parts."""
    monkeypatch.setattr(digests, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(sources, "PART_BYTES", 1500)


def check(folder: Path, seed: int, metrics: int, *counts: int) -> None:
    world = make_world(folder, seed, metrics)
    known = outcome(world, folder / "known")
    for parts in counts:
        engine = Plain(parts, folder / f"store-{parts}", seed)
        found = outcome(world, folder / f"runs-{parts}", engine=engine)
        assert differences(found, known) == [], parts


@pytest.mark.usefixtures("small_parts")
def test_parts_give_the_scores_of_the_whole(tmp_path: Path) -> None:
    check(tmp_path, 3, 5, 1, 2, 7)


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("seed", range(20, 32))
def test_all_metrics_give_the_scores_of_the_whole(seed: int, tmp_path: Path) -> None:
    check(tmp_path, seed, 1000, 7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_bucketed_files_give_the_same_scores(seed: int, tmp_path: Path) -> None:
    world = make_world(tmp_path, seed, 20, bucketed=True)
    known = outcome(world, tmp_path / "known")
    engine = Plain(3, tmp_path / "store", seed, bucketed=True)
    found = outcome(world, tmp_path / "runs", engine=engine)
    assert differences(found, known) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_dask_gives_the_scores_of_one_process(workers: int, tmp_path: Path) -> None:
    with Dask(workers=workers) as engine:
        for seed in Random(workers).sample(range(80, 200), 3):
            folder = tmp_path / str(seed)
            folder.mkdir()
            world = make_world(folder, seed, 15)
            known = outcome(world, folder / "known")
            found = outcome(world, folder / "runs", engine=engine)
            assert differences(found, known) == [], seed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_scores_do_not_depend_on_the_order_of_rows(seed: int, tmp_path: Path) -> None:
    found = []
    for is_shuffled in (False, True):
        folder = tmp_path / str(is_shuffled)
        folder.mkdir()
        world = make_world(folder, seed, 20, is_shuffled)
        found.append(outcome(world, folder / "runs"))
    assert world.is_ordered or differences(*found, reordered=True) == []


@pytest.mark.slow
@pytest.mark.xdist_group("seaweedfs")
def test_files_and_the_store_may_lie_in_s3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seaweedfs(tmp_path / "seaweedfs") as server:
        for name, value in server.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
        client = server.client()
        client.create_bucket(Bucket="worlds")
        world = make_world(tmp_path, 13, 10, bucketed=True)
        for path in (*tmp_path.glob("said*"), *tmp_path.glob("shards/*")):
            key = str(path.relative_to(tmp_path))
            client.upload_file(str(path), "worlds", key)
        names = {"data": "shards/test-*.parquet", "predictions": "said-*.parquet"}
        far = {key: f"s3://worlds/{names[key]}" for key in names}
        world = world._replace(arguments=world.arguments | far)
        known = outcome(world, tmp_path / "known")
        for bucketed in (False, True):
            with Dask(
                workers=2, store="s3://worlds/store", bucketed=bucketed
            ) as engine:
                found = outcome(world, tmp_path / f"runs-{bucketed}", engine=engine)
            assert differences(found, known) == []
        client.close()
