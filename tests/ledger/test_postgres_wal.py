"""A server whose write-ahead log finds no room: it stops in the middle of a commit, and says why before it goes.

Unlike a full data disk (``test_postgres_disk.py``) this is no refusal of one statement: what PostgreSQL cannot log it
may not do, so that it panics, and starts again when there is room. A server of this file's own has its log on a small
filesystem in memory. That is filled up to the segment that is written, and this one is padded to near its end, so that
after a few more charges the next segment is asked for.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from full_disks import ask, charges

from emdp.base.errors import LedgerResourceError
from emdp.ledger import open_ledger, postgres

SEGMENT = 2**20
"""Bytes of a segment of the log, the least that there can be."""

ROOM = 6 * SEGMENT
"""Bytes of the filesystem."""

LEFT = 24_000
"""Bytes of the last segment that are left: more than one charge takes."""

MOST_CHARGES, MOST_APPENDS = 50, 200
"""Of the command line, each with its answer, and of charges alone: more than there is room for."""

SETTINGS = "min_wal_size = 2MB\nmax_wal_size = 1GB\ncheckpoint_timeout = 1d\nwal_recycle = off\nautovacuum = off\n"
"""No segment is kept for later, and none is removed but when the tests say so: it would make room."""

QUERY = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"


@pytest.fixture(scope="module")
def made(running):
    """Return a server whose log has a small filesystem of its own, and the log's folder."""
    folder = tempfile.mkdtemp(prefix="emdp-wal-", dir=Path(running.folder).parent)
    wal = Path(folder, "wal")
    wal.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", wal], check=False, capture_output=True
    )
    if mounted.returncode:
        os.rmdir(wal)
        os.rmdir(folder)
        pytest.skip("No filesystem can be mounted here, so a full disk of a server's log is NOT tested; run as root")
    shutil.chown(folder, "postgres", "postgres")
    try:
        server = _made(running, folder, wal)
        yield server, wal
        with contextlib.suppress(AssertionError):
            server.stop("immediate")
    finally:
        subprocess.run(["umount", wal], check=True)
        shutil.rmtree(folder)


def _made(running, folder, wal):
    kind = type(running)

    class Small(kind):
        def _run(self, program, *arguments):
            super()._run(program, *arguments, *(["--wal-segsize=1"] if program == "initdb" else []))

    server = Small(running.programs, folder)
    placed = Path(folder, "data", "pg_wal")
    subprocess.run(["cp", "-a", f"{placed}/.", wal], check=True)
    shutil.rmtree(placed)
    placed.symlink_to(wal)
    with open(Path(folder, "data", "postgresql.conf"), "a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    server.start()
    with psycopg.connect(f"postgresql://admin@/postgres?host={folder}", autocommit=True) as connection:
        connection.execute("CREATE ROLE owner LOGIN")
        # Copied as files, a database takes no room in the log.
        connection.execute("CREATE DATABASE team OWNER owner STRATEGY file_copy")
    return server


@pytest.fixture
def small(made):
    """Return the server with a database that holds no ledger, and its log's folder."""
    made[0].execute("DROP SCHEMA IF EXISTS emdp_ledger CASCADE")
    return made


def take_room(wal):
    """Take what room there is, anew before each charge: a removed segment has its own until no process holds it."""
    with open(Path(wal, "ballast"), "ab") as ballast:
        ballast.write(b"-" * shutil.disk_usage(wal).free)


def fill(server, wal):
    """Take all room of the log but for the end of the segment that is written."""
    later = "SELECT count(*) FROM pg_ls_waldir() WHERE name > pg_walfile_name(pg_current_wal_lsn())"
    # Earlier segments go now, and not while the room is measured; then each page is logged whole once.
    server.execute("CHECKPOINT")
    while server.execute(later)[0][0]:
        server.execute("SELECT pg_switch_wal()", "CHECKPOINT")
    take_room(wal)
    left = f"SELECT {SEGMENT} - (pg_current_wal_insert_lsn() - '0/0'::pg_lsn) % {SEGMENT}"
    while (now := int(server.execute(left)[0][0])) > LEFT:
        padding = min(now - LEFT + 2_000, 100_000)
        server.execute(f"SELECT pg_logical_emit_message(false, 'pad', repeat('-', {padding}))")


@pytest.fixture
def folder(tmp_path, small):
    """Return a folder with a table and a catalog whose ledger is on the server."""
    server, _ = small
    (tmp_path / "visits.csv").write_text("who,x\na,1\na,2\nb,3\n")
    (tmp_path / "emdp.toml").write_text(
        f'ledger = "{server.address()}"\n[tables.visits]\nsource = "visits.csv"\nuser = "who"\nusers = 2\n'
        'space = { kind = "interval", col = "x", low = 0, high = 9 }\nbudget = { alpha = 60.0 }\n'
    )
    return tmp_path


@pytest.mark.slow
def test_a_log_without_room_leaves_one_charge_at_most(small, folder, monkeypatch):
    server, wal = small
    monkeypatch.setattr(postgres, "RECONNECT_SECONDS", 1)
    assert ask(folder, QUERY)[0] == 0
    fill(server, wal)
    answered = 1
    while (found := ask(folder, QUERY))[0] == 0:
        answered += 1
        assert answered < MOST_CHARGES
        take_room(wal)
    status, said = found
    assert status == 1, said
    (line,) = said.strip().splitlines()
    assert "finds the server's disk full while entry" in line
    assert "count it as charged" in line or "stays charged" in line
    # While there is no room the server does not start, and nothing is answered.
    assert ask(folder, QUERY)[0] != 0
    Path(wal, "ballast").unlink()
    server.start()
    assert charges(server) in (answered, answered + 1)
    assert ask(folder, QUERY)[0] == 0
    assert charges(server) <= answered + 2


def test_a_charge_is_looked_for_once_there_is_room_again(small, monkeypatch):
    server, wal = small
    ledger = open_ledger(server.address())

    def make_room(seconds):
        # In the place of the pause between two tries to reach the server.
        del seconds
        Path(wal, "ballast").unlink(missing_ok=True)
        with contextlib.suppress(AssertionError):
            server.start()

    ledger.append("charge", "visits", {"number": 0})
    fill(server, wal)
    # Of this module alone: threads of Spark's, in the same process, pause too.
    monkeypatch.setattr(postgres, "time", SimpleNamespace(**{**vars(time), "sleep": make_room}))
    kept = 1

    def charge_on():
        nonlocal kept
        for number in range(1, MOST_APPENDS):
            take_room(wal)
            ledger.append("charge", "visits", {"number": number})
            kept += 1

    with pytest.raises(LedgerResourceError, match="nothing was charged, so make room and ask again") as refusal:
        charge_on()
    assert refusal.value.exit_status == 1
    assert charges(server) == kept
    ledger.append("charge", "visits", {"number": kept})
    assert charges(server) == kept + 1
