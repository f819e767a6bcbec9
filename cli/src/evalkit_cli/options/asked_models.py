"""Asks models for the predictions that are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalkit_cli.options.benchmarks import Failures
from evalkit_cli.options.choices import (
    read_adapters,
    read_filters,
    read_map,
    row_source,
)
from evalkit_cli.options.prediction_sources import Copies, Job
from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit_models_base import Predicted


class Chosen(NamedTuple):
    """Which examples are asked about, and how."""

    dataset: str
    rows: Mapping[str, Any]
    """Which examples, as arguments of `load_inputs`."""
    adapted: Any
    """Adapters of the examples' copies."""
    asking: Mapping[str, Any]
    """The arguments that `read_asked` gives."""
    progress: Callable[[str, float], None]
    is_quiet: bool


def chosen_rows(
    datasets: Sequence[str],
    task: str | None,
    options: Mapping[str, Any],
    splits: Mapping[str, str],
    *how: Any,
) -> list[Chosen]:
    """Read which examples are asked about, of each dataset; `how` ends a `Chosen`."""
    given, mapped = options["adapters"], read_map(options["mapped"], "--map")
    adapters = read_adapters(given)
    adapted = adapters.pop("perturbed", None)
    rows = {"task": task, "limit": options["limit"]}
    rows |= {"filters": read_filters(options["filters"])}
    rows |= {"rows": row_source(adapters, mapped)}
    split = options["split"]
    return [
        Chosen(
            name,
            {"dataset": name, "split": splits.get(name, split), **rows},
            adapted,
            *how,
        )
        for name in datasets
    ]


def refuse_what_is_not_asked(
    datasets: Sequence[str],
    models: Sequence[str],
    options: Mapping[str, Any],
    asking: dict[str, Any],
) -> None:
    """Refuse what would have a model asked otherwise than it is scored."""
    if options["perturbed"] and len(models) > 1:
        raise click.UsageError("--perturbed takes a single --model; ask one at a time.")
    if options["perturbed"] and len(datasets) > 1:
        raise click.UsageError("--perturbed takes a single data set.")
    if not options["perturbed"]:
        return
    if (asking["trials"] or 1) * (asking["replications"] or 1) > 1:
        raise click.UsageError(
            "--perturbed takes one answer to each example: leave out --trials and "
            "--replications."
        )
    asking |= {"trials": 1, "replications": 1}  # not those of the prompt


def jobs_of_models(
    models: Sequence[str],
    name: str | None,
    several: Sequence[Chosen],
    folder: Path,
    failures: Failures,
    asks_declared: bool,
) -> Iterator[Job]:
    """Ask models about data sets, and make a job of what each answered of each.

    What fails of several is added to the failures, so that the others are evaluated.
    """
    from evalkit.errors import EvalkitError

    _refuse_names(models, name)
    for number, (chosen, model) in enumerate(product(several, models)):
        try:
            predicted = _ask(model, chosen)
        except EvalkitError as error:
            if len(several) == len(models) == 1:
                raise
            job = Job(chosen.dataset, model, chosen.dataset)
            failures.setdefault(str(error), []).append((job, error))
            continue
        own = name or predicted.model
        if chosen is several[0] and name is None:
            _say_other_name(predicted)
        file = _kept(predicted, folder / str(number))
        copies = Copies()
        if asks_declared:
            copies = _declared(model, chosen, folder / f"perturbed-{number}")
        yield Job(chosen.dataset, own, file, copies)


def _declared(model: str, chosen: Chosen, folder: Path) -> Copies:
    """Ask about the perturbed examples that a benchmark declares."""
    from evalkit import Registry
    from evalkit.catalog import is_file_name

    if is_file_name(chosen.dataset):
        return Copies()
    plugin = Registry().load("datasets", chosen.dataset).plugin
    files: list[str] = []
    folder.mkdir()
    for number, declared in enumerate(getattr(plugin, "perturbations", ())):
        from evalkit_commands_perturb import perturb_dataset

        out = folder / f"{number}.jsonl"
        perturb_dataset(out=out, **declared, **chosen.rows)
        if out.stat().st_size:
            files.append(str(out))
        else:
            names = ", ".join(declared["perturbations"])
            echo(f"evalkit: notice: {names} changes no example", err=True)
    return Copies(files, files and _answers_to_copies(model, files, chosen, folder))


def _refuse_names(models: Sequence[str], name: str | None) -> None:
    """Refuse models that runs would not tell apart, before the first is asked."""
    from evalkit_models_base import name_in_runs, without_keys

    if len(models) < 2:
        return
    if name is not None:
        raise click.UsageError("--model-name names a single model.")
    names: dict[str, str] = {}
    for model in models:
        with _as_a_model():
            own = name_in_runs(model)
        if own in names:
            both = f"{without_keys(names[own])} and {without_keys(model)}"
            raise click.UsageError(
                f"two models are called {own!r}: {both}; evaluate one at a time, and "
                "name it with --model-name."
            )
        names[own] = model


@contextmanager
def _as_a_model() -> Iterator[None]:
    """Say of an unknown model what else `--model` could have been meant for."""
    from evalkit.errors import UnknownPluginError

    try:
        yield
    except UnknownPluginError as error:
        if not str(error).startswith("there is no model "):  # but no data set, say
            raise
        stop = "" if str(error).endswith("?") else "."
        raise UnknownPluginError(
            f"{error}{stop} Without predictions --model is the model to ask; to name "
            "the model of a file, add -p FILE"
        ) from error


def _say_other_name(predicted: Predicted) -> None:
    """Say what a model is called whose own name has other meanings."""
    served = predicted.system["model"]["describes"].get("name")
    if served not in (None, predicted.model):
        echo(
            f"evalkit: notice: {served} is called {predicted.model} in its run, where "
            "other things are meant by : = @; --model-name says another",
            err=True,
        )


def ask_about_copies(
    work: Iterable[Job],
    models: Sequence[str],
    options: dict[str, Any],
    several: Sequence[Chosen],
    folder: Path,
    runs: Path,
) -> Iterable[Job]:
    """Ask the model about perturbed copies whose predictions are not given."""
    from evalkit_analysis_robustness import find_stored

    files = [name for name in options["perturbed"] if find_stored(name, runs) is None]
    if files and not options["perturbed_predictions"] and len(models) == 1:
        work = [*work]
        found = _answers_to_copies(models[0], files, several[0], folder)
        options["perturbed_predictions"] = tuple(found)
    return work


def plans_of_models(
    models: Sequence[str],
    name: str | None,
    copies: Sequence[str],
    several: Sequence[Chosen],
    runs: Path,
) -> list[dict[str, Any]]:
    """Say what models would be asked about data sets, and ask nothing."""
    from evalkit_analysis_robustness import find_stored

    _refuse_names(models, name)
    files = [each for each in copies if find_stored(each, runs) is None]
    plans = [_plan(model, chosen) for chosen in several for model in models]
    if files:
        originals = several[0].rows
        plans += [
            _plan(models[0], each, originals) for each in _copies(files, several[0])
        ]
    return plans


def _plan(
    model: str, chosen: Chosen, copies_of: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    from evalkit_models_base import plan_requests

    asking = {key: each for key, each in chosen.asking.items() if key != "asked"}
    price = chosen.asking["asked"].price
    with _as_a_model():
        return plan_requests(
            model=model, price=price, copies_of=copies_of, **chosen.rows, **asking
        )


def _answers_to_copies(
    model: str, files: Sequence[str], chosen: Chosen, folder: Path
) -> list[str]:
    """Return a file of predictions for each file of copies."""
    return [
        _kept(_ask(model, copies, chosen.rows), folder / f"copies-{number}")
        for number, copies in enumerate(_copies(files, chosen))
    ]


def _copies(files: Sequence[str], chosen: Chosen) -> list[Chosen]:
    """Return which copies are asked about: those of the examples that are."""
    from evalkit import Registry
    from evalkit_models_base import load_inputs

    originals = load_inputs(**chosen.rows)
    task = chosen.rows["task"]
    if task is None:
        task = Registry().load("datasets", chosen.dataset).attributes["task"]
    is_part = len(originals) < originals.examples
    ids = [str(row["uid"]) for row in originals.rows]
    adapters = {} if chosen.adapted is None else {"data": chosen.adapted}
    rows = {
        "task": task,
        "filters": {"column.input_id": ids} if is_part else {},
        "rows": row_source(adapters, {}),
    }
    return [
        chosen._replace(dataset=file, rows={"dataset": file, **rows}) for file in files
    ]


def _ask(
    model: str, chosen: Chosen, copies_of: Mapping[str, Any] | None = None
) -> Predicted:
    from evalkit.reporting import count_of
    from evalkit_models_base import predict

    with _as_a_model():
        predicted = predict(
            model=model,
            progress=chosen.progress,
            copies_of=copies_of,
            **chosen.rows,
            **chosen.asking,
        )
    for notice in predicted.notices:
        echo(f"evalkit: notice: {notice}", err=True)
    for reason, count in predicted.errors.items():
        said = f"{count_of(count, 'example')} without an answer: {reason}"
        echo(f"evalkit: notice: {said}", err=True)
    if predicted.from_cache and not chosen.is_quiet:
        kept = f"{predicted.from_cache:,} replies of {predicted.model}"
        echo(f"evalkit: {kept} from the cache; --no-cache asks anew", err=True)
    return predicted


def _kept(predicted: Predicted, folder: Path) -> str:
    """Write predictions to a file whose name is that of the model, if it can be."""
    folder.mkdir()
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in predicted.model)
    return str(predicted.save(folder / f"{stem[:100] or 'model'}.jsonl"))
