"""Writes `../helm/`: the files of a run that HELM itself made.

Run once, in an environment of its own (`pip install crfm-helm==0.5.16`):

    python make_helm.py

The model `simple/model1` of HELM answers with the last word of its prompt, so that none
of its answers is a choice. `per_instance_stats.json` is written without blanks.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "helm"
ENTRY = "simple_mcqa:model=simple/model1,data_augmentation=lower"


def main() -> None:
    """Run HELM on two instances and a perturbed copy of each."""
    TARGET.mkdir(exist_ok=True)
    command = Path(sys.executable).with_name("helm-run")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                command,
                *("--run-entries", ENTRY),
                *("--suite", "small"),
                *("--max-eval-instances", "2"),
                *("--output-path", f"{folder}/out"),
                *("--local-path", f"{folder}/local"),
            ],
            check=True,
            cwd=folder,
        )
        [state] = Path(folder).rglob("scenario_state.json")
        stats = state.with_name("per_instance_stats.json")
        (TARGET / state.name).write_bytes(state.read_bytes())
        compact = json.dumps(json.loads(stats.read_text()), separators=(",", ":"))
        (TARGET / stats.name).write_text(compact + "\n")


if __name__ == "__main__":
    main()
