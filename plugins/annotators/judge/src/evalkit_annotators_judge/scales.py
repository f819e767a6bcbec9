"""Marks that say how much better one of two answers is, and their mirror images."""

from __future__ import annotations

import math
from collections.abc import Mapping

_EXCHANGED = str.maketrans("AB", "BA")


def mirrored(values: Mapping[str, float]) -> dict[str, str] | None:
    """Return what each mark is called when both answers change places.

    It is the mark with A and B exchanged, as `[[B>A]]` of `[[A>B]]`; one mark may be
    its own: the tie. Where marks are not named so, all worths must differ and lie
    symmetrically, so that the worst is the best one's image. The order in which they
    are written is of no account.
    """
    by_name = _by_name(values)
    images = by_name or _by_worth(values)
    return images if images and _is_mirror(images, values) else None


def _by_name(values: Mapping[str, float]) -> dict[str, str] | None:
    images = {mark: mark.translate(_EXCHANGED) for mark in values}
    images = {mark: each if each in values else mark for mark, each in images.items()}
    alone = sum(mark == each for mark, each in images.items())
    return images if alone <= 1 < len(images) else None


def _by_worth(values: Mapping[str, float]) -> dict[str, str] | None:
    if len({*values.values()}) < len(values):
        return None
    marks = sorted(values, key=lambda mark: values[mark])
    images = dict(zip(marks, reversed(marks), strict=True))
    sums = [values[mark] + values[image] for mark, image in images.items()]
    is_even = all(math.isclose(each, sums[0], abs_tol=1e-9) for each in sums)
    return images if is_even else None


def _is_mirror(images: Mapping[str, str], values: Mapping[str, float]) -> bool:
    pairs = sorted((values[mark], -values[image]) for mark, image in images.items())
    worths = [-image for _, image in pairs]
    return worths == sorted(worths, reverse=True)
