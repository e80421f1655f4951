"""The pieces of `benchmarks/rivals` that need no rival: table, exact answer, tables of results, emdp's process."""

import importlib
import importlib.util
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "rivals"
MODULES = ("workload", "systems", "processes", "results", "harness", "system_duckdb", "system_emdp", "bound")
USERS, GROUPS = 3_000, 4


@pytest.fixture(scope="module")
def rivals() -> Iterator[dict[str, ModuleType]]:
    """The benchmark's modules, which import one another by name as `python benchmarks/rivals` has them."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in MODULES}
    finally:
        sys.path.remove(str(FOLDER))
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def visits(rivals: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("rivals") / "visits.parquet"
    rivals["workload"].write_visits(path, users=USERS, groups=GROUPS)
    return path


def task_of(rivals: dict[str, ModuleType], path: Path, folder: Path) -> dict[str, Any]:
    work = rivals["workload"]
    return {
        "path": str(path),
        "folder": str(folder),
        "keys": work.keys_of(GROUPS),
        "low": work.LOW,
        "high": work.HIGH,
        "cap": work.CAP,
        "epsilon": work.EPSILON,
        "users": USERS,
        "rows": USERS * work.CAP,
    }


def test_table_is_what_every_system_is_told(rivals: dict[str, ModuleType], visits: Path) -> None:
    work, frame = rivals["workload"], pl.read_parquet(visits)
    assert frame.group_by("user_id").len()["len"].to_list() == [work.CAP] * USERS
    assert set(frame["category"]) == set(work.keys_of(GROUPS))
    assert frame["amount"].is_between(work.LOW, work.HIGH).all()
    assert frame["user_id"].to_list() != sorted(frame["user_id"])


def test_exact_answer_is_that_of_a_loop(rivals: dict[str, ModuleType], visits: Path) -> None:
    found: dict[str, list[float]] = {}
    for category, amount in pl.read_parquet(visits).select("category", "amount").iter_rows():
        found.setdefault(category, []).append(amount)
    exact = rivals["workload"].exact_answer(visits, GROUPS)
    assert exact.keys() == found.keys()
    for key, amounts in found.items():
        assert exact[key] == pytest.approx([len(amounts), math.fsum(amounts), np.mean(amounts)], rel=1e-12)


@pytest.mark.parametrize("option", ["records", "capped"])
def test_plain_statements_are_exact_where_nobody_has_too_many(
    rivals: dict[str, ModuleType], visits: Path, tmp_path: Path, option: str
) -> None:
    answer = rivals["system_duckdb"].start({**task_of(rivals, visits, tmp_path), "option": option})
    work = rivals["workload"]
    assert max(work.squared_errors(answer({}), work.exact_answer(visits, GROUPS))) < 1e-12


def test_a_missing_group_is_no_number(rivals: dict[str, ModuleType]) -> None:
    with pytest.raises(KeyError):
        rivals["workload"].squared_errors({"c00": [1, 2, 3]}, {"c00": [1, 2, 3], "c01": [1, 2, 3]})


@pytest.mark.slow
@pytest.mark.parametrize("place", range(3))
def test_emdp_in_its_process(rivals: dict[str, ModuleType], visits: Path, tmp_path: Path, place: int) -> None:
    system = rivals["systems"].SYSTEMS[place]
    assert system.module == "system_emdp"
    running = rivals["processes"].Running(system, Path(sys.executable), task_of(rivals, visits, tmp_path), 120.0)
    try:
        replies = [running.ask(told) for told in (system.told["number"], {"epsilon": 1e4})]
    finally:
        running.close()
    assert running.process.returncode == 0
    assert {"emdp", "duckdb"} <= running.start["versions"].keys()
    work = rivals["workload"]
    exact = work.exact_answer(visits, GROUPS)
    private, nearly_exact = ([math.sqrt(e) for e in work.squared_errors(one["rows"], exact)] for one in replies)
    # Laplace noise falls as 1/epsilon.
    assert nearly_exact[0] < 0.1
    assert nearly_exact[1] < 10
    assert nearly_exact[2] < 0.01
    # At epsilon 1 a count's noise has a scale above 10 records: all 4 groups within 0.1 of it have p < 1e-7.
    assert private[0] > 1
    assert all(one["cpu"] > 0 and one["seconds"] > 0 and one["peak"] > 50 for one in replies)


def test_a_process_that_fails_says_why(rivals: dict[str, ModuleType], tmp_path: Path) -> None:
    work = rivals["workload"]
    task = {**task_of(rivals, tmp_path / "none.parquet", tmp_path), "keys": work.keys_of(GROUPS)}
    running = rivals["processes"].Running(rivals["systems"].SYSTEMS[3], Path(sys.executable), task, 60.0)
    with pytest.raises(rivals["processes"].RivalError, match=r"^failed here: .*none\.parquet"):
        running.ask({"epsilon": 1.0})


def test_pip_that_fails_is_a_cell_of_the_table(rivals: dict[str, ModuleType], tmp_path: Path) -> None:
    systems, results = rivals["systems"], rivals["results"]
    failed = results.Measured(systems.named(["Tumult Analytics"])[-1], failure="not installable here: no such version")
    shown = results.time_table([made(rivals, [4.0]), failed])
    assert "| Tumult Analytics | not installable here: no such version |" in shown
    assert results.frame_of([failed])["failure"].to_list() == ["not installable here: no such version"]
    assert results.targets([made(rivals, [4.0]), failed]) == ""


def made(rivals: dict[str, ModuleType], squares: list[float], place: int = 0, seconds: float = 1.0) -> Any:
    """Return answers of a system with the same squared error for all measures, one for each setting and square."""
    system = rivals["systems"].SYSTEMS[place]
    answers = [
        {
            "round": 1,
            "setting": setting,
            "told": system.told[setting],
            "seconds": seconds,
            "cpu": seconds,
            "peak": 100.0,
            "errors": [square] * 3,
        }
        for setting in rivals["systems"].SETTINGS
        for square in squares
    ]
    return rivals["results"].Measured(system, 1.0, 1.0, {"x": "1"}, answers)


def test_errors_and_targets(rivals: dict[str, ModuleType]) -> None:
    results = rivals["results"]
    ours, theirs = made(rivals, [3.0, 5.0]), made(rivals, [16.0], place=5, seconds=10.0)
    assert theirs.system.name == "OpenDP"
    # The same told twice is pooled: 3, 5, 3, 5.
    error, spread = ours.error("number", 0)
    assert error == 2.0
    assert spread == pytest.approx(math.sqrt(4 / 3 / 4) / 4)
    assert theirs.error("number", 2)[0] == 4.0
    said = results.targets([ours, theirs])
    assert "OpenDP, target 10; 10.0 times emdp by the clock and 10.0 times in CPU: met, met; error" in said
    assert said.count("count 2.00, sum 2.00, mean 2.00: met") == 3
    slower = results.targets([ours, made(rivals, [3.0], place=5, seconds=9.9)])
    assert "9.9 times in CPU: not met, not met" in slower
    assert slower.count("mean 0.87: not met") == 3


def test_a_target_is_compared_with_the_row_that_does_the_same(rivals: dict[str, ModuleType]) -> None:
    systems, results = rivals["systems"].SYSTEMS, rivals["results"]
    chosen = rivals["systems"].named(["Tumult Analytics"])
    assert [one.name for one in chosen] == ["emdp", "emdp, data checked before", "Tumult Analytics"]
    places, seconds = [systems.index(one) for one in chosen], [4.0, 2.0, 100.0]
    measured = [made(rivals, [1.0], place, took) for place, took in zip(places, seconds, strict=True)]
    said = results.targets(measured)
    assert "25.0 times emdp by the clock and 25.0 times in CPU: not met, not met; " in said
    assert "; 50.0 times emdp, data checked before by the clock and 50.0 times in CPU: met, met; " in said


def test_tables_and_frame(rivals: dict[str, ModuleType]) -> None:
    results = rivals["results"]
    measured = [made(rivals, [4.0]), made(rivals, [0.0], place=3), made(rivals, [1e6], place=5)]
    frame = results.frame_of(measured)
    assert len(frame) == 9
    assert frame["count_rmse"].to_list() == [2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 1000.0, 1000.0, 1000.0]
    table = results.error_table(measured, "protection")
    # The plain statement has no error to show.
    assert "DuckDB" not in table
    assert "| OpenDP | 1 | 1,000 ± - |" in table
    assert results.time_table(measured).count("\n") == 4


def test_peak_and_time_count_a_child(rivals: dict[str, ModuleType]) -> None:
    import subprocess

    harness = rivals["harness"]
    cpu, peak = harness.processor_seconds(), harness.resident_peak()
    code = "x = bytearray(60_000_000); print(sum(range(10_000_000)), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        assert harness.resident_peak() > peak + 50
        assert harness.processor_seconds() > cpu + 0.05
        child.communicate("\n")
    assert harness.processor_seconds() > cpu + 0.05


def test_the_page_has_the_noise_of_the_plan(rivals: dict[str, ModuleType]) -> None:
    from emdp.estimators.totals.noise import least_noise, root_mean_square
    from emdp.expressions import col
    from emdp.questions.price import Price
    from emdp.questions.select import Item, Select
    from emdp.spaces import Interval

    work, amount = rivals["workload"], col("amount")
    items = (Item("count", "n"), Item("sum", "total", amount), Item("avg", "mean", amount))
    query = Select(items, Price("epsilon", work.EPSILON), cap=work.CAP)
    found = least_noise(query, Interval("amount", work.LOW, work.HIGH), 50)
    unit = math.sqrt(2) * work.CAP * found.layout.sensitivity(found.scales, 1)
    count, total = (unit * root_mean_square(part.weights, found.scales) for part in found.layout.parts[:2])
    page = (FOLDER.parents[1] / "docs" / "benchmarks.md").read_text()
    assert f"| emdp, a user's records replaced | {count:.1f} | {total:,.0f} |" in page
    # Half of the difference of the two ends.
    assert found.layout.ends == (work.LOW, work.HIGH)
    assert f"and emdp {unit * math.hypot(0.5, 0.5):,.0f}." in page.replace("\n", " ")


def test_no_mechanism_has_the_aims_where_two_numbers_are_drawn(rivals: dict[str, ModuleType]) -> None:
    """The linear program is below what the best known noises have, and above what the aims would need."""
    bound = rivals["bound"]
    least = bound.least_squared_error(1.0, 24)
    small, b = math.exp(-1.0), math.exp(-1.0) ** (2 / 3)
    staircase = (2 ** (-2 / 3) * b * (1 + small) ** (2 / 3) + small) / (1 - small) ** 2
    assert 1.55 < least < staircase < 2.0
    page = (FOLDER.parents[1] / "docs" / "benchmarks.md").read_text()
    ours = bound.DRAWN["emdp: both ends"]
    impossible = []
    for scales in bound.DRAWN.values():
        count, total, mean = (math.sqrt(2.0) * scale for scale in scales)
        assert f"| {count:.1f} | {total:,.0f} | {mean:,.0f} | " in page
        if scales != ours:
            assert ", ".join(f"{own / scale:.2f}" for own, scale in zip(ours, scales, strict=True)) in page
        alone = bound.AIMS[1] * total < 1_000 * math.sqrt(least)
        together = (bound.AIMS[0] * count / 10) ** 2 + (bound.AIMS[2] * mean / 500) ** 2 < 4 * least
        impossible.append((alone, together))
    assert impossible == [(False, False), (True, True), (True, True), (True, True)]


def test_everything_gathers_output_and_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER.parent)
    spec = importlib.util.spec_from_file_location("everything", FOLDER.parent / "everything.py")
    assert spec is not None
    assert spec.loader is not None
    everything = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(everything)
    assert all((everything.HERE / name).exists() for name in everything.QUICK)
    (tmp_path / "good.py").write_text("import sys; print('seen', sys.argv[1:])")
    (tmp_path / "bad.py").write_text("raise SystemExit('broken')")
    monkeypatch.setattr(everything, "HERE", tmp_path)
    monkeypatch.setattr(everything, "QUICK", {"bad.py": [], "good.py": ["--runs", "2"]})
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["everything.py", "--quick", "--all", "--targets", "start", "--out", str(out)])
    rows = [
        everything.targets.Row("6", "start", "1 s", "", 1.0, 2.0),
        everything.targets.Row("5", "speed", "1 s", "", 49.0, -50.0, " times"),
        everything.targets.against("1", "ratio", 3.0, 2.0, 1.2, before="2.00 i"),
    ]
    monkeypatch.setattr(everything.targets, "rows_of", lambda name, options: rows)
    with pytest.raises(SystemExit) as ended:
        everything.main()
    assert ended.value.code == 1
    frame = pl.read_parquet(out / "everything.parquet")
    assert frame["status"].to_list() == [1, 0]
    assert frame["command"][1].endswith("good.py --runs 2")
    page = (out / "everything.md").read_text()
    assert "broken" in page
    assert "seen ['--runs', '2']" in page
    assert [
        line.rsplit("|", 2)[1].strip() for line in page.splitlines() if line.startswith(("| 6", "| 5", "| 1 "))
    ] == [
        "met",
        "**missed**",
        "**missed**",
    ]
    assert "| 6 | start |  | 1 s |" in page
    assert "| 1 | ratio | 2.00 i | 3.000 CPU s | 2.000 CPU s | 1.50 | at most 1.2 |" in page
    assert everything.targets.SOURCES in page
