"""The annotator `my-thing`, and a metric that reads what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import evalkit
from evalkit_annotators_columns import Annotator

_THANKS = re.compile(r"\b(?:thanks|thank you)\b", re.IGNORECASE)


class MyThing(Annotator):
    """Says whether a response thanks anybody."""

    version = "1"

    def annotate_example(self, prediction: Any) -> bool | evalkit.NotScored:
        """Look for words of thanks; an empty response is not judged."""
        text = str(prediction)
        if not text.strip():
            return evalkit.NotScored("the response is empty")
        return _THANKS.search(text) is not None


class MyThingShare(evalkit.Metric):
    """Share of the responses that thank anybody.

    Range 0 to 1, in %, higher is better; Wilson's interval.
    """

    columns = ("my-thing",)
    unit = "%"
    scale = 100.0
    bounds = (0.0, 1.0)
    higher_is_better = True
    interval = "wilson"

    def score_example(self, fields: Mapping[str, Any]) -> float:
        """Return 1 for a response that does."""
        return float(fields["my-thing"])
