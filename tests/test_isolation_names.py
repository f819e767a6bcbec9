"""One name in two distributions, and a plugin that nobody names."""

import json
from pathlib import Path

import pytest
from isolation import METRIC, OURS, Make, Run, error, report, require

pytestmark = pytest.mark.slow


def scored(run_here: Run, dataset: str, *arguments: str) -> dict[str, str]:
    """Evaluate with the default metrics; give their distributions by name."""
    done = run_here("eval", dataset, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    [record] = found[:1] if isinstance(found, list) else [found]
    assert record["status"] == "complete"
    return {
        one["id"]: one["distribution"]
        for one in record["components"]
        if one["id"].startswith(("metrics/", "tasks/"))
    }


class TestOneNameInTwoDistributions:
    ACCURACY = {"evalkit.metrics": {"accuracy": "Constant"}}

    def test_it_is_marked_in_the_list(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        fake_distribution(METRIC, self.ACCURACY, name="third-party")
        done = run_here("list", "metrics", "-v")
        assert done.stderr == ""
        marked = [line for line in done.stdout.splitlines() if "(only as " in line]
        (line,) = marked
        assert line.split()[:2] == ["metrics/accuracy", "third-party"]
        assert "(only as accuracy@third-party)" in line
        found = report(run_here)
        assert [
            one["distribution"] for one in found["components"] if one["ambiguous"]
        ] == ["third-party"]
        assert found["problems"] == []

    def test_typed_by_a_user_it_is_ours_unless_the_other_is_picked(
        self, run_evalkit: Run, fake_distribution: Make
    ) -> None:
        fake_distribution(METRIC, self.ACCURACY, name="third-party")
        done = run_evalkit("eval", "sample-sentiment", "-m", "accuracy")
        assert done.returncode == 0
        assert (
            "evalkit: warning: metrics/accuracy is declared by several distributions; "
            f"the one of {OURS} is used, which ships with evalkit, and not "
            "accuracy@third-party\n"
        ) in done.stderr
        found = scored(run_evalkit, "sample-sentiment", "-m", "accuracy")
        assert found["metrics/accuracy"] == OURS
        picked = ("-m", "accuracy@Third_Party")
        found = scored(run_evalkit, "sample-sentiment", *picked)
        assert found["metrics/accuracy"] == "third-party"

    def test_named_by_a_task_of_ours_it_is_ours(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        names = {"accuracy": "Constant", "macro-f1": "Constant"}
        sentiment = {"sentiment": "Nothing"}
        groups = {"evalkit.metrics": names, "evalkit.tasks": sentiment}
        fake_distribution(METRIC, groups, name="aaa-third-party")
        assert scored(run_here, "sample-sentiment") == {
            "tasks/sentiment": "evalkit-tasks-text",
            "metrics/macro-f1": OURS,
            "metrics/accuracy": OURS,
        }

    DATASET = """
    import evalkit

    class Rows(evalkit.Dataset):
        task = "sentiment"
        perf_metric = "accuracy"
        eval_metrics = ("twice",)

        def load(self, split):
            return [{"uid": "1", "statement": "Good.", "label": "positive"}]
    """

    def predictions(self, folder: Path) -> tuple[str, str]:
        file = folder / "p.jsonl"
        file.write_text('{"id": "1", "label": "positive"}\n')
        return "-p", str(file)

    @pytest.mark.parametrize(
        ("owner", "requirement"), [("zzz", "polars"), ("other", "ZZZ>=1")]
    )
    def test_named_by_a_data_set_it_is_of_its_own_or_a_required_distribution(
        self,
        run_here: Run,
        fake_distribution: Make,
        tmp_path: Path,
        owner: str,
        requirement: str,
    ) -> None:
        twice = {"evalkit.metrics": {"twice": "Constant", "accuracy": "Constant"}}
        rows = {"evalkit.datasets": {"rows": "Rows"}}
        fake_distribution(METRIC, twice, name="aaa")
        both = {**twice, **rows} if owner == "zzz" else twice
        code = METRIC + self.DATASET.replace("\n    ", "\n")
        zzz = fake_distribution(code, both, name="zzz")
        if owner != "zzz":
            require(fake_distribution(code, rows, name=owner), requirement)
        else:
            require(zzz, requirement)
        found = scored(run_here, "rows", *self.predictions(tmp_path))
        assert found["metrics/twice"] == "zzz"
        assert found["metrics/accuracy"] == "zzz"

    def test_named_by_a_data_set_of_neither_it_is_refused(
        self, run_here: Run, fake_distribution: Make, tmp_path: Path
    ) -> None:
        for name in ("aaa", "zzz"):
            fake_distribution(METRIC, {"evalkit.metrics": {"twice": "M"}}, name=name)
        rows = {"evalkit.datasets": {"rows": "Rows"}}
        fake_distribution(self.DATASET, rows, name="other")
        message = error(run_here, "eval", "rows", *self.predictions(tmp_path))
        assert "twice@aaa or twice@zzz" in message

    def test_the_shell_completes_to_what_can_be_used(
        self, run_here: Run, fake_distribution: Make
    ) -> None:
        fake_distribution(METRIC, self.ACCURACY, name="third-party")
        done = run_here(
            _EVALKIT_COMPLETE="bash_complete",
            COMP_WORDS="evalkit eval sample-hs -m acc",
            COMP_CWORD="4",
        )
        assert [line.partition(",")[2] for line in done.stdout.splitlines()] == [
            "accuracy",
            "accuracy@third-party",
        ]


def test_a_slow_import_is_not_paid_by_who_does_not_name_the_plugin(
    run_here: Run, fake_distribution: Make, tmp_path: Path
) -> None:
    mark = tmp_path / "was-imported"
    code = f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(3)\n"
    names = {f"evalkit.{kind}": {"slow": "Constant"} for kind in ("tasks", "metrics")}
    fake_distribution(code + METRIC, names, name="slow-dist")
    for arguments in (
        ("list",),
        ("list", "--json"),
        ("--help",),
        ("eval", "--help"),
        ("show", "metrics/accuracy"),
        ("eval", "sample-sentiment"),
    ):
        assert run_here(*arguments).returncode == 0
        assert not mark.exists(), arguments
    assert run_here("show", "metrics/slow").returncode == 0
    assert mark.exists()
