"""A sample of the attack of `make attack`, and that it finds what is broken."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def attacked(*options: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.attack", "--sample", "--json", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_a_sample_of_the_attack_breaks_no_promise() -> None:
    code, found = attacked("--seed", "2")
    assert [part["faults"] for part in found.values()] == [[]] * 6
    assert all(part["tries"] > 0 for part in found.values())
    assert code == 0


PLANTED = """
import sys
from pathlib import Path
import benchmarks.attack.{part} as part
from benchmarks.attack.runs_to_attack import make_runs
{fault}
folder = Path(sys.argv[1])
whole = make_runs(folder / "whole-runs")
print(*part.attack({arguments}).faults, sep="\\n")
"""

FAULTS = {
    "inputs": (
        "import evalkit\n"
        "evaluate = evalkit.evaluate\n"
        "def kinder(*given, **options):\n"
        "    return evaluate(*given, **{**options, 'on_duplicate': 'last'})\n"
        "part.evalkit.evaluate = kinder\n",
        "60, 0, folder",
        "is scored to the reader and duplicate to evalkit",
    ),
    "bit_flips": (
        "from types import SimpleNamespace\n"
        "from unittest.mock import ANY\n"
        "from evalkit.runs import folders\n"
        "same = SimpleNamespace(size=ANY, sha256=ANY)\n"
        "folders.FileDigest.of = lambda content: same\n",
        "40, 0, whole",
        "nobody noticed",
    ),
    "power_loss": (
        "import os\n"
        "from types import SimpleNamespace\n"
        "import evalkit.base.files as files\n"
        "names = {**vars(os), 'fsync': lambda descriptor: None}\n"
        "files.os = SimpleNamespace(**names)\n",
        "40, whole, folder",
        "broken: ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", FAULTS)
def test_a_fault_that_was_planted_is_found(part: str, tmp_path: Path) -> None:
    fault, arguments, expected = FAULTS[part]
    program = PLANTED.format(part=part, fault=fault, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in done.stdout, done.stderr
