"""A PostgreSQL server of the tests' own in a temporary folder, and the two stores that a ledger can lie in."""

import contextlib
import glob
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest


class Server:
    """Debian's PostgreSQL on a Unix socket, as a user that is not root; commits are flushed as in earnest."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        self._run(
            "initdb", "-D", f"{folder}/data", "-U", "admin", "-E", "UTF8", "--locale=C", "--no-sync", "-A", "trust"
        )
        rules = Path(folder, "data", "pg_hba.conf")
        rules.write_text("local all guarded scram-sha-256\nlocal all all trust\n")

    def start(self):
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=40 -c shared_buffers=16MB"
        self._control("start", "-l", f"{self.folder}/log", "-o", options)

    def stop(self, mode):
        self._control("stop", "-m", mode)

    def address(self, role="owner", password=None):
        user = role if password is None else f"{role}:{password}"
        return f"postgresql://{user}@/team?host={self.folder}"

    def connect(self, role="admin"):
        return psycopg.connect(f"postgresql://{role}@/team?host={self.folder}", autocommit=True)

    def execute(self, *statements, role="admin"):
        """Run statements and return the rows of the last."""
        with self.connect(role) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def cut(self):
        """Cut every connection that the ledger has open now, and return how many there were."""
        cut = (
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'emdp ledger' "
            "AND pid <> pg_backend_pid()"
        )
        return self.execute(cut)[0][0]

    def _control(self, action, *arguments):
        self._run("pg_ctl", action, "-D", f"{self.folder}/data", "-w", "-s", *arguments)

    def _run(self, program, *arguments):
        # To a file: the server inherits it, and a pipe would stay open as long as it runs.
        with open(f"{self.folder}/out", "ab") as out:
            command = [f"{self.programs}/{program}", *arguments]
            done = subprocess.run(command, check=False, cwd=self.folder, stdout=out, stderr=out, **self.user)
        assert done.returncode == 0, Path(self.folder, "out").read_text()


def _programs():
    found = shutil.which("initdb")
    places = [os.path.dirname(os.path.realpath(found))] if found else glob.glob("/usr/lib/postgresql/*/bin")
    return max(places, key=lambda place: [int(part) for part in place.split("/") if part.isdigit()], default=None)


def _room():
    """Return where a database may lie: in memory, where a restart need not flush fifty megabytes of small files."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage("/dev/shm").free > 2**30 and os.access("/dev/shm", os.W_OK):
            return "/dev/shm"
    # A socket's path must be short, and root's temporary folder is closed to the server's user.
    return "/tmp"


@pytest.fixture(scope="session")
def running():
    """Return the server, with a database for a ledger and roles: owner, analysts, an auditor, a stranger."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed, so the ledger of a team is NOT tested; apt install postgresql")
    folder = tempfile.mkdtemp(prefix="emdp-pg-", dir=_room())
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    server = Server(programs, folder)
    server.start()
    try:
        with psycopg.connect(f"postgresql://admin@/postgres?host={folder}", autocommit=True) as connection:
            for role in ("owner", "analyst", "auditor", "stranger"):
                connection.execute(f"CREATE ROLE {role} LOGIN")
            connection.execute("CREATE ROLE guarded LOGIN PASSWORD 's3cret/w0rd' IN ROLE owner")
            connection.execute("CREATE DATABASE team OWNER owner")
        yield server
    finally:
        with contextlib.suppress(AssertionError):
            server.stop("immediate")
        shutil.rmtree(folder)


@pytest.fixture
def server(running):
    """Return the server with a database that holds no ledger."""
    running.execute("DROP SCHEMA IF EXISTS emdp_ledger CASCADE", "DROP SCHEMA IF EXISTS other CASCADE")
    return running


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path):
    """Return where a new ledger may be made, in each of the stores."""
    return str(tmp_path / "city.ledger") if request.param == "file" else request.getfixturevalue("server").address()
