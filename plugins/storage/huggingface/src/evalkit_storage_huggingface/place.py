"""The place of the scheme `hf`: files of datasets on a hub, each in one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from evalkit.errors import StorageError, TransferError
from evalkit.places import Entry, FetchedPath, Place, is_offline

_URI = re.compile(
    r"hf://datasets/(?P<repository>[^/@]+/[^/@]+)"
    r"(@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?(/(?P<path>.*))?",
    re.DOTALL,
)
_COMMIT = re.compile("[0-9a-f]{40}")
_LOG_IN = "log in with the hub's own client (`hf auth login`)"


class Hub(Place):
    """Files of datasets, in the cache of the hub's own client.

    Endpoint, token and cache are those of that client. evalkit reads none of them.
    """

    def local(self, uri: str) -> Path | None:
        """Fetch a file as it is in the commit of its revision."""
        from huggingface_hub import errors as hub
        from huggingface_hub import hf_hub_download

        name = _parse(uri)
        if not name.path:
            return None
        with _failures(uri):
            if not is_offline():
                _find_commit(name)  # the client takes an old file from a silent hub
            try:
                path = hf_hub_download(
                    name.repository,
                    name.path,
                    repo_type="dataset",
                    revision=name.revision,
                    local_files_only=is_offline(),
                    library_name="evalkit",
                )
            except hub.EntryNotFoundError as error:
                if isinstance(error, hub.LocalEntryNotFoundError) and not is_offline():
                    raise  # the hub is not reached
                return None
        commit = Path(path.removesuffix(name.path)).name
        return FetchedPath(path, uri, name.at(commit, name.path))

    def list(self, uri: str) -> Iterator[Entry]:
        """List files of one commit."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import EntryNotFoundError
        from huggingface_hub.hf_api import RepoFile

        name = _parse(uri)
        root = uri.removesuffix(name.path).rstrip("/")
        options: Any = {"repo_type": "dataset"}
        with _failures(uri):
            options["revision"] = commit = _find_commit(name)
            if name.path and not name.path.endswith("/"):
                files = HfApi().get_paths_info(name.repository, name.path, **options)
            else:
                folder = name.path.rstrip("/") or None
                options["recursive"] = True
                try:
                    tree = HfApi().list_repo_tree(name.repository, folder, **options)
                    files = [*tree]
                except EntryNotFoundError:
                    return
        for file in files:
            if isinstance(file, RepoFile):
                place = name.at(commit, file.path)
                yield Entry(f"{root}/{file.path}", f"{file.blob_id} {place}", place)


class _Name(NamedTuple):
    repository: str
    revision: str | None
    path: str

    def at(self, commit: str, path: str) -> str:
        return f"hf://datasets/{self.repository}@{commit}/{path}"


def _parse(uri: str) -> _Name:
    match = _URI.fullmatch(uri)
    if match is None:
        raise StorageError(
            f"{uri}: names no dataset of a hub: write "
            "hf://datasets/OWNER/NAME[@REVISION][/PATH]"
        )
    revision = match["revision"] and unquote(match["revision"])
    return _Name(match["repository"], revision, match["path"] or "")


def _find_commit(name: _Name) -> str:
    from huggingface_hub import HfApi

    if name.revision and _COMMIT.fullmatch(name.revision):
        return name.revision
    info = HfApi().dataset_info(name.repository, revision=name.revision)
    return str(info.sha)


@contextmanager
def _failures(uri: str) -> Iterator[None]:
    """Turn what the client raises into errors that say what to do, without a token."""
    import httpx2
    from huggingface_hub import errors as hub

    cannot = f"{uri}: cannot be read"
    advice: dict[Any, str] = {
        hub.OfflineModeIsEnabled: "HF_HUB_OFFLINE forbids its client the network",
        hub.GatedRepoError: f"the dataset is gated: ask for access, and {_LOG_IN}",
        hub.RevisionNotFoundError: "the dataset has no such revision",
        hub.RepositoryNotFoundError: (
            f"the hub has no such dataset, or it is private: {_LOG_IN}"
        ),
        hub.HFValidationError: "no dataset can be called so",
    }
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        kinds = [kind for kind in advice if isinstance(error, kind)]
        status = getattr(getattr(error, "response", None), "status_code", None)
        if kinds:
            raise StorageError(f"{cannot}: {advice[kinds[0]]}") from None
        is_lost = isinstance(error, httpx2.TransportError | hub.LocalEntryNotFoundError)
        if is_lost or (status or 0) >= 429:
            why = f"status {status}" if status else type(error).__name__
            raise TransferError(
                f"{cannot}: the hub is busy, failing or not reached ({why}); is "
                "HF_ENDPOINT right where it is set?"
            ) from None
        if status == 401 or status == 403:
            raise StorageError(
                f"{cannot}: access is denied (status {status}): {_LOG_IN}"
            ) from None
        why = f"status {status}" if status else type(error).__name__
        raise StorageError(
            f"{cannot}: unexpected answer ({why}); is HF_ENDPOINT right?"
        ) from None
