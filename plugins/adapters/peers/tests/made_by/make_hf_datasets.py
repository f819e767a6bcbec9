"""Writes `../hf_datasets/`: folders and Parquet that `datasets` itself wrote.

Run once, in an environment of its own (`pip install datasets==5.2.0`):

    python make_hf_datasets.py
"""

import shutil
from pathlib import Path

from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

TARGET = Path(__file__).resolve().parent.parent / "hf_datasets"

LABELS = ClassLabel(names=["negative", "neutral", "positive"])
FEATURES = Features(
    {
        "key": Value("string"),
        "statement": Value("string"),
        "label": LABELS,
        "tags": List(Value("string")),
        "others": List(LABELS),
    }
)
ROWS = [
    ("r1", "It works and I like it.", 2, ["length:short"], [1]),
    ("r2", "It broke after a day.", 0, ["length:short"], []),
    ("r3", "It is a phone.", 1, ["length:short"], [0, 2]),
    ("r4", "I would buy it again, and so would my mother.", 2, ["length:long"], [1]),
]


def _dataset(rows: list[tuple[object, ...]]) -> Dataset:
    columns = zip(*rows, strict=True)
    named = dict(zip(FEATURES, map(list, columns), strict=True))
    return Dataset.from_dict(named, features=FEATURES)


def main() -> None:
    """Write a set in two files, one with splits, one of Parquet, and predictions."""
    shutil.rmtree(TARGET, ignore_errors=True)
    test = _dataset(ROWS)
    test.save_to_disk(str(TARGET / "reviews"), num_shards=2)
    # without its second row, and in another order
    chosen = test.select([3, 0, 2])
    both = DatasetDict({"train": _dataset(ROWS[:1]), "test": chosen})
    both.save_to_disk(str(TARGET / "reviews_of_splits"))
    (TARGET / "parquet").mkdir()
    for index in range(2):
        name = f"test-{index:05}-of-00002.parquet"
        shard = test.shard(2, index, contiguous=True)
        shard.to_parquet(str(TARGET / "parquet" / name))
    said = [{"id": row[0], "label": "positive"} for row in ROWS]
    Dataset.from_list(said).save_to_disk(str(TARGET / "predictions"))


if __name__ == "__main__":
    main()
