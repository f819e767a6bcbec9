"""The parts of a run's record: values that `RunRecord` is made of.

The JSON Schema of `run.json` is made of these fields and of the texts below them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    InstanceOf,
    WithJsonSchema,
)

from evalkit.base.copies import LabelEffect
from evalkit.base.jobs import JobFigures
from evalkit.base.names import score_name
from evalkit.examples.fingerprints import DataIdentity
from evalkit.predictions import policies
from evalkit.predictions.policies import OnDuplicate, OnProblem

T = TypeVar("T")


class _Always:
    """Marks what every run records today: the schema does not let it be null."""

    def __get_pydantic_json_schema__(
        self, schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found: dict[str, Any] = handler(schema)["anyOf"][0]
        return found


Recorded = Annotated[T | None, _Always()]
"""A field that is None only where nobody recorded it: an older run, or two lists."""

Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Positive = Annotated[Whole, Field(ge=1)]
Count = Annotated[Whole, WithJsonSchema({"type": "integer", "minimum": 0})]
Text = InstanceOf[str]
"""Any text, of a name of a file that is not UTF-8 too, which `str` would not take."""

Texts = tuple[Text, ...]


def text(pattern: str, **rules: int) -> WithJsonSchema:
    """Describe a text by its pattern and further rules of JSON Schema."""
    return WithJsonSchema({"type": "string", "pattern": pattern, **rules})


Name = Annotated[str, text("^[a-z0-9]+(-[a-z0-9]+)*$", maxLength=62)]
Fingerprint = Annotated[str, text("^[0-9a-f]{16}$")]
SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
Sha256 = Annotated[str, WithJsonSchema(SHA256)]
Status = Literal["complete", "partial", "refused"]


class Part(BaseModel):
    """A part of a record, which cannot be changed."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def to_dict(self) -> dict[str, Any]:
        """Return what is recorded, as JSON values."""
        found: dict[str, Any] = _plain(self.model_dump(exclude_unset=True))
        return found


def _plain(value: Any) -> Any:
    """Return a copy with lists in the place of tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [*map(_plain, value)] if isinstance(value, list | tuple) else value


class FileDigest(Part):
    """What a file of the run folder was when it was written."""

    size: Whole
    """Bytes."""
    sha256: Sha256

    @classmethod
    def of(cls, content: bytes | memoryview) -> Self:
        """Return size and SHA-256 of the bytes of a file."""
        return cls(size=len(content), sha256=hashlib.sha256(content).hexdigest())


class Counts(Part):
    """How many examples and rows of predictions there were, by status.

    predictions = scored + invalid + duplicate + unknown + unreadable; examples = scored
    + invalid + missing; unparsed is part of scored. Rows that name an example which was
    not selected are `unselected`, and in no other count.
    """

    examples: Count = 0
    predictions: Count = 0
    scored: Count = 0
    invalid: Count = 0
    missing: Count = 0
    duplicate: Count = 0
    unknown: Count = 0
    unreadable: Count = 0
    unparsed: Count = 0
    unselected: Count = 0
    """Only where not all examples were selected."""
    replications: Whole = Field(0, json_schema_extra={"minimum": 1})
    """How many answers an example may have; only where rows name replications."""


class Baselines(Part):
    """Values of the headline metric for answers that ignore the input."""

    majority_label: Text | None
    majority: Number | None
    chance: Number | None


class Policies(Part):
    """What happened to examples without a valid response, and to repeated ids."""

    on_missing: OnProblem
    on_invalid: OnProblem
    on_duplicate: OnDuplicate

    @property
    def counted(self) -> list[str]:
        """Statuses of the examples that scores are about."""
        return list(policies.Policies(self.on_missing, self.on_invalid).counted)


class Selection(Part):
    """Which examples were evaluated."""

    limit: Whole | None = Field(None, json_schema_extra={"minimum": 1})
    """At most so many, the first ones; null for all."""
    filters: Mapping[Text, Texts] = {}
    """Values by column, by facet, or by `tag`, of which an example must have one of
    each key."""

    @property
    def is_whole(self) -> bool:
        """Whether all examples were evaluated."""
        return self.limit is None and not self.filters


class File(Part):
    """A file that was read."""

    name: Text
    sha256: Sha256
    """Of a file of more than 64 MiB: over the SHA-256, as bytes, of its blocks of
    64 MiB."""


class Adapter(Part):
    """One adapter of a pipeline."""

    kind: Name
    """Name of the adapter."""
    distribution: Text
    """The distribution that it is from."""
    version: Text
    """The adapter's own version."""
    configuration: Any = None
    """Its configuration with defaults."""

    @property
    def stage(self) -> dict[str, Any]:
        """What makes the same stage of a pipeline."""
        own = (
            {} if self.configuration is None else {"configuration": self.configuration}
        )
        return {"kind": f"{self.kind}@{self.distribution}", **own}


class Extraction(Part):
    """What took the answers out of the texts of responses, and what came of it.

    responses = ok + empty + unparsed + error, of those that were scored; unparsed of
    `counts` holds the latter three.
    """

    stages: tuple[Adapter, ...]
    """The extractors, in order."""
    sha256: Sha256
    """Over the canonical JSON of `stages`."""
    text: Text
    """The short form that the user wrote, or the list of stages as JSON."""
    chosen_by: Literal["user", "data set", "task"]
    """Who named them."""
    responses: Count = 0
    unique: Count = 0
    """How many different texts these were."""
    ok: Count = 0
    """Responses with an answer, among them values that are no texts."""
    empty: Count = 0
    """Responses without a text, or of which a stage left nothing."""
    unparsed: Count = 0
    """Responses with a text and no answer in it."""
    error: Count = 0
    """Responses whose text is broken."""


class Job(JobFigures, Part):
    """What the job took that made the predictions; null where it is not known."""

    sha256: Sha256
    """Of the file that told it."""


class System(Part):
    """What made predictions, and how it was asked."""

    sha256: Sha256
    """Of the rest, but for the names of the prompt and of the file of its shots."""
    model: Mapping[Text, Any]
    """The model: its id, parameters and version, and what it says of itself."""
    prompt: Mapping[Text, Any] | None = None
    """How it was asked; null where it answers inputs as they are."""
    extract: Text | tuple[Any, ...] | None = None
    """What was meant to take the answer out of a reply; see `extraction` for what
    did."""
    tables: Mapping[Text, Sha256] = {}
    """Tables of the run folder that came with the predictions, by name."""


class Predictions(Part):
    """Where the predictions came from."""

    name: Text | None = None
    """Name of the file; null for rows given in Python, and for several files."""
    sha256: Sha256 | None = None
    """As of each file of `data`; null for a run that was merged of others."""
    adapters: tuple[Adapter, ...] = ()
    """The adapters that the rows went through before they were checked, in order."""
    job: Job | None = None
    """Only where a file beside the predictions tells of the job that made them."""
    system: System | None = None
    """Only where a file beside the predictions tells what made them."""

    @property
    def tables(self) -> Mapping[str, str]:
        """SHA-256 of tables of the run folder that came with them, by name."""
        return self.system.tables if self.system else {}


class Data(Part):
    """What the examples came from."""

    sha256: Recorded[Sha256] = None
    files: tuple[File, ...] = ()
    """The files that were read; empty where the data came from none."""
    rows_sha256: Sha256 | None = None
    """Of the rows that the data set returned; null where it returned a file, and in
    runs of versions that did not record it."""
    attached_sha256: Sha256 | None = None
    """Of the files that rows name (`evalkit.FilePath`); null where they name none."""
    limit: Whole | None = None
    """How many examples the data set was asked for, where it looks at that; null for
    all."""
    version: Recorded[Text] = None
    license: Text | None = None
    source_url: Text | None = None
    citation: Text | None = None
    content_warning: Text | None = None
    description: Text | None = None
    """A sentence about the data set."""
    languages: Texts = ()
    """BCP 47 codes of the languages of its texts."""
    tags: Texts = ()
    """Tags of the data set as a whole."""
    round_id: Annotated[Whole, WithJsonSchema({"type": "integer", "minimum": 0})] = 0
    """The round of a data collection; 0 for none."""
    changes: Mapping[Text, Text] = {}
    """What changed in each version, as far as the data set says it."""
    adapters: tuple[Adapter, ...] = ()
    """The adapters that the rows went through, in order, those that the data set
    declares first; empty for a merged run whose parts went through other ones. `files`
    are as they were before."""

    @property
    def identity(self) -> DataIdentity:
        """The hashes that tell these data from others."""
        return DataIdentity(
            str(self.sha256),
            tuple(each.to_dict() for each in self.files),
            (),
            self.rows_sha256,
            self.attached_sha256,
            self.limit,
        )


class Component(Part):
    """A plugin that the run used."""

    id: Annotated[
        str,
        text(
            "^((tasks|metrics|perturbations|annotators|adapters)"
            "/[a-z0-9]+(-[a-z0-9]+)*|datasets/.+)$"
        ),
    ]
    distribution: Text = ""
    version: Recorded[Text] = None
    parameters: Mapping[Text, Any]
    """Parameters that are not at their default."""
    source_sha256: Sha256 | None = None
    """Over the files of the component's package; null where there are none."""
    resources: Mapping[Text, Text] | None = None
    """What the component depends on beside its package, by name: a SHA-256 of each
    file that a parameter names or that it was read from; of a metric also of the
    files, folders and modules that it names itself, or the text that it gives, such as
    the name of a model."""
    deterministic: Flag = True
    """Whether a metric gives the same for the same, as it declares."""
    read_from: Text | None = None
    """The file that a data set was read from, as the user named it; another place of
    the same file makes no other run. Null for a data set that was not."""

    @property
    def kind(self) -> str:
        """Kind of the plugin, such as `metrics`."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """The name of the plugin, without its kind."""
        return self.id.partition("/")[2]

    @property
    def full_name(self) -> str:
        """The name with the parameters that are not at their default."""
        return score_name(self.name, self.parameters)

    @property
    def reference(self) -> str:
        """What names just this plugin: `NAME@DISTRIBUTION`, or the file of it."""
        return self.read_from or f"{self.name}@{self.distribution}"


class Columns(Part):
    """Columns that one component computed."""

    component: Text
    """Id of the component, such as `annotators/judge`."""
    name: Text
    """Its name with the parameters that are not at their default."""
    columns: Texts
    """The columns in `examples.parquet`, as metrics ask for them."""
    rows: Count
    """How many responses they were computed for."""
    without_value: Mapping[Text, Count]
    """How many of them have no value, by the reason."""
    sha256: Sha256
    """Over the values and reasons."""
    details: Mapping[str, Any] = {}
    """What the stage records beside them, which makes no other run."""


class Core(Part):
    """What computes the numbers of all metrics."""

    version: Text
    source_sha256: Sha256
    """Over the files of evalkit-core."""


class Timings(Part):
    """The only part that differs between two runs of the same inputs."""

    started: Text = Field(json_schema_extra={"format": "date-time"})
    seconds: Number = Field(json_schema_extra={"minimum": 0})


class Perturbation(Part):
    """What made the examples of a run, where they are perturbed."""

    name: Text
    """Name and parameters, steps joined by `+`."""
    label_effect: LabelEffect
    families: Texts
    told_by: Literal["rows", "plugin"] | None = None
    """What states its effect and families: the rows of the file, or the installed
    plugin. Null if neither does; the effect is then `uncertain`."""
    expects: Flag = False
    """Whether its `expect` was called."""
