"""Tasks of lm-evaluation-harness as benchmarks: `lm-eval:PATH[#task]`."""

from __future__ import annotations

import hashlib
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
from evalkit_benchmarks_peers.lm_eval_files import Function, TaskFile, listed
from evalkit_benchmarks_peers.lm_eval_functions import f1_average, load, run_file
from evalkit_benchmarks_peers.lm_eval_rows import KEYS, Documents, template

_KEYS = frozenset(
    re.findall(
        r"\w+",
        "dataset_kwargs dataset_name dataset_path description doc_to_choice "
        "doc_to_decontamination_query doc_to_target doc_to_text fewshot_config "
        "fewshot_delimiter fewshot_split filter_list gen_prefix generation_kwargs "
        "metadata metric_list num_fewshot output_type process_docs repeats "
        "should_decontaminate tag target_delimiter task task_alias task_list "
        "test_split training_split validation_split",
    )
)
_SHOTS = {"process_docs", "sampler", "samples", "split", "doc_to_target", "doc_to_text"}
_DEFAULT_METRICS = {
    "multiple_choice": ("acc", "acc_norm"),
    "generate_until": ("exact_match",),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
}
_AGGREGATIONS = {
    **{name: name for name in ("bits_per_byte", "bleu", "chrf", "chrf++", "f1", "ter")},
    **dict.fromkeys(("byte_perplexity", "word_perplexity"), "weighted_perplexity"),
    "mcc": "matthews_corrcoef",
}
"""Aggregation by metric, where it is not `mean`."""
_METRICS = {
    ("multiple_choice", "acc"): "accuracy",
    ("multiple_choice", "acc_norm"): "lm-eval-accuracy:normalise=characters",
    ("multiple_choice", "acc_bytes"): "lm-eval-accuracy:normalise=bytes",
    ("multiple_choice", "mcc"): "mcc",
    ("generate_until", "bleu"): "bleu:tokenize=13a",
    ("generate_until", "chrf"): "chrf",
    ("generate_until", "chrf++"): "chrf-plus-plus",
    ("generate_until", "ter"): "ter",
    ("loglikelihood_rolling", "bits_per_byte"): "bits-per-byte",
    ("loglikelihood_rolling", "byte_perplexity"): "perplexity:by=bytes",
    ("loglikelihood_rolling", "word_perplexity"): "perplexity:by=words",
}
"""Metric of evalkit by output type and metric."""
_UNUSED = ("metric", "aggregation", "higher_is_better", "hf_evaluate", "weight_by_size")
_FLAGS = ("ignore_case", "ignore_punctuation", "ignore_numbers")
_FILTERS = ("regex", "remove_whitespace", "lowercase", "uppercase", "map")
_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_UNKNOWN = "evalkit does not use this key"


def read(text: str) -> ReadPlugin:
    """Read a task of lm-evaluation-harness.

    Args:
        text: Path of a task's file, or `FOLDER#TASK`, after `lm-eval:`.

    Returns:
        Its name, its dataset, and the files that it is made of.

    Raises:
        DataError: There is no such task, or evalkit cannot run it. The message has the
            file, the line and the key.
    """
    for kept in (task_files.parse_file, run_file):
        kept.cache_clear()  # the files may have changed
    where, _, name = text.removeprefix("lm-eval:").partition("#")
    path = Path(where)
    if path.is_dir() and not name:
        raise DataError(f"{where}: name a task of this folder, as in {where}#TASK")
    find, read_file = task_files.find_task, task_files.read_task_file
    task = Task(find(path, name) if path.is_dir() else read_file(path))
    benchmark = task.benchmark()
    made = dataset_class(benchmark, task.files[0], task.rows)
    return ReadPlugin(benchmark.name, made, task.files)


class Task:
    """A task that becomes a benchmark, or is refused by the key that prevents it."""

    def __init__(self, file: TaskFile) -> None:
        task_files.refuse_group(file)
        self._file, self._values = file, file.values
        for key, value in self._values.items():
            if key not in _KEYS and value not in (None, False):
                self._refuse(_UNKNOWN, key)
        self._output = self._text("output_type", "generate_until")
        if self._output not in _DEFAULT_METRICS:
            self._refuse(f"evalkit does not have {self._output!r}", "output_type")
        self._has_options = self._output == "multiple_choice"
        given = dict(self._values.get("fewshot_config") or {})
        self._shots = {key: each for key, each in given.items() if each is not None}
        for key in self._shots.keys() - _SHOTS:
            self._refuse(_UNKNOWN, "fewshot_config", key)
        self._documents = self._read_documents()
        self._processed = self._read_key("process_docs") or iter
        function = self._values.get("process_docs")
        if self._shots.get("process_docs", function) != function:
            problem = "it must be the same function as process_docs"
            self._refuse(problem, "fewshot_config", "process_docs")
        self._data = self._read_data()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it is made of, the task's own first."""
        values = (*self._values.values(), *self._shots.values())
        functions = [each.path for each in values if isinstance(each, Function)]
        return tuple(dict.fromkeys((*self._file.files[::-1], *functions)))

    def rows(self, stored: str) -> Iterator[dict[str, Any]]:
        """Return the rows of a stored split."""
        data = self._data.model_copy(update={"splits": {stored: stored}})
        is_shot = stored in ("shots", self._shot_split())
        documents = (
            r.values for r in stored_rows(data, self._file.path.parent, stored)
        )
        for number, row in enumerate(self._processed(documents), start=1):
            try:
                made = self._documents.row(row, is_shot)
                if self._output == "loglikelihood_rolling":
                    made["num_words"] = len(re.split(r"\s+", made["context"]))
                yield made
            except DataError as error:
                where = f"{self._file.path}: row {number} of {stored!r}"
                raise DataError(f"{where}: {error}") from error

    def benchmark(self) -> Benchmark:
        """Return the task as a benchmark file says it."""
        values = self._values
        is_rolling = self._output == "loglikelihood_rolling"
        fields = {"context": "text", **({"num_words": "integer"} if is_rolling else {})}
        answer = "none" if is_rolling else "choice" if self._has_options else "text"
        extract = self._extract()
        declared = {
            "benchmark": 1,
            "name": component_name(str(values.get("task") or self._file.path.stem)),
            "version": str((values.get("metadata") or {}).get("version", "0")),
            "tags": [str(tag) for tag in listed(values.get("tag"))],
            "task": {"input": fields, "answer": answer},
            "data": self._data.model_dump(exclude_unset=True),
            "prompt": self._prompt(),
            **({"extract": extract} if extract else {}),
            "metrics": self._metrics(),
        }
        return check_benchmark(declared, str(self._file.path))

    def _read_documents(self) -> Documents:
        found = {key: self._read_key(key) for key in KEYS}
        keys = {key: value for key, value in found.items() if value is not None}
        for key in ("doc_to_target", "doc_to_choice")[: 1 + self._has_options]:
            if key not in keys:
                self._refuse("the key is missing", key)
        if self._output == "loglikelihood_rolling":
            keys["doc_to_text"] = keys["doc_to_target"]
        keys.setdefault("doc_to_text", "")
        own = [key for key in KEYS if key in self._shots]
        shots = {key: self._read_key("fewshot_config", key) for key in own}
        delimiter = self._text("target_delimiter", " ")
        made = Documents(keys, shots, delimiter, self._has_options)
        if self._has_options and made.has_shot:
            key = "gen_prefix" if "gen_prefix" in keys else "fewshot_config"
            self._refuse("evalkit does not use it where options are compared", key)
        return made

    def _read_key(self, *keys: str) -> Any:
        """Return the value of a key, or the function that it names."""
        values = self._values if len(keys) == 1 else self._shots
        value = values.get(keys[-1])
        try:
            if isinstance(value, Function):
                return load(value, of_dataset=keys[-1] == "process_docs")
            if isinstance(value, str):
                template(value)
        except DataError as error:
            self._refuse(f"evalkit cannot run {value}: {error}", *keys)
        return value

    def _read_data(self) -> Data:
        """Return where the documents come from."""
        values = self._values
        path = self._text("dataset_path", "")
        options = dict(values.get("dataset_kwargs") or {})
        for key in ("trust_remote_code", "streaming"):
            options.pop(key, None)
        splits = {"test": self._test_split()}
        if self._shot_split() not in (None, splits["test"]):
            splits["shots"] = str(self._shot_split())
        data: dict[str, Any] = {"hub": path, "splits": splits}
        files = options.pop("data_files", None)
        if path in ("json", "csv", "parquet", "arrow"):
            by_split = files if isinstance(files, Mapping) else {"train": files}
            data = {"path": {key: by_split.get(own) for key, own in splits.items()}}
        elif files is not None:
            problem = "evalkit does not choose among files of the hub"
            self._refuse(problem, "dataset_kwargs", "data_files")
        if "revision" in options:
            data["revision"] = str(options.pop("revision"))
        for key in options:
            self._refuse(_UNKNOWN, "dataset_kwargs", key)
        if values.get("dataset_name") is not None and "hub" in data:
            data["config"] = str(values["dataset_name"])
        if self._output != "loglikelihood_rolling":
            data["answer"] = {"text": "answer"} if self._has_options else "answer"
        try:
            return Data.model_validate({**data, "id": "#row"})
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
        if self._output == "loglikelihood_rolling":
            return {"query": "{context}", "method": "language-modelling"}
        keys, has_shot = self._documents.keys, self._documents.has_shot
        # a shot without an answer has no delimiter behind it
        is_open = self._documents.shots.get("doc_to_target") == ""
        delimiter = self._text("fewshot_delimiter", "\n\n")
        has_text = keys["doc_to_text"] != "" or "gen_prefix" in keys
        prompt: dict[str, Any] = {
            "query": "{context}" if has_text else "",
            "separators": {
                "instructions": "",
                "shots": "" if is_open else delimiter,
                "answer": "" if has_shot else self._documents.delimiter,
            },
            "shots": self._drawn(),
        }
        description = self._text("description", "")
        if re.search(r"\{[{%#]", description):
            self._refuse("a template here is not supported", "description")
        if description:
            prompt["instructions"] = re.sub(r"[{}]", r"\g<0>\g<0>", description)
        if has_shot:
            prompt["answer"] = "{shot}"
        if not self._has_options:
            return {**prompt, "generate": self._generate(delimiter)}
        return {**prompt, "method": "separate"}

    def _drawn(self) -> dict[str, Any]:
        """Return how shots are drawn."""
        sampler = self._shots.get("sampler", "default")
        draw = {"default": "lm-eval", "first_n": "first"}.get(sampler)
        if draw is None:
            self._refuse(f"evalkit cannot run {sampler}", "fewshot_config", "sampler")
        shots = {"count": int(self._values.get("num_fewshot") or 0), "draw": draw}
        split = self._shot_split()
        if split is None:
            samples = self._shots["samples"]
            if not isinstance(samples, list):
                problem = f"evalkit cannot run {samples}"
                self._refuse(problem, "fewshot_config", "samples")
            rows = [self._documents.row(sample, is_shot=True) for sample in samples]
            return {**shots, "examples": rows, "spare": False}
        shots["source"] = "test" if split == self._test_split() else "shots"
        named = self._shots.get("split", self._values.get("fewshot_split"))
        # then the document itself is left out
        return {**shots, "spare": named == self._values.get("test_split")}

    def _generate(self, delimiter: str) -> dict[str, Any]:
        """Return how a model generates, as the harness's models take the keys."""
        given = dict(self._values.get("generation_kwargs") or {})
        stop = listed(given.pop("until", delimiter))
        tokens = [given.pop(key, None) for key in _TOKENS]
        temperature = float(given.pop("temperature", 0.0))
        if given.pop("do_sample", None) is False:
            temperature = 0.0
        if given.get("num_beams") == 1:
            del given["num_beams"]
        for key in given.keys() - {"top_p", "top_k", "seed"}:
            self._refuse(_UNKNOWN, "generation_kwargs", key)
        most = next((each for each in tokens if each is not None), 256)
        stop = [text for text in stop if text]
        own = {"temperature": temperature, "max_tokens": int(most), "stop": stop}
        return {**given, **own}

    def _extract(self) -> dict[str, Any]:
        """Return an extractor for each list of filters."""
        if int(self._values.get("repeats") or 1) != 1:
            self._refuse("evalkit scores each of several replies", "repeats")
        extract: dict[str, Any] = {}
        lists = self._values.get("filter_list") or []
        for number, each in enumerate(lists):
            filters = list(each["filter"])
            if filters[-1].get("function") == "take_first":
                del filters[-1]
            for one in filters:
                name = one.get("function")
                if name not in _FILTERS or self._has_options:
                    problem = f"evalkit does not have the filter {name} here"
                    self._refuse(problem, "filter_list", number, "filter")
            if filters or len(lists) > 1:
                configuration = {"filters": filters}
                stage = {"kind": "lm-eval-filters", "configuration": configuration}
                extract[component_name(each["name"])] = [stage]
        return extract

    def _metrics(self) -> list[Any]:
        usual = [{"metric": name} for name in _DEFAULT_METRICS[self._output]]
        uses = self._values.get("metric_list") or usual
        return [self._metric(use, "metric_list", n) for n, use in enumerate(uses)]

    def _metric(self, use: Mapping[str, Any], *place: str | int) -> Any:
        """Return the metric that computes the same value."""
        name = use.get("metric")
        if not isinstance(name, str):
            self._refuse(f"evalkit cannot run {name}", *place, "metric")
        usual = _AGGREGATIONS.get(name, "mean")
        aggregation, average = use.get("aggregation", usual), None
        if isinstance(aggregation, Function) and name == "f1" and self._has_options:
            average = f1_average(aggregation)
        if aggregation != usual and average is None:
            problem = f"evalkit does not compute {name} with {aggregation}"
            self._refuse(problem, *place, "aggregation")
        if self._has_options and name == "f1":
            return self._f1(average, *place)
        is_exact = name == "exact_match" and self._output == "generate_until"
        known = (*_UNUSED, *((*_FLAGS, "regexes_to_ignore") if is_exact else ()))
        for key in () if self._has_options else use:  # where options have no effect
            if key not in known or (key == "hf_evaluate" and use[key]):
                self._refuse(_UNKNOWN, *place, key)
        if is_exact:
            options: dict[str, Any] = {key: True for key in _FLAGS if use.get(key)}
            if use.get("regexes_to_ignore"):
                options["regexes_to_ignore"] = use["regexes_to_ignore"]
            return {"metric": "exact-match", "options": options}
        if (self._output, name) not in _METRICS:
            problem = f"evalkit does not have {name} of {self._output}"
            self._refuse(problem, *place, "metric")
        return _METRICS[self._output, name]

    def _f1(self, average: str | None, *place: str | int) -> Any:
        """Return F1 of options, which are the same in all documents."""
        choices = self._values["doc_to_choice"]
        if not isinstance(choices, list) or (average is None and len(choices) != 2):
            problem = "f1 needs a list of options here, and two if it has no average"
            self._refuse(problem, *place, "metric")
        if average is None:
            return {"metric": "f1", "options": {"label": str(choices[1])}}
        return "weighted-f1" if average == "weighted" else f"{average}-f1:labels=seen"

    def _text(self, key: str, default: str) -> str:
        value = self._values.get(key)
        return default if value is None else str(value)

    def _refuse(self, problem: str, *keys: str | int) -> NoReturn:
        self._file.refuse(problem, *keys)


def component_name(name: str) -> str:
    """Return a name in lower case and hyphens, of at most 62 characters."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "task"
    if len(plain) <= 62:
        return plain
    return f"{plain[:53].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
