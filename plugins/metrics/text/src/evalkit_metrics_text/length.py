"""Length of predictions."""

from __future__ import annotations

from evalkit import Metric


class Length(Metric):
    """Mean length of the predictions, in words and in characters.

    `length#words` counts what stands between blanks, `length#characters` Unicode code
    points, blanks among them. Answers are not looked at and need not be there. A length
    says nothing of quality. A missing prediction has none, so that the scores are null
    where one counts. Range 0 to infinity, neither is better; Student's interval.

    Source: none, it is a count; `wc -w` and `wc -m` count the same.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("length", ["It rained.", "No"], ["", ""])
        >>> found["length#words"].value, found["length#characters"].value
        (1.5, 6.0)
    """

    bounds = (0.0, None)
    answer_kinds = ("one", "any-of", "none")
    scores = {"words": {"unit": "words"}, "characters": {"unit": "characters"}}

    def score_example(self, prediction: object) -> dict[str, float]:
        """Count words and characters."""
        text = str(prediction)
        return {"words": float(len(text.split())), "characters": float(len(text))}
