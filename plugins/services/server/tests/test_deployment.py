"""The container and compose files."""

import re
from pathlib import Path

import yaml

from evalkit_services_server.settings import Settings

FOLDER = Path(__file__).parents[1] / "deploy"


def test_files_name_settings_and_volumes_that_exist() -> None:
    texts = {path.name: path.read_text() for path in FOLDER.iterdir()}
    named = re.findall(r"EVALKIT_SERVER_(\w+)", "".join(texts.values()))
    assert {name.lower() for name in named} <= {*Settings.model_fields}
    compose = yaml.safe_load(texts["compose.yaml"])
    services = compose["services"].values()
    volumes = [volume for each in services for volume in each.get("volumes", ())]
    assert {volume.partition(":")[0] for volume in volumes} == {*compose["volumes"]}
    needed = [name for each in services for name in each.get("depends_on", ())]
    assert {*needed} <= {*compose["services"]}
