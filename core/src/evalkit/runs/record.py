"""What a run records of itself: all that `run.json` holds.

Everybody who writes or reads a run's record does it through `RunRecord`. Its fields
stand in the order in which they are written; `docs/make_run_schema.py` makes the JSON
Schema of them and of the texts below them.

A field that is not set is not written, so that a run that is read and shown again says
no more than it did. Keys of a newer version are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, PlainSerializer, WithJsonSchema

from evalkit.base.names import metric_of
from evalkit.base.terms import AnswerKind
from evalkit.predictions.policies import Policies
from evalkit.runs import recorded
from evalkit.runs.recorded import (
    Count,
    Fingerprint,
    Flag,
    Name,
    Number,
    Part,
    Positive,
    Recorded,
    Status,
    Text,
    Texts,
    Whole,
)
from evalkit.runs.score_columns import Score


def _plain_score(score: Score | None) -> dict[str, Any] | None:
    return score and score._asdict()


FORMAT_VERSION = 5
"""Version of the run folder's format."""


class RunRecord(Part):
    """What an evaluation of one model recorded.

    `evalkit eval --json` prints the same object with `scores`, or a list of them for
    several models.
    """

    format: Annotated[Whole, WithJsonSchema({"const": FORMAT_VERSION})] = FORMAT_VERSION
    """Version of the run folder's format."""
    fingerprint: Fingerprint = ""
    """The first 16 hex digits of a SHA-256 over all inputs, equal for the same
    evaluation."""
    status: Status
    """`partial`: a metric failed, see `errors`, or did not score all answers, see
    `not_scored`, or only some examples were evaluated, see `selection` (of a merged run
    its parts'). `refused`: the policies refuse the
    predictions, see `counts`; there are no scores."""
    model: Annotated[Recorded[Text], Field(json_schema_extra={"minLength": 1})] = None
    """Name of the model."""
    dataset: Annotated[Recorded[Text], Field(json_schema_extra={"minLength": 1})] = None
    """Name of the dataset, with the parameters that are not at their default."""
    task: Recorded[Name] = None
    """Name of the task."""
    split: Text = ""
    """Name of the data set's split."""
    headline: Text | None = None
    """Name of the main score; null for refused predictions."""
    headline_aggregate: Text | None = Field(
        None, json_schema_extra={"pattern": "^macro:"}
    )
    """`macro:FACET` where the main score is the mean over a facet's tags; null where it
    is that of the whole set."""
    headline_score: Annotated[Score | None, PlainSerializer(_plain_score)] = None
    """The main score, as in `scores.parquet`, so that a list of runs reads no other
    file; null where there is none. Only where a folder was written."""
    bounds: Mapping[Text, tuple[Number | None, Number | None]] = {}
    """Least and greatest value of each metric that has them, by its name; null for a
    side without. Printed intervals end there; stored ones do not."""
    cluster: Texts = ()
    """Columns of the data whose rows are not independent, as the user or the data set
    names them."""
    baselines: recorded.Baselines | None = None
    """Values of the headline metric for answers that ignore the input; null where there
    are none."""
    counts: recorded.Counts = recorded.Counts()
    unparsed: Mapping[Text, Whole] = {}
    """How many answers could not be extracted for each reason that a converter or an
    adapter gave, the rare ones of many together; empty with `includes_examples`
    false."""
    errors: Texts = ()
    """Why metrics failed."""
    notices: Texts = ()
    """What a reader should know that is no error."""
    warnings: Texts = ()
    """What went wrong without changing a score, such as an observer's exception."""
    not_scored: Mapping[Text, Count] = {}
    """How many answers each metric did not score, though it applies to them, by its
    name; `problems.jsonl` lists them. Metrics that scored all are left out."""
    answer_kind: Recorded[AnswerKind] = None
    """Shape of the answers."""
    replications: Texts = Field((), json_schema_extra={"uniqueItems": True})
    """Names of the replications; empty where each example has one answer."""
    input_keys: Texts = ()
    """What a model is sent of an example, as the task says it; empty in runs of
    versions that did not record it."""
    delta_metrics: Texts = ()
    """Families of perturbation whose effect the task wants to be reported."""
    labels: Texts | None = None
    """The data set's labels as the task spells them; null where it has none."""
    confidence: Number = Field(0.95, gt=0, lt=1)
    """Probability of the confidence intervals."""
    seed: Whole = 0
    """Seed of the bootstrap."""
    min_n: Positive = 1
    """Examples below which a tag takes no part in a worst group or a gap."""
    by: Texts = ()
    """What examples were grouped by beside their tags: facets or columns, joined by
    commas."""
    parent: Fingerprint | None = None
    """Fingerprint of the run that was scored again; null where there is none."""
    merged: tuple[Fingerprint, ...] = ()
    """Fingerprints of the runs that were put together; empty where there are none."""
    policies: recorded.Policies = recorded.Policies(**Policies()._asdict())
    selection: recorded.Selection = recorded.Selection()
    kept: Texts = ()
    """Columns of the data that `examples.parquet` holds, as `column/NAME`."""
    includes_examples: Flag = True
    """Whether the run folder holds answers, predictions and the values of rejected
    rows."""
    data: recorded.Data = recorded.Data()
    predictions: recorded.Predictions = recorded.Predictions()
    extraction: recorded.Extraction | None = None
    """What took the answers out of the texts of responses; null where nothing did."""
    components: tuple[recorded.Component, ...] = Field(
        (), json_schema_extra={"minItems": 3}
    )
    """The data set, its task, the metrics, what computes the columns they read, the
    adapters of predictions, and what perturbed the examples."""
    columns: tuple[recorded.Columns, ...] = ()
    """Columns that a stage computed of the responses."""
    against: Fingerprint | None = None
    """Fingerprint of the run whose answers a judge compared these with; null for
    none."""
    core: Recorded[recorded.Core] = None
    environment: Recorded[Mapping[str, Text]] = None
    """Versions of what computed the numbers."""
    perturbation: recorded.Perturbation | None = None
    """What made the examples; null for a run that is not of perturbed examples."""
    original: Fingerprint | None = None
    """Id of the run of the unperturbed examples; null for a run that is not of
    perturbed examples."""
    perturbed_runs: Texts = ()
    """Names of the folders of the runs of perturbed examples that were evaluated with
    this run; they are beside its own folder."""
    timings: Recorded[recorded.Timings] = None
    files: Mapping[Text, recorded.FileDigest] = {}
    """Size and SHA-256 of every other file of the run folder, by its path in it; empty
    where no folder was written."""

    @property
    def run_id(self) -> str:
        """The start of the fingerprint, with which the name of the run folder ends."""
        return self.fingerprint[:8]

    @property
    def metrics(self) -> list[recorded.Component]:
        """The metrics, in the run's order, the headline first."""
        return [each for each in self.components if each.kind == "metrics"]

    @property
    def metric_names(self) -> list[str]:
        """The names of the metrics with their parameters, in the run's order.

        Names of scores begin with them, but cannot be cut at a `#`, which a parameter
        may hold too.
        """
        return [each.full_name for each in self.metrics]

    def widest_difference(self, score: str) -> float | None:
        """Return the greatest difference of two values of a score.

        Args:
            score: Its name, `NAME[:parameters][#score]`.

        Returns:
            The distance of its bounds, as stored; None where it does not have both.
        """
        metric = metric_of(score, self.bounds)
        least, greatest = self.bounds[metric] if metric else (None, None)
        return None if least is None or greatest is None else greatest - least

    def changed(self, **changes: Any) -> Self:
        """Return the record with other values in some fields."""
        return self.model_copy(update=changes)
