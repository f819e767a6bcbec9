"""What `my-thing` gives, and the laws that every metric keeps."""

import evalkit
from evalkit_testing import check_metric

from my_package.my_thing import MyThing


def test_a_result_by_hand() -> None:
    said, right = ["a b", "a b c d"], ["x", "y"]
    result = evalkit.score(MyThing, predictions=said, targets=right)
    assert result["my-thing"].value == 0.5


def test_parameters() -> None:
    result = evalkit.score("my-thing:words=4", ["a b c d", "a b c d e"], ["x", "y"])
    assert result["my-thing:words=4"].value == 0.5


def test_a_missing_prediction_counts_as_wrong() -> None:
    score = evalkit.score(MyThing, ["a", None], ["x", "y"])["my-thing"]
    assert (score.value, score.n) == (0.5, 2)


def test_the_laws_of_metrics() -> None:
    # this one looks at no answer, so that a right prediction need not score best
    check_metric("my-thing", perfect=None)
