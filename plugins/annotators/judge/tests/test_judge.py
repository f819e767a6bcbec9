"""A judge is asked, its verdicts are read, kept and scored."""

import csv
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from model_servers import Answer, Got, ModelServer, serving

import evalkit
from evalkit import Result
from evalkit.errors import AnnotatorError, DataError, PluginError
from evalkit_annotators_columns import Annotators
from evalkit_annotators_judge.declaration import Declaration
from evalkit_annotators_judge.judge import Judge

IDS = ("a_1", "b_1_turn2", "c/3", "d", "e")
SAID = {
    "a_1": "Thank you, dear.",
    "b_1_turn2": "Go away.",
    "c/3": "Well.",
    "d": "Whatever.",
    "e": "Please do.",
}
ROWS = [{"uid": uid, "source": f"Ask {uid}", "text": f"x {uid}"} for uid in IDS]
REPLIES = {
    "Thank you, dear.": "Kind. <verdict>polite</verdict>",
    "Go away.": "<verdict>polite</verdict>, no: <verdict>rude</verdict>",
    "Well.": "I would say rude.",
    "Whatever.": "<verdict>meh</verdict>",
    "Please do.": "<verdict>polite</verdict>",
}
VALUES = {"polite": 1, "rude": 0}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EVALKIT_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))


@contextmanager
def judging(reply: Callable[[str, Got], Any]) -> Iterator[ModelServer]:
    """Run a judge that replies to the last message."""

    def answer(got: Got) -> Answer:
        said = reply(got.body["messages"][-1]["content"], got)
        return said if isinstance(said, Answer) else _says(said)

    with serving(answer) as server:
        yield server


def _says(said: Any) -> Answer:
    choice = said if isinstance(said, Mapping) else spoken(said)
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return Answer({"choices": [choice], "usage": usage})


def spoken(text: str, why: str = "stop") -> dict[str, Any]:
    return {"message": {"content": text}, "finish_reason": why}


def by_response(content: str, got: Got) -> Any:
    """Reply as `REPLIES` has it for the response in the message."""
    return next(said for text, said in REPLIES.items() if text in content)


def declared(server: ModelServer, **said: Any) -> dict[str, Any]:
    usual = {
        "annotator": "judge",
        "model": f"openai:model=m,base_url={server.url}/v1",
        "rubric": "Is it polite?",
        "prompt": {"user": "{rubric}\n{source}\n{response}"},
        "verdict": {"kind": "label", "tag": "verdict", "values": VALUES},
    }
    return {name: each for name, each in {**usual, **said}.items() if each is not None}


def judged(said: Any, rows: Any = None, said_of: Any = None, **more: Any) -> Result:
    predictions = [
        {"id": uid, "text": text}
        for uid, text in (SAID if said_of is None else said_of).items()
    ]
    return evalkit.evaluate(
        data=ROWS if rows is None else rows,
        task="text-generation",
        predictions=more.pop("predictions", predictions),
        metrics=more.pop("metrics", ["exact-match"]),
        columns=None if said is None else Annotators({"polite": said}),
        model="m",
        **more,
    )


def column(result: Result, name: str) -> dict[str, Any]:
    examples = result.examples
    return dict(zip(examples["id"], examples[name], strict=True))


def test_each_response_has_a_verdict_or_the_reason_why_not() -> None:
    with judging(by_response) as server:
        found = judged(declared(server))
    assert column(found, "polite.value") == {
        **{"a_1": 1.0, "b_1_turn2": 0.0, "c/3": None, "d": None, "e": 1.0}
    }
    assert column(found, "polite.status") == {
        "a_1": "judged",
        "b_1_turn2": "judged",
        "c/3": "unparsed: no verdict",
        "d": "unparsed: a label that is not declared",
        "e": "judged",
    }
    assert found.record.not_scored == {"judge-rate:of=polite": 2}
    reasons = {p.id: str(p) for p in found.problems}
    assert "unparsed: no verdict" in reasons["c/3"]
    assert found.status == "partial"
    texts = dict(found.column_details["polite"].select("id", "text").iter_rows())
    assert texts["d"] == "<verdict>meh</verdict>"
    # two of five are more than a metric lets pass: no value, and no 0 in it
    assert found["judge-rate:of=polite"].value is None


def test_verdicts_are_averaged_over_those_that_there_are() -> None:
    with judging(lambda text, got: REPLIES["Please do."]) as server:
        found = judged(declared(server))["judge-rate:of=polite"]
    assert (found.value, found.n, found.coverage) == (1.0, 5, 1.0)
    # of five verdicts that all say yes: Wilson
    assert found.ci_low == pytest.approx(0.5655, abs=1e-4)


def test_nothing_depends_on_the_order_of_rows() -> None:
    with judging(by_response) as server:
        first = judged(declared(server))
        second = judged(declared(server), rows=ROWS[::-1])
    assert column(first, "polite.value") == column(second, "polite.value")
    assert len(server.got) == len(ROWS)


@pytest.mark.slow
def test_a_run_is_repeated_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    with judging(by_response) as server:
        said = declared(server)
        first = judged(said, out=runs)
        asked = len(server.got)
        assert asked == len(ROWS)
        again = judged(said, out=runs)
        other = judged({**said, "rubric": "Is it rude?"}, out=runs)
        assert len(server.got) == 2 * asked
        warmer = {"generate": {"temperature": 0.5}}
        third = judged({**said, **warmer}, out=runs)
        assert len(server.got) == 3 * asked
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    offline = judged(said, out=runs)
    patient = judged({**said, "asking": {"timeout": 5}, "prices": None}, out=runs)
    same = {each.run_id for each in (first, again, offline, patient)}
    assert same == {first.run_id}
    assert len({first.run_id, other.run_id, third.run_id}) == 3
    checked = evalkit.verify(first.path)
    assert (checked.differences, checked.unverified) == ((), {})


def test_the_record_holds_model_rubric_and_how_it_generates() -> None:
    with judging(by_response) as server:
        found = judged(declared(server))
    (judge,) = (c for c in found.record.components if c.id == "annotators/judge")
    said = judge.parameters
    assert said["rubric"] == "Is it polite?"
    assert said["identities"][0]["parameters"]["model"] == "m"
    assert not {"asking", "prices"} & {*said}
    (told,) = found.record.columns
    assert (told.name, told.details["asked"], told.details["cost"]) == (
        "polite",
        5,
        None,
    )


def test_what_fails_is_a_status_and_asked_anew() -> None:
    broken = {"yes"}

    def reply(text: str, got: Got) -> Any:
        if "Go away." in text and broken:
            return Answer({"error": {"message": "too hot"}}, status=400)
        if "Well." in text:
            return spoken("I will not judge that.", "content_filter")
        if "Whatever." in text:
            return spoken("Let me think about", "length")
        return "<verdict>polite</verdict>"

    with judging(reply) as server:
        said = declared(server)
        first = column(judged(said), "polite.status")
        broken.clear()
        asked = len(server.got)
        second = column(judged(said), "polite.status")
        assert len(server.got) == asked + 1
    assert first["b_1_turn2"].startswith("failed: ")
    assert first["c/3"] == second["c/3"] == "refused: the judge declines"
    assert second["d"] == "unparsed: the reply was cut off (max_tokens)"
    assert second["b_1_turn2"] == "judged"


@pytest.mark.parametrize(
    ("reply", "rule", "status"),
    [
        ("It is rude. But no, it is polite", {"tag": None, "take": "last"}, "cut"),
        ("<verdict>polite</verdict> Or", {"tag": "verdict"}, "cut"),
        ("Or rather <verdict>polite</verdict>\n", {"tag": "verdict"}, "judged"),
    ],
)
def test_what_was_cut_off_says_nothing_without_an_end(
    reply: str, rule: Any, status: str
) -> None:
    with judging(lambda text, got: spoken(reply, "length")) as server:
        verdict = {"kind": "label", "values": VALUES, **rule}
        found = column(judged(declared(server, verdict=verdict)), "polite.status")
    cut = "unparsed: the reply was cut off (max_tokens)"
    assert {*found.values()} == {cut if status == "cut" else status}


def test_offline_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    with judging(by_response) as server:
        with pytest.raises(AnnotatorError, match="EVALKIT_OFFLINE forbids"):
            judged(declared(server))
        assert not server.got


@pytest.mark.parametrize(
    ("status", "why"), [(404, "has no model 'm'"), (401, "wants a key")]
)
@pytest.mark.slow
def test_a_judge_that_answers_nothing_ends_the_work(
    status: int, why: str, tmp_path: Path
) -> None:
    is_there = {"yes"}

    def reply(text: str, got: Got) -> Any:
        if is_there and "Answer 7." not in text:
            return "<verdict>polite</verdict>"
        is_there.clear()
        return Answer({"error": {"message": "none " * 100}}, status=status)

    rows, said_of = many(20)
    with judging(reply) as server:
        said = declared(server, asking={"concurrency": 1})
        with pytest.raises(AnnotatorError, match=why) as raised:
            judged(said, rows=rows, said_of=said_of, out=tmp_path / "runs")
        assert len(server.got) == 8
        server.answers = lambda got: _says("<verdict>polite</verdict>")
        judged(said, rows=rows, said_of=said_of)
        assert len(server.got) == 8 + 13  # what was judged is kept
    text = str(raised.value)
    assert text.startswith(f"the annotator 'polite': the judge {said['model']}: ")
    assert status == 401 or "none " * 20 in text
    assert not (tmp_path / "runs").exists()


def test_a_judge_of_which_all_requests_fail_ends_the_work() -> None:
    said = {"model": "openai:model=m,base_url=http://127.0.0.1:9/v1"}
    with judging(by_response) as server:
        declaration = declared(server, asking={"retries": 0}, **said)
    with pytest.raises(AnnotatorError, match=r"no connection.* \(5 of 5\)"):
        judged(declaration)


def many(count: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    rows = [{"uid": f"r{n}", "source": "?", "text": "x"} for n in range(count)]
    return rows, {f"r{n}": f"Answer {n}." for n in range(count)}


@pytest.mark.slow
def test_a_limit_of_tokens_is_one_for_all_batches() -> None:
    rows, said_of = many(450)
    with judging(lambda text, got: "<verdict>polite</verdict>") as server:
        limits = {"concurrency": 1, "token_limit": 110 * 300}
        said = declared(server, asking=limits)
        with pytest.raises(AnnotatorError, match="the limit is 33,000"):
            judged(said, rows=rows, said_of=said_of)
        assert 300 <= len(server.got) <= 305
        judged(declared(server), rows=rows, said_of=said_of)
        assert len(server.got) == 450


@pytest.mark.slow
def test_what_it_cost_is_told() -> None:
    with judging(by_response) as server:
        said = declared(server, prices={"input": 2.0, "output": 10.0})
        found = judged(said)
        (told,) = found.record.columns
        assert told.details["cost"] == pytest.approx(5 * (100 * 2 + 10 * 10) / 1e6)
        (told,) = judged(said).record.columns
        assert (len(server.got), told.details["cost"]) == (5, 0.0)


PAIR = {
    "prompt": {"user": "{rubric}\n[A] {first}\n[B] {second}\n"},
    "verdict": {"kind": "pair"},
    "pair": {"other": "baseline"},
}


def longer(text: str, got: Got) -> str:
    """Say that the longer answer is better, or else the first one."""
    _, first, second = (part.partition("\n")[0] for part in text.split("] "))
    if "Please do." in text:
        return "no idea" if first == "Please do." else "[[B]]"
    if len(first) == len(second):
        return "[[A]]"
    return "[[A]]" if len(first) > len(second) else "[[B]]"


OTHERS = {
    "a_1": "Hm.",
    "b_1_turn2": "Go away, please do not come back.",
    "c/3": "Hell.",
    "d": "No.",
    "e": "Yes.",
}


def with_others() -> list[dict[str, Any]]:
    return [
        {"id": uid, "text": text, "baseline": OTHERS[uid]} for uid, text in SAID.items()
    ]


@pytest.mark.parametrize("ties", [True, False])
def test_pairs_are_judged_in_both_orders(ties: bool) -> None:
    with judging(longer) as server:
        said = declared(server, **{**PAIR, "pair": {"other": "baseline", "ties": ties}})
        found = judged(said, predictions=with_others())
        assert len(server.got) == 2 * len(ROWS)
    tie = (0.5, "tie", "judged")
    differs = (None, None, "inconsistent: the verdict depends on the order")
    columns = ("polite.value", "polite.label", "polite.status")
    verdicts = zip(*(column(found, name).values() for name in columns), strict=True)
    assert dict(zip(found.examples["id"], verdicts, strict=True)) == {
        "a_1": (1.0, "win", "judged"),
        "b_1_turn2": (0.0, "loss", "judged"),
        "c/3": tie if ties else differs,
        "d": (1.0, "win", "judged"),
        "e": (None, None, "unparsed: no verdict"),
    }
    assert column(found, "polite.order") == {
        **dict.fromkeys(("a_1", "b_1_turn2"), "same"),
        **{"c/3": "first", "d": "same", "e": None},
    }
    assert found.warnings == ()


def test_who_decides_by_the_position_is_warned_of() -> None:
    with judging(lambda text, got: "[[A]]") as server:
        found = judged(declared(server, **PAIR), predictions=with_others())
    assert found["judge-rate:of=polite"].value == 0.5
    order = found["judge-order:of=polite"]
    assert (order.value, order.n, order.higher_is_better) == (1.0, 5, False)
    changed = (
        "the verdict changed with the order of the answers in 5 of 5 pairs, and "
        "favoured the first one in 5 of these"
    )
    assert found.record.columns[0].details["conclusions"] == [
        "asked about 5 responses; 5 judged",
        "0 wins, 5 ties, 0 losses",
        changed,
    ]
    (warning,) = found.warnings
    assert warning.startswith(f"polite: {changed}")


@pytest.mark.slow
def test_positions_of_each_of_several_judges() -> None:
    def reply(text: str, got: Got) -> str:
        return "[[A]]" if got.body["model"] == "m2" else longer(text, got)

    with judging(reply) as server:
        judges = [
            {"name": n, "model": f"openai:model={m},base_url={server.url}/v1"}
            for n, m in (("fair", "m1"), ("lazy", "m2"))
        ]
        several = {"model": None, "judges": judges, "combine": "mean"}
        found = judged(declared(server, **PAIR, **several), predictions=with_others())
    assert found["judge-order:of=polite.lazy"].value == 1
    assert found["judge-order:of=polite.fair"].n == 4
    (warning,) = found.warnings
    assert warning.startswith("polite: lazy: the verdict changed")


@pytest.mark.slow
def test_pairs_with_the_answers_of_another_run(tmp_path: Path) -> None:
    with judging(longer) as server:
        other = judged(None, said_of=OTHERS)
        said = declared(server, **{**PAIR, "pair": {}})
        found = judged(said, against=other)
        assert column(found, "polite.value")["b_1_turn2"] == 0.0
        assert column(found, "against") == OTHERS
        assert found.record.against == other.fingerprint
        plain = judged(declared(server, **PAIR), predictions=with_others())
        assert column(plain, "polite.value") == column(found, "polite.value")
        assert plain.run_id != found.run_id
        asked = len(server.got)
        right = [{**row, "text": "y"} for row in ROWS]
        with pytest.raises(
            DataError, match="is of other data: it lacks 5 answers of 5"
        ):
            judged(said, rows=right, against=other)
        with pytest.raises(DataError, match="is of other data: it lacks 1 answer of 5"):
            judged(
                said,
                rows=[*ROWS[:4], {**ROWS[4], "uid": "f"}],
                against=other,
                on_missing="skip",
            )
        with pytest.raises(DataError, match=r"against.*--against RUN gives it"):
            judged(said)
        assert len(server.got) == asked


@pytest.mark.slow
def test_marks_that_say_how_much_better() -> None:
    marks = {"[[A>>B]]": 3, "[[A>B]]": 1, "[[A=B]]": 0.5, "[[B>A]]": 0, "[[B>>A]]": 0}

    def reply(text: str, got: Got) -> str:
        return (
            longer(text, got).replace("[[A]]", "[[A>>B]]").replace("[[B]]", "[[B>A]]")
        )

    with judging(reply) as server:
        said = declared(server, **PAIR)
        said["verdict"] = {"kind": "pair", "values": marks}
        found = judged(said, predictions=with_others())
    values = column(found, "polite.value")
    # of the response that is longer: 3 as the first, 1 as the second
    assert values == {"a_1": 2.0, "b_1_turn2": 0.0, "c/3": 1.5, "d": 2.0, "e": None}
    assert "judge-mean:of=polite" in found


def test_a_majority_of_marks_that_say_how_much_better_is_refused() -> None:
    with judging(longer) as server:
        said = {**panel(server), **PAIR}
        said["verdict"] = {"kind": "pair", "values": {"A>B": 1, "B>A": 0}}
        with pytest.raises(PluginError, match="combine: numbers have no majority"):
            judged(said, predictions=with_others())


def test_criteria_have_points() -> None:
    criteria = [
        {"name": "thanks", "rubric": "Does it thank?", "points": 5},
        {"name": "short", "rubric": "Is it short?", "points": 3},
        {"name": "insults", "rubric": "Does it insult?", "points": -4},
    ]
    rule = {"kind": "json"}

    def reply(text: str, got: Got) -> str:
        if "Well." in text and "short" in text:
            return "none"
        is_met = {
            "Does it thank?": "Thank" in text,
            "Is it short?": len(text.splitlines()[-1]) < 10,
            "Does it insult?": "away" in text,
        }[text.splitlines()[0]]
        return json.dumps({"explanation": "so", "criteria_met": is_met})

    with judging(reply) as server:
        said = declared(server, rubric=None, criteria=criteria, verdict=rule)
        found = judged(said)
    assert column(found, "polite.value") == {
        "a_1": 5 / 8,
        "b_1_turn2": 0.0,  # 3 - 4 is less than nothing
        "c/3": None,
        "d": 3 / 8,
        "e": 0.0,
    } | {"d": 3 / 8 if len("Whatever.") < 10 else 0.0, "e": 0.0}
    assert column(found, "polite.status")["c/3"] == "short: unparsed: no object of JSON"
    assert column(found, "polite.thanks-label")["a_1"] == "met"
    assert found["judge-rate:of=polite.insults"].value == pytest.approx(1 / 5)


def test_rows_may_have_criteria_of_their_own() -> None:
    rubrics = [{"rubric": "thanks", "points": 2}, {"rubric": "asks", "points": 1}]
    more = [{"rubric": f"number {n}", "points": n} for n in range(1, 13)]
    rows = [
        {**row, "rubrics": more if row["uid"] == "d" else rubrics} for row in ROWS[:4]
    ]
    rows.append({**ROWS[4], "rubrics": []})

    def reply(text: str, got: Got) -> str:
        rubric = text.splitlines()[0]
        is_met = rubric in ("asks", "number 11")
        return json.dumps({"criteria_met": is_met})

    with judging(reply) as server:
        said = declared(
            server, rubric=None, criteria_field="rubrics", verdict={"kind": "json"}
        )
        found = judged(said, rows=rows)
    values = column(found, "polite.value")
    assert values["a_1"] == pytest.approx(1 / 3)
    assert values["d"] == pytest.approx(11 / 78)
    assert column(found, "polite.status")["e"] == (
        "not asked: rubrics holds no list of rubrics"
    )
    (counted,) = found.record.columns[0].details["conclusions"]
    assert counted == "asked about 4 responses; 4 judged, 1 not asked"


def panel(server: ModelServer, combine: str = "majority", **said: Any) -> Any:
    judges = [
        {"name": name, "model": f"openai:model={name},base_url={server.url}/v1"}
        for name in ("kind", "strict", "odd")
    ]
    return declared(server, model=None, judges=judges, combine=combine, **said)


def opinion(text: str, got: Got) -> str:
    """Reply as three judges do, of whom one is odd."""
    is_nice = any(word in text for word in ("Thank", "Please", "Well"))
    if got.body["model"] == "kind":
        is_nice = True
    if got.body["model"] == "odd" and "Please" in text:
        return "who knows"
    if got.body["model"] == "odd" and "Well" in text:
        return "<verdict>rude</verdict>"
    return f"<verdict>{'polite' if is_nice else 'rude'}</verdict>"


def test_several_judges_and_their_agreement() -> None:
    with judging(opinion) as server:
        found = judged(panel(server))
    assert column(found, "polite.label") == {
        "a_1": "polite",
        "b_1_turn2": "rude",
        "c/3": "polite",
        "d": "rude",
        "e": "polite",  # two of three, whatever the third would say
    }
    assert column(found, "polite.odd-status")["e"] == "unparsed: no verdict"
    name = (
        "krippendorff-alpha:of=polite.kind-label/polite.strict-label/polite.odd-label"
    )
    alpha = found[name]
    lists = [list("ppp"), list("prr"), list("ppr"), list("prr"), ["p", "p", None]]
    by_hand = evalkit.score(
        "krippendorff-alpha", "xxxxx", "xxxxx", fields={"responses": lists}
    )["krippendorff-alpha"]
    assert alpha.value == pytest.approx(by_hand.value, abs=1e-12)
    assert alpha.ci_low is not None
    assert alpha.n == 5


@pytest.mark.slow
def test_the_mean_of_judges_needs_all_of_them() -> None:
    with judging(opinion) as server:
        found = judged(panel(server, "mean"))
    values = column(found, "polite.value")
    assert values["c/3"] == pytest.approx(2 / 3)
    assert values["e"] is None
    assert column(found, "polite.status")["e"] == "odd: unparsed: no verdict"


def test_two_judges_that_disagree_are_no_tie() -> None:
    with judging(opinion) as server:
        said = panel(server)
        said["judges"] = said["judges"][:2]
        found = judged(said)
    assert column(found, "polite.status")["d"] == "no majority: judges disagree"


def test_verdicts_of_people() -> None:
    people = ["polite", "rude", "rude", "rude", None]
    rows = [{**row, "people": p} for row, p in zip(ROWS, people, strict=True)]
    with judging(opinion) as server:
        found = judged(panel(server, human="people"), rows=rows)
    share = found["judge-agreement:of=polite.label/polite.people"]
    assert (share.value, share.n) == (3 / 4, 4)
    alpha = found["krippendorff-alpha:of=polite.label/polite.people"]
    assert alpha.n == 4
    assert alpha.value is not None
    assert alpha.ci_high is not None


@pytest.fixture
def usual_limit_of_csv() -> Iterator[None]:
    """Read fields as long as Python does by itself, which a library may change."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.slow
def test_verdicts_of_people_in_a_file(
    suffix: str, tmp_path: Path, usual_limit_of_csv: None
) -> None:
    people = {"a_1": "polite", "c/3": "rude", "d": "rude", "unknown": "rude"}
    file = tmp_path / f"people.{suffix}"
    lines = [json.dumps({"id": uid, "verdict": v}) for uid, v in people.items()]
    if suffix == "csv":
        lines = ["verdict,id", *(f"{v},{uid}" for uid, v in people.items())]
    file.write_text("\n".join(lines))
    with judging(opinion) as server:
        said = panel(server, human_file=str(file))
        found = judged(said)
        unknown = "1 of 4 ids of human_file match no example that is scored"
        assert found.warnings == (f"polite: {unknown}",)
        share = found["judge-agreement:of=polite.label/polite.people"]
        assert (share.value, share.n) == (pytest.approx(2 / 3), 3)
        assert found["krippendorff-alpha:of=polite.label/polite.people"].n == 3
        file.write_text(file.read_text().replace("rude", "polite"))
        assert judged(said).run_id != found.run_id
        strangers = tmp_path / "strangers.jsonl"
        strangers.write_text('{"id": "x", "verdict": "rude"}')
        none = judged({**said, "human_file": str(strangers)})
        told = none["judge-agreement:of=polite.label/polite.people"]
        assert (told.value, none.status) == (None, "partial")
        assert "no id of human_file is that of an example" in str(told.reason)
        for text, why in (
            ('{"id": "a"}', "line 1: it has no verdict"),
            ('\n{"verdict": 1}', "line 2: it has no id"),
            ('{"id": " ", "verdict": "polite"}', "line 1: it has no id"),
            ('{"id": NaN, "verdict": "polite"}', "line 1: its id is no text"),
            ('{"id": "a", "verdict": NaN}', "line 1: verdict nan is none of the jud"),
            ('{"id": "a", "verdict": "Polite"}', "line 1: verdict 'Polite' is none"),
            ('{"id": "a", "verdict": true}', "line 1: verdict True is none"),
            (f'{{"id": "a", "verdict": 1{"0" * 400}}}', "line 1: verdict 10+ is none"),
            (
                '{"id": "a", "verdict": "rude", "_replication_": "1"}',
                "line 1: verdicts of replications",
            ),
            (
                '{"id": "a", "verdict": "polite", "verdict": "rude"}',
                "line 1: it is no JSON: a key stands there twice",
            ),
            ("", "has no rows"),
            ("id,verdict\na,polite,rude\n", "line 2: it has more cells"),
            ("id,verdict,verdict\na,polite,rude\n", "line 1: two columns have one"),
            (f"id,verdict\na,{'x' * 200_000}\n", "line 2: field larger than"),
        ):
            is_table = text.startswith("id,")
            wrong = tmp_path / f"wrong.{'csv' if is_table else 'jsonl'}"
            wrong.write_text(text)
            with pytest.raises(PluginError, match=f"human_file: .*{why}"):
                judged({**said, "human_file": str(wrong)})


def test_what_people_say_and_the_judge_cannot_is_counted() -> None:
    people = [" polite ", "Polite", "rude", 1, None]
    rows = [{**row, "people": p} for row, p in zip(ROWS, people, strict=True)]
    with judging(by_response) as server:
        found = judged(declared(server, human="people"), rows=rows)
    name = "judge-agreement:of=polite.label/polite.people"
    assert found.record.not_scored[name] == 3  # two of people, one of the judge
    said = "people: 'Polite' is none of the judge's, which are 'polite', 'rude'"
    assert column(found, "polite.people-status")["b_1_turn2"] == said
    assert column(found, "polite.people")["a_1"] == "polite"


def test_true_and_false_of_people_are_met_and_not_met(tmp_path: Path) -> None:
    file = tmp_path / "people.jsonl"
    given = {"a_1": True, "c/3": False, "e\u2028": True}
    lines = [
        json.dumps({"id": uid, "verdict": v}, ensure_ascii=False)
        for uid, v in given.items()
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    with judging(lambda text, got: '{"criteria_met": true}') as server:
        said = declared(server, verdict={"kind": "json"}, human_file=str(file))
        found = judged(said)
    share = found["judge-agreement:of=polite.label/polite.people"]
    assert (share.value, share.n) == (1 / 2, 2)
    assert "1 of 3 ids of human_file" in found.warnings[0]


def test_a_verdict_of_people_on_several_responses_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "people.jsonl"
    file.write_text('{"id": "a_1", "verdict": "polite"}')
    predictions = [
        {"id": uid, "text": text, "_replication_": time}
        for uid, text in SAID.items()
        for time in ("1", "2")
    ]
    with judging(by_response) as server:
        said = declared(server, human_file=str(file))
        found = judged(said, predictions=predictions)
    assert "1 of people's verdicts in human_file are compared" in found.warnings[0]


@pytest.mark.slow
def test_nothing_is_known_by_how_it_is_named(tmp_path: Path) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file in files:
        file.write_text('{"id": "a_1", "verdict": "rude"}\n')
    with judging(by_response) as server:
        said = declared(server, human_file=str(files[0]))
        runs = tmp_path / "runs"
        first = judged(said, out=runs)
        checked = evalkit.verify(first.path)
        assert (checked.differences, checked.unverified) == ((), {})
        model = f"openai:concurrency=3,base_url={server.url}/v1,model=m"
        asked = len(server.got)
        again = judged({**said, "model": model, "human_file": str(files[1])})
        assert again.run_id == first.run_id
        assert len(server.got) == asked
        panels = [
            judged(declared(server, model=None, judges=[{"name": "a", "model": each}]))
            for each in (model, said["model"])
        ]
        assert len({each.run_id for each in panels}) == 1
        recorded = judged({**said, "human_file": f"sha256:{'0' * 64}"})
        assert recorded.status == "partial"
        assert "is what a run recorded" in str(recorded.problems[0])
        files[1].write_text('{"id": "a_1", "verdict": "polite"}\n')
        other = judged({**said, "human_file": str(files[1])})
        assert other.run_id != first.run_id


@pytest.mark.slow
def test_numbers_and_people() -> None:
    rows = [{**row, "people": n} for n, row in enumerate(ROWS, start=1)]
    rule = {"kind": "number", "range": [1, 5], "tag": "score"}

    def reply(text: str, got: Got) -> str:
        number = 1 + [*SAID.values()].index(text.splitlines()[-1])
        return f"So <score>{min(number, 4)}</score>"

    with judging(reply) as server:
        found = judged(declared(server, verdict=rule, human="people"), rows=rows)
    mean = found["judge-mean:of=polite"]
    assert (mean.value, mean.unit) == (14 / 5, "")
    assert found["judge-agreement:of=polite.value/polite.people"].value == 4 / 5
    alpha = found["krippendorff-alpha:level=interval,of=polite.value/polite.people"]
    assert alpha.value == pytest.approx(0.95, abs=0.05)


WRONG: list[tuple[Any, str]] = [
    ({"rubric": None}, "rubric: there is none"),
    ({"criteria": [{"name": "a", "rubric": "b"}]}, "rubric: there are several"),
    ({"prompt": {"user": "{rubric}"}}, r"prompt.user: the judge never sees \{response"),
    ({"prompt": {"user": "{response}"}}, r"prompt.user: the judge never sees \{rubric"),
    ({"prompt": {"user": "{rubric} {response} {first}"}}, r"it names \{first\}"),
    ({"prompt": {"user": "{rubric {response}"}}, "prompt.user: .* malformed"),
    ({"prompt": {"usr": "{rubric}"}}, "prompt.usr: .* did you mean 'user'"),
    ({"verdict": {"kind": "label"}}, "verdict.values: there are none"),
    ({"verdict": {"kind": "number"}}, "verdict.range: there is none"),
    ({"verdict": {"kind": "number", "range": [5, 1]}}, "verdict.range: the first"),
    ({"verdict": {"kind": "json", "tag": "a"}}, "verdict.tag: the kind json takes"),
    ({"verdict": {"kind": "pair"}}, "pair: pairs are compared where"),
    ({"pair": {"other": "source"}}, "verdict.kind: pairs are compared where"),
    (
        {"verdict": {"kind": "label", "values": {"a": 1}, "pattern": "x"}},
        "verdict.pattern: it must have one group",
    ),
    (
        {
            "verdict": {"kind": "pair", "values": {"best": 3, "better": 1, "worse": 0}},
            "prompt": {"user": "{rubric} {first} {second}"},
            "pair": {"other": "source"},
        },
        "verdict.values: they do not say",
    ),
    ({"model": None}, "model: name one model"),
    ({"model": "constant:answer=x"}, "model: models/constant answers inputs"),
    ({"model": "opnai"}, "model: .* did you mean openai"),
    ({"combine": "mean"}, "combine: there is one judge"),
    ({"generate": {"completions": 2}}, "generate.completions: a judge says one"),
    ({"generate": {"temprature": 2}}, "generate.temprature: .* 'temperature'"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_wrong_declarations_are_refused(change: Any, message: str) -> None:
    with judging(by_response) as server:
        with pytest.raises(PluginError, match=f"annotator 'polite': .*{message}"):
            judged(declared(server, **change))
        assert not server.got


def test_a_field_that_there_is_not_is_refused() -> None:
    with judging(by_response) as server:
        said = declared(server, prompt={"user": "{rubric} {response} {sorce}"})
        with pytest.raises(DataError, match=r"prompt.user reads .* mean source\?"):
            judged(said)
        with pytest.raises(DataError, match="human reads the field 'peple'"):
            judged(declared(server, human="peple"))
        with pytest.raises(DataError, match="criteria_field reads the field 'rubics'"):
            judged(declared(server, rubric=None, criteria_field="rubics"))
        assert not server.got


def test_a_task_may_declare_a_judge(tmp_path: Path) -> None:
    from evalkit_tasks_text.text_generation import TextGeneration

    with judging(by_response) as server:

        class Politeness(TextGeneration):
            """Texts that ought to be polite."""

            name = "politeness"
            perf_metric = "judge-rate:of=manners"
            eval_metrics = ()
            annotators = {"manners": declared(server)}

        predictions = [{"id": uid, "text": text} for uid, text in SAID.items()]
        found = evalkit.evaluate(
            data=ROWS, task=Politeness, predictions=predictions, model="m"
        )
        assert column(found, "manners.value")["e"] == 1.0
        assert found.record.headline == "judge-rate:of=manners"
        asked = len(server.got)
        with_others = evalkit.evaluate(
            data=ROWS, task=Politeness, predictions=predictions, metrics=["chrf"]
        )
        assert "judge-rate:of=manners" not in with_others
        assert len(server.got) == asked


def test_no_secret_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-do-not-tell-anybody"
    monkeypatch.setenv("JUDGE_KEY", secret)
    with judging(by_response) as server:
        model = f"openai:model=m,base_url={server.url}/v1,api_key_variable=JUDGE_KEY"
        judged(declared(server, model=model), out=tmp_path / "runs")
        assert server.got[0].headers["authorization"] == f"Bearer {secret}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"run.json", "replies.sqlite"} <= {path.name for path in files}
    assert not [path for path in files if secret.encode() in path.read_bytes()]


PAGE = Path(__file__).parents[4] / "docs" / "judges.md"


def test_declarations_on_the_page_are_right() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = [
        tomllib.loads(code) for code in re.findall(r"```toml\n(.*?)```", text, re.S)
    ]
    assert len(blocks) == 4
    for block in blocks:
        said = {**blocks[0], **block}
        said |= {"model": None} if "judges" in block else {"model": "echo"}
        said |= {"rubric": None} if "criteria" in block else {}
        for judge in said.get("judges", ()):
            judge["model"] = "echo"
        Judge(Declaration.model_validate(said))


@pytest.mark.slow
def test_failures_are_counted_over_all_batches() -> None:
    rows, said_of = many(450)

    def reply(text: str, got: Got) -> Any:
        if "5." in text:  # 20 of each 200
            return Answer({}, status=400)
        return "<verdict>polite</verdict>"

    with judging(reply) as server:
        said = declared(server, asking={"concurrency": 1})
        with pytest.raises(AnnotatorError, match="21 requests failed, and 20 may"):
            judged(said, rows=rows, said_of=said_of)
        assert 205 <= len(server.got) <= 210
        said["asking"]["max_errors"] = 100
        found = judged(said, rows=rows, said_of=said_of)
    assert found["judge-rate:of=polite"].n == 405
