"""Perturbs a data set or a file, and writes the changed copies to a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO, cast

from evalkit import Registry
from evalkit.base.files import WorkingFolder, make_folder
from evalkit.base.progress import Progress
from evalkit.catalog import BoundDataset, BoundTask, DataSource, Resolver, bind_dataset
from evalkit.errors import EvalkitError, PluginError, StorageError
from evalkit.examples.selection import Selection
from evalkit.parallel import NotPortable, Workers
from evalkit.plugins.observers import Observers
from evalkit.reporting import new_file
from evalkit_commands_perturb.choice import choose_perturbations
from evalkit_commands_perturb.chunks import (
    Chunk,
    Portable,
    Tally,
    load_perturbers,
    perturb_chunk,
    perturb_in_worker,
    portable,
)
from evalkit_commands_perturb.copying import Example, Perturber
from evalkit_commands_perturb.originals import (
    SourceExamples,
    read_originals,
    stored_labels,
)
from evalkit_commands_perturb.rows import read_settings
from evalkit_commands_perturb.scopes import Settings
from evalkit_commands_perturb.spans import ProtectedKind
from evalkit_commands_perturb.summary import PerturbationCount, PerturbationSummary
from evalkit_commands_perturb.targets import place_of_copies, refuse_own_input

CHUNK_EXAMPLES = 1_000
"""Examples that are perturbed and written at a time, at most."""

CHUNK_SECONDS = 1.0
"""Time after which the examples that are done are written, and progress is told."""

_FASTER = 4
"""How many times as many examples the next chunk of a worker may have."""


def perturb_dataset(
    dataset: Any,
    out: str | Path | TextIO,
    *,
    perturbations: Sequence[Any] = (),
    families: Sequence[str] = (),
    preset: str | None = None,
    task: Any = None,
    split: str | None = None,
    limit: int | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    fields: Sequence[str] | None = None,
    seed: int = 0,
    variants: int = 1,
    unprotected: Sequence[ProtectedKind] = (),
    again: bool = False,
    edits: bool = False,
    overwrite: bool = False,
    jobs: int = 1,
    engine: Any = None,
    observers: Sequence[Any] = (),
    rows: DataSource | None = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> PerturbationSummary:
    """Write the changed copies of all examples to a file of JSON lines.

    What becomes of an example depends on the example, the perturbation and the seed,
    and not on other examples, their order, or `jobs`. The file appears when it is
    whole.

    Args:
        dataset: As for `evaluate`; a file need not hold answers.
        out: The file to write, also as a URI such as `s3://bucket/file`, or a stream.
        perturbations: Names (`gender-swap`, `keyboard-typos:prob=0.3`,
            `lowercase+contractions`), classes, instances, or lists of these that are
            applied one after the other.
        families: Families of which all installed perturbations are applied.
        preset: How strong those are that have presets: `mild`, `medium`, `hard`.
        task: The task, by name or as a class or instance; only for a file of examples.
        split: Split of the data set; its default split by default.
        limit: Perturb at most so many examples, the first ones.
        filters: Perturb only examples with these values.
        fields: Fields to change; by default the task's. Texts within a field are named
            by their path (`messages[].content`, `context.title`).
        seed: Seed of all draws.
        variants: Copies of each example and perturbation, as far as they differ.
        unprotected: What may be changed although it is protected otherwise: `code`,
            `digits`, `mark-up`, `placeholders`, `urls`.
        again: Take examples that are perturbed already.
        edits: Add the edits of each text under `edits`.
        overwrite: Whether a file that is there may be replaced.
        jobs: Processes that perturb at the same time.
        engine: What perturbs elsewhere, as for `evaluate`; this process reads the data.
        observers: Observers to tell what happens: names, classes or instances.
        rows: What changes rows of the data, as for `evaluate`; copies are of the rows
            that come out of it.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        How many examples were changed, and some of them.

    Raises:
        DataError: The data cannot be read, or a value cannot be written.
        EvalkitError: An argument is out of range, no perturbation was named, or no
            example has one of the fields, or a text where one of the paths leads.
        PluginError: A plugin is unknown or broken, or failed, or made a copy that
            breaks the task's input, has an answer that is none of the labels, or
            another one where it says that answers stay.
        SchemaError: Examples break the task's input, are perturbed already, or have an
            id that a copy would get.
        StorageError: The file is there already, or cannot be written.
    """
    registry = registry or Registry()
    resolver, watchers = Resolver(registry), Observers(registry, observers)
    with watchers.told_of_failure(dataset), place_of_copies(out, overwrite) as target:
        settings = read_settings(seed, variants, fields, unprotected)
        selection = Selection.of(limit, filters)
        if isinstance(engine, str):
            engine = registry.load("engines", engine).plugin
        workers = Workers(jobs, engine)
        chosen = choose_perturbations(resolver, perturbations, families, preset)
        bound = bind_dataset(resolver, dataset, task, rows)
        bound_task = resolver.task(bound)
        split = split or bound.default_split
        progress(f"loading {bound.component.name}", 0.0)
        originals = read_originals(bound, bound_task, split, selection, again)
        originals.refuse_absent(settings.fields)
        labels = stored_labels(bound)
        answers = originals.answer_field, labels, originals.converter
        perturbers = [
            Perturber(steps, bound_task, settings, *answers)
            for steps in chosen.perturbations
        ]
        refuse_own_input(target, originals.loaded.path)
        originals.refuse_taken_uids(perturbers)
        described = portable(perturbers, bound_task, settings, *answers, edits)
        job = _Job(
            originals, perturbers, bound_task, settings, edits, workers, described
        )
        watched = {"dataset": bound.component.name, "split": split}
        named = [each.identity for each in perturbers]
        watchers.tell("before_perturbing", perturbations=named, **watched)
        with nullcontext() if engine is None or engine.is_running else engine:
            if target is not None:
                tallies = _to_file(job, target, overwrite, progress)
            else:
                tallies = _to_stream(job, cast(TextIO, out), progress)
        summary = _summary(job, tallies, bound, split, target, chosen.notices)
        watchers.tell("after_perturbing", summary=summary.to_dict(), **watched)
        notices = (*summary.notices, *watchers.warnings)
        return summary._replace(notices=notices)


class _Job(NamedTuple):
    """What is to be done."""

    originals: SourceExamples
    perturbers: Sequence[Perturber]
    task: BoundTask
    settings: Settings
    edits: bool
    workers: Workers
    described: Portable | None
    """The perturbers for another process; None where one was given as an object."""

    @property
    def size(self) -> int:
        """How many examples there are."""
        return len(self.originals.uids)


def _summary(
    job: _Job,
    tallies: Sequence[Tally],
    dataset: BoundDataset,
    split: str,
    target: Path | None,
    notices: Sequence[str],
) -> PerturbationSummary:
    counts = [
        PerturbationCount(
            each.identity, tuple(sorted(each.families)), each.label_effect, *tally
        )
        for each, tally in zip(job.perturbers, tallies, strict=True)
    ]
    return PerturbationSummary(
        dataset.component.name,
        job.task.component.name,
        split,
        target,
        job.size,
        tuple(counts),
        any(each.content_warning is not None for each in (dataset, job.task)),
        tuple(notices),
    )


def _to_file(job: _Job, path: Path, overwrite: bool, progress: Progress) -> list[Tally]:
    """Write the copies to a file that appears when it is whole."""
    try:
        make_folder(path.parent)
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"{path}: cannot be written: {reason}") from error
    folder = WorkingFolder()
    with new_file(path, overwrite=overwrite) as part:
        with part.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            tallies = _to_stream(job, stream, progress)
        if moved := folder.restore():
            warnings.warn(moved, stacklevel=4)
    return tallies


def _to_stream(job: _Job, stream: TextIO, progress: Progress) -> list[Tally]:
    tallies = [Tally()] * len(job.perturbers)
    done = 0
    for chunk in _perturb(job):
        stream.write(chunk.lines)
        both = zip(tallies, chunk.tallies, strict=True)
        tallies = [so_far.plus(found) for so_far, found in both]
        done += chunk.examples
        progress("perturbing", done / job.size)
    return tallies


def _perturb(job: _Job) -> Iterator[Chunk]:
    """Perturb chunk after chunk, in several processes where that is asked for."""
    done = 0
    if job.workers.jobs > 1 or job.workers.engine is not None:
        try:
            for chunk in _in_workers(job):
                done += chunk.examples
                yield chunk
            return
        except NotPortable as error:
            if job.workers.engine is not None:
                raise EvalkitError(
                    "an engine's workers cannot load a perturbation, or the data, that "
                    "is given as an object. Name it"
                ) from error
    examples = iter(job.originals.examples(done))
    while True:
        some = islice(examples, CHUNK_EXAMPLES)
        chunk = perturb_chunk(job.perturbers, some, job.edits, CHUNK_SECONDS)
        if not chunk.examples:
            return
        yield chunk


def _in_workers(job: _Job) -> Iterator[Chunk]:
    if job.described is None:
        raise NotPortable
    size = max(perturber.batch for perturber in job.perturbers)

    def chunks() -> Iterator[list[Example]]:
        examples = iter(job.originals.examples(0))
        while some := list(islice(examples, size)):
            yield some

    def died(first: list[Example], last: list[Example]) -> PluginError:
        return PluginError(
            "a worker process ended while it perturbed one of the examples "
            f"{first[0].uid!r} to {last[-1].uid!r}; one job instead of several runs "
            "it in this process"
        )

    with (
        job.workers as workers,
        closing(
            workers.map(
                *(load_perturbers, (job.described,), perturb_in_worker),
                *(chunks(), died),
                lambda some: f"examples {some[0].uid!r} to {some[-1].uid!r}",
            )
        ) as found,
    ):
        for chunk in found:
            # as many as fit into the time, which the first chunks tell
            fitting = int(chunk.examples * CHUNK_SECONDS / max(chunk.seconds, 1e-9))
            size = max(1, min(CHUNK_EXAMPLES, fitting, chunk.examples * _FASTER))
            yield chunk
