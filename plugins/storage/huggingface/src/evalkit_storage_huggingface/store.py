"""The store of the scheme `hf`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from evalkit.errors import StorageError
from evalkit.storage import Condition, StoredObject
from evalkit_storage_huggingface.failures import failures
from evalkit_storage_huggingface.places import parse_hub_place, permanent_uri

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import DatasetInfo, RepoFile

_DATA_SET = "dataset"
_US = "evalkit"
_PIECE = 1 << 20


class HubStore:
    """Files of data sets on a hub, each as it is in one commit.

    Endpoint, token and time-outs are those of the hub's own client, which finds them in
    its environment variables and files; evalkit reads none of them.
    """

    @property
    def _api(self) -> HfApi:
        from huggingface_hub import HfApi

        return HfApi(library_name=_US)

    def identity(self, uri: str) -> str:
        """Return the hub's address: data sets of two hubs may have one name."""
        parts = urlsplit(str(self._api.endpoint))
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def stat(self, uri: str) -> StoredObject | None:
        """Look at a file in the commit that its revision names now."""
        from huggingface_hub.hf_api import RepoFile

        place = parse_hub_place(uri)
        if not place.path:
            return None
        with failures(uri):
            info = self._info(uri)
            found = self._api.get_paths_info(
                place.repository,
                [place.path],
                revision=info.sha,
                repo_type=_DATA_SET,
            )
        for each in found:
            if isinstance(each, RepoFile) and each.path == place.path:
                return _object(uri, each, info, place.repository)
        return None

    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        """Read a range of a file, in the commit in which it was looked at."""
        from huggingface_hub import constants, hf_hub_url
        from huggingface_hub.utils import get_session, hf_raise_for_status

        place = parse_hub_place(found.permanent or found.uri)
        url = hf_hub_url(
            place.repository,
            place.path,
            repo_type=_DATA_SET,
            revision=place.revision,
            endpoint=self._api.endpoint,
        )
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        with (
            failures(found.uri),
            get_session().stream(
                "GET",
                url,
                headers={**self._headers(), **headers},
                timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT,
            ) as answer,
        ):
            hf_raise_for_status(answer)
            if answer.status_code != 206 and (start, stop) != (0, found.size):
                raise StorageError(
                    f"{found.uri}: cannot be read: the hub sends no part of a file"
                )
            yield from answer.iter_bytes(_PIECE)

    def _headers(self) -> dict[str, str]:
        """Return the headers that the client sends, among them that of its token."""
        from huggingface_hub.utils import build_hf_headers

        return build_hf_headers(library_name=_US)

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        """List the files of a folder and its folders, in one commit."""
        from huggingface_hub.errors import EntryNotFoundError
        from huggingface_hub.hf_api import RepoFile

        place = parse_hub_place(prefix)
        folder = place.path.rstrip("/")
        with failures(prefix):
            info = self._info(prefix)
            try:
                found = [
                    each
                    for each in self._api.list_repo_tree(
                        place.repository,
                        folder or None,
                        recursive=True,
                        revision=info.sha,
                        repo_type=_DATA_SET,
                    )
                    if isinstance(each, RepoFile)
                ]
            except EntryNotFoundError:
                return
        root = prefix.rstrip("/").removesuffix(folder).rstrip("/")
        for each in sorted(found, key=lambda file: file.path):
            yield _object(f"{root}/{each.path}", each, info, place.repository)

    def _info(self, uri: str) -> DatasetInfo:
        """Return what the hub says of the revision, among it the commit."""
        place = parse_hub_place(uri)
        info = self._api.dataset_info(place.repository, revision=place.revision)
        if not info.sha:
            raise StorageError(f"{uri}: cannot be read: the hub names no commit")
        return info

    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        """Refuse to write."""
        refuse(uri)

    def delete(self, uri: str) -> None:
        """Refuse to delete."""
        refuse(uri)

    def honours_conditions(self, uri: str) -> bool:
        """Refuse what asks because it wants to write."""
        refuse(uri)


def refuse(uri: str) -> NoReturn:
    """Refuse to write to a hub.

    Args:
        uri: Where to.

    Raises:
        StorageError: Always.
    """
    raise StorageError(
        f"{uri}: cannot be written: evalkit only reads data sets of a hub; write to a "
        "path, and upload that with the hub's own client (`hf upload`)"
    )


def _object(
    uri: str, file: RepoFile, info: DatasetInfo, repository: str
) -> StoredObject:
    large = file.lfs
    return StoredObject(
        uri,
        file.size,
        file.blob_id if large is None else large.sha256,
        info.last_modified.timestamp() if info.last_modified else 0.0,
        None if large is None else f"sha256:{large.sha256}",
        permanent_uri(repository, str(info.sha), file.path),
    )
