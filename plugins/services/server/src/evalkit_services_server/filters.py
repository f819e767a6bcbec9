"""What a board shows, as its address says it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self
from urllib.parse import urlencode

from evalkit.errors import DataError

_WEIGHT = "w."
_MOST = 1000


@dataclass(frozen=True)
class Filters:
    """What a board shows."""

    metric: str = ""
    """Name of a metric of the task. Empty for the main one."""
    tag: str = ""
    """Score only the examples with this tag."""
    by: str = "dataset"
    """What the columns are: `dataset`, or `tag` of one dataset."""
    dataset: tuple[str, ...] = ()
    """Keep only these datasets."""
    round: tuple[int, ...] = ()
    """Keep only datasets of these rounds; 0 are those of none."""
    language: tuple[str, ...] = ()
    """Keep only datasets in these languages; `en` keeps `en-GB` too."""
    model: str = ""
    """Keep only models with this text in their name. Ranks stay the same."""
    sort: str = ""
    """`model`, `mean`, `dynascore` or the name of a column. Empty for the mean."""
    reverse: bool = False
    """Whether the worst are first."""
    page: int = 1
    """Number of the page."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights of datasets in the mean, and of metrics in the dynascore."""

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Read the query of an address. `w.NAME` is the weight of a dataset or metric.

        Args:
            pairs: Names and values.

        Returns:
            The filters; empty values are left out.

        Raises:
            DataError: A name is unknown, or a value is not of its kind.
        """
        given: dict[str, Any] = {"weights": {}}
        for name, text in pairs:
            if name.startswith(_WEIGHT) and text:
                given["weights"][name.removeprefix(_WEIGHT)] = _weight(name, text)
            elif name not in _READERS:
                raise DataError(f"{name}: unknown filter. Known: {', '.join(_READERS)}")
            elif text:
                value = _READERS[name](name, text)
                is_list = name in ("dataset", "round", "language")
                given[name] = (*given.get(name, ()), value) if is_list else value
        return cls(**given)

    def query(self, **changes: Any) -> str:
        """Return the query of the address with some changes, for a link."""
        new, pairs = replace(self, **changes), list[tuple[str, object]]()
        for each in fields(self):
            value = getattr(new, each.name)
            if each.name == "weights":
                pairs += [(f"{_WEIGHT}{name}", f"{x:g}") for name, x in value.items()]
            elif isinstance(value, tuple):
                pairs += [(each.name, one) for one in value]
            elif value != each.default:
                pairs.append((each.name, int(value) if value is True else value))
        return f"?{urlencode(pairs)}"


def _text(_name: str, text: str) -> str:
    return text


def _whole(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(10**9)):
        raise DataError(f"{name}: expected a whole number, got {text!r}")
    return int(text)


def _page(name: str, text: str) -> int:
    return max(1, _whole(name, text))


def _flag(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise DataError(f"{name}: expected 0 or 1, got {text!r}")
    return text == "1"


def _kind(name: str, text: str) -> str:
    if text not in ("dataset", "tag"):
        raise DataError(f"{name}: expected dataset or tag, got {text!r}")
    return text


def _weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= _MOST:
        raise DataError(f"{name}: expected a weight of 0 to {_MOST}, got {text!r}")
    return weight


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(("metric", "tag", "dataset", "language", "model", "sort"), _text),
    "by": _kind,
    "round": _whole,
    "reverse": _flag,
    "page": _page,
}
