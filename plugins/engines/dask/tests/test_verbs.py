"""Validation and perturbation on an engine, as in one process."""

from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.errors import EvalkitError
from evalkit_commands_perturb import perturb_dataset
from evalkit_engines_dask import evaluation

from .worlds import Plain, make_world

ARGUMENTS = (
    *("dataset", "predictions", "data", "task", "model", "limit", "filters", "rows"),
    *("cluster", "on_missing", "on_invalid", "on_duplicate"),
)


def validated(arguments: dict[str, Any], **how: Any) -> dict[str, Any]:
    try:
        found = evalkit.validate(**arguments, **how)
    except EvalkitError as error:
        return {"error": str(error)}
    return found._asdict() | {"problems": [*found.problems]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_validation_in_parts_says_the_same(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(tmp_path, seed)
    given = {name: world.arguments.get(name) for name in ARGUMENTS}
    given = {name: value for name, value in given.items() if value is not None}
    data = {name: value for name, value in given.items() if name != "predictions"}
    for parts in (1, 5):
        engine = Plain(parts, tmp_path / "store", seed)
        assert validated(data, engine=engine) == validated(data)
        assert validated(given, engine=engine) == (whole := validated(given))
        # what is found in parts alone; hints may need all responses at once
        monkeypatch.setattr(evaluation, "MOST_MATCHED", 0)
        found = validated(given, engine=engine)
        assert {*found.pop("notices", ())} <= {*whole.pop("notices", ())}
        assert found == whole
        monkeypatch.undo()


def test_perturbing_on_an_engine_writes_the_same_bytes(tmp_path: Path) -> None:
    how: dict[str, Any] = {
        "perturbations": ["keyboard-typos+lowercase", "contractions"]
    }
    how |= {"filters": {"answer": "neutral"}, "variants": 2, "edits": True}
    whole, parts = (tmp_path / name for name in ("a.jsonl", "b.jsonl"))
    told = perturb_dataset("sample-nli", whole, **how)
    engine = Plain(2, tmp_path / "store")
    found = perturb_dataset("sample-nli", parts, engine=engine, **how)
    assert found == told._replace(out=parts)
    assert parts.read_bytes() == whole.read_bytes()


def test_what_workers_cannot_load_is_refused(tmp_path: Path) -> None:
    class Loud(evalkit.Perturbation):
        name, version, label_effect = "loud", "1", {"*": "invariant"}
        families = ("robustness",)

        def perturb(self, text: str) -> str:
            return text.upper()

    engine, out = Plain(2, tmp_path / "store"), tmp_path / "out.jsonl"
    with pytest.raises(EvalkitError, match="given as an object"):
        perturb_dataset("sample-nli", out, perturbations=[Loud()], engine=engine)
    assert not out.exists()
