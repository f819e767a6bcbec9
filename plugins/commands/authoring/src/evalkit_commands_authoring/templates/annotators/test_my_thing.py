"""What `my-thing` says of responses, and the laws that every annotator keeps."""

from __future__ import annotations

import evalkit
from evalkit_testing import check_annotator

from my_package.my_thing import MyThing


def test_what_it_says() -> None:
    judge = MyThing()
    assert judge.annotate_example("Thank you!") is True
    assert judge.annotate_example("Goodbye.") is False


def test_an_empty_response_is_not_judged() -> None:
    said = MyThing().annotate_example(" ")
    assert isinstance(said, evalkit.NotScored)


def test_the_metric_reads_it() -> None:
    context = "How are you? Fine, thanks. And they? No idea."
    example = {"context": context, "question": "How are you?", "answer": "Fine"}
    rows = [{"uid": str(number), **example} for number in range(2)]
    said = [{"id": "0", "answer": "Fine, thanks"}, {"id": "1", "answer": "No idea"}]
    result = evalkit.evaluate(
        data=rows, predictions=said, task="qa", metrics=["my-thing-share"]
    )
    assert result["my-thing-share"].value == 0.5


def test_the_laws_of_annotators() -> None:
    check_annotator("my-thing", [("Thanks!", ""), ("No.", "")])
