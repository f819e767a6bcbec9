"""Questions of which each has options of its own."""

import string

from pydantic import BaseModel

import evalkit


class Question(BaseModel):
    """A question with its options, in the order in which a model is shown them."""

    uid: str
    question: str
    choices: list[str]


class Answer(BaseModel):
    """What a model said: a letter, a number counted from 0, or the text of an option.

    Where a model gave each option a log-probability, the options are the alternatives
    of the response, each with its `logprob`.
    """

    id: str
    answer: str | int
    logprob: float | None = None


class MultipleChoice(evalkit.TaskIO):
    """Which of its options answers a question?"""

    Input = Question
    Output = Answer
    answer_field = "answer"
    choices_field = "choices"
    perf_metric = "accuracy"
    perturb_fields = ("question",)
    example = {"uid": "1", "question": "Which is a fruit?", "choices": ["fig", "fork"]}

    def pred_field_converter(self, response, row):
        """Find the option that a response means by its text, letter or place."""
        return {
            "id": response["id"],
            "pred": _find_choice(response["answer"], row["choices"]),
        }


def _find_choice(said, choices):
    if isinstance(said, int):
        if 0 <= said < len(choices):
            return choices[said]
        return evalkit.Unparsed("no option has this number")
    if said in choices:
        return said
    letter = said.strip().strip("().:").upper()
    if len(letter) == 1 and letter in string.ascii_uppercase[: len(choices)]:
        return choices[string.ascii_uppercase.index(letter)]
    return evalkit.Unparsed("neither an option nor the letter of one")
