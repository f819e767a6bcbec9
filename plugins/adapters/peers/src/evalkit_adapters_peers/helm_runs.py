"""Instances that HELM saved beside the run spec of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import AdapterError
from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_peers.helm import HelmInstances
from evalkit_adapters_peers.values import object_of

_ALL = "input_instances.json"
"""What `helm-run --cache-instances` saves, before a sample is drawn."""
_OF_EVALUATION = ("valid", "test")


class SavedInstances(NamedTuple):
    """Instances that HELM saved, as the rows of `helm-instances`.

    Attributes:
        path: The file.
        rows: A row for each instance, without perturbed copies.
        has_all: Whether they are all, before a sample was drawn.
    """

    path: Path
    rows: list[dict[str, Any]]
    has_all: bool

    def evaluated(self, most: int | None, splits: list[str] | None) -> list[Any]:
        """Return the rows that HELM evaluates: a sample, drawn as it does.

        Args:
            most: The size of the sample; None for all, of which splits HELM asks none.
            splits: Splits that the sample is of; None for those of evaluation.
        """
        found = [row for row in self.rows if row["split"] in _OF_EVALUATION]
        if most is None or not self.has_all:
            return found
        found = [row for row in found if row["split"] in (splits or _OF_EVALUATION)]
        if len(found) <= most:
            return found
        import numpy as np

        places = np.random.RandomState(0).choice(len(found), most, replace=False)
        return [found[place] for place in places]


def saved_instances(folder: Path) -> SavedInstances | None:
    """Read the instances in the folder of a run; None if there are none.

    Args:
        folder: The folder.

    Raises:
        AdapterError: A file is not one of HELM's.
    """
    for name in (_ALL, "instances.json", "scenario_state.json"):
        path = folder / name
        if path.is_file():
            break
    else:
        return None
    values = read_document(path)
    if isinstance(values, Mapping):
        values = values.get("request_states")
    if not isinstance(values, list):
        raise AdapterError(f"{path}: must be a list of instances or of requests")
    requests = [object_of(each, "instance") for each in values]
    if path.name != "scenario_state.json":
        has_ids = all(each.get("id") is not None for each in requests)
        for number, each in enumerate(requests):
            own = {} if has_ids else {"id": f"id{number}"}  # as HELM numbers them
            requests[number] = {"instance": {**each, **own}}
    adapter, rows = HelmInstances(HelmInstances.Parameters()), dict[str, Any]()
    for number, request in enumerate(requests):
        try:
            for row in adapter.adapt_row(request):
                rows.setdefault(row["uid"], row)
        except AdapterError as error:
            raise AdapterError(f"{path}: {number}: {error}") from error
    return SavedInstances(path, [*rows.values()], path.name == _ALL)
