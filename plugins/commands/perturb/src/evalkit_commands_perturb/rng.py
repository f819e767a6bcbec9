"""A random generator that is seeded when it is first used."""

from __future__ import annotations

import hashlib
from random import Random
from typing import Any


class LazyRandom(Random):
    """Gives the same numbers for the same key on every machine.

    Seeding takes longer than many a perturbation, of which most draw nothing for most
    texts; so nothing is done before the first number is asked for. One object serves
    example after example.
    """

    _key: tuple[object, ...] | None = None
    """What the next number depends on; None once the generator is seeded."""

    def start(self, *key: object) -> None:
        """Begin anew."""
        if self._key is None:
            self.gauss_next = None  # a number that gauss() keeps for the next call
            # attributes of the object go before the methods below
            self.__dict__.pop("random", None)
            self.__dict__.pop("getrandbits", None)
        self._key = key

    def _seed_now(self) -> None:
        # a caller may have kept one of the methods, and calls it again and again
        if self._key is None:
            return
        text = "\x1f".join(map(str, self._key))
        self._key = None
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"))
        super().seed(int.from_bytes(digest.digest()[:16], "big"))
        self.__dict__["random"] = super().random
        self.__dict__["getrandbits"] = super().getrandbits

    def random(self) -> float:
        """Return a number of at least 0 and less than 1."""
        self._seed_now()
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """Return a number of so many random bits."""
        self._seed_now()
        return super().getrandbits(k)

    def seed(self, *arguments: Any, **options: Any) -> None:
        """Seed the generator by something else than its key."""
        self._key = None
        super().seed(*arguments, **options)

    def getstate(self) -> tuple[Any, ...]:
        """Return the state of the seeded generator."""
        self._seed_now()
        return super().getstate()

    def setstate(self, state: tuple[Any, ...]) -> None:
        """Take over the state of another generator."""
        self._key = None
        super().setstate(state)
