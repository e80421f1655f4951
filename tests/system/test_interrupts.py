"""Commands that are stopped from outside, by Ctrl-C or SIGTERM, or by memory or a disk that is full.

Each is a real process, which is stopped when it has reached a stage, as a file that it makes then says.
"""

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from emdp.cli import main
from emdp.ledger import read_ledger

START = "from emdp.__main__ import main; main()"
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "left by its terminal"}
CATALOG = """
ledger = "trips.ledger"
[tables.trips]
source = "trips.parquet"
user = "user_id"
users = 200
space = { kind = "geo", lat = "lat", lon = "lon", box = [40.4, -74.3, 41.0, -73.7], unit = "km", on_invalid = "clamp" }
budget = { alpha = 100000.0, delta = 0.5 }
"""
MEAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(RAMP(DISTANCE(POINT(40.7, -74)), 1, 0)) AS m FROM trips"
ENTRIES = 3
ENTRY = '[[entry]]\ntitle = "Distance {number}"\nquery = """{query}"""\n'


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trips")
    with pytest.raises(SystemExit) as done:
        main(["generate", "checkins", "--users", "200", "--records", "20000", "--out", str(folder / "trips.parquet")])
    assert done.value.code == 0
    return folder / "trips.parquet"


@pytest.fixture
def folder(tmp_path: Path, original: Path) -> Path:
    os.link(original, tmp_path / "trips.parquet")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    text = 'title = "Trips"\ncatalog = "emdp.toml"\nbudget = { alpha = 999.0 }\n'
    queries = [MEAN.replace("1, 0)", f"{number} + 1, 0)") for number in range(ENTRIES)]
    entries = (ENTRY.format(number=number, query=query) for number, query in enumerate(queries))
    (tmp_path / "trips.toml").write_text(text + "".join(entries))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def started(folder: Path, *words: str, code: str = START, **options: Any) -> subprocess.Popen[str]:
    """Start a command in a folder, with a folder for temporary files of its own."""
    # A runner in the background hands down ignored signals (SIGINT, under nohup SIGHUP), which emdp rightly leaves
    # ignored; a terminal does not.
    heard = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    )
    return subprocess.Popen(
        [sys.executable, "-c", f"{heard}\n{code}", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp")} | options.pop("env", {}),
        **options,
    )


def run(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    process = started(folder, *words, **options)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def charges(folder: Path) -> list[Any]:
    """Return the charges of the ledger, whose chain is verified; none where there is no ledger yet."""
    if not (folder / "trips.ledger").exists():
        return []
    with read_ledger(folder / "trips.ledger") as ledger:
        ledger.verify()
        return list(ledger.entries("trips", "charge"))


def check_left(folder: Path, kept: Sequence[str] = ()) -> None:
    """Check that nothing temporary is left: not where temporary files are, not beside what the command writes."""
    assert os.listdir(folder / "tmp") == []
    allowed = {"trips.parquet", "emdp.toml", "trips.toml", "tmp", "trips.ledger", "trips.ledger.lock", *kept}
    found = {path.name for path in folder.iterdir()}
    assert found <= allowed, found - allowed
    hidden = [str(path) for path in folder.rglob(".*") if path.name.startswith(".")]
    assert hidden == []


def check_stopped(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """Check status and message of a command that a signal stopped; return its output."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, (process.returncode, err)
    last = err.strip().splitlines()[-1]
    assert last in [f"emdp: {WORDS[number]}; {text}" for text in (UNCHARGED, CHARGED, STORED)]
    assert "Traceback" not in err
    return out


UNCHARGED = "nothing was charged, and no file is left half written."
CHARGED = (
    "what was charged stays charged (`emdp ledger show` lists it), and no file is left half written; ask the same "
    "again, and what is stored is given for nothing."
)
STORED = (
    "what was charged is answered and stored, and no file is left half written; ask the same again, without --fresh, "
    "and the answer is given for nothing."
)
"""What is said of a charge that was not begun, of one without a stored answer, and of one whose answer is stored."""

TWO_SCANS = """
import emdp.sessions.records
emdp.sessions.records.aggregate_checked = lambda *words: None
"""
"""The rules and the statistic read apart, the second after the charge."""

HELD = """
import {module}, os
def held(*words, **options):
    os.write({pipe}, b"!")
    while True:
        {work}
{module}.{name} = held
"""
"""What stops a command in a stage: a function that says that it is reached, and works on for ever."""

HELD_IN_ENGINE = """
import {module}, os
def held(*words, **options):
    try:
        os.write({pipe}, b"!")
        while True:
            sum(range(10000))
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None
{module}.{name} = held
"""
"""The same with what DuckDB 2.0 makes of a signal that it hears; itself it loses some that come when a query begins."""


def held(folder: Path, *words: str, module: str, name: str, work: str, code: str = START) -> subprocess.Popen[str]:
    """Start a command, and return when it has reached a function."""
    ours, theirs = os.pipe()
    try:
        template = HELD_IN_ENGINE if work == IN_ENGINE else HELD
        before = TWO_SCANS if name in ("aggregate", "check_rules") else ""
        stage = before + template.format(module=module, name=name, work=work, pipe=theirs)
        process = started(folder, *words, code=f"{stage}\n{code}", pass_fds=(theirs,))
    finally:
        os.close(theirs)
    with os.fdopen(ours, "rb") as end:
        # Nothing comes through where the command ended before.
        reached = end.read(1)
    assert reached, process.communicate()
    return process


COUNTING, IN_ENGINE = "sum(range(10000))", "in the engine"

INTERRUPT, TERMINATE, HANG_UP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
QUERY, FULL = ("query", MEAN), pytest.mark.full
GENERATE = ("generate", "checkins", "--users", "9", "--records", "5000", "--out", "new.parquet")
COPY = ("ledger", "copy", "trips.ledger", "copy.ledger")
DISTANCE = ("distance", "1", "2", "-C", "emdp.toml")
EXPERIMENT = ("experiment", "geometric", "--runs", "1", "--out", "page")
STAGES = {
    "before the charge": (TERMINATE, QUERY, "emdp.sessions.records.check_aggregation", IN_ENGINE, 0),
    "one scan": (INTERRUPT, QUERY, "emdp.tables.engines.duckdb.engine.run", IN_ENGINE, 0),
    "engine": (INTERRUPT, QUERY, "emdp.sessions.records.aggregate", IN_ENGINE, 1),
    "writing": (TERMINATE, (*QUERY, "--csv", "x.csv"), "emdp.reports.files.os.replace", COUNTING, 1),
    "storing": (HANG_UP, QUERY, "emdp.sessions.store._once", COUNTING, 1),
    "generate": (TERMINATE, GENERATE, "emdp._datasets.writing.Path.replace", COUNTING, 0),
}
"""The signal, the command, the function in which it comes, what that does, and the charges that are left."""

FULL_STAGES = {
    "validation": (INTERRUPT, QUERY, "emdp.tables.engine.check_rules", IN_ENGINE, 0),
    "engine, ended": (TERMINATE, QUERY, "emdp.sessions.records.aggregate", IN_ENGINE, 1),
    "noise": (INTERRUPT, QUERY, "emdp.noise.discrete_laplace._propose", COUNTING, 1),
    "preview": (INTERRUPT, ("preview", MEAN), "emdp.sessions.asking.previewed", COUNTING, 0),
    "distance": (INTERRUPT, DISTANCE, "emdp.transport.distances.distance", COUNTING, 0),
    "experiment": (TERMINATE, EXPERIMENT, "emdp.experiments.geometric.asked", COUNTING, 0),
    "experiment drawing": (INTERRUPT, EXPERIMENT, "emdp.experiments.draw_experiment", COUNTING, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "stage",
    [*STAGES.values(), *(pytest.param(stage, marks=FULL) for stage in FULL_STAGES.values())],
    ids=[*STAGES, *FULL_STAGES],
)
def test_a_command_that_is_stopped_leaves_nothing(folder: Path, stage: tuple[Any, ...]) -> None:
    number, words, function, work, paid = stage
    module, _, name = function.rpartition(".")
    if module.endswith((".os", ".Path")):
        module, name = module.rpartition(".")[0], f"{module.rpartition('.')[2]}.{name}"
    process = held(folder, *words, module=module, name=name, work=work)
    process.send_signal(number)
    check_stopped(process, number)
    check_left(folder, ("page",) if words == EXPERIMENT else ())
    assert len(charges(folder)) == paid
    assert not (folder / "page").exists() or os.listdir(folder / "page") == []


AT = """
import os, signal, sys
from emdp.__main__ import main
def at(frame, event, called):
    name = frame.f_code.co_name if event == "call" else called.__name__ if event == "c_call" else ""
    callers = (frame, frame.f_back) if event == "call" else (frame,)
    if name == "{name}" and any(one and one.f_code.co_filename.endswith("{file}") for one in callers):
        sys.setprofile(None)
        os.kill(os.getpid(), {number})
sys.setprofile(at)
main()
"""
"""What sends a signal where a function of a file is called, or from a file one."""

MOMENTS = {
    "loading": (TERMINATE, "exec_module", "importlib._bootstrap_external>", 0),
    "handlers": (TERMINATE, "stoppable", "stopping.py", 0),
    "its own handlers": (TERMINATE, "make", "stopping.py", 0),
    "made its folder": (HANG_UP, "mkdir", "temporary.py", 0),
    "parsing": (INTERRUPT, "make_app", "app.py", 0),
    "charging": (TERMINATE, "charge", "releasing.py", 0),
    "printed": (TERMINATE, "flush", "cli/__init__.py", 1),
    "cleaning": (HANG_UP, "remove", "cli/stopping.py", 1),
    "ending": (TERMINATE, "_run_exitfuncs", "__main__.py", 1),
    "what Python does at exit": (INTERRUPT, "_let_go", "instances.py", 1),
    "the end": (HANG_UP, "_exit", "__main__.py", 1),
}
"""The signal, the function at which it comes with its file, and the charges that are left."""


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_said_of_a_signal_is_true_from_the_first_line_to_the_last(folder: Path, moment: str) -> None:
    number, name, file, paid = MOMENTS[moment]
    code = AT.format(name=name, file=file, number=int(number))
    done = run(folder, *QUERY, code=code)
    assert done.returncode == 128 + number, (done.returncode, done.stderr)
    assert len(charges(folder)) == paid
    last = done.stderr.strip().splitlines()[-1]
    if moment in ("loading", "handlers"):
        assert last == "emdp: stopped before it began; nothing was charged."
    else:
        assert last == f"emdp: {WORDS[number]}; {STORED if paid else UNCHARGED}"
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) == bool(paid)
    check_left(folder)


@FULL
def test_a_copy_of_a_ledger_that_is_stopped_is_made_by_the_same_command(folder: Path) -> None:
    assert run(folder, *QUERY).returncode == 0
    process = held(folder, *COPY, module="emdp.ledger.place", name="_link", work=COUNTING)
    process.send_signal(TERMINATE)
    check_stopped(process, TERMINATE)
    check_left(folder)
    again = run(folder, *COPY)
    assert again.returncode == 0, again.stderr
    assert len(charges(folder)) == 1


@pytest.mark.slow
def test_what_a_killed_command_leaves_goes_with_the_next_one(folder: Path) -> None:
    process = held(folder, *QUERY, module="emdp.tables.engines.duckdb.engine", name="run", work=COUNTING)
    process.kill()
    process.communicate()
    left = [path for path in (folder / "tmp").rglob("*") if path.is_dir()]
    assert left
    assert {path.stat().st_mode & 0o777 for path in left} == {0o700}
    assert run(folder, "check", MEAN).returncode == 0
    check_left(folder, ("trips.ledger-wal", "trips.ledger-shm"))


IN_PYTHON = """
import os, emdp
from emdp.cli.stopping import Stop, stoppable
with stoppable(stop := Stop()):
    try:
        {work}
    except KeyboardInterrupt:
        print(stop.word, flush=True)
"""
"""Work that no command does, under the handlers of commands."""

DRAW = """
        space = emdp.Categories("kind", ["bar", "cafe"])
        rows = {"user": [1, 1, 2, 2], "kind": ["bar", "cafe", "bar", "bar"]}
        table = emdp.read(rows, user="user", users=2, records=2, space=space, name="trips")
        budget = emdp.EmdDP(100.0, 0.01, "bounded", "central")
        with emdp.Session(table, budget=budget, ledger="trips.ledger") as session:
            session.itemwise(emdp.randomizers.KRR(space, 1.0), delta=1e-9)
"""
PAIRS = """
        import emdp.transport.pairs as pairs
        pairs.PROCESS_SECONDS = 0.0
        bags = [{"x": [number / 999, 0.5]} for number in range(999)]
        every = [(one, other) for one in range(999) for other in range(999)]
        emdp.d_em_pairs(bags, every, emdp.Interval("x", 0, 1), workers=2, progress=reached)
"""
REACHED = "def reached(done, total):\n    while True: {work}\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", [INTERRUPT, pytest.param(TERMINATE, marks=FULL)])
def test_an_itemwise_draw_that_is_stopped_is_charged_once(folder: Path, number: signal.Signals) -> None:
    code = IN_PYTHON.format(work=DRAW.strip())
    function = {"module": "emdp.estimators.itemwise.release", "name": "ItemwiseRelease.release"}
    process = held(folder, **function, work=COUNTING, code=code)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, f"{WORDS[number]}\n"), err
    check_left(folder)
    assert len(charges(folder)) == 1


WATCHED = """
import os, subprocess
class Popen(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options, pass_fds=({pipe},))
subprocess.Popen = Popen
def reached(done, total):
    os.write({pipe}, b"!")
    while True:
        sum(range(10000))
"""
"""A pipe that all processes hold, so that its end says that they are gone."""


@FULL
@pytest.mark.parametrize("number", [INTERRUPT, TERMINATE])
def test_distances_that_are_stopped_leave_no_process(folder: Path, number: signal.Signals) -> None:
    ours, theirs = os.pipe()
    code = WATCHED.format(pipe=theirs) + IN_PYTHON.format(work=PAIRS.strip())
    process = started(folder, code=code, pass_fds=(theirs,))
    os.close(theirs)
    with os.fdopen(ours, "rb") as end:
        assert end.read(1), process.communicate()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert select.select([end], [], [], 60)[0]
        assert end.read(1) == b""
    assert (process.returncode, out) == (0, f"{WORDS[number]}\n"), err
    check_left(folder)


@pytest.mark.slow
def test_a_report_that_is_stopped_goes_on_where_it_was(folder: Path) -> None:
    words = ("report", "trips.toml", "--out", "page")
    process = held(folder, *words, module="emdp.reports.files", name="os.replace", work=COUNTING)
    process.send_signal(TERMINATE)
    check_stopped(process, TERMINATE)
    check_left(folder)
    assert len(charges(folder)) == ENTRIES
    again = run(folder, *words)
    assert again.returncode == 0, again.stderr
    assert len(charges(folder)) == ENTRIES
    check_left(folder, ("page",))


FAILING = """
import {module}
original, calls = {module}.{name}, []
def failing(*words, **options):
    calls.append(1)
    if len(calls) > {before}:
        {failure}
    return original(*words, **options)
{module}.{name} = failing
"""
"""A function that fails after some calls, as the system has it fail."""

SMALL_MEMORY = """
import emdp.sessions.records, emdp.tables.engines.duckdb.execution
original = emdp.sessions.records.aggregate
def small(*words):
    emdp.tables.engines.duckdb.execution.engine_limits = lambda: {{'memory_limit': '{size}', 'threads': '1'}}
    return original(*words)
emdp.sessions.records.aggregate = small
"""
"""The engine's memory, from the charge on."""

SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
ENGINE_DISK = "emdp: the query found the disk of its temporary files full; make room on it"
ENGINE_MEMORY = "emdp: the query ran out of memory; free some"
FULL_DISK = 'raise OSError(28, "No space left on device")'

SHORTAGES = {
    "memory of the engine": (TWO_SCANS + SMALL_MEMORY.format(size="3MB"), ENGINE_MEMORY, 1, 1),
    "disk of the engine": (
        TWO_SCANS + SMALL_MEMORY.format(size="24MB") + SMALL_FILES.format(size=200_000),
        ENGINE_DISK,
        1,
        1,
    ),
    "memory of Python": (
        TWO_SCANS
        + FAILING.format(
            module="emdp.sessions.records", name="aggregate", before=0, failure="import numpy; numpy.ones(1 << 50)"
        ),
        "emdp: memory ran out; free some",
        1,
        1,
    ),
    "disk of the ledger": (SMALL_FILES.format(size=30_000), "emdp: ledger ", 1, 0),
    "disk of temporary files": (
        FAILING.format(module="emdp.base.temporary", name="os.mkdir", before=1, failure=FULL_DISK),
        "emdp: the disk is full; make room on it",
        1,
        0,
    ),
    "disk of the answer": (
        FAILING.format(module="emdp.reports.files", name="os.replace", before=0, failure=FULL_DISK),
        "emdp: output cannot be written (No space left on device); make room on the disk",
        1,
        1,
    ),
}
"""What makes a query run short, the beginning of its message, its status, and the charges that are left."""

QUICK = ("memory of the engine", "disk of the ledger")


@pytest.fixture(scope="module")
def many_users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of a million users: more than a small memory holds."""
    path = tmp_path_factory.mktemp("many") / "many.parquet"
    keys = pl.int_range(0, 400_000, eager=True)
    pl.DataFrame({"user_id": keys, "x": (keys % 97) / 97.0}).write_parquet(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("shortage", [name if name in QUICK else pytest.param(name, marks=FULL) for name in SHORTAGES])
def test_a_shortage_is_one_sentence_and_charges_one_query(folder: Path, many_users: Path, shortage: str) -> None:
    code, message, status, paid = SHORTAGES[shortage]
    space = '{ kind = "interval", col = "x", low = 0, high = 1, on_invalid = "clamp" }'
    entry = f'[tables.trips]\nsource = "{many_users}"\nuser = "user_id"\nusers = 400000\nspace = {space}\n'
    (folder / "emdp.toml").write_text(f'ledger = "trips.ledger"\n{entry}budget = {{ alpha = 9.0 }}\n')
    query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM trips"
    done = run(folder, "query", query, "--csv", "x.csv", code=f"{code}\n{START}")
    assert done.returncode == status, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith(message), done.stderr
    assert len(charges(folder)) == paid
    check_left(folder)
    if shortage == "disk of the ledger":
        again = run(folder, "query", query)
        assert again.returncode == 0, again.stderr
        assert len(charges(folder)) == 1


@FULL
def test_a_full_disk_stops_a_report_at_the_entry_that_it_hits(folder: Path) -> None:
    failure = (
        "from emdp.tables.engines.duckdb.execution import _no_room; "
        "raise _no_room(OSError(28, 'No space left on device'))"
    )
    code = FAILING.format(module="emdp.sessions.records", name="aggregate", before=1, failure=failure)
    words = ("report", "trips.toml", "--out", "page")
    done = run(folder, *words, code=TWO_SCANS + code + START)
    assert done.returncode == 1, done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith(ENGINE_DISK)
    assert len(charges(folder)) == 2
    check_left(folder)
    again = run(folder, *words)
    assert again.returncode == 0, again.stderr
    assert len(charges(folder)) == ENTRIES


SWEPT = {
    "query": ("query", MEAN, "--fresh", "--parquet", "x.parquet"),
    "preview": ("preview", MEAN),
    "report": ("report", "trips.toml", "--out", "page", "--fresh"),
    "generate": ("generate", "checkins", "--users", "99", "--records", "400000", "--out", "new.parquet", "--force"),
    "experiment": ("experiment", "geometric", "--runs", "2", "--out", "page"),
    "distance": ("distance", "1", "2", "-C", "emdp.toml"),
    "ledger": ("ledger", "copy", "trips.ledger", "copy.ledger"),
}
"""Commands that are stopped at any moment."""


def check_sweep(folder: Path, words: tuple[str, ...], moments: int) -> None:
    """Stop a command at random moments: whatever it was doing, nothing is left and the ledger is whole."""
    if words[0] == "ledger":
        assert run(folder, "query", MEAN).returncode == 0
    began = time.monotonic()
    first = run(folder, *words)
    assert first.returncode == 0, first.stderr
    whole = time.monotonic() - began
    rng = random.SystemRandom()
    for _ in range(moments):
        (folder / "copy.ledger").unlink(missing_ok=True)
        before, number = charges(folder), rng.choice([INTERRUPT, TERMINATE])
        process = started(folder, *words)
        try:
            process.wait(whole * rng.uniform(0, 1.1))
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
        # Before the first line of emdp runs Python itself ends by the signal, or fails to start.
        is_python = process.returncode == 1 and err.startswith("Fatal Python error: init")
        assert is_python or process.returncode in {0, -number, 128 + number}, (process.returncode, err)
        if process.returncode == 128 + number:
            # A line that was being printed may be broken off before its end.
            said = (f"emdp: {WORDS[number]}; ", "emdp: stopped before it began; ")
            assert any(text in err.strip().splitlines()[-1] for text in said), err
        after = charges(folder)
        assert after[: len(before)] == before
        if process.returncode == -number or "nothing was charged" in err:
            assert (out, after) == ("", before)
        assert len(after) - len(before) <= (ENTRIES if words[0] == "report" else 1), out
        check_left(folder, ("page", "x.parquet", "new.parquet", "copy.ledger"))
        if (folder / "copy.ledger").exists():
            with read_ledger(folder / "copy.ledger") as copied, read_ledger(folder / "trips.ledger") as own:
                assert copied.head() == own.head()
        if (folder / "x.parquet").exists():
            assert len(pl.read_parquet(folder / "x.parquet")) == 1


@pytest.mark.slow
def test_a_query_that_is_stopped_at_any_moment_leaves_nothing(folder: Path) -> None:
    check_sweep(folder, SWEPT["query"], 1)


@pytest.mark.full
@pytest.mark.parametrize("command", SWEPT)
def test_commands_that_are_stopped_at_any_moment_leave_nothing(folder: Path, command: str) -> None:
    check_sweep(folder, SWEPT[command], 50)
