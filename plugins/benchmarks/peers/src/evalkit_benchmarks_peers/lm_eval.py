"""Tasks of lm-evaluation-harness as benchmarks: `lm-eval:PATH[#task]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from evalkit.catalog import ReadPlugin
from evalkit.errors import DataError
from evalkit_benchmarks_declared.datasets import dataset_class
from evalkit_benchmarks_declared.reading import check_benchmark
from evalkit_benchmarks_declared.schema import Benchmark, Data
from evalkit_benchmarks_declared.sources import stored_rows
from evalkit_benchmarks_peers import lm_eval_files as task_files
from evalkit_benchmarks_peers import lm_eval_functions as functions
from evalkit_benchmarks_peers.lm_eval_files import Function, TaskFile, listed
from evalkit_benchmarks_peers.lm_eval_rows import KEYS, Documents, template
from evalkit_benchmarks_peers.peer_files import component_name, escaped

_KEYS = re.compile(
    "dataset_(kwargs|name|path)|description|doc_to_(choice|decontamination_query|target"
    "|text)|fewshot_(config|delimiter|split)|filter_list|gen_prefix|generation_kwargs"
    "|metadata|metric_list|num_fewshot|output_type|process_docs|repeats|tag|task"
    "|should_decontaminate|target_delimiter|task_(alias|list)"
    "|(test|training|validation)_split"
)
_ROLLING = "loglikelihood_rolling"
_SHOTS = {"sampler", "samples", "split"}
_DEFAULT_METRICS = {
    "multiple_choice": ("acc", "acc_norm"),
    "generate_until": ("exact_match",),
    _ROLLING: ("word_perplexity", "byte_perplexity", "bits_per_byte"),
}
METRICS = {
    ("multiple_choice", "acc"): ("accuracy", "mean"),
    ("multiple_choice", "acc_norm"): ("lm-eval-accuracy:normalise=characters", "mean"),
    ("multiple_choice", "acc_bytes"): ("lm-eval-accuracy:normalise=bytes", "mean"),
    ("multiple_choice", "f1"): ("f1", "f1"),
    ("multiple_choice", "mcc"): ("mcc", "matthews_corrcoef"),
    ("generate_until", "bleu"): ("bleu:tokenize=13a", "bleu"),
    ("generate_until", "chrf"): ("chrf", "chrf"),
    ("generate_until", "chrf++"): ("chrf-plus-plus", "chrf++"),
    ("generate_until", "exact_match"): ("exact-match", "mean"),
    ("generate_until", "ter"): ("ter", "ter"),
    (_ROLLING, "bits_per_byte"): ("bits-per-byte", "bits_per_byte"),
    (_ROLLING, "byte_perplexity"): ("perplexity:by=bytes", "weighted_perplexity"),
    (_ROLLING, "word_perplexity"): ("perplexity:by=words", "weighted_perplexity"),
}
"""Metric of evalkit and aggregation by output type and metric."""
_UNUSED = ("metric", "aggregation", "higher_is_better", "hf_evaluate", "weight_by_size")
OPTIONS = ("ignore_case", "ignore_punctuation", "ignore_numbers", "regexes_to_ignore")
FILTERS = ("regex", "remove_whitespace", "lowercase", "uppercase", "map")
_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_UNKNOWN = "evalkit does not use this key"


def read(text: str) -> ReadPlugin:
    """Read a task of lm-evaluation-harness.

    Args:
        text: Path of a task's file, or `FOLDER#TASK`, after `lm-eval:`.

    Raises:
        DataError: There is no such task, or evalkit cannot run it. The message has the
            file, the line and the key.
    """
    task_files.parse_file.cache_clear()  # the files may have changed
    functions.statements_of.cache_clear()
    functions.value_of.cache_clear()
    where, _, name = text.removeprefix("lm-eval:").partition("#")
    path = Path(where)
    if path.is_dir() and not name:
        raise DataError(f"{where}: name a task of this folder, as in {where}#TASK")
    find, read_file = task_files.find_task, task_files.read_task_file
    task = Task(find(path, name) if path.is_dir() else read_file(path))
    benchmark = task.benchmark()
    made = dataset_class(benchmark, task.files[0], task.rows)
    return ReadPlugin(benchmark.name, made, task.files)


def filter_stage(filters: list[Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the extractor stage for a list of filters, and their functions."""
    kept = filters[: -1 if filters[-1].get("function") == "take_first" else None]
    stage = {"kind": "lm-eval-filters", "configuration": {"filters": kept}}
    return stage, [str(each.get("function")) for each in kept]


class Task:
    """A task that becomes a benchmark, or is refused by the key that prevents it."""

    def __init__(self, file: TaskFile) -> None:
        task_files.refuse_group(file)
        self._file, self._values = file, file.values
        for key, value in self._values.items():
            if not _KEYS.fullmatch(key) and value not in (None, False):
                self._refuse(_UNKNOWN, key)
        self._output = self._text("output_type", "generate_until")
        if self._output not in _DEFAULT_METRICS:
            self._refuse(f"evalkit does not have {self._output!r}", "output_type")
        self._has_options = self._output == "multiple_choice"
        self._is_rolling = self._output == _ROLLING
        given = dict(self._values.get("fewshot_config") or {})
        self._shots = {key: each for key, each in given.items() if each is not None}
        for key in self._shots.keys() - _SHOTS:
            self._refuse(_UNKNOWN, "fewshot_config", key)
        self._documents = self._read_documents()
        self._processed = self._read_key("process_docs") or iter
        self._data = self._read_data()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it is made of, the task's own first."""
        values = self._values.values()
        functions = [each.path for each in values if isinstance(each, Function)]
        return tuple(dict.fromkeys((*self._file.files[::-1], *functions)))

    def rows(self, stored: str) -> Iterator[dict[str, Any]]:
        """Return the rows of a stored split."""
        data = self._data.model_copy(update={"splits": {stored: stored}})
        rows = stored_rows(data, self._file.path.parent, stored)
        documents = self._processed(row.values for row in rows)
        for number, document in enumerate(documents, start=1):
            try:
                row = self._documents.row(document)
                words = len(re.split(r"\s+", row["context"]))
                yield {**row, "num_words": words} if self._is_rolling else row
            except DataError as error:
                where = f"{self._file.path}: row {number} of {stored!r}"
                raise DataError(f"{where}: {error}") from error

    def benchmark(self) -> Benchmark:
        """Return the task as a benchmark file says it."""
        values, extract = self._values, self._extract()
        numbers = {"num_words": "integer"} if self._is_rolling else {}
        text = "none" if self._is_rolling else "text"
        answer = "choice" if self._has_options else text
        usual = [{"metric": name} for name in _DEFAULT_METRICS[self._output]]
        metrics = enumerate(values.get("metric_list") or usual)
        declared = {
            "benchmark": 1,
            "name": component_name(str(values.get("task") or self._file.path.stem)),
            "version": str((values.get("metadata") or {}).get("version", "0")),
            "tags": [str(tag) for tag in listed(values.get("tag"))],
            "task": {"input": {"context": "text", **numbers}, "answer": answer},
            "data": self._data.model_dump(exclude_unset=True),
            "prompt": self._prompt(),
            **({"extract": extract} if extract else {}),
            "metrics": [self._metric(use, "metric_list", n) for n, use in metrics],
        }
        return check_benchmark(declared, str(self._file.path))

    def _read_documents(self) -> Documents:
        values = {key: self._read_key(key) for key in KEYS}
        keys = {key: value for key, value in values.items() if value is not None}
        for key in ("doc_to_target", "doc_to_choice")[: 1 + self._has_options]:
            if key not in keys:
                self._refuse("the key is missing", key)
        if self._is_rolling:
            keys["doc_to_text"] = keys["doc_to_target"]
        if self._has_options and "gen_prefix" in keys:
            self._refuse("it is not used where options are compared", "gen_prefix")
        delimiter = self._text("target_delimiter", " ")
        return Documents({"doc_to_text": "", **keys}, delimiter, self._has_options)

    def _read_key(self, key: str) -> Any:
        """Return the value of a key, or the function that it names."""
        value = self._values.get(key)
        try:
            if isinstance(value, Function):
                return functions.load(value, of_dataset=key == "process_docs")
            if isinstance(value, str):
                template(value)
        except DataError as error:
            self._refuse(f"evalkit cannot run {value}: {error}", key)
        return value

    def _read_data(self) -> Data:
        """Return where the documents come from."""
        values, path = self._values, self._text("dataset_path", "")
        options = dict(values.get("dataset_kwargs") or {})
        splits = {"test": self._test_split()}
        if self._shot_split() not in (None, splits["test"]):
            splits["shots"] = str(self._shot_split())
        data: dict[str, Any] = {"hub": path, "splits": splits, "id": "#row"}
        if path in ("json", "csv", "parquet", "arrow"):
            files = options.pop("data_files", None)
            by_split = files if isinstance(files, Mapping) else {"train": files}
            paths = {key: by_split.get(own) for key, own in splits.items()}
            data = {"path": paths, "id": "#row"}
        elif values.get("dataset_name") is not None:
            data["config"] = str(values["dataset_name"])
        for key in options.keys() - {"trust_remote_code", "streaming"}:
            self._refuse(_UNKNOWN, "dataset_kwargs", key)
        if not self._is_rolling:
            data["answer"] = {"text": "answer"} if self._has_options else "answer"
        try:
            return Data.model_validate(data)
        except ValueError:
            self._refuse(f"must name a dataset of the hub, got {path}", "dataset_path")

    def _test_split(self) -> str:
        split = self._values.get("test_split") or self._values.get("validation_split")
        if split is None:
            self._refuse("neither it nor validation_split is set", "test_split")
        return str(split)

    def _shot_split(self) -> str | None:
        """Return the stored split that shots come from; None for given samples."""
        split = self._shots.get("split", self._values.get("fewshot_split"))
        if split is None and "samples" not in self._shots:
            splits = map(self._values.get, ("training_split", "validation_split"))
            split = next(filter(None, splits), self._test_split())
        return None if split is None else str(split)

    def _prompt(self) -> dict[str, Any]:
        if self._is_rolling:
            return {"query": "{context}", "method": "language-modelling"}
        keys, delimiter = self._documents.keys, self._text("fewshot_delimiter", "\n\n")
        has_shot, description = "gen_prefix" in keys, self._text("description", "")
        if re.search(r"\{[{%#]", description):
            self._refuse("a template here is not supported", "description")
        separators = {"instructions": "", "shots": delimiter}
        separators["answer"] = "" if has_shot else self._documents.delimiter
        prompt = {
            "query": "{context}" if keys["doc_to_text"] != "" or has_shot else "",
            "separators": separators,
            "shots": self._drawn(),
            **({"instructions": escaped(description)} if description else {}),
            **({"answer": "{shot}"} if has_shot else {}),
        }
        if self._has_options:
            return {**prompt, "method": "separate"}
        return {**prompt, "generate": self._generate(delimiter)}

    def _drawn(self) -> dict[str, Any]:
        """Return how shots are drawn."""
        sampler, samples = map(self._shots.get, ("sampler", "samples"))
        draw = {None: "lm-eval", "default": "lm-eval", "first_n": "first"}.get(sampler)
        if draw is None:
            self._refuse(f"evalkit cannot run {sampler}", "fewshot_config", "sampler")
        shots = {"count": int(self._values.get("num_fewshot") or 0), "draw": draw}
        split, test = self._shot_split(), self._values.get("test_split")
        if split is None:
            if not isinstance(samples, list):
                self._refuse(f"cannot run {samples}", "fewshot_config", "samples")
            rows = [self._documents.row(sample) for sample in samples]
            return {**shots, "examples": rows, "spare": False}
        shots["source"] = "test" if split == self._test_split() else "shots"
        named = self._shots.get("split", self._values.get("fewshot_split"))
        return {**shots, "spare": named == test}  # then the document is left out

    def _generate(self, delimiter: str) -> dict[str, Any]:
        """Return how a model generates, as the harness's models take the keys."""
        given = dict(self._values.get("generation_kwargs") or {})
        stop = [text for text in listed(given.pop("until", delimiter)) if text]
        tokens = [given.pop(key, None) for key in _TOKENS]
        most = next((each for each in tokens if each is not None), 256)
        temperature = float(given.pop("temperature", 0.0))
        if given.pop("do_sample", None) is False:
            temperature = 0.0
        for key in given.keys() - {"top_p", "top_k", "seed"}:
            self._refuse(_UNKNOWN, "generation_kwargs", key)
        own = {"temperature": temperature, "max_tokens": int(most), "stop": stop}
        return {**given, **own}

    def _extract(self) -> dict[str, Any]:
        """Return an extractor for each list of filters."""
        if int(self._values.get("repeats") or 1) != 1:
            self._refuse("evalkit scores each of several replies", "repeats")
        extract: dict[str, Any] = {}
        lists = self._values.get("filter_list") or []
        for number, each in enumerate(lists):
            stage, names = filter_stage(list(each["filter"]))
            for name in names:
                if name not in FILTERS or self._has_options:
                    problem = f"evalkit does not have the filter {name} here"
                    self._refuse(problem, "filter_list", number, "filter")
            if names or len(lists) > 1:
                extract[component_name(each["name"])] = [stage]
        return extract

    def _metric(self, use: Mapping[str, Any], *place: str | int) -> Any:
        """Return the metric that computes the same value."""
        name = use.get("metric")
        if (self._output, name) not in METRICS:
            problem = f"evalkit does not have {name} of {self._output}"
            self._refuse(problem, *place, "metric")
        metric, usual = METRICS[self._output, str(name)]
        aggregation, average = use.get("aggregation", usual), None
        if isinstance(aggregation, Function) and metric == "f1":
            average = functions.f1_average(aggregation)
        if aggregation != usual and average is None:
            problem = f"evalkit does not compute {name} with {aggregation}"
            self._refuse(problem, *place, "aggregation")
        if metric == "f1":
            return self._f1(average, *place)
        options = OPTIONS if metric == "exact-match" else ()
        for key in () if self._has_options else use:  # where options have no effect
            if key not in (*_UNUSED, *options) or (key == "hf_evaluate" and use[key]):
                self._refuse(_UNKNOWN, *place, key)
        chosen = {key: use[key] for key in options if use.get(key)}
        return {"metric": metric, "options": chosen} if chosen else metric

    def _f1(self, average: str | None, *place: str | int) -> Any:
        """Return F1 of options, which are the same in all documents."""
        choices = self._values["doc_to_choice"]
        if average is not None and isinstance(choices, list):
            is_weighted = average == "weighted"
            return "weighted-f1" if is_weighted else f"{average}-f1:labels=seen"
        if not isinstance(choices, list) or len(choices) != 2:
            problem = "f1 needs a list of options here, and two if it has no average"
            self._refuse(problem, *place, "metric")
        return {"metric": "f1", "options": {"label": str(choices[1])}}

    def _text(self, key: str, default: str) -> str:
        value = self._values.get(key)
        return default if value is None else str(value)

    def _refuse(self, problem: str, *keys: str | int) -> NoReturn:
        self._file.refuse(problem, *keys)
