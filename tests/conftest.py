"""How the tests share two cores, and a Spark session that all tests of a process share, since it starts slowly."""

import gc
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Collected tests are millions of objects that live as long as the process: to look for garbage among them takes time
# and finds none, so that it is done more rarely, and not at all while they are collected.
gc.disable()
gc.set_threshold(10_000)

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each core has a worker; threads of matrix products would take it from the other one to wait for their turn.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


IN_CASE = re.compile(r"[\[-]spark[-\]]")
"""Engine of a case, in its name."""


KEPT = {"quarter": 4, "seventh": 7}
"""One case in how many runs by default, by marker; of seven, so that each of two or three values has its turn."""


def pytest_report_header() -> str:
    return "emdp: some 25,000 tests are collected first, in about 20 seconds, and 14,000 of them run by default"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of Spark first, so that one worker gets all of them; then whole programs, which take longest.

    All of Spark's are marked slow here: Java starts for the first of them, and takes one core for four minutes. Of a
    function marked ``quarter`` every fourth case stays in the default run, of one marked ``seventh`` every seventh.
    """

    def is_of_spark(item: pytest.Item) -> bool:
        return "spark" in getattr(item, "fixturenames", ()) or IN_CASE.search(item.nodeid) is not None

    cases: Counter[str] = Counter()
    for item in items:
        function = item.nodeid.partition("[")[0]
        shares = (share for name, share in KEPT.items() if item.get_closest_marker(name) is not None)
        is_left = cases[function] % next(shares, 1) > 0
        cases[function] += 1
        if (is_left or is_of_spark(item)) and item.get_closest_marker("full") is None:
            item.add_marker("slow")
    items.sort(key=lambda item: (not is_of_spark(item), item.path.parent.name != "system"))


def pytest_collection_finish() -> None:
    # Nothing looks at them again, not even pytest's last look for garbage.
    gc.freeze()
    gc.enable()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the engine ran over the records."""
    from emdp.tables.engines.duckdb import engine

    found: list[str] = []
    run: Any = engine.run

    def watched(connection: Any, text: str) -> Any:
        if not text.startswith("DESCRIBE"):
            found.append(text)
        return run(connection, text)

    monkeypatch.setattr(engine, "run", watched)
    return found


@pytest.fixture
def old_ledger(tmp_path: Path) -> str:
    """Return a ledger of an earlier version: the tables visits, Visits and trips, of each alpha 4 of 10 spent."""
    from emdp.ledger.chain import Link
    from emdp.ledger.place import create_copy

    links = json.loads((Path(__file__).parent / "ledger/old_links.json").read_text())
    create_copy(tmp_path / "old.ledger", (tuple(Link(*link) for link in links), ()))
    return str(tmp_path / "old.ledger")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark session of two workers that gives a task three attempts.

    A test that wants it is skipped where pyspark or Java is absent.
    """
    missing = [] if importlib.util.find_spec("pyspark") else ["pyspark"]
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        missing.append("Java")
    if missing:
        pytest.skip(f"SPARK IS NOT TESTED: {' and '.join(missing)} absent; see .ci/run")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        # Of pandas 3, which PySpark does not know in full yet, as it says when it is first loaded.
        warnings.simplefilter("ignore")
        session = _started()
        session.createDataFrame([(1,)], "x INT").toArrow()
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


IN_SHORT = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture
def in_short(spark: Any) -> Iterator[None]:
    """Have Spark leave out what changes no number and takes small statements longest: compiling each to Java, and
    planning the rest of it anew after each of its shuffles.
    """
    before = {name: spark.conf.get(name) for name in IN_SHORT}
    for name, value in IN_SHORT.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def _started() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,3]").appName("emdp tests")
    settings = {
        "spark.driver.memory": "1g",
        # Statements are many and small: most of the time would go into compiling them well.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m "
        "-XX:MetaspaceSize=256m -Xms1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # No folder of tables beside the tests.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": os.path.join(tempfile.gettempdir(), "emdp-tests-of-spark"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
