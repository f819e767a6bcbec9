"""What the tests of `evalkit report` share."""

import json
import random
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.runs import list_runs
from evalkit_analysis_robustness import evaluate_perturbed

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"
MODELS = ("good", "bad", HOSTILE)
LABELS = ("positive", "neutral", "negative")


class Page(HTMLParser):
    """A page as a browser reads it: its elements, texts, scripts and numbers."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.numbers: list[tuple[dict[str, str | None], str]] = []
        self.ticks: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br", "col"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "data":
            self.numbers.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text += data
            if self.open[-1] == "text":
                self.ticks.append(data)
            if "data" in self.open:
                attributes, shown = self.numbers[-1]
                self.numbers[-1] = (attributes, shown + data)

    @property
    def data(self) -> dict[str, Any]:
        """What the page's script reads."""
        found: dict[str, Any] = json.loads(self.scripts[0])
        return found


@pytest.fixture(autouse=True)
def _clean_place(clean_place: None) -> None: ...


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs of three models, two of them with perturbed copies."""
    folder = tmp_path_factory.mktemp("report")
    rng = random.Random(4)
    rows = []
    for number in range(36):
        tags = [f"length:{('short', 'long')[number % 2]}", f"origin:o{number % 4}"]
        tags += [HOSTILE] if number % 3 == 0 else ["plain"]
        label = LABELS[number % 3]
        rows.append(
            {"uid": str(number), "statement": "fine", "label": label, "tags": tags}
        )
    data = folder / "data.jsonl"
    _write(data, rows)
    copies = [
        {
            **row,
            "uid": f"{row['uid']}-{name}",
            "input_id": row["uid"],
            "perturbation": name,
            "label_effect": effect,
            "families": ["robustness"],
        }
        for row in rows
        for name, effect in (("shout", "invariant"), ("blur", "uncertain"))
    ]
    _write(folder / "copies.jsonl", copies)
    for model, skill in (("good", 0.8), ("bad", 0.5), (HOSTILE, 0.6)):
        said = [_said(rng, row, row["uid"], skill) for row in rows]
        options: dict[str, Any] = {}
        score: Callable[..., Any] = evalkit.evaluate
        if model == "good":
            score = evaluate_perturbed
            options["perturbed"] = folder / "copies.jsonl"
            options["perturbed_predictions"] = [
                _said(rng, row, row["uid"], skill - 0.3) for row in copies
            ]
        else:
            said[0] = {"id": "0", "label": HOSTILE}
            del said[1]
            options["on_missing"] = options["on_invalid"] = "skip"
        score(
            data,
            said,
            task="sentiment",
            model=model,
            metrics=["accuracy", "exact-match"],
            out=folder / "runs",
            min_n=5,
            **options,
        )
    with pytest.raises(evalkit.AlignmentError):
        evalkit.evaluate(
            data, said[:5], task="sentiment", model="refused", out=folder / "runs"
        )
    return folder / "runs"


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _said(
    rng: random.Random, row: dict[str, Any], uid: str, skill: float
) -> dict[str, Any]:
    label = row["label"] if rng.random() < skill else rng.choice(LABELS)
    sure = rng.uniform(0.4, 1)
    prob = {each: sure if each == label else (1 - sure) / 2 for each in LABELS}
    return {"id": uid, "label": label, "prob": prob}


@pytest.fixture(scope="session")
def results(runs: Path) -> list[evalkit.Result]:
    """Return the runs that have scores."""
    return [evalkit.read_run(evalkit.find_run(model, runs)) for model in MODELS]


@pytest.fixture
def refused(runs: Path) -> str:
    """Return the path of the run that was refused, which its name does not mean."""
    [found] = [each for each in list_runs(runs) if each.record.status == "refused"]
    return str(found.path)
