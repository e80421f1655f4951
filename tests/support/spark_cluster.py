"""A Spark cluster on one machine, workers on two of its loopback addresses, and jobs that are scripts beside it."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LONGEST_START = 120.0
"""Seconds after which a master that names no address is taken for broken."""

OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ADDRESS = re.compile(r"spark://127\.0\.0\.1:[0-9]+")


def daemon(stack: ExitStack, folder: Path, kind: str, *arguments: str) -> Path:
    """Start a master or a worker, which ends with the stack; return its log."""
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    host = arguments[arguments.index("--host") + 1]
    log = folder / f"{host}.{kind}.log"
    places = {
        "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": OPTIONS, "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(folder),
    }  # fmt: skip
    with log.open("w") as output:
        started = subprocess.Popen(
            [str(program), f"org.apache.spark.deploy.{kind.lower()}.{kind}", "--webui-port", "0", *arguments],
            env={**os.environ, **places}, stdout=output, stderr=output,
        )  # fmt: skip
    stack.callback(started.wait)
    stack.callback(started.terminate)
    return log


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster of two workers with one core."""
    if not importlib.util.find_spec("pyspark") or not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("SPARK IS NOT TESTED: pyspark or Java absent; see .ci/run")
    with ExitStack() as stack:
        log = daemon(stack, tmp_path, "Master", "--host", "127.0.0.1", "--port", "0")
        end = time.monotonic() + LONGEST_START
        while not (found := ADDRESS.search(log.read_text())):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        for host in ("127.0.0.2", "127.0.0.3"):
            where = ("--host", host, "-d", str(tmp_path / host))
            daemon(stack, tmp_path, "Worker", *where, "-c", "1", "-m", "1g", found[0])
        yield found[0]


def run_job(script: str, cluster: str, folder: Path) -> str:
    """Run a script of tests/support on a cluster, in a new folder, and return its last line."""
    folder.mkdir()
    paths = os.pathsep.join([str(HERE.parents[1]), str(HERE)])
    done = subprocess.run(
        [sys.executable, str(HERE / script), cluster, str(folder)],
        env={**os.environ, "PYTHONPATH": paths, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]
