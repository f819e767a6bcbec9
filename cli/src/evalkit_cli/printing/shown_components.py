"""What `evalkit show` prints of plugins, data sets' rows and contracts."""

from __future__ import annotations

import inspect

import click

from evalkit_cli.printing.streams import echo_json, echo_lines, plugin_output_to_stderr


def show_rows(name: str, limit: int, show_text: bool, as_json: bool) -> None:
    """Print the first rows of a data set."""
    from evalkit.reporting import sample_examples
    from evalkit_cli.printing.sample_views import print_sample

    with plugin_output_to_stderr():
        sample = sample_examples(name, limit)
    print_sample(sample, show_text=show_text, as_json=as_json)


def show_component(
    context: click.Context, what: str, as_json: bool, verbose: bool
) -> None:
    """Print the card of a plugin."""
    from evalkit_cli.printing.cards import print_card
    from evalkit_cli.printing.component_views import describe, describe_command

    kind, _, name = what.partition("/")
    with plugin_output_to_stderr():
        if kind == "commands":
            described = describe_command(name, context)
        else:
            described = describe(kind, name)
    if as_json:
        echo_json(described)
    else:
        print_card(described, verbose=verbose)


def show_contract(kind: str, as_json: bool) -> None:
    """Print what plugins of a kind may implement."""
    from evalkit import find_components
    from evalkit.catalog import kind_named
    from evalkit_cli.printing.contracts import contract_of, contract_page

    known = [each.name for each in find_components().kinds]
    if kind not in known:
        raise click.UsageError(f"{kind!r} is none of {', '.join(known)}.")
    spec = kind_named(kind)
    if not spec.hooks:
        raise click.UsageError(inspect.cleandoc(spec.spec.__doc__ or ""))
    if as_json:
        echo_json(contract_of(kind))
    else:
        echo_lines(contract_page(kind).removesuffix("\n"))
