"""Tasks of datasets on the Hugging Face hub: `hub:eval.yaml` and `hub:OWNER/NAME`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter, ascii_uppercase
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from evalkit.catalog import ReadPlugin
from evalkit.errors import DataError
from evalkit_adapters_peers.hub_rows import FieldSpec
from evalkit_benchmarks_declared import check_benchmark, dataset_class
from evalkit_benchmarks_declared.schema import Data
from evalkit_benchmarks_declared.sources import hub_file, stored_rows
from evalkit_benchmarks_peers.peer_files import (
    PeerFile,
    Spec,
    component_name,
    escaped,
    read_peer_file,
    regexes,
)

_FILE = "eval.yaml"
_REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+)(?:@(.+))?")
_SUFFIXES = (".jsonl", ".json", ".parquet", ".csv", ".tsv", ".arrow")
_CHOOSE = "Choose the right answer to the question. "
_LINE = "of the form ANSWER: LETTER, in which LETTER is one of {letters}.\n\n"
_OPTIONS = "{question}\n\n{choices}"
_OWN = {
    "chain_of_thought": "{prompt}\n\nThink step by step. End with a line of the form "
    "ANSWER: TEXT, in which TEXT is your answer to the question.",
    "multiple_choice": f"{_CHOOSE}Your whole reply is one line {_LINE}{_OPTIONS}",
    "cot": f"{_CHOOSE}Think step by step. End with a line {_LINE}{_OPTIONS}",
}
"""Evalkit's own wording, where a file has no template."""
_SETTINGS = (
    *("temperature", "top_p", "top_k", "max_tokens", "seed", "stop_seqs"),
    *("frequency_penalty", "presence_penalty"),
)
_SOLVERS: dict[str, tuple[str, ...] | None] = {
    "chain_of_thought": ("template",),
    # those of tools change nothing where there are none
    "generate": (*_SETTINGS, "tool_calls", "cache"),
    "multiple_choice": ("template", "cot", "max_tokens"),
    "prompt_template": None,
    "system_message": None,
    "user_message": None,
}
"""Arguments of each solver; None for any, which its template may name."""
_ASKING = ("generate", "multiple_choice")
_REFUSED = {
    "use_tools": "evalkit gives models no tools",
    "self_critique": "evalkit asks once",
    **dict.fromkeys(
        ("model_graded_qa", "model_graded_fact"),
        "not read. Declare the judge in a benchmark file of evalkit",
    ),
}

_LAST = r"(?is)^.*(ANSWER\s*:.*)$"
"""From the last mark of an answer to the end."""
_ANSWERS = {
    "letter": [_LAST, r"(?i)^ANSWER\s*:\s*([A-Za-z])(?:\W|$)"],
    "word": [_LAST, r"(?i)^ANSWER\s*:\s*(\S+?)[.,;:!?]?\s*(?:\n|$)"],
    "line": [r"(?i)ANSWER\s*:\s*([^\n]+)\s*$"],
}
_SEVERAL = r"[A-Za-z\d][A-Za-z\d ,]*"
_INSIDE = (
    rf"((?:[A-Za-z\d ,]|\*\*\s*{_SEVERAL}\*\*|\$\s*{_SEVERAL}\$)+"
    r"|\([A-Za-z\d]\)\s*(?:[,.\n]|$))"
)
"""Letters, also in bold, in dollars and in brackets."""
_CHOSEN = regexes(
    rf"(?im)^ANSWER\s*:\s*{_INSIDE}\s*(?:$|\n|\.)",
    rf"(?i)ANSWER\s*:\s*{_INSIDE}",
    r"^[\s,$*(]*([A-Za-z])[\s,$*).]*$",
)
"""The letter behind the last mark that stands alone in its line, or else anywhere."""
_CHOSEN[0]["configuration"] |= {"group": 0, "which": "last", "otherwise": "text"}
_CHOSEN[1]["configuration"] |= {"which": "last"}


class _Score(NamedTuple):
    """A metric, its parameters, what it reads, and the arguments of its scorer."""

    metric: str
    options: Mapping[str, Any] = {}
    stages: Any = "strip"
    arguments: tuple[str, ...] = ()


_WHOLE = {"location": "exact", "strip": False}
_EXTRACTED = ("pattern", "ignore_case", "match_all")  # of one group all are one
_SCORERS = {
    "answer": _Score("inspect-match", _WHOLE, None, ("pattern",)),
    "choice": _Score("accuracy", {}, [*_CHOSEN, "choice"]),
    "exact": _Score("squad-em"),
    "f1": _Score("squad-f1"),
    "includes": _Score(
        "inspect-match", {"location": "any", "strip": False}, "strip", ("ignore_case",)
    ),
    "match": _Score(
        "inspect-match", {}, "strip", ("location", "numeric", "ignore_case")
    ),
    "math": _Score("math-match"),
    "pattern": _Score("inspect-match", _WHOLE, None, _EXTRACTED),
}


class _Step(Spec):
    name: str
    args: dict[str, Any] = {}


class _TaskSpec(Spec):
    id: str | None = None
    config: str = "default"
    split: Annotated[str, Field(pattern=r"^\w[\w.-]*(\+\w[\w.-]*)*$")] = "test"
    field_spec: FieldSpec
    shuffle_choices: bool = False
    epochs: Annotated[int, Field(ge=1)] = 1
    epoch_reducer: Literal["mean"] | None = None
    solvers: Annotated[list[_Step], Field(min_length=1)]
    scorers: Annotated[list[_Step], Field(min_length=1)]


class _EvalFile(Spec):
    name: str | None = None
    description: str | None = None
    evaluation_framework: str | None = None
    tasks: Annotated[list[_TaskSpec], Field(min_length=1)]


def read(text: str) -> ReadPlugin:
    """Read a task of an `eval.yaml`.

    Args:
        text: `FILE[#ID]`, or `OWNER/NAME[@REVISION][#ID]` for a dataset on the hub.

    Raises:
        DataError: The task uses something that evalkit does not have. The message has
            the file, the line and the key.
        StorageError: The hub cannot be read.
    """
    place, _, wanted = text.removeprefix("hub:").partition("#")
    path, hub, revision = Path(place).expanduser(), None, None
    if path.is_dir():
        path /= _FILE
    elif not path.is_file() and path.suffix not in (".yaml", ".yml"):
        match = _REPOSITORY.fullmatch(place)
        if match is None:
            raise DataError(f"{place}: must be a file or OWNER/NAME")
        hub, revision = match.groups()
        path = hub_file(hub, _FILE, revision)
    file = read_peer_file(path)
    said = file.checked(_EvalFile)
    ids = [each.id for each in said.tasks]
    if wanted not in ids and (wanted or len(ids) > 1):
        known = ", ".join(f"#{each}" for each in ids)
        problem = f"no task is {wanted!r}" if wanted else f"has {len(ids)} tasks"
        raise file.error(f"{problem}. Name one: {known}", "tasks")
    number = ids.index(wanted) if wanted else 0
    spec = said.tasks[number]
    task = _Task(file, spec, number)
    config = None if spec.config == "default" else spec.config
    on_hub = {"hub": hub, "config": config, "revision": revision}
    task.source = on_hub if hub else {"path": task.paths()}
    task.source["splits"] = {"test": spec.split.split("+")}
    whose = hub or path.absolute().parent.name
    values = {
        "benchmark": 1,
        "name": component_name("hub", whose, ids[number]),
        "version": revision or "1",
        "description": said.description or said.name or f"The benchmark {whose}.",
        **task.values(),
    }
    benchmark = check_benchmark(values, str(path))
    made = dataset_class(benchmark, path, task.rows)
    dataset = type("HubDataset", (made,), {"notices": tuple(task.notices)})
    return ReadPlugin(benchmark.name, dataset, (path,))


class _Task:
    """A task that becomes a benchmark."""

    def __init__(self, file: PeerFile, spec: _TaskSpec, number: int) -> None:
        self._file, self._spec, self._keys = file, spec, ("tasks", number)
        self._where: tuple[str | int, ...] = ()
        self.source: dict[str, Any] = {}
        self.notices: list[str] = []
        self._system: str | None = None
        self._messages, self._settings = ["{input}"], dict[str, Any]()
        names = [each.name for each in spec.solvers]
        for place, solver in enumerate(spec.solvers):
            self._where = ("solvers", place)
            self._check(solver, _SOLVERS, _SOLVERS.get(solver.name, ()))
            self._solve(solver.name, solver.args)
            if (solver.name in _ASKING) != (place == len(names) - 1):
                problem = "generate or multiple_choice comes last, and once"
                raise self._error(problem, "name")
        self._scores = []
        for place, scorer in enumerate(spec.scorers):
            self._where = ("scorers", place)
            score = _SCORERS.get(scorer.name, _Score(""))
            self._check(scorer, _SCORERS, score.arguments)
            self._scores.append(self._score(score, scorer))
        scorers, self._where = [each.name for each in spec.scorers], ("scorers",)
        self._is_choice = names[-1] == "multiple_choice"
        if {scorers == ["choice"], "choice" in scorers} != {self._is_choice}:
            problem = "multiple_choice and the scorer choice go together, and alone"
            raise self._error(problem)
        fields, self._where = spec.field_spec, ("field_spec", "choices")
        if self._is_choice and fields.choices is None:
            raise self._error("is missing, and choices are asked for")
        if idle := fields.idle():
            self.notices.append(f"field_spec: not read: {', '.join(idle)}")
        if spec.shuffle_choices and self._is_choice:
            self.notices.append("choices are shuffled by the example's id")
        if spec.epochs > 1 and "temperature" not in self._settings:
            self.notices.append(
                "no temperature is given, and with 0 the replies of all epochs are "
                "alike (--generate temperature=1)"
            )

    def values(self) -> dict[str, Any]:
        """Return what a benchmark file says of the task."""
        *before, query = self._messages
        prompt: dict[str, Any] = {"query": query, "generate": self._settings}
        if before:
            prompt["turns"] = [{"role": "user", "content": text} for text in before]
        if self._system is not None:
            prompt["system"] = self._system
        if len(prompt) > 2:
            prompt["form"] = "chat"
        fields = dict.fromkeys(self._spec.field_spec.columns().values(), "text?")
        fields["input"] = "text"
        data = {**self.source, "id": "#row", "answer": "target"}
        if self._is_choice:
            line = {"line": "{letter}) {choice}", "letters": [*ascii_uppercase]}
            order = "shuffled" if self._spec.shuffle_choices else "given"
            prompt |= {"method": "joint", "choices": {**line, "order": order}}
            data |= {"answer": {"text": "target"}, "choices": "choices"}
            fields["letters"] = "text?"
        ways = [str(each.stages) for each in self._scores]
        stages = [each.stages for each in self._scores]
        names = [f"way-{ways.index(way) + 1}" for way in ways]
        is_one = len({*names}) == 1
        uses = [
            {"metric": each.metric, "options": each.options}
            | ({} if is_one else {"extract": name})
            for each, name in zip(self._scores, names, strict=True)
        ]
        answer = "choice" if self._is_choice else "text"
        return {
            "task": {"input": fields, "answer": answer},
            "data": data,
            "prompt": prompt,
            "extract": stages[0] if is_one else dict(zip(names, stages, strict=True)),
            "headline": uses[0],
            "metrics": uses[1:],
            "replications": self._spec.epochs,
        }

    def rows(self, stored: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a stored split."""
        spec = self._spec
        data = Data.model_validate({**self.source, "splits": {"test": stored}})
        for row in stored_rows(data, self._file.path.parent, "test"):
            try:
                yield spec.field_spec.row(row.values, is_choice=self._is_choice)
            except (KeyError, ValueError) as error:
                problem = f"no column {error}" if isinstance(error, KeyError) else error
                raise DataError(f"{row.place}: {problem}") from error

    def paths(self) -> dict[str, list[str]]:
        """Return the files of each split in a copy of a dataset's repository."""
        folder, found = self._file.path.parent, dict[str, list[str]]()
        for split in self._spec.split.split("+"):
            for above in (self._spec.config, ".", "data"):
                files = sorted((folder / above).glob(f"{split}[.-]*"))
                stored = [each for each in files if each.suffix in _SUFFIXES]
                if stored and split not in found:
                    found[split] = [str(each.relative_to(folder)) for each in stored]
            if split not in found:
                self._where = ("split",)
                raise self._error(
                    f"no file of the split {split!r} is beside the file, such as "
                    f"{split}.jsonl. For data on the hub name it: hub:OWNER/NAME"
                )
        return found

    def _check(
        self, step: _Step, names: Mapping[str, Any], known: tuple[str, ...] | None
    ) -> None:
        """Refuse a solver or a scorer, or an argument, that is not known."""
        if step.name not in names:
            reason = _REFUSED.get(step.name, f"must be one of {', '.join(names)}")
            raise self._error(f"{step.name}: {reason}", "name")
        for key, value in step.args.items():
            is_off = value is None or value is False
            if known is not None and key not in known and not is_off:
                raise self._error("evalkit does not have this", "args", key)

    def _solve(self, name: str, args: Mapping[str, Any]) -> None:
        """Do what a solver does."""
        for key in _SETTINGS:
            if name in _ASKING and args.get(key) is not None:
                self._settings[key.removesuffix("_seqs")] = args[key]
        if name == "generate":
            return
        is_reasoned = name == "multiple_choice" and args.get("cot")
        own = _OWN.get("cot" if is_reasoned else name)
        if own and not args.get("template"):
            self.notices.append(f"{name} has no template, and gets evalkit's own")
        last = self._messages[-1]
        fields = {"question": last, "choices": "{choices}", "letters": "{letters}"}
        if name != "multiple_choice":
            fields = {} if name.endswith("_message") else {"prompt": last}
        if _SOLVERS[name] is None:
            given = {key: args[key] for key in args if key != "template"}
            fields |= {key: escaped(str(value)) for key, value in given.items()}
        text = self._formatted(args.get("template") or own, fields)
        if name == "system_message":
            if self._system is not None or "{column_" in text:
                problem = "there is one system message, the same for all"
                raise self._error(problem, "args", "template")
            self._system = text
        elif name == "user_message":
            self._messages.append(text)
        else:
            self._messages[-1] = text

    def _formatted(self, template: Any, fields: Mapping[str, str]) -> str:
        """Return a template in braces; what nobody knows stays as it is."""
        columns = {
            name: f"{{{own}}}" for name, own in self._spec.field_spec.columns().items()
        }
        known, made = {**columns, **fields}, []
        try:
            for literal, name, form, conversion in Formatter().parse(template):
                made.append(escaped(literal))
                if name is not None and (form or conversion or set(name) & set(".[")):
                    raise ValueError(f"unsupported placeholder {name!r}")
                if name is not None:
                    made.append(known.get(name, escaped(f"{{{name}}}")))
        except (TypeError, ValueError) as error:
            problem = f"invalid template: {error}"
            raise self._error(problem, "args", "template") from error
        return "".join(made)

    def _score(self, score: _Score, scorer: _Step) -> _Score:
        """Return a score with the arguments of its scorer."""
        args = {key: value for key, value in scorer.args.items() if value is not None}
        given = {key: args[key] for key in score.arguments if key in args}
        pattern, _ = given.pop("pattern", None), given.pop("match_all", None)
        options = {**score.options, **given}
        if score.stages is not None:
            return score._replace(options=options)
        folds = "(?i)" if given.get("ignore_case", True) else ""
        patterns = [f"{folds}{pattern}"]
        if scorer.name == "answer":
            patterns = _ANSWERS.get(str(pattern), [])
        try:
            if not patterns or pattern is None:
                raise DataError(
                    f"must be one of {', '.join(_ANSWERS)}, got {pattern!r}"
                )
            if re.compile(patterns[-1]).groups > 1:
                raise DataError("must have at most one group")
        except (DataError, re.error) as error:
            raise self._error(str(error), "args", "pattern") from error
        return score._replace(options=options, stages=regexes(*patterns))

    def _error(self, problem: str, *keys: str) -> DataError:
        return self._file.error(problem, *self._keys, *self._where, *keys)
