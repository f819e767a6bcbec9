"""Files that are not on this machine: in buckets, and wherever a small plugin reaches.

Importing this module imports nothing else; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.places.access import Entry as Entry
    from evalkit.places.access import Place as Place
    from evalkit.places.access import exists as exists
    from evalkit.places.access import file_to_write as file_to_write
    from evalkit.places.access import forget_places as forget_places
    from evalkit.places.access import kept as kept
    from evalkit.places.access import last_kept as last_kept
    from evalkit.places.access import load_place as load_place
    from evalkit.places.access import local as local
    from evalkit.places.access import local_file as local_file
    from evalkit.places.access import local_folder as local_folder
    from evalkit.places.access import missing as missing
    from evalkit.places.access import names_below as names_below
    from evalkit.places.access import place_of as place_of
    from evalkit.places.access import put as put
    from evalkit.places.access import refuse_offline as refuse_offline
    from evalkit.places.access import refuse_present as refuse_present
    from evalkit.places.names import FetchedPath as FetchedPath
    from evalkit.places.names import is_remote as is_remote
    from evalkit.places.names import is_same_file as is_same_file
    from evalkit.places.names import join as join
    from evalkit.places.names import uri_of as uri_of
    from evalkit.plugins.sources import cache_folder as cache_folder
    from evalkit.plugins.sources import is_offline as is_offline
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
