"""Where the predictions of each model on each data set are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import DataError, StorageError
from evalkit_models_base import name_in_runs, refuse_present, without_keys


class Place(NamedTuple):
    """A model, a data set, and the file of what the model answers."""

    model: str
    dataset: str
    file: Path

    @property
    def title(self) -> str:
        """What it is called beside others."""
        return without_keys(f"{self.model} on {self.dataset}")


def places_of_answers(
    models: Sequence[str], datasets: Sequence[str], out: str, *, overwrite: bool
) -> list[Place]:
    """Return where all answers go, before anything is asked.

    A single file is the one that the user names. Of several data sets that is a folder
    with a file each, called by the data set, as `evalkit eval --predictions-dir` takes
    it; of several models a folder with such a folder each.
    """
    if len(models) == len(datasets) == 1:
        refuse_present(out, overwrite=overwrite)
        return [Place(models[0], datasets[0], Path(out))]
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"{out} is no folder, and several files are to be written")
    if folder.suffix in (".jsonl", ".ndjson"):
        raise StorageError(
            f"{out} is called like a file, and several are to be written: name a folder"
        )
    names = [name_in_runs(each) if len(models) > 1 else "" for each in models]
    places = [
        Place(model, dataset, folder / _stem(name) / f"{_stem(dataset)}.jsonl")
        for model, name in zip(models, names, strict=True)
        for dataset in datasets
    ]
    _refuse_same(places)
    for place in places:
        if place.file.parent.is_dir():
            refuse_present(place.file, overwrite=overwrite)
    return places


def _refuse_same(places: Sequence[Place]) -> None:
    taken: dict[Path, Place] = {}
    for place in places:
        if place.file in taken:
            raise DataError(
                f"both {taken[place.file].title} and {place.title} would be written to "
                f"{place.file}: ask one at a time"
            )
        taken[place.file] = place


def _stem(name: str) -> str:
    """Return a name as that of a file: of a file its stem."""
    last = Path(name).stem if name.endswith((".py", ".jsonl", ".csv")) else name
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in last)
