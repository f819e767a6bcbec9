"""Writes `docs/authoring/mistakes.md`: what evalkit says of mistakes of authors.

Each mistake of `tests/author_mistakes` is made in a distribution that is thrown away,
and tried; the page holds what was said.
"""

from __future__ import annotations

import html
import os
import random
import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import evalkit
from evalkit.catalog import Component
from evalkit.errors import EvalkitError
from evalkit.places import forget_places
from evalkit_commands_perturb import perturb
from evalkit_models_base import predict
from evalkit_testing.conformance import check_of
from evalkit_testing.throw_away import ThrowAway, on_the_path, write_distribution

DOCS = Path(__file__).parent
FOLDER = DOCS.parent / "tests" / "author_mistakes"
PAGE = DOCS / "authoring" / "mistakes.md"

ROWS = [
    {"uid": "a", "statement": "What a film!", "label": "positive"},
    {"uid": "b", "statement": "I left early.", "label": "negative"},
]
SAID = [{"id": row["uid"], "label": row["label"]} for row in ROWS]
OF_ROWS = {"data": ROWS, "predictions": SAID, "task": "sentiment"}

WAYS = {
    "use": "when it is used",
    "list": "`evalkit list --check`",
    "kit": "the conformance kit",
}
"""How a mistake is found."""


class Mistake(NamedTuple):
    """A mistake of an author, and what has to be said of it."""

    kind: str
    title: str
    """What is wrong, as a reader knows it."""
    way: str
    """How it is found, one of `WAYS`."""
    code: str
    """The plugin's module."""
    what: str
    """The part of the message that says what is wrong."""
    where: str
    """The part that says where: an attribute, a hook, a line, a field."""
    mend: str
    """The part that says what to do."""
    name: str = "mine"
    """The component's name."""
    object: str = "Mine"
    """What its entry point names."""
    groups: Mapping[str, Mapping[str, str]] | None = None
    """All entry points, in place of one of the kind."""
    metadata: Mapping[str, str] | None = None
    """Fields of the metadata that differ."""
    version: str = "0.1.0"
    law: str | None = None
    """The law of distributions that is checked; None for those of the kind."""
    options: Mapping[str, Any] | None = None
    """What else the check of the kind is given."""
    has_process: bool = False
    """Whether it needs a process of its own, as it would end this one or change it."""

    @property
    def distribution(self) -> str:
        """The distribution that it is made in."""
        return f"evalkit-{self.kind}-mine"

    @property
    def origin(self) -> str:
        """The component's id."""
        return f"{self.kind}/{self.name}"


def read_mistakes() -> list[Mistake]:
    """Return all mistakes, by kind and in the order of their files."""
    return [
        Mistake(path.stem, **fields)
        for path in sorted(FOLDER.glob("*.toml"))
        for fields in tomllib.loads(path.read_text(encoding="utf-8"))["mistakes"]
    ]


def said_of(mistake: Mistake) -> str:
    """Make a mistake, try it, and return what is said of it.

    Args:
        mistake: The mistake.

    Returns:
        The message, "" for none; names that differ each time are made the same.
    """
    groups = mistake.groups or {
        f"evalkit.{mistake.kind}": {mistake.name: mistake.object}
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = write_distribution(
            folder / "site",
            mistake.code,
            groups,
            name=mistake.distribution,
            version=mistake.version,
            metadata=mistake.metadata,
        )
        (folder / "empty").mkdir()
        stack.enter_context(chdir(folder / "empty"))
        stack.enter_context(on_the_path(made))
        stack.enter_context(_alone(mistake))
        forget_places()
        random.seed(0)  # for mistakes that are random
        text = "\n".join(_TRIES[mistake.way](mistake))
    return _same_each_time(text, made, folder)


@contextmanager
def _alone(mistake: Mistake) -> Iterator[None]:
    needed = "evalkit-tasks-text,evalkit-perturbations-text,evalkit-adapters-extraction"
    own = {"EVALKIT_ALLOW_PLUGINS": f"{mistake.distribution},{needed}"}
    with patch.dict(os.environ, own if mistake.way == "list" else {}):
        yield


def _same_each_time(text: str, made: ThrowAway, folder: Path) -> str:
    text = text.replace(made.module, "my_plugin").replace(str(made.folder), "…")
    text = re.sub(r" at 0x[0-9a-f]+", " at 0x…", text.replace(str(folder), "…"))
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _use(mistake: Mistake) -> Iterator[str]:
    """Use it as a user would."""
    try:
        done = _USES[mistake.kind](mistake.name)
    except EvalkitError as error:
        yield str(error)
        return
    if not isinstance(done, evalkit.Result):
        return
    yield from done.notices
    for problem in done.problems:
        yield from (each.rule for each in problem.violations)
        if problem.reason:
            yield problem.reason
    yield from filter(None, (score.reason for score in done.scores))


def _adapt(name: str) -> object:
    from evalkit_adapters_rows import pipeline

    return [*pipeline([{"kind": name}])(SAID)]


def _run(name: str) -> object:
    from click.testing import CliRunner

    from evalkit_cli.main import cli

    done = CliRunner().invoke(cli, [name])
    raise EvalkitError(done.output)


def _product(name: str) -> object:
    from evalkit_schemas_standard import product

    return product([name])


_USES: Mapping[str, Any] = {
    "metrics": lambda name: evalkit.evaluate(**OF_ROWS, metrics=[name]),
    "datasets": lambda name: evalkit.evaluate(name, SAID),
    "tasks": lambda name: evalkit.evaluate(**{**OF_ROWS, "task": name}),
    "perturbations": lambda name: [*perturb(ROWS, name, task="sentiment")],
    "adapters": _adapt,
    "models": lambda name: predict(data=ROWS, task="sentiment", model=name),
    "observers": lambda name: evalkit.evaluate(**OF_ROWS, observers=[name]),
    "storage": lambda name: evalkit.evaluate(
        **{**OF_ROWS, "predictions": f"{name}://place/said.jsonl"}
    ),
    "commands": _run,
    "schemas": _product,
}


def _list(mistake: Mistake) -> Iterator[str]:
    """Run `evalkit list --check`."""
    from click.testing import CliRunner

    from evalkit_cli.main import cli

    kinds = (
        [mistake.kind]
        if mistake.kind in ("observers", "commands", "schemas", "storage")
        else []
    )
    with ExitStack() as stack:
        if not mistake.has_process:
            where = "evalkit_cli.commands.checking.check_components"
            stack.enter_context(patch(where, _check_here))
        printed = CliRunner().invoke(cli, ["list", *kinds, "--check"]).output
    for line in printed.splitlines():
        if mistake.distribution in line:
            yield line


def _check_here(components: Sequence[Component], timeout: float) -> list[Any]:
    """Check components as `list --check` does, in this process."""
    from evalkit_cli.commands.checking import Outcome, _load

    return [Outcome(each, _load(each)[0], 0.0) for each in components]


def _check(mistake: Mistake) -> Iterator[str]:
    """Have the kit check it."""
    from evalkit_testing.distributions import check_distribution

    try:
        if mistake.law is not None:
            check_distribution(mistake.distribution, laws=[mistake.law])
            return
        options = dict(mistake.options or {})
        own = () if mistake.kind == "storage" else (mistake.name,)
        check = check_of(mistake.kind)
        assert check is not None
        check(*own, **options)
    except (AssertionError, EvalkitError) as error:
        yield str(error)


_TRIES = {"use": _use, "list": _list, "kit": _check}


KINDS = {"datasets": "Data sets", "storage": "Stores"}
"""Kinds that are not called like their group."""

HEAD = """# Mistakes, and what evalkit says of them

{count} mistakes of authors, each with the message as it is printed: it names the
plugin, its distribution, what is wrong, where, and what to do. The plugins are called
`mine`, in a distribution `evalkit-KIND-mine` whose module is `my_plugin`. A test makes
each of them; their sources are in
[`tests/author_mistakes`](../../tests/author_mistakes).

Some are found by [`evalkit list --check`](../cli.md), some when the plugin is used, as
they show in what a hook returns, and some by the [conformance kit](../testing.md)
alone: run it before you publish.
"""


def page(messages: Sequence[tuple[Mistake, str]]) -> str:
    """Return the page.

    Args:
        messages: Each mistake, and what is said of it.
    """
    lines = [HEAD.format(count=len(messages))]
    kinds = dict.fromkeys(mistake.kind for mistake, _ in messages)
    for kind in kinds:
        lines += [f"## {KINDS.get(kind, kind.capitalize())}", ""]
        lines += ["| mistake | found by | message |", "|---|---|---|"]
        for mistake, message in messages:
            if mistake.kind == kind:
                cells = (mistake.title, WAYS[mistake.way], _cell(message))
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(message: str) -> str:
    """Return a message as code that stands in a table, its lines below each other."""
    return "<br>".join(
        f"<code>{html.escape(line.strip(), quote=False)}</code>".replace("|", "&#124;")
        for line in message.splitlines()
    )


def main() -> None:
    """Write the page."""
    said = [(mistake, said_of(mistake)) for mistake in read_mistakes()]
    PAGE.write_text(page(said), encoding="utf-8")


if __name__ == "__main__":
    main()
