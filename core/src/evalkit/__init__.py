"""evalkit scores what models said.

Tasks, data sets, metrics and perturbations are plugins: small packages that are found
by their metadata and imported when they are named. Importing this package imports
nothing else; each public name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.base.copies import Edit as Edit
    from evalkit.base.label_fields import Label as Label
    from evalkit.base.label_fields import Probabilities as Probabilities
    from evalkit.base.terms import Annotation as Annotation
    from evalkit.base.terms import FilePath as FilePath
    from evalkit.base.terms import MetricContext as MetricContext
    from evalkit.base.terms import NotScored as NotScored
    from evalkit.base.terms import Source as Source
    from evalkit.base.terms import TryAgain as TryAgain
    from evalkit.base.terms import Unparsed as Unparsed
    from evalkit.base.violations import Violation as Violation
    from evalkit.errors import AdapterError as AdapterError
    from evalkit.errors import AlignmentError as AlignmentError
    from evalkit.errors import AnnotatorError as AnnotatorError
    from evalkit.errors import CancelledError as CancelledError
    from evalkit.errors import DataError as DataError
    from evalkit.errors import EvalkitError as EvalkitError
    from evalkit.errors import MetricError as MetricError
    from evalkit.errors import PluginContractError as PluginContractError
    from evalkit.errors import PluginError as PluginError
    from evalkit.errors import PluginLoadError as PluginLoadError
    from evalkit.errors import RequiredParameterError as RequiredParameterError
    from evalkit.errors import SchemaError as SchemaError
    from evalkit.errors import StorageError as StorageError
    from evalkit.errors import UnknownPluginError as UnknownPluginError
    from evalkit.examples.datasets import Dataset as Dataset
    from evalkit.hookspecs import hookimpl as hookimpl
    from evalkit.plugins.classes import BaseTaskIO as BaseTaskIO
    from evalkit.plugins.classes import Metric as Metric
    from evalkit.plugins.classes import Parameters as Parameters
    from evalkit.plugins.classes import Perturbation as Perturbation
    from evalkit.plugins.classes import TaskIO as TaskIO
    from evalkit.plugins.classes import metric as metric
    from evalkit.plugins.components import Component as Component
    from evalkit.plugins.discovery import find_components as find_components
    from evalkit.plugins.registry import Registry as Registry
    from evalkit.runs.finding import find_run as find_run
    from evalkit.runs.options import EvaluationOptions as EvaluationOptions
    from evalkit.runs.results import Result as Result
    from evalkit.runs.score_columns import Score as Score
    from evalkit.runs.stored import read_run as read_run
    from evalkit.scoring.tally import Tallies as Tallies
    from evalkit.scoring.tally import merge_tallies as merge_tallies
    from evalkit.workflows.evaluation import evaluate as evaluate
    from evalkit.workflows.evaluation import evaluate_with as evaluate_with
    from evalkit.workflows.lists import score as score
    from evalkit.workflows.partitions import PartitionPlan as PartitionPlan
    from evalkit.workflows.partitions import finalize as finalize
    from evalkit.workflows.partitions import partition_tallies as partition_tallies
    from evalkit.workflows.partitions import plan_partitions as plan_partitions
    from evalkit.workflows.rescoring import rescore as rescore
    from evalkit.workflows.validation import Validation as Validation
    from evalkit.workflows.validation import validate as validate
    from evalkit.workflows.validation import validate_with as validate_with

    __version__: str
else:
    _get, __dir__, __all__ = lazy_names(__name__)

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("evalkit-core")
        if name in __all__ or name.startswith("_"):
            return _get(name)
        from evalkit.plugins.importing import added_name

        return added_name(name)
