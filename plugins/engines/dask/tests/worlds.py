"""Random worlds: data, predictions and options of an evaluation, drawn from a seed."""

import gzip
import json
import math
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import evalkit
from evalkit import find_components, read_run
from evalkit.catalog import BoundMetric, Registry, Resolver
from evalkit.errors import EvalkitError, PluginError
from evalkit_adapters_rows import Rows
from evalkit_engines_dask.buckets import bucket_of
from evalkit_engines_dask.engine import Engine

Row = dict[str, Any]
Drawn = tuple[Row, Row]
"""Fields of an example, and of a response."""

TAGS = ("topic:x", "topic:y", "hard", "all")
WORDS = ("red", "green", "blue", "small", "round", "not")
FAULTS = ("missing", "invalid", "duplicate", "unknown", "unreadable")
BROKEN = ('{"id": ', "[1]", "\udcff", '{"a": 1} {"b": 2}')
"""Lines that are no object."""


def draw_labels(*labels: str) -> Callable[[Random], Drawn]:
    def draw(random: Random) -> Drawn:
        weights = [9] * (len(labels) - 1) + [1]
        label, found = random.choices(labels, weights, k=2)
        found = label if random.random() < 0.4 else found
        rest = (1 - (share := random.randint(4, 9) / 10)) / (len(labels) - 1)
        prob = {name: share if name == found else rest for name in labels}
        example = {"statement": draw_words(random), "label": label}
        return example, {"label": found, "prob": prob}

    return draw


def draw_words(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(1, 6)))


def draw_text(random: Random) -> Drawn:
    known = draw_words(random)
    found = known if random.random() < 0.3 else draw_words(random)
    return {"source": "x", "text": known}, {"text": found}


def draw_extracted(random: Random) -> Drawn:
    answer = str(random.randint(1, 4))
    written = random.choice([f"So. Answer: {answer}", "Answer: 2", "3", "no idea"])
    return {"question": "x", "answer": answer}, {"answer": written}


def draw_choice(random: Random) -> Drawn:
    choices = random.sample(WORDS, random.randint(2, 4))
    answer = random.choice([*choices[:2], "A", "B"])
    written = random.choice([choices[0], "B", "(A)", "none of them"])
    example = {"question": draw_words(random), "choices": choices, "answer": answer}
    return example, {"answer": written}


def draw_number(random: Random) -> Drawn:
    value = random.gauss(0, 3)
    return {"text": "x", "value": value}, {"value": value + random.gauss(0, 1)}


def draw_ranking(random: Random) -> Drawn:
    items, found = random.sample(WORDS, random.randint(1, 3)), random.sample(WORDS, 4)
    scores = [random.randint(0, 3) / 2 for _ in found]
    return {"query": "x", "items": items}, {"items": found, "scores": scores}


def draw_spans(random: Random) -> Drawn:
    known, found = (
        [dict(start=n, end=n + random.randint(1, 3), label="xy"[n % 2]) for n in starts]
        for starts in (random.sample(range(9), random.randint(0, 3)) for _ in range(2))
    )
    return {"text": "x", "spans": known}, {"spans": random.choice([known, found])}


def draw_sets(random: Random) -> Drawn:
    known, found = (random.sample("abc", random.randint(0, 2)) for _ in range(2))
    return {"text": "x", "labels": known}, {"labels": found}


def draw_rating(random: Random) -> Drawn:
    return {"text": draw_words(random)}, {"rating": random.choice(["1", "2", "3"])}


def draw_probability(random: Random) -> Drawn:
    found: Row = dict.fromkeys(COUNTS, size := random.randint(1, 40))
    return {"text": "x"}, {"logprob": -random.random() * size, **found}


COUNTS = ("num_tokens", "num_bytes", "num_characters")


class Shape(NamedTuple):
    """What is answered, and how."""

    task: str | Mapping[str, Any]
    """An installed task, or one that a benchmark file declares."""
    kinds: str
    draw: Callable[[Random], Drawn]
    answer: str
    """Field of the answer, in data and responses."""
    columns: Sequence[str] = ()
    """Fields that metrics may ask for beside it."""
    metrics: Sequence[str] = ()
    """Metrics that need parameters."""


AVERAGES = ("macro-f1:labels=seen", "macro-recall:labels=seen", "micro-f1:labels=gold")
SENTIMENTS = ("positive", "negative", "neutral")
SPANS = {"input": {"text": "text"}, "answer": "spans"}
SETS = {"input": {"text": "text"}, "answer": "labels", "labels": [*"abc"]}
SHAPES = (
    Shape("sentiment", "one", draw_labels(*SENTIMENTS), "label", ["prob"], AVERAGES),
    Shape("text-classification", "one any-of", draw_labels(*"abcd"), "label", ["prob"]),
    Shape("multiple-choice", "one any-of", draw_choice, "answer"),
    Shape("text-generation", "any-of", draw_text, "text"),
    Shape("math-qa", "any-of", draw_extracted, "answer"),
    Shape("regression", "number", draw_number, "value"),
    Shape("ranking", "ranked", draw_ranking, "items", ["scores"]),
    Shape("rating", "none", draw_rating, "rating"),
    Shape("language-modelling", "none", draw_probability, "logprob", COUNTS),
    Shape("text-classification", "one", draw_labels(*"ab"), "label", [], AVERAGES),
    Shape(SPANS, "spans", draw_spans, "spans"),
    Shape(SETS, "all-of", draw_sets, "labels"),
)


@cache
def summed_metrics() -> Sequence[BoundMetric]:
    """Return the installed metrics that declare sums and need no parameters."""
    resolver, found = Resolver(Registry()), []
    for component in find_components().components:
        if component.kind == "metrics" and component.name != "above-chance":
            try:
                found.append(resolver.metric(component.name))
            except PluginError:  # it needs parameters, or a model
                continue
    return [metric for metric in found if not metric.has("compute")]


def metrics_of(shape: Shape) -> list[str]:
    held = {"responses", shape.answer, *shape.columns}
    names = [
        metric.name
        for metric in summed_metrics()
        if {*metric.answer_kinds} & {*shape.kinds.split()}
        and not metric.absent_columns(held)
        and (not metric.columns or held & {*metric.columns})
    ]
    return [*names, *shape.metrics]


class World(NamedTuple):
    """An evaluation that was drawn."""

    arguments: Row
    """Of `evaluate`."""
    is_ordered: bool
    """Whether scores depend on the order of rows, as these are limited or repeated."""


def make_world(
    folder: Path,
    seed: int,
    metrics: int = 1000,
    shuffled: bool = False,
    bucketed: bool = False,
) -> World:
    """Write the files of a world, which has at most so many metrics.

    A shuffled world has the same rows in another order, a bucketed one shards of them.
    """
    random = Random(seed)
    shape = SHAPES[seed % len(SHAPES)]
    forms = ["jsonl", "jsonl*", "parquet", "parquet*", "rows"]
    forms += ["csv"] if shape.answer in ("label", "value") else []
    form = random.choice(forms) if isinstance(shape.task, str) else "benchmark"
    form = "bucketed" if bucketed else form
    examples, responses = draw_rows(random, shape, form)
    options = draw_options(random, shape, form)
    names = metrics_of(shape)
    options["metrics"] = random.sample(names, min(len(names), metrics))
    if random.random() < 0.3:
        took = {"examples": len(responses), "seconds": 8.0, "input_tokens": 40}
        (folder / "said.job.json").write_text(json.dumps(took))
    if shuffled:
        Random(seed).shuffle(examples)
        Random(seed).shuffle(responses)
    responses = [row for row in responses if "" not in row or not bucketed]
    options |= write_data(Random(seed), folder, shape.task, form, examples)
    forms = [form] if bucketed else prediction_forms(responses)
    said = folder / "said"
    options["predictions"] = write_files(Random(seed), said, forms, responses)
    ids = [(row.get("id"), row.get("_replication_")) for row in responses]
    return World(options, "limit" in options or len({*ids}) < len(ids))


def draw_rows(  # noqa: C901 - a fact a line
    random: Random, shape: Shape, form: str
) -> tuple[list[Row], list[Row]]:
    count = random.randint(12, 120)
    spell = random.choice(("{}", "{:03}", "q{}", "ü{} ")).format
    uids = [spell(number) for number in range(count)]
    if random.random() < 0.3:  # different texts of one number
        uids = [("{}", "{:04}", "0{}")[n % 3].format(n // 3 + 1) for n in range(count)]
    if random.random() < 0.04:
        uids[-1] = uids[0]
    clusters = random.choice((1, 8, 40))
    rates = {name: random.choice((0, 0, 0.03, 0.1)) for name in FAULTS}
    replications = random.choice([(None,)] * 3 + [("a", "b"), (1, 2, 10)])
    is_uneven = random.random() < 0.5
    has_lists = form[:5] == "jsonl" and random.random() < 0.6
    has_lists &= shape.answer in ("label", "text", "answer")
    # alternatives of spans and sets are written otherwise
    has_alternatives = form != "benchmark" and random.random() < 0.3
    examples: list[Row] = []
    responses: list[Row] = []
    for number, uid in enumerate(uids):
        example, response = shape.draw(random)
        is_last = number > count * 0.7  # what only a part of the rows has
        if has_lists and is_last and random.random() < 0.3:
            other = shape.draw(random)[0][shape.answer]
            example[shape.answer] = [example[shape.answer], other]
        tags = random.sample(
            ("topic:x", "topic:y", "hard", "all"), random.randint(0, 3)
        )
        facts = {"doc": random.randint(1, clusters), "tags": tags}
        facts["level"] = random.choice(("low", "high", None))
        examples.append({"uid": uid, **example, **facts})
        for replication in (
            replications if is_last or not is_uneven else replications[:1]
        ):
            row = {"id": uid, **response}
            if replication is not None:
                row |= {**shape.draw(random)[1], "_replication_": replication}
            if has_alternatives and is_last and random.random() < 0.5:
                row["responses"] = [shape.draw(random)[1] for _ in range(3)]
            if random.random() >= rates["missing"]:
                responses.append(row)
            if random.random() < rates["duplicate"]:
                responses.append({**row, **shape.draw(random)[1]})
    if random.random() < 0.5:
        random.shuffle(responses)
    return examples, [spoil(random, row, shape, rates) for row in responses]


def spoil(random: Random, row: Row, shape: Shape, rates: Mapping[str, float]) -> Row:
    """Return a row, or one that cannot be scored."""
    if random.random() < rates["invalid"]:
        return {**row, shape.answer: None, "note": "of no use"}
    if random.random() < rates["unknown"]:
        return {**row, "id": f"nobody {random.randint(0, 3)}"}
    return {"": random.choice(BROKEN)} if random.random() < rates["unreadable"] else row


def draw_options(random: Random, shape: Shape, form: str) -> Row:
    policies, weights = ("error", "wrong", "skip"), (1, 9, 9)
    missing, invalid = random.choices(policies, weights, k=2)
    [duplicate] = random.choices(("error", "first", "last"), weights)
    found: Row = {"on_missing": missing, "on_invalid": invalid, "model": "drawn"}
    found["on_duplicate"] = duplicate
    by = [["level"], ["topic,level"], ["doc", "level"]]
    optional: Mapping[str, Sequence[Any]] = {
        "by": by if "none" in shape.kinds else [*by, ["answer"], ["pred"]],
        "cluster": ["doc", ["doc", "level"]],
        "limit": [5, 30],
        "filters": [{"level": "low"}, {"topic": ["x", "y"]}, {"tag": "hard"}],
        "min_n": [1, 3],
        "confidence": [0.9],
        "keep": ["none", ["level"]],
        "include_examples": [False],
    }
    for name, values in optional.items():
        if random.random() < (0.4 if name in ("by", "cluster") else 0.12):
            found[name] = random.choice(values)
    changes: Row = {}
    if shape.task == "math-qa":
        changes["extract"] = "after:Answer:"
    if random.random() < 0.15 and form != "benchmark":
        changes["map"] = {"facet:origin": "level"}
    return found | ({"rows": Rows(**changes)} if changes else {})


def write_data(
    random: Random, folder: Path, task: Any, form: str, rows: list[Row]
) -> Row:
    """Write examples, and return the arguments that name them."""
    if form == "rows":
        return {"task": task, "data": rows}
    if form == "benchmark":
        write_lines(random, folder / "data.jsonl", rows)
        data = {"path": "data.jsonl", "answer": task["answer"], "cluster": "doc"}
        data["tags"] = {"level": "level"}
        written = {"benchmark": 1, "name": "drawn", "version": "1", "task": task}
        (folder / "drawn.yaml").write_text(json.dumps({**written, "data": data}))
        return {"dataset": folder / "drawn.yaml"}
    (folder / "shards").mkdir()
    path = write_files(random, folder / "shards" / "test", [form], rows)
    folders = [str(folder / "shards")] if "*" in path else []
    return {"task": task, "data": random.choice([path, *folders])}


def prediction_forms(rows: list[Row]) -> list[str]:
    forms = ["jsonl", "jsonl*", "jsonl.gz", "jsonl.gz*"]
    if not any("" in row for row in rows):
        is_flat = not any(isinstance(v, list | dict) for r in rows for v in r.values())
        forms += ["parquet", "parquet", "parquet*", *(["csv"] if is_flat else [])]
    return forms


def write_files(
    random: Random, stem: Path, forms: Sequence[str], rows: list[Row]
) -> str:
    """Write rows in one of the forms, and return the path or the pattern of shards."""
    given, key = random.choice(forms), "uid" if "uid" in rows[0] else "id"
    form, count = given.rstrip("*"), 3 if given[-1] == "*" else 1
    cuts = [len(rows) * number // count for number in range(count + 1)]
    if form == "bucketed":
        numbers = bucket_of(pl.Series([row[key] for row in rows]), 3)
        rows = [rows[place] for place in np.argsort(numbers, kind="stable")]
        cuts = [0, *np.cumsum(np.bincount(numbers, minlength=3)).tolist()]
        form, count = "parquet", 3
    frame = pl.DataFrame()
    if form[0] != "j":
        left_out = ["tags"] if form == "csv" else []
        frame = pl.DataFrame(rows, infer_schema_length=None).drop(
            left_out, strict=False
        )
        if random.random() < 0.7 and all(map(NUMBER.fullmatch, frame[key])):
            frame = frame.with_columns(pl.col(key).cast(pl.Int64))
    for number, (start, stop) in enumerate(pairwise(cuts)):
        middle = f"-{number:05}-of-{count:05}" if count > 1 else ""
        path = stem.with_name(f"{stem.name}{middle}.{form}")
        if form == "csv":
            frame[start:stop].write_csv(path)
        elif form == "parquet":
            groups = random.choice((7, 50))
            frame[start:stop].write_parquet(path, row_group_size=groups)
        else:
            write_lines(random, path, rows[start:stop])
    return str(path if count == 1 else stem.with_name(f"{stem.name}-*.{form}"))


NUMBER = re.compile("0|[1-9][0-9]*")


def write_lines(random: Random, path: Path, rows: list[Row]) -> None:
    """Write JSON lines, in which all ids that can be are numbers, or none, or some."""
    share, end = random.choice((0, 0, 0.5, 1)), random.choice(("\n", "\n", "\r\n"))
    lines = [random.choice(("", "", "\ufeff"))]
    for row in rows:
        changed = dict(row)
        for key in {"uid", "id"} & {*row}:
            if random.random() < share and NUMBER.fullmatch(row[key]):
                changed[key] = int(row[key])
        is_ascii, blank = random.random() < 0.5, end * (random.random() < 0.02)
        lines += [blank, row.get("") or json.dumps(changed, ensure_ascii=is_ascii), end]
    written = "".join(lines[: len(lines) - (random.random() < 0.2)])
    content = written.encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


class Plain(Engine):
    """An engine that calls functions itself, in any order, and some of them twice."""

    is_running = True

    def __init__(
        self, parts: int, store: Path, seed: int = 0, bucketed: bool = False
    ) -> None:
        super().__init__()
        self.bucketed = bucketed
        self.parts, self.store, self.random = parts, str(store), Random(seed)

    def submit(self, function: Any, arguments: Any, name: str, resources: Any) -> bytes:
        """Pickle a call, as other engines do."""
        assert name
        return pickle.dumps((function, arguments))

    def gather(
        self, tasks: Sequence[bytes], done: Callable[[int, Any], None]
    ) -> list[Any]:
        """Call them; the results of lost attempts are thrown away."""
        values: dict[int, Any] = {}
        for place in self.random.sample(range(len(tasks)), len(tasks)):
            for _ in range(self.random.choice((1, 1, 1, 2))):
                function, arguments = pickle.loads(tasks[place])
                result = pickle.dumps(function(*arguments))
            values[place] = pickle.loads(result)
            done(place, values[place])
        return [values[place] for place in range(len(tasks))]

    def cancel(self, tasks: Sequence[bytes]) -> None:
        """Do nothing: no call runs."""


Outcome = evalkit.Result | EvalkitError


def outcome(world: World, out: Path, **arguments: Any) -> Outcome:
    """Evaluate a world, and read the run that it wrote."""
    try:
        found = evalkit.evaluate(**world.arguments, out=out, **arguments)
    except EvalkitError as error:
        result = getattr(error, "result", None)
        if result is not None:
            error.result = read_run(result.path)  # type: ignore[attr-defined]
        return error
    assert found.path is not None
    return read_run(found.path)


def differences(found: Outcome, known: Outcome, reordered: bool = False) -> list[str]:
    """Return how an evaluation differs from another one, maybe of rows in its order."""
    both: list[Any] = [found, known]
    if any(isinstance(one, EvalkitError) for one in both):
        texts = [f"{type(one).__name__}: {one}" for one in both]
        end = ":" if reordered else "all of them are in"  # messages name lines, paths
        first, second = (text.partition(end)[0] for text in texts)
        if first != second:
            return [f"{first} != {second}"]
        both = [getattr(one, "result", None) for one in both]
    return [] if None in both else [*compare(*both, reordered)]


def compare(
    found: evalkit.Result, known: evalkit.Result, reordered: bool
) -> Iterator[str]:
    one, other = (_tables(each, reordered) for each in (found, known))
    for name in one:
        if [*one[name]] != [*other[name]]:
            only = one[name].keys() ^ other[name].keys()
            yield f"{name}: {(only and f'only in one: {only}') or 'another order'}"
        for key in one[name].keys() & other[name].keys():
            pair = one[name][key], other[name][key]
            if not is_same(*pair):
                yield f"{name} {key}: {pair[0]} != {pair[1]}"


def _tables(result: evalkit.Result, reordered: bool) -> dict[str, Row]:
    """Return all that a result holds, by names and by keys."""
    own = {"timings", "files", "notices"}
    if reordered:
        own |= {"fingerprint", "data", "predictions", "components"}
    record = result.record.to_dict()
    problems = Counter(
        repr(one._replace(line=None) if reordered else one) for one in result.problems
    )
    rows = [] if result.examples is None else result.examples.to_dicts()
    rows.sort(key=lambda row: (row["id"], row["replication"] or ""))
    names = sorted((rows or [{}])[0])
    columns = {name: [row[name] for row in rows] for name in names}
    return {
        "record": {key: record[key] for key in sorted({*record} - own)},
        "notices": dict.fromkeys(sorted(result.notices)),
        "scores": {
            (score.metric, score.tag, score.aggregate, field): value
            for score in result.scores
            for field, value in score._asdict().items()
        },
        "problems": {text: problems[text] for text in sorted(problems)},
        "examples": columns,
    }


def is_same(one: Any, other: Any) -> bool:
    """Compare values, of which floats may differ by 1e-12."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            is_same(one[k], other[k]) for k in one
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)
