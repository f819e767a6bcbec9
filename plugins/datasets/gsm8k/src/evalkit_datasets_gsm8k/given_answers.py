"""The extractor of the final answer in the form that GSM8K's authors ask for."""

from __future__ import annotations

from evalkit import Unparsed
from evalkit_datasets_gsm8k.final_answers import given_answer


class GivenAnswer:
    """Take what follows the last `A:` or `####` of a worked solution.

    Commas, `$`, a final `.` and blanks around it go; nothing else is changed, so that
    `18 eggs` is not `18`. A response without such a text is unparsed.

    Source: the solutions that the authors of GSM8K published.
    """

    version = "1"

    def extract_text(self, text: str) -> str | Unparsed:
        """Return the final answer."""
        answer = given_answer(text)
        if answer is None:
            return Unparsed("nothing follows an A: or ####")
        return answer
