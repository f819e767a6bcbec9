"""Accuracy of the likeliest option by its length."""

import pytest

import evalkit


@pytest.mark.parametrize(("by", "value"), [("characters", 0.5), ("bytes", 1.0)])
def test_log_probabilities_are_divided_by_the_length(by: str, value: float) -> None:
    fields = {
        "responses": [["ab", "éé"], ["", "abc"]],
        "responses.logprob": [[-2.0, -3.0], [-0.1, None]],
    }
    name = f"lm-eval-accuracy:normalise={by}"
    found = evalkit.score(name, ["ab", ""], ["éé", ""], fields=fields)
    assert found[name].value == value


def test_responses_without_log_probabilities_are_not_scored() -> None:
    found = evalkit.score(
        "lm-eval-accuracy",
        ["a"],
        ["a"],
        fields={"responses": [["a"]], "responses.logprob": [None]},
    )
    assert found["lm-eval-accuracy"].value is None
