import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import AdapterError, EvalkitError
from evalkit_testing import ADAPTER_LAWS, AdapterLawError, check_adapter
from evalkit_testing.laws import MissingOption

ROWS = [{"id": "1", "label": "Yes"}, {"id": "2", "label": "No"}]
BAD = {"id": "3", "label": 4}


class Small:
    """Keeps all laws: the base of those below, which break one each."""

    version = "1"

    def adapt_row(self, row: Any, number: int) -> Iterator[Any]:
        if not isinstance(row, dict) or not isinstance(row.get("label"), str):
            raise AdapterError("'label' must be a text", field="label")
        yield self.small(row)

    def small(self, row: dict[str, Any]) -> Any:
        return {**row, "label": row["label"].lower()}

    def adapt_rows(
        self, rows: Sequence[Any], numbers: Sequence[int]
    ) -> list[list[Any]]:
        pairs = zip(rows, numbers, strict=True)
        return [[*self.adapt_row(row, number)] for row, number in pairs]

    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        if frame.schema.get("label") != pl.String or frame["label"].has_nulls():
            return None
        return frame.with_columns(pl.col("label").str.to_lowercase())

    def read_file(self, path: Path) -> list[Any] | None:
        if path.suffix != ".small":
            return None
        try:
            return [json.loads(line) for line in path.read_text().splitlines()]
        except ValueError as error:
            raise AdapterError(f"it is no JSON: {error}") from error


class MakesSets(Small):
    def small(self, row: dict[str, Any]) -> Any:
        return {**row, "label": {row["label"]}}


class Refuses(Small):
    def small(self, row: dict[str, Any]) -> Any:
        raise AdapterError("not today")


class WritesIntoRows(Small):
    def small(self, row: dict[str, Any]) -> Any:
        row["label"] = row["label"].lower()
        return row


class Trusts(Small):
    def adapt_row(self, row: Any, number: int) -> Iterator[Any]:
        yield {**row, "label": row["label"].lower()}


class TakesAll(Small):
    def adapt_row(self, row: Any, number: int) -> Iterator[Any]:
        yield row


class Silent(Small):
    def adapt_row(self, row: Any, number: int) -> Iterator[Any]:
        if row == BAD:
            raise AdapterError("")
        yield row


class Remembers(Small):
    before = ""

    def small(self, row: dict[str, Any]) -> Any:
        before, self.before = self.before, row["label"]
        return {**row, "before": before}


class OfInstance(Small):
    instances = itertools.count()

    def __init__(self) -> None:
        self.instance = next(self.instances)

    def small(self, row: dict[str, Any]) -> Any:
        return {**row, "by": self.instance}


class OtherInBlocks(Small):
    def adapt_rows(
        self, rows: Sequence[Any], numbers: Sequence[int]
    ) -> list[list[Any]]:
        return [[row] for row in rows]


class FewInBlocks(Small):
    def adapt_rows(
        self, rows: Sequence[Any], numbers: Sequence[int]
    ) -> list[list[Any]]:
        return super().adapt_rows(rows, numbers)[:1]


class OtherInFrames(Small):
    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        return frame.with_columns(pl.col("label").str.to_uppercase())


class ReadsNothing(Small):
    def read_file(self, path: Path) -> list[Any] | None:
        return None


class ReadsOtherwise(Small):
    reads = itertools.count()

    def read_file(self, path: Path) -> list[Any] | None:
        return [{"read": next(self.reads)}]


class ReadsCarelessly(Small):
    def read_file(self, path: Path) -> list[Any] | None:
        return [json.loads(line) for line in path.read_text().splitlines()]


class LastLine:
    """Keeps all laws of extractors."""

    version = "1"

    def extract_text(self, text: str) -> Any:
        last = text.strip().splitlines()[-1:]
        if not last or len(last[0]) > 20:
            return evalkit.Unparsed("there is no short last line")
        return last[0]


class Majority:
    version = "1"

    def choose_answer(self, answers: Sequence[str | None]) -> Any:
        given = [each for each in answers if each is not None]
        return max(given, key=given.count, default=None)


class FindsNothing(LastLine):
    def extract_text(self, text: str) -> Any:
        return None


class FailsOften(LastLine):
    def extract_text(self, text: str) -> Any:
        return text[text.index("8")]


class OfColumn:
    version = "1"

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        return pl.DataFrame({"value": texts.sort()})


class Quotes(LastLine):
    def extract_text(self, text: str) -> Any:
        return "8" if "8" in text else evalkit.Unparsed(f"there is no 8 in {text}")


class Invents(Majority):
    def choose_answer(self, answers: Sequence[str | None]) -> Any:
        return "/".join(filter(None, answers)) or None


BROKEN: Mapping[str, Sequence[type]] = {
    "works": [MakesSets, Refuses],
    "inputs": [WritesIntoRows],
    "strange": [Trusts, FailsOften],
    "broken": [TakesAll, Silent],
    "stateless": [Remembers],
    "another": [OfInstance],
    "blocks": [OtherInBlocks, FewInBlocks],
    "frame": [OtherInFrames],
    "files": [ReadsNothing, ReadsOtherwise],
    "cut-files": [ReadsCarelessly],
    "found": [FindsNothing],
    "alone": [OfColumn],
    "reasons": [Quotes],
    "chosen": [Invents],
}


def tried(adapter: Any, path: Path, **more: Any) -> None:
    if hasattr(adapter, "adapt_row"):
        file = path / "rows.small"
        file.write_text("\n".join(map(json.dumps, ROWS)))
        check_adapter(adapter, rows=ROWS, broken=[BAD], files=[file], **more)
    else:
        check_adapter(adapter, texts=["I add 3 and 5.\n8", "8"], **more)


def test_each_law_is_broken_by_an_adapter_below() -> None:
    assert [*BROKEN] == [law.name for law in ADAPTER_LAWS]


@pytest.mark.parametrize(
    ("law", "adapter"),
    [(law, adapter) for law, adapters in BROKEN.items() for adapter in adapters],
)
def test_an_adapter_that_breaks_a_law_is_told_which(
    law: str, adapter: Any, tmp_path: Path
) -> None:
    with pytest.raises(AdapterLawError) as caught:
        tried(adapter, tmp_path, laws=[law])
    assert caught.value.law == law


@pytest.mark.parametrize("adapter", [Small, Small(), LastLine, Majority])
def test_an_adapter_that_keeps_the_laws_passes(adapter: Any, tmp_path: Path) -> None:
    tried(adapter, tmp_path)


def test_the_message_has_the_fewest_rows() -> None:
    rows = [{"id": n, "label": "x"} for n in "123456"]
    with pytest.raises(AdapterLawError) as caught:
        check_adapter(Remembers, rows=rows)
    assert str(caught.value).count("'id'") == 6
    assert "of each alone" in str(caught.value)


def test_without_rows_or_texts_nothing_is_checked() -> None:
    with pytest.raises(EvalkitError, match="give check_adapter rows="):
        check_adapter(Small)
    with pytest.raises(EvalkitError, match="give check_adapter texts="):
        check_adapter(LastLine, rows=ROWS)
    with pytest.raises(EvalkitError, match="has these: alone, chosen, found"):
        check_adapter(LastLine, texts=["8"], laws=["frame"])


@pytest.mark.parametrize("name", ["regex", "rename"])
def test_a_configuration_that_is_needed_is_asked_for(name: str) -> None:
    with pytest.raises(MissingOption, match="give check_adapter configuration="):
        check_adapter(name, rows=[{"a": 1}], texts=["a"])
    with pytest.raises(AdapterError, match="configuration"):
        check_adapter(name, rows=[{"a": 1}], configuration={"strange": 1})
