"""The kind of plugins that are engines: they run functions in other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from evalkit.catalog import Kind
from evalkit.errors import EvalkitError
from evalkit.hookspecs import hookspec

if TYPE_CHECKING:
    from evalkit.examples.table import Examples
    from evalkit.predictions.alignment import Alignment
    from evalkit_engines_dask.evaluation import Evaluation


class LostWorkerError(EvalkitError):
    """A task killed its workers more often than the engine allows."""


class EngineSpec:
    """Hooks of an engine."""

    @hookspec(firstresult=True)
    def submit(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        name: str,
        resources: Mapping[str, float],
    ) -> Any:
        """Start a call on any worker, as soon as one is free.

        Args:
            function: Function of a module that workers can import.
            arguments: Its arguments, which can be pickled.
            name: What a person reads of the task, such as `part 3 of preds.jsonl`.
            resources: Resources that the worker must have, such as `{"gpu": 1}`.

        Returns:
            A task, for `gather` and `cancel`.

        Raises:
            EvalkitError: No worker has the resources.
        """

    @hookspec(firstresult=True)
    def gather(
        self, tasks: Sequence[Any], done: Callable[[int, Any], None]
    ) -> list[Any]:
        """Wait for tasks.

        Args:
            tasks: Tasks of this engine.
            done: Called with the place of a task and its value, as each ends.

        Returns:
            The values in the order of the tasks.

        Raises:
            EvalkitError: The first failure of a task; the others are canceled.
            LostWorkerError: A task killed its workers.
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def cancel(self, tasks: Sequence[Any]) -> None:
        """Stop tasks and forget them.

        Args:
            tasks: Tasks of this engine.
        """


class Engine:
    """Base class of engines. It evaluates in parts, each a task.

    An engine is entered before and left after it is used; `evaluate` does it by itself.
    """

    workers: int = 1
    """Number of processes that run tasks."""
    store: str = ""
    """Folder or URI that the driver and all workers read and write."""
    parts: int | None = None
    """Number of parts that examples are scored in. Default: by size and workers."""
    bucketed: bool = False
    """Whether each file of data and predictions holds one bucket, in their order."""
    resources: Mapping[str, float] = {}
    """Resources that each scoring task needs, such as `{"gpu": 1}`."""
    lost: int = 0
    """Number of workers that were lost so far."""
    is_running: bool = False
    """Whether it was entered."""

    def __enter__(self) -> Self:
        """Start or join the workers."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what was started."""

    @contextmanager
    def evaluation(self, *arguments: Any) -> Iterator[Evaluation]:
        """Enter an evaluation in parts: the arguments are those of `Evaluation`."""
        from evalkit_engines_dask.evaluation import Evaluation

        with ExitStack() as stack:
            if not self.is_running:
                stack.enter_context(self)
            run = Evaluation(self, *arguments)
            stack.callback(run.end)
            yield run

    def match(self, *arguments: Any) -> tuple[Examples, Alignment]:
        """Match predictions with examples in parts, for `evalkit.validate_with`."""
        with self.evaluation(*arguments) as run:
            return run.match()


ENGINES = Kind(
    *("engines", EngineSpec, Engine, Engine), ways=(("submit", "gather", "cancel"),)
)
