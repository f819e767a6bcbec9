"""What the data set `my-thing` holds, and the laws that every data set keeps."""

import evalkit
from evalkit_testing import check_dataset

from my_package.my_thing import MyThing

# What `evalkit_testing.dataset_sha256` gave of each version: raise `version` in the data
# set when the data change, and add theirs here.
SHA256 = {
    "1": "8ff8c3677f626b7ae904ad40309dfdcd9fef76f12ec109e1bed0afdfb5f25986",
}


def test_the_laws_of_data_sets() -> None:
    check_dataset("my-thing", sha256=SHA256)


def test_wrong_answers_score_worst() -> None:
    other = {"positive": "negative", "negative": "positive"}
    rows = MyThing().load("test")
    said = [{"id": row["uid"], "label": other[row["label"]]} for row in rows]
    result = evalkit.evaluate("my-thing", said, metrics=["accuracy"])
    assert result["accuracy"].value == 0.0
