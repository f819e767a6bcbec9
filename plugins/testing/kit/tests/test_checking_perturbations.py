from __future__ import annotations

import random
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from random import Random
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import strategies as st
from pydantic import BaseModel, Field

import evalkit
from evalkit import Edit, EvalkitError, Perturbation, PluginError
from evalkit.catalog import Registry, Resolver
from evalkit_testing import (
    PERTURBATION_LAWS,
    PerturbationLawError,
    check_perturbation,
    checking,
)
from evalkit_testing.perturbations import subjects
from evalkit_testing.perturbations.subjects import strengths_of

from .letters import Task

FEW = 4
FIVE_WORDS = {"text": "she was there on Monday", "context": "so", "label": "a"}


class Shout(Perturbation):
    """Keeps all laws: the base of those below, which break one each."""

    families = {"robustness"}
    version = "1"
    label_effect: Mapping[str, Any] = {"*": "invariant"}

    def perturb(self, text: str) -> Any:
        return text.upper()


class Stars(Shout):
    """Puts stars between the signs of a text, by chance."""

    class Parameters(evalkit.Parameters):
        prob: Annotated[float, Field(ge=0, le=1)] = 0.5

    def find_edits(self, texts: Sequence[str], rng: Random) -> Any:
        prob = self.parameters.prob  # type: ignore[union-attr]
        return [
            [(place, place, "*") for place in range(len(text)) if rng.random() < prob]
            for text in texts
        ]


class Reversed(Shout):
    """Turns the words of the first field, and the answer with them."""

    label_effect = {"*": "transforms"}
    protects = False

    def perturb_example(
        self, example: Mapping[str, Any], fields: Sequence[str], answer_field: str
    ) -> Any:
        field = fields[0]
        found = {field: example[field][::-1], answer_field: example[answer_field][::-1]}
        return found if found[field] != example[field] else None


class Contrast(Reversed):
    """Has several copies, a list among its fields, and what depends on them."""

    def perturb_example(
        self, example: Mapping[str, Any], fields: Sequence[str], answer_field: str
    ) -> Any:
        both = [{answer_field: "b", fields[0]: word} for word in ("x", ["y"])]
        return both if isinstance(example[fields[0]], list) else both[:1]

    def change_tags(self, tags: Sequence[str]) -> Any:
        return [*tags, "changed"]

    def expect(self, original_pred: Any, perturbed_pred: Any) -> Any:
        return "pass" if original_pred == perturbed_pred else "fail"


class Locked(Shout):
    """Has an attribute that cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def shown(perturbation: Any) -> str:
    return getattr(perturbation, "__name__", type(perturbation).__name__)


@pytest.mark.parametrize(
    "perturbation", [Shout, Stars, Reversed, Contrast, Locked, Shout()], ids=shown
)
def test_perturbations_that_keep_the_laws_pass(perturbation: Any) -> None:
    check_perturbation(perturbation, max_examples=FEW)


@pytest.mark.slow
def test_an_installed_one_is_checked_by_its_name_with_a_task_or_without(
    letters: Any,
) -> None:
    check_perturbation("invariant", max_examples=FEW)
    check_perturbation("swap", task="letters", fields=["text"], max_examples=FEW)
    bound = Resolver(Registry()).bind("perturbations", "contrast")
    with pytest.raises(PerturbationLawError, match="'transforms'"):
        check_perturbation(bound, max_examples=FEW)
    with pytest.raises(PluginError, match="no-such"):
        check_perturbation("no-such")


def test_a_task_says_which_fields_or_the_caller_does() -> None:
    class Silent(Task):
        perturb_fields = ()

    class Speaking(Task):
        perturb_fields = ("text",)

    with pytest.raises(EvalkitError, match="give check_perturbation fields"):
        check_perturbation(Shout, task=Silent)
    check_perturbation(Shout, task=Speaking, max_examples=FEW)


# one broken perturbation for each law ---------------------------------------------


class BadFamily(Shout):
    families = {"Robust stuff"}


class NoVersion(Shout):
    version = " "


class NoEffect(Shout):
    label_effect: Mapping[str, Any] = {}


class BadTask(Shout):
    label_effect = {"Natural language inference": "invariant"}


class Raises(Shout):
    def perturb(self, text: str) -> Any:
        return text.encode("ascii").decode()


class NoText(Shout):
    protects = False

    def perturb_example(
        self, example: Mapping[str, Any], fields: Sequence[str]
    ) -> Mapping[str, Any]:
        return {fields[0]: None}


class NoList(NoText):
    label_effect = {"*": "uncertain"}

    def perturb_example(
        self, example: Mapping[str, Any], fields: Sequence[str]
    ) -> Mapping[str, Any]:
        return {fields[0]: "x"}


class ChangesExample(Shout):
    def perturb_example(self, example: dict[str, Any]) -> Any:
        example["tags"].append("seen")
        return {"text": example["text"] + "!"}


class UsesRandom(Shout):
    def perturb(self, text: str) -> Any:
        return f"{random.random()} {text}"


class UsesNumpy(Shout):
    def perturb(self, text: str) -> Any:
        numpy = pytest.importorskip("numpy")
        return f"{text}{numpy.random.random()}"


class PeeksAtRandom(Shout):
    """Reads the state and leaves it."""

    def perturb(self, text: str) -> Any:
        return f"{text}{random.getstate()[1][5]}"


_calls = count()


class CountsInItself(Shout):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def perturb(self, text: str) -> Any:
        self.calls += 1
        return f"{text} {self.calls}"


class NumbersItself(Shout):
    """Every instance is another one."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def __deepcopy__(self, _: Any) -> NumbersItself:
        new = type(self)()
        new.number = next(_calls)
        return new

    def perturb(self, text: str) -> Any:
        return f"{text} {self.number}"


class RemembersTexts(Shout):
    """Leaves alone what an earlier example had."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, str] = {}

    def find_edits(self, texts: Sequence[str]) -> Any:
        first = self.seen.setdefault("first", texts[0])
        return [[Edit(0, 0, first)] for _ in texts]


class LooksAtOthers(Shout):
    """Takes the longest of its texts for a heading."""

    def perturb_batch(self, texts: Sequence[str]) -> list[str]:
        return [
            text + "!" if len(text) == max(map(len, texts)) else text for text in texts
        ]


class ChangesNumbers(Shout):
    label_effect = {"*": "uncertain"}

    def perturb_example(
        self, example: Mapping[str, Any], fields: Sequence[str]
    ) -> Mapping[str, Any]:
        new = example[fields[0]].replace("1", "7")
        return {fields[0]: new + "!"}


class ChangesAnswer(Reversed):
    label_effect = {"*": "invariant"}


class KeepsAnswer(Shout):
    label_effect = {"*": "transforms"}


class NumbersAsTags(Shout):
    def change_tags(self, tags: Sequence[str]) -> Any:
        return [*tags, 1]


class ChangesTags(Shout):
    def change_tags(self, tags: list[str]) -> Any:
        tags.append("x")
        return []


class Undecided(Shout):
    def expect(self, original_pred: Any, perturbed_pred: Any) -> Any:
        return original_pred == perturbed_pred


BROKEN = (
    (BadFamily, "attributes", "'Robust stuff' is no name"),
    (NoVersion, "attributes", "version is empty"),
    (NoEffect, "attributes", "label_effect is empty"),
    (BadTask, "attributes", "no name of a task"),
    (Raises, "works", "UnicodeEncodeError"),
    (NoText, "works", "the field 'text' became None"),
    (ChangesExample, "inputs", "changed its argument 'example'"),
    (UsesRandom, "randomness", "drew from the module random"),
    (UsesNumpy, "randomness", "drew from numpy.random"),
    (PeeksAtRandom, "randomness", "with another random.seed"),
    (CountsInItself, "repeatable", "when they are made again"),
    (NumbersItself, "repeatable", "of another instance"),
    (RemembersTexts, "stateless", "after those of the example"),
    (LooksAtOthers, "batch", "among 4 texts, and .* alone"),
    (ChangesNumbers, "protected", "set protects = False"),
    (ChangesAnswer, "invariant", "has another answer"),
    (KeepsAnswer, "transforms", "in none of"),
    (NumbersAsTags, "tags", "must return a list of texts"),
    (ChangesTags, "tags", "change_tags changed its argument 'tags'"),
    (Undecided, "expectation", "'not applicable', gave True"),
)


@pytest.mark.parametrize(
    ("perturbation", "law", "text"), BROKEN, ids=lambda value: shown(value)[:30]
)
@pytest.mark.slow
def test_a_broken_law_is_told_with_an_example(
    perturbation: Any, law: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if perturbation is UsesNumpy:
        pytest.importorskip("numpy")
    monkeypatch.setattr(checking, "MOST_SHRINKS", 5)
    with pytest.raises(PerturbationLawError, match=text) as caught:
        check_perturbation(perturbation, laws=[law], max_examples=10)
    assert caught.value.law == law
    first, *others = str(caught.value).splitlines()
    others = [line for line in others if not line.startswith("  mend: ")]
    assert "(given as an object) breaks the law" in first
    assert f"{law!r}: " in first
    assert others[0].startswith("  found: ")
    if law != "transforms":
        assert others[1].startswith("  task: none, fields: text, context, seed: ")
        assert others[2].startswith("  example: {'uid': '1', ")


def test_each_law_that_a_plugin_can_break_is_broken_above() -> None:
    rest = {law.name for law in PERTURBATION_LAWS} - {law for _, law, _ in BROKEN}
    assert rest == {"edits", "identity", "process"}


def test_a_field_that_is_a_list_stays_one() -> None:
    examples = st.just({"text": ["a", "b"], "label": "a"})
    with pytest.raises(PerturbationLawError, match=r"'works'(.|\n)*became 'x'"):
        check_perturbation(NoList, fields=["text"], examples=examples)


def tell(monkeypatch: pytest.MonkeyPatch, edits: Mapping[str, Any]) -> None:
    """Have the engine tell other edits than those that it made."""
    genuine = subjects.perturb

    def perturb(*arguments: Any, **options: Any) -> Any:
        return [{**row, "edits": edits} for row in genuine(*arguments, **options)]

    monkeypatch.setattr(subjects, "perturb", perturb)


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ([[0, 0, "y"]], "give 'y"),
        ([[1, 1, "x"], [0, 0, "y"]], "are not in order"),
        ([[0, 99_999, "y"]], "outside of its"),
    ],
)
@pytest.mark.slow
def test_edits_that_do_not_make_the_copy_are_found(
    edits: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(monkeypatch, {"text": edits})
    with pytest.raises(PerturbationLawError, match=text) as caught:
        check_perturbation(Shout, laws=["edits"])
    assert caught.value.law == "edits"


SECRETIVE = """
import evalkit
from pydantic import BaseModel, Field

class Secretive(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    class Parameters(evalkit.Parameters):
        sign: str = Field("!", exclude=HIDDEN)

    def perturb(self, text):
        return text + self.parameters.sign
"""


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.slow
def test_the_name_in_the_copies_must_make_the_same_copies(
    fake_distribution: Callable[..., Any], hidden: bool
) -> None:
    code = SECRETIVE.replace("HIDDEN", str(hidden))
    fake_distribution(code, {"evalkit.perturbations": {"secretive": "Secretive"}})
    check_perturbation("secretive", max_examples=FEW)
    given = {"parameters": {"sign": "?"}, "max_examples": FEW}
    if not hidden:
        check_perturbation("secretive", **given)
        return
    with pytest.raises(PerturbationLawError, match="by the name 'secretive") as caught:
        check_perturbation("secretive", **given)
    assert caught.value.law == "identity"


OF_A_SET = """
import evalkit


class OfASet(evalkit.Perturbation):
    families = ("robustness",)
    label_effect = {}
    version = "1"

    def perturb(self, text, rng):
        signs = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
        return text + rng.choice(ORDER(signs))
"""


@pytest.mark.parametrize("order", ["list", "sorted"])
@pytest.mark.slow
def test_another_process_must_make_the_same_copies(
    evalkit_distribution: Callable[..., Any], order: str
) -> None:
    code = OF_A_SET.replace("ORDER", order)
    evalkit_distribution(code, {"evalkit.perturbations": {"of-a-set": "OfASet"}})
    if order == "sorted":
        check_perturbation("of-a-set", laws=["process"], max_examples=FEW)
        return
    with pytest.raises(PerturbationLawError, match="in another process") as caught:
        check_perturbation("of-a-set", laws=["process"], max_examples=FEW)
    assert caught.value.law == "process"
    assert "mend: sort what comes from a set" in str(caught.value)


# strengths, examples, arguments ---------------------------------------------------


class Strong(Stars):
    class Parameters(evalkit.Parameters):
        preset: str = "medium"
        insert_prob: float | None = None
        most: int = 3

    def find_edits(self, texts: Sequence[str]) -> Any:
        given = self.parameters
        assert isinstance(given, Strong.Parameters)
        if given.preset == "hard" and given.insert_prob == 1.0:
            raise LookupError("too hard")
        return [[Edit(0, 0, "x")] for _ in texts]


def strengths(perturbation: Any, parameters: Mapping[str, Any] = {}) -> list[str]:
    resolver = Resolver(Registry())
    bound = resolver.bind("perturbations", perturbation, parameters)
    return [strength.name for strength in strengths_of(bound, resolver)]


def test_strengths_are_those_that_the_parameters_allow() -> None:
    class Limited(Shout):
        class Parameters(evalkit.Parameters):
            preset: str = "mild"
            prob: Annotated[float, Field(le=0.5)] = 0.1

    class Odd(Shout):
        class Parameters(evalkit.Parameters):
            prob: Annotated[float, Field(le=0.5)] = 0.1

    class Neither(Shout):
        class Parameters(evalkit.Parameters):
            preset: Annotated[str, Field(max_length=1)] = "a"
            prob: Annotated[float, Field(le=0.5)] = 0.1

    assert strengths(Shout) == ["shout"]
    assert strengths(Neither) == ["neither"]
    assert strengths(Stars) == ["stars", "stars:prob=1.0"]
    assert strengths(Stars, {"prob": 1}) == ["stars:prob=1.0"]
    assert strengths(Limited) == ["limited", "limited:preset=hard"]
    assert strengths(Odd) == ["odd"]
    assert strengths(Strong, {"most": 4})[1:] == [
        "strong:insert_prob=1.0,most=4,preset=hard"
    ]


class OnMondays(Shout):
    label_effect = {"*": "transforms"}

    def perturb_example(self, example: Mapping[str, Any]) -> Any:
        if "Monday" not in example["text"]:
            return None
        return {"text": example["text"].replace("Monday", "Tuesday"), "label": "b"}


@pytest.mark.slow
def test_examples_in_which_it_changes_something_are_needed() -> None:
    with pytest.raises(PerturbationLawError, match=r"changed no example .* give exa"):
        check_perturbation(OnMondays, max_examples=FEW)
    check_perturbation(OnMondays, laws=["attributes"], max_examples=FEW)
    check_perturbation(OnMondays, examples=[FIVE_WORDS], max_examples=FEW)
    strategy = st.sampled_from([FIVE_WORDS, {**FIVE_WORDS, "uid": "1"}])
    check_perturbation(OnMondays, examples=strategy, max_examples=FEW)


class Numbered(Shout):
    def find_edits(self, texts: Sequence[str]) -> Any:
        return [
            [(found.start(), found.end(), "n") for found in re.finditer("[0-9]", text)]
            for text in texts
        ]


def test_what_only_changes_what_is_protected_is_told_so() -> None:
    told = "which are protected unless it says protects = False; or give examples="
    with pytest.raises(PerturbationLawError, match=told):
        check_perturbation(Numbered, max_examples=FEW)


def test_a_task_may_have_no_answers() -> None:
    class Unanswered(Task):
        answer_field = None
        perturb_fields = ("text",)

        def label_field_converter(self, example: Mapping[str, Any]) -> Any:
            return {"id": example["uid"], "answer": "a", "tags": []}

    class Claims(Shout):
        label_effect = {"*": "transforms"}

        def expect(self, original_pred: Any) -> Any:
            return "pass" if original_pred else "not applicable"

    check_perturbation(Claims, task=Unanswered, max_examples=FEW)


def test_an_answer_may_become_a_list_and_a_text_may_be_empty() -> None:
    class Listed(Shout):
        label_effect = {"*": "transforms"}

        def perturb_example(self, answer_field: str) -> Any:
            return {answer_field: ["b", "c"], "note": "another"}

    empty = {"text": "", "context": "", "label": "a"}
    check_perturbation(Listed, examples=[empty, FIVE_WORDS], max_examples=FEW)


@pytest.mark.slow
def test_a_given_example_that_breaks_a_law_is_told() -> None:
    class Stubborn(OnMondays):
        label_effect = {"*": "invariant"}

    with pytest.raises(PerturbationLawError, match=r"'invariant'(.|\n)*on Monday"):
        check_perturbation(Stubborn, examples=[FIVE_WORDS], max_examples=FEW)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"laws": ["order"]}, "'order' is no law"),
        ({"examples": []}, "a list that is not empty"),
        ({"examples": "ab"}, "a list that is not empty"),
        ({"examples": [3]}, "must be a dict"),
        ({"examples": [{"uid": 3}]}, "must be a text, is 3"),
        ({"examples": [{"uid": ""}]}, "must be a text, is ''"),
        ({"examples": st.just(3)}, "must be a dict"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(EvalkitError, match=text):
        check_perturbation(Shout, **arguments)


def test_random_numbers_of_the_caller_are_left_as_they_were() -> None:
    state = random.getstate()
    check_perturbation(Shout, max_examples=FEW)
    assert random.getstate() == state


def test_it_works_where_numpy_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    check_perturbation(Shout, max_examples=FEW)


@pytest.mark.slow
def test_texts_are_drawn_for_paths() -> None:
    class Message(BaseModel):
        role: str = "user"
        content: str

    class Chat(BaseModel):
        uid: str
        title: str
        messages: list[Message]

    class Labelled(BaseModel):
        id: str
        label: str

    class Chats(evalkit.TaskIO):
        Input = Chat
        Output = Labelled
        example: ClassVar[Mapping[str, Any]] = {
            "uid": "1",
            "title": "",
            "messages": [{"content": "x"}],
        }
        answer_field = "label"
        labels = ("a", "b")
        perf_metric = "accuracy"
        perturb_fields = ("messages[].content", "title")

    class Shout(evalkit.Perturbation):
        families = {"robustness"}
        version = "1"
        label_effect: ClassVar[Mapping[str, Any]] = {"*": "invariant"}

        def perturb(self, text: str) -> str:
            return text.upper()

    check_perturbation(Shout, task=Chats, max_examples=5)
    check_perturbation(Shout, fields=["a.b[].c", "a.d[]"], max_examples=5)
