"""Metrics and extractors of evalkit that score as scorers of Inspect do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.errors import DataError, EvalkitError
from evalkit_benchmarks_peers.hub_spec import HubTask
from evalkit_benchmarks_peers.peer_files import PeerFile

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
_CHOSEN = [
    {
        "kind": "regex",
        "configuration": {
            "pattern": rf"(?im)^ANSWER\s*:\s*{_INSIDE}\s*(?:$|\n|\.)",
            "group": 0,
            "which": "last",
            "otherwise": "text",
        },
    },
    {
        "kind": "regex",
        "configuration": {
            "pattern": rf"(?i)ANSWER\s*:\s*{_INSIDE}",
            "which": "last",
        },
    },
    {"kind": "regex", "configuration": {"pattern": r"^[\s,$*(]*([A-Za-z])[\s,$*).]*$"}},
    "choice",
]
"""The letter behind the last mark that stands alone in its line, or else anywhere."""

_GRADED = (
    "Question: {question}\n\nSubmission: {answer}\n\nCriterion: {criterion}\n\n"
    "{instructions}"
)
_FACT = (
    "Question: {question}\n\nExpert answer: {criterion}\n\nSubmission: {answer}\n\n"
    "{instructions}"
)
_INSTRUCTIONS = {
    "model_graded_qa": "Does the submission meet the criterion?",
    "model_graded_fact": "Does the submission hold the facts of the expert answer? "
    "Style and grammar do not count.",
}
_GRADES = {"C": "if it does", "P": "if it does in part", "I": "if it does not"}
_WORTH = {"C": 1.0, "P": 0.5, "I": 0.0}
_GRADE = r"(?i)\bGRADE\s*:\s*([CPI])(?:\w*)"


class Score(NamedTuple):
    """A metric and what it reads.

    Attributes:
        metric: The metric.
        options: Its parameters.
        stages: What takes the answer out of a reply.
        judge: Judge that gives verdicts.
    """

    metric: str
    options: Mapping[str, Any] = {}
    stages: Any = "strip"
    judge: Mapping[str, Any] | None = None


def regexes(patterns: Sequence[str]) -> list[dict[str, Any]]:
    """Return stages for regular expressions, one after the other."""
    return [
        {"kind": "regex", "configuration": {"pattern": pattern}} for pattern in patterns
    ]


class Scoring:
    """Goes through the scorers of a task.

    Args:
        file: The file.
        task: The task.
        keys: Where it is.

    Attributes:
        scores: What they become.
        notices: What a user should know.

    Raises:
        DataError: A scorer does what evalkit cannot.
    """

    def __init__(
        self, file: PeerFile, task: HubTask, keys: Sequence[str | int]
    ) -> None:
        self._file, self._keys = file, keys
        self.notices: list[str] = []
        self.scores: list[Score] = []
        for self._number, scorer in enumerate(task.scorers):
            self.scores.append(self._score(scorer.name, dict(scorer.args)))
        names = [scorer.name for scorer in task.scorers]
        self.has_choices = "choice" in names
        if self.has_choices and len(names) > 1:
            raise self._error("choice scores options, and goes with no other scorer")
        self._reduce(task)

    def _score(self, name: str, args: dict[str, Any]) -> Score:
        folds = args.pop("ignore_case", True)
        match name:
            case "choice":
                found = Score("accuracy", {}, _CHOSEN)
            case "exact":
                found = Score("squad-em")
            case "f1":
                found = Score("squad-f1")
            case "math":
                found = Score("math-match")
            case "includes":
                options = {"location": "any", "strip": False, "ignore_case": folds}
                found = Score("inspect-match", options)
            case "match":
                named = ("location", "numeric")
                options = {key: args.pop(key) for key in named if key in args}
                found = Score("inspect-match", {**options, "ignore_case": folds})
            case "answer" | "pattern":
                found = self._extracted(name, args, folds=folds)
            case _:
                found = self._judged(name, args)
        for key, value in args.items():
            if value is not None:
                raise self._error("evalkit does not have this", "args", key)
        return found

    def _extracted(self, name: str, args: dict[str, Any], *, folds: bool) -> Score:
        pattern = args.pop("pattern", None)
        if name == "answer":
            if pattern not in _ANSWERS:
                known = ", ".join(_ANSWERS)
                raise self._error(f"must be one of {known}, got {pattern!r}", "args")
            patterns, folds = _ANSWERS[pattern], True
        else:
            patterns = [f"(?i){pattern}" if folds else str(pattern)]
            args.pop("match_all", None)  # of one group all are one
        from evalkit_adapters_rows import extraction

        try:
            groups = re.compile(patterns[-1]).groups
            extraction(regexes(patterns))
        except (EvalkitError, re.error) as error:
            raise self._error(str(error), "args", "pattern") from error
        if groups > 1:
            problem = f"must have at most one group, got {groups}"
            raise self._error(problem, "args", "pattern")
        options = {"location": "exact", "strip": False, "ignore_case": folds}
        return Score("inspect-match", options, regexes(patterns))

    def _judged(self, name: str, args: dict[str, Any]) -> Score:
        """Return the judge that a model is."""
        model = str(args.pop("model", None) or "")
        service, _, called = model.partition("/")
        if service != "openai" or not called:
            problem = f"name the judge as openai/MODEL, got {model or 'none'}"
            raise self._error(problem, "args", "model")
        for key in ("model_role", "reducer"):
            args.pop(key, None)  # of a judge that is named alone
        grades = ["C", "P", "I"] if args.pop("partial_credit", False) else ["C", "I"]
        rubric = args.pop("instructions", None)
        ends = ", ".join(f"GRADE: {each} {_GRADES[each]}" for each in grades)
        usual = f"{_INSTRUCTIONS[name]} Think first. End with a line, {ends}."
        if rubric is not None:
            grades = [*_WORTH]
        template = args.pop("template", None)
        if template is None or rubric is None:
            self.notices.append(f"{name} gets evalkit's own wording")
        template = template or (_FACT if name == "model_graded_fact" else _GRADED)
        for named, field in (
            ("question", "input"),
            ("answer", "response"),
            ("criterion", "reference"),
            ("instructions", "rubric"),
        ):
            if f"{{{named}}}" not in template and named != "question":
                raise self._error(f"must name {{{named}}}", "args", "template")
            template = template.replace(f"{{{named}}}", f"{{{field}}}")
        judge = {
            "annotator": "judge",
            "model": f"openai:model={called}",
            "prompt": {"user": template},
            "rubric": rubric or usual,
            "verdict": {
                "kind": "label",
                "pattern": args.pop("grade_pattern", None) or _GRADE,
                "values": {each: _WORTH[each] for each in grades},
                "take": "last",
            },
        }
        return Score("judge-mean" if "P" in grades else "judge-rate", judge=judge)

    def _reduce(self, task: HubTask) -> None:
        """Refuse how scores of epochs become one, or compute it."""
        reducer = task.epoch_reducer or "mean"
        if reducer == "mean" or task.epochs == 1:
            return
        draws = {"max": task.epochs}
        if reducer.startswith("pass_at_"):
            draws[reducer] = int(reducer.removeprefix("pass_at_"))
        if reducer not in draws or not self.has_choices:
            problem = f"evalkit does not have {reducer}"
            if reducer in draws:
                problem += " but for the scorer choice"
            raise self._file.error(
                f"{problem}. Leave it out", *self._keys, "epoch_reducer"
            )
        self.scores = [Score("pass-at-k", {"k": draws[reducer]}, _CHOSEN)]

    def _error(self, problem: str, *keys: str) -> DataError:
        return self._file.error(problem, *self._keys, "scorers", self._number, *keys)
