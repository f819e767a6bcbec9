"""What `my-thing` does to texts, and the laws that every perturbation keeps."""

from evalkit_commands_perturb import perturb
from evalkit_testing import check_perturbation


def test_a_copy_says_what_it_is_a_copy_of() -> None:
    text = "She never liked the film, but the music and all of its colours moved her."
    rows = [{"uid": "1", "statement": text, "label": "negative"}]
    (copy,) = perturb(rows, "my-thing", task="sentiment")
    assert (copy["input_id"], copy["label"]) == ("1", "negative")
    assert "-" in copy["statement"]


def test_the_laws_of_perturbations() -> None:
    check_perturbation("my-thing")
