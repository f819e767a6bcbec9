"""What takes long: annotators, judges and metrics of one example at a time."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_servers import Answer, Got, ModelServer, serving

import evalkit
from evalkit import read_run
from evalkit.errors import AnnotatorError, EvalkitError
from evalkit_annotators_columns import Annotators
from evalkit_engines_dask.cluster import Dask

from .worlds import Plain

pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.slow]

CODE = '''
import os
import time
from pathlib import Path

import evalkit


def note(text):
    with Path(__file__).with_name("asked").open("a") as stream:
        stream.write(f"{os.getpid()} {text}\\n")


class Says(evalkit.Annotator):
    """Has values, no values, and failures."""

    version = "1"
    columns = ("size", "word")
    pause = 0
    retries = 1

    def annotate_example(self, prediction):
        note(prediction)
        number = int(prediction)
        if number % 7 == 1:
            raise evalkit.NotScored("odd")
        if number % 11 == 2:
            raise ConnectionError("hung up")
        if number % 13 == 3:
            raise LookupError("no such word")
        size = number / 2 if number % 5 == 4 else number
        word = number if number % 17 == 4 else prediction
        return evalkit.Annotation({"size": size, "word": word}, prediction, 0.5)

    def conclude(self, values):
        return [f"{len(values['size'])} rows"]


class Size(evalkit.Metric):
    columns = ("says.size",)
    most_not_scored = 1.0

    def score_example(self, fields):
        return fields["says.size"]


def score_slowly(prediction, target):
    note(prediction)
    time.sleep(0.001)
    return float(prediction == target)
'''


@pytest.fixture(scope="module")
def engine() -> Iterator[Dask]:
    with Dask(workers=2) as engine:
        yield engine


@pytest.fixture
def code(tmp_path: Path) -> str:
    (tmp_path / "code.py").write_text(CODE)
    return str(tmp_path / "code.py")


def evaluated(folder: Path, count: int, **arguments: Any) -> evalkit.Result:
    rows = [{"uid": str(n), "source": "x", "text": "5"} for n in range(count)]
    said = [{"id": str(n), "text": str(n % (count // 2))} for n in range(count)]
    given = {"data": rows, "predictions": said, "task": "text-generation"}
    found = evalkit.evaluate(**{**given, **arguments}, model="m", out=folder / "runs")
    assert found.path is not None
    return read_run(found.path)


def told(result: evalkit.Result) -> list[Any]:
    """Return what a run holds, without what differs between two equal ones."""
    record = result.record.to_dict()
    for name in ("timings", "files"):
        del record[name]
    said = [text for text in record["notices"] if "in one process" not in text]
    record["notices"] = said
    for columns in record["columns"]:
        del columns["details"]["seconds"]
    assert result.examples is not None
    details = {
        name: table.drop("seconds").sort("id").to_dicts()
        for name, table in result.column_details.items()
    }
    examples = result.examples.sort("id")
    problems = Counter(map(repr, result.problems))
    scores = [score._asdict() for score in result.scores]
    return [record, details, examples.schema, examples.to_dicts(), problems, scores]


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize("by", [(), ("says.size",)])
def test_annotators_say_of_parts_what_they_say_of_all(
    engine: Dask, code: str, tmp_path: Path, by: Any
) -> None:
    given = {
        "metrics": ["exact-match", f"{code}:Size"],
        "columns": Annotators({"says": f"{code}:Says"}),
        "by": by,
    }
    known = evaluated(tmp_path, 400, **given)
    once = sorted(line.split()[1] for line in asked(tmp_path))
    for each in (engine, Plain(7, tmp_path / "store")):
        (tmp_path / "asked").unlink()
        found = evaluated(tmp_path, 400, **given, engine=each)
        for one, other in zip(told(found), told(known), strict=True):
            assert one == other
        if each is engine:
            processes, texts = zip(*map(str.split, asked(tmp_path)), strict=True)
            assert sorted(texts) == once
            assert len({*processes}) == 2


def test_workers_share_a_slow_metric(engine: Dask, code: str, tmp_path: Path) -> None:
    metrics = [f"{code}:score_slowly"]
    known = evaluated(tmp_path, 800, metrics=metrics)
    (tmp_path / "asked").unlink()
    found = evaluated(tmp_path, 800, metrics=metrics, engine=engine)
    assert told(found) == told(known)
    counts = Counter(line.split()[0] for line in asked(tmp_path))
    del counts[str(os.getpid())]  # the baselines
    assert len(counts) == 2
    assert counts.total() == 800
    assert min(counts.values()) > 200


def test_resources_that_no_worker_has_are_refused(
    engine: Dask, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "resources", {"gpu": 1})
    with pytest.raises(EvalkitError, match="no worker has the resources gpu=1"):
        evaluated(tmp_path, 20, metrics=[f"{code}:score_slowly"], engine=engine)
    assert not (tmp_path / "asked").exists()


def reply(got: Got) -> Answer:
    time.sleep(0.02)
    said = {"message": {"content": "good"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    return Answer({"choices": [said], "usage": usage})


def judged(folder: Path, server: ModelServer, **arguments: Any) -> evalkit.Result:
    judge = {
        "annotator": "judge",
        "model": f"openai:model=m,base_url={server.url}/v1",
        "rubric": "Is it good or bad?",
        "prompt": {"user": "{rubric} {response}"},
        "verdict": {"kind": "label", "values": {"good": 1, "bad": 0}},
        "asking": {"concurrency": 3, "token_limit": 900},
    }
    columns = Annotators({"kind": judge})
    return evaluated(folder, 160, columns=columns, **arguments)


def test_limits_of_a_judge_hold_for_all_workers(
    engine: Dask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    with serving(reply) as server:
        found = judged(tmp_path, server, engine=engine)
        assert (len(server.got), server.most_at_once) == (80, 3)
        again = judged(tmp_path, server)
        assert len(server.got) == 80  # the cache has them
        for run in (found, again):
            del run.record.columns[0].details["seconds"]  # type: ignore[attr-defined]
            del run.record.columns[0].details["conclusions"]  # type: ignore[attr-defined]
        assert found.record.columns == again.record.columns
        assert found.fingerprint == again.fingerprint
        server.answers = lambda got: Answer({}, status=401)
        monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "other"))
        texts = []
        for each in (None, engine):
            with pytest.raises(AnnotatorError, match="wants a key") as raised:
                judged(tmp_path, server, engine=each)
            texts.append(str(raised.value))
        assert texts[0] == texts[1]
