"""Requirements of the code-less distribution `evalkit-suite`.

In a checkout the members of the workspace are not on any index, so the suite
requires them by path and `pip install .` works. A release (environment variable
`EVALKIT_RELEASE` set) requires them by version.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

MEMBERS = {
    "evalkit-core": "core",
    "evalkit-cli": "cli",
    "evalkit-adapters-rows": "plugins/adapters/rows",
    "evalkit-analysis-compare": "plugins/analysis/compare",
    "evalkit-analysis-ratings": "plugins/analysis/ratings",
    "evalkit-analysis-robustness": "plugins/analysis/robustness",
    "evalkit-analysis-suites": "plugins/analysis/suites",
    "evalkit-analysis-upkeep": "plugins/analysis/upkeep",
    "evalkit-annotators-columns": "plugins/annotators/columns",
    "evalkit-benchmarks-declared": "plugins/benchmarks/declared",
    "evalkit-commands-perturb": "plugins/commands/perturb",
    "evalkit-commands-publish": "plugins/commands/publish",
    "evalkit-models-base": "plugins/models/base",
    "evalkit-adapters-extraction": "plugins/adapters/extraction",
    "evalkit-adapters-peers": "plugins/adapters/peers",
    "evalkit-annotators-judge": "plugins/annotators/judge",
    "evalkit-benchmarks-peers": "plugins/benchmarks/peers",
    "evalkit-commands-authoring": "plugins/commands/authoring",
    "evalkit-commands-cite": "plugins/commands/cite",
    "evalkit-commands-exchange": "plugins/commands/exchange",
    "evalkit-commands-predict": "plugins/commands/predict",
    "evalkit-commands-report": "plugins/commands/report",
    "evalkit-commands-site": "plugins/commands/site",
    "evalkit-commands-submit": "plugins/commands/submit",
    "evalkit-tasks-text": "plugins/tasks/text",
    "evalkit-datasets-samples": "plugins/datasets/samples",
    "evalkit-datasets-hatecheck": "plugins/datasets/hatecheck",
    "evalkit-datasets-tweeteval": "plugins/datasets/tweeteval",
    "evalkit-datasets-gsm8k": "plugins/datasets/gsm8k",
    "evalkit-datasets-med": "plugins/datasets/med",
    "evalkit-metrics-classification": "plugins/metrics/classification",
    "evalkit-metrics-generation": "plugins/metrics/generation",
    "evalkit-metrics-statistics": "plugins/metrics/statistics",
    "evalkit-metrics-compat": "plugins/metrics/compat",
    "evalkit-metrics-job": "plugins/metrics/job",
    "evalkit-metrics-mathematics": "plugins/metrics/mathematics",
    "evalkit-metrics-text": "plugins/metrics/text",
    "evalkit-models-http": "plugins/models/http",
    "evalkit-models-local": "plugins/models/local",
    "evalkit-models-openai": "plugins/models/openai",
    "evalkit-perturbations-text": "plugins/perturbations/text",
    "evalkit-schemas-standard": "plugins/schemas/standard",
    "evalkit-storage-s3": "plugins/storage/s3",
    "evalkit-testing": "plugins/testing/kit",
}

EXTRAS = {
    "dask": {"evalkit-engines-dask": "plugins/engines/dask"},
    "fsspec": {"evalkit-storage-fsspec": "plugins/storage/fsspec"},
    "huggingface": {"evalkit-storage-huggingface": "plugins/storage/huggingface"},
    "server": {"evalkit-services-server": "plugins/services/server"},
}
"""Members that the suite does not require, as their libraries are large, by extra."""


class WorkspaceMembers(MetadataHookInterface):
    """Fills in `dependencies` and `optional-dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add one requirement for each member of the suite, and those of the extras.

        Args:
            metadata: The project table, changed in place.
        """
        version = metadata["version"]
        metadata["dependencies"] = self._requirements(MEMBERS, version)
        metadata["optional-dependencies"] = {
            extra: self._requirements(members, version)
            for extra, members in EXTRAS.items()
        }

    def _requirements(self, members: dict[str, str], version: str) -> list[str]:
        if os.environ.get("EVALKIT_RELEASE"):
            return [f"{name}=={version}" for name in members]
        root = Path(self.root)
        return [
            f"{name} @ {(root / folder).as_uri()}" for name, folder in members.items()
        ]
