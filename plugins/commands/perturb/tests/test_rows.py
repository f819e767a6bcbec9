import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit import Parameters
from evalkit.errors import EvalkitError, PluginError, SchemaError, UnknownPluginError
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit_commands_perturb import perturb
from evalkit_commands_perturb.edits import Edit, apply_edits

Row = dict[str, Any]


class Shout(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text: str) -> str:
        return text.upper()


class Reverse(evalkit.Perturbation):
    """Reverses some words."""

    class Parameters(Parameters):
        prob: float = 0.5

    families = {"robustness", "own"}
    version = "1"
    label_effect = {"nli": "uncertain", "*": "invariant"}

    def find_edits(self, texts: Sequence[str], rng: Random) -> list[list[Edit]]:
        prob = self.parameters.prob  # type: ignore[attr-defined]
        return [
            [
                Edit(*found.span(), found.group()[::-1])
                for found in re.finditer(r"\w+", text)
                if rng.random() < prob
            ]
            for text in texts
        ]


class Rename(evalkit.Perturbation):
    """Calls Ann by one other name in all texts."""

    families = {"own"}
    version = "1"
    label_effect = {"qa": "transforms", "*": "invariant"}

    def find_edits(
        self, texts: Sequence[str], rng: Random, task: str
    ) -> list[list[tuple[int, int, str]]]:
        name = rng.choice(["Bea", "Cleo", "Dora"])
        return [
            [(*found.span(), name) for found in re.finditer("Ann", text)]
            for text in texts
        ]

    def change_tags(self, tags: Sequence[str], perturbed: Row) -> list[str]:
        return [tag for tag in tags if tag != "about:ann"]


class Branch(evalkit.Perturbation):
    """Makes a copy for each of the data's variants."""

    families = set()
    version = "1"
    label_effect = {"*": "transforms"}

    def perturb_example(
        self, example: Row, answer_field: str | None, fields: Sequence[str]
    ) -> list[Row] | Row | None:
        given = example.get("others")
        if isinstance(given, list):
            return [{fields[0]: text, str(answer_field): "positive"} for text in given]
        return given


def example(**fields: Any) -> Row:
    return {"uid": "7", "statement": "Ann saw Ann.", "label": "neutral", **fields}


def only(rows: Any) -> Row:
    (row,) = rows
    found: Row = row
    return found


def test_a_row_of_a_copy() -> None:
    original = example(tags=["a:b"], extra={"kept": [1]})
    row = only(perturb([original], Shout, task="sentiment"))
    assert row == {
        "uid": "7_Shout",
        "statement": "ANN SAW ANN.",
        "label": "neutral",
        "tags": ["a:b"],
        "extra": {"kept": [1]},
        "input_id": "7",
        "perturbation": "shout",
        "label_effect": "invariant",
        "families": ["robustness"],
    }
    assert original == example(tags=["a:b"], extra={"kept": [1]})


@pytest.mark.parametrize("given", ["7", 7])
def test_an_id_of_the_same_name_is_that_of_the_copy(given: Any) -> None:
    """A model that echoes `id` would answer for the original else."""
    row = only(perturb([example(id=given)], Shout, task="sentiment"))
    assert (row["id"], row["uid"]) == ("7_Shout", "7_Shout")


def test_rows_that_are_not_changed_are_left_out() -> None:
    rows = [example(uid="1", statement="ANN"), example(uid="2")]
    assert [r["uid"] for r in perturb(rows, Shout, task="sentiment")] == ["2_Shout"]


def test_edits_are_told() -> None:
    row = only(perturb([example()], Rename, task="sentiment", edits=True))
    name = row["statement"][:-1].split()[0]
    assert row["edits"] == {"statement": [[0, 3, name], [8, 11, name]]}
    row = only(perturb([example()], Shout, task="sentiment", edits=True))
    assert row["edits"] == {"statement": [[0, 3, "ANN"], [4, 7, "SAW"], [8, 11, "ANN"]]}


def test_one_name_everywhere_and_in_the_answers_too() -> None:
    asked = {
        "uid": "1",
        "context": "Ann met Bob.",
        "question": "Who did Ann meet?",
        "answer": ["Ann", "Ann B."],
    }
    row = only(perturb([asked], Rename, task="qa", edits=True))
    name = row["answer"][0]
    assert row["context"] == f"{name} met Bob."
    assert row["question"] == f"Who did {name} meet?"
    assert row["answer"] == [name, f"{name} B."]
    assert [*row["edits"]] == ["context", "question", "answer[0]", "answer[1]"]
    assert asked["answer"] == ["Ann", "Ann B."]


@pytest.mark.parametrize("tags", ["about:ann", [1], {"a": 1}])
def test_tags_that_are_no_list_of_texts_are_refused(tags: Any) -> None:
    with pytest.raises(SchemaError, match="'7': tags: must be a list of texts"):
        [*perturb([example(tags=tags)], Rename, task="sentiment")]


def test_texts_in_a_list_that_a_perturbation_of_examples_changes_are_told() -> None:
    class Lists(Branch):
        def perturb_example(self, example: Row) -> Row:
            return {"turns": [text.upper() for text in example["turns"]]}

    row = only(
        perturb([example(turns=["a", "B"])], Lists, task="sentiment", edits=True)
    )
    assert row["edits"] == {"turns[0]": [[0, 1, "A"]]}


def test_protected_spans_stay_unless_asked() -> None:
    row = example(statement="see `code` 3.5% at www.ann.org/x {name} &amp;")
    kept = only(perturb([row], Shout, task="sentiment"))
    assert kept["statement"] == "SEE `code` 3.5% AT www.ann.org/x {name} &amp;"
    freed = only(
        perturb([row], Shout, task="sentiment", unprotected=["code", "mark-up"])
    )
    assert freed["statement"] == "SEE `CODE` 3.5% AT www.ann.org/x {name} &AMP;"
    assert re.fullmatch("7_Shout-[0-9a-f]{8}", freed["uid"])

    class Bold(Shout):
        protects = False

    assert only(perturb([row], Bold, task="sentiment"))["statement"] == (
        row["statement"].upper()
    )


def test_settings_that_are_not_the_default_show_in_the_uid() -> None:
    def suffix(**settings: Any) -> str:
        return str(
            only(perturb([example()], Shout, task="sentiment", **settings))["uid"]
        )

    found = [suffix(), suffix(seed=1), suffix(fields=["statement"])]
    assert found[0] == "7_Shout"
    assert len({*found}) == 3
    reverse = Resolver(Registry()).bind("perturbations", Reverse, {"prob": 1.0})
    row = only(perturb([example()], reverse, task="sentiment"))
    assert row["perturbation"] == "reverse:prob=1.0"
    assert re.fullmatch("7_Reverse-[0-9a-f]{8}", row["uid"])


def test_other_fields_may_be_chosen_and_lists_of_texts_are_texts() -> None:
    row = example(turns=["a", "", 3, "B"], empty="", number=4, nothing=None)
    fields = ["turns", "empty", "number", "nothing", "absent"]
    changed = only(perturb([row], Shout, task="sentiment", fields=fields, edits=True))
    assert changed["turns"] == ["A", "", 3, "B"]
    assert changed["statement"] == row["statement"]
    assert [*changed["edits"]] == ["turns[0]"]
    row["turns"] = ["a", "b"]
    changed = only(perturb([row], Shout, task="sentiment", fields=["turns[1]"]))
    assert changed["turns"] == ["a", "B"]
    for name in ("absent", "turns[9]", ""):  # and nothing else
        with pytest.raises(EvalkitError, match="no example has a text in the field"):
            list(perturb([row], Reverse, fields=[name]))


def test_variants_differ_and_are_numbered() -> None:
    row = example(statement="one two three four five six seven eight")
    rows = [*perturb([row], Reverse, task="sentiment", variants=4)]
    assert [each["uid"] for each in rows][:2] == ["7_Reverse", "7_Reverse_2"]
    texts = [each["statement"] for each in rows]
    assert len({*texts}) == len(texts) > 1
    assert len([*perturb([row], Shout, task="sentiment", variants=3)]) == 1


def test_a_perturbation_may_make_several_copies() -> None:
    rows = [
        example(uid="1", others=["x", "y", "x"]),
        example(uid="2", others={"statement": "z"}),
        example(uid="3", others=None),
        example(uid="4", others=[]),
    ]
    found = [*perturb(rows, Branch, task="sentiment", edits=True)]
    assert [(row["uid"], row["statement"], row["label"]) for row in found] == [
        ("1_Branch", "x", "positive"),
        ("1_Branch_2", "y", "positive"),
        ("2_Branch", "z", "neutral"),
    ]
    assert found[0]["edits"]["label"] == [[0, 7, "positive"]]


def test_perturbations_one_after_the_other() -> None:
    both = only(perturb([example()], [[Rename, Shout]], task="sentiment", edits=True))
    name = both["statement"].split()[0]
    assert name in ("BEA", "CLEO", "DORA")
    assert both["statement"] == f"{name} SAW {name}."
    assert both["perturbation"] == "rename+shout"
    assert both["uid"] == "7_Rename+Shout"
    after = only(
        perturb([example()], [[Reverse, Rename]], task="sentiment", edits=True, seed=3)
    )
    edits = [Edit(*edit) for edit in after["edits"]["statement"]]
    assert apply_edits("Ann saw Ann.", edits) == after["statement"]
    whole = example(others=["Ann ran."])
    found = only(perturb([whole], [[Branch, Rename]], task="sentiment", edits=True))
    edits = [Edit(*edit) for edit in found["edits"]["statement"]]
    assert apply_edits("Ann saw Ann.", edits) == found["statement"]


def test_what_is_perturbed_already() -> None:
    first = only(perturb([example()], Rename, task="sentiment"))
    with pytest.raises(
        SchemaError, match=r"row 1: uid '7_Rename' is perturbed already"
    ):
        [*perturb([first], Shout, task="sentiment")]
    again = only(perturb([first], Shout, task="sentiment", again=True))
    assert again["uid"] == "7_Rename_Shout"
    assert again["input_id"] == "7"
    assert again["perturbation"] == "rename+shout"
    assert (again["label_effect"], again["families"]) == ("invariant", [])


@pytest.mark.parametrize(
    ("earlier", "effect", "families"),
    [
        ({"label_effect": "transforms", "families": ["a", "robustness"]}, 1, 1),
        ({"label_effect": "uncertain", "families": []}, 2, 0),
        ({"label_effect": "odd", "families": "robustness"}, 2, 0),
        ({}, 2, 0),
    ],
)
def test_what_an_earlier_command_did_counts_too(
    earlier: Row, effect: int, families: int
) -> None:
    row = example(input_id="6", perturbation="earlier", **earlier)
    again = only(perturb([row], Shout, task="sentiment", again=True))
    effects = ["invariant", "transforms", "uncertain"]
    assert again["label_effect"] == effects[effect]
    assert again["families"] == ["robustness"][:families]


@pytest.mark.parametrize("name", ["perturbation", "label_effect", "families"])
def test_a_field_of_the_data_is_not_written_over(name: str) -> None:
    row = example(**{name: ["Fabaceae"]})
    with pytest.raises(SchemaError, match=f"'7': {name}: copies say under this name"):
        only(perturb([row], Shout, task="sentiment"))
    assert only(perturb([example(**{name: None})], Shout, task="sentiment"))


QUESTION = {
    "uid": "1",
    "context": "Ann met Bo.",
    "question": "Whom did Ann meet?",
    "answer": "Ann",
}


def test_an_answer_changes_with_all_fields_of_the_task_or_not_at_all() -> None:
    whole = only(perturb([QUESTION], Rename, task="qa"))
    assert whole["answer"] != "Ann"
    assert whole["label_effect"] == "transforms"
    part = only(perturb([QUESTION], Rename, task="qa", fields=["question"]))
    assert part["question"] != QUESTION["question"]
    assert (part["context"], part["answer"]) == (QUESTION["context"], "Ann")
    assert part["label_effect"] == "uncertain"
    other = {**QUESTION, "question": "Who met Bo?"}
    assert not [*perturb([other], Rename, task="qa", fields=["question"])]


@pytest.mark.parametrize("steps", [Rename, [[Rename, Rename]], Branch])
def test_a_copy_whose_answer_alone_differs_is_none(steps: Any) -> None:
    row = {**QUESTION, "context": "She met Bo.", "question": "Who did?"}
    row["others"] = [row["context"]]
    fields = ["context"] if steps is Branch else None
    assert not [*perturb([row], steps, task="qa", fields=fields)]


@pytest.mark.parametrize("name", ["uid", "id", "tags", "input_id", "families"])
def test_fields_that_no_model_is_asked_are_refused(name: str) -> None:
    with pytest.raises(EvalkitError, match=f"{name!r} is not part of what a model"):
        perturb([example()], Shout, task="sentiment", fields=["statement", name])
    with pytest.raises(EvalkitError, match="'label' holds the answer"):
        perturb([example()], Shout, task="sentiment", fields=["label"])


def test_order_and_company_do_not_matter() -> None:
    rows = [
        example(uid=str(number), statement="one two three four five")
        for number in range(30)
    ]
    expected = {r["uid"]: r for r in perturb(rows, Reverse, task="sentiment")}
    shuffled = Random(1).sample(rows, len(rows))
    assert {r["uid"]: r for r in perturb(shuffled, Reverse, task="sentiment")} == (
        expected
    )
    alone = [r for row in rows for r in perturb([row], Reverse, task="sentiment")]
    assert {r["uid"]: r for r in alone} == expected
    assert len({r["statement"] for r in alone}) > 10


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"statement": "a"}], "row 1: uid: is required"),
        ([example(), example()], "row 2: uid '7' is taken by an earlier row"),
        (
            [example(), example(uid="7_Shout")],
            "row 2: uid '7_Shout' is taken by an earlier row",
        ),
        (
            [example(uid="7_Shout"), example()],
            "row 2: the new uid '7_Shout' is taken by another row",
        ),
        (["text"], "row 1 is 'text', not a dict"),
    ],
)
def test_rows_that_cannot_be_perturbed(rows: list[Any], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        [*perturb(rows, Shout, task="sentiment")]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"perturb": lambda self, text: None},
            "must return a text (as it is where nothing changes), returned",
        ),
        ({"perturb": lambda self, text: 1 / 0}, "failed for the example '7' with Zero"),
        (
            {"find_edits": lambda self, texts: [[(0, 99, "x")]]},
            "find_edits failed for the example '7' with ValueError: the edit 0 to 99",
        ),
        ({"find_edits": lambda self, texts: []}, "a list of edits for each of 1 texts"),
        ({"find_edits": lambda self, texts: None}, "a list of edits for each"),
        ({"perturb_example": lambda self: "x"}, "must return a dict, a list of dicts"),
        ({"perturb_example": lambda self: ["x"]}, "must return a dict, a list of"),
    ],
)
def test_perturbations_that_fail_are_named(changes: Row, words: str) -> None:
    broken = type("Broken", (Shout,), changes)
    with pytest.raises(PluginError) as caught:
        [*perturb([example()], broken, task="sentiment")]
    assert "perturbations/broken" in str(caught.value)
    assert words in str(caught.value)


def test_arguments_out_of_range() -> None:
    with pytest.raises(EvalkitError, match="variants must be 1 or more, is 0"):
        perturb([], Shout, task="sentiment", variants=0)
    with pytest.raises(EvalkitError, match="no protected kind 'numbers'; there are"):
        perturb([], Shout, task="sentiment", unprotected=["numbers"])  # type: ignore[list-item]
    with pytest.raises(PluginError, match=r"does not say which fields .* name them"):
        perturb([], Shout)
    with pytest.raises(EvalkitError, match="seed must be an integer, is 'x'"):
        perturb([], Shout, task="sentiment", seed="x")  # type: ignore[arg-type]
    with pytest.raises(EvalkitError, match="fields must be a list of texts, is 'a'"):
        perturb([], Shout, fields="a")
    with pytest.raises(EvalkitError, match="unprotected must be a list of texts"):
        perturb([], Shout, task="sentiment", unprotected="digits")  # type: ignore[arg-type]
    with pytest.raises(EvalkitError, match="no perturbation was named"):
        perturb([], [], task="sentiment")
    with pytest.raises(UnknownPluginError, match="there is no perturbation 'shuot'"):
        perturb([], "shuot", task="sentiment")


@given(st.lists(st.text(), min_size=1, max_size=3), st.integers(0, 3))
@pytest.mark.slow
def test_edits_tell_all_that_was_changed(texts: list[str], seed: int) -> None:
    row = {"uid": "1", "texts": texts}
    steps: Mapping[str, Any] = {"fields": ["texts"], "seed": seed, "edits": True}
    for what in (Reverse, Shout, [[Reverse, Shout]]):
        for copy in perturb([row], what, **steps):
            rebuilt = list(texts)
            for place, edits in copy["edits"].items():
                number = int(place.removeprefix("texts[").removesuffix("]"))
                rebuilt[number] = apply_edits(
                    texts[number], [Edit(*edit) for edit in edits]
                )
            assert rebuilt == copy["texts"]
