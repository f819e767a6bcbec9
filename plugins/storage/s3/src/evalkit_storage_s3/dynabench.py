"""Let a dataset written for Dynabench's server run after changing only its import."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import evalkit
from evalkit.errors import DataError
from evalkit.places import exists, is_offline
from evalkit_storage_s3.clients import make_client

BUCKET_VARIABLE = "EVALKIT_S3_BUCKET"
"""Environment variable: the bucket of datasets whose code names none."""


class _Task(str):
    s3_bucket = ""


class BaseDataset(evalkit.Dataset):
    """Base class with the interface of Dynabench's datasets.

    A subclass calls `__init__` with its task and name. Its `load(self)` sends the
    examples as JSON lines to `self.task.s3_bucket` at `self._get_data_s3_path()` by
    `self.s3_client`, and returns whether it did. It is called if nothing is there. The
    bucket is `dataset_s3_bucket` of `config`, else that of `EVALKIT_S3_BUCKET`. Other
    arguments are Dynabench's, and not used.
    """

    splits: ClassVar[tuple[str, ...]] = ("test",)
    task: Any = None

    def __init__(
        self,
        task: str | None = None,
        name: str | None = None,
        round_id: int = 0,
        access_type: Any = None,
        config: Mapping[str, Any] | None = None,
        ext: str = ".jsonl",
        longdesc: str | None = None,
        source_url: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__()
        found: Any = vars(self)  # of the instance, as its code says them
        found["task"] = _Task(more.get("task_code", task) or type(self).task)
        found["name"] = name or type(self).name
        found["round_id"] = round_id
        found["description"] = longdesc or type(self).description
        found["source_url"] = source_url or type(self).source_url
        self.access_type = access_type
        self.ext = ext
        own = (config or {}).get("dataset_s3_bucket") or os.environ.get(BUCKET_VARIABLE)
        self.s3_bucket = self.task.s3_bucket = str(own or "")
        found["load"] = _loader(self, self.load)

    @cached_property
    def s3_client(self) -> Any:
        """boto3's client of S3."""
        return make_client()

    def load(self) -> bool:
        """Send the examples to the bucket; return whether they were sent."""
        raise NotImplementedError

    def _get_data_s3_path(self, perturb_prefix: str | None = None) -> str:
        """Return the key of the examples, or of perturbed ones."""
        name = self.name if perturb_prefix is None else f"{perturb_prefix}-{self.name}"
        return f"datasets/{self.task}/{name}{self.ext}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the client, which no other process can use."""
        return {key: value for key, value in vars(self).items() if key != "s3_client"}


def _loader(dataset: BaseDataset, load: Callable[[], bool]) -> Callable[[str], str]:
    """Return the hook that core calls in place of a method that returns a bool."""

    def load_split(split: str) -> str:
        if not dataset.s3_bucket:
            raise DataError(
                f"the dataset {dataset.name} needs a bucket: set {BUCKET_VARIABLE}, "
                "or `dataset_s3_bucket` in its config"
            )
        uri = f"s3://{dataset.s3_bucket}/{dataset._get_data_s3_path()}"
        if not is_offline() and not exists(uri):
            if load() is not True:
                raise DataError(f"load() of {dataset.name} said that it sent nothing")
            if not exists(uri):
                raise DataError(f"load() of {dataset.name} sent nothing to {uri}")
        return uri

    return load_split
