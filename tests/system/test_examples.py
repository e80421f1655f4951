"""The example scripts, as a user runs them: on the real tables where they are, and on generated ones."""

import contextlib
import importlib.util
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import emdp
from emdp.mechanisms import AdditiveMechanism, KNormMechanism, LaplaceMechanism

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
PLACES = ("km_to_midtown", "within_1_km", "within_5_km")
SCRIPTS = {
    "foursquare": (["foursquare_nyc.parquet"], PLACES),
    "gowalla": (["gowalla_nyc.parquet"], PLACES),
    "friends": (["friends.parquet", "friends_vectors.parquet", "friends_graph.parquet"], ("nearness",)),
    "irc_words": (["irc_ubuntu.parquet", "glove_twitter_25d_12k.parquet"], ("similarity",)),
}
"""The real tables of each script, and the columns of its answers."""

NUMBER = r"(-?[\d.]+(?:e[-+]\d+)?)"
VALUE = re.compile(rf"^(\w+) +exact +{NUMBER} +private +{NUMBER} +95 % \[{NUMBER}, {NUMBER}\]$", re.MULTILINE)
SPREAD = re.compile(
    rf"^    standard deviation {NUMBER}, {NUMBER} +mean absolute value {NUMBER}, {NUMBER}$", re.MULTILINE
)
AGREE = re.compile(rf"^emdp's statistics and the SQL written by hand agree to {NUMBER}$", re.MULTILINE)


def test_every_script_is_known() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == {*SCRIPTS, "common", "spark_job"}


def modes() -> list[tuple[str, str]]:
    """Every script on generated tables, and on the real ones where those are."""
    here = [script for script, (tables, _) in SCRIPTS.items() if all((DATA / name).is_file() for name in tables)]
    return [(script, "generated") for script in SCRIPTS] + [(script, "real") for script in here]


@pytest.mark.slow
@pytest.mark.parametrize(("script", "mode"), modes())
def test_script(script: str, mode: str, tmp_path: Path) -> None:
    _, columns = SCRIPTS[script]
    arguments = ["--generated"] if mode == "generated" else []
    # The emdp under test, whether it is installed or not; temporary files where they can be counted.
    package = str(Path(emdp.__file__).parents[1])
    (tmp_path / "temporary").mkdir()
    (tmp_path / "here").mkdir()
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{script}.py"), *arguments],
        cwd=tmp_path / "here",
        env={**os.environ, "PYTHONPATH": package, "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(f"data: {mode}")
    assert "hidden with epsilon 0.2: alpha = " in done.stdout
    assert list((tmp_path / "here").iterdir()) == []
    assert list((tmp_path / "temporary").iterdir()) == []
    check_figures(done.stdout, columns)


def check_figures(out: str, columns: tuple[str, ...]) -> None:
    values = VALUE.findall(out)
    assert [row[0] for row in values] == list(columns)
    for _, *numbers in values:
        exact, private, low, high = map(float, numbers)
        assert low < private < high
        # Ten times the half-width of the interval: not once in 1e12 runs.
        assert abs(private - exact) <= 5 * (high - low)
    spreads = SPREAD.findall(out)
    assert len(spreads) == len(columns)
    for row in spreads:
        stated, found, absolute, mean = map(float, row)
        assert 0.7 * stated < found < 1.3 * stated
        assert 0.7 * absolute < mean < 1.3 * absolute
    (worst,) = AGREE.findall(out)
    assert float(worst) <= 1e-9


def common() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples_common", ROOT / "examples" / "common.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Misstated:
    """A mechanism that states another spread than it has."""

    def __init__(self, mechanism: AdditiveMechanism, factor: float) -> None:
        self.mechanism, self.factor = mechanism, factor
        self.name, self.dimension = mechanism.name, mechanism.dimension
        self.standard_deviation = mechanism.standard_deviation
        self.expected_absolute_error = mechanism.expected_absolute_error

    def release(self, values: list[Fraction]) -> list[Fraction]:
        return [Fraction(self.factor) * value for value in self.mechanism.release(values)]


@pytest.mark.parametrize(
    "mechanism",
    [LaplaceMechanism(sensitivity=0.01, alpha=2.0), KNormMechanism(sensitivity=0.01, alpha=2.0, dimension=2)],
    ids=["laplace", "k_norm"],
)
def test_the_noise_check_has_power(mechanism: AdditiveMechanism, capsys: pytest.CaptureFixture[str]) -> None:
    check = common().check_noise
    # Seeded, so that the 0.2 % in which 1,000 draws do not show a factor of 1.3 cannot fail the test by chance.
    with emdp.testing.seeded(1):
        check(mechanism)
        for factor in (0.7, 1.3):
            with pytest.raises(SystemExit, match="away from the stated"):
                check(Misstated(mechanism, factor))
    assert "standard deviation" in capsys.readouterr().out


def test_the_check_of_the_statistic_has_power(capsys: pytest.CaptureFixture[str]) -> None:
    rows: dict[str, list[Any]] = {"user": [1, 1, 2], "x": [0.25, 0.75, 1.0]}
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=2)
    query = emdp.mean(emdp.col("x"), alpha=1.0, name="x")
    common().check_exact(table, [query], {"x": 0.75})
    assert AGREE.search(capsys.readouterr().out)
    with pytest.raises(SystemExit, match="away from the value of the SQL"):
        common().check_exact(table, [query], {"x": 0.75 + 2e-9})


NOTEBOOKS = {"first_map": "spent 20 of alpha, 40 are left", "choose_alpha": "from 50 % to at most 60.0 %"}
"""Notebooks as percent scripts, and what each says at its end."""


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_runs_from_top_to_bottom(notebook: str, tmp_path: Path) -> None:
    path = ROOT / "examples" / "notebooks" / f"{notebook}.py"
    assert {own.stem for own in path.parent.glob("*.py")} == set(NOTEBOOKS)
    text = path.read_text()
    assert text.startswith("# %% [markdown]\n# # ")
    assert text.count("\n# %%\n") >= 4
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(emdp.__file__).parents[1]), "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert NOTEBOOKS[notebook] in done.stdout
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_file_for_airflow_makes_two_tasks_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against stand-ins: Airflow itself is none of the project's packages."""
    tasks: dict[str, dict[str, Any]] = {}

    class Task:
        def __init__(self, task_id: str, **options: Any) -> None:
            tasks[task_id] = options

        def __rshift__(self, other: object) -> object:
            return other

    @contextlib.contextmanager
    def dag(name: str, **options: Any) -> Iterator[str]:
        assert options["max_active_runs"] == 1
        yield name

    for name in ("airflow", "airflow.providers", "airflow.providers.standard", "airflow.providers.standard.operators"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, member, made in (
        ("airflow.providers.standard.operators.bash", "BashOperator", Task),
        ("airflow.sdk", "DAG", dag),
    ):
        module = ModuleType(name)
        setattr(module, member, made)
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(ROOT / "examples" / "orchestration" / "airflow_report.py"))
    assert "emdp report week.toml --period {{ ds }} --dry-run" in tasks["look"]["bash_command"]
    assert tasks["report"]["skip_on_exit_code"] == 3


def test_the_file_for_dagster_runs_the_report_of_a_week(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against stand-ins: Dagster itself is none of the project's packages."""
    from unittest.mock import MagicMock

    class Failure(Exception):  # noqa: N818  Dagster's name
        def __init__(self, text: str, **options: Any) -> None:
            super().__init__(text)
            self.options = options

    dagster = MagicMock()
    dagster.asset = lambda **_: lambda function: function
    dagster.Failure = Failure
    monkeypatch.setitem(sys.modules, "dagster", dagster)
    found = runpy.run_path(str(ROOT / "examples" / "orchestration" / "dagster_report.py"))
    ran: list[list[str]] = []

    def run(words: list[str], **_: Any) -> Any:
        ran.append(words)
        return subprocess.CompletedProcess(words, 3 if len(ran) > 1 else 0, "", "emdp: spent\n")

    monkeypatch.setattr(subprocess, "run", run)
    context = MagicMock(partition_key="2026-01-05")
    found["private_report"](context)
    assert ran[0][:5] == ["emdp", "report", "week.toml", "--period", "2026-01-05"]
    with pytest.raises(Failure, match="budget is spent") as caught:
        found["private_report"](context)
    assert caught.value.options == {"allow_retries": False}
