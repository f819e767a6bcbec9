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
<<<<<<< HEAD
    assert found.value == pytest.approx(fmean(expected.values()), abs=1e-12)
    assert found.model == "m"
    sizes = {task: len(drawn.pooled(task)[0]) for task in TASKS}
    assert {task.task: task.n for task in found.tasks} == sizes
    assert (found.n, found.coverage) == (sum(sizes.values()), 1.0)
    by_target = [
        official("stance", drawn.gold[name], drawn.predicted[name])
        for name in SETS
        if name.startswith("stance")
    ]
    assert abs(values["stance"] - fmean(by_target)) > 1e-4


def test_interval_is_made_of_the_tasks_standard_errors(scored: Scored) -> None:
    found = scored.overall
    errors = [task.se for task in found.tasks]
    error = np.sqrt(np.sum(np.square(errors))) / 7
    assert found.se == pytest.approx(error, abs=1e-12)
    low, high = stats.norm.interval(0.95, found.value, error)
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), abs=1e-12)
    assert (found.ci_method, found.reason) == ("normal", None)
    for task in found.tasks:
        assert task.ci_method == "multinomial"
        assert task.ci_low < task.value < task.ci_high


def test_a_task_without_a_standard_error_leaves_the_mean_without_an_interval(
    scored: Scored, publisher: Publisher
) -> None:
    publisher.write("hate", ["1"])
    one = evaluate("hate", ["1"], metrics=["accuracy"])
    found = overall_score({**scored.results, "hate": one}.values())
    assert (found.se, found.ci_low, found.ci_high) == (None, None, None)
    assert found.reason == "there is no standard error of hate"


def with_fewer(
    scored: Scored, publisher: Publisher, name: str, kept: int, policy: str
) -> OverallScore:
    """Leave out the predictions of one set but for the first ones."""
    publisher.write(name, scored.drawn.gold[name])
    fewer = evaluate(name, scored.drawn.predicted[name][:kept], on_missing=policy)
    return overall_score({**scored.results, name: fewer}.values())


def test_missing_predictions_counted_as_wrong_lower_the_number(
    scored: Scored, publisher: Publisher
) -> None:
    drawn = scored.drawn
    found = with_fewer(scored, publisher, "stance-climate", 10, "wrong")
    gold = drawn.pooled("stance")[0]
    kept = {**drawn.predicted}
    absent = len(drawn.gold["stance-climate"]) - 10
    kept["stance-climate"] = [*kept["stance-climate"][:10], *["none"] * absent]
    predicted = Drawn(drawn.gold, kept).pooled("stance")[1]
    expected = f1_score(gold, predicted, labels=["1", "2"], average="macro")
    stance = found.tasks[-1]
    assert stance.value == pytest.approx(expected, abs=1e-12)
    assert (stance.n, stance.coverage, found.coverage) == (len(gold), 1.0, 1.0)
    assert found.notices[1:] == (
        "tweets without a valid prediction were counted as wrong: "
        f"tweeteval-stance-climate ({absent})",
    )


def test_missing_predictions_left_out_show_in_n_and_coverage(
    scored: Scored, publisher: Publisher
) -> None:
    drawn = scored.drawn
    found = with_fewer(scored, publisher, "sentiment", 70, "skip")
    gold, predicted = drawn.gold["sentiment"], drawn.predicted["sentiment"]
    sentiment = found.tasks[5]
    expected = recall_score(gold[:70], predicted[:70], average="macro")
    assert sentiment.value == pytest.approx(expected, abs=1e-12)
    assert (sentiment.n, sentiment.coverage) == (70, 70 / len(gold))
    everything = sum(len(numbers) for numbers in drawn.gold.values())
    assert found.n == everything - len(gold) + 70
    assert found.coverage == found.n / everything
    assert found.notices[1:] == (
        "tweets without a valid prediction were left out: "
        f"tweeteval-sentiment ({len(gold) - 70})",
    )


def test_sets_of_another_size_than_the_published_are_named(scored: Scored) -> None:
    drawn = scored.drawn
    (notice,) = scored.overall.notices
    listed = [
        f"tweeteval-{name} ({len(drawn.gold[name])} of {size} tweets)"
        for name, size in zip(SETS, TEST_SIZES, strict=True)
    ]
    assert notice == f"not the published test sets: {', '.join(listed)}"


def test_metric_without_a_value_is_an_error(
    results: dict[str, evalkit.Result], publisher: Publisher
) -> None:
    publisher.write("irony", ["0", "0"])
    results["irony"] = evaluate("irony", ["0", "0"], metrics=["accuracy"])
    with pytest.raises(evalkit.MetricError, match="f1:label=irony of irony has no val"):
        overall_score(results.values())


# What is refused


def failure(results: Mapping[str, Any] | Sequence[Any]) -> str:
    given = results.values() if isinstance(results, Mapping) else results
    with pytest.raises(evalkit.EvalkitError) as caught:
        overall_score(given)
    return str(caught.value)


def test_missing_runs_are_all_named(results: dict[str, evalkit.Result]) -> None:
    del results["emoji"], results["stance-hillary"]
    assert failure(results) == (
        "there is no run of tweeteval-emoji, tweeteval-stance-hillary; the benchmark's "
        "number is made of all 11 sets"
    )


def test_two_runs_of_one_set_are_named(
    results: dict[str, evalkit.Result], tmp_path: Path
) -> None:
    folder = results["hate"].save(tmp_path)
    assert failure([*results.values(), folder]) == (
        f"tweeteval-hate is there 2 times ({folder} and {folder}); give one"
    )


def test_run_of_another_benchmark_is_refused(
    results: dict[str, evalkit.Result],
) -> None:
    rows = [{"id": "sentiment-1", "label": "positive"}]
    other = evalkit.evaluate("sample-sentiment", rows, on_missing="skip", model="m")
    assert failure([*results.values(), other]) == (
        "the result of sample-sentiment is of sample-sentiment, no set of TweetEval"
    )


def get_broken(predictions: list[str], targets: list[str]) -> float:
    raise ValueError("no number today")


def test_partial_run_is_refused_with_its_error(
    results: dict[str, evalkit.Result], publisher: Publisher
) -> None:
    publisher.write("irony", ["0", "1"])
    partial = evaluate("irony", ["0", "1"], metrics=["accuracy", get_broken])
    message = failure({**results, "irony": partial})
    assert "the run of tweeteval-irony is partial, which is no result" in message
    assert "no number today" in message


def test_different_models_are_named_with_their_sets(
    results: dict[str, evalkit.Result], publisher: Publisher
) -> None:
    publisher.write("irony", ["0", "1"])
    rows = [{"id": "1", "label": 0}, {"id": "2", "label": 1}]
    other = evalkit.evaluate("tweeteval-irony", rows, model="other")
    message = failure({**results, "irony": other})
    assert message.startswith("the runs are of 2 models (m: tweeteval-emoji, ")
    assert "; other: tweeteval-irony); " in message
    assert message.endswith("give all of them one name with --model")


def rewrite(folder: Path, **changes: Any) -> None:
    file = folder / "run.json"
    write_record(folder, {**json.loads(file.read_text()), **changes})


def test_other_split_is_refused(folders: dict[str, Path]) -> None:
    rewrite(folders["hate"], split="val")
    assert failure(folders) == (
        f"{folders['hate']}: the run of tweeteval-hate is of the split val; the "
        "benchmark is scored on test"
    )


def test_folder_without_examples_is_refused(folders: dict[str, Path]) -> None:
    (folders["emoji"] / "examples.parquet").unlink()
    assert "tweeteval-emoji does not hold answers" in failure(folders)


@pytest.mark.parametrize(
    ("column", "value"), [("perturbation", "typos"), ("replication", 1)]
)
def test_perturbed_or_repeated_examples_are_refused(
    folders: dict[str, Path], column: str, value: Any
) -> None:
    file = folders["emoji"] / "examples.parquet"
    frame = pl.read_parquet(file)
    first = pl.int_range(pl.len()) == 0
    marked = pl.when(first).then(pl.lit(value)).alias(column)
    frame.with_columns(marked).write_parquet(file)
    assert f"the run of tweeteval-emoji holds values of {column}" in failure(folders)


def test_folder_that_is_no_run_is_named(folders: dict[str, Path]) -> None:
    nowhere = folders["emoji"].parent
    assert failure([nowhere]) == f"{nowhere} is no run: it has no file run.json"


def test_record_without_what_is_needed_is_named(folders: dict[str, Path]) -> None:
    file = folders["emoji"] / "run.json"
    file.write_text('{"dataset": "tweeteval-emoji", "status": "complete", "model": ""}')
    assert failure(folders) == (
        f"{file} cannot be read: it has no split, policies, data, predictions"
    )


# Choosing among runs


def chosen_error(results: Any, model: str | None = None) -> list[str]:
    given = results.values() if isinstance(results, Mapping) else results
    with pytest.raises(evalkit.DataError) as caught:
        choose_runs(given, model=model)
    return str(caught.value).split("\n")


def started(folder: Path, moment: str) -> Path:
    rewrite(folder, timings={"started": moment, "seconds": 1.0})
    return folder


class Again:
    """Scores sets once more, with real run folders beside those of `folders`."""

    def __init__(self, scored: Scored, publisher: Publisher, runs: Path) -> None:
        self.drawn = scored.drawn
        self.publisher = publisher
        self.runs = runs

    def run(self, name: str, predicted: Any = None, **options: Any) -> Path:
        """Score a set; run folders differ as `seed` is another one."""
        self.publisher.write(name, self.drawn.gold[name])
        answers = self.drawn.predicted[name] if predicted is None else predicted
        given = {"metrics": ["accuracy"], "seed": 1, **options}
        return evaluate(name, answers, **given).save(self.runs)

    def refused(self, name: str, **options: Any) -> Path:
        """Score a set of which the last prediction is missing."""
        with pytest.raises(evalkit.AlignmentError) as caught:
            self.run(name, self.drawn.predicted[name][:-1], **options)
        assert caught.value.result is not None
        return caught.value.result.save(self.runs)

    def file(self, name: str, file: Path, predicted: Sequence[str]) -> Path:
        self.publisher.write(name, self.drawn.gold[name])
        file.write_text("".join(f"{number}\n" for number in predicted))
        options: dict[str, Any] = {"metrics": ["accuracy"], "model": "m"}
        return evalkit.evaluate(f"tweeteval-{name}", file, **options).save(self.runs)


@pytest.fixture
def again(
    scored: Scored, publisher: Publisher, folders: dict[str, Path], tmp_path: Path
) -> Again:
    """Score sets once more."""
    return Again(scored, publisher, tmp_path / "runs")


def test_of_several_models_one_must_be_chosen(
    folders: dict[str, Path], again: Again
) -> None:
    others = [again.run(name, model="b c") for name in ("irony", "hate")]
    others.append(again.run("hate", model="b c", seed=2))
    given = [*others, *folders.values()]
    assert chosen_error(given) == [
        "the runs are of 2 models: b c (2 of 11 sets), m (11 of 11 sets); choose one "
        "with --model NAME; where they are one model, score all sets under one name"
    ]
    assert choose_runs(given, model="m") == Choice(tuple(folders.values()), ())
    lines = chosen_error(given, "b c")
    assert lines[0] == (
        "these runs do not give the number of b c, which is made of all 11 sets:"
    )
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        f"tweeteval-{name}" for name in SETS if name not in ("irony", "hate")
    ]
    assert lines[1] == (
        "  tweeteval-emoji: there is no run; make it with "
        "`evalkit eval tweeteval-emoji -p FILE --model 'b c'`"
    )


def test_unknown_model_lists_those_there_are(folders: dict[str, Path]) -> None:
    assert chosen_error(folders, "M") == [
        "there is no run of the model M; there are runs of: m (11 of 11 sets)"
    ]


def test_refused_and_partial_runs_are_left_out_with_a_notice(
    folders: dict[str, Path], again: Again
) -> None:
    refused = again.refused("hate")
    limited = again.run("irony", limit=3)
    filtered = again.run("sentiment", filters={"answer": ["positive", "neutral"]})
    failed = again.run("emotion", metrics=["accuracy", get_broken])
    given = [refused, limited, *folders.values(), filtered, failed]
    found = choose_runs(given)
    assert found.runs == tuple(folders.values())
    assert found.notices[:3] == (
        f"left out {refused}, a run of tweeteval-hate, which was refused (1 missing)",
        f"left out {limited}, a run of tweeteval-irony, which is partial: only some "
        "tweets were evaluated (the first 3)",
        f"left out {filtered}, a run of tweeteval-sentiment, which is partial: only "
        "some tweets were evaluated (answer=positive|neutral)",
    )
    (last,) = found.notices[3:]
    assert last.startswith(f"left out {failed}, a run of tweeteval-emotion, which is p")
    assert "no number today" in last


def test_runs_of_different_predictions_are_listed(
    folders: dict[str, Path], again: Again, tmp_path: Path
) -> None:
    predicted = again.drawn.predicted["hate"]
    file = tmp_path / "second.txt"
    late = started(again.file("hate", file, predicted), "2025-03-02T09:00:00+00:00")
    early = started(folders["hate"], "2025-03-01T10:00:00+00:00")
    assert chosen_error([late, *folders.values()])[1:] == [
        "  tweeteval-hate: 2 runs differ in their predictions; give one of them:",
        f"    {early}: model m, complete, started 2025-03-01T10:00:00+00:00, "
        "predictions given as rows",
        f"    {late}: model m, complete, started 2025-03-02T09:00:00+00:00, "
        "predictions second.txt",
    ]


def test_runs_under_different_policies_are_listed_with_them(
    folders: dict[str, Path], again: Again
) -> None:
    other = again.run("hate", on_missing="wrong")
    lines = chosen_error([other, *folders.values()])
    assert lines[1] == (
        "  tweeteval-hate: 2 runs differ in their policies; give one of them:"
    )
    (line,) = (line for line in lines if str(other) in line)
    assert line.endswith(", predictions given as rows, on-missing wrong")


# The command


def test_command_prints_json(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*map(str, folders.values()), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = overall_score(folders.values())
    assert (printed["model"], printed["value"]) == ("m", expected.value)
    assert [task["value"] for task in printed["tasks"]] == [
        task.value for task in expected.tasks
    ]
    assert (printed["unit"], printed["scale"]) == ("%", 100.0)
    assert printed["higher_is_better"] is True
    assert printed["notices"] == list(expected.notices)


def test_command_says_why_it_refuses(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(folders["emoji"])]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second, *_ = captured.err.split("\n")
    assert first == (
        "evalkit: error: these runs do not give the number of m, which is made of all "
        "11 sets:"
    )
    assert second.startswith("  tweeteval-emotion: there is no run; make it with ")


def run_module(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evalkit_datasets_tweeteval", *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def shown_in_readme() -> list[tuple[list[str], str]]:
    """Return arguments and output of each command, in the README's order."""
    blocks = re.findall(
        r"^```console\n(.*?)^```$",
        README.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    start = "$ python -m evalkit_datasets_tweeteval "
    commands = [
        part for block in blocks for part in re.split(r"^(?=\$ )", block, flags=re.M)
    ]
    found = [part.removeprefix(start) for part in commands if part.startswith(start)]
    split = [part.partition("\n") for part in found]
    return [(arguments.split(" "), output) for arguments, _, output in split]


def assert_prints(runs: Path, arguments: Sequence[str], shown: str) -> None:
    assert arguments[-1] == "runs/tweeteval-*/*"
    folders = sorted(str(run.relative_to(runs.parent)) for run in runs.glob("*/*"))
    done = run_module(*arguments[:-1], *folders, cwd=runs.parent)
    printed = (done.stderr + done.stdout).rstrip()
    pattern = ".*".join(re.escape(part) for part in shown.rstrip().split("..."))
    assert re.fullmatch(pattern, printed, re.DOTALL), printed


@pytest.mark.slow
def test_readme_shows_what_the_command_prints(scored: Scored) -> None:
    assert_prints(scored.runs, *shown_in_readme()[0])
=======
    total = board.root.cells["m"]
    assert total.score.value == pytest.approx(fmean(expected.values()), abs=1e-12)
    assert total.score.n == sum(len(gold) for gold, _ in drawn.values())
    assert (total.score.ci_method, total.scored) == ("mover", 11)
    by_target = [official("stance", *drawn[name]) for name in SETS if "stance" in name]
    assert abs(expected["stance"] - fmean(by_target)) > 1e-4
>>>>>>> origin/main
