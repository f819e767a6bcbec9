"""`evalkit eval`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.commands.job_evaluation import Shared, evaluate_all, options_of
from evalkit_cli.commands.judge_plans_of_jobs import (
    plans_of_jobs,
    refuse_what_is_not_planned,
)
from evalkit_cli.commands.thresholds import (
    FORM,
    NOT_MET,
    Threshold,
    expect_scores,
    read_thresholds,
    refuse_nonsense,
    say_not_met,
    unmet,
)
from evalkit_cli.options.annotators import (
    against_option,
    annotate_option,
    column_stage,
    run_against,
)
from evalkit_cli.options.asked_models import (
    ask_about_copies,
    chosen_rows,
    jobs_of_models,
    plans_of_models,
    refuse_what_is_not_asked,
)
from evalkit_cli.options.asking import asking_options, limits_given, read_asked
from evalkit_cli.options.benchmarks import (
    Failures,
    evaluable,
    expanded_datasets,
    plan_of,
)
from evalkit_cli.options.choices import (
    adapter_option,
    cluster_option,
    extract_option,
    map_option,
    map_predictions_option,
    normalise_option,
    policy_options,
    read_names,
    setting,
    several_data_options,
)
from evalkit_cli.options.completion import complete_names
from evalkit_cli.options.evaluation import evaluation_options
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.metrics import chosen_metrics, metric_options
from evalkit_cli.options.perturbations import perturbed_options, with_copies
from evalkit_cli.options.prediction_sources import (
    Job,
    jobs_of_files,
    jobs_of_folder,
    jobs_that_ship,
    single_model,
    spool_folder,
)
from evalkit_cli.options.runs import (
    folder_with,
    format_with,
    json_with,
    quiet_option,
    verbose_option,
)
from evalkit_cli.options.scoring import (
    load_engine,
    observer_option,
    running,
    scoring_options,
)
from evalkit_cli.printing.planned_requests import print_plans
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import (
    echo,
    echo_json,
    echo_wrapped,
    plugin_output_to_stderr,
)
from evalkit_cli.printing.tables import draw
from evalkit_cli.printing.unread_answers import warn_of_unread

if TYPE_CHECKING:
    from evalkit import Registry, Result
    from evalkit_analysis_suites import SuitePlan
    from evalkit_benchmarks_declared import Expansion, Mean


@click.command("eval")
@several_data_options
@click.option(
    "-p",
    "--predictions",
    "files",
    multiple=True,
    metavar="[MODEL=]FILE|RUN",
    help="Predictions: a path, a URI such as s3://bucket/file.jsonl, - for the "
    "standard input, or a run to evaluate again. Repeatable for several models. "
    "Default: the predictions that ship with the dataset.",
)
@setting(
    "--suite",
    metavar="FILE|NAME",
    shell_complete=complete_names("suites"),
    help="Evaluate the datasets of this suite, then show its leaderboard.",
)
@setting(
    "--predictions-dir",
    type=click.Path(file_okay=False),
    help="Folder of one model's predictions, with a file named after each dataset "
    "(of --task or --suite) to evaluate.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_names("models"),
    help="Name of the model of the predictions (default: the file's stem), or the "
    "model to ask: NAME[:KEY=VALUE,…] or FILE.py:FUNCTION. Repeatable.",
)
@click.option("--model-name", metavar="NAME", help="Name of the asked model in runs.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Ask and score nothing; show the first requests and how many there would be.",
)
@asking_options
@map_option
@map_predictions_option
@normalise_option
@extract_option
@adapter_option
@metric_options
@annotate_option
@against_option
@cluster_option
@policy_options
@scoring_options
@perturbed_options
@folder_with("Folder that runs are written to", "out")
@setting(
    "--no-examples",
    is_flag=True,
    help="Leave answers, predictions, rejected values and columns of the data out of "
    "the run folder.",
)
@setting(
    "--keep",
    metavar="NAME[,…]|none",
    callback=read_names,
    help="Columns of the data to keep for `show RUN --by`, joined by commas. Default: "
    "those of at most 50 values of at most 64 characters that no model is sent.",
)
@setting(
    "--fail-under",
    "thresholds",
    multiple=True,
    metavar=FORM,
    help="Exit with 3 if a score is worse than accuracy=0.8, accuracy=80%@lower (or "
    "@upper), accuracy@TAG=0.7, accuracy@macro:FACET=0.7 or DATASET:accuracy=0.7.",
)
@observer_option
@json_with("Print run.json; a list of them for several models or data sets.")
@format_with("How scores are printed.")
@quiet_option
@verbose_option
@plugin_option
def eval_command(
    datasets: tuple[str, ...],
    data: str | None,
    task: str | None,
    files: tuple[str, ...],
    predictions_dir: str | None,
    suite: str | None,
    models: tuple[str, ...],
    model_name: str | None,
    dry_run: bool,
    metrics: tuple[str, ...],
    params: Path | None,
    out: Path,
    as_json: bool,
    table_format: str,
    quiet: bool,
    verbose: bool,
    thresholds: tuple[str, ...],
    **options: Any,
) -> None:
    """Score predictions on a data set, for the whole set and every tag.

    \b
    Examples:
      evalkit eval sample-sentiment
      evalkit eval hatecheck --predictions my-model.jsonl
      evalkit eval --task nli --predictions-dir my-model/
      evalkit eval --data my-set.jsonl --task qa -p my-model.jsonl --cluster text_id
      evalkit eval hatecheck -p a=run1.jsonl -p b=run2.csv -m macro-f1:labels=seen
      evalkit eval --data my-set.jsonl --task nli -p my-model.jsonl
      evalkit eval hatecheck -p my-model.jsonl --fail-under accuracy=0.8@lower
      evalkit eval hatecheck -p my-model.jsonl --by functionality,target --min-n 20
      evalkit eval sample-nli -p my-model.jsonl --perturbed robustness-lowercase.jsonl
      evalkit eval sample-nli -p my-model.jsonl --perturbed 3f2a
      evalkit eval sample-nli sample-qa --model echo --model my-model.py:predict
      evalkit eval --suite tweeteval --predictions-dir my-model/

    Exit codes: 0 done; 1 an error, refused predictions, or a metric that failed; 2
    wrong usage; 3 a score that --fail-under does not let pass.
    """  # noqa: D301 - click reads the backspace
    from evalkit import Registry

    least = read_thresholds(thresholds)
    registry = Registry()
    is_asked = bool(models) and not files and predictions_dir is None
    others = {"--model without -p": is_asked, "--dry-run": dry_run}
    others |= {f"--{name}": options[name] for name in ("against", "perturbed")}
    engine = load_engine(options.pop("engine"), registry, others)
    asking = read_asked(options, is_asked, is_judged=bool(options["annotators"]))
    if model_name is not None and not is_asked:
        raise click.UsageError("--model-name is for a model that is asked (--model).")
    unasked: Failures = {}
    plan = plan_of(suite, registry) if suite else None
    expanded = _expanded(datasets, data, task, files, predictions_dir, plan)
    evaluated = evaluable(expanded, registry, unasked)
    names = [*evaluated]
    splits = plan.splits if plan else {}
    rows = partial(chosen_rows, names, task, options, splits, asking)
    if is_asked:
        refuse_what_is_not_asked(names, models, options, asking)
    elif dry_run:
        refuse_what_is_not_planned(options)
    if dry_run and is_asked:
        with plugin_output_to_stderr():
            several, copies = rows(lambda *_: None, quiet), options["perturbed"]
            plans = plans_of_models(models, model_name, copies, several, out)
        print_plans(plans, as_json=as_json)
        return
    model = None if is_asked else single_model(models)
    work: Iterable[Job]
    with plugin_output_to_stderr(), spool_folder() as folder:
        # before any model is asked, as a declaration may be wrong
        limits = limits_given(click.get_current_context())
        limits |= {"dry_run": True} if dry_run else {}
        options["columns"] = column_stage(registry, options["annotators"], limits)
        options["against"] = run_against(options["against"], out)
        with watched(quiet) as progress:
            if is_asked:  # as they are evaluated: what breaks off keeps those before
                several, declares = rows(progress, quiet), not options["perturbed"]
                work = jobs_of_models(
                    models, model_name, several, folder, unasked, declares
                )
                work = ask_about_copies(work, models, options, several, folder, out)
            elif predictions_dir is None:
                work = _jobs(
                    registry, names, files, model, quiet, folder, out, bool(plan)
                )
            else:
                where = predictions_dir, task, model, quiet
                work = jobs_of_folder(registry, *where, names)
                task = None
            work, sets = _scored(with_copies(work, options, out), evaluated)
            how = evaluation_options(options, chosen_metrics(registry, metrics, params))
            shared = Shared(registry, how, task, out, progress, plan, engine)
            _refuse_nonsense(least, sets, shared)
            judged = plans_of_jobs([*work], shared) if dry_run else []
            several_sets = len(sets) > 1
            with running(engine, progress):
                results, failed = evaluate_all(
                    work, shared, folder, unasked, several_sets
                )
    if dry_run:
        print_plans(judged, as_json=as_json)
        return
    warn_of_unread(results)
    means = [mean for each in expanded for mean in each.means(results)]
    if as_json:
        records = [*map(_record, results), *(mean.to_dict() for mean in means)]
        is_one = len(records) == 1 and not failed and predictions_dir is None
        echo_json(records[0] if is_one else records)
    elif results:
        is_named = sum(len(each.evaluated) for each in expanded) > 1
        _print(results, table_format, is_named, quiet=quiet, verbose=verbose)
        _print_means(means, options["confidence"], table_format)
        _print_board(suite, out, table_format)
    _exit_with_code(results, least, failed, plan)


def _print_means(means: Sequence[Mean], confidence: float, table_format: str) -> None:
    """Print means over the variants of benchmarks, and why one has no interval."""
    if not means or table_format == "csv":
        return
    from evalkit_cli.printing import score_cells as cells

    ci = f"{confidence * 100:g} % CI"
    rows = [["benchmark", "model", "metric", "score", ci, "variants"]]
    shows = cells.score_label, cells.show_value, cells.show_interval
    for mean in means:
        shown = [mean.dataset, mean.model, *(show(mean.score) for show in shows)]
        rows.append([*shown, f"{len(mean.variants)} of {mean.size}"])
    echo()
    draw(rows, table_format)
    for mean in means:
        if mean.score.reason:
            echo_wrapped(f"{mean.dataset}: {mean.score.reason}", err=True)


def _print_board(suite: str | None, out: Path, table_format: str) -> None:
    """Print the leaderboard of a suite, as `evalkit leaderboard` does."""
    if suite is None:
        return
    root = click.get_current_context().find_root()
    group: Any = root.command
    arguments = ["leaderboard", str(out), "--suite", suite, "--format", table_format]
    if table_format == "csv":  # one table is on the standard output
        echo(f"evalkit: notice: to see it: evalkit {' '.join(arguments)}", err=True)
        return
    try:
        name, command, rest = group.resolve_command(root, arguments)
    except click.UsageError:
        echo(
            "evalkit: notice: no leaderboard without evalkit-commands-report", err=True
        )
        return
    echo()
    command.main(rest, name, standalone_mode=False, parent=root)


def _expanded(
    datasets: tuple[str, ...],
    data: str | None,
    task: str | None,
    files: tuple[str, ...],
    predictions_dir: str | None,
    plan: SuitePlan | None,
) -> list[Expansion]:
    """Return the data sets that were named, unless files name them."""
    if plan is None and predictions_dir is None:
        return expanded_datasets(datasets, data, task)
    if datasets or data or files:
        raise click.UsageError(
            "--predictions-dir or --suite names the data sets; give it without a data "
            "set, --data and --predictions."
        )
    return plan.expanded if plan else []


def _scored(
    work: Iterable[Job], evaluated: Mapping[str, Sequence[str]]
) -> tuple[Iterator[Job], Sequence[str]]:
    """Return jobs for each extractor, as they come, and the data sets of them all."""
    sets = [name for several in evaluated.values() for name in several]
    sets = sets or [job.dataset for job in work]
    found = (
        job._replace(dataset=name)
        for job in work
        for name in evaluated.get(job.dataset, [] if evaluated else [job.dataset])
    )
    return found, sets


def _refuse_nonsense(
    thresholds: list[Threshold], datasets: Iterable[str], shared: Shared
) -> None:
    """Refuse thresholds that no score could be compared with, before work begins."""
    if not thresholds:
        return
    from evalkit.errors import EvalkitError

    expected = []
    for dataset in datasets:
        try:
            options = options_of(dataset, shared)
            expected.append(
                expect_scores(dataset, options, shared.task, shared.registry)
            )
        except EvalkitError:
            return  # the evaluation says why it cannot be done
    refuse_nonsense(thresholds, expected)


def _record(result: Result) -> dict[str, Any]:
    if not result.perturbed:
        return result.to_dict()
    from evalkit_analysis_robustness import record_of

    return record_of(result)


def _exit_with_code(
    results: list[Result],
    thresholds: list[Threshold],
    failed: bool,
    plan: SuitePlan | None,
) -> None:
    """Tell which thresholds are not met; a failure weighs more than they do."""
    for line in plan.lacking(results) if plan else ():
        echo(f"evalkit: error: {line}", err=True)
        failed = True
    perturbed = (run for result in results for run in result.perturbed or ())
    failed = failed or any(result.is_failed for result in (*results, *perturbed))
    lines = []
    try:
        lines = unmet(results, thresholds)
    except click.UsageError as error:
        if not failed:
            raise
        echo(f"evalkit: error: {error.message}", err=True)
    for line in lines:
        say_not_met(line)
    if failed or lines:
        raise click.exceptions.Exit(1 if failed else NOT_MET)


def _jobs(
    registry: Registry,
    datasets: list[str],
    files: tuple[str, ...],
    model: str | None,
    quiet: bool,
    folder: Path,
    runs: Path,
    is_suite: bool,
) -> list[Job]:
    if not files:
        how = quiet, is_suite
        return [job for x in datasets for job in jobs_that_ship(registry, x, *how)]
    if len(datasets) > 1:
        raise click.UsageError(
            f"-p names predictions on one data set, got {', '.join(datasets)}. Name "
            "one; --predictions-dir takes files named after installed data sets."
        )
    return jobs_of_files(datasets[0], files, model, folder, runs)


def _print(results: list[Result], form: str, is_named: bool, **how: bool) -> None:
    from evalkit_cli.printing.reports import print_overview, print_report

    shown_results = [result for result in results if result.status != "refused"]
    by_dataset: dict[str | None, list[Result]] = {}
    for result in shown_results:
        by_dataset.setdefault(result.dataset, []).append(result)
    if form == "csv" and shown_results:
        print_report(shown_results, form, **how)
    elif (is_named or len(by_dataset) > 1) and not how["verbose"]:
        print_overview(shown_results, form, quiet=how["quiet"])
    else:
        for place, group in enumerate(by_dataset.values()):
            if place:
                echo()
            print_report(group, form, **how)
