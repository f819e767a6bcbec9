"""What a failure of boto3 means and what to do, without any credentials."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from evalkit.errors import ObjectChangedError, StorageError, TransferError

MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
DENIED = frozenset({"403", "AccessDenied"})
REFUSED = frozenset({"412", "PreconditionFailed", "409", "ConditionalRequestConflict"})

_BUSY = frozenset(
    {
        *("503", "SlowDown", "ServiceUnavailable", "500", "InternalError", "502"),
        *("RequestTimeout", "RequestLimitExceeded", "Throttling", "504", "429"),
        *("ThrottlingException", "TooManyRequests", "TooManyRequestsException"),
    }
)

_NO_OBJECT = "it is no legal name of an object"
_NO_BUCKET = "there is no such bucket; create it, or correct its name"

_ADVICE = {
    "NoSuchBucket": _NO_BUCKET,
    "404": _NO_BUCKET,  # of HEAD of a bucket; of an object it is no failure
    "AccessDenied": (
        "access is denied: the credentials in use lack the permission, or the bucket "
        "belongs to somebody else (`aws sts get-caller-identity` says who you are)"
    ),
    "403": (
        "access is denied: the credentials in use lack the permission, or the server "
        "does not know them"
    ),
    "InvalidAccessKeyId": (
        "the server does not know the access key; check AWS_ACCESS_KEY_ID, AWS_PROFILE "
        "and the endpoint (--endpoint-url, AWS_ENDPOINT_URL_S3)"
    ),
    "SignatureDoesNotMatch": (
        "the secret key is not that of the access key; check AWS_SECRET_ACCESS_KEY or "
        "the profile"
    ),
    "ExpiredToken": "the credentials have expired: log in again",
    "ExpiredTokenException": "the credentials have expired: log in again",
    "InvalidToken": "the session token is not valid: log in again",
    "RequestTimeTooSkewed": (
        "the clock of this machine differs too much from the server's: set it right"
    ),
    "InvalidBucketName": "no bucket can be called so",
    "PermanentRedirect": "the bucket is in another region: set AWS_REGION",
    "301": "the bucket is in another region: set AWS_REGION",
    "AuthorizationHeaderMalformed": ("the bucket is in another region: set AWS_REGION"),
    "InvalidObjectState": "it is archived: restore it first",
    "EntityTooLarge": "it is larger than the server takes",
    "QuotaExceeded": "the server has no room left for it",
    "InsufficientStorage": "the server has no room left for it",
}


def code_of(error: Any) -> str:
    """Return the server's code of a failure of boto3's client."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def failures(uri: str, doing: str) -> Iterator[None]:
    """Turn what boto3 raises into errors that say what cannot be done, and why."""
    from boto3.exceptions import Boto3Error, RetriesExceededError
    from botocore import exceptions as boto
    from s3transfer.exceptions import S3DownloadFailedError

    cannot = f"{uri}: cannot be {doing}"
    try:
        yield
    except boto.ClientError as error:
        raise _of_server(code_of(error), uri, cannot) from None
    except S3DownloadFailedError:  # a part of another version came
        raise ObjectChangedError(f"{uri}: changed while being read") from None
    except (boto.NoCredentialsError, boto.PartialCredentialsError):
        raise StorageError(
            f"{cannot}: there are no credentials; log in, or set AWS_PROFILE, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ) from None
    except boto.ProfileNotFound as error:
        raise StorageError(f"{cannot}: {error}; check AWS_PROFILE") from None
    except (boto.TokenRetrievalError, boto.SSOError, boto.CredentialRetrievalError):
        raise StorageError(
            f"{cannot}: the credentials cannot be renewed: log in again"
        ) from None
    except (
        boto.ParamValidationError,
        boto.InvalidEndpointDiscoveryConfigurationError,
    ) as error:
        is_of_bucket = "nvalid bucket name" in str(error)
        no_name = "no bucket can be called so" if is_of_bucket else _NO_OBJECT
        raise StorageError(f"{cannot}: {no_name}") from None
    except UnicodeError:
        raise StorageError(
            f"{cannot}: its name or the credentials hold a letter that cannot be sent"
        ) from None
    except (
        boto.HTTPClientError,
        boto.ConnectionError,
        boto.ResponseStreamingError,
        boto.IncompleteReadError,
        boto.FlexibleChecksumError,
        RetriesExceededError,
        ValueError,  # of a head that was cut
    ) as error:
        raise _of_connection(error, cannot) from None
    except (boto.BotoCoreError, Boto3Error) as error:
        raise StorageError(f"{cannot}: {type(error).__name__}: {error}") from None


def _of_server(code: str, uri: str, cannot: str) -> StorageError:
    """Return the error of what a server answered."""
    if code in REFUSED:
        return ObjectChangedError(f"{uri}: changed while being read")
    if code == "NoSuchKey":
        return ObjectChangedError(f"{uri}: removed while being read")
    if code in _BUSY:
        return TransferError(
            f"{cannot}: the server is busy or failing ({code}), after several tries"
        )
    advice = _ADVICE.get(code) or f"the server answered {code or 'an error'}"
    return StorageError(f"{cannot}: {advice}")


def _of_connection(error: Exception, cannot: str) -> StorageError:
    """Return the error of a connection that was lost, or never made."""
    if "nvalid header value" in str(error):  # whose text holds the credentials
        return StorageError(
            f"{cannot}: a line break is in the credentials or the region: check "
            "AWS_ACCESS_KEY_ID, AWS_SESSION_TOKEN and AWS_REGION"
        )
    return TransferError(
        f"{cannot}: the connection was lost or never made ({type(error).__name__}); "
        f"is the server there{_address(error)}, and its address right "
        "(--endpoint-url, AWS_ENDPOINT_URL_S3)?"
    )


def _address(error: Exception) -> str:
    """Say which server could not be asked, without the credentials of an address."""
    url = getattr(error, "kwargs", {}).get("endpoint_url")
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or not parts.hostname:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return f" ({parts.scheme}://{host})"
