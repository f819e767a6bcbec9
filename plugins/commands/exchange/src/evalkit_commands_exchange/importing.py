"""Finds the runs of other tools in a folder, and imports them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.errors import EvalkitError
from evalkit_benchmarks_peers.peer_files import component_name
from evalkit_commands_exchange.imports import ImportedRun

if TYPE_CHECKING:
    from evalkit import Registry, Result


class Imported(NamedTuple):
    """What a folder holds."""

    runs: list[tuple[ImportedRun, Result | None, list[dict[str, Any]]]]
    """Each run, evalkit's run of it, and the scores of both. There is no run of
    evalkit after a dry run, or without examples."""
    failures: list[str]
    unread: list[Path]
    """Files that belong to no imported run."""
    notices: list[str]
    """What names of datasets stand for, and models with several runs on one."""


def import_runs(
    folder: Path,
    out: Path,
    registry: Registry,
    *,
    only: Sequence[str] = (),
    dry_run: bool = False,
    progress: Callable[[str, float], None] = lambda _text, _share: None,
) -> Imported:
    """Import the runs of other tools in a folder whose datasets match a pattern."""
    from evalkit_commands_exchange.evaluating import compare_scores, evaluate_imported

    files = sorted(path for path in folder.rglob("*") if path.is_file())
    imported, read, notices = Imported([], [], [], []), set[Path](), dict[str, str]()
    installed = {each.name for each in registry.catalog.of_kind("datasets")}
    for number, path in enumerate(files):
        progress(f"importing {path.name}", number / len(files))
        readers: list[Callable[[], ImportedRun]] = []
        with _noted(path, imported.failures):
            readers = _readers(path)
        for reader in readers:
            with _noted(path, imported.failures):
                run = _renamed(reader(), out, installed)
                read.update(run.files)
                if only and not any(fnmatchcase(run.dataset, each) for each in only):
                    continue
                is_scored = bool(run.examples) and not dry_run
                result = evaluate_imported(run, out, registry) if is_scored else None
                name = str(result.dataset) if result else run.dataset
                if result and (plain := name.partition(":")[0]) != run.name:
                    source = f"{run.source.relative_to(folder)}: {run.name} has others"
                    notices.setdefault(plain, f"{plain} has the examples of {source}")
                compared = compare_scores(run, result)
                imported.runs.append((run._replace(dataset=name), result, compared))
    imported.unread.extend(path for path in files if path not in read)
    imported.notices.extend([*notices.values(), *_several(imported, folder)])
    return imported


def _renamed(run: ImportedRun, out: Path, installed: set[str]) -> ImportedRun:
    """Put the tool before a name that another dataset has."""
    is_imported = (out / "imported" / f"{run.dataset}.yaml").exists()
    is_evaluated = (out / run.name).exists() and not is_imported
    if not run.examples or not (run.name in installed or is_evaluated):
        return run
    tool = run.tool.replace("lm-evaluation-harness", "lm-eval")
    return run._replace(dataset=component_name(tool, run.dataset))


def _several(imported: Imported, folder: Path) -> Iterator[str]:
    """Yield a notice for a model with several runs on one dataset."""
    sources: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for run, result, _ in imported.runs:
        if result is not None:
            sources[run.model, run.dataset].append(run.source)
    datasets: dict[tuple[str, int, Path], list[str]] = defaultdict(list)
    for (model, dataset), several in sources.items():
        datasets[model, len(several), several[-1]].append(dataset)
    for (model, count, last), names in datasets.items():
        if count > 1:
            shown = f"{', '.join(names)}: {count} runs each. Leaderboards show "
            yield f"{model} on {shown}{last.relative_to(folder)}"


@contextmanager
def _noted(path: Path, failures: list[str]) -> Iterator[None]:
    """Note an error, with the file that it is about."""
    try:
        yield
    except (EvalkitError, OSError) as error:
        is_named = str(path.parent) in str(error)
        failures.append(str(error) if is_named else f"{path}: {error}")
    except (
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        problem = f"{type(error).__name__}: {error}"
        failures.append(f"{path}: unknown form of file ({problem})")


def _readers(path: Path) -> list[Callable[[], ImportedRun]]:
    """Return a function for each run that a file is the record of."""
    from evalkit_commands_exchange import hub_folders, seahelm_folders
    from evalkit_commands_exchange.helm_folders import SPEC, read_helm
    from evalkit_commands_exchange.inspect_folders import is_log, read_inspect
    from evalkit_commands_exchange.lm_eval_folders import read_lm_eval

    if path.name == SPEC:
        return [partial(read_helm, path.parent)]
    if fnmatchcase(path.name, seahelm_folders.PATTERN):
        return [*seahelm_folders.read_seahelm(path)]
    if fnmatchcase(path.name, "results*.json"):
        return [*read_lm_eval(path)]
    if path.suffix == ".eval" or is_log(path):
        return [partial(read_inspect, path)]
    if path.parent.name == hub_folders.FOLDER and path.suffix == ".yaml":
        return [*hub_folders.read_hub(path)]
    return []
