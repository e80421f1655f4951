"""Each PostgreSQL error becomes one sentence with a remedy, and a lost connection is told from all others."""

import psycopg
import pytest

from emdp.base.errors import LedgerError, LedgerResourceError
from emdp.ledger.postgres_faults import ConnectionLostError, ledger_error

SHOWN = "postgresql://ann@db/city"


@pytest.mark.parametrize(
    ("error", "words", "lost"),
    [
        (psycopg.OperationalError("server closed the connection"), "lost its server; nothing was charged", True),
        (psycopg.InterfaceError("closed"), "lost its server", True),
        (psycopg.errors.AdminShutdown(), "lost its server", True),
        (psycopg.errors.CannotConnectNow(), "lost its server", True),
        (psycopg.errors.IdleInTransactionSessionTimeout(), "lost its server", True),
        (psycopg.errors.LockNotAvailable(), "held by another process", False),
        (psycopg.errors.DiskFull(), "disk full", False),
        (psycopg.errors.OutOfMemory(), "no memory on the server", False),
        (psycopg.errors.IoError(), "disk fails", False),
        (psycopg.errors.QueryCanceled(), "longer than the server allows", False),
        (psycopg.errors.ReadOnlySqlTransaction(), "only reads", False),
        (psycopg.errors.InsufficientPrivilege(), "denied by the server", False),
        (psycopg.errors.UndefinedTable(), "lacks its tables", False),
        (psycopg.errors.DataCorrupted(), "cannot be used", False),
        (psycopg.ProgrammingError("technical"), "cannot be used", False),
    ],
)
def test_code_decides_the_sentence(error, words, lost):
    found = ledger_error(SHOWN, error)
    assert isinstance(found, LedgerError)
    assert isinstance(found, ConnectionLostError) is lost
    assert words in str(found)
    assert str(found).startswith(f"ledger {SHOWN} ")
    assert str(found).endswith(".")


@pytest.mark.parametrize("error", [psycopg.errors.DiskFull, psycopg.errors.OutOfMemory, psycopg.errors.IoError])
def test_a_server_that_falls_short_is_a_shortage(error):
    found = ledger_error(SHOWN, error())
    assert isinstance(found, LedgerResourceError)
    assert found.exit_status == 1
    assert ledger_error(SHOWN, psycopg.errors.UndefinedTable()).exit_status == 2
