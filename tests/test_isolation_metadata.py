"""Odd metadata of one distribution are reported, and harm nobody else."""

from pathlib import Path
from typing import Any

import pytest
from isolation import METRIC, OURS, Make, Run, error, info, report, require

import evalkit

DISABLE = "EVALKIT_DISABLE_PLUGINS"
ALLOW = "EVALKIT_ALLOW_PLUGINS"

pytestmark = pytest.mark.slow


def listed(run_here: Run, **variables: str) -> tuple[dict[str, list[str]], str]:
    """Return the columns after the id by id, and what was said on stderr."""
    done = run_here("list", "-v", **variables)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line]
    return {row[0]: row[1:] for row in rows}, done.stderr


class TestBrokenFiles:
    @pytest.mark.parametrize(
        ("entry_points", "said"),
        [
            (b"[evalkit.metrics]\nx = m:\xe9\n", "codec can't decode byte 0xe9"),
            ("[evalkit.metrics]\nx\n", "known: line 2, 'x', is not of the form"),
            (
                "[evalkit.metrics\nx = m:X\n",
                "line 1, '[evalkit.metrics', is not of the form name = object",
            ),
        ],
        ids=["not-utf-8", "malformed", "malformed-group"],
    )
    def test_entry_points(
        self, run_here: Run, fake_distribution: Make, entry_points: Any, said: str
    ) -> None:
        fake_distribution("", {"evalkit.metrics": {"before": "M"}}, name="before")
        broken = fake_distribution("", entry_points, name="broken-dist")
        fake_distribution("", {"evalkit.metrics": {"after": "M"}}, name="after")
        plugins, warning = listed(run_here)
        assert {"metrics/before", "metrics/after", "metrics/accuracy"} <= {*plugins}
        assert warning.startswith("warning: broken-dist: its entry_points.txt ")
        assert said in warning
        assert f"({info(broken)})\n" in warning
        [problem] = report(run_here)["problems"]
        assert problem["distribution"] == "broken-dist"
        assert problem["folder"] == str(info(broken))
        assert said in problem["message"]

    @pytest.mark.parametrize(
        ("header", "said"),
        [
            (
                b"Name: caf\xe9\n",
                "its METADATA cannot be read: UnicodeDecodeError: 'utf-8' codec can't "
                "decode byte 0xe9 in position 9: invalid continuation byte",
            ),
            (b"Version: 2\n", "its METADATA has no Name"),
            (b"Summary: x\n", "its METADATA has no Name and no Version"),
        ],
        ids=["not-utf-8", "no-name", "nothing"],
    )
    def test_metadata(
        self, run_here: Run, fake_distribution: Make, header: bytes, said: str
    ) -> None:
        lines = {"evalkit.metrics": {"constant": "Constant"}}
        broken = fake_distribution(METRIC, lines, name="broken-dist")
        (info(broken) / "METADATA").write_bytes(header)
        plugins, warning = listed(run_here)
        assert plugins["metrics/constant"][0] == "broken-dist"
        assert "metrics/accuracy" in plugins
        assert warning == f"warning: broken-dist: {said} ({info(broken)})\n"

    def test_folders_that_hold_nothing_or_lead_in_a_circle(
        self, run_evalkit: Run, tmp_path: Path
    ) -> None:
        folder = tmp_path / "path"
        (folder / "evalkit_tasks_text-1.dist-info").mkdir(parents=True)
        loop = folder / "loop-1.dist-info"
        loop.symlink_to(loop)
        plugins, warning = listed(run_evalkit, PYTHONPATH=str(folder))
        assert plugins["tasks/sentiment"][0] == "evalkit-tasks-text"
        [line] = warning.splitlines()
        assert line.startswith("warning: loop: its entry_points.txt cannot be read: ")
        assert line.endswith(f"({loop})")

    @pytest.mark.parametrize("line", [b"x = m:\xe9\n", b"x\n"])
    def test_plugins_of_other_distributions_are_used_beside_them(
        self, run_evalkit: Run, fake_distribution: Make, line: bytes
    ) -> None:
        fake_distribution("", b"[evalkit.metrics]\n" + line)
        done = run_evalkit("show", "metrics/accuracy")
        assert (done.returncode, done.stderr) == (0, "")

    def test_a_plugin_that_cannot_be_found_is_said_to_be_perhaps_among_them(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        fake_distribution("", b"[evalkit.metrics]\nlost = m:\xff\n")
        message = error(run_here, "show", "metrics/lost")
        assert message.startswith("there is no metric 'lost'; ")
        assert "`evalkit list` warns of installed plugins that cannot" in message


@pytest.mark.parametrize("value", ["a b c", "", "pkg:", "1x:y"])
def test_an_object_that_does_not_parse_is_listed_with_a_warning(
    run_here: Run, fake_distribution: Make, value: str
) -> None:
    fake_distribution("", f"[evalkit.metrics]\nodd = {value}\n", "odd-dist", "3")
    why = f"its entry point {value!r} is not of the form package.module:object"
    plugins, warning = listed(run_here)
    assert plugins["metrics/odd"][:3] == ["odd-dist", "3", "(unusable)"]
    assert warning.startswith(f"warning: odd-dist: metrics/odd: {why} (")
    message = error(run_here, "eval", "sample-sentiment", "-m", "odd")
    assert message == f"metrics/odd (odd-dist 3): {why}"


def test_an_illegal_name_is_reported_and_refused(
    run_here: Run, fake_distribution: Make
) -> None:
    names = {"Bad_Name": "Constant", "good": "Constant"}
    fake_distribution(METRIC, {"evalkit.metrics": names}, name="odd-dist")
    plugins, warning = listed(run_here)
    assert "metrics/good" in plugins
    assert "metrics/Bad_Name" not in plugins
    assert warning.startswith("warning: odd-dist: metrics/Bad_Name: not a legal name (")
    message = error(run_here, "show", "metrics/Bad_Name")
    assert message.startswith("metrics/Bad_Name (odd-dist 1.2.3): not a legal name")


class TestAnotherCore:
    def install(self, make: Make, requirement: str) -> None:
        lines = {"evalkit.metrics": {"early": "Constant", "late": "Constant"}}
        fake = make(METRIC, lines, name="far-dist", version="7")
        require(fake, requirement)

    @pytest.mark.parametrize(
        "requirement",
        ["evalkit-core<0.1,>=0.0.3", "evalkit_core>=99", "evalkit-core~=99.0"],
    )
    def test_a_range_that_excludes_this_one_is_listed_and_refused(
        self, run_here: Run, fake_distribution: Make, requirement: str
    ) -> None:
        self.install(fake_distribution, requirement)
        why = (
            f"it requires {requirement!r}, but evalkit-core {evalkit.__version__} is "
            "running; upgrade the plugin or evalkit-core, whichever is older"
        )
        plugins, warning = listed(run_here)
        assert {"metrics/early", "metrics/late"} <= {*plugins}
        assert warning == ""
        message = error(run_here, "eval", "sample-sentiment", "-m", "late")
        assert message == f"metrics/late (far-dist 7): {why}"

    @pytest.mark.parametrize(
        "requirement",
        ['evalkit-core>=99; extra == "new"', "evalkit-core>=0.1", "evalkit-core"],
    )
    def test_one_that_admits_it_is_used(
        self, run_here: Run, fake_distribution: Make, requirement: str
    ) -> None:
        self.install(fake_distribution, requirement)
        plugins, warning = listed(run_here)
        assert "(unusable)" not in plugins["metrics/early"]
        assert warning == ""

    def test_one_that_cannot_be_read_is_refused(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        self.install(fake_distribution, "evalkit-core >= what?")
        message = error(run_here, "show", "metrics/early")
        assert message.startswith(
            "metrics/early (far-dist 7): its requirement 'evalkit-core >= what?' "
            "cannot be read: "
        )

    def test_a_check_names_the_plugins_that_it_excludes(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        lines = {"evalkit.observers": {"far": "Constant"}}
        require(fake_distribution(METRIC, lines, name="far-dist"), "evalkit-core>=99")
        done = run_here("list", "observers", "--check")
        assert done.returncode == 1
        start = "broken  observers/far (far-dist 1.2.3): it requires 'evalkit-core>=99'"
        assert done.stdout.startswith(start)


class TestAnOlderCopy:
    def test_the_first_on_the_path_wins_and_the_other_is_mentioned(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        lines = {"evalkit.metrics": {"old": "Constant", "both": "Constant"}}
        old = fake_distribution(METRIC, lines, name="some-dist", version="1")
        lines = {"evalkit.metrics": {"new": "Constant", "both": "Constant"}}
        new = fake_distribution(METRIC, lines, name="some-dist", version="2")
        plugins, note = listed(run_here)
        assert plugins["metrics/both"][:2] == ["some-dist", "2"]
        assert "(only as " not in plugins["metrics/both"]
        assert "metrics/new" in plugins
        assert "metrics/old" not in plugins
        assert note == (
            "note: some-dist: version 1 is not used, because version 2 comes first on "
            f"the path, in {info(new)} ({info(old)})\n"
        )
        found = report(run_here)
        assert [one["folder"] for one in found["notices"]] == [str(info(old))]
        assert found["problems"] == []

    def test_a_copy_of_one_version_is_not_worth_a_word(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        for _ in range(2):
            lines = {"evalkit.metrics": {"m": "Constant"}}
            fake_distribution(METRIC, lines, name="some-dist", version="1")
        assert listed(run_here)[1] == ""


class TestPermission:
    @pytest.mark.parametrize(
        "entry", ["metrics/accuracy", "Evalkit.Metrics_Classification"]
    )
    def test_what_is_disabled_is_not_listed_and_says_so_when_used(
        self, run_here: Run, entry: str
    ) -> None:
        plugins, warning = listed(run_here, **{DISABLE: entry})
        assert "metrics/accuracy" not in plugins
        assert ("metrics/macro-f1" in plugins) is entry.startswith("metrics/")
        assert warning == ""
        withheld = report(run_here, **{DISABLE: entry})["withheld"]
        assert {one["problem"] for one in withheld} == {
            "it is disabled by EVALKIT_DISABLE_PLUGINS"
        }
        assert "metrics/accuracy" in {one["id"] for one in withheld}
        message = error(run_here, "show", "metrics/accuracy", **{DISABLE: entry})
        assert message.startswith(f"metrics/accuracy ({OURS} ")
        assert message.endswith("): it is disabled by EVALKIT_DISABLE_PLUGINS")

    def test_a_default_metric_that_is_disabled_is_not_left_out_in_silence(
        self, run_here: Run
    ) -> None:
        variables = {DISABLE: "metrics/macro-f1"}
        message = error(run_here, "eval", "sample-sentiment", **variables)
        assert f"metrics/macro-f1 ({OURS} " in message
        assert "it is disabled by EVALKIT_DISABLE_PLUGINS" in message

    def test_only_what_is_allowed_is_there(self, run_here: Run) -> None:
        variables = {ALLOW: f"{OURS}, tasks/nli,", DISABLE: "metrics/f1"}
        plugins, warning = listed(run_here, **variables)
        assert {one.partition("/")[0] for one in plugins} == {"tasks", "metrics"}
        assert [one for one in plugins if one.startswith("tasks/")] == ["tasks/nli"]
        assert {owner for _, (owner, *_) in plugins.items()} == {
            OURS,
            "evalkit-tasks-text",
        }
        assert "metrics/accuracy" in plugins
        assert "metrics/f1" not in plugins
        assert warning == ""
        message = error(run_here, "eval", "hatecheck", **variables)
        assert message.startswith("datasets/hatecheck (evalkit-datasets-hatecheck ")
        assert message.endswith("): it is not among those of EVALKIT_ALLOW_PLUGINS")
        done = run_here("list", "datasets", **variables)
        assert done.stderr == "none of this kind is installed and allowed\n"

    def test_disabling_one_of_two_of_a_name_leaves_the_other(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        lines = {"evalkit.metrics": {"accuracy": "Constant"}}
        fake_distribution(METRIC, lines, name="third-party")
        shown = run_here("show", "metrics/accuracy", **{DISABLE: "third-party"})
        assert shown.stdout.startswith("metrics/accuracy\n")
        assert f"{OURS} " in shown.stdout
        assert "third-party" not in shown.stdout

    @pytest.mark.parametrize("variable", [DISABLE, ALLOW])
    def test_a_misspelt_entry_is_reported(self, run_here: Run, variable: str) -> None:
        _, warning = listed(run_here, **{variable: "metrics/acuracy,tasks/nli"})
        assert warning == (
            f"warning: {variable}: 'metrics/acuracy' is neither an installed plugin "
            "(KIND/NAME) nor a distribution that holds one; did you mean "
            "metrics/accuracy?\n"
        )
