"""Words that hook specs and base classes share: kinds of answers and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from evalkit.base.names import unused_name

if TYPE_CHECKING:
    from evalkit.base.jobs import Job


def storable(text: str) -> str:
    """Return a text with half surrogate pairs written as Python escapes them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


AnswerKind = Literal["one", "any-of", "all-of", "spans", "ranked", "number", "none"]
"""What shape an answer has.

`one` value; `any-of` several acceptable values; `all-of` a set of values; `spans` of a
text; a `ranked` list; a `number`; `none` where there is no right answer, as in open
conversation. A list given where the task says `one` is `any-of`. An empty list is an
answer for `all-of` and `spans`.
"""


Extractors = str | Sequence[str | Mapping[str, Any]]
"""How extractors are written: `after:Answer:|choice`, or a list of stages, each a text
or an object with `kind` and `configuration`."""


IntervalKind = Literal[
    "wilson",
    "t",
    "multinomial",
    "ratio",
    "correlation",
    "auroc",
    "delta",
    "bootstrap",
    "none",
]
"""How a metric's confidence interval is computed.

`wilson` for a mean of zeros and ones; `t` for a mean of real values; `multinomial` for
a function of counts whose two keys are the gold and the predicted label; `ratio` for a
positive ratio of sums (the delta method on the log scale); `correlation` for one (the
same on the scale of Fisher's z); `auroc` for the area under the ROC curve of counts
with one key of true and false; `delta` for another smooth function of sums;
`bootstrap` for any other function of sums or lists.
"""


MergeKind = Literal["sum", "min", "max", "moments", "values"]
"""How a statistic of several examples becomes one.

`sum`, `min`, `max`; `moments` gives three columns, `<name>_count`, `<name>_mean` and
`<name>_m2` (the centred second moment, the sum of squared distances from the mean), and
for each pair of such columns, in alphabetical order, `<one>_<other>_comoment` (the sum
of products of their distances from the means);
`values` gives the list of all values, whose memory grows with the examples, in an
order that is the same in all columns, and on which no score may depend.
"""


_WITHOUT_BLANKS = frozenset(
    ("bo", "cmn", "dz", "ja", "km", "lo", "my", "th", "wuu", "yue", "zh")
)


class MetricContext(NamedTuple):
    """What a metric knows beside its batch; fixed before the first one."""

    labels: tuple[str, ...] | None
    """The data set's labels, as the task spells them; None where it has none."""
    answer_kind: AnswerKind
    """`one` if no example of the whole set has several acceptable answers."""
    prepared: Any = None
    """What the metric's `prepare` returned; None where it has no such hook."""
    job: Job | None = None
    """The job that made the predictions: `file`, the name of the file that tells of it,
    and `figures`, what the job took (None where there is no such file). None where the
    predictions are not of one file."""
    languages: tuple[str, ...] = ()
    """BCP 47 codes of the languages of the data set's texts."""

    @property
    def lacks_blanks(self) -> bool:
        """Whether the data set's languages write no blanks between words."""
        primary = {code.partition("-")[0].lower() for code in self.languages}
        return bool(primary) and primary <= _WITHOUT_BLANKS

    @property
    def other_label(self) -> str | None:
        """What stands for predictions that are no label; None without labels.

        `(other)`, or `((other))` where that is a label.
        """
        return unused_name("(other)", self.labels) if self.labels else None


class NotScored(Exception):
    """Says, from a metric, that an example is not scored, and why.

    It is returned or raised in the place of a score. The example is not part of the
    metric's n and value; it is counted, and listed in `problems.jsonl`.

    Args:
        reason: Why, in a few words that many examples may share, such as `timeout`.

    Attributes:
        reason: The same.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = storable(str(reason))


@dataclass(frozen=True)
class Unparsed:
    """Says in the place of a prediction that no answer could be extracted.

    The example is scored as wrong, and counted as unparsed.
    """

    reason: str = ""
    """Why, in words that are the same for all such responses and quote none of them:
    responses are counted by it."""

    def __post_init__(self) -> None:
        """Make the reason a text that a run can hold."""
        object.__setattr__(self, "reason", storable(str(self.reason)))


class NamesFile:
    """Marks a text that names a file inside the folder of the data."""


FilePath = Annotated[str, NamesFile()]
"""A field of `Input` that names a file, such as an image, relative to the folder of the
data. The file must be there, and not lead out of the folder; what it holds is part of
what the data is. Metrics get the absolute path, and `verify_response` the name as it
is in the data."""


class Source(NamedTuple):
    """One file of a publisher, declared once."""

    url: str
    """Where it is fetched from: an address on the web, or a place such as
    `s3://bucket/file` for which a store is installed."""
    sha256: str | None = None
    """Its SHA-256 where it is known; a cached or fetched file must match it."""
    license: str | None = None
    citation: str | None = None


class Annotation(NamedTuple):
    """What an annotator says of a response, where that is more than a value."""

    value: Any
    """What metrics read: a number, a boolean, a text, or a list of numbers or texts; of
    an annotator with several columns a dict of such values."""
    text: str | None = None
    """What it was read from, such as the verdict of a judge."""
    cost: float | None = None
    """What asking cost, in a unit of the annotator's choice."""


class TryAgain(Exception):
    """Says, from a plugin, that it may answer when it is asked again.

    It is raised, and it is asked again. A
    `TimeoutError` and a `ConnectionError` mean the same.

    Args:
        reason: Why, in a few words that many rows may share, such as `throttled`.
        after: Seconds to wait; None for a pause that doubles.

    Attributes:
        reason: The same.
        after: The same.
    """

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = storable(str(reason))
        self.after = after
