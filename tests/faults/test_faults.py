"""Planted faults are caught: three with the slow tests, all of them when full sizes are asked for."""

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent
QUICK = ("half_word_taken_as_uniform", "conversion_factor_inverted", "alpha_not_split")
FEWEST = 30


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("faults")


@pytest.fixture
def run(faults: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    # Other folders have a run.py too.
    spec = importlib.util.spec_from_file_location("planted_faults_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_there_are_enough_faults_each_with_a_name_a_sentence_and_tests(faults: ModuleType) -> None:
    found = faults.read_faults()
    assert len(found) >= FEWEST
    assert len({fault.name for fault in found}) == len(found)
    for fault in found:
        assert fault.name.isidentifier()
        assert fault.name.islower()
        assert fault.breaks.endswith(".")
        assert "\n" not in fault.breaks
        assert fault.caught_by
        assert len(set(fault.caught_by)) == len(fault.caught_by)


def test_every_fault_still_has_its_place(faults: ModuleType) -> None:
    for fault in faults.read_faults():
        assert fault.file.startswith("emdp/")
        sound = (faults.ROOT / fault.file).read_text()
        wrong = faults.exchanged(sound, fault)
        assert wrong != sound
        compile(wrong, fault.file, "exec")


def test_every_named_test_is_there_and_runs_by_default(faults: ModuleType) -> None:
    assert {
        fault.name: faults.missing_tests(fault) for fault in faults.read_faults() if faults.missing_tests(fault)
    } == {}


@pytest.mark.slow
def test_every_named_case_is_collected(faults: ModuleType) -> None:
    named = {node for fault in faults.read_faults() for node in fault.caught_by if "[" in node}
    functions = sorted({node.partition("[")[0] for node in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not full", *functions]
    done = subprocess.run(command, cwd=faults.ROOT, capture_output=True, text=True, check=False)
    assert named - set(done.stdout.splitlines()) == set()


def test_a_missing_test_and_a_missing_place_are_found(faults: ModuleType) -> None:
    here = "tests/faults/test_faults.py"
    fault = faults.Fault("x", "X.", here, "no such text", "", (f"{here}::test_nothing", f"{here}::test_all_are_caught"))
    assert faults.missing_tests(fault) == list(fault.caught_by)
    with pytest.raises(ValueError, match="0 times"):
        faults.exchanged("text", fault)


@pytest.mark.slow
def test_what_no_test_notices_has_survived_and_what_cannot_run_is_an_error(run: ModuleType, faults: ModuleType) -> None:
    node = "tests/noise/test_coins.py"
    file, old = "emdp/noise/coins.py", "_LOW_BITS = 54\n"
    with run.make_copy() as copy:
        harmless = run.try_fault(copy, faults.Fault("a", "A.", file, old, f"{old}#\n", (node,)))
        broken = run.try_fault(copy, faults.Fault("b", "B.", file, old, f"{old}import nothing_of_that_name\n", (node,)))
        assert (copy.path / file).read_text() == (faults.ROOT / file).read_text()
    assert (harmless.verdict, broken.verdict) == ("SURVIVED", "ERROR")


@pytest.mark.slow
def test_some_faults_are_caught() -> None:
    done = _run("--only", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(f"{len(QUICK)} faults planted, {len(QUICK)} caught, 0 not", done.stdout)


@pytest.mark.full
def test_all_are_caught() -> None:
    done = _run("--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
