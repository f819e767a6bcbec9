"""Files that are not on this machine: in buckets, and wherever a small plugin reaches.

Public: for those who write a store. A store is a class with the methods of `Store`,
named by an entry point of the group `evalkit.storage` whose name is the scheme.
Importing this module imports nothing else; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.errors import ObjectChangedError as ObjectChangedError
    from evalkit.errors import ObjectExistsError as ObjectExistsError
    from evalkit.errors import TransferError as TransferError
    from evalkit.plugins.sources import is_offline as is_offline
    from evalkit.storage.cache import CacheEntry as CacheEntry
    from evalkit.storage.cache import ObjectCache as ObjectCache
    from evalkit.storage.cache import size_limit as size_limit
    from evalkit.storage.cache import unique_size as unique_size
    from evalkit.storage.cache_kinds import CACHE_KINDS as CACHE_KINDS
    from evalkit.storage.cache_kinds import KeptKind as KeptKind
    from evalkit.storage.cache_kinds import clear_kind as clear_kind
    from evalkit.storage.cache_kinds import kept_by_kind as kept_by_kind
    from evalkit.storage.fetched import is_same_file as is_same_file
    from evalkit.storage.fetching import fetch_file as fetch_file
    from evalkit.storage.fetching import fetch_folder as fetch_folder
    from evalkit.storage.fetching import missing as missing
    from evalkit.storage.finding import forget_stores as forget_stores
    from evalkit.storage.finding import load_store as load_store
    from evalkit.storage.finding import store_of as store_of
    from evalkit.storage.places import is_remote as is_remote
    from evalkit.storage.places import join as join
    from evalkit.storage.places import uri_of as uri_of
    from evalkit.storage.sending import file_to_write as file_to_write
    from evalkit.storage.sending import refuse_offline as refuse_offline
    from evalkit.storage.sending import refuse_present as refuse_present
    from evalkit.storage.sending import send_file as send_file
    from evalkit.storage.stores import ALWAYS as ALWAYS
    from evalkit.storage.stores import IF_ABSENT as IF_ABSENT
    from evalkit.storage.stores import Condition as Condition
    from evalkit.storage.stores import Store as Store
    from evalkit.storage.stores import StoredObject as StoredObject
    from evalkit.storage.stores import if_match as if_match
    from evalkit.storage.working import in_threads as in_threads
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "errors": "ObjectChangedError ObjectExistsError TransferError",
            "plugins.sources": "is_offline",
            "storage.cache": "CacheEntry ObjectCache size_limit unique_size",
            "storage.cache_kinds": "CACHE_KINDS KeptKind clear_kind kept_by_kind",
            "storage.fetched": "is_same_file",
            "storage.fetching": "fetch_file fetch_folder missing",
            "storage.finding": "forget_stores load_store store_of",
            "storage.places": "is_remote join uri_of",
            "storage.sending": "file_to_write refuse_offline refuse_present send_file",
            "storage.stores": (
                "ALWAYS IF_ABSENT Condition Store StoredObject if_match"
            ),
            "storage.working": "in_threads",
        },
    )
