"""A server whose disk is full: said so, exit status 1, and charged at most the query that it hit.

The disk is ``/dev/full`` under the name of a file that PostgreSQL is about to write for the first time: the system
refuses the write as it does on a disk without room, and the server's own code says what that means. PostgreSQL keeps
values of an entry that is longer than two kilobytes in a file of their own, which is the one.
"""

import contextlib
from pathlib import Path

import pytest
from full_disks import ask, charges

from emdp.base.errors import LedgerResourceError
from emdp.ledger import open_ledger

ROWS = "who,x\na,1\na,2\nb,3\n"
COLUMNS = ", ".join(f"AVG(x) AS the_{number}th_mean_of_{'x' * 40}" for number in range(40))
QUERY = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) {COLUMNS} FROM visits"
"""Long, so that its charge is."""

SHORT = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"

LONGEST_IN_PLACE = 2_000
"""Bytes of an entry that PostgreSQL leaves whole."""


@contextlib.contextmanager
def full_disk(server, table):
    """Have the server find no room for the next long entry of a table, the first that it has."""
    ((name,),) = server.execute(
        f"SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE oid = 'emdp_ledger.{table}'::regclass"
    )
    path = Path(server.folder, "data", name)
    assert path.stat().st_size == 0
    kept = path.with_name(f"{path.name}.kept")
    path.rename(kept)
    path.symlink_to("/dev/full")
    try:
        yield
    finally:
        kept.replace(path)


@pytest.fixture
def folder(tmp_path, server):
    """Return a folder with a table and a catalog whose ledger is on the server."""
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "emdp.toml").write_text(
        f'ledger = "{server.address()}"\n[tables.visits]\nsource = "visits.csv"\nuser = "who"\nusers = 2\n'
        'space = { kind = "interval", col = "x", low = 0, high = 9 }\nbudget = { alpha = 60.0 }\n'
    )
    return tmp_path


@pytest.fixture(autouse=True)
def uncompressed(server):
    """Have no entry shortened, so that a long one is too long for its place."""
    open_ledger(server.address())
    for place in ("event ALTER payload", "content ALTER text"):
        server.execute(f"ALTER TABLE emdp_ledger.{place} SET STORAGE EXTERNAL")


def test_a_charge_that_finds_no_room_is_none(server, folder):
    assert ask(folder, SHORT)[0] == 0
    with full_disk(server, "event"):
        status, said = ask(folder, QUERY)
        assert (status, charges(server)) == (1, 1)
    (line,) = said.strip().splitlines()
    assert line.startswith("emdp: ledger postgresql://owner@/team")
    assert line.endswith("finds the server's disk full; nothing was charged, so make room and ask again.")
    assert ask(folder, QUERY)[0] == 0
    assert charges(server) == 2


def test_an_answer_that_finds_no_room_has_its_own_charge_alone(server, folder):
    with full_disk(server, "content"):
        status, said = ask(folder, SHORT)
        assert (status, charges(server)) == (1, 1)
    assert "disk full; entry 5 stays charged" in said
    assert "nothing was charged" not in said
    assert ask(folder, SHORT)[0] == 0
    assert charges(server) == 2


def test_an_append_says_so_in_python(server):
    ledger = open_ledger(server.address())
    head, payload = ledger.head(), {"text": "long " * LONGEST_IN_PLACE}
    with full_disk(server, "event"), pytest.raises(LedgerResourceError, match="disk full") as refusal:
        ledger.append("charge", "visits", payload)
    assert refusal.value.exit_status == 1
    assert ledger.head() == head
    assert ledger.append("charge", "visits", payload).sequence == head[0] + 1
