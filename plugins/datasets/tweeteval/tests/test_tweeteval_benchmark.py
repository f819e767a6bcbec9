"""All eleven sets and the overall number, on small files in the publisher's format."""

import hashlib
import json
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from sklearn.metrics import classification_report

import evalkit
from evalkit_analysis_suites import find_suite, make_board

README = Path(__file__).parents[1] / "README.md"

EMOJI = """0\t❤\t_red_heart_\t
1\t😍\t_smiling_face_with_hearteyes_\t
2\t😂\t_face_with_tears_of_joy_\t
3\t💕\t_two_hearts_\t
4\t🔥\t_fire_\t
5\t😊\t_smiling_face_with_smiling_eyes_\t
6\t😎\t_smiling_face_with_sunglasses_\t
7\t✨\t_sparkles_\t
8\t💙\t_blue_heart_\t
9\t😘\t_face_blowing_a_kiss_\t
10\t📷\t_camera_\t
11\t🇺🇸\t_United_States_\t
12\t☀\t_sun_\t
13\t💜\t_purple_heart_\t
14\t😉\t_winking_face_\t
15\t💯\t_hundred_points_\t
16\t😁\t_beaming_face_with_smiling_eyes_\t
17\t🎄\t_Christmas_tree_\t
18\t📸\t_camera_with_flash_\t
19\t😜\t_winking_face_with_tongue_\t
"""
STANCE = "0\tnone\n1\tagainst\n2\tfavor"
TARGETS = ("abortion", "atheism", "climate", "feminist", "hillary")
MAPPINGS = {
    "emoji": EMOJI,
    "emotion": "0\tanger\n1\tjoy\n2\toptimism\n3\tsadness",
    "hate": "0\tnot-hate\n1\thate",
    "irony": "0\tnon_irony\n1\tirony",
    "offensive": "0\tnot-offensive\n1\toffensive\n",
    "sentiment": "0\tnegative\n1\tneutral\n2\tpositive\n",
    **{f"stance-{target}": STANCE for target in TARGETS},
}
"""The publisher's own files, byte for byte."""

SETS = tuple(MAPPINGS)
TASKS = ("emoji", "emotion", "hate", "irony", "offensive", "sentiment", "stance")
TEST_SIZES = (50_000, 1_421, 2_970, 784, 860, 12_284, 280, 220, 169, 285, 295)
RENAMED = {"not-hate": "not-hateful", "hate": "hateful"}


def rows_of(mapping: str) -> list[list[str]]:
    return [line.strip().split("\t") for line in mapping.rstrip("\n").split("\n")]


def labels_of(name: str) -> list[str]:
    """Return the labels as the documentation says: by number."""
    names = [columns[-1].strip("_") for columns in rows_of(MAPPINGS[name])]
    return [RENAMED.get(label, label) for label in names]


def draw(name: str, seed: int, size: int = 60) -> tuple[list[str], list[str]]:
    """Draw gold and predicted numbers; each class has at least one gold example."""
    rng = random.Random(f"{name} {seed}")
    numbers = [row[0] for row in rows_of(MAPPINGS[name])]
    gold = [*numbers, *rng.choices(numbers, k=size)]
    rng.shuffle(gold)
    right = [rng.random() < 0.4 for _ in gold]
    pairs = zip(gold, right, strict=True)
    return gold, [g if hit else rng.choice(numbers) for g, hit in pairs]


def official(task: str, gold: Sequence[str], predicted: Sequence[str]) -> float:
    """Compute what the publisher's evaluation script does."""
    report = classification_report(gold, predicted, output_dict=True, zero_division=0)
    if task in ("emoji", "emotion", "hate", "offensive"):
        return float(report["macro avg"]["f1-score"])
    if task == "sentiment":
        return float(report["macro avg"]["recall"])
    if task == "irony":
        return float(report["1"]["f1-score"])
    return (float(report["1"]["f1-score"]) + float(report["2"]["f1-score"])) / 2


class Publisher:
    """Writes files as the publisher has them.

    Attributes:
        data: The folder of all sets.
    """

    def __init__(self, data: Path) -> None:
        self.data = data

    def folder(self, name: str) -> Path:
        return self.data / f"tweeteval-{name}"

    def write(
        self, name: str, numbers: Sequence[str], texts: Sequence[str] | None = None
    ) -> Path:
        folder = self.folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        tweets = texts or [f"@user tweet {i} \U0001f600" for i in range(len(numbers))]
        for file, lines in (("text", tweets), ("labels", numbers)):
            content = "".join(f"{line}\n" for line in lines)
            (folder / f"test_{file}.txt").write_bytes(content.encode())
        (folder / "mapping.txt").write_bytes(MAPPINGS[name].encode())
        return folder


@contextmanager
def publishing(folder: Path) -> Iterator[Publisher]:
    """Return a publisher whose files evalkit finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALKIT_DATA_DIR", str(folder / "data"))
        patch.setenv("EVALKIT_CACHE_DIR", str(folder / "cache"))
        patch.setenv("EVALKIT_OFFLINE", "1")
        yield Publisher(folder / "data")


@pytest.fixture(autouse=True)
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    """Return a publisher whose files evalkit finds."""
    with publishing(tmp_path) as found:
        yield found


def evaluate(name: str, labels: Sequence[Any], **options: Any) -> evalkit.Result:
    rows = [{"id": str(n), "label": label} for n, label in enumerate(labels, start=1)]
    return evalkit.evaluate(f"tweeteval-{name}", rows, **{"model": "m", **options})


def predictions_of(result: evalkit.Result) -> list[str | None]:
    assert result.examples is not None
    return result.examples["pred"].to_list()


# Each set


def test_all_eleven_are_listed(
    run_evalkit: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = run_evalkit("list", "datasets", "--json")
    assert done.returncode == 0, done.stderr
    listed = [
        row["name"]
        for row in json.loads(done.stdout)["components"]
        if row["distribution"] == "evalkit-datasets-tweeteval"
    ]
    assert sorted(listed) == sorted(f"tweeteval-{name}" for name in SETS)


def plugin_of(name: str) -> Any:
    return evalkit.Registry().load("datasets", f"tweeteval-{name}").plugin


@pytest.mark.parametrize(("name", "size"), list(zip(SETS, TEST_SIZES, strict=True)))
def test_files_are_the_publishers(name: str, size: int) -> None:
    plugin = plugin_of(name)
    start = "https://raw.githubusercontent.com/cardiffnlp/tweeteval/main/datasets/"
    folder = name.replace("stance-", "stance/")
    assert {file: source.url for file, source in plugin.sources.items()} == {
        "test_text.txt": f"{start}{folder}/test_text.txt",
        "test_labels.txt": f"{start}{folder}/test_labels.txt",
        "mapping.txt": f"{start}{folder.partition('/')[0]}/mapping.txt",
    }
    mapping = hashlib.sha256(MAPPINGS[name].encode()).hexdigest()
    assert plugin.sources["mapping.txt"].sha256 == mapping
    assert plugin.test_size == size


@pytest.mark.parametrize("name", SETS)
def test_headline_is_the_official_metric(publisher: Publisher, name: str) -> None:
    gold, predicted = draw(name, seed=1)
    publisher.write(name, gold)
    result = evaluate(name, predicted)
    assert result.headline is not None
    expected = official(name.partition("-")[0], gold, predicted)
    assert result.headline.value == pytest.approx(expected, abs=1e-12)
    assert (result.headline.n, result.headline.coverage) == (len(gold), 1.0)
    labels = labels_of(name)
    assert result.to_dict()["labels"] == labels
    assert predictions_of(result) == [labels[int(number)] for number in predicted]


@pytest.mark.parametrize("name", SETS)
def test_a_prediction_is_a_label_a_number_or_one_of_the_publishers_names(
    publisher: Publisher, name: str
) -> None:
    rows, labels = rows_of(MAPPINGS[name]), labels_of(name)
    given = [
        (spelling, label)
        for (number, *names), label in zip(rows, labels, strict=True)
        for spelling in (int(number), number, f" {number} ", label, *names)
    ]
    publisher.write(name, ["0"] * len(given))
    result = evaluate(name, [spelling for spelling, _ in given], metrics=["accuracy"])
    assert predictions_of(result) == [label for _, label in given]


@pytest.mark.parametrize("name", SETS)
def test_mapping_with_two_names_exchanged_is_refused(
    publisher: Publisher, name: str
) -> None:
    folder = publisher.write(name, ["0", "1"])
    (_, *first), (_, *second), *rest = rows_of(MAPPINGS[name])
    swapped = [["0", *second], ["1", *first], *rest]
    text = "".join("\t".join(row) + "\n" for row in swapped)
    (folder / "mapping.txt").write_bytes(text.encode())
    with pytest.raises(evalkit.DataError) as caught:
        evaluate(name, ["0", "1"])
    assert str(caught.value).startswith(
        f"{folder / 'mapping.txt'}: names the labels 0 {' '.join(second)}, "
        f"1 {' '.join(first)}"
    )
    assert f"; expected 0 {' '.join(first)}, 1 {' '.join(second)}" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "label"),
    [("❤\ufe0f", "red_heart"), ("☀\ufe0f", "sun"), ("🇺🇸", "United_States")],
)
def test_emoji_may_be_in_coloured_form(
    publisher: Publisher, given: str, label: str
) -> None:
    publisher.write("emoji", ["0"])
    assert predictions_of(evaluate("emoji", [given])) == [label]


def test_other_emoji_is_refused_as_it_is(publisher: Publisher) -> None:
    publisher.write("emoji", ["0"])
    result = evaluate("emoji", ["🙈"], on_invalid="wrong")
    (problem,) = result.problems
    assert problem.violations[0][0::2] == ("label", "🙈")


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("column", [0, -1], ids=["numbers", "names"])
def test_probabilities_may_be_under_numbers_or_names(
    publisher: Publisher, name: str, column: int
) -> None:
    publisher.write(name, ["1"])
    rows = rows_of(MAPPINGS[name])
    prob = {row[column]: float(row is rows[1]) for row in rows}
    given = [{"id": "1", "label": "1", "prob": prob}]
    result = evalkit.evaluate(f"tweeteval-{name}", given, metrics=["accuracy"])
    assert result.counts["scored"] == 1


def test_two_probabilities_of_one_label_are_refused(publisher: Publisher) -> None:
    publisher.write("irony", ["1"])
    prob = {"1": 0.5, "irony": 0.5}
    given = [{"id": "1", "label": "1", "prob": prob}]
    result = evalkit.evaluate("tweeteval-irony", given, on_invalid="wrong")
    (problem,) = result.problems
    fields = {violation.field for violation in problem.violations}
    assert fields == {"prob.1", "prob.non_irony"}


# The overall number


@pytest.mark.slow
def test_the_number_of_the_suite_is_the_publishers(
    publisher: Publisher, tmp_path: Path
) -> None:
    drawn = {name: draw(name, 3, 40 + 15 * n) for n, name in enumerate(SETS)}
    pooled: dict[str, tuple[list[str], list[str]]] = {}
    for name, (gold, predicted) in drawn.items():
        publisher.write(name, gold)
        evaluate(name, predicted, out=tmp_path / "runs")
        both = pooled.setdefault(name.partition("-")[0], ([], []))
        both[0].extend(gold)
        both[1].extend(predicted)
    board = make_board(find_suite("tweeteval"), [tmp_path / "runs"], ranks=False)
    expected = {task: official(task, *both) for task, both in pooled.items()}
    cells = {each.name: each.cells["m"] for each in board.root.children}
    values = {task: cell.score.value for task, cell in cells.items()}
    assert values == pytest.approx(expected, abs=1e-12)
    total = board.root.cells["m"]
    assert total.score.value == pytest.approx(fmean(expected.values()), abs=1e-12)
    assert total.score.n == sum(len(gold) for gold, _ in drawn.values())
    assert (total.score.ci_method, total.scored) == ("mover", 11)
    by_target = [official("stance", *drawn[name]) for name in SETS if "stance" in name]
    assert abs(expected["stance"] - fmean(by_target)) > 1e-4
