"""Which plugins there are, and how a name that a user types becomes one.

Public: for programs that list, choose or load plugins. Importing this module imports
no plugin and nothing heavy; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names as lazy_names

if TYPE_CHECKING:
    from evalkit.base.copies import split_composition as split_composition
    from evalkit.base.failures import described as described
    from evalkit.base.failures import hook_failures as hook_failures
    from evalkit.base.failures import located as located
    from evalkit.base.names import facet_of as facet_of
    from evalkit.base.names import is_component_name as is_component_name
    from evalkit.base.names import is_reserved as is_reserved
    from evalkit.base.names import metric_of as metric_of
    from evalkit.base.names import parse_reference as parse_reference
    from evalkit.examples.files import bind_dataset as bind_dataset
    from evalkit.examples.files import is_file_name as is_file_name
    from evalkit.examples.row_stages import DataSource as DataSource
    from evalkit.plugins.bound import Bound as Bound
    from evalkit.plugins.bound import BoundDataset as BoundDataset
    from evalkit.plugins.bound import BoundMetric as BoundMetric
    from evalkit.plugins.bound import BoundPerturbation as BoundPerturbation
    from evalkit.plugins.bound import BoundTask as BoundTask
    from evalkit.plugins.classes import FunctionMetric as FunctionMetric
    from evalkit.plugins.components import AS_PYTHON as AS_PYTHON
    from evalkit.plugins.components import AS_READ as AS_READ
    from evalkit.plugins.components import WITHOUT_PLUGIN as WITHOUT_PLUGIN
    from evalkit.plugins.components import Catalog as Catalog
    from evalkit.plugins.components import Component as Component
    from evalkit.plugins.components import DiscoveryProblem as DiscoveryProblem
    from evalkit.plugins.components import ReadPlugin as ReadPlugin
    from evalkit.plugins.components import (
        required_distribution as required_distribution,
    )
    from evalkit.plugins.contract import read_attributes as read_attributes
    from evalkit.plugins.discovery import find_components as find_components
    from evalkit.plugins.discovery import iter_kinds as iter_kinds
    from evalkit.plugins.importing import core_problem as core_problem
    from evalkit.plugins.importing import import_component as import_component
    from evalkit.plugins.kinds import Kind as Kind
    from evalkit.plugins.kinds import all_kinds as all_kinds
    from evalkit.plugins.kinds import kind_named as kind_named
    from evalkit.plugins.local_plugins import component_of_file as component_of_file
    from evalkit.plugins.local_plugins import local_plugins_known as local_plugins_known
    from evalkit.plugins.local_plugins import object_in_file as object_in_file
    from evalkit.plugins.local_plugins import run_file as run_file
    from evalkit.plugins.provenance import describe_component as describe_component
    from evalkit.plugins.registry import Registry as Registry
    from evalkit.plugins.registry import load_component as load_component
    from evalkit.plugins.resolution import find_component as find_component
    from evalkit.plugins.resolver import Resolver as Resolver
    from evalkit.plugins.unnamed_code import code_behind as code_behind
    from evalkit.plugins.unnamed_code import refuse_unnamed_code as refuse_unnamed_code
    from evalkit.predictions.column_stages import ColumnStage as ColumnStage
    from evalkit.predictions.row_sources import RowSource as RowSource
    from evalkit.reading.data_places import data_path as data_path
    from evalkit.reading.formats import MANIFEST_FILE as MANIFEST_FILE
    from evalkit.reading.formats import model_name as model_name
    from evalkit.reading.given_rows import local_file as local_file
    from evalkit.reading.given_rows import local_path as local_path
    from evalkit.reading.manifests import DataFile as DataFile
    from evalkit.reading.manifests import Manifest as Manifest
    from evalkit.reading.manifests import ManifestField as ManifestField
    from evalkit.reading.manifests import check_files as check_files
    from evalkit.reading.manifests import data_sha256 as data_sha256
    from evalkit.reading.manifests import read_manifest as read_manifest
    from evalkit.reading.rows import Row as Row
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
