"""`evalkit host`: what a host does in the shell of the server's machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.errors import EvalkitError
from evalkit_cli.commanding import echo, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit_services_server.scan import ScanOutcome


@click.group("host")
def host_command() -> None:
    """Set up the tasks, datasets, rounds and accounts of an evaluation server.

    \b
    Examples:
      evalkit host account ada --administrator
      evalkit host task sentiment --eval-metric accuracy --eval-metric mcc
      evalkit host scan

    The settings name the database and the store: EVALKIT_SERVER_DATABASE and
    EVALKIT_SERVER_STORE.
    """  # noqa: D301 - click reads the backspace


@host_command.command("account")
@click.argument("name")
@click.option("--administrator", is_flag=True, help="Allow changes of everything.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "submit", "administer"]),
    default=["read", "submit", "administer"],
    help="Allow the token only this. Repeatable. Default: all that the account may.",
)
@click.option("--close", is_flag=True, help="Delete its password and tokens instead.")
@click.option(
    "--password",
    envvar="EVALKIT_SERVER_PASSWORD",
    help="Password for the pages. Default for a new account: ask.",
)
def account_command(
    name: str,
    administrator: bool,
    scopes: tuple[str, ...],
    close: bool,
    password: str | None,
) -> None:
    """Add or change an account, and print a new token of it for the API."""
    from sqlalchemy import select

    from evalkit_services_server import accounts
    from evalkit_services_server.database import opened, reading, writing
    from evalkit_services_server.tables import ACCOUNT

    with opened(creates=True) as (engine, _):
        if close:
            with writing(engine) as connection:
                accounts.close_account(connection, name)
            return
        with reading(engine) as connection:
            of_name = select(ACCOUNT.c.id).where(ACCOUNT.c.name == name)
            is_known = connection.scalar(of_name) is not None
        if not is_known and password is None:
            password = _ask_password()
        role = "administrator" if administrator else None
        with writing(engine) as connection:
            key = accounts.save_account(connection, name, password, role)
            token = accounts.create_token(connection, key, scopes)
    if is_known:
        echo(f"account {name!r} exists already: this is a further token", err=True)
    echo(token)


def _ask_password() -> str:
    if not sys.stdin.isatty():
        raise EvalkitError("no terminal to ask at: set EVALKIT_SERVER_PASSWORD")
    asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return asked


@host_command.command("task")
@click.argument("name")
@click.option(
    "--perf-metric", metavar="METRIC", help="Metric that models are sorted by."
)
@click.option(
    "--eval-metric", multiple=True, metavar="METRIC", help="Further metric. Repeatable."
)
@click.option(
    "--delta-metric",
    multiple=True,
    metavar="FAMILY",
    help="Family of perturbations, such as fairness. Repeatable.",
)
def task_command(
    name: str,
    perf_metric: str | None,
    eval_metric: tuple[str, ...],
    delta_metric: tuple[str, ...],
) -> None:
    """Add an installed task, or change its metrics.

    A new metric evaluates all models of the task again.
    """
    from evalkit_services_server.database import opened, writing
    from evalkit_services_server.scan import scan
    from evalkit_services_server.tasks import add_task, change_task

    chosen = {
        "perf_metric": perf_metric,
        "eval_metrics": eval_metric,
        "delta_metrics": delta_metric,
    }
    changes = {key: value for key, value in chosen.items() if value}
    with plugin_output_to_stderr(), opened(creates=True) as (engine, settings):
        with writing(engine) as connection:
            add_task(connection, name)
            requested = change_task(connection, name, **changes)
        outcomes = scan(engine, settings)
    echo(f"{name}: {len(requested)} evaluations requested")
    _show(outcomes)


@host_command.command("dataset")
@click.argument("what", metavar="NAME|FILE")
@click.option(
    "--original", metavar="NAME", help="Dataset that FILE was perturbed from."
)
@click.option(
    "--perturb-prefix", "prefix", metavar="FAMILY", help="Family of its perturbations."
)
def dataset_command(what: str, original: str | None, prefix: str | None) -> None:
    """Add a dataset with parameters, or a file of perturbed examples.

    \b
    Examples:
      evalkit host dataset numbers:language=th
      evalkit host dataset fairness-my-set.jsonl --original my-set --perturb-prefix fairness

    The dataset is sent to the store, and all models of its task are evaluated on it.
    """  # noqa: D301, E501 - click reads the backspace
    from evalkit_services_server import scan
    from evalkit_services_server.database import opened

    if (original is None) != (prefix is None):
        raise click.UsageError("--original and --perturb-prefix belong together.")
    with plugin_output_to_stderr(), opened() as (engine, settings):
        if original is None or prefix is None:
            outcome = scan.add_dataset(engine, settings, what, what)
        else:
            outcome = scan.add_perturbed(engine, settings, what, original, prefix)
    if outcome.outcome not in (scan.ADDED, scan.PRESENT):
        raise EvalkitError(f"{what}: {outcome.outcome}: {outcome.reason}")
    _show([outcome])


@host_command.command("scan")
def scan_command() -> None:
    """Send registered datasets to the store, and request their evaluations."""
    from evalkit_services_server.database import opened
    from evalkit_services_server.scan import scan

    with plugin_output_to_stderr(), opened() as (engine, settings):
        outcomes = scan(engine, settings)
    _show(outcomes)


@host_command.command("backup")
@click.argument("folder", type=click.Path(path_type=Path))
def backup_command(folder: Path) -> None:
    """Write the database, and a manifest of the store, to the new FOLDER.

    The server may run meanwhile. Copy the store afterwards, with your own tools.
    """
    from evalkit_services_server.backups import backup
    from evalkit_services_server.database import opened

    with opened() as (engine, _):
        count = backup(engine, folder)
    echo(f"{folder}: written. It needs {count:,} files of the store")


@host_command.command("restore")
@click.argument("folder", type=click.Path(path_type=Path))
def restore_command(folder: Path) -> None:
    """Restore the backup in FOLDER into an empty database, and check the store."""
    from evalkit_services_server.backups import restore
    from evalkit_services_server.database import connect
    from evalkit_services_server.settings import Settings

    engine = connect(Settings())
    try:
        faults = restore(engine, folder)
    finally:
        engine.dispose()
    for fault in faults:
        echo(fault, err=True)
    if faults:
        raise EvalkitError(f"missing or damaged files in the store: {len(faults):,}")
    echo(f"{folder}: restored")


def _show(outcomes: list[ScanOutcome]) -> None:
    """Print what was done, but for datasets of tasks that the server lacks."""
    for name, outcome, reason in outcomes:
        if outcome != "skipped":
            echo(f"{name}: {outcome}{f': {reason}' if reason else ''}")
