"""Prompts of evalkit that ask what solvers of Inspect do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from evalkit.errors import DataError
from evalkit_benchmarks_peers.hub_spec import HubTask, Solver
from evalkit_benchmarks_peers.peer_files import PeerFile, escaped

LETTERS = "letters"
"""Field with the letters of an example's options."""

REASONED = (
    "{prompt}\n\nThink step by step. End with a line of the form ANSWER: TEXT, in "
    "which TEXT is your answer to the question."
)
_CHOOSE = "Choose the right answer to the question. "
_LINE = "of the form ANSWER: LETTER, in which LETTER is one of {letters}.\n\n"
_QUESTION = "{question}\n\n{choices}"
CHOSEN = f"{_CHOOSE}Your whole reply is one line {_LINE}{_QUESTION}"
CHOSEN_REASONED = f"{_CHOOSE}Think step by step. End with a line {_LINE}{_QUESTION}"
"""Evalkit's own wording, where a file has no template."""

_REFUSED = {
    "use_tools": "evalkit gives models no tools",
    "self_critique": "evalkit asks once",
}
_SETTINGS = {
    **{key: key for key in ("temperature", "top_p", "top_k", "max_tokens", "seed")},
    **{key: key for key in ("frequency_penalty", "presence_penalty")},
    "stop_seqs": "stop",
}
_IDLE = ("tool_calls", "cache")
"""Arguments of `generate` that change nothing where there are no tools."""


def field_of(name: str) -> str:
    """Return the field of a column of metadata."""
    return f"metadata_{name}"


class Prompting:
    """Goes through the solvers of a task.

    Args:
        file: The file.
        task: The task.
        keys: Where it is.

    Attributes:
        settings: How the model generates.
        named: Columns of metadata that templates name.
        has_choices: Whether options are shown.
        notices: What a user should know.

    Raises:
        DataError: A solver does what evalkit cannot.
    """

    def __init__(
        self, file: PeerFile, task: HubTask, keys: Sequence[str | int]
    ) -> None:
        self._file, self._task, self._keys = file, task, keys
        self._messages, self.settings = ["{input}"], dict[str, Any]()
        self._system: str | None = None
        self.named: dict[str, None] = {}
        self.notices: list[str] = []
        self.has_choices = False
        asked = ""
        for self._number, solver in enumerate(task.solvers):
            if solver.name in _REFUSED:
                raise self._error(f"{solver.name}: {_REFUSED[solver.name]}", "name")
            if asked:
                raise self._error(
                    f"{solver.name} is behind {asked}, which asks", "name"
                )
            getattr(self, f"_{solver.name}")(solver)
            if solver.name in ("generate", "multiple_choice"):
                asked = solver.name
        if not asked:
            raise self._error("expected generate or multiple_choice as the last one")

    def prompt(self) -> dict[str, Any]:
        """Return the prompt."""
        *before, query = self._messages
        found: dict[str, Any] = {"query": query, "generate": self.settings}
        if before:
            found["turns"] = [{"role": "user", "content": text} for text in before]
        if self._system is not None:
            found["system"] = self._system
        if before or self._system is not None:
            found["form"] = "chat"
        if self.has_choices:
            letters = [chr(ord("A") + n) for n in range(26)]
            line = {"line": "{letter}) {choice}", "letters": letters}
            order = "shuffled" if self._task.shuffle_choices else "given"
            found |= {"method": "joint", "choices": {**line, "order": order}}
        return found

    def _prompt_template(self, solver: Solver) -> None:
        params, template = self._args(solver, "template")
        self._fill(template, params)

    def _chain_of_thought(self, solver: Solver) -> None:
        self._known(solver, "template")
        self._fill(self._worded(solver, REASONED), {})

    def _system_message(self, solver: Solver) -> None:
        params, template = self._args(solver, "template")
        if self._system is not None:
            raise self._error("a prompt has one system message", "name")
        named = {**self.named}
        self._system = self._formatted(template, params)
        if self.named != named:
            raise self._error("the system message is the same for all", "args.template")

    def _user_message(self, solver: Solver) -> None:
        params, template = self._args(solver, "template")
        self._messages.append(self._formatted(template, params))

    def _generate(self, solver: Solver) -> None:
        for key, value in solver.args.items():
            if key in _SETTINGS:
                self.settings[_SETTINGS[key]] = value
            elif key not in _IDLE:
                raise self._error("evalkit does not have this", "args", key)

    def _multiple_choice(self, solver: Solver) -> None:
        self._known(solver, "template", "cot", "multiple_correct", "max_tokens")
        args = solver.args
        if args.get("multiple_correct"):
            problem = "evalkit reads one letter, so must be false"
            raise self._error(problem, "args", "multiple_correct")
        if args.get("max_tokens") is not None:
            self.settings["max_tokens"] = args["max_tokens"]
        usual = CHOSEN_REASONED if args.get("cot") else CHOSEN
        template = self._worded(solver, usual)
        for name in ("question", "choices"):
            if f"{{{name}}}" not in template:
                raise self._error(f"must name {{{name}}}", "args", "template")
        fields = {"choices": "{choices}", "letters": f"{{{LETTERS}}}"}
        question = {"question": self._messages[-1]}
        self._messages[-1] = self._formatted(template, {}, fields | question)
        self.has_choices = True

    def _worded(self, solver: Solver, usual: str) -> str:
        template = solver.args.get("template")
        if template is not None:
            return str(template)
        self.notices.append(f"{solver.name} has no template, and gets evalkit's own")
        return usual

    def _fill(self, template: str, params: Mapping[str, Any]) -> None:
        fields = {} if "prompt" in params else {"prompt": self._messages[-1]}
        self._messages[-1] = self._formatted(template, params, fields)

    def _formatted(
        self,
        template: str,
        params: Mapping[str, Any],
        fields: Mapping[str, str] | None = None,
    ) -> str:
        """Return a template in braces; what nobody knows stays as it is."""
        made = []
        try:
            parts = [*Formatter().parse(template)]
        except ValueError as error:
            raise self._error(f"invalid template: {error}", "args") from error
        for literal, name, form, conversion in parts:
            made.append(escaped(literal))
            if name is None:
                continue
            first = name.partition(".")[0].partition("[")[0]
            columns = self._task.field_spec.metadata or []
            known = {**(fields or {}), **dict.fromkeys([*columns, *params])}
            if first in known and (first != name or form or conversion):
                raise self._error(f"unsupported placeholder {name!r}", "args")
            if name in params:
                made.append(escaped(str(params[name])))
            elif name in (fields or {}):
                made.append(known[name] or "")
            elif name in columns:
                self.named[name] = None
                made.append(f"{{{field_of(name)}}}")
            else:
                made.append(escaped(f"{{{name}}}"))
        return "".join(made)

    def _args(self, solver: Solver, key: str) -> tuple[dict[str, Any], str]:
        params = dict(solver.args)
        if not isinstance(params.get(key), str):
            raise self._error("must be a text", "args", key)
        return params, str(params.pop(key))

    def _known(self, solver: Solver, *names: str) -> None:
        for key in solver.args:
            if key not in names:
                raise self._error("evalkit does not know this key", "args", key)

    def _error(self, problem: str, *keys: str) -> DataError:
        return self._file.error(problem, *self._keys, "solvers", self._number, *keys)
