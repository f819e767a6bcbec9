import pytest
from hypothesis import strategies as st

import evalkit
from evalkit_testing import check_metric

SAID = {
    "n1": "The bridge on Mill Lane is closed from Monday to Friday.",
    "n2": "Market moved to tram depot because of heavy rain",
    "n3": "Im Sommer öffnet die Bücherei um zehn Uhr.",
    "n4": "Η πισίνα είναι κλειστή την Κυριακή.",
    "n5": "",
    "n6": "Helpers painted the changing rooms 🏊",
    "n7": "Serveuse demandée au café de la gare",
    "n8": "A grey cat with a white paw is lost",
}


def evaluate(said, **options):
    rows = [{"id": uid, "summary": text} for uid, text in said.items()]
    return evalkit.evaluate("notices", rows, model="mine", **options)


def test_an_example_without_a_good_reference_is_not_scored():
    result = evaluate(SAID)
    assert result["graded-rouge"].n == 7
    assert [problem.id for problem in result.problems][:1] == ["n8"]
    assert (
        evaluate(SAID, metrics=["graded-rouge:least_grade=1"])[
            "graded-rouge:least_grade=1"
        ].n
        == 8
    )


def test_the_best_summaries_score_best():
    best = {
        "n1": "Mill Lane bridge is closed from Monday to Friday.",
        "n2": "Rain moves market indoors",
        "n3": "Die Bücherei öffnet im Sommer um zehn.",
        "n4": "Η πισίνα κλείνει την Κυριακή λόγω αγώνων.",
        "n5": "",
        "n6": "Club thanks helpers who painted the changing rooms.",
        "n7": "Serveuse demandée au café",
        "n8": "Grey cat lost",
    }
    result = evaluate(best)
    assert result["graded-rouge"].value == pytest.approx(1)
    assert result["graded-rouge#missed"].value == 0
    assert not result["graded-rouge#missed"].higher_is_better


def test_laws():
    text = st.sampled_from(["", "a b", "b a c", "Η πισίνα", "b"])
    reference = st.fixed_dictionaries(
        {"text": text, "grade": st.integers(2, 3), "tags": st.just([])}
    )
    fields = st.fixed_dictionaries(
        {"references": st.lists(reference, min_size=1, max_size=2)}
    )
    examples = st.tuples(text, st.just(["unread"]), fields)
    check_metric("graded-rouge", task="summaries", examples=examples, max_examples=5)
