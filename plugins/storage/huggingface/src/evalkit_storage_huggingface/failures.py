"""Says what a failure of the hub's client means, and what to do; without a token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evalkit.errors import StorageError, TransferError

_LOG_IN = "log in with the hub's own client (`hf auth login`)"


def advice_on(error: Exception) -> str | None:
    """Say what is wrong where the client raised an error of a kind of its own.

    Args:
        error: The error.

    Returns:
        A clause; None for an error that its kind says nothing of.
    """
    from huggingface_hub import errors as hub

    for kind, advice in (
        (
            hub.OfflineModeIsEnabled,
            "HF_HUB_OFFLINE forbids its client the network: unset it",
        ),
        (
            hub.GatedRepoError,
            f"the data set is gated: ask for access on its page, and {_LOG_IN}",
        ),
        (hub.DisabledRepoError, "the hub has disabled the data set"),
        (
            hub.RevisionNotFoundError,
            "the data set has no such revision: name a branch, a tag or a commit of it",
        ),
        (hub.EntryNotFoundError, "the revision has no such file"),
        (
            hub.RepositoryNotFoundError,
            "the hub has no such data set, or it is private: correct its name, or "
            f"{_LOG_IN}",
        ),
        (hub.HFValidationError, "no data set can be called so"),
    ):
        if isinstance(error, kind):
            return advice
    return None


@contextmanager
def failures(uri: str) -> Iterator[None]:
    """Turn what the client raises into errors that say what to do.

    Args:
        uri: What is read.

    Raises:
        StorageError: It cannot be read.
        TransferError: It may work again.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    cannot = f"{uri}: cannot be read"
    try:
        yield
    except StorageError:
        raise
    except HfHubHTTPError as error:
        advice = advice_on(error)
        if advice is None:
            raise _of_status(cannot, error.response.status_code) from None
        raise StorageError(f"{cannot}: {advice}") from None
    except httpx2.TransportError as error:
        raise TransferError(
            f"{cannot}: the connection to the hub was lost or never made "
            f"({type(error).__name__}); is the network there, and HF_ENDPOINT right "
            "where it is set?"
        ) from None
    except (OSError, ValueError, LookupError, TypeError, httpx2.HTTPError) as error:
        advice = advice_on(error) or (
            "the answer is none of a hub's; is HF_ENDPOINT right where it is set? "
            f"({type(error).__name__})"
        )
        raise StorageError(f"{cannot}: {advice}") from None


def _of_status(cannot: str, status: int) -> StorageError:
    """Return the error for a status of which the client says nothing else."""
    if status in (408, 425, 429) or status >= 500:
        return TransferError(
            f"{cannot}: the hub is busy or failing (status {status}); try again later"
        )
    if status == 401:
        return StorageError(f"{cannot}: the hub does not accept the token: {_LOG_IN}")
    if status == 403:
        return StorageError(
            f"{cannot}: access is denied: the token in use lacks the permission"
        )
    return StorageError(f"{cannot}: the hub answered with the status {status}")
