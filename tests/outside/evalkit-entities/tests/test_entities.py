import json

import evalkit_entities
import pytest
from hypothesis import strategies as st

import evalkit
from evalkit_testing import check_metric

ROWS = [
    json.loads(line)
    for line in (evalkit_entities.FOLDER / "postcards.jsonl")
    .read_text("utf-8")
    .splitlines()
]


def evaluate(responses, **options):
    return evalkit.evaluate("postcards", responses, model="mine", **options)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_offsets_of_an_encoding_are_turned_into_code_points(encoding):
    codec, width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}[encoding]
    responses = []
    for row in ROWS:
        offsets = []
        for span in row["entities"]:
            before = len(row["text"][: span["start"]].encode(codec)) // width
            inside = (
                len(row["text"][span["start"] : span["end"]].encode(codec)) // width
            )
            offsets.append([before, inside, span["label"]])
        responses.append({"id": row["uid"], "offsets": offsets, "encoding": encoding})
    result = evaluate(responses)
    assert result["entity-f1"].value == result["entity-f1#recall"].value == 1
    assert result.counts["scored"] == 9


def test_an_offset_within_a_letter_is_refused():
    responses = [{"id": "p6", "offsets": [[1, 2, "person"]], "encoding": "utf-8"}]
    with pytest.raises(evalkit.AlignmentError, match="adapt_response"):
        evaluate(responses, on_missing="skip")


def test_texts_without_entities_have_no_value():
    responses = [{"id": uid, "entities": []} for uid in ("p2", "p4", "p8", "p9")]
    score = evaluate(responses, on_missing="skip")["entity-f1"]
    assert (score.value, score.n) == (None, 4)
    assert "no entities" in score.reason


def test_laws():
    labels = st.sampled_from(["person", "place"])
    span = st.builds(
        lambda start, label: {"start": start, "end": 4, "label": label},
        st.integers(0, 2),
        labels,
    )
    spans = st.lists(span, max_size=3)
    check_metric(
        "entity-f1",
        task="named-entities",
        examples=st.tuples(st.none() | spans, spans),
        max_examples=5,
        perfect=None,  # spans that repeat count once
    )
