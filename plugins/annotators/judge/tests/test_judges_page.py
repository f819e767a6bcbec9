"""The page on judges shows whole files, and what comes of them."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from model_servers import Answer, Got, serving

from evalkit_cli.main import cli

PAGE = Path(__file__).parents[4] / "docs" / "judges.md"
NAMED = re.compile(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```sh\n(.*?)\n```(?:\n\n```text\n(.*?)^```$)?", re.M | re.DOTALL)


def says(got: Got) -> Answer:
    content = got.body["messages"][-1]["content"]
    text = "<verdict>polite</verdict>"
    if "Use your eyes." in content:
        text = "<verdict>rude</verdict>"
    if "[Answer A]" in content:
        text = "[[A]]"
    message = {"content": text}
    return Answer({"choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    text = PAGE.read_text("utf-8")
    for name, content in NAMED.findall(text):
        Path(name).write_text(content)
    pair = Path("pairs.toml").read_text()
    Path("pairs.toml").write_text(pair.replace('other = "baseline"', ""))
    rows = Path("answers.jsonl").read_text().replace('."}', '. Then."}')
    Path("baseline.jsonl").write_text(rows)
    return text


@pytest.mark.slow
def test_the_commands_give_what_is_shown(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ["eval", "--data", "questions.jsonl", "--task", "text-generation", "-q"]
    done = CliRunner().invoke(cli, [*own, "-p", "baseline.jsonl"])
    assert done.exit_code == 0, done.output
    shown = SHOWN.findall(page)
    assert len(shown) == 4
    with serving(says) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        for command, expected in shown:
            done = CliRunner().invoke(cli, shlex.split(command)[1:])
            assert done.exit_code == 0, done.output
            output = "\n".join(line.rstrip() for line in done.output.splitlines())
            parts = [re.escape(part) for part in expected.rstrip().split("...")]
            pattern = ".*".join(parts)
            assert re.search(pattern, output, re.DOTALL), f"{command}\n{output}"
        assert len(server.got) == 3 + 6  # nothing that is known is asked again
