"""Runs of other tools, in the form that all importers return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import DataError
from evalkit_benchmarks_peers.peer_files import component_name

Row = dict[str, Any]


class OriginalScore(NamedTuple):
    """A number that the other tool computed."""

    metric: str
    """Name that the tool gives it."""
    tool: float | None
    counterpart: str | None = None
    """Metric of evalkit that computes the same, or nearly so."""
    column: str | None = None
    """Field of the responses that holds it for each example."""
    stderr: float | None = None
    tag: str | None = None
    """Tag of the examples that it is of. Default: all examples."""
    perturbation: str | None = None
    """Perturbation of the examples that it is of."""
    computed_on: str | None = None
    """`original`, `perturbed` or `worst`, if there is a perturbation."""
    scale: float = 1.0
    """What evalkit's value is multiplied by, to be compared."""
    explanation: str = ""
    """Why evalkit's value may differ."""

    @property
    def computed_by(self) -> str | None:
        """The counterpart, or else the metric that averages the column."""
        return self.counterpart or (self.column and f"column-mean:of={self.column}")


class ImportedRun(NamedTuple):
    """A run of another tool: one model on one dataset.

    Examples have `uid`, `input`, `answer` and `choices`; perturbed ones also those keys
    that `evalkit perturb` writes. Responses have `id` and `answer`.
    """

    tool: str
    source: Path
    """The folder or the file of the run."""
    files: Sequence[Path]
    dataset: str
    model: str
    scores: Sequence[OriginalScore]
    settings: Mapping[str, Any]
    """Settings of the tool and of the model."""
    examples: Sequence[Row] = ()
    responses: Sequence[Row] = ()
    version: str = "1"
    tags: Sequence[str] = ()
    language: str = ""
    """The language of the dataset, if it is a variant of one."""
    facets: Sequence[str] = ()
    extract: Mapping[str, Any] = {}
    parameters: str = ""
    """Parameters of the dataset, such as `extract=NAME`."""
    perturbed: Sequence[Row] = ()
    perturbed_responses: Sequence[Row] = ()

    @property
    def name(self) -> str:
        """Name of the dataset, without the language that is a parameter of it."""
        language = component_name(self.language)
        return self.dataset.removesuffix(f"-{language}" if language else "")

    @property
    def metrics(self) -> list[str]:
        """Metrics that compute the tool's scores, counterparts first."""
        ordered = sorted(self.scores, key=lambda score: score.counterpart is None)
        names = [name for score in ordered if (name := score.computed_by)]
        return [*dict.fromkeys(name.partition("#")[0] for name in names)]

    def declare(self, name: str, sha256: str) -> dict[str, Any]:
        """Return the benchmark file of the dataset.

        Raises:
            DataError: Only some examples have an answer.
        """
        answers = [row.get("answer") for row in self.examples]
        without = [each in (None, []) for each in answers]
        if any(without) and not all(without):
            uid = self.examples[without.index(True)]["uid"]
            raise DataError(f"{self.source}: example {uid!r} has no correct answer")
        is_choice = all(
            row.get("answer") in row.get("choices", ()) for row in self.examples
        )
        data: dict[str, Any] = {"path": f"{name}.jsonl", "sha256": sha256, "id": "uid"}
        if not all(without):
            data["answer"] = {"text": "answer"} if is_choice else "answer"
        if self.facets:
            data["tags"] = {each.replace("_", "-"): each for each in self.facets}
        task = {"input": {"input": "text"}, "answer": "choice" if is_choice else "text"}
        description, tags = f"Imported from {self.tool}", [*self.tags]
        benchmark = {"benchmark": 1, "name": name, "version": self.version}
        benchmark |= {"description": description, "tags": tags}
        benchmark |= {"task": task, "data": data}
        if self.extract:
            benchmark["extract"] = dict(self.extract)
        if self.language:
            code = "zh-Hant" if self.language == "zh_t" else self.language
            benchmark["name"] = name.removesuffix(f"-{component_name(self.language)}")
            benchmark["variants"] = {"language": {self.language: {"languages": [code]}}}
        if self.metrics:
            benchmark["headline"] = self.metrics[0]
        of_columns = {score.computed_by for score in self.scores if score.column}
        metrics = [name for name in self.metrics[1:] if name not in of_columns]
        return benchmark | {"metrics": metrics}
