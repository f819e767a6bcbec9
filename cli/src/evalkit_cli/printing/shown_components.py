"""What `evalkit show` prints of plugins, data sets' rows and contracts."""

from __future__ import annotations

import click

from evalkit_cli.printing.streams import (
    echo_json,
    echo_lines,
    plugin_output_to_stderr,
)

_WITHOUT_HOOKS = {
    "commands": "one is a click command (docs/commands.md)",
    "schemas": "one is a pydantic model (docs/authoring/schemas.md)",
}


def show_rows(name: str, limit: int, show_text: bool, as_json: bool) -> None:
    """Print the first rows of a data set.

    Args:
        name: Of the data set.
        limit: How many rows.
        show_text: Whether texts are printed that may hurt.
        as_json: Print JSON.
    """
    from evalkit.reporting import sample_examples
    from evalkit_cli.printing.sample_views import print_sample

    with plugin_output_to_stderr():
        sample = sample_examples(name, limit)
    print_sample(sample, show_text=show_text, as_json=as_json)


def show_component(
    context: click.Context, what: str, as_json: bool, verbose: bool
) -> None:
    """Print the card of a plugin, a command, a schema or a store.

    Args:
        context: Of the command, for the help of others.
        what: Kind and name.
        as_json: Print JSON.
        verbose: Also print what its author says to evalkit only.
    """
    from evalkit.catalog import COMMANDS, SCHEMAS, STORAGE
    from evalkit_cli.printing.cards import print_card
    from evalkit_cli.printing.component_views import (
        describe,
        describe_command,
        describe_schema,
        describe_store,
    )

    kind, _, name = what.partition("/")
    with plugin_output_to_stderr():
        if kind == COMMANDS:
            described = describe_command(name, context)
        elif kind == SCHEMAS:
            described = describe_schema(name)
        elif kind == STORAGE:
            described = describe_store(name)
        else:
            described = describe(kind, name)
    if as_json:
        echo_json(described)
    else:
        print_card(described, verbose=verbose)


def show_contract(kind: str, as_json: bool) -> None:
    """Print what plugins of a kind may implement.

    Args:
        kind: The kind.
        as_json: Print JSON.

    Raises:
        UsageError: There is no such kind.
    """
    from evalkit_cli.printing.contracts import (
        contract_kinds,
        contract_of,
        contract_page,
    )

    if kind in _WITHOUT_HOOKS:
        raise click.UsageError(f"{kind} have no hooks: {_WITHOUT_HOOKS[kind]}.")
    known = contract_kinds()
    if kind not in known:
        raise click.UsageError(f"{kind!r} is none of {', '.join(known)}.")
    if as_json:
        echo_json(contract_of(kind))
    else:
        echo_lines(contract_page(kind).removesuffix("\n"))
