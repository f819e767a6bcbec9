"""Extractors, one after another, that take the answer out of a response's text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from evalkit import Registry
from evalkit.base.violations import shorten
from evalkit.catalog import BoundDataset, BoundTask
from evalkit.errors import AdapterError
from evalkit.examples.table import Examples
from evalkit.places import is_remote
from evalkit.predictions.answer_readers import EMPTY, ERROR, OK, UNPARSED
from evalkit_adapters_rows.answers import AnswerExtractor, Extracted
from evalkit_adapters_rows.bound import BoundAdapter
from evalkit_adapters_rows.files import read_stages
from evalkit_adapters_rows.stages import Stage, bind_stages
from evalkit_adapters_rows.written_extractors import read_stage, split_stages

ChosenBy = Literal["user", "data set", "task"]
"""Who said which extractors are used."""


class Extraction:
    """Extractors, one after another.

    Attributes:
        stages: The extractors that are loaded, with their configuration.
        chosen_by: Who named them.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        chosen_by: ChosenBy = "user",
        short_form: str = "",
    ) -> None:
        self.stages = tuple(stages)
        self.chosen_by = chosen_by
        self._short_form = short_form

    @property
    def specification(self) -> list[dict[str, Any]]:
        """The extractors as they are recorded: kind, plugin and configuration."""
        return [stage.specification for stage in self.stages]

    @property
    def text(self) -> str:
        """The short form that the user wrote, or the list of stages as JSON."""
        if self._short_form:
            return self._short_form
        stages = [
            {"kind": stage.kind, "configuration": stage.configuration}
            for stage in self.stages
        ]
        return json.dumps(stages, ensure_ascii=False)

    @property
    def sha256(self) -> str:
        """SHA-256 over the canonical JSON of the specification."""
        text = json.dumps(
            self.specification,
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def components(self) -> list[BoundAdapter]:
        """The extractors that are loaded."""
        return [stage.adapter for stage in self.stages]

    @property
    def record(self) -> dict[str, Any]:
        """What a run records of the extractors."""
        return {
            "stages": self.specification,
            "text": self.text,
            "sha256": self.sha256,
            "chosen_by": self.chosen_by,
        }

    def for_examples(
        self, dataset: BoundDataset, task: BoundTask, examples: Examples
    ) -> AnswerExtractor:
        """Return what takes the answers out of responses to some examples.

        Args:
            dataset: The data set.
            task: Its task.
            examples: The examples.

        Raises:
            AdapterError: A stage needs what the task does not have.
            EvalkitError: Nobody says in which field of a response the answer is.
        """
        self.refuse_unfit(
            f"the task {task.component.name}",
            choices=examples.choices is not None,
            labels=examples.labels is not None,
        )
        return AnswerExtractor(self, dataset, task, examples)

    def refuse_unfit(self, task: str, *, choices: bool, labels: bool) -> None:
        """Refuse a stage that needs what the task does not have.

        Args:
            task: The task, as messages name it.
            choices: Whether each example has options of its own.
            labels: Whether labels are declared.

        Raises:
            AdapterError: There is such a stage.
        """
        has = {"choices": choices, "labels": labels}
        for stage in self.stages:
            for needed in stage.adapter.needs:
                if not has[needed]:
                    problem = _lacking(task, needed, labels)
                    raise AdapterError(problem, stage=stage.number, kind=stage.kind)

    def extract(
        self,
        texts: pl.Series,
        choices: pl.Series | None = None,
        labels: Sequence[str] | None = None,
        rows: pl.Series | None = None,
        languages: Sequence[str] = (),
    ) -> Extracted:
        """Take the answers out of texts.

        Args:
            texts: What models wrote; null counts as empty.
            choices: Lists of the options of each text's example; None for none.
            labels: The labels; None for none.
            rows: To which response each text belongs, integers in rising order, where
                some give several; then what comes out has one row for each response
                where a stage chooses among them, else one for each text.
            languages: BCP 47 codes of the data set's languages.

        Returns:
            A row for each text, or response.

        Raises:
            PluginError: An extractor failed.
        """
        state = pl.DataFrame(
            {
                "value": texts.cast(pl.String),
                "status": pl.repeat(OK, len(texts), dtype=pl.String, eager=True),
                "reason": pl.repeat(None, len(texts), dtype=pl.String, eager=True),
            }
        )
        if rows is not None:
            state = state.with_columns(rows.alias("row"))
        if choices is not None:
            state = state.with_columns(choices.alias("choices"))
        state = _without_blank(state, "the response is empty")
        for stage in self.stages:
            if stage.adapter.has("choose_answer"):
                state = _chosen(stage, state)
            else:
                state = _after_stage(stage, state, labels, languages)
            state = _without_blank(state, f"{stage.kind}: nothing is left")
        return Extracted(state["value"], state["status"], state["reason"])

    @property
    def chooses(self) -> bool:
        """Whether a stage makes one answer of several."""
        return any(stage.adapter.has("choose_answer") for stage in self.stages)


def _lacking(task: str, needed: str, has_labels: bool) -> str:
    if needed == "labels":
        return f"{task} declares no labels; name them: labels=yes/no"
    other = "; `labels` finds its labels" if has_labels else ""
    return (
        f"{task} has no choices (choices_field){other}; a task whose examples have "
        "them will do, such as multiple-choice"
    )


def _without_blank(state: pl.DataFrame, reason: str) -> pl.DataFrame:
    """Say that nothing is left of a text where that is so."""
    value, is_ok = pl.col("value"), pl.col("status") == OK
    trimmed = value.str.strip_chars()
    is_blank = is_ok & (value.is_null() | (trimmed.str.len_bytes() == 0))
    if not state.select(is_blank.any()).item():
        return state
    return state.with_columns(
        value=pl.when(~is_blank).then(value),
        status=pl.when(is_blank).then(pl.lit(EMPTY)).otherwise("status"),
        reason=pl.when(is_blank).then(pl.lit(reason)).otherwise("reason"),
    )


def _after_stage(
    stage: Stage,
    state: pl.DataFrame,
    labels: Sequence[str] | None,
    languages: Sequence[str],
) -> pl.DataFrame:
    """Have a stage look at the texts that the stages before left."""
    is_open = state["status"] == OK
    every = bool(is_open.all())
    looked = state if every else state.filter(is_open)
    if looked.is_empty():
        return state
    choices = looked["choices"] if "choices" in looked.columns else None
    made = stage.adapter.extract(looked["value"], choices, labels, languages)
    found = _judged(stage, made)
    if every:
        return state.with_columns(found.get_columns())
    places = is_open.arg_true()
    columns = [
        state[name].clone().scatter(places, found[name])
        for name in ("value", "status", "reason")
    ]
    return state.with_columns(columns)


def _judged(stage: Stage, found: pl.DataFrame) -> pl.DataFrame:
    """Give what a stage returned its status, and name the stage in its reasons."""
    is_ok = pl.col("value").is_not_null() & ~pl.col("failed")
    if found.select(is_ok.all()).item():
        return found.select("value", status=pl.lit(OK), reason=pl.lit(None, pl.String))
    given = pl.col("reason").fill_null("there is no answer")
    why = pl.when(~is_ok).then(given)  # so that no text is made for the others
    other = pl.when("failed").then(pl.lit(ERROR)).otherwise(pl.lit(UNPARSED))
    return found.select(
        value=pl.when(is_ok).then("value"),
        status=pl.when(is_ok).then(pl.lit(OK)).otherwise(other),
        reason=pl.lit(f"{stage.kind}: ") + why,
    )


def _chosen(stage: Stage, state: pl.DataFrame) -> pl.DataFrame:
    """Have a stage choose among the answers of each response."""
    if "row" not in state.columns or not state["row"].is_duplicated().any():
        return state
    is_several = pl.len().over("row") > 1
    alone, several = state.filter(~is_several), state.filter(is_several)
    answers = several.group_by("row", maintain_order=True).agg("value")["value"]
    made = stage.adapter.choose(answers.to_list())
    first = several.unique("row", keep="first", maintain_order=True)
    chosen = first.with_columns(_judged(stage, made).get_columns())
    return pl.concat([alone, chosen]).sort("row", maintain_order=True)


def as_extraction(
    given: Any, registry: Registry | None = None, chosen_by: ChosenBy = "user"
) -> Extraction | None:
    """Return extractors, however they were given."""
    if given is None or isinstance(given, Extraction):
        return given
    registry = Registry() if registry is None else registry
    written = _read(given)
    stages = [
        read_stage(number, each, registry) if isinstance(each, str) else each
        for number, each in enumerate(written, start=1)
    ]
    if not stages:
        raise AdapterError("extract names no extractor")
    bound = tuple(bind_stages(stages, registry))
    for stage in bound:
        if not stage.adapter.is_extractor:
            problem = "it is an adapter of rows (--adapter), not an extractor"
            raise AdapterError(problem, stage=stage.number, kind=stage.kind)
    return Extraction(bound, chosen_by, _short_form(written))


def extraction(given: Any, registry: Registry | None = None) -> Extraction:
    """Make extractors that can be called by hand, as `--extract` does.

    Args:
        given: `after:Answer:|choice`, a list of stages, or the path of a file of them.
        registry: Where installed adapters are found; what is installed by default.

    Returns:
        The extractors.

    Raises:
        AdapterError: They are written wrongly, or one is an adapter of rows.
        PluginError: One is unknown or broken.
    """
    found = as_extraction(given, registry)
    if found is None:
        raise AdapterError("extract names no extractor")
    return found


def _read(given: Any) -> Sequence[Any]:
    if isinstance(given, Path) or (isinstance(given, str) and _is_file(given)):
        found = read_stages(given)
        return found if isinstance(found, list) else [found]
    if isinstance(given, str):
        return split_stages(given)
    if isinstance(given, Mapping):
        return [given]
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise AdapterError(
            "extract must be a text such as 'after:Answer:|choice', a list of stages "
            f"or a file of them, is {shorten(given)}"
        )
    return given


def _short_form(stages: Sequence[Any]) -> str:
    """Join stages that are texts, or return "" where that says something else."""
    texts = [stage for stage in stages if isinstance(stage, str)]
    try:
        is_same = split_stages("|".join(texts)) == [*stages]
    except AdapterError:
        is_same = False
    return "|".join(texts) if is_same else ""


def _is_file(text: str) -> bool:
    is_named = text.endswith((".yaml", ".yml", ".json"))
    is_there = is_remote(text) or Path(text).exists()
    return is_named and "|" not in text and is_there
