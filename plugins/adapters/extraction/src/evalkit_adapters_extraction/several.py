"""`first` and `majority`: one of several answers of a response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evalkit import Unparsed


class First:
    """Take the first answer of a response that gives several (`responses`).

    It is the answer that the model ranks best, also where nothing could be extracted of
    it: the next one does not take its place. A response with one answer keeps it.

    Source: the first completion, as HELM scores it.

    Example:
        ```yaml
        - kind: first
        ```
    """

    version = "1"

    def choose_answer(self, answers: Sequence[str | None]) -> str | Unparsed:
        """Return the first answer."""
        first = answers[0]
        return Unparsed("the first answer has none") if first is None else first


class Majority:
    """Take the answer that a response gives most often among several (`responses`).

    Answers are compared as the stages before left them, so that `choice|majority`
    counts options. Answers of which nothing could be extracted have no vote. Of several
    that are as frequent the one counts that the model ranks best.

    Source: self-consistency (Wang et al. 2023).

    Example:
        ```yaml
        - kind: majority
        ```
    """

    version = "1"

    def choose_answer(self, answers: Sequence[str | None]) -> str | Unparsed:
        """Return the most frequent answer."""
        votes = Counter(each for each in answers if each is not None)
        if not votes:
            return Unparsed("no answer has a vote")
        # of equal counts the first one that was seen comes first
        return votes.most_common(1)[0][0]
